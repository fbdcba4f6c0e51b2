"""Metrics of lesions: how many were found, how well each, and what was invented."""

from __future__ import annotations

import re
from collections.abc import Callable

from segauge.metrics.definitions.forms import DISTANCE, SHARE, Function, MetricFamily
from segauge.metrics.detection import DetectionScores
from segauge.metrics.lesions import LESIONWISE_PRESETS, FalseVolumes, LesionwiseMeans
from segauge.metrics.parts import StructureParts
from segauge.scores import Direction, MetricInfo

_RULE = "A lesion is a connected component; which pairs count as found is said by the detection rules."
_PRESET = "brats-2023-gli"


def _of_lesions(function: Callable[[DetectionScores], float | None]) -> Function:
    return lambda parts: None if parts.lesions is None else function(parts.lesions)


def _count(
    key: str, name: str, direction: Direction, definition: str, count: Callable[[DetectionScores], int]
) -> MetricInfo:
    def value(parts: StructureParts) -> float:
        return float(count(parts.lesions)) if parts.lesions is not None else 0.0

    facts = (key, name, "count", direction, DISTANCE, "lesions", f"{definition} {_RULE}")
    return MetricInfo(*facts, value, when_absent=0.0)


def _share(
    key: str,
    name: str,
    definition: str,
    share: Callable[[DetectionScores], float | None],
    when_failed: float | None = 0.0,
) -> MetricInfo:
    return MetricInfo(
        key, name, "1", "higher", SHARE, "lesions", f"{definition} {_RULE}", _of_lesions(share), when_failed
    )


def _false_volume(key: str, name: str, definition: str, volume: Callable[[FalseVolumes], float]) -> MetricInfo:
    def value(parts: StructureParts) -> float | None:
        if parts.false_volumes is None:
            return 0.0 if parts.gt.ndim == 3 else None
        return volume(parts.false_volumes)

    return MetricInfo(key, name, "ml", "lower", DISTANCE, "lesions", definition, value, when_absent=0.0)


def _lesionwise_dice(preset: str) -> MetricInfo:
    return _lesionwise(
        f"lesionwise_dice@{preset}",
        f"Lesion-wise Dice ({preset})",
        "1",
        "higher",
        SHARE,
        "Mean Dice over the lesions of the ground truth and the false positives (0 each), by the challenge's rules: "
        "the ground truth is dilated before lesions are told apart, small ones are left out.",
        preset,
        lambda scores: scores.dice,
    )


def _lesionwise_hd95(preset: str) -> MetricInfo:
    return _lesionwise(
        f"lesionwise_hd95@{preset}",
        f"Lesion-wise 95 % Hausdorff distance ({preset})",
        "mm",
        "lower",
        DISTANCE,
        "Mean 95 % Hausdorff distance, between the voxel corners of the challenge's own convention, over the lesions "
        "of the ground truth and the false positives; a missed or invented lesion counts 374 mm.",
        preset,
        lambda scores: scores.hd95_mm,
    )


def _lesionwise(
    key: str,
    name: str,
    unit: str,
    direction: Direction,
    bounds: tuple[float, float],
    definition: str,
    preset: str,
    function: Callable[[LesionwiseMeans], float],
) -> MetricInfo:
    def value(parts: StructureParts) -> float | None:
        scores = parts.lesionwise(preset) if parts.gt.ndim == 3 else None
        return None if scores is None else function(scores)

    return MetricInfo(key, name, unit, direction, bounds, "lesions", definition, value)


DETECTION = (
    _count("lesion_tp", "Lesions found", "none", "Ground-truth lesions that were found.", lambda found: found.tp),
    _count("lesion_fp", "Lesions invented", "lower", "Predicted lesions that match none.", lambda found: found.fp),
    _count("lesion_fn", "Lesions missed", "lower", "Ground-truth lesions that were not found.", lambda found: found.fn),
    _share(
        "lesion_recall",
        "Lesion recall",
        "TP / (TP + FN): share of the ground-truth lesions that were found. No number without one.",
        lambda found: found.recall if found.tp + found.fn else None,
        None,
    ),
    _share(
        "lesion_precision",
        "Lesion precision",
        "TP / (TP + FP): share of the predicted lesions that are true. No number without one.",
        lambda found: found.precision if found.tp + found.fp else None,
        None,
    ),
    _share(
        "lesion_f1",
        "Lesion F1 score",
        "2 TP / (2 TP + FP + FN); the recognition quality of panoptic quality. 0 where one mask is empty.",
        lambda found: found.f1,
    ),
    _share(
        "sq",
        "Segmentation quality",
        "Mean IoU of the lesions that were found. 0 where none was.",
        lambda found: found.sq,
    ),
    _share("pq", "Panoptic quality", "Segmentation quality times lesion F1 score.", lambda found: found.pq),
)

VOLUMES = (
    _false_volume(
        "false_positive_volume",
        "False positive volume",
        "Volume of the predicted lesions (18-connected) that share no voxel with the ground truth, as in autoPET.",
        lambda volumes: volumes.false_positive_ml,
    ),
    _false_volume(
        "false_negative_volume",
        "False negative volume",
        "Volume of the ground-truth lesions (18-connected) that share no voxel with the prediction, as in autoPET.",
        lambda volumes: volumes.false_negative_ml,
    ),
)

LESIONWISE = (_lesionwise_dice(_PRESET), _lesionwise_hd95(_PRESET))

_PRESETS = "|".join(map(re.escape, LESIONWISE_PRESETS))
FAMILIES = (
    MetricFamily(re.compile(f"lesionwise_dice@({_PRESETS})"), "lesionwise_dice@brats-2023-met", _lesionwise_dice),
    MetricFamily(re.compile(f"lesionwise_hd95@({_PRESETS})"), "lesionwise_hd95@brats-2023-met", _lesionwise_hd95),
)
