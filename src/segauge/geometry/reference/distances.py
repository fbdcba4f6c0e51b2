"""Reference: exact distances to the pieces of a surface, and the largest distance from one surface to another.

The largest distance is that of any point of the surface, not only of its samples. From a point p the distance to one
piece of the other surface is a convex function of p. So over a convex polygon it is largest at a corner, and for any
piece P

    max over the polygon of the distance to the surface <= max over its corners of the distance to P.

Where the least of these bounds exceeds what was found by more than the tolerance, the polygon is cut where two pieces
are equally near, or in halves, and both parts are looked at again. A part that is smaller than the tolerance cannot
exceed it, since the distance grows no faster than p moves: so the search ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TOLERANCE = 1e-6  # of a largest distance, in shortest voxel edges
_HALVE_EVERY = 4  # cuts; so that all parts become small, whatever the pieces
_PAIRS_AT_ONCE = 2_000_000  # point-piece pairs worked on together: bounds the memory


@dataclass(frozen=True, eq=False)
class Targets:
    """Pieces in space: triangles and rectangles (see CellPatterns)."""

    corner: Floats
    u: Floats
    v: Floats
    is_rectangle: npt.NDArray[np.bool_]


def distances_to(points: Floats, targets: Targets) -> Floats:
    """Return the distance from each point to the nearest of all pieces.

    The middle of the piece whose middle is nearest bounds the distance from above; only pieces whose middle lies
    within that bound plus the largest half diameter of a piece can be nearer.
    """
    from scipy.spatial import cKDTree

    middle = targets.corner + _middle_weight(targets)[:, np.newaxis] * (targets.u + targets.v)
    radius = _half_diameter(targets, middle)
    tree = cKDTree(middle)
    bound = np.asarray(tree.query(points)[0])
    best = np.full(len(points), np.inf)
    for part in _parts(points, tree, bound + radius):
        near = tree.query_ball_point(points[part], (bound[part] + radius) * (1 + 1e-9))
        counts = np.array([len(found) for found in near])
        pieces = np.concatenate([np.asarray(found, dtype=np.int64) for found in near])
        squared = squared_distances(np.repeat(points[part], counts, axis=0), targets, pieces)
        best[part] = np.minimum.reduceat(squared, np.concatenate([[0], np.cumsum(counts)[:-1]]))
    return np.asarray(np.sqrt(best))


def largest_distance(pieces: Targets, to: Targets, linear: Floats) -> float:
    """Return the largest distance from any point of some pieces to others; 0 if there is none.

    It is at most TOLERANCE times the shortest voxel edge below the exact one, and never above it.
    """
    polygons = [_corners(pieces, i) for i in range(len(pieces.corner))]
    if not polygons:
        return 0.0
    centres = np.array([polygon.mean(axis=0) for polygon in polygons])
    radii = np.array([_radius(polygon, centre) for polygon, centre in zip(polygons, centres, strict=True)])
    distance = distances_to(centres, to)
    found = max(distance.max(), distances_to(np.concatenate(polygons), to).max())
    tolerance = TOLERANCE * float(np.linalg.norm(linear, axis=0).min())
    for i in np.argsort(-(distance + radii), kind="stable"):
        if distance[i] + radii[i] <= found + tolerance:
            break
        found = _refined(polygons[i], to, distance[i] + 2 * radii[i], found, tolerance)
    return float(found)


def _corners(pieces: Targets, i: int) -> Floats:
    corner, u, v = pieces.corner[i], pieces.u[i], pieces.v[i]
    if not v.any():
        return np.array([corner, corner + u])
    if pieces.is_rectangle[i]:
        return np.array([corner, corner + u, corner + u + v, corner + v])
    return np.array([corner, corner + u, corner + v])


def _radius(polygon: Floats, centre: Floats) -> float:
    return float(np.linalg.norm(polygon - centre, axis=1).max())


def _refined(polygon: Floats, to: Targets, reach: float, found: float, tolerance: float) -> float:
    """Return the largest distance of a polygon if it exceeds what was found by more than the tolerance, else that."""
    near = np.flatnonzero(_squared(polygon.mean(axis=0)[np.newaxis], to, np.arange(len(to.corner)))[0] <= reach**2)
    parts = [(polygon, near, 0)]
    while parts:
        part, near, depth = parts.pop()
        centre = part.mean(axis=0)
        own, radius = np.sqrt(_squared(centre[np.newaxis], to, near)[0]), _radius(part, centre)
        if own.min() + radius <= found + tolerance:
            continue
        near = near[own <= (own.min() + 2 * radius) * (1 + 1e-9)]
        squared = _squared(part, to, near)
        found = max(found, float(np.sqrt(squared.min(axis=1).max())))
        least = int(squared.max(axis=0).argmin())
        if np.sqrt(squared[:, least].max()) <= found + tolerance:
            continue
        worst = int(squared[:, least].argmax())
        pair = near[[least, int(squared[worst].argmin())]]
        parts += [(half, near, depth + 1) for half in _split(part, centre, to, pair, depth)]
    return found


def _squared(points: Floats, to: Targets, pieces: Ints) -> Floats:
    """Return the squared distances of all points to all pieces."""
    pairs = np.repeat(points, len(pieces), axis=0), to, np.tile(pieces, len(points))
    return squared_distances(*pairs).reshape(len(points), len(pieces))


def _split(part: Floats, centre: Floats, to: Targets, pair: Ints, depth: int) -> list[Floats]:
    """Cut a polygon where two pieces are equally near; in halves where they are so nowhere, and now and then."""

    def nearer(points: Floats) -> Floats:
        both = _squared(points, to, pair)
        return both[:, 0] - both[:, 1]

    halves = _cut(part, nearer) if depth % _HALVE_EVERY != _HALVE_EVERY - 1 else []
    if halves:
        return halves
    sides = (part[:, np.newaxis] - part).reshape(-1, 3)
    longest = sides[np.argmax((sides**2).sum(axis=1))]
    return _cut(part, lambda points: (points - centre) @ longest)


def _cut(part: Floats, function: Callable[[Floats], Floats]) -> list[Floats]:
    """Return the two parts of a polygon on either side of where a function is 0; none if that is no line across it."""
    is_above = function(part) > 0
    edges = range(1 if len(part) == 2 else len(part))
    crossed = [i for i in edges if is_above[i] != is_above[(i + 1) % len(part)]]
    if len(crossed) != len(edges[:2]):
        return []
    zeros = {i: _zero(part[i], part[(i + 1) % len(part)], bool(is_above[i]), function) for i in crossed}
    return [np.array(list(_side(part, is_above == side, zeros))) for side in (True, False)]


def _side(part: Floats, belongs: npt.NDArray[np.bool_], zeros: dict[int, Floats]) -> Iterator[Floats]:
    for i, corner in enumerate(part):
        if belongs[i]:
            yield corner
        if i in zeros:
            yield zeros[i]


def _zero(start: Floats, end: Floats, is_above: bool, function: Callable[[Floats], Floats]) -> Floats:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if (function((start + middle * (end - start))[np.newaxis])[0] > 0) == is_above:
            low = middle
        else:
            high = middle
    return np.asarray(start + (low + high) / 2 * (end - start))


def _middle_weight(targets: Targets) -> Floats:
    return np.where(targets.is_rectangle, 0.5, 1 / 3)


def _half_diameter(targets: Targets, middle: Floats) -> float:
    corners = [targets.corner, targets.corner + targets.u, targets.corner + targets.v]
    corners.append(np.where(targets.is_rectangle[:, np.newaxis], corners[1] + targets.v, targets.corner))
    return float(max(np.linalg.norm(corner - middle, axis=1).max() for corner in corners))


def _parts(points: Floats, tree: object, radius: Floats) -> Iterator[slice]:
    """Yield ranges of points that have few enough neighbours together."""
    counts = tree.query_ball_point(points, radius * (1 + 1e-9), return_length=True)  # type: ignore[attr-defined]
    first, total = 0, 0
    for i, count in enumerate(counts):
        if total + count > _PAIRS_AT_ONCE and i > first:
            yield slice(first, i)
            first, total = i, 0
        total += int(count)
    if first < len(points):
        yield slice(first, len(points))


def squared_distances(points: Floats, targets: Targets, pieces: Ints) -> Floats:
    """Return the squared distance of each point to the piece paired with it."""
    u, v = targets.u[pieces], targets.v[pieces]
    d = points - targets.corner[pieces]
    is_rectangle = targets.is_rectangle[pieces]
    squared = np.empty(len(pieces))
    squared[is_rectangle] = _to_rectangles(d[is_rectangle], u[is_rectangle], v[is_rectangle])
    squared[~is_rectangle] = _to_triangles(d[~is_rectangle], u[~is_rectangle], v[~is_rectangle])
    return squared


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=1))


def _along(d: Floats, side: Floats) -> Floats:
    """Return the position of the foot point of d along a side, held to the side; 0 for a side without length."""
    length = _dot(side, side)
    return np.clip(np.divide(_dot(d, side), length, out=np.zeros_like(length), where=length > 0), 0, 1)


def _to_rectangles(d: Floats, u: Floats, v: Floats) -> Floats:
    gap = d - _along(d, u)[:, np.newaxis] * u - _along(d, v)[:, np.newaxis] * v
    return _dot(gap, gap)


def _to_triangles(d: Floats, u: Floats, v: Floats) -> Floats:
    """Return the squared distance to triangles: to the plane where the foot point is inside, else to an edge."""
    edges = [(d, u), (d, v), (d - u, v - u)]
    to_edges = [start - _along(start, side)[:, np.newaxis] * side for start, side in edges]
    nearest_edge = np.minimum.reduce([_dot(gap, gap) for gap in to_edges])
    uu, uv, vv, du, dv = _dot(u, u), _dot(u, v), _dot(v, v), _dot(d, u), _dot(d, v)
    s, t, whole = du * vv - dv * uv, dv * uu - du * uv, uu * vv - uv * uv
    normal = np.cross(u, v)
    height = _dot(d, normal) ** 2 / _dot(normal, normal)
    return np.where((s >= 0) & (t >= 0) & (s + t <= whole), height, nearest_edge)
