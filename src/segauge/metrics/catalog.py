"""The catalog of metrics: the facts of each, written once."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

from segauge.errors import UnknownMetric
from segauge.geometry.distances import SurfaceDistances
from segauge.metrics import overlap as overlaps
from segauge.metrics import surface as surfaces
from segauge.metrics.parts import Options, StructureParts
from segauge.scores import MetricInfo, Status

Function = Callable[[StructureParts], float | None]

_SHARE = (0.0, 1.0)
_DISTANCE = (0.0, math.inf)


@dataclass(frozen=True)
class Family:
    """Metrics that differ in one number of their key, such as hd90 and hd95, or nsd@1 and nsd@2.5."""

    pattern: re.Pattern[str]
    example: str
    make: Callable[[float], MetricInfo]


def metric(key: str) -> MetricInfo:
    """Return a metric by its key; the number in keys such as "hd97.5", "nsd@2", "biou@1.5", "fbeta@2" is free."""
    if key in CATALOG:
        return CATALOG[key]
    for family in FAMILIES:
        match = family.pattern.fullmatch(key)
        if match:
            return replace(family.make(float(match.group(1))), key=key)
    close = difflib.get_close_matches(key, CATALOG, n=3)
    hint = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    families = ", ".join(repr(family.example) for family in FAMILIES)
    raise UnknownMetric(f"No metric {key!r}. {hint}There are {', '.join(CATALOG)}; and with a number {families}.")


def resolve_metrics(keys: str | Iterable[str] | None) -> tuple[MetricInfo, ...]:
    """Return the metrics a user asked for: keys, "all", or None for the default ones."""
    if keys is None:
        return tuple(CATALOG[key] for key in DEFAULT_METRICS)
    if isinstance(keys, str):
        return tuple(CATALOG.values()) if keys == "all" else (metric(keys),)
    return tuple(metric(key) for key in dict.fromkeys(keys))


def _when_present(function: Function, otherwise: float | None = None) -> Function:
    """Return a function that is asked only where both masks have voxels; one empty mask gives `otherwise`."""

    def value(parts: StructureParts) -> float | None:
        if parts.status is Status.PRESENT:
            return function(parts)
        return None if parts.status is Status.ABSENT else otherwise

    return value


def _of_distances(function: Callable[[SurfaceDistances, Options], float], otherwise: float | None = None) -> Function:
    """Return a function of the surface distances; None where all of a surface lies in ignored voxels."""

    def value(parts: StructureParts) -> float | None:
        return None if parts.distances is None else function(parts.distances, parts.options)

    return _when_present(value, otherwise)


def _boundary_iou(parts: StructureParts, width_mm: float) -> float | None:
    return surfaces.band_iou(*parts.bands(width_mm))


def _ml(parts: StructureParts, voxels: int) -> float:
    return voxels * parts.voxel_volume_mm3 / 1000


def _hd(percent: float) -> MetricInfo:
    whole = percent == 100
    return MetricInfo(
        key="hd" if whole else f"hd{percent:g}",
        name="Hausdorff distance" if whole else f"{percent:g} % Hausdorff distance",
        unit="mm",
        direction="lower",
        bounds=_DISTANCE,
        needs="surface",
        definition=(
            "Largest distance from a point of either surface to the other surface."
            if whole
            else f"The smallest distance within which at least {percent:g} % of a surface's area lies from the other "
            "surface; the larger of the two directions (or, with hd='pooled', of both surfaces together)."
        )
        + " No number where one mask is empty.",
        function=_of_distances(lambda sd, options: surfaces.hausdorff_percentile(sd, percent, options.hd)),
    )


def _nsd(tolerance_mm: float | None) -> MetricInfo:
    def value(sd: SurfaceDistances, options: Options) -> float:
        return surfaces.nsd(sd, options.tolerance_mm if tolerance_mm is None else tolerance_mm)

    return MetricInfo(
        key="nsd" if tolerance_mm is None else f"nsd@{tolerance_mm:g}",
        name="Normalized surface Dice" + ("" if tolerance_mm is None else f" at {tolerance_mm:g} mm"),
        unit="1",
        direction="higher",
        bounds=_SHARE,
        needs="surface",
        definition="Share of the area of both surfaces that lies within the tolerance of the other surface (a distance "
        "equal to the tolerance counts). 0 where one mask is empty.",
        function=_of_distances(value, otherwise=0.0),
        when_failed=0.0,
    )


def _biou(width_mm: float | None) -> MetricInfo:
    return MetricInfo(
        key="biou" if width_mm is None else f"biou@{width_mm:g}",
        name="Boundary IoU" + ("" if width_mm is None else f" at {width_mm:g} mm"),
        unit="1",
        direction="higher",
        bounds=_SHARE,
        needs="band",
        definition="Intersection over union of the two boundary bands: the voxels of each mask whose centre lies "
        "within the tolerance of that mask's own surface. 0 where one mask is empty; no number where no voxel centre "
        "of either mask is that near to its surface (thick slices, small tolerance).",
        function=_when_present(
            lambda parts: _boundary_iou(parts, parts.options.tolerance_mm if width_mm is None else width_mm),
            otherwise=0.0,
        ),
        when_failed=0.0,
    )


def _fbeta(beta: float) -> MetricInfo:
    return MetricInfo(
        key=f"fbeta@{beta:g}",
        name=f"F{beta:g} score",
        unit="1",
        direction="higher",
        bounds=_SHARE,
        needs="counts",
        definition="(1 + b²) TP / ((1 + b²) TP + b² FN + FP): harmonic mean of precision and sensitivity in which "
        "sensitivity counts b times as much. 0 where one mask is empty.",
        function=lambda parts: overlaps.f_beta(parts.overlap, beta),
        when_failed=0.0,
    )


_OVERLAP = (
    MetricInfo(
        "dice",
        "Dice coefficient",
        "1",
        "higher",
        _SHARE,
        "counts",
        "2 TP / (2 TP + FP + FN), in voxels. 0 where one mask is empty.",
        lambda parts: overlaps.f_beta(parts.overlap, 1.0),
        when_failed=0.0,
    ),
    MetricInfo(
        "iou",
        "Intersection over union",
        "1",
        "higher",
        _SHARE,
        "counts",
        "TP / (TP + FP + FN), in voxels; also called Jaccard index. 0 where one mask is empty.",
        lambda parts: overlaps.overlap_iou(parts.overlap),
        when_failed=0.0,
    ),
    MetricInfo(
        "sensitivity",
        "Sensitivity",
        "1",
        "higher",
        _SHARE,
        "counts",
        "TP / (TP + FN): share of the ground truth that was found; also called recall. No number without ground truth.",
        lambda parts: overlaps.sensitivity(parts.overlap),
    ),
    MetricInfo(
        "precision",
        "Precision",
        "1",
        "higher",
        _SHARE,
        "counts",
        "TP / (TP + FP): share of the prediction that is right. No number without prediction.",
        lambda parts: overlaps.precision(parts.overlap),
    ),
    MetricInfo(
        "specificity",
        "Specificity",
        "1",
        "higher",
        _SHARE,
        "counts",
        "TN / (TN + FP): share of all other voxels of the image that were left alone. Depends on how much background "
        "the image has.",
        lambda parts: overlaps.specificity(parts.overlap),
    ),
)

_VOLUME = (
    MetricInfo(
        "pred_volume",
        "Predicted volume",
        "ml",
        "none",
        _DISTANCE,
        "counts",
        "Voxels of the prediction times the volume of a voxel (in 2-D: area in units of 1000 mm²).",
        lambda parts: _ml(parts, parts.overlap.pred_count),
    ),
    MetricInfo(
        "gt_volume",
        "Ground-truth volume",
        "ml",
        "none",
        _DISTANCE,
        "counts",
        "Voxels of the ground truth times the volume of a voxel (in 2-D: area in units of 1000 mm²).",
        lambda parts: _ml(parts, parts.overlap.gt_count),
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
        "1",
        "higher",
        _SHARE,
        "counts",
        "1 - |V_pred - V_gt| / (V_pred + V_gt): blind to where the volumes lie. 0 where one mask is empty.",
        lambda parts: overlaps.volumetric_similarity(parts.overlap),
        when_failed=0.0,
    ),
    MetricInfo(
        "centroid_distance",
        "Centroid distance",
        "mm",
        "lower",
        _DISTANCE,
        "counts",
        "Distance between the centres of mass of the two masks. No number where one mask is empty.",
        lambda parts: overlaps.centroid_distance_mm(parts.overlap, parts.linear),
    ),
)

_SURFACE = (
    _hd(100),
    _hd(95),
    MetricInfo(
        "assd",
        "Average symmetric surface distance",
        "mm",
        "lower",
        _DISTANCE,
        "surface",
        "Mean distance to the other surface over the area of both surfaces together. No number where one mask is "
        "empty.",
        _of_distances(lambda sd, _: surfaces.assd(sd)),
    ),
    MetricInfo(
        "masd",
        "Mean average surface distance",
        "mm",
        "lower",
        _DISTANCE,
        "surface",
        "Mean of the two directions' mean distances, each over the area of its own surface. No number where one mask "
        "is empty.",
        _of_distances(lambda sd, _: surfaces.masd(sd)),
    ),
    _nsd(None),
    _biou(None),
)

#: All metrics by key, in the order in which tables show them.
CATALOG = MappingProxyType({info.key: info for info in (*_OVERLAP, _fbeta(2.0), *_VOLUME, *_SURFACE)})

_NUMBER = r"(\d+(?:\.\d+)?)"
FAMILIES = (
    Family(re.compile(rf"hd{_NUMBER}"), "hd90", _hd),
    Family(re.compile(rf"nsd@{_NUMBER}"), "nsd@2", _nsd),
    Family(re.compile(rf"biou@{_NUMBER}"), "biou@2", _biou),
    Family(re.compile(rf"fbeta@{_NUMBER}"), "fbeta@0.5", _fbeta),
)

#: What is measured if nobody says otherwise.
DEFAULT_METRICS = (
    "dice",
    "iou",
    "sensitivity",
    "precision",
    "hd",
    "hd95",
    "assd",
    "masd",
    "nsd",
    "pred_volume",
    "gt_volume",
    "relative_volume_difference",
)
