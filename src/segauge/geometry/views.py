"""Ways to look at a lattice under which it is the same: mirrored along its axes, or with equal axes exchanged.

What lies between two cells does not change when both are looked at in a mirror. The kernel uses this to remember one
distance where there would be eight (up to 48 on a lattice of cubes).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Views:
    """One row per view; the first shows everything as it is.

    Component i of a step, seen in a view, is `sign[i]` times its component `axis[i]`. A view shows code c as
    `code[c]`, and sample i (a row of all samples) as the `sample[i]`-th sample of that code.
    """

    axis: Ints
    sign: Ints
    code: Bytes
    sample: Bytes


@dataclass(frozen=True, eq=False)
class CellSamples:
    """What the views of a cell are worked out from: the sample points of all codes in cell units (0 to 1)."""

    ndim: int
    same_as: Ints
    code: Ints
    point: npt.NDArray[np.float64]


def only_as_it_is(samples: CellSamples) -> Views:
    """Return the one view that shows everything as it is, for surfaces whose cells change when mirrored."""
    ndim = samples.ndim
    return Views(
        np.arange(ndim, dtype=np.int64)[np.newaxis],
        np.ones((1, ndim), dtype=np.int64),
        samples.same_as.astype(np.uint8)[np.newaxis],
        _place_within_code(samples.code).astype(np.uint8)[np.newaxis],
    )


@cache
def corner_views(samples: CellSamples, equal_axes: tuple[int, ...]) -> Views:
    """Return the views of a lattice at right angles, for codes whose bits are the corners of a cell.

    `equal_axes` numbers the axes by the length of their steps: axes with the same number may be exchanged.
    """
    ndim = samples.ndim
    axes, signs, codes, places = [], [], [], []
    for axis in permutations(range(ndim)):
        if any(equal_axes[i] != equal_axes[j] for i, j in enumerate(axis)):
            continue
        for sign in product((1, -1), repeat=ndim):
            code = samples.same_as[_seen_codes(axis, sign)]
            axes.append(axis)
            signs.append(sign)
            codes.append(code)
            places.append(_seen_samples(samples, axis, sign, code))
    return Views(
        np.array(axes, dtype=np.int64),
        np.array(signs, dtype=np.int64),
        np.array(codes, dtype=np.uint8),
        np.array(places, dtype=np.uint8),
    )


def _seen_codes(axis: tuple[int, ...], sign: tuple[int, ...]) -> Ints:
    """Return what every code becomes when its corners move: bit c stands for the corner at the bits of c."""
    ndim = len(axis)
    corners = np.array(list(product((0, 1), repeat=ndim)))  # corner c is row c: the first axis has the highest bit
    seen = np.where(np.array(sign) > 0, corners[:, axis], 1 - corners[:, axis])
    number = seen @ (1 << np.arange(ndim)[::-1])
    all_codes = np.arange(1 << len(corners))
    bits = all_codes[:, np.newaxis] >> np.arange(len(corners)) & 1
    return np.asarray(bits @ (1 << number), dtype=np.int64)


def _seen_samples(samples: CellSamples, axis: tuple[int, ...], sign: tuple[int, ...], code: Ints) -> Ints:
    """Return for every sample which sample of the seen code it is; 0 for codes that stand for no cell."""
    point = np.where(np.array(sign) > 0, samples.point[:, axis], 1 - samples.point[:, axis])
    own = np.flatnonzero(samples.same_as[samples.code] == samples.code)
    here, there = (
        np.lexsort((*np.rint(points[own] * 1e6).T, codes[own]))  # a millionth of a cell tells all samples apart
        for codes, points in ((samples.code, samples.point), (code[samples.code], point))
    )
    place = np.zeros(len(samples.code), dtype=np.int64)
    place[own[there]] = _place_within_code(samples.code)[own[here]]
    return place


def _place_within_code(code: Ints) -> Ints:
    """Return the place of each sample among those of its code; the samples of a code stand together."""
    return np.arange(len(code)) - np.searchsorted(code, code)
