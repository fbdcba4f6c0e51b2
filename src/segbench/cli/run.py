"""`segbench plan`, `predict`, `score` and `run`: from a config to a record, in steps or in one."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

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
    """Add the commands."""
    goes_on = "What was done before a stop is kept: the same command goes on with it."
    codes = "0 fine, 1 error, 2 usage, 3 some model failed on some case"
    absent = "A prediction that the cache does not have counts as failed."
    for name, help_, function, more in (
        ("run", "run a benchmark from its config to its record", run_all, f"{goes_on} Exit codes: {codes}."),
        (
            "plan",
            "say what a run would do, whom it leaves out and why, and how long it takes",
            run_plan,
            "Exit codes: 0 fine, 1 error, 2 usage.",
        ),
        ("predict", "only make the predictions, into the cache", run_predict, f"{goes_on} Exit codes: {codes}."),
        ("score", "only score the predictions that the cache has", run_score, f"{absent} Exit codes: {codes}."),
    ):
        parser: argparse.ArgumentParser = subparsers.add_parser(
            name,
            help=help_,
            description=f"{help_[0].upper()}{help_[1:]}. {more}",
            examples=(f"segbench {name} --config configs/phantom.yaml{' --render site' * (name == 'run')}",),
        )
        parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the config, in YAML")
        parser.add_argument(
            "--n-cases", type=case_count, metavar="N", help="so many cases instead of what the config says"
        )
        parser.add_argument(
            "--executor", type=executor, metavar="WHERE",
            help="where predictions are made, instead of what the config says: serial, processes, dask, modal, or the "
            "address of a dask scheduler",
        )  # fmt: skip
        parser.add_argument(
            "--jobs", type=job_count, metavar="N",
            help="so many predictions at a time, and so many processes for scores and statistics, instead of what the "
            "config says",
        )  # fmt: skip
        parser.add_argument(
            "--device", metavar="NAME", help="cpu, cuda, cuda:1 or auto, instead of what the config says"
        )
        if name in ("run", "score"):
            parser.add_argument(
                "--results", type=Path, metavar="FILE", help="where the record goes, instead of where the config says"
            )
            parser.add_argument("--render", type=Path, metavar="FOLDER", help="make the pages, too")
            parser.add_argument("--boards", action="store_true", help="print every board, however many there are")
            parser.add_argument("--resume", action="store_true", help="go on with a stopped run (which is the default)")
        parser.set_defaults(run=function)


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
    out = console()
    out.print(f"{counted(len(made.predictions) - len(failed), 'prediction')}, {len(failed)} failed", markup=False)
    for one in failed:
        out.print(one_line(f"  {one.model} on {one.case_id}: {one.failure}"), markup=False)
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
    console().print(f"written: {config.results_path}", markup=False)
    if args.render is not None:
        files = [RunFiles.of(benchmark.dataset.card, cases, made.predictions)]
        jobs = worker_count(record.tables.values(), most=config.jobs)
        render_pages([record], args.render, files=files, jobs=jobs)
    return SOME_FAILED if any(record.failed_cases(entry.name) for entry in record.models) else 0


def run_score(args: argparse.Namespace) -> int:
    """Score what the cache has; a prediction that it does not have counts as failed."""
    return run_all(args, only_cached=True)


def _config(args: argparse.Namespace) -> RunConfig:
    """Return the config with what the command line says instead."""
    given = {name: getattr(args, name) for name in ("n_cases", "executor", "jobs", "device")}
    return replace(read_config(args.config), **{name: value for name, value in given.items() if value is not None})


def _print_plan(plan: Plan) -> None:
    out = console()
    counts = f"{counted(len(plan.case_ids), 'case')}, {counted(len(plan.models), 'model')}"
    title = f"{plan.dataset.title}: {counts}, {', '.join(plan.structures)}"
    rows = [["model", "ranked", "has seen the dataset", "version", "structures", "on", "time"]]
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
    print_table(out, one_line(title), rows, text=("has seen the dataset",))
    silent = [f"{model.name}: {model.exposure.caveat}" for model in plan.models if model.exposure.caveat]
    for line in (*map(str, plan.exclusions), *silent, *plan.notes):
        out.print(one_line(line), markup=False)
    for gpu, name in ((False, "CPU"), (True, "GPU")):
        if any(model.needs_gpu == gpu for model in plan.models):
            words = f"on {name}, one after another: {_duration(plan.seconds(gpu=gpu))}"
            out.print(words, markup=False)
    out.print()


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "not known before a first run"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
