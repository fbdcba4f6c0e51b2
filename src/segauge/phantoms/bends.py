"""The surface of a bent tube, piece by piece: cylinders cut off where they meet, wedges of balls outside the turns.

At a corner the tube is symmetric about the plane that halves the turn. Inside the turn the two cylinders meet in a
crease, half an ellipse in that plane; outside it a wedge of a ball closes the gap between their flat ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.phantoms.phantom import FloatArray, SurfaceSamples, frame_around, midpoints, sphere_lattice

#: A surface point this far (in mm) beyond the border of its patch still counts: where two patches join smoothly,
#: rounding must not push a point out of both.
_SLACK_MM = 1e-9


@dataclass(frozen=True, eq=False)
class RoundEnd:
    """Half a ball that closes a tube."""

    center: FloatArray
    outward: FloatArray
    radius: float

    @property
    def facing(self) -> tuple[FloatArray, ...]:
        """The directions that a point of this part of the ball is ahead of the center in."""
        return (self.outward,)

    def samples(self, n: int) -> SurfaceSamples:
        """Return `n` points of equal weight in a spiral."""
        points = self.center + self.radius * (sphere_lattice(n, 0.0) @ np.array(frame_around(self.outward.tolist())))
        return SurfaceSamples(points, np.full(n, 2.0 * math.pi * self.radius**2 / n))


@dataclass(frozen=True, eq=False)
class Bend:
    """A turn by `angle` (radians) at a corner, from the direction `incoming` to `outgoing`."""

    center: FloatArray
    incoming: FloatArray
    outgoing: FloatArray
    angle: float
    radius: float

    @property
    def facing(self) -> tuple[FloatArray, ...]:
        """The directions that a point of the wedge outside the turn is ahead of the corner in."""
        return (self.incoming, -self.outgoing)

    @property
    def slope(self) -> float:
        """How far the crease runs back along the tube, for a step of one towards the inside of the turn."""
        return math.tan(self.angle / 2.0)

    def inward(self, along: FloatArray) -> FloatArray:
        """Return the unit vector across the piece that runs `along`, towards the inside of the turn."""
        towards = self.outgoing - self.incoming
        across: FloatArray = towards - (towards @ along) * along
        return across / np.linalg.norm(across)

    def samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points of equal weight on the wedge outside the turn."""
        over = max(2, round(math.sqrt(n * 2.0 / self.angle)))
        height, turn = np.meshgrid(
            midpoints(-1.0, 1.0, over),
            midpoints(-math.pi / 2.0, self.angle - math.pi / 2.0, max(1, round(n / over))),
            indexing="ij",
        )
        height, turn = height.reshape(-1, 1), turn.reshape(-1, 1)
        ring = np.sqrt(1.0 - height * height)
        inner = self.inward(self.incoming)
        normal = np.cross(self.incoming, inner)
        directions = height * normal + ring * (np.cos(turn) * self.incoming + np.sin(turn) * inner)
        weight = 2.0 * self.angle * self.radius**2 / len(directions)
        return SurfaceSamples(self.center + self.radius * directions, np.full(len(directions), weight))

    def crease_distance(self, points: FloatArray) -> FloatArray:
        """Return the distance to the crease: the least of a trigonometric polynomial, bracketed and then refined."""
        away = points - self.center
        inner = self.inward(self.incoming)
        back, across = away @ self.incoming, away @ inner
        over = away @ np.cross(self.incoming, inner)
        a = 2.0 * self.radius * (self.slope * back - across)
        b = -2.0 * self.radius * over
        c = (self.radius * self.slope) ** 2
        turn = _least_turn(a, b, c)
        squared = np.sum(away * away, axis=1) + self.radius**2
        value: FloatArray = squared + a * np.cos(turn) + b * np.sin(turn) + c * np.cos(turn) ** 2
        return np.sqrt(np.maximum(0.0, value))


@dataclass(frozen=True, eq=False)
class Piece:
    """A straight piece of a tube's side, and the bends at its ends (None where it ends in half a ball)."""

    start: FloatArray
    along: FloatArray
    length: float
    radius: float
    bends: tuple[Bend | None, Bend | None] = (None, None)

    @classmethod
    def between(
        cls, start: FloatArray, end: FloatArray, radius: float, first: Bend | None = None, last: Bend | None = None
    ) -> Piece:
        """Return the piece from one point of the polyline to the next."""
        length = float(np.linalg.norm(end - start))
        return cls(start, (end - start) / length, length, radius, (first, last))

    def reach(self, outward: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return from where to where the side goes, for unit vectors across the axis, one row each."""
        first, last = self.bends
        low, high = np.zeros(len(outward)), np.full(len(outward), self.length)
        if first is not None:
            low += self.radius * first.slope * np.maximum(0.0, outward @ first.inward(self.along))
        if last is not None:
            high -= self.radius * last.slope * np.maximum(0.0, outward @ last.inward(self.along))
        return low, high

    def samples(self, n: int) -> SurfaceSamples:
        """Return about `n` points in a net that is stretched between the creases."""
        around = max(8, round(math.sqrt(n * 2.0 * math.pi * self.radius / self.length)))
        rows = max(1, round(n / around))
        first, second, _ = frame_around(self.along.tolist())
        turn = midpoints(0.0, 2.0 * math.pi, around)[:, None]
        outward = np.cos(turn) * first + np.sin(turn) * second
        low, high = self.reach(outward)
        height = low[:, None] + (high - low)[:, None] * midpoints(0.0, 1.0, rows)
        points = self.start + self.radius * outward[:, None, :] + height[:, :, None] * self.along
        weights = np.repeat((high - low) * (2.0 * math.pi * self.radius / (around * rows)), rows)
        return SurfaceSamples(points.reshape(-1, 3), weights)


def bend_between(one: FloatArray, two: FloatArray, three: FloatArray, radius: float) -> Bend | None:
    """Return the turn at the second of three points, or None where they lie on a line."""
    incoming = (two - one) / np.linalg.norm(two - one)
    outgoing = (three - two) / np.linalg.norm(three - two)
    angle = math.atan2(float(np.linalg.norm(np.cross(incoming, outgoing))), float(incoming @ outgoing))
    return Bend(two, incoming, outgoing, angle, radius) if angle > 1e-9 else None


def inside_distance(
    points: FloatArray, pieces: Sequence[Piece], ends: Sequence[RoundEnd], bends: Sequence[Bend]
) -> FloatArray:
    """Return the distance from points inside a bent tube to its surface.

    The nearest point is where a line through it stands upright on a patch, or it lies on a crease. All such points
    are looked at: straight out and straight through the axis of every piece, ball wedge and end, and every crease.
    """
    best = np.full(len(points), np.inf)
    for piece in pieces:
        away = points - piece.start
        height = away @ piece.along
        across = away - height[:, None] * piece.along
        outward, gap = _directions(across)
        for side in (1.0, -1.0):
            low, high = piece.reach(side * outward)
            _take(best, np.abs(piece.radius - side * gap), (height >= low - _SLACK_MM) & (height <= high + _SLACK_MM))
    balls: list[RoundEnd | Bend] = [*ends, *bends]
    for ball in balls:
        outward, gap = _directions(points - ball.center)
        for side in (1.0, -1.0):
            ahead = [side * (outward @ direction) >= -_SLACK_MM / ball.radius for direction in ball.facing]
            _take(best, np.abs(ball.radius - side * gap), np.logical_and.reduce(ahead))
    for bend in bends:
        reach = bend.radius * math.hypot(1.0, bend.slope)
        near = np.linalg.norm(points - bend.center, axis=1) - reach < best
        best[near] = np.minimum(best[near], bend.crease_distance(points[near]))
    return best


def segment_gap(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> float:
    """Return the distance between the segments a-b and c-d."""
    u, v, w = b - a, d - c, a - c
    uu, uv, vv = float(u @ u), float(u @ v), float(v @ v)
    gaps = [_point_gap(a, c, v), _point_gap(b, c, v), _point_gap(c, a, u), _point_gap(d, a, u)]
    across = uu * vv - uv * uv
    if across > 1e-12 * uu * vv:
        s = (uv * float(v @ w) - vv * float(u @ w)) / across
        t = (uu * float(v @ w) - uv * float(u @ w)) / across
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            gaps.append(float(np.linalg.norm(w + s * u - t * v)))
    return min(gaps)


def _point_gap(point: FloatArray, start: FloatArray, step: FloatArray) -> float:
    t = min(1.0, max(0.0, float((point - start) @ step) / float(step @ step)))
    return float(np.linalg.norm(point - start - t * step))


def _directions(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return unit vectors and lengths; a vector of no length gets the zero direction, which fits every patch."""
    lengths = np.linalg.norm(vectors, axis=1)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)[:, None], lengths


def _take(best: FloatArray, candidate: FloatArray, valid: npt.NDArray[np.bool_]) -> None:
    np.minimum(best, candidate, out=best, where=valid)


def _least_turn(a: FloatArray, b: FloatArray, c: float) -> FloatArray:
    """Return the turn in [-π/2, π/2] with the least a cos + b sin + c cos²: the best of 64 steps, then Newton's."""
    steps = np.linspace(-math.pi / 2.0, math.pi / 2.0, 65)
    values = np.outer(a, np.cos(steps)) + np.outer(b, np.sin(steps)) + c * np.cos(steps) ** 2
    coarse = steps[np.argmin(values, axis=1)]
    width = steps[1] - steps[0]
    low, high = np.maximum(coarse - width, steps[0]), np.minimum(coarse + width, steps[-1])
    turn = coarse.copy()
    for _ in range(60):
        slope = -a * np.sin(turn) + b * np.cos(turn) - c * np.sin(2.0 * turn)
        low, high = np.where(slope < 0.0, turn, low), np.where(slope < 0.0, high, turn)
        curve = -a * np.cos(turn) - b * np.sin(turn) - 2.0 * c * np.cos(2.0 * turn)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = turn - slope / curve
        turn = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
    return np.asarray(turn)
