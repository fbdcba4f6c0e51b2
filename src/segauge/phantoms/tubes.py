"""Torus, Cylinder (flat ends) and Tube (round ends, along a line or a polyline)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from segauge.errors import InvalidInput
from segauge.phantoms.bends import Bend, Piece, RoundEnd, bend_between, inside_distance, segment_gap
from segauge.phantoms.phantom import (
    GOLDEN_ANGLE,
    CenteredPhantom,
    FloatArray,
    Phantom,
    SurfaceSamples,
    Vector,
    checked_length,
    checked_vector,
    dot,
    frame_around,
    midpoints,
    squared_across,
    unit_vector,
)


@dataclass(frozen=True)
class Torus(CenteredPhantom):
    """A ring: all points within `tube_radius_mm` of a circle of `ring_radius_mm` around `axis`."""

    ring_radius_mm: float
    tube_radius_mm: float
    axis: Vector = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        ring = checked_length("ring_radius_mm", self.ring_radius_mm)
        tube = checked_length("tube_radius_mm", self.tube_radius_mm)
        if tube >= ring:
            raise InvalidInput(f"tube_radius_mm: expected less than the ring radius {ring:g} mm, got {tube:g}.")
        object.__setattr__(self, "ring_radius_mm", ring)
        object.__setattr__(self, "tube_radius_mm", tube)
        object.__setattr__(self, "axis", unit_vector("axis", self.axis, 3))

    @property
    def volume_mm3(self) -> float:
        """2 π² R r²."""
        return 2.0 * math.pi**2 * self.ring_radius_mm * self.tube_radius_mm**2

    @property
    def surface_area_mm2(self) -> float:
        """4 π² R r."""
        return 4.0 * math.pi**2 * self.ring_radius_mm * self.tube_radius_mm

    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner of the box around the solid."""
        across = np.sqrt(np.maximum(0.0, 1.0 - np.square(self.axis)))
        half = self.ring_radius_mm * across + self.tube_radius_mm
        return np.asarray(self.center_mm) - half, np.asarray(self.center_mm) + half

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points: equal steps around the ring and around the tube."""
        around_tube = max(8, round(math.sqrt(n * self.tube_radius_mm / self.ring_radius_mm)))
        around_ring = max(8, round(n / around_tube))
        ring = np.repeat(midpoints(0.0, 2.0 * math.pi, around_ring), around_tube)
        tube = np.tile(midpoints(0.0, 2.0 * math.pi, around_tube), around_ring)
        reach = self.ring_radius_mm + self.tube_radius_mm * np.cos(tube)
        own = np.stack([reach * np.cos(ring), reach * np.sin(ring), self.tube_radius_mm * np.sin(tube)], axis=1)
        weights = reach * (self.tube_radius_mm * 4.0 * math.pi**2 / len(own))
        return SurfaceSamples(own @ np.array(frame_around(self.axis)) + np.asarray(self.center_mm), weights)

    def _signed_distance(self, points: FloatArray) -> FloatArray:
        away = self._offsets(points)
        return np.sqrt(self._squared_to_ring(list(away.T))) - self.tube_radius_mm

    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is."""
        return self._squared_to_ring(self._relative(position)) - self.tube_radius_mm**2

    def _squared_to_ring(self, away: Sequence[FloatArray]) -> FloatArray:
        height = dot(away, self.axis)
        radial = np.sqrt(squared_across(away, self.axis, height))
        squared_gap: FloatArray = (radial - self.ring_radius_mm) ** 2 + height * height
        return squared_gap


@dataclass(frozen=True)
class Cylinder(Phantom):
    """A straight cylinder with flat ends."""

    start_mm: Vector
    end_mm: Vector
    radius_mm: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "start_mm", checked_vector("start_mm", self.start_mm, 3))
        object.__setattr__(self, "end_mm", checked_vector("end_mm", self.end_mm, 3))
        object.__setattr__(self, "radius_mm", checked_length("radius_mm", self.radius_mm))
        if self.start_mm == self.end_mm:
            raise InvalidInput(f"end_mm: expected another point than start_mm {self.start_mm}.")

    @cached_property
    def axis(self) -> Vector:
        """Unit vector from start to end."""
        return unit_vector("end_mm - start_mm", np.subtract(self.end_mm, self.start_mm).tolist(), 3)

    @cached_property
    def length_mm(self) -> float:
        """Distance between the two ends."""
        return math.dist(self.start_mm, self.end_mm)

    @property
    def volume_mm3(self) -> float:
        """π r² L."""
        return math.pi * self.radius_mm**2 * self.length_mm

    @property
    def surface_area_mm2(self) -> float:
        """2 π r L + 2 π r²."""
        return 2.0 * math.pi * self.radius_mm * (self.length_mm + self.radius_mm)

    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner of the box around the solid."""
        half = self.radius_mm * np.sqrt(np.maximum(0.0, 1.0 - np.square(self.axis)))
        low, high = np.minimum(self.start_mm, self.end_mm), np.maximum(self.start_mm, self.end_mm)
        return low - half, high + half

    def shifted(self, offset_mm: Sequence[float]) -> Self:
        """Return the same solid, moved."""
        offset = checked_vector("offset_mm", offset_mm, 3)
        start, end = np.add(self.start_mm, offset).tolist(), np.add(self.end_mm, offset).tolist()
        return replace(self, start_mm=tuple(start), end_mm=tuple(end))

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points: a regular net on the side, sunflower heads on the ends."""
        area = math.pi * self.radius_mm**2
        per_end = max(1, round(n * area / self.surface_area_mm2))
        steps = np.arange(per_end)
        ring, turn = self.radius_mm * np.sqrt((steps + 0.5) / per_end), steps * GOLDEN_ANGLE
        head = np.stack([ring * np.cos(turn), ring * np.sin(turn)], axis=1) @ np.array(frame_around(self.axis)[:2])
        side = Piece.between(np.asarray(self.start_mm), np.asarray(self.end_mm), self.radius_mm)
        patches = [side.samples(max(8, n - 2 * per_end))]
        for end in (self.start_mm, self.end_mm):
            patches.append(SurfaceSamples(np.asarray(end) + head, np.full(per_end, area / per_end)))
        return SurfaceSamples.joined(patches)

    def _signed_distance(self, points: FloatArray) -> FloatArray:
        height, squared = self._along_and_across(list((points - np.asarray(self.start_mm)).T))
        side = np.sqrt(squared) - self.radius_mm
        end = np.abs(height - self.length_mm / 2.0) - self.length_mm / 2.0
        outside = np.hypot(np.maximum(side, 0.0), np.maximum(end, 0.0))
        return outside + np.minimum(np.maximum(side, end), 0.0)

    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is."""
        away = [coordinate - start for coordinate, start in zip(position, self.start_mm, strict=True)]
        height, squared = self._along_and_across(away)
        return np.maximum(squared - self.radius_mm**2, np.abs(height - self.length_mm / 2.0) - self.length_mm / 2.0)

    def _along_and_across(self, away: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        height = dot(away, self.axis)
        return height, squared_across(away, self.axis, height)


@dataclass(frozen=True)
class Tube(Phantom):
    """All points within a radius of a polyline: a capsule for two points, a bent tube with round ends for more.

    Volume, surface and distances are exact where the tube does not run into itself: each segment at least as long
    as the tube is wide, no turn sharper than its segments allow, and segments that are not neighbours at least a
    tube's width apart. Otherwise they raise InvalidInput; a mask can be drawn of any tube.
    """

    points_mm: tuple[Vector, ...]
    radius_mm: float

    def __post_init__(self) -> None:
        points = tuple(checked_vector("points_mm", point, 3) for point in self.points_mm)
        if len(points) < 2 or any(one == two for one, two in itertools.pairwise(points)):
            raise InvalidInput(f"points_mm: expected two points or more, no two in a row the same, got {points}.")
        object.__setattr__(self, "points_mm", points)
        object.__setattr__(self, "radius_mm", checked_length("radius_mm", self.radius_mm))

    @property
    def is_straight(self) -> bool:
        """True for a capsule along one segment."""
        return len(self.points_mm) == 2

    @cached_property
    def length_mm(self) -> float:
        """Length of the polyline."""
        return sum(math.dist(one, two) for one, two in itertools.pairwise(self.points_mm))

    @property
    def volume_mm3(self) -> float:
        """π r² L + 4/3 π r³ for a capsule; each turn by θ adds r³ (2/3 θ - 4/3 tan(θ/2)).

        Outside a turn stands a wedge of a ball; inside it the two cylinders share two hoofs of 2/3 r³ tan(θ/2).
        """
        turns = sum(2.0 * bend.angle - 4.0 * math.tan(bend.angle / 2.0) for bend in self._bends)
        return math.pi * self.radius_mm**2 * self.length_mm + self.radius_mm**3 * (4.0 * math.pi + turns) / 3.0

    @property
    def surface_area_mm2(self) -> float:
        """2 π r L + 4 π r² for a capsule; each turn by θ adds r² (2 θ - 4 tan(θ/2))."""
        turns = sum(2.0 * bend.angle - 4.0 * math.tan(bend.angle / 2.0) for bend in self._bends)
        return 2.0 * math.pi * self.radius_mm * self.length_mm + self.radius_mm**2 * (4.0 * math.pi + turns)

    def bounds_mm(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest corner of the box around the solid."""
        points = np.asarray(self.points_mm)
        return points.min(axis=0) - self.radius_mm, points.max(axis=0) + self.radius_mm

    def shifted(self, offset_mm: Sequence[float]) -> Self:
        """Return the same solid, moved."""
        moved = np.asarray(self.points_mm) + np.asarray(checked_vector("offset_mm", offset_mm, 3))
        return replace(self, points_mm=tuple(tuple(point) for point in moved.tolist()))

    def surface_samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points: nets on the sides up to the creases, spirals on the ends, wedges outside turns."""
        area = self.surface_area_mm2
        end = max(4, round(n * 2.0 * math.pi * self.radius_mm**2 / area))
        patches = [half_ball.samples(end) for half_ball in self._ends]
        for piece in self._pieces:
            patches.append(piece.samples(max(8, round(n * 2.0 * math.pi * self.radius_mm * piece.length / area))))
        for bend in self._bends:
            patches.append(bend.samples(max(8, round(n * 2.0 * bend.angle * self.radius_mm**2 / area))))
        return SurfaceSamples.joined(patches)

    @cached_property
    def _bends(self) -> tuple[Bend, ...]:
        """The turns of the polyline; refuses a tube that runs into itself."""
        points = np.asarray(self.points_mm)
        bends = tuple(
            bend
            for one, two, three in zip(points, points[1:], points[2:], strict=False)
            if (bend := bend_between(one, two, three, self.radius_mm)) is not None
        )
        self._require_apart(bends)
        return bends

    @cached_property
    def _pieces(self) -> tuple[Piece, ...]:
        """The straight pieces with the bends at their ends."""
        points = np.asarray(self.points_mm)
        at = {tuple(bend.center.tolist()): bend for bend in self._bends}
        return tuple(
            Piece.between(one, two, self.radius_mm, at.get(tuple(one.tolist())), at.get(tuple(two.tolist())))
            for one, two in itertools.pairwise(points)
        )

    @cached_property
    def _ends(self) -> tuple[RoundEnd, RoundEnd]:
        first, last = self._pieces[0], self._pieces[-1]
        start, end = np.asarray(self.points_mm[0]), np.asarray(self.points_mm[-1])
        return RoundEnd(start, -first.along, self.radius_mm), RoundEnd(end, last.along, self.radius_mm)

    def _require_apart(self, bends: Sequence[Bend]) -> None:
        if self.is_straight:
            return
        segments = list(itertools.pairwise(np.asarray(self.points_mm)))
        shortest = min(math.dist(one, two) for one, two in segments)
        sharpest = max((math.tan(bend.angle / 2.0) for bend in bends), default=0.0)
        gap = min(
            (segment_gap(*one, *two) for i, one in enumerate(segments) for two in segments[i + 2 :]), default=math.inf
        )
        width = 2.0 * self.radius_mm
        if shortest < width * max(1.0, sharpest) or gap < width:
            raise InvalidInput(
                f"points_mm: the tube of radius {self.radius_mm:g} mm runs into itself (shortest segment "
                f"{shortest:.4g} mm, next stretch {gap:.4g} mm away): its volume and distances have no closed form. "
                "Use longer segments, wider turns or a smaller radius."
            )

    def _convex_parts(self) -> Sequence[Phantom]:
        if self.is_straight:
            return (self,)
        return [Tube((one, two), self.radius_mm) for one, two in itertools.pairwise(self.points_mm)]

    def _signed_distance(self, points: FloatArray) -> FloatArray:
        pieces, bends = self._pieces, self._bends
        squared = np.min([self._squared_to_segment(list(points.T), i) for i in range(len(pieces))], axis=0)
        signed: FloatArray = np.sqrt(squared) - self.radius_mm
        inside = signed < 0.0
        if bends and np.any(inside):
            signed[inside] = -inside_distance(points[inside], pieces, self._ends, bends)
        return signed

    def level(self, position: Sequence[FloatArray]) -> FloatArray:
        """Return a number that is not positive where the solid is."""
        squared = self._squared_to_segment(position, 0)
        for i in range(1, len(self.points_mm) - 1):
            squared = np.minimum(squared, self._squared_to_segment(position, i))
        return squared - self.radius_mm**2

    def _squared_to_segment(self, position: Sequence[FloatArray], i: int) -> FloatArray:
        start, step = self.points_mm[i], np.subtract(self.points_mm[i + 1], self.points_mm[i])
        length = float(np.linalg.norm(step))
        direction = (step / length).tolist()
        away = [coordinate - first for coordinate, first in zip(position, start, strict=True)]
        return squared_across(away, direction, np.clip(dot(away, direction), 0.0, length))
