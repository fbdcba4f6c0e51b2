"""Closed forms for boxes and rectangles along the world axes.

The points within d of a box's surface are those of the box grown by d (with round edges) less the inside of the box
shrunk by d. On a face of the other box both are shapes of known area: rectangles, and quarters of disks at corners.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.phantoms.phantom import FloatArray
from segauge.phantoms.solids import BlockPhantom
from segauge.phantoms.truth import ClosedFormDistances, DirectedDistances, mixed

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
