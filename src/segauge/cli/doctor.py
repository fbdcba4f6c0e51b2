"""`segauge doctor --pred PREDS --gt LABELS`: what is wrong with the files, before any number."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from segauge.cli.eval import add_pairing
from segauge.cli.parsing import PATH
from segauge.cli.sources import console, one_line
from segauge.doctor import Level, examine
from segauge.evaluation.progress import watched
from segauge.io.layouts.finding import find_pairs
from segauge.io.outputs import check_outputs, write_json
from segauge.plural import counted


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "doctor",
        description="Look at every file: pairing, health, grids, spacing, orientation (48 flips and permutations), "
        "labels, presence. Exit codes: 0 fine (warnings do not count), 1 tool error, 2 usage, 3 files are missing, "
        "unreadable or have the wrong labels, 4 grids or orientations do not agree.",
        examples=("segauge doctor --pred predictions --gt labels --notes",),
    )
    parser.add_argument("--pred", required=True, type=PATH, metavar="PATH", help="predictions: a folder, or one file")
    parser.add_argument("--gt", required=True, type=PATH, metavar="PATH", help="ground truth: a folder, or one file")
    add_pairing(parser)
    parser.add_argument("--notes", action="store_true", help="print what is only worth knowing, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Examine, print and write."""
    check_outputs([args.json], [args.pred, args.gt])
    pairing = find_pairs(args.pred, args.gt, layout=args.layout, follow_links=args.follow_links)
    with watched(len(pairing.pairs), "reading") if sys.stderr.isatty() else nullcontext() as bar:
        found = examine(pairing, bar)
    out = console()
    out.print(f"{counted(found.n_cases, 'case')} in the layout {pairing.layout!r}", markup=False)
    told = [one_line(str(finding)) for finding in found.findings if finding.level is not Level.NOTE or args.notes]
    for line in told:
        out.print(line, markup=False)
    if any("--" in line and "--" not in line for line in told):
        out.print("options that are named here are those of `segauge eval`", markup=False)
    counts = {level: sum(finding.level is level for finding in found.findings) for level in Level}
    words = ", ".join(counted(count, level.value) for level, count in counts.items() if count)
    if counts[Level.NOTE] and not args.notes:
        words += f" (--notes prints {'it' if counts[Level.NOTE] == 1 else 'them'})" if found.is_healthy else ""
    out.print("healthy" + (f": {words}" if words else "") if found.is_healthy else words, markup=False)
    if args.json is not None:
        write_json(args.json, found.to_dict())
    errors = {finding.topic for finding in found.findings if finding.level is Level.ERROR}
    return 4 if errors & {"grid", "orientation"} else 3 if errors else 0
