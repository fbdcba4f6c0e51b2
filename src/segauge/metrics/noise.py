"""How much a number moves although nothing changed but where the voxel grid lies: the noise floor of a metric.

A scanner's grid could have lain a fraction of a voxel elsewhere; the masks of the same two objects would then have been
others, and so would every metric. Differences of that size say nothing about a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.errors import EmptyMask, InvalidInput
from segauge.geometry.patterns import SurfaceKind
from segauge.geometry.reference.subvoxel import depths
from segauge.geometry.subvoxel import subvoxel_rule
from segauge.grid import normalize_spacing
from segauge.metrics.overlap import dice
from segauge.metrics.surface import Spacing, mask_pair, surface_metrics

Floats = npt.NDArray[np.float64]

#: Two numbers that differ by less than so many standard deviations of one of them cannot be told apart at 95 %.
REPEATABILITY = 1.96 * math.sqrt(2)

#: Grids that are tried if nobody says otherwise.
GRIDS = 16

_MARGIN = 3  # voxels around both masks: a grid moved by less than one, and the edge of what changes


@dataclass(frozen=True)
class NoiseFloor:
    """What moving the grid does to the metrics of one pair of masks.

    Attributes:
        n: grids tried.
        sd: by metric, the standard deviation over the grids, in the metric's unit.

    """

    n: int
    sd: Mapping[str, float]

    def meaningless_below(self, metric: str) -> float:
        """Return the difference between two values of a metric below which they cannot be told apart (95 %)."""
        if metric not in self.sd:
            raise InvalidInput(f"metric: expected one of {', '.join(map(repr, self.sd))}, got {metric!r}.")
        return REPEATABILITY * self.sd[metric]


def noise_floor(
    pred: npt.ArrayLike,
    gt: npt.ArrayLike,
    spacing: Spacing = 1.0,
    nsd_tolerance: float = 1.0,
    *,
    n: int = GRIDS,
    surface: SurfaceKind = "marching-cubes",
    threads: int | None = None,
) -> NoiseFloor:
    """Return how much dice, hd, hd95, assd, masd and nsd of two masks move with the place of the voxel grid.

    Both objects are taken as their sub-voxel surfaces say, and drawn again on `n` grids that are shifted by up to half
    a voxel along each axis, the same for both; the metrics of each are measured as `surface_metrics` does. The shifts
    fill the voxel evenly and are always the same. Metrics that a moved grid can make infinite (an object that falls
    between the slices) are infinite here. Takes as long as `n` measurements, and some hundred bytes for every voxel of
    the box that holds both objects.

    Raises:
        EmptyMask: if a mask has no voxel.
        ShapeMismatch: if the shapes differ.

    """
    if n < 2:
        raise InvalidInput(f"n: expected at least 2 grids, got {n}.")
    masks = [array.astype(np.bool_) for array in mask_pair(pred, gt)]
    if not all(mask.any() for mask in masks):
        raise EmptyMask("There is no noise floor of an empty mask: both masks need at least one voxel.")
    edges = normalize_spacing(spacing, masks[0].ndim)
    fields = [_signed_depths(mask, np.diag(edges)) for mask in _cropped(masks)]
    found: dict[str, list[float]] = {}
    for shift in _shifts(n, len(edges)):
        moved_pred, moved_gt = (_moved(field, shift) > 0 for field in fields)
        values = {"dice": dice(moved_pred, moved_gt)}
        values |= surface_metrics(moved_pred, moved_gt, edges, nsd_tolerance, surface=surface, threads=threads)
        for metric, value in values.items():
            found.setdefault(metric, []).append(value)
    return NoiseFloor(n, {metric: _spread(values) for metric, values in found.items()})


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if np.isfinite(values).all() else math.inf


def _cropped(masks: list[npt.NDArray[np.bool_]]) -> list[npt.NDArray[np.bool_]]:
    """Cut both masks to the box of both, and add a margin of background."""
    index = np.nonzero(masks[0] | masks[1])
    box = tuple(slice(int(place.min()), int(place.max()) + 1) for place in index)
    return [np.pad(mask[box], _MARGIN) for mask in masks]


def _signed_depths(mask: npt.NDArray[np.bool_], linear: Floats) -> Floats:
    """Return how deep in mm each voxel lies in its class, negative in the background, never quite on the boundary."""
    finest = float(np.diag(linear).min())
    deep = np.clip(depths(mask, subvoxel_rule(linear)), 1e-3 * finest, None)
    return np.where(mask, deep, -deep)


def _shifts(n: int, ndim: int) -> Floats:
    """Return points that fill the cube from -1/2 to 1/2 evenly: multiples of the inverse powers of a root (Roberts)."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (ndim + 1))  # the root of x^(d + 1) = x + 1
    steps = root ** -np.arange(1, ndim + 1)
    return np.asarray(np.mod(0.5 + np.arange(1, n + 1)[:, np.newaxis] * steps, 1) - 0.5)


def _moved(field: Floats, shift: Floats) -> Floats:
    """Return the field on a grid moved by part of a step along each axis, linear in between."""
    for axis, part in enumerate(shift.tolist()):
        neighbour = np.roll(field, -1 if part > 0 else 1, axis=axis)  # the margin is background on both sides
        field = (1 - abs(part)) * field + abs(part) * neighbour
    return field
