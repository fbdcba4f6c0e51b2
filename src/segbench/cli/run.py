"""`segbench run`: from a config to a record, in steps or in one."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from segauge.cli.terminal import say_written
from segauge.errors import InvalidInput
from segauge.plural import counted
from segbench.boards import leaderboard_of
from segbench.cli.printing import (
    check_folder,
    console,
    one_line,
    print_boards,
    print_progress,
    print_table,
    progress_bar,
    show,
)
from segbench.cli.results import job_count, render_pages
from segbench.config import RunConfig, executor_name, read_config
from segbench.pipeline import (
    fetch_cases,
    make_predictions,
    open_benchmark,
    score_predictions,
    with_leaderboard,
    worker_count,
)
from segbench.planning import Plan
from segbench.records import save_record
from segbench.site import RunFiles

#: Exit code of a run in which some model failed on some case.
SOME_FAILED = 3


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "run",
        description="Run a benchmark from its config to its record: plan, predict, score, rank. What was done before a "
        "stop is kept: rerun the command to resume. Exit codes: 0 fine, 1 error, 2 usage, 3 some model failed on some "
        "case.",
        examples=(
            "segbench run --config configs/phantom.yaml --render site",
            "segbench run --config configs/phantom.yaml --dry-run",
        ),
    )
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the config, in YAML")
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be run, who is left out and why, and how long it takes"
    )
    parser.add_argument(
        "--only", choices=("predict", "score"), help="only make the predictions, or only score those in the cache (one "
        "that is not there counts as failed)"
    )  # fmt: skip
    changed = parser.add_argument_group("instead of the config")
    changed.add_argument("--n-cases", type=case_count, metavar="N", help="number of cases")
    changed.add_argument(
        "--executor", type=executor, metavar="WHERE",
        help="where predictions are made: serial, processes, dask, modal, or the address of a dask scheduler",
    )  # fmt: skip
    changed.add_argument(
        "--jobs", type=job_count, metavar="N", help="predictions at a time, and processes for scores and statistics"
    )
    changed.add_argument("--device", metavar="NAME", help="cpu, cuda, cuda:1 or auto")
    changed.add_argument("--results", type=Path, metavar="FILE", help="where the record is written")
    outputs = parser.add_argument_group("what is written")
    outputs.add_argument("--render", type=Path, metavar="FOLDER", help="make the pages, too")
    outputs.add_argument("--boards", action="store_true", help="print every board, however many there are")
    parser.add_argument("--resume", action="store_true", help=argparse.SUPPRESS)  # what happens anyway
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run all steps, one of them, or none."""
    if args.dry_run:
        return run_plan(args)
    return run_predict(args) if args.only == "predict" else run_all(args, only_cached=args.only == "score")


def case_count(text: str) -> int:
    """Return a number of cases."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of cases of 1 or more, got {text!r}")
    return int(text)


def executor(text: str) -> str:
    """Return where predictions are made."""
    try:
        return executor_name(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run_plan(args: argparse.Namespace) -> int:
    """Print the plan."""
    _print_plan(open_benchmark(_config(args)).plan)
    return 0


def run_predict(args: argparse.Namespace) -> int:
    """Make the predictions."""
    benchmark = open_benchmark(_config(args))
    made = make_predictions(benchmark, fetch_cases(benchmark, print_progress), print_progress)
    failed = [one for one in made.predictions if one.failure]
    show(f"{counted(len(made.predictions) - len(failed), 'prediction')}, {len(failed)} failed")
    show(*(f"  {one.model} on {one.case_id}: {one.failure}" for one in failed))
    return SOME_FAILED if failed else 0


def run_all(args: argparse.Namespace, *, only_cached: bool = False) -> int:
    """Plan, predict, score, analyse, record, render."""
    config = _config(args)
    if args.results is not None:
        config = replace(config, results_path=args.results)
    for folder in (config.results_path.parent, *([args.render] if args.render is not None else ())):
        check_folder(folder)
    benchmark = open_benchmark(config)
    _print_plan(benchmark.plan)
    cases = fetch_cases(benchmark, print_progress)
    made = make_predictions(benchmark, cases, print_progress, only_cached=only_cached)
    record = score_predictions(benchmark, cases, made, show_progress=sys.stderr.isatty())
    with progress_bar("statistics") as told:
        record = with_leaderboard(record, jobs=config.jobs, progress=told)
    save_record(record, config.results_path)
    board = leaderboard_of(record)
    print_boards(record, board, every=args.boards)
    say_written(config.results_path)
    if args.render is not None:
        files = [RunFiles.of(benchmark.dataset.card, cases, made.predictions)]
        jobs = worker_count(record.tables.values(), most=config.jobs)
        render_pages([record], args.render, files=files, jobs=jobs)
    return SOME_FAILED if any(record.failed_cases(entry.name) for entry in record.models) else 0


def _config(args: argparse.Namespace) -> RunConfig:
    """Return the config with what the command line says instead."""
    given = {name: getattr(args, name) for name in ("n_cases", "executor", "jobs", "device")}
    return replace(read_config(args.config), **{name: value for name, value in given.items() if value is not None})


def _print_plan(plan: Plan) -> None:
    counts = f"{counted(len(plan.case_ids), 'case')}, {counted(len(plan.models), 'model')}"
    title = f"{plan.dataset.title}: {counts}, {', '.join(plan.structures)}"
    rows = [["model", "ranked", "trained on test data?", "version", "structures", "on", "time"]]
    for model in plan.models:
        seconds = None if model.seconds_per_case is None else model.seconds_per_case * len(plan.case_ids)
        cells = (
            model.name,
            "yes" if model.ranked else "no",
            f"{model.exposure.level.value}: {model.exposure.reason}",
            model.card.version or "unknown",
            f"{len(model.structures)} of {len(plan.structures)}",
            "GPU" if model.needs_gpu else "CPU",
            "?" if seconds is None else _duration(seconds),
        )
        rows.append([one_line(cell) for cell in cells])
    print_table(console(), one_line(title), rows, text=("trained on test data?",))
    silent = [f"{model.name}: {model.exposure.caveat}" for model in plan.models if model.exposure.caveat]
    show(*map(str, plan.exclusions), *silent, *plan.notes)
    for gpu, name in ((False, "CPU"), (True, "GPU")):
        if any(model.needs_gpu == gpu for model in plan.models):
            show(f"on {name}, one after another: {_duration(plan.seconds(gpu=gpu))}")
    show("")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "not known before a first run"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
