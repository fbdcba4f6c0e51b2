"""Reference: where the sub-voxel surface closes the caps of an object.

The top of a smooth object is flat: it lies between two layers of voxels, and the Gaussians, which see no slope there,
put it halfway. How wide the object still is in the last layers says more. A column of voxels crosses them; the line of
voxels through the column across a layer lies in the object from one cut to another, a chord. By the power of a point
the product of the two arms of a chord, from the column to its ends, grows with the depth below the surface as depth (2
r - c depth) does: wherever the column is, exactly for all quadrics, and nearly so for what is as smooth. r is a radius
of curvature, and c the roundness: 1 for balls, and for tubes and rings that lie in the layer. So two layers tell the
depth. Across thick slices a third one tells c, which is better known there than guessed: that of a box is 0.

Every chord counts by how sure it is: by how much its answer would move if each of its ends were off by a part of a
voxel, and the roundness by what is not known of it. A chord that ends the cap beyond the layer outside is refuted by
it: the further, the less it counts. Of several chords the longer count less, in the ratio of their powers. On a ball
all have the same; one that runs along a ring is long, and its power grows otherwise than a quadric's. Across thick
slices there are also the chords along the two diagonals of a layer: where a ring runs along one of these, the chords
along both axes are long.

Gaussians count by how much they see, which is all of a slope and nothing of a flat top: their errors fade with the
slope as a Gaussian does. The arms of the chords tell the slope. Where it is more than 45 degrees, Gaussians alone
count.

Gaussians take the last layer for half a step thick above its centres. A strip, such as the top of a ring, is thinner:
Gaussians see it as too wide, and chords end it too high.

A box has flat tops, and Gaussians would round the edges where they meet. Its last layers are all alike, and in the
layer outside there is nothing: where that is so as far as flat tops reach, a top is flat, and stays in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.geometry.subvoxel import SubvoxelRule

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
#: In the last layer and in the two before: the arms before and after the column.
Chords = tuple[Floats, Floats, Floats]

_SLACK = 1 + 1e-9  # arms that are equal but for rounding count as equal
_LEAST_VARIANCE = 1e-3  # no answer is surer than this
_LEAST_ROUNDNESS = 0.05  # so little round is a wall


@dataclass(frozen=True, eq=False)
class Ends:
    """Where chords end caps beyond their last layer, in steps, and how much that counts.

    The powers of the chords in the last layer are infinite where chords are out of reach; `slope`: how much the cap
    leans along them.
    """

    place: Floats
    weight: Floats
    power: Floats
    slope: Floats


def cap_positions(axis: int, mask: Bools, cuts: Sequence[Floats], is_slope: Bools, rule: SubvoxelRule) -> Floats:
    """Return where the surface cuts the edges along an axis, 0 to 1.

    `cuts`: where the Gaussians say, for all axes; `is_slope`: which edges along this one the surface crosses on a
    slope.
    """
    others = [across for across in range(mask.ndim) if across != axis]
    step = float(rule.edges_mm[axis])
    edges = [float(rule.edges_mm[across]) for across in others]
    steps = [np.moveaxis(_arms(across, cuts), axis + 1, 1) for across in others]
    arms = [both * edge for both, edge in zip(steps, edges, strict=True)]
    has_diagonals = mask.ndim == 3 and axis in rule.thick_axes
    if has_diagonals:
        arms += [both * math.hypot(*edges) for both in _diagonal_arms(axis, mask, cuts)]
    found = np.moveaxis(cuts[axis], axis, 0).copy()
    slopes = np.moveaxis(is_slope, axis, 0)
    most = [math.floor(rule.flat_steps * step * _SLACK / edge) for edge in edges]
    for way in (1, -1):
        inside, places = np.moveaxis(mask, axis, 0)[::way], found[::way]
        is_last = inside[:-2] & inside[1:-1] & ~inside[2:] & ~slopes[::way][1:]
        has_third = np.pad(inside, [(1, 0), *[(0, 0)] * (mask.ndim - 1)])[: len(is_last)] & (axis in rule.thick_axes)
        gaussians = places[1:][is_last] if way == 1 else 1 - places[1:][is_last]
        chords = [_last_chords(inside, is_last, has_third, both[:, ::way], axis, rule) for both in arms]
        end = np.clip(_mean_end(gaussians, chords, axis, rule), rule.margin, 1 - rule.margin)
        end[_is_flat(is_last, has_third, [both[:, ::way] for both in steps], most)] = 0.5
        places[1:][is_last] = end if way == 1 else 1 - end
    return np.moveaxis(found, 0, axis)


def _last_chords(
    inside: Bools, is_last: Bools, has_third: Bools, arms: Floats, axis: int, rule: SubvoxelRule
) -> Chords:
    """Return the arms of the chords in the last layer and in the two before, in steps; nan where out of reach."""
    known = np.where(inside & np.all(arms <= rule.chord_reach_mm[axis] * _SLACK, axis=0), arms, np.nan)
    layers = np.pad(
        known / rule.edges_mm[axis], [(0, 0), (1, 0), *[(0, 0)] * (inside.ndim - 1)], constant_values=np.nan
    )
    near, far, third = (layers[:, k : k + len(is_last)][:, is_last] for k in (2, 1, 0))
    return near, far, np.where(has_third[is_last], third, np.nan)


def _mean_end(gaussians: Floats, chords: Sequence[Chords], axis: int, rule: SubvoxelRule) -> Floats:
    """Return what Gaussians and chords together say; `chords`: of the last three layers, along each line across."""
    ends = [_ends_of_caps(*of, rule.chord_error_mm / float(rule.edges_mm[axis]), rule.roundness_error) for of in chords]
    places = [end.place for end in ends]
    if len(ends) == 2:
        places = [
            one.place - rule.strip_error * _strips(one, other) * 4 * one.place * (1 - one.place)
            for one, other in (ends, ends[::-1])
        ]
    variance = _gaussians_variance(ends, axis, rule)
    shortest = np.minimum.reduce([end.power for end in ends])
    total, weights = gaussians / variance, 1 / variance
    for end, place in zip(ends, places, strict=True):
        with np.errstate(invalid="ignore"):
            weight = np.where(end.weight > 0, end.weight * shortest / end.power, 0.0)
        total, weights = total + weight * place, weights + weight
    return np.asarray(np.where(np.isfinite(shortest), total / weights, gaussians))


def _strips(one: Ends, other: Ends) -> Floats:
    """Return how much caps are strips across chords, 0 to 1; 0 where those along them are out of reach."""
    with np.errstate(invalid="ignore"):
        share = np.where(np.isfinite(other.power), one.power / other.power, 1.0)
    return np.where(one.weight > 0, np.maximum(0.0, 1 - 2 * share), 0.0)


def _gaussians_variance(ends: Sequence[Ends], axis: int, rule: SubvoxelRule) -> Floats:
    """Return the variance of what Gaussians say, in steps, from how much caps lean along chords across each other."""
    squares = [np.sum([end.slope**2 for end in pair], axis=0) for pair in (ends[:2], ends[2:]) if pair]
    width = rule.gaussians[1].width_mm / float(rule.edges_mm[axis])
    seen = 1 - np.exp(-(math.pi**2) / 2 * width**2 * np.maximum.reduce(squares))
    return np.asarray(rule.gaussians_variance + rule.flat_variance * (1 - seen**2) ** 2)


def _is_flat(is_last: Bools, has_third: Bools, steps: Sequence[Floats], most: Sequence[int]) -> Bools:
    """Return which caps are flat: nothing in the layer outside, and the same in all inside, as far as flat tops reach.

    `is_last`: of which voxels, one layer on, the last layer is, and `has_third` whether the one two before counts.
    `steps`: by axis across, how far in steps the cuts before and after every voxel on its line are; `most`: how many
    voxels of it count.
    """
    flat = np.ones(np.count_nonzero(is_last), dtype=np.bool_)
    for both, limit in zip(steps, most, strict=True):
        whole = np.minimum(np.floor(both), limit)
        padded = np.pad(whole, [(0, 0), (1, 0), *[(0, 0)] * (is_last.ndim - 1)])
        third, far, near, outside = (padded[:, k : k + len(is_last)][:, is_last] for k in range(4))
        flat &= np.all(outside == limit, axis=0) & np.all(near == far, axis=0)
        flat &= np.all(near == third, axis=0) | ~has_third[is_last]
    return flat


def _ends_of_caps(near: Floats, far: Floats, third: Floats, error: float, roundness_error: float) -> Ends:
    """Return where chords end caps.

    `near`, `far` and `third`: the arms of the chords in the last layer and in the two before, in steps; nan where they
    are out of reach. With the products p and q of the first two, and the roundness c, the depth d of the last layer
    solves c d² + (c + q - p) d - p = 0.
    """
    p, q = near.prod(axis=0), far.prod(axis=0)
    c, variance = _roundness(near, far, third, error, roundness_error)
    growth = c + q - p
    squared_root = growth**2 + 4 * c * p
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(squared_root)
        end = np.where(growth > 0, 2 * p / (growth + root), (root - growth) / (2 * c))
        by_ends = (1 + end) ** 2 * (near**2).sum(axis=0) + end**2 * (far**2).sum(axis=0)
        moved = (error**2 * by_ends + variance * (end + end**2) ** 2) / squared_root
        weight = (1 - np.clip(end - 1, 0, 1)) / (_LEAST_VARIANCE + moved)
    is_known = np.isfinite(p + q)
    says = is_known & (end < 2)
    return Ends(
        np.where(says, np.minimum(end, 1), 0.0),
        np.where(says, weight, 0.0),
        np.where(is_known, p, np.inf),
        np.where(says, np.abs(near[1] - near[0]) / root, 0.0),
    )


def _roundness(near: Floats, far: Floats, third: Floats, error: float, roundness_error: float) -> tuple[Floats, Floats]:
    """Return the roundness of caps and its variance: 1, and what three chords say by how sure they are."""
    measured = far.prod(axis=0) - (near.prod(axis=0) + third.prod(axis=0)) / 2
    variance = error**2 * ((far**2).sum(axis=0) + ((near**2).sum(axis=0) + (third**2).sum(axis=0)) / 4)
    guessed = roundness_error**2
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isfinite(measured), guessed / (guessed + variance), 0.0)
    roundness = 1 + (np.where(np.isfinite(measured), measured, 1.0) - 1) * share
    return np.maximum(roundness, _LEAST_ROUNDNESS), guessed * (1 - share)


def _arms(across: int, cuts: Sequence[Floats]) -> Floats:
    """Return for every voxel how far away the cuts before and after it on its line are, in steps; inf: none."""
    return np.moveaxis(_arms_along_first(np.moveaxis(cuts[across], across, 0)), 1, across + 1)


def _arms_along_first(cut: Floats) -> Floats:
    """Return the arms along the first axis, before and after, from where the edges along it are cut (nan: not cut)."""
    size = len(cut) + 1
    number = np.arange(size).reshape(-1, *[1] * (cut.ndim - 1))
    arms = np.full((2, size, *cut.shape[1:]), np.inf)
    is_cut, places = np.isfinite(cut), number[:-1] + cut
    arms[0, 1:] = number[1:] - np.maximum.accumulate(np.where(is_cut, places, -np.inf), axis=0)
    later = np.minimum.accumulate(np.where(is_cut, places, np.inf)[::-1], axis=0)[::-1]
    arms[1, :-1] = later - number[:-1]
    return arms


def _diagonal_arms(axis: int, mask: Bools, cuts: Sequence[Floats]) -> list[Floats]:
    """Return the arms of every voxel along the two diagonals of its layer, in steps of these; layers first."""
    one, other = (across for across in range(3) if across != axis)
    inside = np.moveaxis(mask, axis, 0)
    along_one, along_other = (np.moveaxis(cuts[across], axis, 0) for across in (one, other))
    rising = _arms_along_diagonals(inside, along_one, along_other)
    falling = _arms_along_diagonals(inside[:, :, ::-1], along_one[:, :, ::-1], 1 - along_other[:, :, ::-1])
    return [rising, falling[..., ::-1]]


def _arms_along_diagonals(inside: Bools, along_one: Floats, along_other: Floats) -> Floats:
    """Return the arms along the diagonals on which both places grow, for layers (n, one, other)."""
    layers, ones, others = inside.shape
    # a diagonal is a column of what is left when every row is moved back by its number
    moved = np.full((layers, ones - 1, others + ones - 1), np.nan)
    cut = _diagonal_cuts(inside, along_one, along_other)
    for row in range(ones - 1):
        moved[:, row, ones - 1 - row : ones - 1 - row + others - 1] = cut[:, row]
    arms = np.moveaxis(_arms_along_first(np.moveaxis(moved, 1, 0)), 1, 2)
    back = [arms[:, :, row, ones - 1 - row : ones - 1 - row + others] for row in range(ones)]
    return np.stack(back, axis=2)


def _diagonal_cuts(inside: Bools, along_one: Floats, along_other: Floats) -> Floats:
    """Return where the outline, straight between the cuts of edges, crosses the diagonals; nan where it does not.

    A diagonal comes from a voxel and goes to the one that is one step further along both axes; beside it are the two
    that are one step further along either.
    """
    start, end = inside[:, :-1, :-1], inside[:, 1:, 1:]
    beside_one, beside_other = inside[:, 1:, :-1], inside[:, :-1, 1:]
    from_one, from_other = along_one[:, :, :-1], along_other[:, :-1]
    to_one, to_other = along_one[:, :, 1:], along_other[:, 1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        near_start = from_one * from_other / (from_one + from_other)
        near_end = 1 - (1 - to_one) * (1 - to_other) / ((1 - to_one) + (1 - to_other))
        across_other = from_other / (1 - (to_other - from_other))
        across_one = from_one / (1 - (to_one - from_one))
    place = np.where(beside_one == start, across_other, across_one)
    place = np.where((beside_one == end) & (beside_other == end), near_start, place)
    place = np.where((beside_one == start) & (beside_other == start), near_end, place)
    return np.asarray(np.where(start != end, place, np.nan))
