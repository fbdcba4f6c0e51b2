"""Preflight: read every file of a pairing once and report what is wrong with it, before any number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from segauge.doctor.orientation import best_turn, dice, explanation, foreground
from segauge.errors import SegaugeError
from segauge.evaluation.progress import Progress
from segauge.evaluation.structures import StructureSpec, spec_of
from segauge.geometry.masks import tabulate
from segauge.io import Reading, SpacingSource, read_labels
from segauge.io.contents import content_hash
from segauge.io.layouts import Pair, Pairing
from segauge.io.reading import ReferenceGrid
from segauge.labelmap import LabelMap
from segauge.options import Measuring
from segauge.placement import Method, Placement, place
from segauge.plural import counted

__all__ = ["Diagnosis", "Finding", "Level", "examine"]


Topic = Literal["pairing", "file", "grid", "orientation", "labels", "presence", "spacing"]


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"  #: the case cannot be measured, or its numbers would be wrong
    WARNING = "warning"  #: look at it before you trust the numbers
    NOTE = "note"  #: taken care of, good to know


@dataclass(frozen=True)
class Finding:
    """One thing that was found: how bad, about what, in which case ("" for the whole dataset), in words."""

    level: Level
    topic: Topic
    case_id: str
    words: str

    def __str__(self) -> str:
        where = f"{self.case_id}: " if self.case_id else ""
        return f"{self.level.value}: {self.topic}: {where}{self.words}"


@dataclass(frozen=True)
class Diagnosis:
    """What was found in a dataset of `n_cases` cases, the worst first."""

    n_cases: int
    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """True if nothing stands in the way of measuring and nothing should be looked at first."""
        return all(finding.level is Level.NOTE for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        rows = [
            {"level": one.level.value, "topic": one.topic, "case": one.case_id, "words": one.words}
            for one in self.findings
        ]
        return {"n_cases": self.n_cases, "healthy": self.is_healthy, "findings": rows}


#: Voxel edges outside of this range (mm) are rarely millimetres.
_USUAL_SPACING = (0.05, 20.0)
#: Above this overlap no flip or permutation is looked for.
_DOUBTFUL_DICE = 0.8


def examine(pairing: Pairing, progress: Progress | None = None) -> Diagnosis:
    """Look at every file once, one case after the other, and return what was found, the worst first.

    `progress` is told of each case that is done, and whether errors were found in it.
    """
    chart = _Chart()
    for warning in pairing.warnings:
        level = Level.ERROR if "no prediction" in warning else Level.WARNING
        chart.add(level, "pairing", "", warning)
    for pair in pairing.pairs:
        known = len(chart.findings)
        _examine_pair(pair, chart)
        if progress is not None:
            progress.advance(failed=any(finding.level is Level.ERROR for finding in chart.findings[known:]))
    structures = pairing.structures
    _examine_dataset(chart, spec_of(Measuring(structures)) if structures is not None else None)
    order = list(Level)
    findings = sorted(chart.findings, key=lambda finding: order.index(finding.level))
    return Diagnosis(len(pairing.pairs), tuple(findings))


@dataclass
class _Chart:
    """What is gathered over the cases; no voxels."""

    findings: list[Finding] = field(default_factory=list)
    gt_labels: Counter[int] = field(default_factory=Counter)
    pred_labels: Counter[int] = field(default_factory=Counter)
    names: bool = False
    spacings: Counter[tuple[float, ...]] = field(default_factory=Counter)
    preds_by_hash: dict[str, str] = field(default_factory=dict)
    read: int = 0

    def add(self, level: Level, topic: Topic, case: str, words: str) -> None:
        """Note a finding."""
        self.findings.append(Finding(level, topic, case, words))


def _examine_pair(pair: Pair, chart: _Chart) -> None:
    gt = _read(pair.gt, None, "ground truth", pair.case_id, chart)
    if pair.pred is None or gt is None:
        if pair.pred is not None:
            _read(pair.pred, None, "prediction", pair.case_id, chart)
        return
    pred = _read(pair.pred, gt.reference, "prediction", pair.case_id, chart)
    if pred is None:
        return
    chart.read += 1
    _examine_contents(pair, chart)
    _examine_spacing(gt, pair.case_id, chart)
    placed = _placed(pred.labels, gt.labels, pair.case_id, chart)
    now = None
    if placed is not None:
        now = _examine_voxels(placed, pair.case_id, chart)
    if now is None or now < _DOUBTFUL_DICE:
        words = explanation(best_turn(pred.labels, gt.labels), now, gt.labels)
        if words:
            chart.add(Level.ERROR, "orientation", pair.case_id, words)


def _read(
    source: object, reference: LabelMap | ReferenceGrid | None, side: str, case: str, chart: _Chart
) -> Reading | None:
    try:
        reading = read_labels(source, reference=reference)  # type: ignore[arg-type]
    except SegaugeError as error:
        chart.add(Level.ERROR, "file", case, f"{side}: {error}")
        return None
    for note in reading.notes:
        chart.add(Level.NOTE, "file", case, f"{side}: {note}")
    return reading


def _examine_contents(pair: Pair, chart: _Chart) -> None:
    """Notice predictions that are the ground truth itself, or another case's."""
    pred, gt = content_hash(pair.pred), content_hash(pair.gt)
    if pred == gt:
        chart.add(Level.WARNING, "file", pair.case_id, "prediction and ground truth are the same bytes")
    other = chart.preds_by_hash.setdefault(pred, pair.case_id)
    if other != pair.case_id:
        chart.add(Level.WARNING, "file", pair.case_id, f"its prediction is the same file as that of {other!r}")


def _examine_spacing(gt: Reading, case: str, chart: _Chart) -> None:
    spacing = gt.labels.grid.spacing
    chart.spacings[tuple(round(edge, 3) for edge in spacing)] += 1
    shown = " x ".join(f"{edge:g}" for edge in spacing)
    if gt.spacing_source in (SpacingSource.ASSUMED, SpacingSource.UNUSABLE):
        chart.add(Level.WARNING, "spacing", case, "the ground truth knows no voxel edges: distances would be in voxels")
    elif not all(_USUAL_SPACING[0] <= edge <= _USUAL_SPACING[1] for edge in spacing):
        chart.add(Level.WARNING, "spacing", case, f"voxel edges of {shown} mm: are these millimetres?")


def _placed(pred: LabelMap, gt: LabelMap, case: str, chart: _Chart) -> Placement | None:
    try:
        placed = place(pred, gt)
    except SegaugeError as error:
        chart.add(Level.ERROR, "grid", case, str(error))
        return None
    if placed.method is Method.BY_SHAPE or placed.outside:
        chart.add(Level.WARNING, "grid", case, "; ".join(placed.notes))
    elif placed.notes:
        chart.add(Level.NOTE, "grid", case, "; ".join(placed.notes))
    return placed


def _examine_voxels(placed: Placement, case: str, chart: _Chart) -> float:
    """Count labels and say which mask is empty; return the Dice of the foregrounds, 1 where that says nothing."""
    pred_labels, gt_labels = _labels(placed.pred), _labels(placed.gt)
    chart.pred_labels.update(pred_labels)
    chart.gt_labels.update(gt_labels)
    chart.names = chart.names or bool(placed.pred.names and placed.gt.names)
    for labels, side in ((pred_labels, "prediction"), (gt_labels, "ground truth")):
        if not labels:
            chart.add(Level.WARNING, "presence", case, f"the {side} is empty")
    if not pred_labels or not gt_labels:
        return 1.0
    return dice(foreground(placed.pred), foreground(placed.gt))


def _labels(labels: LabelMap) -> set[int]:
    return {label for layer in labels.layers for label in tabulate(layer, layer).gt_labels}


def _examine_dataset(chart: _Chart, spec: StructureSpec | None) -> None:
    """Compare the labels of all predictions with those of all ground truths, and with what the dataset declares."""
    if not chart.read:
        return
    in_gt, in_pred = set(chart.gt_labels), set(chart.pred_labels)
    if not chart.names:
        if in_pred == {255} and in_gt == {1}:
            chart.add(Level.ERROR, "labels", "", "predictions hold 0 and 255, ground truths 0 and 1: divide by 255")
        for label in sorted(in_pred - in_gt):
            predicted = counted(chart.pred_labels[label], "case")
            words = f"label {label} is predicted in {predicted} and occurs in no ground truth"
            chart.add(Level.WARNING, "labels", "", words)
        for label in sorted(in_gt - in_pred - {spec.ignore if spec is not None else None}):
            words = f"label {label} is in {counted(chart.gt_labels[label], 'ground truth')} and in no prediction"
            chart.add(Level.WARNING, "labels", "", words)
    if spec is not None and spec.mode == "named":
        declared = {part for parts in spec.parts.values() for part in parts if isinstance(part, int)}
        _examine_declared(chart, declared, spec.ignore, in_gt)
    for label, count in sorted(chart.gt_labels.items()):
        chart.add(Level.NOTE, "presence", "", f"label {label} is in {count} of {counted(chart.read, 'ground truth')}")
    if len(chart.spacings) > 1:
        chart.add(Level.NOTE, "spacing", "", f"{len(chart.spacings)} different spacings among the ground truths")


def _examine_declared(chart: _Chart, declared: Iterable[int], ignore: int | None, in_gt: set[int]) -> None:
    known = set(declared)
    for label in sorted(known - in_gt):
        chart.add(Level.ERROR, "labels", "", f"the dataset declares label {label}, which occurs in no ground truth")
    for label in sorted(in_gt - known - {ignore}):
        chart.add(Level.WARNING, "labels", "", f"label {label} occurs in ground truths but is declared nowhere")
