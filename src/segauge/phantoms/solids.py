"""Round and rectangular phantoms: Ball, Disk, Shell, Box, Rectangle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from segauge.errors import InvalidInput
from segauge.phantoms.phantom import (
    CenteredPhantom,
    FloatArray,
    SurfaceSamples,
    Vector,
    checked_length,
    checked_lengths,
    midpoints,
    sphere_lattice,
    squared_norm,
)


@dataclass(frozen=True)
class RoundPhantom(CenteredPhantom):
    """What a ball and a disk share: all points within a radius of the center."""

    radius_mm: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius_mm", checked_length("radius_mm", self.radius_mm))

    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner of the box around the solid."""
        center = np.asarray(self.center_mm)
        return center - self.radius_mm, center + self.radius_mm

    def _signed_distance(self, points: FloatArray) -> FloatArray:
        away: FloatArray = np.linalg.norm(self._offsets(points), axis=1)
        return away - self.radius_mm

    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is."""
        return squared_norm(self._relative(position)) - self.radius_mm**2


@dataclass(frozen=True)
class Ball(RoundPhantom):
    """A solid ball."""

    @property
    def volume_mm3(self) -> float:
        """4/3 π r³."""
        return 4.0 / 3.0 * math.pi * self.radius_mm**3

    @property
    def surface_area_mm2(self) -> float:
        """4 π r²."""
        return 4.0 * math.pi * self.radius_mm**2

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points spread evenly over the surface."""
        return sphere_samples(self.center_mm, self.radius_mm, n)


@dataclass(frozen=True)
class Disk(RoundPhantom):
    """A disk in the plane."""

    ndim: ClassVar[int] = 2

    @property
    def volume_mm3(self) -> float:
        """π r², in mm²."""
        return math.pi * self.radius_mm**2

    @property
    def surface_area_mm2(self) -> float:
        """2 π r, in mm."""
        return 2.0 * math.pi * self.radius_mm

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return `n` points at equal steps along the circle."""
        turn = midpoints(0.0, 2.0 * math.pi, n)
        circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        return SurfaceSamples(self.center_mm + self.radius_mm * circle, np.full(n, self.surface_area_mm2 / n))


@dataclass(frozen=True)
class Shell(CenteredPhantom):
    """A hollow ball: the points between two concentric spheres. Its surface is both of them."""

    outer_radius_mm: float
    inner_radius_mm: float

    def __post_init__(self) -> None:
        super().__post_init__()
        outer = checked_length("outer_radius_mm", self.outer_radius_mm)
        inner = checked_length("inner_radius_mm", self.inner_radius_mm)
        if inner >= outer:
            raise InvalidInput(f"inner_radius_mm: expected less than the outer radius {outer:g} mm, got {inner:g}.")
        object.__setattr__(self, "outer_radius_mm", outer)
        object.__setattr__(self, "inner_radius_mm", inner)

    @property
    def volume_mm3(self) -> float:
        """4/3 π (R³ - r³)."""
        return 4.0 / 3.0 * math.pi * (self.outer_radius_mm**3 - self.inner_radius_mm**3)

    @property
    def surface_area_mm2(self) -> float:
        """4 π (R² + r²): outside and inside."""
        return 4.0 * math.pi * (self.outer_radius_mm**2 + self.inner_radius_mm**2)

    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner of the box around the solid."""
        center = np.asarray(self.center_mm)
        return center - self.outer_radius_mm, center + self.outer_radius_mm

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points spread evenly over both spheres."""
        share = self.outer_radius_mm**2 / (self.outer_radius_mm**2 + self.inner_radius_mm**2)
        outer = max(1, round(share * n))
        return SurfaceSamples.joined(
            [
                sphere_samples(self.center_mm, self.outer_radius_mm, outer),
                sphere_samples(self.center_mm, self.inner_radius_mm, max(1, n - outer)),
            ]
        )

    def _signed_distance(self, points: FloatArray) -> FloatArray:
        away = np.linalg.norm(self._offsets(points), axis=1)
        signed: FloatArray = np.maximum(self.inner_radius_mm - away, away - self.outer_radius_mm)
        return signed

    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is."""
        squared = squared_norm(self._relative(position))
        return np.maximum(self.inner_radius_mm**2 - squared, squared - self.outer_radius_mm**2)


@dataclass(frozen=True)
class BlockPhantom(CenteredPhantom):
    """What a box and a rectangle share: edges along the world axes."""

    size_mm: Vector

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size_mm", checked_lengths("size_mm", self.size_mm, self.ndim))

    @property
    def volume_mm3(self) -> float:
        """Product of the edges."""
        return math.prod(self.size_mm)

    @property
    def surface_area_mm2(self) -> float:
        """Sum over all faces; in 2-D the perimeter."""
        return 2.0 * sum(self.volume_mm3 / edge for edge in self.size_mm)

    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner, which are the solid's own."""
        half = np.asarray(self.size_mm) / 2.0
        return np.asarray(self.center_mm) - half, np.asarray(self.center_mm) + half

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points: on each face the middles of equal tiles."""
        step = (self.surface_area_mm2 / n) ** (1.0 / (self.ndim - 1))
        return SurfaceSamples.joined(
            [self._face(axis, side, step) for axis in range(self.ndim) for side in (-0.5, 0.5)]
        )

    def _face(self, axis: int, side: float, step: float) -> SurfaceSamples:
        ticks = [midpoints(-edge / 2, edge / 2, max(1, round(edge / step))) for edge in self.size_mm]
        ticks[axis] = np.array([side * self.size_mm[axis]])
        tiles = np.array(list(itertools.product(*ticks)))
        area = self.volume_mm3 / self.size_mm[axis]
        return SurfaceSamples(self.center_mm + tiles, np.full(len(tiles), area / len(tiles)))

    def _signed_distance(self, points: FloatArray) -> FloatArray:
        beyond = np.abs(self._offsets(points)) - np.asarray(self.size_mm) / 2.0
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        signed: FloatArray = outside + np.minimum(beyond.max(axis=1), 0.0)
        return signed

    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is."""
        beyond = [np.abs(away) - edge / 2.0 for away, edge in zip(self._relative(position), self.size_mm, strict=True)]
        farthest = np.maximum(beyond[0], beyond[1])
        return np.maximum(farthest, beyond[2]) if self.ndim == 3 else farthest


@dataclass(frozen=True)
class Box(BlockPhantom):
    """A box with edges along the world axes."""


@dataclass(frozen=True)
class Rectangle(BlockPhantom):
    """A rectangle in the plane with edges along the world axes."""

    ndim: ClassVar[int] = 2


def sphere_samples(center_mm: Vector, radius_mm: float, n: int) -> SurfaceSamples:
    """Return `n` points of equal weight on a sphere."""
    points = np.asarray(center_mm) + radius_mm * sphere_lattice(n)
    return SurfaceSamples(points, np.full(len(points), 4.0 * math.pi * radius_mm**2 / len(points)))
