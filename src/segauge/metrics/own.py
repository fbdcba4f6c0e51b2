"""Metrics of one's own: a function with its facts, used like one of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
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


def own_keys() -> Iterator[str]:
    """Yield the keys of metrics that are not in the catalog."""
    yield from dict.fromkeys((*_REGISTERED, *(point.name for point in entry_points(group=GROUP))))


def _loaded(point: Any) -> MetricInfo:
    found = point.load()
    if not isinstance(found, MetricInfo) or found.key != point.name:
        raise InvalidInput(
            f"The entry point {point.name!r} of {GROUP} should lead to a metric of that key made by "
            f"segauge.define_metric, got {found!r}."
        )
    return found
