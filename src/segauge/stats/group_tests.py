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

#: Up to this many cases in the smaller group, without ties, the distribution of U is counted out (as SciPy does).
EXACT_MANN_WHITNEY = 8


def kruskal_wallis(groups: Sequence[npt.ArrayLike]) -> float:
    """Return the p-value that all groups come from one distribution (chi-square of H, corrected for ties).

    NaN is left out, infinity (a failed distance) is the largest value; groups without a value are not counted. 1.0
    where all values are equal. Needs two groups.
    """
    from scipy.special import chdtrc

    samples = [kept for group in groups if (kept := _known(group)).size]
    if len(samples) < 2:
        raise InvalidInput(f"Kruskal-Wallis needs two groups with values or more, got {len(samples)}.")
    pooled = np.concatenate(samples)
    ranks, ties = _ranks(pooled)
    n = pooled.size
    correction = 1.0 - ties / (n**3 - n) if n > 1 else 0.0
    if correction <= 0:
        return 1.0
    ends = np.cumsum([sample.size for sample in samples])
    sums = [part.sum() for part in np.split(ranks, ends[:-1])]
    parts = sum(total**2 / sample.size for total, sample in zip(sums, samples, strict=True))
    statistic = (12.0 / (n * (n + 1)) * parts - 3.0 * (n + 1)) / correction
    return float(chdtrc(len(samples) - 1, max(statistic, 0.0)))


def mann_whitney(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the two-sided p-value of Mann and Whitney's U.

    Counted out where the smaller group has up to 8 cases and there are no ties; otherwise the normal approximation
    with the variance corrected for ties and half a rank for continuity. NaN is left out, infinity is the largest value;
    1.0 where all are equal.
    """
    one, other = _known(a), _known(b)
    if not one.size or not other.size:
        raise InvalidInput("Mann-Whitney needs a value in each of the two groups.")
    ranks, ties = _ranks(np.concatenate([one, other]))
    n, m = one.size, other.size
    u = float(ranks[:n].sum()) - n * (n + 1) / 2.0
    if ties == 0 and min(n, m) <= EXACT_MANN_WHITNEY:
        return _exact_two_sided(u, n, m)
    total = n + m
    variance = n * m / 12.0 * ((total + 1) - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = (abs(u - n * m / 2.0) - 0.5) / math.sqrt(variance)
    return min(math.erfc(z / math.sqrt(2.0)), 1.0)


def fisher_exact(hits: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test that two groups have the same share of hits.

    The probability of all tables with the same margins that are no more probable than the one seen.
    """
    from scipy.special import gammaln

    total, found = sum(sizes), sum(hits)
    first = np.arange(max(0, found - sizes[1]), min(sizes[0], found) + 1, dtype=np.float64)

    def log_ways(n: float, k: npt.ArrayLike) -> Floats:
        chosen = np.asarray(k, dtype=np.float64)
        return np.asarray(gammaln(n + 1.0) - gammaln(chosen + 1.0) - gammaln(n - chosen + 1.0))

    log_p = log_ways(sizes[0], first) + log_ways(sizes[1], found - first) - log_ways(total, found)
    seen = log_p[int(hits[0] - first[0])]
    # Tables that are as probable but for rounding count, as in R and SciPy.
    return float(min(np.exp(log_p[log_p <= seen + 1e-7]).sum(), 1.0))


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


def _exact_two_sided(u: float, n: int, m: int) -> float:
    """Twice the tail of U beyond the larger of the two: the coefficients of the Gaussian binomial, divided as we go."""
    ways = np.zeros(n * m + 1)
    ways[0] = 1.0
    for k in range(1, min(n, m) + 1):
        # Multiply by 1 - q^(max + k), divide by 1 - q^k: counts of U with one more case in the smaller group.
        top = max(n, m) + k
        ways[top:] -= ways[:-top].copy() if top < ways.size else 0.0
        for start in range(k, ways.size):
            ways[start] += ways[start - k]
    tail = ways[math.ceil(max(u, n * m - u)) :].sum() / ways.sum()
    return float(min(2.0 * tail, 1.0))


def _known(values: npt.ArrayLike) -> Floats:
    data = np.asarray(values, dtype=np.float64).ravel()
    return data[~np.isnan(data)]


def _ranks(values: Floats) -> tuple[Floats, float]:
    """Return the ranks from 1, ties sharing their mean, and the sum over ties of t^3 - t."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    return ranks, float((counts.astype(np.float64) ** 3 - counts).sum())
