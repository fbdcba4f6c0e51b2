"""Metrics of lesions: how many were found, how well each, and what was invented."""

from __future__ import annotations

import re
from collections.abc import Callable

from segauge.metrics.detection import PANOPTIC_IOU, DetectionScores
from segauge.metrics.lesions import AUTOPET_RULES, LESIONWISE_PRESETS, LesionwiseMeans
from segauge.metrics.overlap import f_beta
from segauge.metrics.parts import DISTANCE, NUMBER, SHARE, Function, MetricFamily, StructureParts, number_above_0
from segauge.scores import Direction, MetricInfo

_RULE = "A lesion is a connected component; the detection rules decide which pairs count as found."
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


_PARTS = {
    "sq": ("Segmentation quality", "Mean IoU of the lesions that were found. 0 where none was found."),
    "rq": ("Recognition quality", "TP / (TP + FP / 2 + FN / 2). 0 where one mask is empty."),
    "pq": ("Panoptic quality", "Segmentation quality times recognition quality. 0 where one mask is empty."),
}


def _panoptic(part: str, iou_threshold: float, *, named: bool = False) -> MetricInfo:
    name, definition = _PARTS[part]

    def value(parts: StructureParts) -> float | None:
        found = parts.panoptic(iou_threshold)
        return None if found is None else float(getattr(found, part))

    return MetricInfo(
        f"{part}@{iou_threshold:g}" if named else part,
        f"{name} at IoU {iou_threshold:g}",
        "1",
        "higher",
        SHARE,
        "lesions",
        f"{definition} A lesion is a connected component; it is found if its IoU is at least {iou_threshold:g}.",
        value,
        when_failed=0.0,
    )


def _panoptic_family(part: str) -> MetricFamily:
    return MetricFamily(
        re.compile(rf"{part}@{NUMBER}"),
        f"{part}@0.3",
        lambda threshold: _panoptic(part, number_above_0(threshold, 1.0), named=True),
    )


def _false_volume(key: str, side: str, rules: str = "") -> MetricInfo:
    """Return a false volume: ours, or that of autoPET in one year."""
    positive = side == "positive"
    owner, other = ("predicted", "ground truth") if positive else ("ground-truth", "prediction")
    undefined = rules == "autopet-2024" and not positive

    def value(parts: StructureParts) -> float | None:
        if undefined and parts.overlap.gt_count == 0:
            return None
        if parts.false_volumes is None:
            return 0.0 if parts.gt.ndim == 3 else None
        found = parts.false_volumes
        return found.false_positive_ml if positive else found.false_negative_ml

    return MetricInfo(
        key,
        f"False {side} volume" + (f" ({rules})" if rules else ""),
        "ml",
        "lower",
        DISTANCE,
        "lesions",
        f"Volume of the {owner} lesions (18-connected) that share no voxel with the {other}"
        + (
            ". Not defined without lesions in the ground truth." if undefined else f", as in {rules or 'autopet-2022'}."
        ),
        value,
        when_absent=None if undefined else 0.0,
        needs_gt=undefined,
    )


def _challenge_dice(rules: str) -> MetricInfo:
    undefined = rules == "autopet-2024"
    return MetricInfo(
        f"dice@{rules}",
        f"Dice coefficient ({rules})",
        "1",
        "higher",
        SHARE,
        "counts",
        "2 TP / (2 TP + FP + FN), in voxels. 0 without prediction"
        + (", not defined without lesions in the ground truth." if undefined else " or without ground truth."),
        lambda parts: None if undefined and parts.overlap.gt_count == 0 else f_beta(parts.overlap, 1.0),
        when_failed=None if undefined else 0.0,
        needs_gt=undefined,
    )


def _lesionwise_dice(preset: str) -> MetricInfo:
    return _lesionwise(
        f"lesionwise_dice@{preset}",
        f"Lesion-wise Dice ({preset})",
        "1",
        "higher",
        SHARE,
        "Mean Dice over the lesions of the ground truth and the false positives (0 each), by the challenge's rules: "
        "the ground truth is dilated before lesions are separated, small ones are left out.",
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
        "2 TP / (2 TP + FP + FN). 0 where one mask is empty.",
        lambda found: found.f1,
    ),
)

PANOPTIC = tuple(_panoptic(part, PANOPTIC_IOU) for part in _PARTS)

VOLUMES = tuple(_false_volume(f"false_{side}_volume", side) for side in ("positive", "negative"))

LESIONWISE = (_lesionwise_dice(_PRESET), _lesionwise_hd95(_PRESET))

_PRESETS = "|".join(map(re.escape, LESIONWISE_PRESETS))
_AUTOPET = "|".join(AUTOPET_RULES)
FAMILIES = (
    *map(_panoptic_family, _PARTS),
    MetricFamily(re.compile(f"dice@({_AUTOPET})"), "dice@autopet-2024", _challenge_dice),
    MetricFamily(
        re.compile(f"false_positive_volume@({_AUTOPET})"),
        "false_positive_volume@autopet-2024",
        lambda rules: _false_volume(f"false_positive_volume@{rules}", "positive", rules),
    ),
    MetricFamily(
        re.compile(f"false_negative_volume@({_AUTOPET})"),
        "false_negative_volume@autopet-2024",
        lambda rules: _false_volume(f"false_negative_volume@{rules}", "negative", rules),
    ),
    MetricFamily(re.compile(f"lesionwise_dice@({_PRESETS})"), "lesionwise_dice@brats-2023-met", _lesionwise_dice),
    MetricFamily(re.compile(f"lesionwise_hd95@({_PRESETS})"), "lesionwise_hd95@brats-2023-met", _lesionwise_hd95),
)
