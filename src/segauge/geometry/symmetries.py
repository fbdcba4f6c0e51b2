"""The symmetries of a lattice: mirrors along its axes, and exchanges of axes with equal steps.

A symmetry maps two cells to two cells at the same distance. The kernel keeps one distance for each orbit, where there
would be eight (up to 48 on a lattice of cubes).
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
class Symmetries:
    """One row per symmetry; the first is the identity.

    Component i of the image of a step is `sign[i]` times its component `axis[i]`. The image of code c is `code[c]`, and
    that of sample i (a row of all samples) is the `sample[i]`-th sample of that code.
    """

    axis: Ints
    sign: Ints
    code: Bytes
    sample: Bytes


@dataclass(frozen=True, eq=False)
class CellSamples:
    """What the symmetries of a cell are computed from: the sample points of all codes in cell units (0 to 1)."""

    ndim: int
    same_as: Ints
    code: Ints
    point: npt.NDArray[np.float64]


def identity_only(samples: CellSamples) -> Symmetries:
    """Return the identity alone, for surfaces whose cells change when mirrored."""
    ndim = samples.ndim
    return Symmetries(
        np.arange(ndim, dtype=np.int64)[np.newaxis],
        np.ones((1, ndim), dtype=np.int64),
        samples.same_as.astype(np.uint8)[np.newaxis],
        _place_within_code(samples.code).astype(np.uint8)[np.newaxis],
    )


@cache
def corner_symmetries(samples: CellSamples, equal_axes: tuple[int, ...]) -> Symmetries:
    """Return the symmetries of a lattice at right angles, for codes whose bits are the corners of a cell.

    `equal_axes` numbers the axes by the length of their steps: axes with the same number may be exchanged.
    """
    ndim = samples.ndim
    axes, signs, codes, places = [], [], [], []
    for axis in permutations(range(ndim)):
        if any(equal_axes[i] != equal_axes[j] for i, j in enumerate(axis)):
            continue
        for sign in product((1, -1), repeat=ndim):
            code = samples.same_as[_image_codes(axis, sign)]
            axes.append(axis)
            signs.append(sign)
            codes.append(code)
            places.append(_image_samples(samples, axis, sign, code))
    return Symmetries(
        np.array(axes, dtype=np.int64),
        np.array(signs, dtype=np.int64),
        np.array(codes, dtype=np.uint8),
        np.array(places, dtype=np.uint8),
    )


def _image_codes(axis: tuple[int, ...], sign: tuple[int, ...]) -> Ints:
    """Return what every code becomes when its corners move: bit c stands for the corner at the bits of c."""
    ndim = len(axis)
    corners = np.array(list(product((0, 1), repeat=ndim)))  # corner c is row c: the first axis has the highest bit
    image = np.where(np.array(sign) > 0, corners[:, axis], 1 - corners[:, axis])
    number = image @ (1 << np.arange(ndim)[::-1])
    all_codes = np.arange(1 << len(corners))
    bits = all_codes[:, np.newaxis] >> np.arange(len(corners)) & 1
    return np.asarray(bits @ (1 << number), dtype=np.int64)


def _image_samples(samples: CellSamples, axis: tuple[int, ...], sign: tuple[int, ...], code: Ints) -> Ints:
    """Return for every sample which sample of the image code its image is; 0 for codes that represent no cell."""
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
