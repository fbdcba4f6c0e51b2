"""`segbench overlap A B`: near-duplicate images between two datasets, found by what they show."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.io.outputs import write_json
from segauge.plural import agreeing, counted
from segbench.cli.printing import console, one_line, print_progress, print_table
from segbench.overlap import find_overlap, images_of

#: Exit code where the datasets share images.
SHARED = 3


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "overlap",
        help="find images that two datasets share, whatever they are called",
        description="Find near-duplicate images: resampled, cropped or rescaled copies, and often other scans of the "
        "same patient in the same pose. Mirrored, turned and stretched copies are not found. A and B are folders of "
        "NIfTI images, or datasets: kits23, kits23=data/kits23. Exit codes: 0 none, 1 error, 2 usage, 3 some found.",
        examples=("segbench overlap data/ours/images kits23=data/kits23 --json shared.json",),
    )
    parser.add_argument("left", metavar="A", help="a folder of images, a dataset, or dataset=folder")
    parser.add_argument("right", metavar="B", help="the other one")
    parser.add_argument("--n-cases", type=int, metavar="N", help="only the first N images of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found, too")
    parser.set_defaults(run=run_overlap)


def run_overlap(args: argparse.Namespace) -> int:
    """Print the pairs."""
    left, right = (dict(list(images_of(what).items())[: args.n_cases]) for what in (args.left, args.right))
    found = find_overlap(left, right, print_progress)
    out = console()
    if found.pairs:
        rows = [[args.left, args.right, "places", "share", "offset in mm"]]
        for pair in found.pairs:
            offset = ", ".join(f"{value:+.1f}" for value in pair.likeness.offset_mm)
            votes, share = str(pair.likeness.votes), f"{pair.likeness.share:.2f}"
            rows.append([one_line(pair.left), one_line(pair.right), votes, share, offset])
        print_table(out, "images that show the same scan", rows, keys=2)
    shared = agreeing(len(found.pairs), "pair shows", "pairs show")
    compared = f"{found.n_left} and {counted(found.n_right, 'image')} compared: {shared} the same scan."
    out.print(compared, markup=False)
    for name, reason in found.unusable.items():
        out.print(one_line(f"not compared: {name}: {reason}"), markup=False)
    if args.json is not None:
        write_json(args.json, found.to_dict())
    return SHARED if found.pairs else 0
