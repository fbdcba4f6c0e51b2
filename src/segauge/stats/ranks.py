"""Ranks of numbers: ties share the mean of their ranks, and numbers that differ by rounding only are ties."""

from __future__ import annotations

import math

import numpy as np

from segauge.stats.resampling import Floats

#: Rows that are ranked at once.
_ROWS_AT_ONCE = 256


def levelled(values: Floats) -> Floats:
    """Round to 12 figures of the largest value, so that means that differ by rounding only are ties."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max(initial=0.0))
    if largest == 0.0:
        return values
    unit = 10.0 ** (math.ceil(math.log10(largest)) - 12)
    return np.asarray(np.rint(values / unit))


def average_ranks(better: Floats) -> Floats:
    """Return the ranks along the last axis: 1 for the highest, ties share the mean of their ranks."""
    rows = better.reshape(-1, better.shape[-1])
    ranks = np.ones_like(rows)
    # Rows by the block: what a block is compared with then stays in the processor's cache.
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block, found = rows[start : start + _ROWS_AT_ONCE], ranks[start : start + _ROWS_AT_ONCE]
        for j in range(block.shape[-1]):
            column = block[:, j : j + 1]
            found += column > block
            found += 0.5 * (column == block)
    return (ranks - 0.5).reshape(better.shape)
