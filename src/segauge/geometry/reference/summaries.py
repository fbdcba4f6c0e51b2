"""Reference: what a list of distances adds up to, each counted by the area that it stands for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def totals(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the sum of the weights, and of values times weights."""
    # a plain sum of products instead of a dot product: BLAS would split it by the number of its threads
    return float(weights.sum()), float((values * weights).sum())


def largest(values: Floats) -> float:
    """Return the largest value."""
    return float(values.max())


def weight_within(values: Floats, weights: Floats, limit: float) -> float:
    """Return the weight of the values at or below a limit."""
    return float(weights[values <= limit].sum())


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Return the smallest value such that the weight at or below it is at least `share` of the whole."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(reached, weights.sum() * share)), len(order) - 1)]])
