"""Reference: the sub-voxel surface of a mask, and exact distances between two such surfaces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.geometry.patterns import triangle_normals, triangles_of
from segauge.geometry.reference.caps import cap_positions
from segauge.geometry.reference.distances import Floats, Ints, Targets, distances_to, largest_distance
from segauge.geometry.reference.masks import ReferenceMask
from segauge.geometry.reference.outlines import outline_positions
from segauge.geometry.reference.surfaces import find_cells
from segauge.geometry.subvoxel import Gaussian, SubvoxelRule

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SubvoxelSurface:
    """The pieces of a surface in mm, cell by cell: samples with their areas, and what distances are measured to.

    A polygon has one sample, the mean of its corners: the middle of the fan of triangles that distances go to. The
    targets of those polygons that have a sample are `sampled`.
    """

    points: Floats
    areas: Floats
    targets: Targets
    sampled: Targets


def prepare_subvoxel(rule: SubvoxelRule) -> SubvoxelRule:
    """Return the rule as this engine uses it: as it is."""
    return rule


def subvoxel_distances(
    pred: ReferenceMask, gt: ReferenceMask, ignore: ReferenceMask | None, rule: SubvoxelRule, threads: int
) -> tuple[Floats, Floats, Floats, Floats, float, float]:
    """Return distances and areas of all samples, from pred to gt and from gt to pred; then both largest distances."""
    del threads
    ignored = None if ignore is None else ignore.array
    a, b = (subvoxel_surface(mask.array, ignored, rule) for mask in (pred, gt))
    return (
        distances_to(a.points, b.targets),
        a.areas,
        distances_to(b.points, a.targets),
        b.areas,
        largest_distance(a.sampled, b.targets, rule.linear),
        largest_distance(b.sampled, a.targets, rule.linear),
    )


def subvoxel_band(mask: ReferenceMask, rule: SubvoxelRule, width_mm: float, threads: int) -> ReferenceMask:
    """Return the voxels of the mask whose centre lies within `width_mm` of the mask's own surface."""
    del threads
    voxels = np.argwhere(mask.array)
    band = np.zeros_like(mask.array)
    if len(voxels):
        points = _three_columns((voxels + 1) @ rule.linear.T)
        targets = subvoxel_surface(mask.array, None, rule).targets
        band[tuple(voxels[distances_to(points, targets) <= width_mm].T)] = True
    return ReferenceMask(band)


def depths(mask: Bools, rule: SubvoxelRule) -> Floats:
    """Return how deep in mm each voxel lies in its own class, 0 where its neighbourhood says the other."""
    wide, middle, narrow = (_depths_of(mask, gaussian, rule) for gaussian in rule.gaussians)
    smooth, sharp = 2 * middle - wide, 2 * narrow - middle
    thin = np.clip((middle - wide - rule.thin_from_mm) / (rule.thin_to_mm - rule.thin_from_mm), 0, 1)
    return np.asarray(np.maximum(smooth + (sharp - smooth) * thin, 0))


def edge_positions(mask: Bools, rule: SubvoxelRule) -> list[Floats]:
    """Return for each axis where the surface cuts the edge from every voxel to the next, 0 to 1 (nan: not cut)."""
    depth = depths(mask, rule)
    cuts = [_positions_along(axis, mask, depth, rule.margin) for axis in range(mask.ndim)]
    caps = [
        cap_positions(axis, mask, cuts, _slopes_along(axis, mask, depth, rule), rule) if axis in rule.cap_axes else cut
        for axis, cut in enumerate(cuts)
    ]
    profiles = {axis: outline_positions(axis, mask, cuts, rule) for axis in rule.thick_axes}
    return [
        np.where(np.isfinite(profiles[k]), profiles[k], cap) if k in profiles else cap for k, cap in enumerate(caps)
    ]


def subvoxel_surface(mask: Bools, ignore: Bools | None, rule: SubvoxelRule) -> SubvoxelSurface:
    """Return the surface of a mask; cells that touch an ignored voxel are not sampled."""
    return surface_through(mask, ignore, edge_positions(np.pad(mask, 1), rule), rule)


def surface_through(mask: Bools, ignore: Bools | None, cuts: list[Floats], rule: SubvoxelRule) -> SubvoxelSurface:
    """Return the surface that cuts the edges of the padded mask where it is told to, whatever told so."""
    cells = find_cells(mask, ignore, "marching-cubes")
    pieces, sampled, middles, sizes = [], [], [], []
    for position, code, sample_code in zip(cells.position, cells.code, cells.sample_code, strict=True):
        for corners in _outlines(position, int(code), cuts, rule):
            outline = corners @ rule.linear.T
            pieces.append(outline[np.newaxis] if rule.ndim == 2 else triangles_of(outline))
            if sample_code == code:
                sampled.append(pieces[-1])
                middles.append(outline.mean(axis=0))
                sizes.append(_size(pieces[-1], rule.ndim))
    points = np.reshape(middles, (-1, rule.ndim))
    none = np.zeros((0, rule.ndim, rule.ndim))
    targets, own = (_targets(np.concatenate([none, *each]), rule.ndim) for each in (pieces, sampled))
    return SubvoxelSurface(_three_columns(points), np.array(sizes), targets, own)


def _depths_of(mask: Bools, gaussian: Gaussian, rule: SubvoxelRule) -> Floats:
    from scipy import ndimage, special

    share = mask.astype(np.float64)
    for axis, weights in enumerate(gaussian.along):
        share = ndimage.convolve1d(share, weights, axis=axis, mode="constant")
    other = np.clip(np.where(mask, 1 - share, share), rule.least_share, rule.largest_share)
    return np.asarray(-gaussian.width_mm * special.ndtri(other))


def _positions_along(axis: int, mask: Bools, depth: Floats, margin: float) -> Floats:
    inside, deep = np.moveaxis(mask, axis, 0), np.moveaxis(depth, axis, 0)
    low, high = deep[:-1], deep[1:]
    whole = low + high
    position = np.divide(low, whole, out=np.full(whole.shape, 0.5), where=whole > 0)
    position = np.clip(position, margin, 1 - margin)
    position = np.where(_is_thin(inside), 0.5, position)
    return np.moveaxis(np.where(inside[:-1] != inside[1:], position, np.nan), 0, axis)


def _slopes_along(axis: int, mask: Bools, depth: Floats, rule: SubvoxelRule) -> Bools:
    """Return which edges along an axis the surface crosses on a slope, as far as Gaussians can tell."""
    deep = np.moveaxis(depth, axis, 0)
    is_slope = (deep[:-1] + deep[1:] < rule.slope_to_mm[axis]) & ~_is_thin(np.moveaxis(mask, axis, 0))
    return np.moveaxis(is_slope, 0, axis)


def _is_thin(inside: Bools) -> Bools:
    """Return for every edge along the first axis whether what it begins or ends in is a single voxel thick."""
    around = np.concatenate([np.zeros_like(inside[:1]), inside, np.zeros_like(inside[:1])])
    return np.asarray((around[:-3] != around[1:-2]) | (around[2:-1] != around[3:]))


def _outlines(position: Ints, code: int, cuts: list[Floats], rule: SubvoxelRule) -> list[Floats]:
    """Return the polygons in a cell, in steps from the lattice's origin."""
    loops, outlines = rule.loops, []
    for loop in range(loops.loop_start[code], loops.loop_start[code + 1]):
        corners = []
        for k in range(loops.corner_start[loop], loops.corner_start[loop + 1]):
            axis, low = loops.axis[k], position + loops.low[k]
            corner = low.astype(np.float64)
            corner[axis] += cuts[axis][tuple(low)]
            corners.append(corner)
        outlines.append(np.array(corners))
    return outlines


def _size(pieces: Floats, ndim: int) -> float:
    extents = triangle_normals(pieces) if ndim == 3 else pieces[:, 1] - pieces[:, 0]
    return float(np.linalg.norm(extents, axis=1).sum())


def _targets(pieces: Floats, ndim: int) -> Targets:
    corner, u = pieces[:, 0], pieces[:, 1] - pieces[:, 0]
    v = pieces[:, 2] - pieces[:, 0] if ndim == 3 else np.zeros_like(u)
    return Targets(_three_columns(corner), _three_columns(u), _three_columns(v), np.full(len(pieces), ndim == 2))


def _three_columns(rows: Floats) -> Floats:
    return np.pad(rows, ((0, 0), (3 - rows.shape[1], 0)))
