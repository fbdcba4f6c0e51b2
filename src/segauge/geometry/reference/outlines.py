"""Reference: where the sub-voxel surface cuts edges between thick slices.

A column of voxels crosses the slices; in each the outline of the mask (the points where it cuts the edges between the
voxels of that slice) is some distance away, counted positive inside. These distances are points of the object's
profile beside the column, and the surface crosses the column where the profile does: where the circle through three
points says so, those of the slice outside, of the one inside and of the next further in. Where the circle does not
cross between the first two, a straight line does.

Where the outline in the slice outside is not near (the last slice of a cap), the next slice further in is outside, or
an outline is out of reach, the profile says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from segauge.geometry.subvoxel import SubvoxelRule

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SLACK = 1 + 1e-9  # distances that are equal but for rounding count as equal


def outline_positions(axis: int, mask: Bools, cuts: Sequence[Floats], rule: SubvoxelRule) -> Floats:
    """Return where the surface cuts the edges along a thick axis, 0 to 1; nan where the profile does not say.

    `cuts`: where the Gaussians say, for all axes.
    """
    inside = np.moveaxis(mask, axis, 0)
    found = np.full(np.moveaxis(cuts[axis], axis, 0).shape, np.nan)
    signed = np.moveaxis(_signed_distances(axis, mask, cuts, rule), axis, 0)
    for way in (1, -1):
        layers, outlines, places = inside[::way], signed[::way], found[::way]
        last = layers[:-2] & layers[1:-1] & ~layers[2:]
        following, within, outside = (outlines[k : k + len(last)][last] for k in range(3))
        place = np.clip(_places(following, within, outside, rule.edges_mm[axis]), rule.margin, 1 - rule.margin)
        places[1:][last] = place if way == 1 else 1 - place
    return np.moveaxis(found, 0, axis)


def _places(following: Floats, inside: Floats, outside: Floats, step: float) -> Floats:
    """Return where between the slice inside and the one outside the surface passes, 0 to 1; nan where it is unknown."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        place = _circle_zeros(following, inside, outside, step, 0.0) / step
        place = np.where(place <= 1, place, inside / (inside - outside))
    is_known = np.isfinite(following) & np.isfinite(inside) & np.isfinite(outside)
    return np.where(is_known, place, np.nan)


def _circle_zeros(before: Floats, middle: Floats, after: Floats, step: float, start: float) -> Floats:
    """Return the first zero beyond `start` of the circle through three points of a profile; inf if there is none.

    The points (before, -step), (middle, 0) and (after, step) lie on u² + z² = 2 m u + 2 n z + c. Times the second
    difference of u, which is 0 where they lie on a straight line, the equation for u = 0 is a z² + b z + c = 0.
    """
    bend = before - 2 * middle + after
    whole = before**2 - 2 * middle**2 + after**2 + 2 * step**2
    a, c = bend, whole * middle - bend * middle**2
    b = -(bend * (after**2 - before**2) - whole * (after - before)) / (2 * step)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        inner = b * b - 4 * a * c
        total = -0.5 * (b + np.copysign(np.sqrt(inner), b))
        zeros = np.array([total / a, c / total])
    zeros = np.where(np.isfinite(zeros) & (zeros > start), zeros, np.inf)
    return np.asarray(np.where(inner >= 0, zeros.min(axis=0), np.inf))


def _signed_distances(axis: int, mask: Bools, cuts: Sequence[Floats], rule: SubvoxelRule) -> Floats:
    """Return for every voxel the distance from its slice's outline in mm, negative outside, infinite out of reach."""
    step = rule.edges_mm[axis]
    distance = np.empty(mask.shape)
    for number in range(mask.shape[axis]):
        np.moveaxis(distance, axis, 0)[number] = _slice_distances(axis, number, mask, cuts, rule)
    reach = np.where(mask, rule.far_steps, rule.near_steps) * step * np.sqrt(_SLACK)
    distance[distance >= reach] = np.inf
    return np.where(mask, distance, -distance)


def _slice_distances(axis: int, number: int, mask: Bools, cuts: Sequence[Floats], rule: SubvoxelRule) -> Floats:
    from scipy.spatial import cKDTree

    across = [other for other in range(mask.ndim) if other != axis]
    edges = rule.edges_mm[across]
    vertices = []
    for along, other in enumerate(across):
        places = np.moveaxis(cuts[other], axis, 0)[number]
        cut = np.argwhere(np.isfinite(places))
        points = cut.astype(np.float64)
        points[:, along] += places[tuple(cut.T)]
        vertices.append(points * edges)
    shape = np.moveaxis(mask, axis, 0).shape[1:]
    outline = np.concatenate(vertices)
    if not len(outline):
        return np.full(shape, np.inf)
    centres = np.indices(shape).reshape(len(shape), -1).T * edges
    return np.asarray(cKDTree(outline).query(centres)[0]).reshape(shape)
