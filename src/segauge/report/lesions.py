"""Lesions by size: how many there were and how many were found, counted over the cases of a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from segauge import plural
from segauge.errors import SegaugeError
from segauge.evaluation import Case, EvaluationResult
from segauge.geometry.distances import voxel_steps
from segauge.measurement import LayerPairs
from segauge.metrics.detection import SizeBin
from segauge.metrics.matching import detection_of
from segauge.metrics.parts import Options
from segauge.report.pairs import CasePair, read_pair
from segauge.scores import Status
from segauge.words import lesion_rules

#: Metrics that say that somebody asked for lesions.
_LESION_METRICS = ("det_f1", "det_recall", "lesion_f1", "lesion_recall")
#: Lesions per case from which a structure is taken to consist of lesions: an organ has one part per case, or two.
FEWEST_PER_CASE = 1.2


@dataclass(frozen=True)
class SizeCounts:
    """Ground-truth lesions of one structure by size, over all cases that could be read again."""

    bins: tuple[SizeBin, ...]
    words: str = ""

    @classmethod
    def of(cls, parts: Sequence[Sequence[SizeBin]], words: str = "") -> SizeCounts:
        """Return the sum over cases; every case has the same bins."""
        summed = tuple(
            SizeBin(
                column[0].lower_ml, column[0].upper_ml, sum(b.lesions for b in column), sum(b.found for b in column)
            )
            for column in zip(*parts, strict=True)
        )
        return cls(summed, words)

    @property
    def total(self) -> int:
        """All lesions."""
        return sum(one.lesions for one in self.bins)

    def classes(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name of each class of sizes in ml, how many were found, and how many there are."""
        for one in self.bins:
            if one.upper_ml == float("inf"):
                name = f"\N{GREATER-THAN OR EQUAL TO} {one.lower_ml:g}"
            else:
                name = f"< {one.upper_ml:g}" if one.lower_ml == 0 else f"{one.lower_ml:g} to {one.upper_ml:g}"
            yield name, one.found, one.lesions


def lesion_sizes(result: EvaluationResult, cases: Iterable[Case]) -> dict[str, SizeCounts]:
    """Return the lesions of each structure by size; {} where nobody asked for lesions or no structure has them.

    Files are read again. A missing prediction finds nothing; a case that cannot be read any more is left out and
    counted in the words.
    """
    if not any(key in result.metric_names for key in _LESION_METRICS):
        return {}
    options = result.protocol.get("options", {})
    counted: dict[str, list[tuple[SizeBin, ...]]] = {name: [] for name in result.structures}
    unread = 0
    for case in cases:
        try:
            _count(case, result, options, counted)
        except SegaugeError:
            unread += 1
    words = lesion_rules(**vars(detection_of(options)))
    words += f" Without {plural.counted(unread, 'case')} that could not be read." if unread else ""
    found = {name: SizeCounts.of(parts, words) for name, parts in counted.items() if parts}
    return {name: counts for name, counts in found.items() if counts.total >= FEWEST_PER_CASE * len(counted[name])}


def _count(
    case: Case,
    result: EvaluationResult,
    options: Mapping[str, Any],
    counted: dict[str, list[tuple[SizeBin, ...]]],
) -> None:
    """Add the lesions of a case to the counts."""
    row = result.table.cases.index(case.case_id) if case.case_id in result.table.cases else None
    pair = _read(case, options)
    if pair.gt.grid.ndim != 3:
        return
    layers = LayerPairs(pair.pred, pair.gt, None)
    how = Options(detection=detection_of(options))
    linear = voxel_steps(pair.gt.grid.affine)
    for j, name in enumerate(result.structures):
        status = None if row is None else result.table.status[row, j]
        if name not in pair.structures or status not in (Status.PRESENT, Status.MISSED, Status.PREDICTION_MISSING):
            continue
        found = layers.parts_of(
            pair.labels.pred[name], pair.labels.gt[name], options.get("ignore"), linear, how
        ).lesions
        # Without a prediction the status does not say whether there is anything to find.
        if found is not None and (sizes := found.recall_by_size()) and _is_counted(status, sizes):
            counted[name].append(sizes)


def _is_counted(status: Status | None, sizes: Iterable[SizeBin]) -> bool:
    return status != Status.PREDICTION_MISSING or any(one.lesions for one in sizes)


def _read(case: Case, options: Mapping[str, Any]) -> CasePair:
    """Return both label maps of a case; of one without a prediction an empty one, which finds nothing."""
    if case.pred is not None:
        return read_pair(case, options)
    pair = read_pair(replace(case, pred=case.gt), options)
    empty = tuple(np.zeros_like(layer) for layer in pair.pred.layers)
    return replace(pair, pred=replace(pair.pred, layers=empty))
