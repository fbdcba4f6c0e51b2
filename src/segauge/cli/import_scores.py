"""`segauge import`: result files of other tools to one score file, after a strict audit."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.sources import add_source_arguments, paths_of, read_sources
from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line, say_written, show
from segauge.io.outputs import check_outputs
from segauge.io.tables import write_scores


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "import",
        description="Read Touchstone folders, challengeR and Rankings Reloaded CSV, nnU-Net summary.json, MONAI "
        "*_raw.csv, panoptica tables, segauge and segbench JSON, and plain CSV or Parquet tables. Files with "
        "problems are refused unless you choose a repair. Exit codes: 0 fine, 1 refused, 2 usage.",
        examples=(
            "segauge import summary.json -o scores.json",
            "segauge import a.csv b.csv --cases common --to long -o all.csv",
        ),
    )
    add_source_arguments(parser)
    parser.add_argument("--metric", metavar="KEY", help="name of the metric if the file has none; the metric to write")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="write the scores here")
    parser.add_argument(
        "--to", choices=("json", "long", "wide", "challenger"),
        help="format to write (default: long for a file that ends in .csv, otherwise json)",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, audit, print, and write."""
    check_outputs([args.output], paths_of(args.sources))
    imported = read_sources(args.sources, args)
    rows = [["model", "cases", "structures", "metrics", "scores", "failed", "absent"]]
    for model, scores in imported.tables.items():
        states = [state for row in scores.status for state in row]
        failed, absent = sum(s.is_failure for s in states), sum(s == "absent" for s in states)
        numbers = int((scores.values == scores.values).sum())
        cells = (len(scores.cases), len(scores.structures), ", ".join(scores.metrics), numbers, failed, absent)
        rows.append([one_line(model), *(one_line(str(cell)) for cell in cells)])
    right = ("cases", "structures", "scores", "failed", "absent")
    print_table(console(), f"read as {', '.join(imported.formats)}", rows, right=right, text=("metrics",))
    show(f"audit: {imported.audit!s}")
    if args.output is not None:
        to = args.to or ("long" if args.output.suffix.lower() == ".csv" else "json")
        metric = args.metric if to in ("wide", "challenger") else None
        write_scores(imported.tables, args.output, format=to, metric=metric)
        say_written(args.output)
    return 0
