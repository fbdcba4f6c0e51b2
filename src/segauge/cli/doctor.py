"""`segauge doctor --pred PREDS --gt LABELS`: what is wrong with the files, before any number."""

from __future__ import annotations

import argparse
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from segauge.cli.eval import add_pairing, pairing_of
from segauge.cli.info import add_description_arguments, describe_files
from segauge.cli.parsing import PATH
from segauge.cli.terminal import say_written, show, shows_progress, tell
from segauge.doctor import Level, examine
from segauge.evaluation.progress import watched
from segauge.io.layouts.pairs import NamesDiffer, Pair, Pairing, write_pairs
from segauge.io.outputs import check_outputs, common_folder, without_folders, write_json
from segauge.plural import counted


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "doctor",
        description="Check files before you evaluate: pairing, health, grids, spacing, orientation (48 flips and "
        "permutations), labels, presence. Only problems are printed; the last line is the command to run next. Or "
        "describe single files (FILE): grid, labels with names and volumes. Exit codes: 0 fine (warnings do not "
        "count), 1 tool error, 2 usage, 3 files are missing, unreadable or have the wrong labels, 4 grids or "
        "orientations do not agree.",
        examples=(
            "segauge doctor --pred predictions --gt labels",
            "segauge doctor --pred predictions --gt labels --pairs-out pairs.csv",
            "segauge doctor segmentation.nii.gz",
        ),
    )
    parser.add_argument("files", metavar="FILE", nargs="*", help="a file, a folder of masks, or a DICOM series")
    folders = parser.add_argument_group("two folders")
    folders.add_argument("--pred", type=PATH, metavar="PATH", help="predictions: a folder, or one file")
    folders.add_argument("--gt", type=PATH, metavar="PATH", help="ground truth: a folder, or one file")
    add_pairing(folders)
    folders.add_argument(
        "--pairs-out", type=Path, metavar="FILE", help="write which files belong together, to edit and give as --pairs"
    )
    folders.add_argument("--notes", action="store_true", help="print also what is no problem")
    add_description_arguments(parser.add_argument_group("single files"))
    parser.add_argument(
        "--json", type=Path, nargs="?", const=Path("-"), metavar="FILE", help="write everything as JSON (default: -)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Examine, print and write."""
    if args.files:
        return describe_files(args)
    check_outputs([args.json, args.pairs_out], [args.pred, args.gt, args.pairs])
    try:
        pairing = pairing_of(args)
    except NamesDiffer as names:
        if args.pairs_out is None:
            raise
        return _begin_table(names, args.pairs_out)
    with watched(len(pairing.pairs), "reading") if shows_progress() else nullcontext() as bar:
        found = examine(pairing, bar)
    show(f"{counted(found.n_cases, 'case')} in the layout {pairing.layout!r}")
    show(*(str(finding) for finding in found.findings if finding.level is not Level.NOTE or args.notes))
    counts = {level: sum(finding.level is level for finding in found.findings) for level in Level}
    words = ", ".join(counted(count, level.value) for level, count in counts.items() if count)
    if counts[Level.NOTE] and not args.notes:
        words += f" (--notes prints {'it' if counts[Level.NOTE] == 1 else 'them'})" if found.is_healthy else ""
    show("healthy" + (f": {words}" if words else "") if found.is_healthy else words)
    if args.json is not None:
        preds, gts = (pair.pred for pair in pairing.pairs), (pair.gt for pair in pairing.pairs)
        folders = [(word, common_folder(paths)) for word, paths in (("pred", preds), ("gt", gts))]
        write_json(args.json, without_folders(found.to_dict(), folders))
    if args.pairs_out is not None:
        write_pairs(args.pairs_out, pairing)
    say_written(args.pairs_out)
    show(f"next: {_next(args)}")
    errors = {finding.topic for finding in found.findings if finding.level is Level.ERROR}
    return 4 if errors & {"grid", "orientation"} else 3 if errors else 0


def _begin_table(names: NamesDiffer, path: Path) -> int:
    """Write a table with the ground truths alone, and print the predictions that are to be filled in."""
    write_pairs(path, Pairing("files", tuple(Pair(case, None, gt) for case, gt in sorted(names.gts.items()))))
    say_written(path)
    tell(f"The file names do not show which prediction belongs to which case. Fill in the column pred of {path}:")
    show(*(f"  {pred}" for pred in sorted(map(str, names.preds.values()))))
    return 3


def _next(args: argparse.Namespace) -> str:
    """Return the command that measures what was looked at."""
    pairs = args.pairs_out or args.pairs
    given = [("--pred", args.pred), ("--gt", args.gt)] if pairs is None else [("--pairs", pairs)]
    layout = [] if args.layout == "auto" else ["--layout", args.layout]
    words = [word for flag, path in given for word in (flag, shlex.quote(str(path)))]
    return " ".join(["segauge eval", *words, *layout, "--report report.html"])
