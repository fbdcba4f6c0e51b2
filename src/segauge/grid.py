"""Grid: where the voxels of an image lie in space, and how two grids relate."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput

Affine = npt.NDArray[np.float64]

#: Two grids are the same where no corner lies further apart than this share of the smallest voxel edge. Affines
#: pass through float32 headers and six-digit decimal strings: that moves a corner by up to some 1e-3 of a voxel.
SAME_PLACE = 1e-2

_WORLD_AXES = (("L", "R"), ("P", "A"), ("I", "S"))


@dataclass(frozen=True, eq=False)
class Grid:
    """Shape of an image and the affine that takes a voxel index to its centre in mm.

    World axes point to the patient's right, front and top ("RAS", as in NIfTI). A grid is two- or
    three-dimensional; its affine has one row and column more. Frozen; the affine is read-only.
    """

    shape: tuple[int, ...]
    affine: Affine

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _checked_shape(self.shape))
        object.__setattr__(self, "affine", _checked_affine(self.affine, self.ndim))

    @classmethod
    def from_spacing(
        cls, shape: Sequence[int], spacing: float | Sequence[float] = 1.0, origin: Sequence[float] | None = None
    ) -> Grid:
        """Return an axis-aligned grid with the given voxel edges in mm; the first voxel's centre is `origin`."""
        edges = normalize_spacing(spacing, len(shape))
        affine = np.diag([*edges, 1.0])
        if origin is not None:
            if len(origin) != len(shape):
                raise InvalidInput(f"origin: expected {len(shape)} coordinates in mm, got {len(origin)}.")
            affine[:-1, -1] = origin
        return cls(tuple(shape), affine)

    @property
    def ndim(self) -> int:
        """Two or three."""
        return len(self.shape)

    @cached_property
    def spacing(self) -> tuple[float, ...]:
        """Voxel edge lengths in mm, one per array axis."""
        return tuple(float(edge) for edge in np.linalg.norm(self.affine[:-1, :-1], axis=0))

    @cached_property
    def voxel_volume_mm3(self) -> float:
        """Volume of one voxel in mm³ (area in mm² in 2-D), also under shear."""
        return float(abs(np.linalg.det(self.affine[:-1, :-1])))

    @cached_property
    def orientation(self) -> str:
        """Direction of each array axis, such as "RAS" or "LPS"; in 2-D of the two axes, such as "RA"."""
        directions = self.affine[:-1, :-1] / np.asarray(self.spacing)
        letters = [""] * self.ndim
        for axis, world in _closest_axes(np.abs(directions)):
            letters[axis] = _WORLD_AXES[world][int(directions[world, axis] > 0)]
        return "".join(letters)

    @cached_property
    def shear_degrees(self) -> float:
        """Largest deviation of the axes from right angles, in degrees."""
        directions = self.affine[:-1, :-1] / np.asarray(self.spacing)
        cosines = np.abs(directions.T @ directions - np.eye(self.ndim))
        return float(np.degrees(np.arcsin(min(1.0, cosines.max()))))

    @cached_property
    def diagonal_mm(self) -> float:
        """Longest distance between two corners of the imaged box in mm, voxels counted whole."""
        corners = np.array(list(itertools.product(*[(0, n) for n in self.shape])), dtype=np.float64)
        world = corners @ self.affine[:-1, :-1].T
        return float(max(np.linalg.norm(world - corner, axis=1).max() for corner in world))

    def corners(self) -> npt.NDArray[np.float64]:
        """World coordinates of the centres of the corner voxels in mm, one row each."""
        index = np.array(list(itertools.product(*[(0, n - 1) for n in self.shape])), dtype=np.float64)
        world: npt.NDArray[np.float64] = index @ self.affine[:-1, :-1].T + self.affine[:-1, -1]
        return world

    def relation_to(self, other: Grid) -> GridRelation:
        """Say whether this grid is `other`, `other` with its axes permuted or flipped, or somewhere else."""
        if self.ndim != other.ndim:
            return GridRelation(Kinship.DIFFERENT, f"{self.ndim}-D against {other.ndim}-D")
        if self.shape == other.shape and self._same_place(other):
            return GridRelation(Kinship.SAME, "same grid", tuple(range(self.ndim)), (False,) * self.ndim)
        for axes, flips in _reorientations(self.ndim):
            if _same_grid(self.reoriented(axes, flips), other):
                return GridRelation(Kinship.REORIENTABLE, f"same space, stored as {self.orientation}", axes, flips)
        return GridRelation(Kinship.DIFFERENT, _difference_in_words(self, other))

    def reoriented(self, axes: Sequence[int], flips: Sequence[bool]) -> Grid:
        """Return the grid of the array `flip(transpose(array, axes), flips)`, at the same place in space."""
        shape = tuple(self.shape[axis] for axis in axes)
        affine = self.affine.copy()
        affine[:, : self.ndim] = self.affine[:, list(axes)]
        for axis, flip in enumerate(flips):
            if flip:
                affine[:, -1] += affine[:, axis] * (shape[axis] - 1)
                affine[:, axis] *= -1
        return Grid(shape, affine)

    def with_spacing(self, spacing: float | Sequence[float]) -> Grid:
        """Return the grid with other voxel edges in mm, in the same directions from the same first voxel."""
        edges = normalize_spacing(spacing, self.ndim)
        affine = self.affine.copy()
        affine[:-1, :-1] *= np.asarray(edges) / np.asarray(self.spacing)
        return Grid(self.shape, affine)

    def _same_place(self, other: Grid) -> bool:
        gap = np.linalg.norm(self.corners() - other.corners(), axis=1).max()
        return bool(gap <= SAME_PLACE * min(*self.spacing, *other.spacing))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grid):
            return NotImplemented
        return self.shape == other.shape and bool(np.array_equal(self.affine, other.affine))

    def __hash__(self) -> int:
        return hash((self.shape, self.affine.tobytes()))

    def __str__(self) -> str:
        size = " x ".join(str(n) for n in self.shape)
        edges = " x ".join(f"{edge:g}" for edge in self.spacing)
        return f"{size} voxels of {edges} mm, {self.orientation}"


class Kinship(StrEnum):
    """How two grids relate."""

    SAME = "same"
    REORIENTABLE = "reorientable"
    DIFFERENT = "different"


@dataclass(frozen=True)
class GridRelation:
    """The relation of one grid to another, in words and, where there is one, as axis order and flips."""

    kind: Kinship
    words: str
    axes: tuple[int, ...] = ()
    flips: tuple[bool, ...] = ()


def normalize_spacing(spacing: float | Sequence[float] | npt.NDArray[np.float64], ndim: int) -> tuple[float, ...]:
    """Return one positive, finite voxel edge in mm per axis; a single number counts for all axes."""
    edges = np.atleast_1d(_numbers("spacing", spacing))
    if edges.ndim != 1 or edges.size not in (1, ndim):
        raise InvalidInput(f"spacing: expected one number or {ndim} (one per axis, in mm), got {spacing!r}.")
    values: list[float] = edges.tolist()
    if not all(0 < edge < float("inf") for edge in values):
        raise InvalidInput(f"spacing: expected positive voxel edges in mm, got {spacing!r}.")
    return tuple(values) if len(values) == ndim else tuple(values) * ndim


def _numbers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name}: expected numbers in mm, got {values!r}.") from None


def _checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) not in (2, 3):
        raise InvalidInput(f"A grid has 2 or 3 dimensions, got shape {tuple(shape)}.")
    try:
        counts = tuple(operator.index(n) for n in shape)
    except TypeError:
        raise InvalidInput(f"The shape of a grid is whole numbers of voxels, got {tuple(shape)}.") from None
    if any(n < 1 for n in counts):
        raise InvalidInput(f"A grid has at least one voxel along each axis, got shape {counts}.")
    return counts


def _checked_affine(affine: npt.ArrayLike, ndim: int) -> Affine:
    matrix = _numbers("affine", affine)
    if matrix.shape != (ndim + 1, ndim + 1):
        raise InvalidInput(
            f"affine: expected a {ndim + 1} x {ndim + 1} matrix for a {ndim}-D grid, got {matrix.shape}."
        )
    if not np.all(np.isfinite(matrix)):
        raise InvalidInput("affine: expected finite numbers, got NaN or infinity.")
    if not np.allclose(matrix[-1], [0.0] * ndim + [1.0], atol=1e-3):  # mm: rounding is far less
        is_transposed = np.allclose(matrix[:, -1], [0.0] * ndim + [1.0])
        hint = " The origin belongs in the last column: transpose it." if is_transposed else ""
        raise InvalidInput(f"affine: expected {[0] * ndim + [1]} as its last row, got {matrix[-1].tolist()}.{hint}")
    edges = np.linalg.norm(matrix[:-1, :-1], axis=0)
    if np.any(edges == 0) or abs(np.linalg.det(matrix[:-1, :-1] / edges)) < 1e-6:
        raise InvalidInput("affine: its axes do not span the space (two are parallel, or one has no length).")
    matrix.setflags(write=False)
    return matrix


def _closest_axes(strength: npt.NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Pair array axes with world axes, strongest first; `strength[world, axis]`."""
    remaining = strength.copy()
    for _ in range(strength.shape[0]):
        world, axis = np.unravel_index(int(np.argmax(remaining)), remaining.shape)
        yield int(axis), int(world)
        remaining[world, :] = -1.0
        remaining[:, axis] = -1.0


def _reorientations(ndim: int) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...]]]:
    for axes in itertools.permutations(range(ndim)):
        for flips in itertools.product((False, True), repeat=ndim):
            yield axes, flips


def _same_grid(one: Grid, other: Grid) -> bool:
    return one.shape == other.shape and one._same_place(other)


def _difference_in_words(one: Grid, other: Grid) -> str:
    """Say in what two grids differ, in voxels, mm and degrees."""
    parts = []
    if sorted(one.shape) != sorted(other.shape):
        parts.append(f"shape {one.shape} against {other.shape}")
    if not np.allclose(sorted(one.spacing), sorted(other.spacing), rtol=1e-3):
        parts.append(f"spacing {_millimetres(one.spacing)} against {_millimetres(other.spacing)} mm")
    offset = float(np.linalg.norm(one.corners().mean(axis=0) - other.corners().mean(axis=0)))
    if offset > SAME_PLACE * min(one.spacing):
        parts.append(f"centres {offset:.4g} mm apart")
    angle = _angle_degrees(one, other)
    if angle > 1e-2:
        parts.append(f"turned by {angle:.3g} degrees")
    if one.orientation != other.orientation:
        parts.append(f"orientation {one.orientation} against {other.orientation}")
    return ", ".join(parts) or "the corners do not meet"


def _millimetres(spacing: Sequence[float]) -> str:
    return " x ".join(f"{edge:.4g}" for edge in spacing)


def _angle_degrees(one: Grid, other: Grid) -> float:
    """Return the smallest rotation between the axes of two grids, whatever their order and direction."""
    first = one.affine[:-1, :-1] / np.asarray(one.spacing)
    second = other.affine[:-1, :-1] / np.asarray(other.spacing)
    cosines = [abs(first.T @ second)[axis, world] for axis, world in _closest_axes(np.abs(second.T @ first))]
    return float(np.degrees(np.arccos(np.clip(min(cosines), -1.0, 1.0))))
