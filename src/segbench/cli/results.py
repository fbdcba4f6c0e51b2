"""`segbench reanalyze` and `segbench render`: what follows from a record, on screen, in the record, or as pages."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from segauge.cli.terminal import say_written
from segauge.errors import InvalidInput
from segauge.plural import counted
from segbench.boards import RULES, Leaderboard, leaderboard_of, make_leaderboard
from segbench.cli.printing import check_folder, print_boards, progress_bar, show, tell
from segbench.config import RunConfig, read_config
from segbench.pipeline import worker_count
from segbench.records import RunRecord, load_record, save_record
from segbench.registry import Dataset, dataset
from segbench.site import RunFiles, render
from segbench.study_files import study_of_records
from segbench.verification import Verification, recorded_files, verify_statistics

#: Exit code of a record whose numbers do not follow.
DOES_NOT_FOLLOW = 5
_SHOWN = 20
JOBS_HELP = "worker processes (default: one per core; none for a small record)"
_JUST_COMPUTED = ("The statistics were computed from the scores when these pages were made.", True)


def add_parser(subparsers: Any) -> None:
    """Add the commands."""
    again: argparse.ArgumentParser = subparsers.add_parser(
        "reanalyze",
        description="Recompute every statistic and compare it with the record. Exit codes: 0 all of it "
        "follows (or the record had none yet), 1 the record cannot be read, 2 usage, 5 some number does not follow.",
        examples=("segbench reanalyze results/phantom.json --render site",),
    )
    again.add_argument(
        "results", type=Path, nargs="?", metavar="FILE", help="the record, or a result file of the reference harness"
    )
    again.add_argument("--results", type=Path, dest="named", metavar="FILE", help="the same, by name")
    again.add_argument("--write", action="store_true", help="write the record with the recomputed statistics")
    again.add_argument("--boards", action="store_true", help="print every board, however many there are")
    again.add_argument("--render", type=Path, metavar="FOLDER", help="make the pages, too")
    again.add_argument("--jobs", type=job_count, default=0, metavar="N", help=JOBS_HELP)
    again.set_defaults(run=run_reanalyze)
    pages: argparse.ArgumentParser = subparsers.add_parser(
        "render",
        description="Make a static site that opens from disk and on any host, older records before newer ones. Records "
        "are verified first, and the pages show the result. Exit codes: 0 fine, 1 a record cannot be "
        "read or some page cannot be made (the others are), 2 usage, 5 some number does not follow (see the pages).",
        examples=("segbench render results/a.json results/b.json --out site",),
    )
    pages.add_argument("results", type=Path, nargs="*", metavar="FILE", help="records of runs")
    pages.add_argument(
        "--results", type=Path, nargs="+", default=[], dest="named", metavar="FILE", help="the same, by name"
    )
    pages.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the pages go")
    pages.add_argument(
        "--title", default="", metavar="TEXT", help="what the site is called (default: as its only record)"
    )
    pages.add_argument("--predictions", type=Path, metavar="FOLDER", help="prediction files, for pictures of cases")
    pages.add_argument(
        "--config", type=Path, nargs="+", default=[], metavar="FILE", help="configs of the runs: where the datasets are"
    )
    pages.add_argument("--no-verify", action="store_true", help="do not verify the records first")
    pages.add_argument("--jobs", type=job_count, default=0, metavar="N", help=JOBS_HELP)
    pages.set_defaults(run=run_render)


def job_count(text: str) -> int:
    """Return a number of worker processes."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of worker processes of 1 or more, got {text!r}")
    return int(text)


def workers(given: int, records: Sequence[RunRecord]) -> int:
    """Return how many processes to take: what was asked for, or what the records are worth."""
    return given or worker_count(table for record in records for table in record.tables.values())


def run_reanalyze(args: argparse.Namespace) -> int:
    """Recompute, compare, print, and write."""
    if (args.results is None) == (args.named is None):
        raise InvalidInput("Name one record: `segbench reanalyze results/phantom.json`.")
    path = args.results or args.named
    record = load_record(path)
    jobs = workers(args.jobs, [record])
    with progress_bar("statistics") as told:
        board = make_leaderboard(record, jobs=jobs, progress=told)
    print_boards(record, board, every=args.boards)
    code = print_statistics_check(record, board)
    fresh = record.with_analysis(board.to_dict())
    if args.write:
        save_record(fresh, path)
        say_written(path)
    if args.render is not None:
        render_pages([fresh], args.render, jobs=jobs)
    return code


def run_render(args: argparse.Namespace) -> int:
    """Check the records, and make the pages."""
    paths = [*args.results, *args.named]
    if not paths:
        raise InvalidInput("Name the records: `segbench render results/phantom.json --out site`.")
    check_folder(args.out)
    records = [load_record(path) for path in paths]
    jobs = workers(args.jobs, records)
    checks = [("", True) if args.no_verify else _checked(record, jobs) for record in records]
    files = _files(records, args.predictions, args.config)
    known = [analysed(record, jobs) for record in records]
    render_pages(known, args.out, title=args.title, checks=checks, files=files, jobs=jobs)
    return 0 if all(holds for _, holds in checks) else DOES_NOT_FOLLOW


def _files(records: list[RunRecord], predictions: Path | None, configs: list[Path]) -> list[RunFiles | None]:
    """Return the files of the records whose config and predictions were given; the others get no pictures."""
    if predictions is None:
        if configs:
            raise InvalidInput("--config needs --predictions FOLDER, too: both are for pictures of cases.")
        tell("no pictures of cases: they need --predictions FOLDER and --config FILE")
        return [None] * len(records)
    if not configs:
        raise InvalidInput("--predictions needs --config FILE of the run, too, which names the images and labels.")
    known = {config.dataset.name: config for config in map(read_config, configs)}
    return [_files_of(record, predictions, known) for record in records]


def _files_of(record: RunRecord, predictions: Path, known: Mapping[str, RunConfig]) -> RunFiles | None:
    """Return the files of a record that are those it was made from, told by their hashes."""
    name = record.dataset.name
    chosen = next((config for key, config in known.items() if key == name), None)
    chosen = chosen or next((c for c in known.values() if _opened(c).card.name == name), None)
    if chosen is None:
        tell(f"no pictures of {record.title}: no config given is of {name!r}")
        return None
    source = _opened(chosen)
    source.prepare(record.case_ids)
    paths, truths = recorded_files(record, source.cases(record.case_ids), predictions)
    total = sum(digest is not None for entry in record.models for digest in entry.predictions.values())
    tell(f"{record.title}: {len(paths)} of {counted(total, 'prediction file')} found")
    return RunFiles(truths, paths, source.card)


def _opened(config: RunConfig) -> Dataset:
    return dataset(config.dataset.name, config.dataset.root, config.dataset.options)


def _checked(record: RunRecord, jobs: int) -> tuple[str, bool]:
    """Return what a check of the record says, and whether all of it follows."""
    if record.analysis is None and record.published is None:
        return _JUST_COMPUTED
    if _is_by_other_rules(record):
        return f"{_JUST_COMPUTED[0]} {_by_other_rules(record)}", _JUST_COMPUTED[1]
    with progress_bar("checking") as told:
        found = verify_statistics(record, jobs=jobs, progress=told)
    show(str(found))
    return f"{str(found)[0].upper()}{str(found)[1:]}", found.holds


def print_statistics_check(record: RunRecord, board: Leaderboard | None = None) -> int:
    """Print whether the statistics of a record follow from its scores; return the exit code.

    `board` is what follows, where it was computed already.
    """
    if record.analysis is None and record.published is None:
        show("The record had no statistics to compare with.")
        return 0
    if _is_by_other_rules(record):
        show(_by_other_rules(record))
        return 0
    found = verify_statistics(record, recomputed=board)
    show(str(found))
    show_mismatches(found)
    return 0 if found.holds else DOES_NOT_FOLLOW


def show_mismatches(found: Verification) -> None:
    """Print what does not follow."""
    show(*(f"  {one}" for one in found.mismatches[:_SHOWN]))
    if len(found.mismatches) > _SHOWN:
        show(f"  ... and {len(found.mismatches) - _SHOWN} more")


def _is_by_other_rules(record: RunRecord) -> bool:
    return record.analysis is not None and record.analysis.get("rules") != RULES


def _by_other_rules(record: RunRecord) -> str:
    """Return that there is nothing to compare with, in words."""
    rules = None if record.analysis is None else record.analysis.get("rules")
    return f"The analysis in the record was made by other rules, {rules!r}, and is not compared with that of {RULES!r}."


def analysed(record: RunRecord, jobs: int = 1) -> RunRecord:
    """Return a record with its analysis, computed where it has none by the rules of this version."""
    if record.analysis is not None and not _is_by_other_rules(record):
        return record
    with progress_bar("statistics") as told:
        return record.with_analysis(make_leaderboard(record, jobs=jobs, progress=told).to_dict())


def render_pages(
    records: list[RunRecord],
    folder: Path,
    *,
    title: str = "",
    checks: list[tuple[str, bool]] | None = None,
    files: Sequence[RunFiles | None] = (),
    jobs: int = 1,
) -> None:
    """Make the pages of records; without `checks` they say that the statistics were just computed."""
    said = [_JUST_COMPUTED] * len(records) if checks is None else checks
    with progress_bar("analysing"):
        analysis = study_of_records(records, [leaderboard_of(record) for record in records], jobs)
    with progress_bar("pages") as told:
        made = render(
            records, folder, title=title, checks=said, files=files, analysis=analysis, jobs=jobs, progress=told
        )
    tell(f"written: open {made.page}")
