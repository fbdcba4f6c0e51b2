"""A mask drawn again on a grid that lies elsewhere.

Its object is a field: how deep the Gaussians of the sub-voxel surface find each voxel in its class, linear between
voxel centres. (The circles across thick slices say where edges are cut, not how deep voxels lie; they have no say.)
Moved by less than a voxel, a centre can change its class only within a cell (2 x 2 x 2 centres) that holds both: only
of these is anything kept, so that memory goes with the surface and not with the volume. Depths are made block by block.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.geometry.distances import smallest_edge
from segauge.geometry.reference.subvoxel import depths
from segauge.geometry.subvoxel import SubvoxelRule, subvoxel_rule

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_BLOCK = 48  # cells along each edge of a block: some 15 MB of depths at a time
_LEAST_DEPTH = 1e-3  # in smallest voxel edges: no centre lies on the boundary itself


@dataclass(frozen=True, eq=False)
class Redrawable:
    """A mask with one voxel of background around it, and the depths in mm of the cells that hold both classes.

    Attributes:
        mask: the padded mask.
        cells: flat index in it of the lowest corner of each such cell.
        corner_depths: by corner (in the order of itertools.product) and cell, negative in the background.

    """

    mask: Bools
    cells: Ints
    corner_depths: Floats

    def drawn(self, shift: Sequence[float]) -> Bools:
        """Return the mask on a grid moved by part of a step along each axis, from -1 to 1; padded as `mask` is."""
        values = np.zeros(len(self.cells))
        near = [int(part < 0) for part in shift]  # on which side of the cell the moved centre's own voxel lies
        for corner, depth in zip(_corners(self.mask.ndim), self.corner_depths, strict=True):
            values += _weight(corner, near, shift) * depth
        moved = self.mask.copy()
        moved.reshape(-1)[self.cells + _flat_offset(near, self.mask.shape)] = values > 0
        return moved


def redrawable(mask: Bools, linear: Floats) -> Redrawable:
    """Return a mask ready to be drawn on other grids; `linear` holds the voxel steps in mm as columns."""
    padded = np.pad(mask, 1)
    rule = subvoxel_rule(linear)
    found = [_mixed_cells(padded, start, stop, rule) for start, stop in _blocks(padded.shape)]
    empty = (np.zeros(0, dtype=np.int64), np.zeros((1 << mask.ndim, 0)))
    cells, corner_depths = zip(*(found or [empty]), strict=True)
    return Redrawable(padded, np.concatenate(cells), np.concatenate(corner_depths, axis=1))


def _blocks(shape: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield first and last-but-one cells of blocks that hold all cells of a grid of so many voxels."""
    for start in itertools.product(*(range(0, size - 1, _BLOCK) for size in shape)):
        yield list(start), [min(first + _BLOCK, size - 1) for first, size in zip(start, shape, strict=True)]


def _mixed_cells(padded: Bools, start: list[int], stop: list[int], rule: SubvoxelRule) -> tuple[Ints, Floats]:
    """Return the cells of a block that hold both classes, and the signed depths of their corners."""
    inside = padded[tuple(slice(low, high + 1) for low, high in zip(start, stop, strict=True))]
    corners = [
        tuple(slice(bit, bit + high - low) for bit, low, high in zip(corner, start, stop, strict=True))
        for corner in _corners(padded.ndim)
    ]
    first = inside[corners[0]]
    mixed = np.logical_or.reduce([inside[corner] != first for corner in corners[1:]])
    places = np.nonzero(mixed)
    lowest = [place + low for place, low in zip(places, start, strict=True)]
    cells = np.ravel_multi_index(tuple(lowest), padded.shape)
    if not len(cells):
        return cells, np.zeros((len(corners), 0))
    # Only the box of the cells that were found: most blocks hold a thin piece of surface.
    low = [int(place.min()) for place in lowest]
    deep = _signed_depths(padded, low, [int(place.max()) + 1 for place in lowest], rule)
    within = [place - first for place, first in zip(lowest, low, strict=True)]
    depth_at = [deep[tuple(w + bit for w, bit in zip(within, corner, strict=True))] for corner in _corners(padded.ndim)]
    return cells, np.stack(depth_at)


def _signed_depths(padded: Bools, start: list[int], stop: list[int], rule: SubvoxelRule) -> Floats:
    """Return how deep each voxel of a block lies in its class; around it as much is read as the Gaussians reach."""
    reach = [max(len(gaussian.along[axis]) // 2 for gaussian in rule.gaussians) for axis in range(padded.ndim)]
    low = [max(first - far, 0) for first, far in zip(start, reach, strict=True)]
    region = padded[tuple(slice(a, last + 1 + far) for a, last, far in zip(low, stop, reach, strict=True))]
    block = tuple(slice(s - a, e + 1 - a) for s, e, a in zip(start, stop, low, strict=True))
    deep = np.clip(depths(region, rule)[block], _LEAST_DEPTH * smallest_edge(rule.linear), None)
    return np.where(region[block], deep, -deep)


def _corners(ndim: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((0, 1), repeat=ndim)


def _weight(corner: Sequence[int], near: Sequence[int], shift: Sequence[float]) -> float:
    """Return the weight of a corner where a moved centre lies, linear along each axis."""
    weight = 1.0
    for bit, own, part in zip(corner, near, shift, strict=True):
        weight *= 1 - abs(part) if bit == own else abs(part)
    return weight


def _flat_offset(corner: Sequence[int], shape: Sequence[int]) -> int:
    """Return how far a corner lies behind the lowest one in the flat array."""
    return int(np.ravel_multi_index(tuple(corner), tuple(shape)))
