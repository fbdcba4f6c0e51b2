"""Closed forms for spheres, circles and coaxial tori.

One idea for all: the distance to a sphere of radius b is |r - b|, with r the distance to its center (for a torus: to
its ring). Over the other surface the distribution of r is elementary, and so the share with |r - b| <= d is that
with b - d <= r <= b + d.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from segauge.phantoms.phantom import FloatArray
from segauge.phantoms.solids import Ball, Disk, Shell
from segauge.phantoms.truth import ClosedFormDistances, DirectedDistances, constant_distances, mixed
from segauge.phantoms.tubes import Torus

#: The share of a surface whose distance r from the other's center (ring, axis) is at most the argument.
RadialShare = Callable[[FloatArray], FloatArray]


def sphere_distances(start: Ball | Shell, target: Ball | Shell) -> DirectedDistances:
    """Return the distances from the sphere or spheres of one solid to those of another, for any radii and offset."""
    offset = math.dist(start.center_mm, target.center_mm)
    return mixed([sphere_to_spheres(radius, offset, _radii(target)) for radius in _radii(start)])


def disk_distances(start: Disk, target: Disk) -> DirectedDistances:
    """Return the distances from one circle to another, for any radii and offset."""
    offset = math.dist(start.center_mm, target.center_mm)
    return circle_to_circle(start.surface_area_mm2, start.radius_mm, offset, target.radius_mm)


def coaxial_torus_distances(start: Torus, target: Torus) -> DirectedDistances | None:
    """Return the distances between tori around one axis, also of different ring radius or height; else None.

    Both are circles in a half-plane through the axis; what lies further from the axis weighs more.
    """
    between = np.subtract(target.center_mm, start.center_mm)
    height = float(between @ np.asarray(start.axis))
    size = start.ring_radius_mm
    aside = float(np.linalg.norm(between - height * np.asarray(start.axis)))
    if aside > 1e-12 * size or 1.0 - abs(float(np.dot(start.axis, target.axis))) > 1e-14:
        return None
    outwards = target.ring_radius_mm - start.ring_radius_mm
    offset = math.hypot(outwards, height)
    tilt = start.tube_radius_mm / size * (outwards / offset if offset > 0.0 else 0.0)
    return circle_to_circle(start.surface_area_mm2, start.tube_radius_mm, offset, target.tube_radius_mm, tilt)


def sphere_to_spheres(radius: float, offset: float, targets: Sequence[float]) -> DirectedDistances:
    """Return the distances from a sphere to concentric spheres around a center `offset` mm away."""
    area = 4.0 * math.pi * radius**2
    if offset <= 1e-14 * radius:
        return constant_distances(area, min(abs(radius - target) for target in targets))
    return radial_distances(area, sphere_share(radius, offset), (abs(radius - offset), radius + offset), targets)


def circle_to_circle(area: float, radius: float, offset: float, target: float, tilt: float = 0.0) -> DirectedDistances:
    """Return the distances from a circle to another whose center is `offset` mm away.

    `tilt` weighs the points by 1 + tilt cos(turn from the direction of the other's center).
    """
    if offset <= 1e-14 * radius:
        return constant_distances(area, abs(radius - target))
    reach = (abs(radius - offset), radius + offset)
    return radial_distances(area, circle_share(radius, offset, tilt), reach, (target,))


def radial_distances(
    area: float, share: RadialShare, reach: tuple[float, float], targets: Sequence[float]
) -> ClosedFormDistances:
    """Return the distribution of the distance from r to the nearest of one or two target radii.

    `share` is the cumulative distribution of r, `reach` its smallest and largest value.
    """
    low, high = reach
    middles = [0.5 * (one + two) for one in targets for two in targets]
    extremes = [low, high, *(middle for middle in middles if low < middle < high)]
    knots = [abs(r - target) for r in (low, high) for target in targets]
    knots += [0.5 * abs(one - two) for one in targets for two in targets]

    def within(d: FloatArray) -> FloatArray:
        first, last = min(targets), max(targets)
        covered = share(first + d) - share(first - d)
        if last > first:
            covered = covered + share(last + d) - share(last - d)
            covered = covered - np.maximum(0.0, share(first + d) - share(last - d))
        return covered

    farthest = max(min(abs(r - target) for target in targets) for r in extremes)
    return ClosedFormDistances(area, farthest, tuple(knots), within)


def sphere_share(radius: float, offset: float) -> RadialShare:
    """Over a sphere, r² is spread evenly between (radius - offset)² and (radius + offset)²."""
    return lambda r: np.clip((np.maximum(r, 0.0) ** 2 - (radius - offset) ** 2) / (4.0 * radius * offset), 0.0, 1.0)


def circle_share(radius: float, offset: float, tilt: float = 0.0) -> RadialShare:
    """Over a circle, r² = radius² + offset² - 2 radius offset cos(turn) with even turns (weighed by 1 + tilt cos)."""

    def share(r: FloatArray) -> FloatArray:
        turn = half_turn(radius, offset, r)
        weighed: FloatArray = (turn + tilt * np.sin(turn)) / math.pi
        return weighed

    return share


def half_turn(radius: npt.ArrayLike, offset: float, reach: npt.ArrayLike) -> FloatArray:
    """Return half the angle (0 to π) of the arc of a circle that lies within `reach` of a point `offset` mm away.

    By half-angles, because the inverse cosine loses half its digits near 0 and π.
    """
    size = np.asarray(radius, dtype=np.float64)
    r = np.clip(reach, np.abs(size - offset), size + offset)
    near = (r - (size - offset)) * (r + (size - offset))
    far = (size + offset - r) * (size + offset + r)
    turn: FloatArray = 2.0 * np.arctan2(np.sqrt(np.maximum(near, 0.0)), np.sqrt(np.maximum(far, 0.0)))
    return turn


def _radii(solid: Ball | Shell) -> tuple[float, ...]:
    return (solid.radius_mm,) if isinstance(solid, Ball) else (solid.outer_radius_mm, solid.inner_radius_mm)
