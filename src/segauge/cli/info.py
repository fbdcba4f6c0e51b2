"""What `segauge doctor FILE` prints: the grid of a file, its labels with names and volumes, notes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from segauge.cli.ending import visible
from segauge.cli.parsing import PROBABILITY
from segauge.errors import SegaugeError
from segauge.io.description import describe
from segauge.io.outputs import without_folders, write_whole
from segauge.plural import agreeing

#: Labels that are listed one by one; of more than that, which no label map has, only the first few.
_SHOWN = 150
_FIRST = 10


def add_description_arguments(section: Any) -> None:
    """Add the arguments that say how single files are read."""
    section.add_argument(
        "--reference", metavar="PATH",
        help="images or ground truth that give RTSTRUCT its grid (default: the series next to it)",
    )  # fmt: skip
    section.add_argument(
        "--threshold", type=PROBABILITY, metavar="P", help="take probabilities of at least P as foreground"
    )
    section.add_argument("--allow-nonuniform", action="store_true", help="tilted or unevenly spaced DICOM series, too")


def describe_files(args: argparse.Namespace) -> int:
    """Print a description of each file; with several files, go on after one that cannot be read (exit code 3)."""
    failed, found = 0, []
    for path in args.files:
        try:
            facts = describe(
                path, reference=args.reference, threshold=args.threshold, allow_nonuniform=args.allow_nonuniform
            )
        except SegaugeError as error:
            failed += 1
            print(visible(f"segauge: {error}"), file=sys.stderr)  # noqa: T201 - the command line speaks
            continue
        if args.json is None:
            print(visible("\n".join(_lines(facts))))  # noqa: T201 - the command line speaks
        else:
            shown = without_folders({**facts, "source": Path(path).name}, [("", Path(path).parent)])
            found.append(json.dumps(shown, allow_nan=False) + "\n")
    if args.json is not None:
        write_whole(args.json, found)
    return 0 if not failed else 1 if len(args.files) == 1 else 3


def _lines(facts: dict[str, Any]) -> list[str]:
    """Return the description for people, one aligned row per label."""
    lines = [f"{facts['source']}: {facts['format']}"]
    if facts["grid"] is not None:
        origin = ", ".join(f"{x:.6g}" for x in facts["grid"]["origin_mm"])
        lines += [
            f"  grid         {facts['grid']['words']}",
            f"  spacing      {facts['grid']['spacing_source']}",
            f"  first voxel  at {origin} mm (right, front, top)",
        ]
    if facts["labels"]:
        lines += _table(facts["labels"])
    elif facts["kind"] == "labels":
        lines.append("  no foreground")
    return lines + [f"  note: {note}" for note in facts["notes"]]


def _table(labels: list[dict[str, Any]]) -> list[str]:
    empty = [entry for entry in labels if entry["voxels"] == 0 and entry["contours"] is None]
    labels = [entry for entry in labels if entry not in empty]
    if not labels:
        return [f"  no foreground; {agreeing(len(empty), 'label has', 'labels have')} a name"]
    many = len(labels) > _SHOWN
    shown, more = (labels[:_FIRST], labels[_FIRST:]) if many else (labels, [])
    rows = _rows(shown)
    if more:
        low, high = labels[0]["label"], labels[-1]["label"]
        rows.append(f"  and {len(more)} more from {low} to {high}: is this an image, not a label map? (--json has all)")
    if empty:
        rows.append(
            f"  and {len(empty)} with a name but no voxel: {', '.join(entry['name'] for entry in empty[:3])} ..."
        )
    return rows


def _rows(labels: list[dict[str, Any]]) -> list[str]:
    width = max(5, *(len(str(entry["label"])) for entry in labels))
    names = max(4, *(len(entry["name"]) for entry in labels))
    head = f"  {'label':>{width}}  {'name':<{names}}  {'voxels':>12}  {'ml':>12}  contours"
    rows = [head if any(entry["contours"] is not None for entry in labels) else head.removesuffix("  contours")]
    for entry in labels:
        voxels = "-" if entry["voxels"] is None else str(entry["voxels"])
        volume = "-" if entry["ml"] is None else f"{entry['ml']:.3f}"
        contours = "" if entry["contours"] is None else f"  {entry['contours']:>8}"
        rows.append(f"  {entry['label']:>{width}}  {entry['name']:<{names}}  {voxels:>12}  {volume:>12}{contours}")
    return rows
