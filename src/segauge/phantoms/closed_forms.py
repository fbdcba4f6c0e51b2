"""distance_truth: the pairs of phantoms whose distances are known in closed form; the forms of tubes and cylinders.

Cylinders and tubes are straight, and lie around one axis or side by side at the same height.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from segauge.errors import InvalidInput
from segauge.phantoms.phantom import FloatArray, Phantom
from segauge.phantoms.solid_pairs import (
    Face,
    Interval,
    RadialShare,
    block_distances,
    circle_share,
    circle_to_circle,
    coaxial_torus_distances,
    disk_distances,
    excesses,
    face_distances,
    farthest,
    half_turn,
    knots,
    overlap,
    radial_distances,
    sphere_distances,
    sphere_to_spheres,
)
from segauge.phantoms.solids import Ball, Box, Disk, Rectangle, Shell
from segauge.phantoms.truth import ClosedFormDistances, DirectedDistances, DistanceTruth, constant_distances, mixed
from segauge.phantoms.tubes import Cylinder, Torus, Tube

#: Axes closer than this share of the length are one: the coordinates carry rounding errors.
_SAME = 1e-12


@dataclass(frozen=True)
class _Alignment:
    """Two parallel straight solids: from where to where each goes along the axis, and how far aside the second is."""

    start: Interval
    target: Interval
    aside: float

    @property
    def same_height(self) -> bool:
        size = self.start[1] - self.start[0]
        return max(abs(one - two) for one, two in zip(self.start, self.target, strict=True)) <= _SAME * size


def tube_distances(start: Tube, target: Tube) -> DirectedDistances | None:
    """Return the distances between straight tubes (round ends), or None for positions without a closed form."""
    if not (start.is_straight and target.is_straight):
        return None
    aligned = _aligned(start.points_mm, target.points_mm)
    if aligned is None:
        return None
    own, its = start.radius_mm, target.radius_mm
    if aligned.aside == 0.0:
        return mixed(_coaxial_tube_parts(own, aligned.start, its, aligned.target))
    if not aligned.same_height:
        return None
    # Side by side, a point of the side is nearest to the other's axis at its own height, and a point of an end
    # to the end of that axis; the two half spheres at the ends make one whole.
    side = circle_to_circle(2.0 * math.pi * own * start.length_mm, own, aligned.aside, its)
    return mixed([side, sphere_to_spheres(own, aligned.aside, (its,))])


def cylinder_distances(start: Cylinder, target: Cylinder) -> DirectedDistances | None:
    """Return the distances between straight cylinders (flat ends), or None for positions without a closed form."""
    aligned = _aligned((start.start_mm, start.end_mm), (target.start_mm, target.end_mm))
    if aligned is None:
        return None
    if aligned.aside == 0.0:
        return mixed(_coaxial_cylinder_parts(start.radius_mm, aligned.start, target.radius_mm, aligned.target))
    if not aligned.same_height:
        return None
    end = _parallel_end(start.radius_mm, target.radius_mm, aligned.aside)
    return mixed([_parallel_side(start.radius_mm, target.radius_mm, aligned.aside, start.length_mm), end, end])


def _aligned(start: Sequence[Sequence[float]], target: Sequence[Sequence[float]]) -> _Alignment | None:
    """Return how two segments lie along one direction, or None where they are not parallel."""
    first, last = (np.asarray(point) for point in start)
    length = float(np.linalg.norm(last - first))
    axis = (last - first) / length
    away = np.asarray(target) - first
    heights = away @ axis
    across = away - heights[:, None] * axis
    scale = length + float(np.linalg.norm(away, axis=1).max())
    if np.linalg.norm(across[1] - across[0]) > _SAME * scale:
        return None
    aside = float(np.linalg.norm(across[0]))
    low, high = sorted(heights.tolist())
    return _Alignment((0.0, length), (low, high), aside if aside > _SAME * scale else 0.0)


def _coaxial_tube_parts(own: float, span: Interval, its: float, axis: Interval) -> list[DirectedDistances]:
    """Return the side beside the other's axis, the side beyond its ends, and the two round ends."""
    ring = 2.0 * math.pi * own
    parts: list[DirectedDistances] = [constant_distances(ring * float(overlap(span, *axis)), abs(own - its))]
    for near, far in excesses(span, axis):
        reach = (math.hypot(own, near), math.hypot(own, far))
        parts.append(radial_distances(ring * (far - near), _side_share(own, near, far), reach, (its,)))
    parts += _round_end_parts(own, span[1], its, axis)
    parts += _round_end_parts(own, -span[0], its, (-axis[1], -axis[0]))
    return parts


def _side_share(own: float, near: float, far: float) -> RadialShare:
    """Beside the axis but beyond its end by e, r² = own² + e², with e spread evenly from near to far."""

    def share(r: FloatArray) -> FloatArray:
        beyond = np.sqrt(np.maximum(0.0, (r - own) * (r + own)))
        return np.where(r < own, 0.0, np.clip((beyond - near) / (far - near), 0.0, 1.0))

    return share


def _round_end_parts(own: float, top: float, its: float, axis: Interval) -> list[DirectedDistances]:
    """Return the half sphere above height `top`, in zones below, beside and above the other's axis.

    A point at height top + own t (t from 0 to 1, each with the same area) is at own sqrt(1 - t²) from the axis line.
    Above or below the axis' end the squared distance is linear in t.
    """
    below, above = (min(1.0, max(0.0, (end - top) / own)) for end in axis)
    area = 2.0 * math.pi * own**2
    parts: list[DirectedDistances] = []
    if below > 0.0:
        parts.append(_linear_zone(own, top - axis[0], (0.0, below), its))
    if above > below:
        reach = (own * math.sqrt(1.0 - above * above), own * math.sqrt(1.0 - below * below))
        share = _beside_share(own, below, above)
        parts.append(radial_distances(area * (above - below), share, reach, (its,)))
    if above < 1.0:
        parts.append(_linear_zone(own, top - axis[1], (above, 1.0), its))
    return parts


def _beside_share(own: float, low: float, high: float) -> RadialShare:
    def share(r: FloatArray) -> FloatArray:
        height = np.sqrt(np.maximum(0.0, 1.0 - np.square(np.maximum(r, 0.0) / own)))
        return (high - np.clip(height, low, high)) / (high - low)

    return share


def _linear_zone(own: float, lift: float, zone: Interval, its: float) -> DirectedDistances:
    """Return the zone of a half sphere that is nearest to a point `lift` mm below its center, on the axis."""
    low, high = zone
    area = 2.0 * math.pi * own**2 * (high - low)
    if abs(lift) <= _SAME * own:
        return constant_distances(area, abs(own - its))
    base, slope = own * own + lift * lift, 2.0 * lift * own

    def share(r: FloatArray) -> FloatArray:
        cut = np.clip((np.square(np.maximum(r, 0.0)) - base) / slope, low, high)
        return (cut - low if slope > 0.0 else high - cut) / (high - low)

    ends = sorted(math.sqrt(max(0.0, base + slope * t)) for t in zone)
    return radial_distances(area, share, (ends[0], ends[1]), (its,))


def _coaxial_cylinder_parts(own: float, span: Interval, its: float, axis: Interval) -> list[DirectedDistances]:
    """Return side and ends; in a plane through the axis both cylinders are rectangles."""
    block = ((-its, its), axis)
    side = face_distances(Face(((own, own), span), 0), block)
    parts: list[DirectedDistances] = [replace(side, area=2.0 * math.pi * own * (span[1] - span[0]))]
    return parts + [_coaxial_end(own, height, its, axis) for height in span]


def _coaxial_end(own: float, height: float, its: float, axis: Interval) -> ClosedFormDistances:
    """Return the flat end at a height: a disk, of which rings are within a distance."""
    face, block = Face(((-own, own), (height, height)), 1), ((-its, its), axis)
    gap = max(0.0, axis[0] - height, height - axis[1])

    def share(d: FloatArray) -> FloatArray:
        grown = np.minimum(own, its + np.sqrt(np.maximum(0.0, d * d - gap * gap)))
        shrunk = np.minimum(own, np.maximum(0.0, its - d))
        inside = (height > axis[0] + d) & (height < axis[1] - d)
        covered: FloatArray = (np.where(d >= gap, grown**2, 0.0) - np.where(inside, shrunk**2, 0.0)) / own**2
        return covered

    return ClosedFormDistances(math.pi * own**2, farthest(face, block), tuple(knots(face, block, gap)), share)


def _parallel_side(own: float, its: float, aside: float, length: float) -> ClosedFormDistances:
    """Return the side of a cylinder beside another: outside it |r - its|, inside the least of that and the ends."""
    radial = circle_share(own, aside)

    def share(d: FloatArray) -> FloatArray:
        deeper = radial(its - d) * np.maximum(0.0, length - 2.0 * d) / length
        covered: FloatArray = radial(its + d) - deeper
        return covered

    nearest, widest = abs(own - aside), own + aside
    largest = max(widest - its, min(its - nearest, length / 2.0))
    places = (abs(nearest - its), abs(widest - its), length / 2.0)
    return ClosedFormDistances(2.0 * math.pi * own * length, largest, places, share)


def _parallel_end(own: float, its: float, aside: float) -> ClosedFormDistances:
    """Return the flat end beside another in the same plane: distance 0 on it, |r - its| beyond its rim."""

    def share(d: FloatArray) -> FloatArray:
        reach = its + d
        mine, theirs = half_turn(own, aside, reach), half_turn(reach, aside, own)
        lens = own**2 * (mine - np.sin(mine) * np.cos(mine)) + reach**2 * (theirs - np.sin(theirs) * np.cos(theirs))
        covered: FloatArray = lens / (math.pi * own**2)
        return covered

    places = (abs(abs(own - aside) - its), abs(own + aside - its))
    return ClosedFormDistances(math.pi * own**2, max(0.0, own + aside - its), places, share)


_Formula = Callable[..., DirectedDistances | None]

#: Kinds of solids, and the formula that gives the distances from one to another of the same kind; a formula answers
#: None for a position that it does not cover.
_FORMULAS: tuple[tuple[tuple[type[Phantom], ...], _Formula], ...] = (
    ((Ball, Shell), sphere_distances),
    ((Disk,), disk_distances),
    ((Box,), block_distances),
    ((Rectangle,), block_distances),
    ((Torus,), coaxial_torus_distances),
    ((Cylinder,), cylinder_distances),
    ((Tube,), tube_distances),
)


def distance_truth(pred: Phantom, gt: Phantom) -> DistanceTruth:
    """Return the exact distances between two phantoms.

    There is a closed form for balls and shells in any position, disks, boxes and rectangles in any position, tori
    around one axis, straight cylinders and straight tubes around one axis or side by side at the same height, and
    for every phantom with itself.

    Raises:
        InvalidInput: for all other pairs; `sampled_truth` answers those.

    """
    if pred == gt:
        same = constant_distances(pred.surface_area_mm2, 0.0)
        return DistanceTruth(same, same)
    for kinds, formula in _FORMULAS:
        if isinstance(pred, kinds) and isinstance(gt, kinds):
            there, back = formula(pred, gt), formula(gt, pred)
            if there is not None and back is not None:
                return DistanceTruth(there, back)
    raise InvalidInput(
        f"No closed form for the distances between {pred} and {gt}. Use sampled_truth(pred, gt), which is exact up to "
        "the density of its samples."
    )
