"""`segauge figures RESULT.json FOLDER`: every figure and table of an evaluation, as files for a paper."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.terminal import tell
from segauge.errors import InvalidInput
from segauge.evaluation import read_result
from segauge.io.outputs import check_outputs
from segauge.report.figures import COLOURS, FILE_FORMATS


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "figures",
        description="Write every figure of a result as SVG, PDF and PNG with its caption, and its tables as LaTeX "
        "(booktabs), Markdown, CSV and JSON. Exit codes: 0 fine, 1 the file cannot be read, 2 usage.",
        examples=("segauge figures result.json --out paper --formats pdf --metrics dice,hd95",),
    )
    parser.add_argument("result", type=Path, metavar="RESULT", help="JSON file of `segauge eval --json`")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="where the files go")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the same, by name")
    parser.add_argument(
        "--formats", default="svg,pdf,png", metavar="KINDS", help="of the figures (default: svg,pdf,png)"
    )
    parser.add_argument(
        "--theme", default="light", choices=tuple(COLOURS), help="colours of the figures (default: light)"
    )
    parser.add_argument(
        "--metrics", metavar="KEYS", help="columns of the table of results, such as dice,hd95 (default: the leading)"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the HTML report, too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the result and write the files."""
    if (args.folder is None) == (args.out is None):
        raise InvalidInput("Name one folder for the files: `segauge figures result.json --out paper`.")
    folder = args.folder or args.out
    formats = [f".{part.strip().lower().lstrip('.')}" for part in args.formats.split(",") if part.strip()]
    unknown = [ending for ending in formats if ending not in FILE_FORMATS]
    if unknown:
        raise InvalidInput(f"--formats: expected some of svg, pdf, png, got {unknown[0][1:]!r}.")
    check_outputs([args.report], [args.result])
    metrics = None if args.metrics is None else [part.strip() for part in args.metrics.split(",")]
    written = read_result(args.result).to_figures(folder, metrics, formats=formats, theme=args.theme)
    if args.report is not None:
        written.append(read_result(args.result).to_html(args.report))
    tell(f"written: {len(written)} files in {folder}")
    return 0
