"""Distances between surface cells: the convention of DeepMind's `surface-distance` package.

A cell is a block of 2 x 2 x 2 neighbouring voxel centres (2 x 2 in 2-D), also across the image border. It belongs to
the surface of a mask if it holds voxels of both classes; it stands for the piece of marching-cubes surface inside it,
weighs as much as that piece's area (length in 2-D), and lies at its own centre. The distance of a cell is that to the
nearest surface cell of the other mask, centre to centre: a multiple of the grid, coarser than the distance between the
surfaces themselves. Use it to reproduce numbers of challenges that were computed this way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry import reference
from segauge.geometry.components import check_same_extent
from segauge.geometry.engine import engine, thread_count
from segauge.geometry.masks import PackedMask
from segauge.geometry.patterns import Piece, pieces_by_code
from segauge.grid import normalize_spacing

FloatArray = npt.NDArray[np.float64]
Vector = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class CellDistances:
    """Distances in mm and areas in mm² of the surface cells of both masks, in raster order."""

    pred_distances: FloatArray
    pred_areas: FloatArray
    gt_distances: FloatArray
    gt_areas: FloatArray

    def hausdorff(self, percentile: float = 100.0) -> float:
        """Return the larger of the two directed, area-weighted percentiles in mm.

        A directed percentile is the smallest distance such that the cells up to it hold at least that share of the
        area. Both masks empty: 0. One empty: infinity.
        """
        if not 0 < percentile <= 100:
            raise InvalidInput(f"percentile: expected a number above 0 and up to 100, got {percentile}.")
        ways = ((self.pred_distances, self.pred_areas), (self.gt_distances, self.gt_areas))
        found = [_weighted_percentile(distances, areas, percentile) for distances, areas in ways if len(distances)]
        return max(found, default=0.0)

    def mean_distances(self) -> tuple[float, float]:
        """Return the area-weighted mean distance in mm from pred to gt and from gt to pred (0 for an empty surface)."""
        ways = ((self.pred_distances, self.pred_areas), (self.gt_distances, self.gt_areas))
        to_gt, to_pred = (float(np.sum(d * a) / np.sum(a)) if len(d) else 0.0 for d, a in ways)
        return to_gt, to_pred

    def surface_dice(self, tolerance_mm: float) -> float:
        """Return the share of both surfaces' area within `tolerance_mm` of the other; 1 if both masks are empty."""
        distances = np.concatenate([self.pred_distances, self.gt_distances])
        areas = np.concatenate([self.pred_areas, self.gt_areas])
        return float(np.sum(areas[distances <= tolerance_mm]) / np.sum(areas)) if len(areas) else 1.0


def cell_distances(
    pred: PackedMask, gt: PackedMask, spacing: float | Sequence[float], threads: int | None = None
) -> CellDistances:
    """Return the distances between the surface cells of two masks of the same shape, 2-D or 3-D; spacing in mm."""
    check_same_extent(pred, gt)
    edges = normalize_spacing(spacing, len(pred.shape))
    areas = cell_areas(edges)
    chosen = reference if isinstance(pred, reference.ReferenceMask) else engine()
    return CellDistances(*chosen.cell_distances(pred, gt, list(edges), areas, thread_count(threads)))


#: Share of the area that outweighs rounding in a sum of ten million areas.
_ROUNDING = 1e-8


def _weighted_percentile(distances: FloatArray, areas: FloatArray, percentile: float) -> float:
    # Cells lie on a grid, so many share a distance: mostly a little more or less of the area leads to the same one, and
    # only where it does not the order of summation, which is that of the package, decides.
    share = percentile / 100.0
    below, above = (
        float(engine().weighted_quantile(distances, areas, limit)) for limit in (share - _ROUNDING, share + _ROUNDING)
    )
    if below == above:
        return below
    order = np.lexsort((areas, distances))
    reached = np.cumsum(areas[order]) / np.sum(areas)
    first = int(np.searchsorted(reached, percentile / 100.0))
    return float(distances[order[min(first, len(order) - 1)]])  # rounding may keep the last share below 1


@lru_cache(maxsize=64)
def cell_areas(spacing: tuple[float, ...]) -> FloatArray:
    """Return the area in mm² (length in mm in 2-D) of the surface in a cell, by the cell's code.

    Bit 4 dz + 2 dy + dx of a code (2 dy + dx in 2-D) says whether corner (dz, dy, dx) is inside. The surface cuts
    the edges at their middle. Where a face has both diagonals mixed, the class with fewer corners is cut apart (the
    inside if both have four), so a code and its complement have the same area. A polygon that does not lie in one
    plane is cut into the triangles that make it largest in a cubic cell.
    """
    ndim = len(spacing)
    if ndim not in (2, 3):
        raise InvalidInput(f"Surface cells exist in 2-D and 3-D, got a spacing of {ndim} numbers.")
    edges = np.array(spacing)
    # A normal's component along an axis is an area that the other axes' edges span.
    scale = np.prod(edges) / edges if ndim == 3 else edges
    vectors, codes = _cell_pieces(ndim)
    table = np.zeros(2**2**ndim)
    np.add.at(table, codes, np.linalg.norm(vectors * scale, axis=1))
    table.setflags(write=False)
    return table


@cache
def _cell_pieces(ndim: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return all codes' surface pieces in a unit cell (triangles as area vectors, in 2-D segments), and their codes."""
    pieces = pieces_by_code("marching-cubes", ndim)
    vectors, codes = [], []
    for code in range(len(pieces)):
        fewer = code if 2 * code.bit_count() <= 2**ndim else len(pieces) - 1 - code
        for piece in pieces[fewer]:
            parts = [_difference(*piece)] if ndim == 2 else _largest_triangulation(piece)
            vectors.extend(parts)
            codes.extend([code] * len(parts))
    return np.array(vectors), np.array(codes)


def _largest_triangulation(points: Piece) -> list[Vector]:
    """Return the area vectors of the triangles into which a polygon is cut so that their total area is greatest."""
    ways = [
        [_area_vector(points[i], points[j], points[k]) for i, j, k in triangles]
        for triangles in _triangulations(0, len(points) - 1)
    ]
    return max(ways, key=lambda vectors: round(sum(math.hypot(*vector) for vector in vectors), 9))


def _triangulations(first: int, last: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield all ways to cut the polygon of the vertices first to last into triangles."""
    if last - first < 2:
        yield []
        return
    for apex in range(first + 1, last):
        for left in _triangulations(first, apex):
            for right in _triangulations(apex, last):
                yield [*left, *right, (first, apex, last)]


def _difference(a: Vector, b: Vector) -> Vector:
    return tuple(p - q for p, q in zip(a, b, strict=True))


def _area_vector(a: Vector, b: Vector, c: Vector) -> Vector:
    """Return the normal of a triangle, as long as the triangle is large."""
    (p, q, r), (u, v, w) = _difference(b, a), _difference(c, a)
    return ((q * w - r * v) / 2, (r * u - p * w) / 2, (p * v - q * u) / 2)
