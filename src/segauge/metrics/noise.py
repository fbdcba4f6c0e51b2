"""How much a number moves although nothing changed but where the voxel grid lies: the noise floor of a metric.

A scanner's grid could have lain a fraction of a voxel elsewhere; the masks of the same two objects would then have been
others, and so would every metric. Differences of that size say nothing about a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.errors import EmptyMask, InvalidInput
from segauge.geometry.patterns import SurfaceKind
from segauge.geometry.redrawing import redrawable
from segauge.grid import normalize_spacing
from segauge.metrics.overlap import dice
from segauge.metrics.surface import (
    OF_ONE_EMPTY,
    HdMode,
    Spacing,
    compute_surface_distances,
    mask_pair,
    values_of,
)

Floats = npt.NDArray[np.float64]

#: Two numbers that differ by less than so many standard deviations of one of them cannot be told apart at 95 %.
REPEATABILITY = 1.96 * math.sqrt(2)

#: Grids that are tried if nobody says otherwise.
GRIDS = 16


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
    hd: HdMode = "directed",
    threads: int | None = None,
) -> NoiseFloor:
    """Return how much dice, hd, hd95, assd, masd and nsd of two masks move with the place of the voxel grid.

    Both objects are given the smooth boundary that a Gaussian neighbourhood of their masks suggests (as the sub-voxel
    surface within slices), and drawn again on `n` grids that are shifted by up to half a voxel along each axis, the
    same for both; the metrics of each are measured as `surface_metrics` does, with
    percentiles of both directions together if `hd` is "pooled". The shifts fill the voxel evenly and are always the
    same. So few grids only estimate it: with 16 it is uncertain by a tenth to a quarter (that of hd, which one grid of
    many may decide, by more), and as much another one for the same masks flipped. Metrics that a moved grid can make
    infinite (an object that falls between the slices) are infinite here. Takes as long as `n` measurements, and a few
    bytes for every voxel of the box that holds both objects.

    Raises:
        EmptyMask: if a mask has no voxel.
        ShapeMismatch: if the shapes differ.

    """
    if n < 2:
        raise InvalidInput(f"n: expected at least 2 grids, got {n}.")
    masks = mask_pair(pred, gt)
    if not all(mask.any() for mask in masks):
        raise EmptyMask("There is no noise floor of an empty mask: both masks need at least one voxel.")
    edges = normalize_spacing(spacing, masks[0].ndim)
    objects = [redrawable(mask.astype(np.bool_), np.diag(edges)) for mask in _cropped(masks)]
    found: dict[str, list[float]] = {}
    for shift in _shifts(n, len(edges)).tolist():
        moved = [item.drawn(shift) for item in objects]
        for metric, value in _measured(moved, edges, nsd_tolerance, surface, hd, threads).items():
            found.setdefault(metric, []).append(value)
    return NoiseFloor(n, {metric: _spread(values) for metric, values in found.items()})


def _measured(
    masks: Sequence[npt.NDArray[np.bool_]],
    edges: Spacing,
    tolerance: float,
    surface: SurfaceKind,
    hd: HdMode,
    threads: int | None,
) -> dict[str, float]:
    """Return the metrics on one grid; distances to an object that is not on it are infinite."""
    found = {"dice": dice(*masks)}
    if not all(mask.any() for mask in masks):
        return found | OF_ONE_EMPTY
    sd = compute_surface_distances(masks[0], masks[1], edges, surface=surface, threads=threads)
    return found | values_of(sd, tolerance, hd)


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if np.isfinite(values).all() else math.inf


def _cropped(masks: Sequence[npt.NDArray[np.integer]]) -> list[npt.NDArray[np.integer]]:
    """Cut both masks to the box of both."""
    box = []
    for axis in range(masks[0].ndim):
        others = tuple(other for other in range(masks[0].ndim) if other != axis)
        taken = np.flatnonzero(masks[0].any(axis=others) | masks[1].any(axis=others))
        box.append(slice(int(taken[0]), int(taken[-1]) + 1))
    return [mask[tuple(box)] for mask in masks]


def _shifts(n: int, ndim: int) -> Floats:
    """Return points that fill the cube from -1/2 to 1/2 evenly: multiples of the inverse powers of a root (Roberts)."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (ndim + 1))  # the root of x^(d + 1) = x + 1
    steps = root ** -np.arange(1, ndim + 1)
    return np.asarray(np.mod(0.5 + np.arange(1, n + 1)[:, np.newaxis] * steps, 1) - 0.5)
