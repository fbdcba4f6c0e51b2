"""Metrics of centerlines, for tubular structures."""

from __future__ import annotations

from collections.abc import Callable

from segauge.metrics.centerline import CenterlineScores
from segauge.metrics.definitions.forms import SHARE, Function
from segauge.metrics.parts import StructureParts
from segauge.scores import MetricInfo

_LINE = "The centerline of a mask is its curve skeleton; lengths are counted in its voxels."


def _of_centerlines(function: Callable[[CenterlineScores], float | None]) -> Function:
    def value(parts: StructureParts) -> float | None:
        return None if parts.centerlines is None else function(parts.centerlines)

    return value


CENTERLINE = (
    MetricInfo(
        "cldice",
        "Centerline Dice",
        "1",
        "higher",
        SHARE,
        "centerline",
        f"Harmonic mean of topology precision and topology sensitivity. 0 where one mask is empty. {_LINE}",
        _of_centerlines(lambda scores: scores.cldice),
        when_failed=0.0,
    ),
    MetricInfo(
        "topology_precision",
        "Topology precision",
        "1",
        "higher",
        SHARE,
        "centerline",
        f"Share of the predicted centerline inside the ground truth. No number without prediction. {_LINE}",
        _of_centerlines(lambda scores: scores.topology_precision),
    ),
    MetricInfo(
        "topology_sensitivity",
        "Topology sensitivity",
        "1",
        "higher",
        SHARE,
        "centerline",
        f"Share of the true centerline inside the prediction. No number without ground truth. {_LINE}",
        _of_centerlines(lambda scores: scores.topology_sensitivity),
    ),
)
