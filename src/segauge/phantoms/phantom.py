"""Phantom: a solid that is known in closed form, and how it becomes a mask."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.grid import Grid
from segauge.labelmap import Mask

FloatArray = npt.NDArray[np.float64]
Vector = tuple[float, ...]

#: Voxels whose centres are tested at once: small enough for the processor's cache, whatever the size of the image.
_CHUNK_VOXELS = 1 << 17

GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True, eq=False)
class SurfaceSamples:
    """Points on a surface in mm, one row each, and the area in mm² (length in mm in 2-D) that each stands for."""

    points: FloatArray
    weights: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[SurfaceSamples]) -> SurfaceSamples:
        """Return the samples of several patches as one."""
        return cls(np.concatenate([part.points for part in parts]), np.concatenate([part.weights for part in parts]))


@dataclass(frozen=True, eq=False)
class Slab:
    """A box of voxels: where it is, the world coordinates of its centres, and which of them are inside a solid."""

    box: tuple[slice, ...]
    centers: Sequence[FloatArray]
    inside: npt.NDArray[np.bool_]


class Phantom(ABC):
    """A solid in space, described in mm: a frozen value that knows its volume, its surface and its distances.

    World coordinates are those of a grid's affine. In 2-D the "volume" is the area in mm² and the "surface area"
    the perimeter in mm, as for `Grid.voxel_volume_mm3`.
    """

    ndim: ClassVar[int] = 3

    @property
    @abstractmethod
    def volume_mm3(self) -> float:
        """Volume in mm³ (area in mm² in 2-D), exact."""

    @property
    @abstractmethod
    def surface_area_mm2(self) -> float:
        """Area of the whole surface in mm² (perimeter in mm in 2-D), exact."""

    @abstractmethod
    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner of the box around the solid."""

    @abstractmethod
    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points spread evenly over the surface; their weights add up to its area as n grows."""

    @abstractmethod
    def shifted(self, offset_mm: Sequence[float]) -> Self:
        """Return the same solid, moved."""

    @abstractmethod
    def _signed_distance(self, points: FloatArray) -> FloatArray:
        """Return the signed distance of each row of an (n, d) array."""

    @abstractmethod
    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is; one coordinate array a world axis, broadcast."""

    def _convex_parts(self) -> Sequence[Phantom]:
        """Return solids whose union this is, so that a bent tube is not drawn in one box around everything."""
        return (self,)

    def signed_distance(self, points_mm: npt.ArrayLike) -> FloatArray:
        """Return the distance in mm from each point (last axis: world coordinates) to the surface, negative inside."""
        points = np.asarray(points_mm, dtype=np.float64)
        if points.shape[-1:] != (self.ndim,):
            raise InvalidInput(f"points_mm: expected {self.ndim} coordinates along the last axis, got {points.shape}.")
        return self._signed_distance(points.reshape(-1, self.ndim)).reshape(points.shape[:-1])

    def distance(self, points_mm: npt.ArrayLike) -> FloatArray:
        """Return the distance in mm from each point to the nearest point of the surface, from either side."""
        distances: FloatArray = np.abs(self.signed_distance(points_mm))
        return distances

    def rasterize(self, grid: Grid) -> Mask:
        """Return the voxels whose centres lie inside or on the surface, for a grid of any spacing, turn and shear.

        A centre that lies on the surface up to rounding may fall on either side. Only the box around the solid is
        looked at, a slab at a time.
        """
        array = np.zeros(grid.shape, dtype=np.bool_)
        for slab in self.slabs(grid):
            array[slab.box] |= slab.inside
        return Mask(array, grid)

    def slabs(self, grid: Grid) -> Iterator[Slab]:
        """Yield the voxels of the solid in boxes of bounded size that together cover it; boxes may overlap."""
        if grid.ndim != self.ndim:
            raise InvalidInput(f"A {self.ndim}-D phantom needs a {self.ndim}-D grid, got a grid of shape {grid.shape}.")
        for part in self._convex_parts():
            for box in _boxes(*_index_range(part, grid)):
                centers = _voxel_centers(grid, box)
                yield Slab(box, centers, part.level(centers) <= 0.0)


@dataclass(frozen=True)
class CenteredPhantom(Phantom):
    """A phantom that has a center."""

    center_mm: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "center_mm", checked_vector("center_mm", self.center_mm, self.ndim))

    def shifted(self, offset_mm: Sequence[float]) -> Self:
        """Return the same solid, moved."""
        offset = checked_vector("offset_mm", offset_mm, self.ndim)
        return replace(self, center_mm=tuple(np.add(self.center_mm, offset).tolist()))

    def _offsets(self, points: FloatArray) -> FloatArray:
        offsets: FloatArray = points - np.asarray(self.center_mm)
        return offsets

    def _relative(self, position: Sequence[FloatArray]) -> list[FloatArray]:
        return [coordinate - center for coordinate, center in zip(position, self.center_mm, strict=True)]


def checked_vector(name: str, values: Sequence[float], ndim: int) -> Vector:
    """Return `ndim` finite numbers as a tuple."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (ndim,) or not np.all(np.isfinite(vector)):
        raise InvalidInput(f"{name}: expected {ndim} finite numbers in mm, got {values!r}.")
    return tuple(vector.tolist())


def checked_lengths(name: str, values: Sequence[float], ndim: int) -> Vector:
    """Return `ndim` positive, finite lengths as a tuple."""
    lengths = checked_vector(name, values, ndim)
    if min(lengths) <= 0:
        raise InvalidInput(f"{name}: expected positive lengths in mm, got {values!r}.")
    return lengths


def checked_length(name: str, value: float) -> float:
    """Return a positive, finite length."""
    if not (math.isfinite(value) and value > 0):
        raise InvalidInput(f"{name}: expected a positive length in mm, got {value!r}.")
    return float(value)


def unit_vector(name: str, values: Sequence[float], ndim: int) -> Vector:
    """Return a direction, scaled to length one."""
    vector = np.asarray(checked_vector(name, values, ndim))
    length = float(np.linalg.norm(vector))
    if length == 0:
        raise InvalidInput(f"{name}: expected a direction, got the zero vector.")
    return tuple((vector / length).tolist())


def dot(position: Sequence[FloatArray], direction: Sequence[float]) -> FloatArray:
    """Return the component of broadcastable coordinates along a direction."""
    terms = [coordinate * weight for coordinate, weight in zip(position, direction, strict=True) if weight != 0.0]
    return sum(terms[1:], start=terms[0])


def squared_norm(position: Sequence[FloatArray]) -> FloatArray:
    """Return the sum of squares of broadcastable coordinates."""
    return sum((coordinate * coordinate for coordinate in position[1:]), start=position[0] * position[0])


def squared_across(position: Sequence[FloatArray], axis: Sequence[float], along: FloatArray) -> FloatArray:
    """Return the squared distance of coordinates to the point `along` the axis (by components: nothing cancels)."""
    return squared_norm([a - along * u if u != 0.0 else a for a, u in zip(position, axis, strict=True)])


def sphere_lattice(n: int, lowest: float = -1.0) -> FloatArray:
    """Return `n` points of the golden spiral on the unit sphere above height `lowest`, each for the same area."""
    steps = np.arange(max(n, 1), dtype=np.float64)
    height = 1.0 - (steps + 0.5) * ((1.0 - lowest) / len(steps))
    ring = np.sqrt(np.maximum(0.0, 1.0 - height * height))
    turn = steps * GOLDEN_ANGLE
    return np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)


def midpoints(start: float, stop: float, n: int) -> FloatArray:
    """Return the middles of `n` equal pieces of an interval."""
    middles: FloatArray = start + (np.arange(n, dtype=np.float64) + 0.5) * ((stop - start) / n)
    return middles


def frame_around(axis: Sequence[float]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return two unit vectors at right angles to a unit axis and to each other, and the axis itself."""
    along = np.asarray(axis, dtype=np.float64)
    helper = np.zeros(3)
    helper[int(np.argmin(np.abs(along)))] = 1.0
    first = np.asarray(unit_vector("axis", np.cross(along, helper).tolist(), 3))
    return first, np.asarray(np.cross(along, first), dtype=np.float64), along


def _index_range(part: Phantom, grid: Grid) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return first and last+1 index along each axis of the voxels that a phantom's box can reach."""
    low, high = part.bounds_mm()
    to_index = np.linalg.inv(grid.affine[:-1, :-1])
    center = to_index @ ((low + high) / 2 - grid.affine[:-1, -1])
    half = np.abs(to_index) @ ((high - low) / 2)
    slack = 1e-6  # in voxels: a centre on the very border of the box is not lost to rounding
    shape = np.asarray(grid.shape)
    first = np.clip(np.ceil(center - half - slack), 0, shape).astype(np.int64)
    stop = np.clip(np.floor(center + half + slack) + 1, 0, shape).astype(np.int64)
    return first, stop


def _boxes(first: npt.NDArray[np.int64], stop: npt.NDArray[np.int64]) -> Iterator[tuple[slice, ...]]:
    """Cut an index range into slabs along the first axis of at most some _CHUNK_VOXELS voxels each."""
    if np.any(stop <= first):
        return
    plane = int(np.prod(stop[1:] - first[1:]))
    step = max(1, _CHUNK_VOXELS // plane)
    others = tuple(slice(int(a), int(b)) for a, b in zip(first[1:], stop[1:], strict=True))
    for start in range(int(first[0]), int(stop[0]), step):
        yield (slice(start, min(start + step, int(stop[0]))), *others)


def _voxel_centers(grid: Grid, box: tuple[slice, ...]) -> list[FloatArray]:
    """Return the world coordinates of a box of voxels, one array a world axis, no larger than it has to be.

    On an axis-aligned grid each coordinate varies along one array axis only, which keeps the arrays small.
    """
    indices: list[npt.NDArray[Any]] = list(np.ogrid[box])
    centers = []
    for world in range(grid.ndim):
        coordinate = np.full((1,) * grid.ndim, grid.affine[world, -1])
        for axis, index in enumerate(indices):
            step = grid.affine[world, axis]
            if step != 0.0:
                coordinate = coordinate + step * index
        centers.append(coordinate)
    return centers
