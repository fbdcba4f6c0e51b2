"""The catalog of metrics: what there is, how a user's words are looked up in it, and metrics of one's own.

Tables of scores come from many tools; a comparison needs to know of a column only which way is better, the ends of its
scale and its unit. The names that other tools use, and metrics that only they compute, are here for that.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, UnknownMetric
from segauge.metrics.definitions import counts, lesions, surfaces
from segauge.metrics.parts import StructureParts
from segauge.scores import Direction, MetricInfo, Status

#: Entry points by which an installed package offers metrics.
GROUP = "segauge.metrics"

Masks = npt.NDArray[np.bool_]
#: Takes pred, gt (cut to the box of both) and the voxel edges in mm; returns the value, or None where there is none.
Function = Callable[[Masks, Masks, tuple[float, ...]], "float | None"]

_REGISTERED: dict[str, MetricInfo] = {}


def define_metric(
    key: str,
    *,
    definition: str,
    name: str = "",
    unit: str = "1",
    direction: Direction = "higher",
    bounds: tuple[float, float] = (0.0, 1.0),
    when_failed: float | None = None,
    when_absent: float | None = None,
) -> Callable[[Function], MetricInfo]:
    """Make a metric of a function of two masks, known by its key in this process.

    The function is called where both masks have voxels, with two arrays of bool cut to their common box and the voxel
    edges in mm; it returns a number, or None.

    Args:
        key: what `metrics=` takes; no key of the catalog.
        definition: formula, range and edge cases, in one or more sentences.
        name: what a table or an axis shows; the key if not given.
        unit: "1", "mm", "ml" or "count".
        direction: "higher" or "lower" is better, "none" for a plain measurement.
        bounds: smallest and largest possible value.
        when_failed: value where one mask is empty.
        when_absent: value where both are empty.

    Raises:
        InvalidInput: if the facts cannot be used, or another metric has the key.

    >>> import numpy as np, segauge
    >>> @segauge.define_metric("same_size", definition="Smaller volume over the larger one.")
    ... def same_size(pred, gt, spacing):
    ...     return min(pred.sum(), gt.sum()) / max(pred.sum(), gt.sum())
    >>> pred, gt = np.zeros((2, 8, 8, 8), dtype=np.uint8)
    >>> pred[2:4, 2:4, 2:4], gt[2:4, 2:4, 2:6] = 1, 1
    >>> segauge.measure(pred, gt, metrics=[same_size, "dice"])["label 1", "same_size"].value
    0.5

    """
    if direction not in ("higher", "lower", "none"):
        raise InvalidInput(f"direction: expected 'higher', 'lower' or 'none', got {direction!r}.")
    if not bounds[0] < bounds[1]:
        raise InvalidInput(f"bounds: expected the smallest and the largest possible value, got {bounds!r}.")

    def make(function: Function) -> MetricInfo:
        def value(parts: StructureParts) -> float | None:
            if parts.status is not Status.PRESENT:
                return when_absent if parts.status is Status.ABSENT else when_failed
            spacing = tuple(np.linalg.norm(parts.linear, axis=0).tolist())
            found = function(parts.pred_mask.unpack(), parts.gt_mask.unpack(), spacing)
            return None if found is None else float(found)

        facts = (key, name or key, unit, direction, bounds, "masks", definition)
        return register(MetricInfo(*facts, value, when_failed, when_absent))

    return make


def register(info: MetricInfo) -> MetricInfo:
    """Make a metric known by its key in this process; the same key twice replaces the earlier one of one's own."""
    if not isinstance(info, MetricInfo):
        raise InvalidInput(f"Expected a metric made by segauge.define_metric, got {info!r}.")
    _REGISTERED[info.key] = info
    return info


def own_metric(key: str) -> MetricInfo | None:
    """Return a metric that was defined in this process or that an installed package offers; None if there is none."""
    if key in _REGISTERED:
        return _REGISTERED[key]
    offered = [point for point in entry_points(group=GROUP) if point.name == key]
    if len(offered) > 1:
        raise InvalidInput(f"The metric {key!r} is offered twice: {' and '.join(point.value for point in offered)}.")
    return register(_loaded(offered[0])) if offered else None


def _loaded(point: Any) -> MetricInfo:
    found = point.load()
    if not isinstance(found, MetricInfo) or found.key != point.name:
        raise InvalidInput(
            f"The entry point {point.name!r} of {GROUP} should lead to a metric of that key made by "
            f"segauge.define_metric, got {found!r}."
        )
    return found


#: Names of other tools for metrics of the catalog. Where definitions differ in detail (a surface of voxel centres, say)
#: the scale is the same, and only that is taken from here.
ALIASES = MappingProxyType(
    {
        "dsc": "dice",
        "f1": "dice",
        "jaccard": "iou",
        "surface_dice": "nsd",
        "boundary_iou": "biou",
        "recall": "sensitivity",
        "rec": "sensitivity",
        "prec": "precision",
        "fbeta": "fbeta@2",
        "hausdorff": "hd",
        "surface_distance": "assd",
        "asd": "assd",
        "msd": "masd",
        "false_positives": "lesion_fp",
        "false_negatives": "lesion_fn",
        "fp": "lesion_fp",
        "fn": "lesion_fn",
    }
)


def _foreign(
    key: str, direction: Direction, bounds: tuple[float, float], unit: str = "1", when_absent: float | None = None
) -> MetricInfo:
    definition = "Computed by another tool."
    return MetricInfo(key, key, unit, direction, bounds, "", definition, lambda _: None, when_absent=when_absent)


#: Metrics that other tools compute and segauge does not.
FOREIGN = MappingProxyType(
    {
        info.key: info
        for info in (
            *(_foreign(key, "higher", (0.0, 1.0)) for key in ("accuracy", "auc", "auroc", "ap")),
            *(_foreign(key, "higher", (0.0, 1.0)) for key in ("pq_dsc", "sq_dsc", "global_bin_dsc")),
            *(_foreign(key, "higher", (-1.0, 1.0)) for key in ("mcc", "kappa")),
            # in ml here, in mm³ there
            *(_foreign(key, "lower", (0.0, math.inf), "", 0.0) for key in ("fp_volume", "fn_volume")),
            _foreign("sq_assd", "lower", (0.0, math.inf), "mm"),
        )
    }
)


#: All metrics by key, in the order in which tables show them.
CATALOG = MappingProxyType(
    {
        info.key: info
        for info in (
            *counts.OVERLAP,
            *surfaces.SURFACE,
            *counts.VOLUME,
            *lesions.DETECTION,
            *lesions.PANOPTIC,
            *lesions.VOLUMES,
            *lesions.LESIONWISE,
            *counts.CENTERLINE,
        )
    }
)

#: Metrics with a free part in their key.
FAMILIES = (*counts.FAMILIES, *surfaces.FAMILIES, *lesions.FAMILIES, *surfaces.NOISE_FLOORS)

#: What some metrics were called in segauge 0.1; a table that is asked for one has a column of that name.
FORMER_NAMES = MappingProxyType(
    {"det_f1": "lesion_f1", "det_precision": "lesion_precision", "det_recall": "lesion_recall"}
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


def metric(key: str) -> MetricInfo:
    """Return a metric by its key; the end of keys such as "hd97.5", "nsd@2", "fbeta@0.5" is free."""
    if key in CATALOG:
        return CATALOG[key]
    if key in FORMER_NAMES:
        return replace(CATALOG[FORMER_NAMES[key]], key=key)
    for family in FAMILIES:
        match = family.pattern.fullmatch(key)
        if match:
            try:
                return replace(family.make(match.group(1)), key=key)
            except ValueError as error:
                raise UnknownMetric(f"No metric {key!r}: {error}, such as {family.example!r}.") from None
    if (found := own_metric(key)) is not None:
        return found
    close = difflib.get_close_matches(key, CATALOG, n=3)
    hint = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    families = ", ".join(repr(family.example) for family in FAMILIES)
    raise UnknownMetric(f"No metric {key!r}. {hint}There are {', '.join(CATALOG)}; and such as {families}.")


def called(key: str, among: Collection[str]) -> str:
    """Return what a metric is called among some keys: as it is, or by its former name; as it is if not there at all."""
    names = [name for pair in FORMER_NAMES.items() if key in pair for name in pair]
    return next((name for name in (key, *names) if name in among), key)


def described(key: str) -> MetricInfo | None:
    """Return the facts of a metric by any name that tables use for it, in any case of letters; None if it is unknown.

    Unlike `metric` this also knows other tools' names and the metrics that only they compute; a parameter after "@"
    that the catalog has no family for changes nothing ("dsc@0.5").
    """
    plain = key.strip().lower()
    for name in (plain, plain.split("@", 1)[0]):
        if name in FOREIGN:
            return FOREIGN[name]
        try:
            return metric(ALIASES.get(name, name))
        except UnknownMetric:
            continue
    return None


def is_in_mm(info: MetricInfo) -> bool:
    """Say whether a metric depends on the size of a voxel: a distance, a boundary of some width, a least volume."""
    return info.unit in ("mm", "ml") or info.needs in ("surface", "band") or info.key.startswith("lesionwise_")


def resolve_metrics(keys: str | MetricInfo | Iterable[str | MetricInfo] | None) -> tuple[MetricInfo, ...]:
    """Return the metrics a user asked for: keys, metrics of one's own, "all", or None for the default ones."""
    if keys is None:
        return tuple(CATALOG[key] for key in DEFAULT_METRICS)
    if keys == "all":
        return tuple(CATALOG.values())
    asked = (keys,) if isinstance(keys, (str, MetricInfo)) else keys
    found = [_usable(one) if isinstance(one, MetricInfo) else metric(one) for one in asked]
    return tuple({info.key: info for info in found}.values())


def _usable(info: MetricInfo) -> MetricInfo:
    """Return a metric of one's own; one whose key the catalog has would be shown under that one's name."""
    if info.key in CATALOG and CATALOG[info.key] is not info:
        raise UnknownMetric(f"The catalog has a metric {info.key!r} already; give yours another key.")
    return info
