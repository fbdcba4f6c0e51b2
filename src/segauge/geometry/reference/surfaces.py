"""Reference: the surface of a mask as a list of pieces, and exact distances between two such lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from segauge.geometry.patterns import CellPatterns, CellShapes, SurfaceKind, cell_patterns
from segauge.geometry.reference.masks import ReferenceMask

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BRICK = 8  # cells are listed brick by brick, as the kernel lists them
_PAIRS_AT_ONCE = 2_000_000  # point-piece pairs worked on together: bounds the memory


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that a surface passes: position, code of its pieces, code of the pieces that are sampled."""

    position: Ints
    code: Ints
    sample_code: Ints


@dataclass(frozen=True, eq=False)
class Targets:
    """Pieces in space: triangles and rectangles (see CellPatterns)."""

    corner: Floats
    u: Floats
    v: Floats
    is_rectangle: npt.NDArray[np.bool_]


def read_shapes(shapes: CellShapes) -> CellShapes:
    """Return the shapes as this engine uses them: as they are."""
    return shapes


def prepare(shapes: CellShapes, linear: Floats) -> CellPatterns:
    """Return the patterns on a lattice whose axes are the columns of `linear`."""
    return cell_patterns(shapes.surface, linear)


def surface_distances(
    pred: ReferenceMask,
    gt: ReferenceMask,
    ignore: ReferenceMask | None,
    surface: SurfaceKind,
    patterns: CellPatterns,
    threads: int,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return distances and areas of all samples, from pred to gt and from gt to pred."""
    del threads
    ignored = None if ignore is None else ignore.array
    pred_cells = find_cells(pred.array, ignored, surface)
    gt_cells = find_cells(gt.array, ignored, surface)
    from_pred = distances_to(sample_points(pred_cells, patterns), targets_of(gt_cells, patterns))
    from_gt = distances_to(sample_points(gt_cells, patterns), targets_of(pred_cells, patterns))
    return from_pred, _sample_areas(pred_cells, patterns), from_gt, _sample_areas(gt_cells, patterns)


def boundary_band(
    mask: ReferenceMask, surface: SurfaceKind, patterns: CellPatterns, width_mm: float, threads: int
) -> ReferenceMask:
    """Return the voxels of the mask whose centre lies within `width_mm` of the mask's own surface."""
    del threads
    voxels = np.argwhere(mask.array)
    # cells of marching cubes start at the voxel before, because of the padding; those of voxel faces at the voxel
    lattice = voxels + (1 if surface == "marching-cubes" else 0)
    points = _in_space(lattice, patterns)
    targets = targets_of(find_cells(mask.array, None, surface), patterns)
    band = np.zeros_like(mask.array)
    if len(voxels):
        band[tuple(voxels[distances_to(points, targets) <= width_mm].T)] = True
    return ReferenceMask(band)


def boundary_band_pair(
    a: ReferenceMask, b: ReferenceMask, surface: SurfaceKind, patterns: CellPatterns, width_mm: float, threads: int
) -> tuple[ReferenceMask, ReferenceMask]:
    """Return the bands of two masks."""
    first, second = (boundary_band(mask, surface, patterns, width_mm, threads) for mask in (a, b))
    return first, second


def find_cells(mask: npt.NDArray[np.bool_], ignore: npt.NDArray[np.bool_] | None, surface: SurfaceKind) -> Cells:
    """Return the cells that the surface of a mask passes, brick by brick."""
    code = _codes(mask, surface)
    sampled = code if ignore is None else _sampled_codes(code, ignore, surface)
    every = (1 << (1 << mask.ndim)) - 1
    active = (code != 0) if surface == "voxel" else (code != 0) & (code != every)
    position = np.argwhere(active)
    raster = np.arange(len(position))
    brick = position // _BRICK
    order = np.lexsort((raster, *[brick[:, axis] for axis in reversed(range(mask.ndim))]))
    position = position[order]
    at = tuple(position.T)
    return Cells(position, code[at], sampled[at])


def sample_points(cells: Cells, patterns: CellPatterns) -> Floats:
    """Return the quadrature points of a surface in mm."""
    rows, owner = _rows(patterns.same_as[cells.sample_code], patterns.sample_start)
    points: Floats = patterns.sample_point[rows] + _in_space(cells.position, patterns)[owner]
    return points


def targets_of(cells: Cells, patterns: CellPatterns) -> Targets:
    """Return the pieces of a surface in mm."""
    rows, owner = _rows(cells.code, patterns.target_start)
    corner = patterns.target_corner[rows] + _in_space(cells.position, patterns)[owner]
    return Targets(corner, patterns.target_u[rows], patterns.target_v[rows], patterns.target_is_rectangle[rows])


def distances_to(points: Floats, targets: Targets) -> Floats:
    """Return the distance from each point to the nearest of all pieces.

    The middle of the piece whose middle is nearest bounds the distance from above; only pieces whose middle lies
    within that bound plus the largest half diameter of a piece can be nearer.
    """
    from scipy.spatial import cKDTree

    middle = targets.corner + _middle_weight(targets)[:, np.newaxis] * (targets.u + targets.v)
    radius = _half_diameter(targets, middle)
    tree = cKDTree(middle)
    bound = np.asarray(tree.query(points)[0])
    best = np.full(len(points), np.inf)
    for part in _parts(points, tree, bound + radius):
        near = tree.query_ball_point(points[part], (bound[part] + radius) * (1 + 1e-9))
        counts = np.array([len(found) for found in near])
        pieces = np.concatenate([np.asarray(found, dtype=np.int64) for found in near])
        squared = squared_distances(np.repeat(points[part], counts, axis=0), targets, pieces)
        best[part] = np.minimum.reduceat(squared, np.concatenate([[0], np.cumsum(counts)[:-1]]))
    return np.asarray(np.sqrt(best))


def _codes(mask: npt.NDArray[np.bool_], surface: SurfaceKind) -> Ints:
    """Return the code of every cell of the padded mask."""
    padded = np.pad(mask, 1).astype(np.int64)
    inner = tuple(slice(1, None) for _ in mask.shape)
    if surface == "voxel":
        here = padded[inner]
        steps = [np.diff(padded, axis=axis)[_after_first(axis, mask.ndim)] for axis in range(mask.ndim)]
        return sum(((step != 0).astype(np.int64) << axis for axis, step in enumerate(steps)), np.zeros_like(here))
    code = np.zeros([n + 1 for n in mask.shape], dtype=np.int64)
    for number, corner in enumerate(product((0, 1), repeat=mask.ndim)):
        window = tuple(slice(bit, bit + n + 1) for bit, n in zip(corner, mask.shape, strict=True))
        code |= padded[window] << number
    return code


def _after_first(axis: int, ndim: int) -> tuple[slice, ...]:
    return tuple(slice(None) if other == axis else slice(1, None) for other in range(ndim))


def _sampled_codes(code: Ints, ignore: npt.NDArray[np.bool_], surface: SurfaceKind) -> Ints:
    """Return the codes without the pieces that touch an ignored voxel."""
    if surface == "marching-cubes":
        return np.where(_codes(ignore, surface) == 0, code, 0)
    padded = np.pad(ignore, 1)
    sampled = code.copy()
    inner = tuple(slice(1, None) for _ in ignore.shape)
    for axis in range(ignore.ndim):
        below = tuple(slice(0, -1) if other == axis else slice(1, None) for other in range(ignore.ndim))
        sampled[padded[inner] | padded[below]] &= ~(1 << axis)
    return sampled


def _rows(code: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return the pattern rows of all cells one after the other, and the cell that each belongs to."""
    counts = start[code + 1] - start[code]
    owner = np.repeat(np.arange(len(code)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return start[code][owner] + within, owner


def _in_space(position: Ints, patterns: CellPatterns) -> Floats:
    return np.pad(position @ patterns.linear.T, ((0, 0), (3 - patterns.ndim, 0)))


def _sample_areas(cells: Cells, patterns: CellPatterns) -> Floats:
    rows, _ = _rows(patterns.same_as[cells.sample_code], patterns.sample_start)
    return patterns.sample_area[rows]


def _middle_weight(targets: Targets) -> Floats:
    return np.where(targets.is_rectangle, 0.5, 1 / 3)


def _half_diameter(targets: Targets, middle: Floats) -> float:
    corners = [targets.corner, targets.corner + targets.u, targets.corner + targets.v]
    corners.append(np.where(targets.is_rectangle[:, np.newaxis], corners[1] + targets.v, targets.corner))
    return float(max(np.linalg.norm(corner - middle, axis=1).max() for corner in corners))


def _parts(points: Floats, tree: object, radius: Floats) -> Iterator[slice]:
    """Yield ranges of points that have few enough neighbours together."""
    counts = tree.query_ball_point(points, radius * (1 + 1e-9), return_length=True)  # type: ignore[attr-defined]
    first, total = 0, 0
    for i, count in enumerate(counts):
        if total + count > _PAIRS_AT_ONCE and i > first:
            yield slice(first, i)
            first, total = i, 0
        total += int(count)
    if first < len(points):
        yield slice(first, len(points))


def squared_distances(points: Floats, targets: Targets, pieces: Ints) -> Floats:
    """Return the squared distance of each point to the piece paired with it."""
    u, v = targets.u[pieces], targets.v[pieces]
    d = points - targets.corner[pieces]
    is_rectangle = targets.is_rectangle[pieces]
    squared = np.empty(len(pieces))
    squared[is_rectangle] = _to_rectangles(d[is_rectangle], u[is_rectangle], v[is_rectangle])
    squared[~is_rectangle] = _to_triangles(d[~is_rectangle], u[~is_rectangle], v[~is_rectangle])
    return squared


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=1))


def _along(d: Floats, side: Floats) -> Floats:
    """Return the position of the foot point of d along a side, held to the side; 0 for a side without length."""
    length = _dot(side, side)
    return np.clip(np.divide(_dot(d, side), length, out=np.zeros_like(length), where=length > 0), 0, 1)


def _to_rectangles(d: Floats, u: Floats, v: Floats) -> Floats:
    gap = d - _along(d, u)[:, np.newaxis] * u - _along(d, v)[:, np.newaxis] * v
    return _dot(gap, gap)


def _to_triangles(d: Floats, u: Floats, v: Floats) -> Floats:
    """Return the squared distance to triangles: to the plane where the foot point is inside, else to an edge."""
    edges = [(d, u), (d, v), (d - u, v - u)]
    to_edges = [start - _along(start, side)[:, np.newaxis] * side for start, side in edges]
    nearest_edge = np.minimum.reduce([_dot(gap, gap) for gap in to_edges])
    uu, uv, vv, du, dv = _dot(u, u), _dot(u, v), _dot(v, v), _dot(d, u), _dot(d, v)
    s, t, whole = du * vv - dv * uv, dv * uu - du * uv, uu * vv - uv * uv
    normal = np.cross(u, v)
    height = _dot(d, normal) ** 2 / _dot(normal, normal)
    return np.where((s >= 0) & (t >= 0) & (s + t <= whole), height, nearest_edge)
