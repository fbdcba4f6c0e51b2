"""Ellipsoid and Ellipse: no closed-form distance, so the nearest point is found by a root that cannot be missed."""

from __future__ import annotations

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
    checked_lengths,
    dot,
    midpoints,
    sphere_lattice,
    squared_norm,
    unit_vector,
)

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
