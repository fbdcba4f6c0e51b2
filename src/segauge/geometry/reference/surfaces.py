"""Reference: the surface of a mask as a list of pieces, distances between two such lists, and what they add up to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from segauge.geometry.patterns import CellPatterns, CellShapes, SurfaceKind, cell_patterns
from segauge.geometry.reference.distances import Floats, Ints, Targets, distances_to, largest_distance
from segauge.geometry.reference.masks import ReferenceMask

_BRICK = 8  # cells are listed brick by brick, as the kernel lists them


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that a surface passes: position, code of its pieces, code of the pieces that are sampled."""

    position: Ints
    code: Ints
    sample_code: Ints


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
) -> tuple[Floats, Floats, Floats, Floats, float, float]:
    """Return distances and areas of all samples, from pred to gt and from gt to pred; then both largest distances."""
    del threads
    ignored = None if ignore is None else ignore.array
    pred_cells = find_cells(pred.array, ignored, surface)
    gt_cells = find_cells(gt.array, ignored, surface)
    pred_pieces, gt_pieces = targets_of(pred_cells, patterns), targets_of(gt_cells, patterns)
    return (
        distances_to(sample_points(pred_cells, patterns), gt_pieces),
        _sample_areas(pred_cells, patterns),
        distances_to(sample_points(gt_cells, patterns), pred_pieces),
        _sample_areas(gt_cells, patterns),
        largest_distance(_sampled_pieces(pred_cells, patterns), gt_pieces, patterns.linear),
        largest_distance(_sampled_pieces(gt_cells, patterns), pred_pieces, patterns.linear),
    )


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


def _sampled_pieces(cells: Cells, patterns: CellPatterns) -> Targets:
    return targets_of(Cells(cells.position, cells.sample_code, cells.sample_code), patterns)


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


def totals(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the sum of the weights, and of values times weights."""
    # a plain sum of products instead of a dot product: BLAS would split it by the number of its threads
    return float(weights.sum()), float((values * weights).sum())


def largest(values: Floats) -> float:
    """Return the largest value."""
    return float(values.max())


def weight_within(values: Floats, weights: Floats, limit: float) -> float:
    """Return the weight of the values at or below a limit."""
    return float(weights[values <= limit].sum())


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Return the smallest value such that the weight at or below it is at least `share` of the whole."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(reached, weights.sum() * share)), len(order) - 1)]])


FloatArray = npt.NDArray[np.float64]


def cell_distances(
    a: ReferenceMask, b: ReferenceMask, spacing: Sequence[float], areas: FloatArray, threads: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return distances and areas of the surface cells of `a`, then of `b`, each in raster order.

    A distance is that to the nearest surface cell of the other mask, centre to centre; infinite where it has none.
    """
    del threads
    codes_a, codes_b = _cell_codes(a.array), _cell_codes(b.array)
    return *_one_way(codes_a, codes_b, spacing, areas), *_one_way(codes_b, codes_a, spacing, areas)


def _cell_codes(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Return the code of every cell: in 3-D bit 4 dz + 2 dy + dx says whether its corner (dz, dy, dx) is set."""
    padded = np.pad(mask, 1)
    codes = np.zeros(tuple(n - 1 for n in padded.shape), dtype=np.uint8)
    for bit, corner in enumerate(itertools.product((0, 1), repeat=mask.ndim)):
        part = tuple(slice(offset, offset + n) for offset, n in zip(corner, codes.shape, strict=True))
        codes |= padded[part].astype(np.uint8) << bit
    return codes


def _one_way(
    codes: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8], spacing: Sequence[float], areas: FloatArray
) -> tuple[FloatArray, FloatArray]:
    from scipy import ndimage

    surface, target = _is_surface(codes), _is_surface(other)
    if not target.any():
        return np.full(np.count_nonzero(surface), np.inf), areas[codes[surface]]
    distances: FloatArray = ndimage.distance_transform_edt(~target, sampling=spacing)
    return distances[surface], areas[codes[surface]]


def _is_surface(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    full = 2 ** (2**codes.ndim) - 1
    surface: npt.NDArray[np.bool_] = (codes != 0) & (codes != full)
    return surface
