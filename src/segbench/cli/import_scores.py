"""`segbench import`: scores made elsewhere become a record, after a strict audit."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge import read_metadata
from segauge.cli.parsing import add_interval_arguments
from segauge.cli.sources import KEY_HELP, add_source_arguments, read_sources
from segauge.cli.terminal import say_written
from segbench.boards import make_leaderboard
from segbench.cards import dataset_card
from segbench.cli.printing import print_boards, progress_bar
from segbench.config import EXPOSURE_POLICIES
from segbench.pipeline import worker_count
from segbench.records import save_record
from segbench.scoring import record_of_scores


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "import",
        description="Write a record with its leaderboard from any file that `segauge import` reads (Touchstone "
        "folders, challengeR, nnU-Net, MONAI, panoptica, CSV, Parquet, JSON), after an audit. Exit codes: 0 fine, "
        "1 refused, 2 usage.",
        examples=("segbench import A=a/summary.json B=b/summary.json --dataset kits23 -o results/ours.json",),
        more_usage=" SOURCE ...",
        first_screen=(
            *("--dataset", "--output", "--metadata", "--metric", "--format", "--columns", "--title"),
            *("--exposure-policy", "--boards"),
        ),
    )
    add_source_arguments(parser)
    parser.add_argument("--metric", metavar="KEY", help="name of the metric if the file has none")
    parser.add_argument(
        "--dataset", required=True, metavar="NAME",
        help="card of the dataset the scores were made on, such as kits23; `segbench cards datasets` has them all",
    )  # fmt: skip
    parser.add_argument("--output", "-o", type=Path, required=True, metavar="FILE", help="where the record goes")
    parser.add_argument("--title", default="", metavar="TEXT", help="what the page calls it")
    parser.add_argument(
        "--metadata", type=Path, metavar="FILE", help="table with a row per case: age, sex, patient ..."
    )
    parser.add_argument("--key", metavar="COLUMN", help=KEY_HELP)
    parser.add_argument(
        "--exposure-policy", default="strict", choices=tuple(EXPOSURE_POLICIES),
        help="who is ranked: only models known not to have seen the dataset, or more (default: strict)",
    )  # fmt: skip
    add_interval_arguments(parser, n_resamples=10_000)
    parser.add_argument("--boards", action="store_true", help="print every board, however many there are")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, audit, analyse, print, and write."""
    imported = read_sources(args.sources, args)
    names = ("title", "exposure_policy", "confidence", "n_resamples", "seed")
    record = record_of_scores(
        imported,
        dataset_card(args.dataset),
        metadata=None if args.metadata is None else read_metadata(args.metadata, key=args.key),
        settings={name: getattr(args, name) for name in names},
    )
    with progress_bar("statistics") as told:
        board = make_leaderboard(record, jobs=worker_count(record.tables.values()), progress=told)
    print_boards(record, board, every=args.boards)
    save_record(record.with_analysis(board.to_dict()), args.output)
    say_written(args.output)
    return 0
