"""`segauge verify RESULT.json`: which numbers of a result file do not come out again."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from segauge.cli.eval import add_layout
from segauge.cli.parsing import COUNT, PATH
from segauge.cli.terminal import show
from segauge.errors import InvalidInput
from segauge.evaluation import Case, verify
from segauge.io.layouts import find_pairs

#: Differences that are printed before the rest is only counted.
_SHOWN = 20


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "verify",
        description="Compute a result of `segauge eval --json` again: from its rows, and with --pred and --gt from the "
        "images. Exit codes: 0 every number comes out again, 1 tool error, 2 usage, 5 some do not.",
        examples=("segauge verify result.json", "segauge verify result.json --pred predictions --gt labels"),
    )
    parser.add_argument("result", type=Path, metavar="RESULT", help="JSON file of `segauge eval --json`")
    parser.add_argument("--pred", type=PATH, metavar="PATH", help="predictions, to measure every score again")
    parser.add_argument("--gt", type=PATH, metavar="PATH", help="ground truth, to measure every score again")
    add_layout(parser)
    parser.add_argument("--jobs", type=COUNT, metavar="N", help="worker processes (default: one per core)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Verify and print."""
    if (args.pred is None) != (args.gt is None):
        raise InvalidInput("Give --pred and --gt both, to measure again, or neither.")
    cases = None
    if args.pred is not None:
        pairs = find_pairs(args.pred, args.gt, layout=args.layout, follow_links=args.follow_links).pairs
        cases = [Case(pair.case_id, pair.pred, pair.gt) for pair in pairs]
    found = verify(args.result, cases, jobs=args.jobs or min(os.cpu_count() or 1, len(cases or ()) or 1))
    show(*map(str, found.discrepancies[:_SHOWN]))
    if len(found.discrepancies) > _SHOWN:
        show(f"and {len(found.discrepancies) - _SHOWN} more")
    basis = "measured again from the images" if found.remeasured else "computed again from its rows (not the images)"
    verdict = "confirmed" if found.is_confirmed else f"{len(found.discrepancies)} differ"
    show(f"{found.source}: {found.n_compared} values {basis}: {verdict}")
    needs = "" if found.remeasured else " (--pred and --gt check more)"
    show(f"not checked: {', '.join(found.unchecked)}{needs}")
    return 0 if found.is_confirmed else 5
