"""Phantoms without a hole or bend: Ball, Disk, Shell, Box, Rectangle, Ellipsoid and Ellipse.

An ellipsoid has no closed-form distance: the nearest point is found by a root that cannot be missed.
"""

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
    dot,
    midpoints,
    sphere_lattice,
    squared_norm,
    unit_vector,
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


Rows = tuple[Vector, ...]


@dataclass(frozen=True)
class QuadricPhantom(CenteredPhantom):
    """What an ellipsoid and an ellipse share.

    `rotation` is a matrix by rows whose columns point along the semi-axes; without it they lie along the world axes.
    """

    semi_axes_mm: Vector
    rotation: Rows | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "semi_axes_mm", checked_lengths("semi_axes_mm", self.semi_axes_mm, self.ndim))
        if self.rotation is not None:
            object.__setattr__(self, "rotation", _checked_rotation(self.rotation, self.ndim))

    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner of the box around the solid."""
        half = np.linalg.norm(self._matrix() * np.asarray(self.semi_axes_mm), axis=1)
        return np.asarray(self.center_mm) - half, np.asarray(self.center_mm) + half

    def _matrix(self) -> FloatArray:
        return np.eye(self.ndim) if self.rotation is None else np.asarray(self.rotation)

    def _to_world(self, own: FloatArray) -> FloatArray:
        world: FloatArray = own @ self._matrix().T + np.asarray(self.center_mm)
        return world

    def _signed_distance(self, points: FloatArray) -> FloatArray:
        own = self._offsets(points) @ self._matrix()
        axes = np.asarray(self.semi_axes_mm)
        nearest = _nearest_in_first_octant(np.abs(own), axes)
        distance = np.linalg.norm(np.abs(own) - nearest, axis=1)
        signed: FloatArray = np.where(np.sum((own / axes) ** 2, axis=1) <= 1.0, -distance, distance)
        return signed

    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is."""
        away = self._relative(position)
        directions = self._matrix().T / np.asarray(self.semi_axes_mm)[:, None]
        return squared_norm([dot(away, direction.tolist()) for direction in directions]) - 1.0


@dataclass(frozen=True)
class Ellipsoid(QuadricPhantom):
    """A solid ellipsoid with three semi-axes."""

    @property
    def volume_mm3(self) -> float:
        """4/3 π a b c."""
        return 4.0 / 3.0 * math.pi * math.prod(self.semi_axes_mm)

    @property
    def surface_area_mm2(self) -> float:
        """4 π R_G(a²b², a²c², b²c²), with Carlson's symmetric elliptic integral R_G."""
        from scipy.special import elliprg

        a, b, c = (edge * edge for edge in self.semi_axes_mm)
        return 4.0 * math.pi * float(elliprg(a * b, a * c, b * c))

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points: the golden spiral of the unit sphere, stretched, each with its stretched area."""
        axes = np.asarray(self.semi_axes_mm)
        sphere = sphere_lattice(n)
        stretch = math.prod(self.semi_axes_mm) * np.linalg.norm(sphere / axes, axis=1)
        return SurfaceSamples(self._to_world(sphere * axes), stretch * (4.0 * math.pi / len(sphere)))


@dataclass(frozen=True)
class Ellipse(QuadricPhantom):
    """A solid ellipse in the plane."""

    ndim: ClassVar[int] = 2

    @property
    def volume_mm3(self) -> float:
        """π a b, in mm²."""
        return math.pi * math.prod(self.semi_axes_mm)

    @property
    def surface_area_mm2(self) -> float:
        """Perimeter 8 R_G(0, a², b²) in mm, with Carlson's symmetric elliptic integral R_G."""
        from scipy.special import elliprg

        a, b = self.semi_axes_mm
        return 8.0 * float(elliprg(0.0, a * a, b * b))

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return `n` points at equal steps of the eccentric angle, each with its length of arc."""
        turn = midpoints(0.0, 2.0 * math.pi, n)
        a, b = self.semi_axes_mm
        own = np.stack([a * np.cos(turn), b * np.sin(turn)], axis=1)
        speed = np.hypot(a * np.sin(turn), b * np.cos(turn))
        return SurfaceSamples(self._to_world(own), speed * (2.0 * math.pi / n))


def rotation_about(axis: Sequence[float], degrees: float) -> Rows:
    """Return the rows of the rotation by an angle about an axis through the origin (right-handed)."""
    x, y, z = unit_vector("axis", axis, 3)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = math.radians(degrees)
    matrix = np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)
    return tuple(tuple(row) for row in matrix.tolist())


def _checked_rotation(rotation: Sequence[Sequence[float]], ndim: int) -> Rows:
    matrix = np.asarray(rotation, dtype=np.float64)
    if matrix.shape != (ndim, ndim) or not np.allclose(matrix.T @ matrix, np.eye(ndim), atol=1e-9):
        raise InvalidInput(f"rotation: expected {ndim} x {ndim} numbers with orthonormal columns, got {rotation!r}.")
    return tuple(tuple(row) for row in matrix.tolist())


def _nearest_in_first_octant(points: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the nearest surface point to points with no negative coordinate, in the ellipsoid's own frame.

    The nearest point is x_i = a_i² y_i / (t + a_i²) with t the largest root of sum((a_i y_i / (t + a_i²))²) = 1.
    With s = t + min(a)², the sum falls from the lower bound max(a_i y_i - d_i) to the upper bound |a y|, where
    d_i = a_i² - min(a)² is never negative: the root is bracketed and nothing cancels. Where the sum stays below one
    down to s = 0 (inside, on the symmetry plane across the shortest axis), the nearest point leaves that plane.
    """
    shortest = int(np.argmin(axes))
    gaps = axes * axes - axes[shortest] ** 2
    pulled = points * axes
    high = np.linalg.norm(pulled, axis=1)
    low = np.minimum(np.maximum(np.max(pulled - gaps, axis=1), 0.0), high)
    for _ in range(200):
        # Far apart, halve the exponent instead of the value: the root may be many orders of magnitude below `high`.
        middle = np.where(high > 4.0 * low, np.sqrt(low) * np.sqrt(high), 0.5 * (low + high))
        middle = np.where(low == 0.0, 0.5 * high, middle)
        settled = (middle <= low) | (middle >= high)
        if np.all(settled):
            break
        above = _share(pulled, gaps, middle) > 1.0
        low, high = np.where(above & ~settled, middle, low), np.where(~above & ~settled, middle, high)
    return _on_surface(points, axes, gaps, high, shortest)


def _share(pulled: FloatArray, gaps: FloatArray, s: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(pulled == 0.0, 0.0, pulled / (s[:, None] + gaps))
        total: FloatArray = np.sum(ratio * ratio, axis=1)
    return total


def _on_surface(points: FloatArray, axes: FloatArray, gaps: FloatArray, s: FloatArray, shortest: int) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        nearest = np.where(points == 0.0, 0.0, axes * axes * points / (s[:, None] + gaps))
    # Where the point lies in the plane across the shortest axis, that quotient is 0/0: what the other coordinates
    # leave over belongs to the shortest axis.
    flat = points[:, shortest] == 0.0
    others = np.delete(nearest[flat] / axes, shortest, axis=1)
    nearest[flat, shortest] = axes[shortest] * np.sqrt(np.maximum(0.0, 1.0 - np.sum(others * others, axis=1)))
    return nearest
