"""`segauge explain METRIC`: what a metric is, and the same pair under the convention of every tool."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from segauge.cli.tables import print_table
from segauge.cli.terminal import console, show, tell
from segauge.explanation import Explanation, explain
from segauge.io import read_labels
from segauge.placement import place


def add_parser(subparsers: Any) -> None:
    """Add the command `explain`."""
    parser = subparsers.add_parser(
        "explain",
        description="Explain a metric. For surface metrics, also compute one pair as MONAI, MedPy, surface-distance, "
        "MeshMetrics and segauge do: your own pair or a built-in one with a known value. "
        "Exit codes: 0 fine, 1 tool error, 2 usage.",
        examples=("segauge explain hd95", "segauge explain nsd@2 --pred prediction.nii.gz --gt label.nii.gz --label 2"),
    )
    parser.add_argument("metric", metavar="METRIC", help="key of a metric, such as hd95, assd or nsd@2")
    parser.add_argument("--pred", metavar="FILE", help="predicted segmentation; with --gt")
    parser.add_argument("--gt", metavar="FILE", help="ground truth on the same grid")
    parser.add_argument("--label", type=int, default=1, metavar="N", help="label to measure (default: 1)")
    parser.add_argument("--nsd-tolerance", type=float, default=1.0, metavar="MM", help="for nsd (default: 1 mm)")
    parser.add_argument(
        "--any-frame-of-reference", action="store_true", help="compare DICOM files of different frames of reference"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the explanation."""
    pred, gt = (None if path is None else read_labels(path).labels for path in (args.pred, args.gt))
    if pred is not None and gt is not None:
        placed = place(pred, gt, any_frame_of_reference=args.any_frame_of_reference)
        pred, gt = placed.pred, placed.gt
    explanation = explain(args.metric, pred, gt, label=args.label, nsd_tolerance=args.nsd_tolerance)
    if args.json:
        print(json.dumps(_plain(explanation), allow_nan=False))  # noqa: T201 - the command line speaks
    else:
        _show(explanation)
    return 0


def _plain(explanation: Explanation) -> dict[str, Any]:
    info = explanation.metric
    facts = {"key": info.key, "name": info.name, "unit": info.unit, "direction": info.direction}
    return {
        "metric": {**facts, "definition": info.definition},
        "pair": explanation.pair,
        "answers": [asdict(answer) for answer in explanation.answers],
    }


def _show(explanation: Explanation) -> None:
    info, answers = explanation.metric, explanation.answers
    show(f"{info.name} ({info.key}). {info.facts}", info.definition)
    if not answers:
        return
    rows = [["convention", "value", "surface and distance", "two directions"]]
    for answer in answers:
        value = "undefined" if answer.value is None else f"{answer.value:.4g}"
        rows.append([_name(answer), value, answer.surface, answer.percentile])
    show("")
    print_table(
        console(), f"The same pair under each convention: {explanation.pair}", rows, right=("value",), text=rows[0][2:]
    )
    tell(f"next: segauge eval --pred predictions --gt labels --metrics {info.key} --convention monai")


def _name(answer: Any) -> str:
    return answer.tool if answer.convention in ("segauge", "truth") else f"{answer.convention}\n({answer.tool})"
