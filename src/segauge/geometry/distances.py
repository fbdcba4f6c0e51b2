"""Exact distances between the surfaces of two masks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.geometry.engine import engine, thread_count
from segauge.geometry.masks import PackedMask
from segauge.geometry.patterns import CellShapes, SurfaceKind, cell_shapes
from segauge.geometry.subvoxel import subvoxel_rule

Floats = npt.NDArray[np.float64]

#: Share of the smallest voxel edge by which a distance may exceed a tolerance and still count as within it. Spacings
#: pass through 32-bit headers (0.8 arrives as 0.800000012), and a distance of exactly the tolerance must count.
ROUNDING = 1e-6

#: Axes closer to right angles than this (cosine) are taken as orthogonal: rounding in a header, not shear.
_RIGHT_ANGLE = 1e-6


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """Distances between two surfaces in mm, in both directions, with the area that each one stands for.

    `d_pg[i]` is the distance from a sample point of the surface of pred to the nearest point of the surface of gt,
    and `w_pg[i]` the area in mm² (length in mm in 2-D) that the sample represents; `d_gp`, `w_gp` the other way
    round. A distance that exceeds a tolerance by no more than `rounding_mm` counts as within it. `max_pg` and `max_gp`
    are the largest distances of any points of the surfaces, between the samples too (exact to a millionth of the
    shortest voxel edge).
    """

    d_pg: Floats
    w_pg: Floats
    d_gp: Floats
    w_gp: Floats
    rounding_mm: float = 1e-9
    max_pg: float = 0.0
    max_gp: float = 0.0

    @cached_property
    def totals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """For pred and for gt: the area of its surface, and the sum of distances times areas."""
        kernel = engine()
        return kernel.totals(self.d_pg, self.w_pg), kernel.totals(self.d_gp, self.w_gp)

    @property
    def both(self) -> tuple[Floats, Floats]:
        """Distances and areas of both directions, one after the other."""
        return np.concatenate([self.d_pg, self.d_gp]), np.concatenate([self.w_pg, self.w_gp])

    @property
    def area_pred(self) -> float:
        """Area of the surface of pred in mm² (length in mm in 2-D)."""
        return self.totals[0][0]

    @property
    def area_gt(self) -> float:
        """Area of the surface of gt in mm² (length in mm in 2-D)."""
        return self.totals[1][0]


def measure_surface_distances(
    pred: PackedMask,
    gt: PackedMask,
    linear: Floats,
    *,
    surface: SurfaceKind = "marching-cubes",
    ignore: PackedMask | None = None,
    threads: int | None = None,
) -> SurfaceDistances:
    """Return the distances between the surfaces of two non-empty masks of the same box.

    `linear` holds the voxel steps in mm as columns. Where `ignore` is given, the masks must not contain its voxels;
    pieces of surface that touch an ignored voxel are not sampled (nobody knows where the surface is there), but
    still count as surface that others can be near to.
    """
    threads, kernel = thread_count(threads), engine()
    if surface == "subvoxel" and (order := _finest_last(linear)) != sorted(order):
        linear = np.ascontiguousarray(linear[np.ix_(order, order)])
        pred, gt = pred.transposed(order), gt.transposed(order)
        ignore = None if ignore is None else ignore.transposed(order)
    lattice, unit_mm = _lattice(surface, linear)
    prepared = _prepared(kernel, surface, lattice)
    if surface == "subvoxel":
        found = kernel.subvoxel_distances(pred, gt, ignore, prepared, threads)
    else:
        found = kernel.surface_distances(pred, gt, ignore, surface, prepared, threads)
    d_pg, w_pg, d_gp, w_gp, max_pg, max_gp = found
    if unit_mm != 1:
        for distance, area in ((d_pg, w_pg), (d_gp, w_gp)):
            distance *= unit_mm
            area *= unit_mm ** (len(linear) - 1)
    rounding_mm = ROUNDING * smallest_edge(linear)
    return SurfaceDistances(d_pg, w_pg, d_gp, w_gp, rounding_mm, max_pg * unit_mm, max_gp * unit_mm)


def find_boundary_band(
    mask: PackedMask,
    linear: Floats,
    width_mm: float,
    *,
    surface: SurfaceKind = "marching-cubes",
    threads: int | None = None,
) -> PackedMask:
    """Return the voxels of a mask whose centre lies within `width_mm` of the mask's own surface."""
    lattice, unit_mm = _lattice(surface, linear)
    width = (width_mm + ROUNDING * smallest_edge(linear)) / unit_mm
    threads = thread_count(threads)
    prepared = _prepared(engine(), surface, lattice)
    band: PackedMask
    if surface == "subvoxel":
        band = engine().subvoxel_band(mask, prepared, width, threads)
    else:
        band = engine().boundary_band(mask, surface, prepared, width, threads)
    return band


def find_boundary_bands(
    pred: PackedMask,
    gt: PackedMask,
    linear: Floats,
    width_mm: float,
    *,
    surface: SurfaceKind = "marching-cubes",
    threads: int | None = None,
) -> tuple[PackedMask, PackedMask]:
    """Return the boundary bands of two masks, at the same time where there is more than one thread."""
    if surface == "subvoxel":  # whose surface takes much longer to find than the band, on all threads
        first, second = (
            find_boundary_band(mask, linear, width_mm, surface=surface, threads=threads) for mask in (pred, gt)
        )
        return first, second
    lattice, unit_mm = _lattice(surface, linear)
    width, prepared = (width_mm + ROUNDING * smallest_edge(linear)) / unit_mm, _prepared(engine(), surface, lattice)
    bands: tuple[PackedMask, PackedMask] = engine().boundary_band_pair(
        pred, gt, surface, prepared, width, thread_count(threads)
    )
    return bands


def _finest_last(linear: Floats) -> list[int]:
    """Return the order of the axes in which the sub-voxel surface is found quickest.

    Where they are at right angles, those across thick slices come first: rows of voxels within a slice say more.
    """
    edges = np.diag(linear).tolist()
    if np.any(linear != np.diag(edges)):
        return list(range(len(edges)))
    return sorted(range(len(edges)), key=lambda axis: -edges[axis])


def _lattice(surface: SurfaceKind, linear: Floats) -> tuple[Floats, float]:
    """Return the lattice to measure on, and how many mm one unit of it is.

    Cubes of every size are measured as cubes of 1 mm: what the kernel then knows of the distances between their pieces
    holds for all of them. The sub-voxel surface remembers nothing that this could serve.
    """
    edge = float(linear[0, 0])
    rows = linear.tolist()
    is_cube = all(step == (edge if i == j else 0) for i, row in enumerate(rows) for j, step in enumerate(row))
    return (linear / edge, edge) if is_cube and surface != "subvoxel" else (linear, 1.0)


#: By engine and surface: the last lattice, and what was prepared for it. No more than the last one, because the kernel
#: keeps up to some 24 MB of known distances with each, for every thread, and hands this memory on to the next.
_last_prepared: dict[tuple[str, str], tuple[bytes, Any]] = {}


def _prepared(engine_used: Any, surface: SurfaceKind, linear: Floats) -> Any:
    """Return what decides the surface, in the engine's own form, kept for the next structure on the same grid."""
    key, lattice = (engine_used.__name__, surface), linear.tobytes()
    known = _last_prepared.get(key)
    if known is not None and known[0] == lattice:
        return known[1]
    if surface == "subvoxel":
        prepared = engine_used.prepare_subvoxel(subvoxel_rule(linear))
    else:
        prepared = engine_used.prepare(_shapes(engine_used, cell_shapes(surface, linear)), linear)
    _last_prepared[key] = lattice, prepared
    return prepared


@cache
def _shapes(engine_used: Any, shapes: CellShapes) -> Any:
    return engine_used.read_shapes(shapes)


def smallest_edge(linear: Floats) -> float:
    """Return the length of the shortest voxel edge in mm."""
    return min(math.hypot(*axis) for axis in linear.T.tolist())


def voxel_steps(affine: Floats) -> Floats:
    """Return the voxel steps of an affine as an upper triangular matrix: distances without regard to rotation.

    Distances depend on the lengths of the axes and the angles between them, not on where they point; the triangular
    form is diagonal for every grid with right angles.
    """
    axes = affine[:-1, :-1]
    edges = np.linalg.norm(axes, axis=0)
    cosines = (axes / edges).T @ (axes / edges)
    if np.abs(cosines - np.eye(len(edges))).max() <= _RIGHT_ANGLE:
        return np.diag(edges)
    return np.ascontiguousarray(np.linalg.cholesky(axes.T @ axes).T)
