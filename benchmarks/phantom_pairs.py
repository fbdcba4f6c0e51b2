"""Pairs of phantoms as masks: two solids of known shape on a grid that just holds both."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmarks.tools import Pair
from segauge.grid import Grid
from segauge.phantoms import Phantom


def phantom_pair(
    pred: Phantom, gt: Phantom, spacing: Sequence[float], *, tolerance_mm: float = 1.0, margin: int = 2
) -> Pair:
    """Return the masks of two phantoms on a grid with `margin` voxels around the box of both."""
    grid = _grid_around(pred, gt, spacing, margin)
    return Pair(pred.rasterize(grid).array, gt.rasterize(grid).array, grid.spacing, tolerance_mm)


def _grid_around(pred: Phantom, gt: Phantom, spacing: Sequence[float], margin: int) -> Grid:
    bounds = pred.bounds_mm(), gt.bounds_mm()
    low = np.minimum(bounds[0][0], bounds[1][0])
    high = np.maximum(bounds[0][1], bounds[1][1])
    # The grid's lines stay where they are in space: a solid at a sub-voxel position keeps that position.
    first = [math.floor(edge / step) - margin for edge, step in zip(low, spacing, strict=True)]
    last = [math.ceil(edge / step) + margin for edge, step in zip(high, spacing, strict=True)]
    shape = [stop - start + 1 for start, stop in zip(first, last, strict=True)]
    return Grid.from_spacing(shape, spacing, [start * step for start, step in zip(first, spacing, strict=True)])
