"""Rank tests of independent groups of cases: Kruskal-Wallis over all groups, Mann-Whitney between two.

They speak of the typical case, not of means, and take the cases for independent. `estimate_groups` and
`stratified_gap` have intervals of the difference of means, clustered where a patient has several cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.stats.resampling import Floats


def kruskal_wallis(groups: Sequence[npt.ArrayLike]) -> float:
    """Return the p-value that all groups come from one distribution (chi-square of H, corrected for ties).

    NaN is left out, infinity (a failed distance) is the largest value; groups without a value are not counted. 1.0
    where all values are equal. Needs two groups.
    """
    from scipy.stats import kruskal  # takes a second to load: only where the test is run

    samples = [kept for group in groups if (kept := _known(group)).size]
    if len(samples) < 2:
        raise InvalidInput(f"Kruskal-Wallis needs two groups with values or more, got {len(samples)}.")
    return 1.0 if _all_equal(samples) else float(kruskal(*samples).pvalue)


def mann_whitney(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the two-sided p-value of Mann and Whitney's U.

    Exact where the smaller group has up to 8 cases and there are no ties; otherwise the normal approximation with the
    variance corrected for ties and half a rank for continuity. NaN is left out, infinity is the largest value; 1.0
    where all are equal.
    """
    from scipy.stats import mannwhitneyu

    one, other = _known(a), _known(b)
    if not one.size or not other.size:
        raise InvalidInput("Mann-Whitney needs a value in each of the two groups.")
    return 1.0 if _all_equal([one, other]) else min(float(mannwhitneyu(one, other).pvalue), 1.0)


def fisher_exact(hits: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test that two groups have the same share of hits.

    The probability of all tables with the same margins that are no more probable than the one seen.
    """
    from scipy import stats

    table = [[hit, size - hit] for hit, size in zip(hits, sizes, strict=True)]
    return float(stats.fisher_exact(np.array(table)).pvalue)


def share_gap_limits(hits: tuple[int, int], sizes: tuple[int, int], level: float) -> tuple[float, float]:
    """Return the limits of the difference of two shares, from the score limits of each (Newcombe 1998, method 10)."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2.0))
    share = [hit / size for hit, size in zip(hits, sizes, strict=True)]
    limits = []
    for p, n in zip(share, sizes, strict=True):
        half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
        limits.append(tuple((p + z * z / (2.0 * n) + sign * half) / (1.0 + z * z / n) for sign in (-1.0, 1.0)))
    (low_a, high_a), (low_b, high_b) = limits
    delta = share[0] - share[1]
    below = math.hypot(share[0] - low_a, high_b - share[1])
    above = math.hypot(high_a - share[0], share[1] - low_b)
    return delta - below, delta + above


def _known(values: npt.ArrayLike) -> Floats:
    data = np.asarray(values, dtype=np.float64).ravel()
    return data[~np.isnan(data)]


def _all_equal(samples: Sequence[Floats]) -> bool:
    pooled = np.concatenate(samples)
    return bool(np.all(pooled == pooled[0]))
