"""Metrics of voxel counts, overlap and volume, and of centerlines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from segauge.metrics import overlap as overlaps
from segauge.metrics.overlap import CenterlineScores
from segauge.metrics.parts import DISTANCE, NUMBER, SHARE, Function, MetricFamily, StructureParts, number_above_0
from segauge.scores import Direction, MetricInfo

_Facts = tuple[str, Direction, tuple[float, float], str]
#: Unit, direction, bounds and needs of several metrics.
_SHARE_OF_COUNTS: _Facts = ("1", "higher", SHARE, "counts")
_SHARE_OF_LINES: _Facts = ("1", "higher", SHARE, "centerline")
_VOLUME: _Facts = ("ml", "none", DISTANCE, "counts")


def _ml(parts: StructureParts, voxels: int) -> float:
    return voxels * parts.voxel_volume_mm3 / 1000


def _fbeta(beta: float) -> MetricInfo:
    return MetricInfo(
        key=f"fbeta@{beta:g}",
        name=f"F{beta:g} score",
        unit="1",
        direction="higher",
        bounds=SHARE,
        needs="counts",
        definition="(1 + b²) TP / ((1 + b²) TP + b² FN + FP): harmonic mean of precision and sensitivity in which "
        "sensitivity counts b times as much. 0 where one mask is empty.",
        function=lambda parts: overlaps.f_beta(parts.overlap, beta),
        when_failed=0.0,
    )


OVERLAP = (
    MetricInfo(
        "dice",
        "Dice coefficient",
        *_SHARE_OF_COUNTS,
        "2 TP / (2 TP + FP + FN), in voxels. 0 where one mask is empty.",
        lambda parts: overlaps.f_beta(parts.overlap, 1.0),
        when_failed=0.0,
    ),
    MetricInfo(
        "iou",
        "Intersection over union",
        *_SHARE_OF_COUNTS,
        "TP / (TP + FP + FN), in voxels; also called Jaccard index. 0 where one mask is empty.",
        lambda parts: overlaps.overlap_iou(parts.overlap),
        when_failed=0.0,
    ),
    MetricInfo(
        "sensitivity",
        "Sensitivity",
        *_SHARE_OF_COUNTS,
        "TP / (TP + FN): share of the ground truth that was found; also called recall. No number without ground truth.",
        lambda parts: overlaps.sensitivity(parts.overlap),
    ),
    MetricInfo(
        "precision",
        "Precision",
        *_SHARE_OF_COUNTS,
        "TP / (TP + FP): share of the prediction that is right. No number without prediction.",
        lambda parts: overlaps.precision(parts.overlap),
    ),
    MetricInfo(
        "specificity",
        "Specificity",
        *_SHARE_OF_COUNTS,
        "TN / (TN + FP): share of all other voxels of the image that were left alone. Depends on how much background "
        "the image has.",
        lambda parts: overlaps.specificity(parts.overlap),
        when_absent=1.0,
    ),
    _fbeta(2.0),
)

VOLUME = (
    MetricInfo(
        "pred_volume",
        "Predicted volume",
        *_VOLUME,
        "Voxels of the prediction times the volume of a voxel (in 2-D: area in units of 1000 mm²).",
        lambda parts: _ml(parts, parts.overlap.pred_count),
        when_absent=0.0,
    ),
    MetricInfo(
        "gt_volume",
        "Ground-truth volume",
        *_VOLUME,
        "Voxels of the ground truth times the volume of a voxel (in 2-D: area in units of 1000 mm²).",
        lambda parts: _ml(parts, parts.overlap.gt_count),
        when_absent=0.0,
    ),
    MetricInfo(
        "volume_difference",
        "Volume difference",
        "ml",
        "none",
        (-math.inf, math.inf),
        "counts",
        "Predicted minus ground-truth volume: negative means too small.",
        lambda parts: _ml(parts, parts.overlap.pred_count - parts.overlap.gt_count),
        when_absent=0.0,
    ),
    MetricInfo(
        "relative_volume_difference",
        "Relative volume difference",
        "1",
        "none",
        (-1.0, math.inf),
        "counts",
        "(V_pred - V_gt) / V_gt: 0 is best, -1 means nothing was predicted. No number without ground truth.",
        lambda parts: overlaps.relative_volume_difference(parts.overlap),
    ),
    MetricInfo(
        "volumetric_similarity",
        "Volumetric similarity",
        *_SHARE_OF_COUNTS,
        "1 - |V_pred - V_gt| / (V_pred + V_gt): blind to where the volumes lie. 0 where one mask is empty.",
        lambda parts: overlaps.volumetric_similarity(parts.overlap),
        when_failed=0.0,
    ),
    MetricInfo(
        "centroid_distance",
        "Centroid distance",
        "mm",
        "lower",
        DISTANCE,
        "counts",
        "Distance between the centres of mass of the two masks. No number where one mask is empty.",
        lambda parts: overlaps.centroid_distance_mm(parts.overlap, parts.linear),
    ),
)

FAMILIES = (MetricFamily(re.compile(rf"fbeta@{NUMBER}"), "fbeta@0.5", lambda beta: _fbeta(number_above_0(beta))),)


_LINE = "The centerline of a mask is its curve skeleton; lengths are counted in its voxels."


def _of_centerlines(function: Callable[[CenterlineScores], float | None]) -> Function:
    def value(parts: StructureParts) -> float | None:
        return None if parts.centerlines is None else function(parts.centerlines)

    return value


CENTERLINE = (
    MetricInfo(
        "cldice",
        "Centerline Dice",
        *_SHARE_OF_LINES,
        f"Harmonic mean of topology precision and topology sensitivity. 0 where one mask is empty. {_LINE}",
        _of_centerlines(lambda scores: scores.cldice),
        when_failed=0.0,
    ),
    MetricInfo(
        "topology_precision",
        "Topology precision",
        *_SHARE_OF_LINES,
        f"Share of the predicted centerline inside the ground truth. No number without prediction. {_LINE}",
        _of_centerlines(lambda scores: scores.topology_precision),
    ),
    MetricInfo(
        "topology_sensitivity",
        "Topology sensitivity",
        *_SHARE_OF_LINES,
        f"Share of the true centerline inside the prediction. No number without ground truth. {_LINE}",
        _of_centerlines(lambda scores: scores.topology_sensitivity),
    ),
)
