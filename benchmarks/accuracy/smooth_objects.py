"""Objects with a smooth surface and any shape: the Gaussian blur of a fine mask, cut at one half.

The blur of a union of voxel boxes is known everywhere in closed form (a product of three differences of the normal
distribution function), so an object can be asked at any point whether it is inside, without interpolation: on a coarse
grid wherever its lines lie, and on a fine grid on which its surface is extracted.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.spatial import cKDTree

from segauge.geometry.distances import SurfaceDistances
from segauge.geometry.patterns import triangle_normals
from segauge.geometry.reference.distances import Targets, squared_distances
from segauge.geometry.subvoxel import cell_loops

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

#: Triangles whose middles are nearest, among which the nearest triangle is looked for. On a surface cut at one step the
#: triangles are of about one size; tests/benchmarks compares with the search through all.
_CANDIDATES = 16
_POINTS_AT_ONCE = 100_000  # bounds the memory


@dataclass(frozen=True, eq=False)
class SmoothObject:
    """What lies inside where the blur of a mask is above one half.

    Attributes:
        mask: a fine mask; voxel i of an axis is the interval (i - 1/2, i + 1/2) times the axis' edge.
        spacing: its voxel edges in mm.
        width_mm: standard deviation of the blur.

    """

    mask: Bools
    spacing: tuple[float, ...]
    width_mm: float

    def depths(self, axes: Sequence[Floats]) -> Floats:
        """Return the field at all points of the grid whose lines cross the axes at the given mm: positive inside.

        The blur's normal quantile times its width: near a flat piece of surface, the signed distance from it in mm.
        """
        blur = self.mask.astype(np.float64)
        for axis, places in enumerate(axes):
            weights = self._weights(np.asarray(places), axis)
            blur = np.moveaxis(np.tensordot(weights, blur, axes=(1, axis)), 0, axis)
        return np.asarray(self.width_mm * special.ndtri(np.clip(blur, 1e-15, 1 - 1e-15)))

    def bounds_mm(self) -> tuple[Floats, Floats]:
        """Return lower and upper corner of the box of the mask; the object may not leave it."""
        found = np.nonzero(self.mask)
        edges = np.array(self.spacing)
        low, high = (np.array([side(place) for place in found]) for side in (np.min, np.max))
        return (low - 0.5) * edges, (high + 0.5) * edges

    def _weights(self, places: Floats, axis: int) -> Floats:
        """Return how much of a Gaussian around each place falls on each voxel of the axis."""
        edge, count = self.spacing[axis], self.mask.shape[axis]
        faces = (np.arange(count + 1) - 0.5) * edge
        return np.diff(special.ndtr((faces[np.newaxis] - places[:, np.newaxis]) / self.width_mm), axis=1)


def grid_lines(objects: Sequence[SmoothObject], spacing: Sequence[float], offset: Sequence[float]) -> list[Floats]:
    """Return the lines of a grid around some objects, two voxels wider on each side.

    `offset`: where between two lines the origin lies, in voxels.
    """
    bounds = [item.bounds_mm() for item in objects]
    low, high = np.min([b[0] for b in bounds], axis=0), np.max([b[1] for b in bounds], axis=0)
    lines = []
    for start, stop, edge, part in zip(low, high, spacing, offset, strict=True):
        first, last = np.floor(start / edge) - 2, np.ceil(stop / edge) + 2
        lines.append((np.arange(first, last + 1) + part) * edge)
    return lines


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface in mm: samples (the middles of its polygons) with the areas they stand for, and its triangles."""

    points: Floats
    areas: Floats
    triangles: Floats


def surface_of(depths: Floats, axes: Sequence[Floats]) -> Surface:
    """Return the surface where a field on a grid is zero.

    Marching cubes with the vertices where the field, linear along each edge between two grid points, is zero. The
    field must be negative at the border of the grid.
    """
    inside = depths > 0
    code = np.zeros([n - 1 for n in inside.shape], dtype=np.int64)
    for bit, corner in enumerate(itertools.product((0, 1), repeat=3)):
        code |= inside[tuple(slice(c, c + n) for c, n in zip(corner, code.shape, strict=True))].astype(np.int64) << bit
    active = np.argwhere((code != 0) & (code != 255))
    codes = code[tuple(active.T)]
    loops = cell_loops(3)
    found = []
    for one in np.unique(codes).tolist():
        cells = active[codes == one]
        for loop in range(loops.loop_start[one], loops.loop_start[one + 1]):
            corners = range(loops.corner_start[loop], loops.corner_start[loop + 1])
            outline = [_vertex(depths, axes, int(loops.axis[k]), cells + loops.low[k]) for k in corners]
            found.append(_polygons(np.stack(outline, axis=1)))
    points, areas, triangles = (np.concatenate(column) for column in zip(*found, strict=True))
    return Surface(points, areas, triangles)


def _vertex(depths: Floats, axes: Sequence[Floats], axis: int, low: Ints) -> Floats:
    """Return where the surface cuts the edges that begin at some grid points, in mm."""
    high = low + (np.arange(3) == axis)
    below, above = depths[tuple(low.T)], depths[tuple(high.T)]
    part = (below / (below - above))[:, np.newaxis]
    ends = [np.stack([axes[k][point[:, k]] for k in range(3)], axis=1) for point in (low, high)]
    return np.asarray((1 - part) * ends[0] + part * ends[1])


def _polygons(outline: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the middles, areas and triangles of polygons of equally many corners (n, corners, 3)."""
    middle = outline.mean(axis=1)
    around = np.broadcast_to(middle[:, np.newaxis], outline.shape)
    fans = np.stack([around, outline, np.roll(outline, -1, axis=1)], axis=2)
    areas = np.linalg.norm(triangle_normals(fans.reshape(-1, 3, 3)), axis=1).reshape(outline.shape[:2]).sum(axis=1)
    return middle, areas, (outline if outline.shape[1] == 3 else fans.reshape(-1, 3, 3))


def distances_between(pred: Surface, gt: Surface) -> SurfaceDistances:
    """Return the distances between two surfaces, from the samples of each to the triangles of the other."""
    to_gt, to_pred = distances_to(pred.points, gt.triangles), distances_to(gt.points, pred.triangles)
    return SurfaceDistances(to_gt, pred.areas, to_pred, gt.areas)


def distances_to(points: Floats, triangles: Floats) -> Floats:
    """Return the distance of each point to the nearest triangle among the `_CANDIDATES` whose middles are nearest."""
    triangles = triangles[np.linalg.norm(triangle_normals(triangles), axis=1) > 0]
    corner, u, v = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    targets = Targets(corner, u, v, np.zeros(len(corner), dtype=np.bool_))
    tree, count = cKDTree(triangles.mean(axis=1)), min(_CANDIDATES, len(corner))
    squared = []
    for first in range(0, len(points), _POINTS_AT_ONCE):
        part = points[first : first + _POINTS_AT_ONCE]
        near = np.asarray(tree.query(part, count)[1]).reshape(-1)
        found = squared_distances(np.repeat(part, count, axis=0), targets, near)
        squared.append(found.reshape(-1, count).min(axis=1))
    return np.sqrt(np.concatenate(squared))
