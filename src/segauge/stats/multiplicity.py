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
