"""`segbench reanalyze` and `segbench render`: what follows from a record, on screen, in the record, or as pages."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from segauge.errors import MissingExtra
from segbench.cli.printing import console, one_line, print_boards
from segbench.leaderboard import make_leaderboard
from segbench.records import RunRecord, load_record, save_record
from segbench.verification import verify_statistics

#: Exit code of a record whose numbers do not follow.
DOES_NOT_FOLLOW = 5
_SHOWN = 20


def add_parser(subparsers: Any) -> None:
    """Add the commands."""
    again: argparse.ArgumentParser = subparsers.add_parser(
        "reanalyze",
        help="recompute every statistic of a record from its per-case scores",
        description="Recomputes every statistic and compares it with what the record says. Exit codes: 0 all of it "
        "follows (or the record had none yet), 1 the record cannot be read, 2 usage, 5 some number does not follow.",
    )
    again.add_argument("--results", type=Path, required=True, metavar="FILE", help="the record, or a result file")
    again.add_argument("--write", action="store_true", help="write the record with the recomputed statistics")
    again.add_argument("--boards", action="store_true", help="print every board, however many there are")
    again.add_argument("--render", type=Path, metavar="FOLDER", help="make the pages, too")
    again.set_defaults(run=run_reanalyze)
    pages: argparse.ArgumentParser = subparsers.add_parser("render", help="make the pages of one or more records")
    pages.add_argument("--results", type=Path, required=True, nargs="+", metavar="FILE")
    pages.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    pages.set_defaults(run=run_render)


def run_reanalyze(args: argparse.Namespace) -> int:
    """Recompute, compare, print, and write."""
    record = load_record(args.results)
    board = make_leaderboard(record)
    print_boards(record, board, every=args.boards)
    code = print_statistics_check(record)
    fresh = record.with_analysis(board.to_dict())
    if args.write:
        save_record(fresh, args.results)
        console().print(f"written: {args.results}", markup=False)
    if args.render is not None:
        render_pages([fresh], args.render)
    return code


def run_render(args: argparse.Namespace) -> int:
    """Make the pages."""
    render_pages([analysed(load_record(path)) for path in args.results], args.out)
    return 0


def print_statistics_check(record: RunRecord) -> int:
    """Print whether the statistics of a record follow from its scores; return the exit code."""
    out = console()
    if record.analysis is None and record.published is None:
        out.print("The record had no statistics to compare with.", markup=False)
        return 0
    found = verify_statistics(record)
    out.print(str(found), markup=False)
    for one in found.mismatches[:_SHOWN]:
        out.print(one_line(f"  {one}"), markup=False)
    if len(found.mismatches) > _SHOWN:
        out.print(f"  ... and {len(found.mismatches) - _SHOWN} more", markup=False)
    return 0 if found.holds else DOES_NOT_FOLLOW


def analysed(record: RunRecord) -> RunRecord:
    """Return a record with its analysis, computed where it has none."""
    return record if record.analysis is not None else record.with_analysis(make_leaderboard(record).to_dict())


def render_pages(records: list[RunRecord], folder: Path) -> None:
    """Make the pages of records, or say what is missing for that."""
    if find_spec("segbench.site") is None:
        raise MissingExtra("This version of segbench has no pages (segbench.site): the record itself is complete.")
    import_module("segbench.site").render(records, folder)
    console().print(f"written: {folder}", markup=False)
