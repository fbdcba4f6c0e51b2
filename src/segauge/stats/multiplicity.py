"""Many tests at once: Holm, Bonferroni, and the step-down maximum of resampled statistics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from segauge.stats.resampling import Floats


def bonferroni(p_values: npt.ArrayLike) -> Floats:
    """Return each p-value times their number, at most 1."""
    p = np.asarray(p_values, dtype=np.float64)
    return np.minimum(p * p.size, 1.0)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return the step-down Bonferroni p-values (Holm 1979): never larger than Bonferroni's, with the same promise."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    result = np.empty_like(p)
    result[order] = np.minimum(adjusted, 1.0)
    return result


def uncorrected(p_values: npt.ArrayLike) -> Floats:
    """Return the p-values as they are."""
    return np.asarray(p_values, dtype=np.float64)


def agreeing(low: Floats, high: Floats, sign: Floats, is_decided: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return simultaneous limits that exclude 0 exactly where a difference is decided, with the given sign.

    A step-down test decides more than its single-step interval shows. The interval is cut just short of 0 where it
    does, and reaches 0 where it does not.
    """
    least = 1e-9 * np.where(np.isfinite(high - low) & (high > low), high - low, 1e-3)
    up, down = is_decided & (sign > 0), is_decided & (sign < 0)
    new_low = np.where(up, np.maximum(low, least), np.where(down, low, np.minimum(low, 0.0)))
    new_high = np.where(down, np.minimum(high, -least), np.where(up, high, np.maximum(high, 0.0)))
    return np.minimum(new_low, np.where(down, new_high, new_low)), np.maximum(new_high, np.where(up, new_low, new_high))


CORRECTIONS = {"holm": holm, "bonferroni": bonferroni, "none": uncorrected}


def step_down(statistics: Floats, resampled: Floats) -> Floats:
    """Return p-values that hold for all columns together (Westfall & Young 1993, step-down maximum).

    `statistics` has one absolute statistic per column, `resampled` (resamples, columns) the same under the null
    hypothesis. In descending order of the statistics, each is compared with the maximum over itself and all that
    follow; p = (1 + number of maxima at least as large) / (resamples + 1), made monotone.
    """
    order = np.argsort(-statistics, kind="stable")
    exceeding = np.empty(statistics.size)
    maximum = np.zeros(len(resampled))
    for column in order[::-1]:
        np.maximum(maximum, resampled[:, column], out=maximum)
        exceeding[column] = np.count_nonzero(maximum >= statistics[column])
    p = np.empty(statistics.size)
    p[order] = np.maximum.accumulate((1.0 + exceeding[order]) / (len(resampled) + 1.0))
    return p
