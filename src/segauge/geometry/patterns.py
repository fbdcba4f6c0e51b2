"""What the surface looks like inside one cell of the grid: the pieces that each cell code stands for.

A cell's code says which of its corners are foreground; for a surface whose vertices sit at fixed places of the cell
the code alone decides the pieces. Nothing is typed in: the polygons come from walking around the faces of the cell,
so the rule that makes the surface closed (each face is cut the same way by both its cells) is the code itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.symmetries import CellSamples, Symmetries, corner_symmetries, identity_only

SurfaceKind = Literal["marching-cubes", "voxel", "subvoxel"]
SURFACES: tuple[str, ...] = get_args(SurfaceKind)

Point = tuple[float, ...]
#: A polygon in 3-D (its corners in order), a segment in 2-D (its two ends), in cell units.
Piece = tuple[Point, ...]


@dataclass(frozen=True, eq=False)
class CellPatterns:
    """Sample points and target pieces of every cell code, in mm relative to the cell's origin.

    Samples are the quadrature points of the surface (triangle centroids, segment midpoints) with the area (length)
    each stands for. Targets are what a distance is measured to: a triangle `corner + s u + t v` (s, t >= 0,
    s + t <= 1), or a rectangle (0 <= s, t <= 1), of which a segment is the flat case v = 0. The rows of code c are
    `start[c]:start[c + 1]`. Arrays have three columns; in 2-D the first is zero. A cell spans one step along each
    axis from `cell_origin` (in steps). `same_as` gives for every code the first one with the same pieces: inside out
    most surfaces look the same.
    """

    ndim: int
    linear: npt.NDArray[np.float64]
    inverse: npt.NDArray[np.float64]
    cell_origin: npt.NDArray[np.float64]
    same_as: npt.NDArray[np.int64]
    sample_start: npt.NDArray[np.int64]
    sample_point: npt.NDArray[np.float64]
    sample_area: npt.NDArray[np.float64]
    target_start: npt.NDArray[np.int64]
    target_corner: npt.NDArray[np.float64]
    target_u: npt.NDArray[np.float64]
    target_v: npt.NDArray[np.float64]
    target_is_rectangle: npt.NDArray[np.bool_]


def check_surface(surface: str) -> SurfaceKind:
    """Return the name of a surface, or say which there are."""
    if surface not in SURFACES:
        raise InvalidInput(f"surface: expected one of {', '.join(map(repr, SURFACES))}, got {surface!r}.")
    return surface  # type: ignore[return-value]


@cache
def pieces_by_code(surface: SurfaceKind, ndim: int) -> tuple[tuple[Piece, ...], ...]:
    """Return, for every cell code, the pieces of the surface in cell units.

    "marching-cubes": the cell spans 2^d voxel centres, corner c sits at the bits of c (first axis = highest bit), and
    bit c of the code says whether it is foreground. "voxel": the cell is a voxel, and bit a of the code says that the
    face on its lower side along axis a separates foreground from background.
    """
    if surface == "voxel":
        return tuple(tuple(_lower_faces(code, ndim)) for code in range(2**ndim))
    trace = _trace_polygons if ndim == 3 else _trace_segments
    return tuple(tuple(trace(code)) for code in range(2 ** (2**ndim)))


def cell_patterns(surface: SurfaceKind, linear: npt.NDArray[np.float64]) -> CellPatterns:
    """Return the patterns of a surface on a lattice whose axes are the columns of `linear` (mm per voxel step)."""
    ndim = len(linear)
    unit = _unit_patterns(surface, ndim)
    corner, u, v = unit.target_sides @ linear.T
    keep = _kept_targets(unit, u, v)
    return CellPatterns(
        ndim,
        linear,
        np.ascontiguousarray(np.linalg.inv(linear)),
        np.full(ndim, _cell_origin(surface)),
        unit.same_as,
        _starts(unit.sample_code, len(unit.same_as)),
        _three_columns(unit.sample_point @ linear.T),
        _lengths(unit.sample_extent @ (_area_map(linear) if ndim == 3 else linear).T),
        _starts(unit.target_code[keep], len(unit.same_as)),
        _three_columns(corner[keep]),
        _three_columns(u[keep]),
        _three_columns(v[keep]),
        np.ascontiguousarray(unit.target_is_flat[keep]),
    )


@dataclass(frozen=True, eq=False)
class CellShapes:
    """What the patterns of many lattices have in common: the pieces in cell units, and the symmetries of the lattice.

    A cell spans one step along each axis from `cell_origin` (in steps).
    """

    surface: SurfaceKind
    unit: UnitPatterns
    cell_origin: float
    symmetries: Symmetries


def cell_shapes(surface: SurfaceKind, linear: npt.NDArray[np.float64]) -> CellShapes:
    """Return the shapes of a surface on a lattice whose axes are the columns of `linear`; many lattices share them."""
    return _cell_shapes(surface, len(linear), _equal_axes(surface, linear))


@cache
def _cell_shapes(surface: SurfaceKind, ndim: int, equal_axes: tuple[int, ...]) -> CellShapes:
    samples = _unit_samples(surface, ndim)
    symmetries = corner_symmetries(samples, equal_axes) if equal_axes else identity_only(samples)
    return CellShapes(surface, _unit_patterns(surface, ndim), _cell_origin(surface), symmetries)


def _equal_axes(surface: SurfaceKind, linear: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """Number the axes by the length of their steps; empty where cells change in a mirror.

    A voxel with its lower faces does, and so does every cell of a lattice without right angles.
    """
    rows: list[list[float]] = linear.tolist()
    if surface != "marching-cubes" or any(x for i, row in enumerate(rows) for j, x in enumerate(row) if i != j):
        return ()
    steps = [row[axis] for axis, row in enumerate(rows)]
    return tuple(steps.index(step) for step in steps)


def _cell_origin(surface: SurfaceKind) -> float:
    return -0.5 if surface == "voxel" else 0.0


@cache
def _unit_samples(surface: SurfaceKind, ndim: int) -> CellSamples:
    unit = _unit_patterns(surface, ndim)
    return CellSamples(ndim, unit.same_as, unit.sample_code, unit.sample_point)


@dataclass(frozen=True, eq=False)
class UnitPatterns:
    """The pieces of all codes in cell units: what does not depend on the spacing, worked out once.

    A flat piece with parallel sides is listed twice as a target, whole and as triangles: on the lattice at hand its
    sides are at right angles, and it counts whole, or they are not, and its triangles do. The extent of a sample is the
    segment (in 2-D) or the normal as long as the area (in 3-D) that it stands for; the sides of a target are its
    corner, u and v.
    """

    same_as: npt.NDArray[np.int64]
    sample_code: npt.NDArray[np.int64]
    sample_point: npt.NDArray[np.float64]
    sample_extent: npt.NDArray[np.float64]
    target_code: npt.NDArray[np.int64]
    target_piece: npt.NDArray[np.int64]
    target_sides: npt.NDArray[np.float64]
    target_is_flat: npt.NDArray[np.bool_]


@cache
def _unit_patterns(surface: SurfaceKind, ndim: int) -> UnitPatterns:
    samples_of = _samples_of_face if surface == "voxel" else _samples_of
    samples: list[tuple[int, npt.NDArray[np.float64], float]] = []
    targets: list[tuple[int, int, npt.NDArray[np.float64], bool]] = []
    first_with: dict[frozenset[frozenset[Point]], int] = {}
    same_as, piece_number = [], 0
    for code, pieces in enumerate(pieces_by_code(surface, ndim)):
        same_as.append(first_with.setdefault(frozenset(map(frozenset, pieces)), code))
        for piece in pieces:
            outline = np.array(piece)
            samples += [(code, triangle, share) for triangle, share in samples_of(outline)]
            targets += [(code, piece_number, sides, is_flat) for sides, is_flat in _targets_of(outline)]
            piece_number += 1
    sides = np.array([row[2] for row in targets])
    corners = np.array([row[1] for row in samples])
    return UnitPatterns(
        np.array(same_as, dtype=np.int64),
        np.array([row[0] for row in samples], dtype=np.int64),
        corners.mean(axis=1),
        (triangle_normals(corners) if ndim == 3 else corners[:, 1] - corners[:, 0])
        * np.array([[row[2]] for row in samples]),
        np.array([row[0] for row in targets], dtype=np.int64),
        np.array([row[1] for row in targets], dtype=np.int64),
        np.ascontiguousarray(np.moveaxis(sides, 1, 0)),
        np.array([row[3] for row in targets], dtype=np.bool_),
    )


def _kept_targets(unit: UnitPatterns, u: npt.NDArray[np.float64], v: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Say which targets count on this lattice: flat pieces whole where their sides are at right angles, else split."""
    size = _lengths(u) * _lengths(v)
    is_whole = unit.target_is_flat & (np.abs(np.einsum("ij,ij->i", u, v)) <= 1e-12 * size)
    whole_pieces = np.zeros(int(unit.target_piece.max()) + 1, dtype=np.bool_)
    whole_pieces[unit.target_piece[is_whole]] = True
    return np.where(unit.target_is_flat, is_whole, ~whole_pieces[unit.target_piece])


def _starts(codes: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return where the rows of each code begin, and one past the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))]).astype(np.int64)


def _lengths(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths: npt.NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return lengths


def _area_map(linear: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the matrix that takes normals as long as an area to the lattice: that of the cofactors."""
    cofactors: npt.NDArray[np.float64] = np.linalg.det(linear) * np.linalg.inv(linear).T
    return cofactors


def triangles_of(corners: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the triangles (n, 3, 3) of a polygon: itself, or a fan around the mean of its corners.

    A fan favours no corner, so flips and permutations of the image change nothing.
    """
    if len(corners) == 3:
        return corners[np.newaxis]
    middle = corners.mean(axis=0)
    following = np.roll(corners, -1, axis=0)
    return np.stack([np.broadcast_to(middle, corners.shape), corners, following], axis=1)


def triangle_normals(triangles: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the normals of (n, 3, 3) triangles, as long as their areas."""
    sides = triangles[:, 1:] - triangles[:, :1]
    normals: npt.NDArray[np.float64] = np.cross(sides[:, 0], sides[:, 1]) / 2
    return normals


def _samples_of(corners: npt.NDArray[np.float64]) -> list[tuple[npt.NDArray[np.float64], float]]:
    """Return the triangles (or the segment) whose middles are the samples of a piece, and the share each counts."""
    triangles = corners[np.newaxis] if corners.shape[1] == 2 else triangles_of(corners)
    return [(triangle, 1.0) for triangle in triangles]


def _samples_of_face(corners: npt.NDArray[np.float64]) -> list[tuple[npt.NDArray[np.float64], float]]:
    """Return the samples of a voxel face: the triangles of both ways to cut it along a diagonal, each counted half.

    Tools that triangulate voxel faces choose one diagonal, which ties the result to the orientation of the image.
    Taking both keeps their samples, and so comes out close to their answers, without the choice.
    """
    if corners.shape[1] == 2:
        return _samples_of(corners)
    triangles = np.stack([np.roll(corners, 1, axis=0), corners, np.roll(corners, -1, axis=0)], axis=1)
    return [(triangle, 0.5) for triangle in triangles]


def _targets_of(corners: npt.NDArray[np.float64]) -> list[tuple[npt.NDArray[np.float64], bool]]:
    """Return (corner, u, v) of the targets that a piece is made of, and whether each is a whole flat piece."""
    if corners.shape[1] == 2:
        return [(np.stack([corners[0], corners[1] - corners[0], np.zeros(2)]), True)]
    targets = [(np.stack([a, b - a, c - a]), False) for a, b, c in triangles_of(corners)]
    is_parallelogram = len(corners) == 4 and np.allclose(corners[0] + corners[2], corners[1] + corners[3], atol=1e-12)
    if is_parallelogram:
        targets.append((np.stack([corners[0], corners[1] - corners[0], corners[3] - corners[0]]), True))
    return targets


def _three_columns(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.ascontiguousarray(np.pad(rows, ((0, 0), (3 - rows.shape[1], 0))))


def _corner(index: int, ndim: int) -> tuple[int, ...]:
    return tuple(index >> (ndim - 1 - axis) & 1 for axis in range(ndim))


def _cell_faces() -> Iterator[tuple[int, int, int, int]]:
    """Yield the six faces of a cube as corner numbers in cyclic order."""
    for axis, side in product(range(3), (0, 1)):
        first, second = (other for other in range(3) if other != axis)
        ring = []
        for a, b in ((0, 0), (0, 1), (1, 1), (1, 0)):
            bits = [0, 0, 0]
            bits[axis], bits[first], bits[second] = side, a, b
            ring.append(bits[0] * 4 + bits[1] * 2 + bits[2])
        yield ring[0], ring[1], ring[2], ring[3]


def _cuts_of_face(ring: Sequence[int], code: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the cuts through a face: each run of foreground corners is cut off between the edges at its two ends.

    Two foreground corners that meet only diagonally are cut off one by one: the background stays joined. Both cells
    that share the face see the same corners, so they agree, and the surface is closed.
    """
    inside = [bool(code >> corner & 1) for corner in ring]
    n = len(ring)
    for i in range(n):
        if inside[i] and not inside[i - 1]:
            last = i
            while inside[(last + 1) % n]:
                last = (last + 1) % n
            entry, exit_ = (ring[i - 1], ring[i]), (ring[last], ring[(last + 1) % n])
            yield _edge(*entry), _edge(*exit_)


def _edge(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _edge_middle(edge: tuple[int, int], ndim: int) -> Point:
    ends = [_corner(corner, ndim) for corner in edge]
    return tuple((a + b) / 2 for a, b in zip(*ends, strict=True))


def _trace_polygons(code: int) -> Iterator[Piece]:
    """Yield the closed loops that the cuts through a cube's faces form: each cut edge belongs to exactly two faces."""
    links: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for ring in _cell_faces():
        for start, end in _cuts_of_face(ring, code):
            links.setdefault(start, []).append(end)
            links.setdefault(end, []).append(start)
    remaining = dict(sorted(links.items()))
    while remaining:
        here = next(iter(remaining))
        loop = []
        while here in remaining:
            loop.append(_edge_middle(here, 3))
            ways = remaining.pop(here)
            here = next((edge for edge in ways if edge in remaining), here)
        yield tuple(loop)


def _trace_segments(code: int) -> Iterator[Piece]:
    """Yield the segments through a square cell."""
    for start, end in _cuts_of_face((0, 1, 3, 2), code):
        yield _edge_middle(start, 2), _edge_middle(end, 2)


def _lower_faces(code: int, ndim: int) -> Iterator[Piece]:
    """Yield the faces on a voxel's lower side; the voxel's centre is the cell's origin."""
    for axis in range(ndim):
        if code >> axis & 1:
            ring = ((-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5), (0.5, -0.5)) if ndim == 3 else ((-0.5,), (0.5,))
            yield tuple((*corner[:axis], -0.5, *corner[axis:]) for corner in ring)
