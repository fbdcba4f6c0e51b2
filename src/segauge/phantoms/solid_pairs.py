"""Closed forms for boxes and rectangles along the world axes, spheres, circles and coaxial tori.

The points within d of a box's surface are those of the box grown by d (with round edges) less the inside of the box
shrunk by d. On a face of the other box both are shapes of known area: rectangles, and quarters of disks at corners.

The distance to a sphere of radius b is |r - b|, with r the distance to its center (for a torus: to its ring). Over the
other surface the distribution of r is elementary, and so the share with |r - b| <= d is that with b - d <= r <= b + d.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.phantoms.phantom import FloatArray
from segauge.phantoms.solids import Ball, BlockPhantom, Disk, Shell
from segauge.phantoms.truth import ClosedFormDistances, DirectedDistances, constant_distances, mixed
from segauge.phantoms.tubes import Torus

Interval = tuple[float, float]


@dataclass(frozen=True)
class Face:
    """A face: its ranges along all axes; along `axis` the range is a single value."""

    ranges: tuple[Interval, ...]
    axis: int

    @property
    def others(self) -> list[int]:
        """The axes along which the face extends."""
        return [axis for axis in range(len(self.ranges)) if axis != self.axis]

    @property
    def area(self) -> float:
        """Product of the extents."""
        return math.prod(self.ranges[axis][1] - self.ranges[axis][0] for axis in self.others)


def block_distances(start: BlockPhantom, target: BlockPhantom) -> DirectedDistances:
    """Return the distances from the surface of one box to that of another."""
    block = _ranges(target)
    return mixed([face_distances(face, block) for face in _faces(_ranges(start))])


def face_distances(face: Face, block: tuple[Interval, ...]) -> ClosedFormDistances:
    """Return the distances from one face to the surface of a block."""
    level = face.ranges[face.axis][0]
    low, high = block[face.axis]
    gap = max(0.0, low - level, level - high)
    others = face.others

    def share(d: FloatArray) -> FloatArray:
        radius = np.sqrt(np.maximum(0.0, d * d - gap * gap))
        grown = np.where(d >= gap, _rounded_area(face, block, radius), 0.0)
        shrunk = math.prod(overlap(face.ranges[a], block[a][0] + d, block[a][1] - d) for a in others)
        inside = np.where((level > low + d) & (level < high - d), shrunk, 0.0)
        covered: FloatArray = (grown - inside) / face.area
        return covered

    return ClosedFormDistances(face.area, farthest(face, block), tuple(knots(face, block, gap)), share)


def _rounded_area(face: Face, block: tuple[Interval, ...], radius: FloatArray) -> FloatArray:
    """Return the area of the face within `radius` of the block's cross-section, whose corners are thus rounded."""
    within, beyond = [], []
    for axis in face.others:
        within.append(overlap(face.ranges[axis], *block[axis]))
        beyond.append(excesses(face.ranges[axis], block[axis]))
    bands = [sum((overlap(zone, 0.0, radius) for zone in zones), np.zeros_like(radius)) for zones in beyond]
    if len(within) == 1:
        return np.asarray(within[0] + bands[0])
    corners = sum((_corner_area(one, two, radius) for one in beyond[0] for two in beyond[1]), np.zeros_like(radius))
    return np.asarray(within[0] * within[1] + within[0] * bands[1] + within[1] * bands[0] + corners)


def _corner_area(one: Interval, two: Interval, radius: FloatArray) -> FloatArray:
    """Return the area of the quarter disk at the origin inside the rectangle `one` x `two` (both not negative)."""
    (p0, p1), (q0, q1) = one, two
    area = _quarter_area(p1, q1, radius)
    for p, q, sign in ((p0, q1, -1.0), (p1, q0, -1.0), (p0, q0, 1.0)):
        if p > 0.0 and q > 0.0:
            area = area + sign * _quarter_area(p, q, radius)
    return area


def _quarter_area(p: float, q: float, radius: FloatArray) -> FloatArray:
    """Return the area of the quarter disk inside [0, p] x [0, q]."""
    width, height = np.minimum(p, radius), np.minimum(q, radius)
    from_here = np.sqrt(np.maximum(0.0, radius * radius - height * height))
    cut = height * from_here + _under_arc(width, radius) - _under_arc(from_here, radius)
    return np.where(width <= from_here, width * height, cut)


def _under_arc(x: FloatArray, radius: FloatArray) -> FloatArray:
    """Return the integral of sqrt(radius² - x²) from 0 to x."""
    other = np.sqrt(np.maximum(0.0, radius * radius - x * x))
    area: FloatArray = 0.5 * (x * other + radius * radius * np.arctan2(x, other))
    return area


def overlap(interval: Interval, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
    """Return the length that an interval has in common with [low, high]."""
    length: FloatArray = np.maximum(0.0, np.minimum(interval[1], high) - np.maximum(interval[0], low))
    return length


def excesses(interval: Interval, block: Interval) -> list[Interval]:
    """Return how far an interval reaches beyond a block, below and above, as ranges of distances with an extent."""
    below = (max(0.0, block[0] - interval[1]), max(0.0, block[0] - interval[0]))
    above = (max(0.0, interval[0] - block[1]), max(0.0, interval[1] - block[1]))
    return [(near, far) for near, far in (below, above) if far > near]


def farthest(face: Face, block: tuple[Interval, ...]) -> float:
    """Return the largest distance from a face: outside at one of its corners, inside where all axes are deepest."""
    pairs = list(zip(face.ranges, block, strict=True))
    outside = [max(0.0, two[0] - one[0], one[1] - two[1]) for one, two in pairs]
    depth = min(_deepest(one, two) for one, two in pairs)
    return max(math.hypot(*outside), depth)


def _deepest(interval: Interval, block: Interval) -> float:
    """Return the largest distance of the interval's points from the block's ends, from inside; negative outside."""
    middle = 0.5 * (block[0] + block[1])
    best = min(max(middle, interval[0]), interval[1])
    return min(best - block[0], block[1] - best)


def knots(face: Face, block: tuple[Interval, ...], gap: float) -> list[float]:
    """Return the distances at which the face's share changes its form: where something enters, leaves or ends."""
    steps = [{0.0, *(value for zone in excesses(face.ranges[a], block[a]) for value in zone)} for a in face.others]
    knots = [math.hypot(gap, *combination) for combination in itertools.product(*steps)]
    for one, two in zip(face.ranges, block, strict=True):
        knots += [abs(mine - its) for mine in one for its in two]
        knots.append(0.5 * (two[1] - two[0]))
    return knots


def _ranges(block: BlockPhantom) -> tuple[Interval, ...]:
    low, high = block.bounds_mm()
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def _faces(ranges: Sequence[Interval]) -> list[Face]:
    faces = []
    for axis, ends in enumerate(ranges):
        for end in ends:
            flat = list(ranges)
            flat[axis] = (end, end)
            faces.append(Face(tuple(flat), axis))
    return faces


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
