"""Reference: where the sub-voxel surface closes the caps of an object.

The top of a smooth object is flat: it lies between two layers of voxels, and the bells, which see no slope there, put
it halfway. How wide the object still is in the last layers says more. A column of voxels crosses them; the line of
voxels through the column across a layer lies in the object from one cut to another, a chord. By the power of a point
the product of the two arms of a chord, from the column to its ends, grows with the depth below the surface as
depth (2 r - c depth) does: wherever the column is, exactly for all quadrics, and nearly so for what is as smooth. r is
a radius of curvature, and c the roundness: 1 for balls, and for tubes and rings that lie in the layer. So two layers
tell the depth. A third one tells c, which in thick slices is better known than guessed: that of a box is 0.

Every chord counts by how sure it is: by how much its answer would move if each of its ends were off by a part of a
voxel, and the roundness by what is not known of it; against the bells, of which as much is expected as of any place
between 0 and 1. A chord that ends the cap beyond the layer outside is refuted by it: the further, the less it counts.
Of two chords the longer counts less, in the ratio of their powers. On a ball both have the same; one that runs along a
ring is long, and its power grows otherwise than a quadric's.

A box has flat tops, and bells would round the edges where they meet. Its last layers are all alike, and in the layer
outside there is nothing: where that is so as far as chords reach, a top is flat, and stays in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from segauge.geometry.subvoxel import SubvoxelRule

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
#: In the last layer and in the two before: the arms before and after the column.
Chords = tuple[Floats, Floats, Floats]

_SLACK = 1 + 1e-9  # arms that are equal but for rounding count as equal
_IGNORANCE = 1 / 12  # the variance of a place between 0 and 1 of which nothing is known
_LEAST_VARIANCE = 1e-3  # no answer is surer than this
_LEAST_ROUNDNESS = 0.05  # so little round is a wall


def chord_positions(axis: int, mask: Bools, cuts: Sequence[Floats], rule: SubvoxelRule) -> Floats:
    """Return where the surface cuts the edges along an axis, 0 to 1; `cuts`: where the bells say, for all axes."""
    others = [across for across in range(mask.ndim) if across != axis]
    steps = [np.moveaxis(_arms(across, mask, cuts), axis + 1, 1) for across in others]
    arms = [both * float(rule.edges_mm[across]) for across, both in zip(others, steps, strict=True)]
    found = np.moveaxis(cuts[axis], axis, 0).copy()
    step = float(rule.edges_mm[axis])
    most = [math.floor(rule.chord_steps * step * _SLACK / float(rule.edges_mm[across])) for across in others]
    for way in (1, -1):
        inside, places = np.moveaxis(mask, axis, 0)[::way], found[::way]
        is_last = inside[:-2] & inside[1:-1] & ~inside[2:]
        bells = places[1:][is_last] if way == 1 else 1 - places[1:][is_last]
        chords = [_last_chords(inside, is_last, both[:, ::way], step, rule) for both in arms]
        end = np.clip(_mean_end(bells, chords, step, rule), rule.margin, 1 - rule.margin)
        end[_is_flat(inside, is_last, [both[:, ::way] for both in steps], most)] = 0.5
        places[1:][is_last] = end if way == 1 else 1 - end
    return np.moveaxis(found, 0, axis)


def _last_chords(inside: Bools, is_last: Bools, arms: Floats, step: float, rule: SubvoxelRule) -> Chords:
    """Return the arms of the chords in the last layer and in the two before, in steps; nan where out of reach."""
    known = np.where(inside & np.all(arms <= rule.chord_steps * step * _SLACK, axis=0), arms, np.nan)
    layers = np.pad(known / step, [(0, 0), (1, 0), *[(0, 0)] * (inside.ndim - 1)], constant_values=np.nan)
    near, far, third = (layers[:, k : k + len(is_last)][:, is_last] for k in (2, 1, 0))
    return near, far, third


def _mean_end(bells: Floats, chords: Sequence[Chords], step: float, rule: SubvoxelRule) -> Floats:
    """Return what bells and chords together say; `chords`: by axis across, those of the last three layers."""
    powers = [np.where(np.isfinite(far.sum(axis=0)), near.prod(axis=0), np.nan) for near, far, _ in chords]
    shortest = np.fmin.reduce(powers)
    total, weights = bells / _IGNORANCE, np.full(bells.shape, 1 / _IGNORANCE)
    for (near, far, third), power in zip(chords, powers, strict=True):
        end, weight = _ends_of_caps(near, far, third, rule.chord_error_mm / step, rule.roundness_error)
        weight = np.where(weight > 0, weight * shortest / power, 0.0)
        total, weights = total + weight * end, weights + weight
    return np.asarray(total / weights)


def _is_flat(inside: Bools, is_last: Bools, steps: Sequence[Floats], most: Sequence[int]) -> Bools:
    """Return which caps are flat: nothing in the layer outside, and the same in all inside, as far as chords reach.

    `is_last`: of which voxels, one layer on, the last layer is. `steps`: by axis across, how far in steps the cuts
    before and after every voxel on its line are; `most`: how many voxels of it count.
    """
    flat = np.ones(np.count_nonzero(is_last), dtype=np.bool_)
    has_third = np.pad(inside, [(1, 0), *[(0, 0)] * (inside.ndim - 1)])[: len(is_last)][is_last]
    for both, limit in zip(steps, most, strict=True):
        whole = np.minimum(np.floor(both), limit)
        padded = np.pad(whole, [(0, 0), (1, 0), *[(0, 0)] * (inside.ndim - 1)])
        third, far, near, outside = (padded[:, k : k + len(is_last)][:, is_last] for k in range(4))
        flat &= np.all(outside == limit, axis=0) & np.all(near == far, axis=0)
        flat &= np.all(near == third, axis=0) | ~has_third
    return flat


def _ends_of_caps(
    near: Floats, far: Floats, third: Floats, error: float, roundness_error: float
) -> tuple[Floats, Floats]:
    """Return where beyond the last layer a cap ends, in steps, and how much that counts.

    `near`, `far` and `third`: the arms of the chords in the last layer and in the two before, in steps; nan where they
    are out of reach. With the products p and q of the first two, and the roundness c, the depth d of the last layer
    solves c d² + (c + q - p) d - p = 0.
    """
    p, q = near.prod(axis=0), far.prod(axis=0)
    c, variance = _roundness(near, far, third, error, roundness_error)
    slope = c + q - p
    squared_root = slope**2 + 4 * c * p
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(squared_root)
        end = np.where(slope > 0, 2 * p / (slope + root), (root - slope) / (2 * c))
        by_ends = (1 + end) ** 2 * (near**2).sum(axis=0) + end**2 * (far**2).sum(axis=0)
        moved = (error**2 * by_ends + variance * (end + end**2) ** 2) / squared_root
        weight = (1 - np.clip(end - 1, 0, 1)) / (_LEAST_VARIANCE + moved)
    is_known = np.isfinite(p + q)
    return np.where(is_known, np.minimum(end, 1), 0.0), np.where(is_known, weight, 0.0)


def _roundness(near: Floats, far: Floats, third: Floats, error: float, roundness_error: float) -> tuple[Floats, Floats]:
    """Return the roundness of caps and its variance: 1, and what three chords say by how sure they are."""
    measured = far.prod(axis=0) - (near.prod(axis=0) + third.prod(axis=0)) / 2
    variance = error**2 * ((far**2).sum(axis=0) + ((near**2).sum(axis=0) + (third**2).sum(axis=0)) / 4)
    guessed = roundness_error**2
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isfinite(measured), guessed / (guessed + variance), 0.0)
    roundness = 1 + (np.where(np.isfinite(measured), measured, 1.0) - 1) * share
    return np.maximum(roundness, _LEAST_ROUNDNESS), guessed * (1 - share)


def _arms(across: int, mask: Bools, cuts: Sequence[Floats]) -> Floats:
    """Return for every voxel how far away the cuts before and after it on its line are, in steps; inf: none."""
    cut = np.moveaxis(cuts[across], across, 0)
    size = len(cut) + 1
    number = np.arange(size).reshape(-1, *[1] * (mask.ndim - 1))
    arms = np.full((2, size, *cut.shape[1:]), np.inf)
    is_cut, places = np.isfinite(cut), number[:-1] + cut
    arms[0, 1:] = number[1:] - np.maximum.accumulate(np.where(is_cut, places, -np.inf), axis=0)
    later = np.minimum.accumulate(np.where(is_cut, places, np.inf)[::-1], axis=0)[::-1]
    arms[1, :-1] = later - number[:-1]
    return np.moveaxis(arms, 1, across + 1)
