"""`segbench verify results/x.json`: whether what was published follows from what was recorded."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.cli.printing import console, one_line, progress_bar
from segbench.cli.results import DOES_NOT_FOLLOW, JOBS_HELP, job_count, workers
from segbench.config import RunConfig, read_config
from segbench.pipeline import fetch_cases, make_predictions, open_benchmark
from segbench.records import RunRecord, load_record
from segbench.registry import DatasetCase, dataset
from segbench.verification import Verification, verify_predictions, verify_scores, verify_statistics

_SHOWN = 20


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "verify",
        help="check a record: statistics, and with the files scores and predictions",
        description="Level 1: the statistics follow from the scores. Level 2 (--predictions and --config): the scores "
        "follow from the prediction files. Level 3 (--again and --config): the predictions can be made again. Exit "
        "codes: 0 all of it follows, 1 the files cannot be read, 2 usage, 5 something does not follow.",
        examples=(
            "segbench verify results/phantom.json",
            "segbench verify results/phantom.json --config configs/phantom.yaml --again",
        ),
    )
    parser.add_argument(
        "results", type=Path, metavar="FILE", help="the record, or a result file of the reference harness"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="config of the run: where dataset and models are")
    parser.add_argument("--predictions", type=Path, metavar="FOLDER", help="level 2: folder with the prediction files")
    parser.add_argument("--sample", type=int, metavar="N", help="level 2: only N predictions, chosen at random")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice (default: 0)")
    parser.add_argument("--again", action="store_true", help="level 3: run the models again, in a folder of its own")
    parser.add_argument("--jobs", type=job_count, default=0, metavar="N", help=JOBS_HELP)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Verify level after level, and print what does not follow."""
    record = load_record(args.results)
    jobs = args.jobs or None
    with progress_bar("statistics") as told:
        found = [verify_statistics(record, jobs=workers(args.jobs, [record]), progress=told)]
    if args.predictions is not None or args.again:
        if args.config is None:
            raise InvalidInput("Scores can be verified only with the ground truth: pass --config of the run.")
        config = read_config(args.config)
        if args.predictions is not None:
            cases = _cases(record, config)
            found.append(verify_scores(record, cases, args.predictions, sample=args.sample, seed=args.seed, jobs=jobs))
        if args.again:
            found.append(_made_again(record, config, jobs))
    for one in found:
        _print(one)
    return 0 if all(one.holds for one in found) else DOES_NOT_FOLLOW


def _cases(record: RunRecord, config: RunConfig) -> Sequence[DatasetCase]:
    chosen = dataset(config.dataset.name, config.dataset.root, config.dataset.options)
    chosen.prepare(record.case_ids)
    return chosen.cases(record.case_ids)


def _made_again(record: RunRecord, config: RunConfig, jobs: int | None) -> Verification:
    with tempfile.TemporaryDirectory(prefix="segbench-verify-") as folder:
        fresh = replace(config, cache_dir=Path(folder), case_ids=record.case_ids, n_cases=None, selection="first")
        benchmark = open_benchmark(fresh)
        cases = fetch_cases(benchmark)
        made = make_predictions(benchmark, cases)
        known = [one for one in made.predictions if one.model in record.tables]
        return verify_predictions(record, cases, known, jobs=jobs)


def _print(found: Verification) -> None:
    out = console()
    out.print(str(found), markup=False)
    for note in found.notes:
        out.print(f"  note: {note}", markup=False)
    for one in found.mismatches[:_SHOWN]:
        out.print(one_line(f"  {one}"), markup=False)
    if len(found.mismatches) > _SHOWN:
        out.print(f"  ... and {len(found.mismatches) - _SHOWN} more", markup=False)
