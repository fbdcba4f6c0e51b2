"""`segbench verify results/x.json`: whether what was published follows from what was recorded."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.cli.printing import progress_bar, show
from segbench.cli.results import DOES_NOT_FOLLOW, JOBS_HELP, job_count, run_reanalyze, show_mismatches, workers
from segbench.config import read_config
from segbench.pipeline import Benchmark, fetch_cases, make_predictions, open_benchmark
from segbench.prediction import PredictionSettings
from segbench.records import RunRecord, load_record
from segbench.verification import (
    Verification,
    failed_again,
    verify_config,
    verify_predictions,
    verify_scores,
    verify_statistics,
)


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "verify",
        description="Level 1: the statistics follow from the scores; with --config the record has the cases, models, "
        "cards and settings of that config. Level 2 (--predictions and --config): the scores follow from the "
        "prediction files. Level 3 (--again and --config): the predictions can be made again, with the same "
        "scores. Exit codes: 0 all of it follows, 1 the files cannot be read, 2 usage, 5 something does not follow.",
        examples=(
            "segbench verify results/phantom.json",
            "segbench verify results/phantom.json --config configs/phantom.yaml --again",
        ),
    )
    parser.add_argument(
        "results", type=Path, metavar="FILE", help="the record, or a result file of the reference harness"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="config of the run, to compare the record with")
    parser.add_argument("--predictions", type=Path, metavar="FOLDER", help="level 2: folder with the prediction files")
    parser.add_argument("--sample", type=int, metavar="N", help="level 2: only N predictions, chosen at random")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice (default: 0)")
    parser.add_argument("--again", action="store_true", help="level 3: run the models again, in a folder of its own")
    parser.add_argument(
        "--cards", choices=("library", "record"), default="library",
        help="library: a card whose training data differ from segbench's own card is a mismatch; "
        "record: it is only noted (default: library)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=job_count, default=0, metavar="N", help=JOBS_HELP)
    parser.add_argument(
        "--write", action="store_true", help="compute the statistics again by the rules of this version, and write them"
    )
    parser.add_argument("--boards", action="store_true", help="with --write: print every board")
    parser.set_defaults(run=run, named=None, render=None)


def run(args: argparse.Namespace) -> int:
    """Verify level after level, and print what does not follow."""
    if args.write:
        return run_reanalyze(args)
    record = load_record(args.results)
    if args.config is None and (args.predictions is not None or args.again):
        raise InvalidInput("Scores can be verified only with the ground truth: pass --config of the run.")
    with progress_bar("statistics") as told:
        found = [
            verify_statistics(
                record, jobs=workers(args.jobs, [record]), progress=told, strict_cards=args.cards == "library"
            )
        ]
    if args.config is not None:
        with tempfile.TemporaryDirectory(prefix="segbench-verify-") as folder:
            config = replace(read_config(args.config), cache_dir=Path(folder))
            found += _with_config(record, open_benchmark(config), args)
    for one in found:
        _print(one)
    for words in _unchecked(args):
        show(f"not checked: {words}")
    return 0 if all(one.holds for one in found) else DOES_NOT_FOLLOW


def _with_config(record: RunRecord, benchmark: Benchmark, args: argparse.Namespace) -> Iterator[Verification]:
    """Yield what was found with the config, with the prediction files, and with predictions that are made again."""
    jobs = args.jobs or None
    yield verify_config(record, benchmark, fetch_cases(benchmark))
    if args.predictions is None and not args.again:
        return
    benchmark = _on_cases_of(record, benchmark)
    cases = fetch_cases(benchmark)
    if args.predictions is not None:
        settings = PredictionSettings(benchmark.config.cache_dir / "failures")
        tried = failed_again(record, benchmark, cases, settings)
        yield verify_scores(
            record, cases, args.predictions, sample=args.sample, seed=args.seed, jobs=jobs, failed_again=tried
        )
    if args.again:
        yield verify_predictions(record, cases, make_predictions(benchmark, cases).predictions, jobs=jobs)


def _on_cases_of(record: RunRecord, benchmark: Benchmark) -> Benchmark:
    """Return the benchmark on the cases of a record, which may be others than those of the config."""
    known = set(benchmark.dataset.case_ids())
    ids = tuple(case for case in record.case_ids if case in known)
    return open_benchmark(replace(benchmark.config, case_ids=ids, n_cases=None, selection="first"))


def _unchecked(args: argparse.Namespace) -> Iterator[str]:
    """Yield what was not checked."""
    if args.config is None:
        yield "whether these are the cases, models, cards and settings of the config (--config FILE)"
    if args.predictions is None and not args.again:
        yield "whether the scores follow from the predictions (--predictions FOLDER --config FILE, or --again)"


def _print(found: Verification) -> None:
    show(str(found), *(f"  note: {note}" for note in found.notes))
    show_mismatches(found)
