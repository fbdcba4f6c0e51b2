"""Reference: where the sub-voxel surface cuts edges across thick slices.

A column of voxels crosses the slices; in each the outline of the mask (the points where it cuts the edges between the
voxels of that slice) is some distance away, counted positive inside. These distances are points of the object's
profile beside the column, and the surface crosses the column where the profile does: where the circle through the three
points nearest to the edge says so.

- Where the outline in the slice outside is near, the three points are that slice, the one inside and the next further
  in. Where the circle does not cross between the first two, a straight line does.
- Where it is not (the last slice of a cap), the three points are those inside, and the circle goes on beyond them.
  Where it crosses the column only after the slice outside, the slice refutes it: the further, the more the bells count
  instead. So they do the more, the more the answer would move if the outlines were off by a part of a voxel.
- Where the next slice further in is outside, or an outline is out of reach, the bells alone count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from segauge.geometry.subvoxel import SubvoxelRule

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SLACK = 1 + 1e-9  # distances that are equal but for rounding count as equal
_FARTHEST = 3.0  # steps: a cap that ends further away is refuted in any case
_IGNORANCE = 1 / 12  # the variance of a place between 0 and 1 of which nothing is known


def profile_positions(axis: int, mask: Bools, cuts: Sequence[Floats], rule: SubvoxelRule) -> Floats:
    """Return where the surface cuts the edges along a thick axis, 0 to 1; `cuts`: where the bells say, for all axes."""
    inside = np.moveaxis(mask, axis, 0)
    found = np.moveaxis(cuts[axis], axis, 0).copy()
    signed = np.moveaxis(_signed_distances(axis, mask, cuts, rule), axis, 0)
    signed = np.concatenate(
        [np.full((2, *signed.shape[1:]), -np.inf), signed, np.full((2, *signed.shape[1:]), -np.inf)]
    )
    step = rule.edges_mm[axis]
    for low in range(len(found)):
        for here, further in ((low, -1), (low + 1, 1)):
            there = 2 * low + 1 - here
            columns = inside[here] & ~inside[there]
            slices = [there, here, here + further, here + 2 * further]
            profile = np.array([signed[k + 2][columns] for k in slices])
            bells = found[low][columns] if here == low else 1 - found[low][columns]
            place = np.clip(_places(profile, step, rule.outline_error_mm, bells), rule.margin, 1 - rule.margin)
            found[low][columns] = place if here == low else 1 - place
    return np.moveaxis(found, 0, axis)


def _places(profile: Floats, step: float, error: float, otherwise: Floats) -> Floats:
    """Return where between the slice inside and the one outside the surface passes, 0 to 1."""
    outside, inside, following, last = profile
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        between = _circle_zeros(following, inside, outside, step, 0.0) / step
        between = np.where(between <= 1, between, inside / (inside - outside))
        beyond = _ends_of_caps(profile[1:], step)
        refuted = np.clip(beyond - 1, 0, 1)
        beyond = np.where(beyond <= 1, beyond, 1 - refuted + refuted * otherwise)
        weight = _IGNORANCE / (_IGNORANCE + _variances_of_caps(profile[1:], step, error))
        beyond = otherwise + (beyond - otherwise) * weight
    is_known = np.isfinite(inside) & np.isfinite(following) & (following > 0)
    is_cap = ~np.isfinite(outside) & np.isfinite(last)
    return np.where(is_known & np.isfinite(outside), between, np.where(is_known & is_cap, beyond, otherwise))


def _ends_of_caps(outlines: Floats, step: float) -> Floats:
    """Return where beyond the last slice of a cap its profile ends, in steps; at most `_FARTHEST`."""
    inside, following, last = outlines
    return np.minimum(_circle_zeros(last, following, inside, step, step) / step - 1, _FARTHEST)


def _variances_of_caps(outlines: Floats, step: float, error: float) -> Floats:
    """Return how much the ends of caps would vary if the three outlines were off by `error`, each for itself."""
    shifts = error * np.eye(3)[:, :, np.newaxis]
    halves = [(_ends_of_caps(outlines + shift, step) - _ends_of_caps(outlines - shift, step)) / 2 for shift in shifts]
    return np.asarray(sum(half**2 for half in halves))


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
