"""Tests of differences: paired ones, ranks of independent groups, and the correction of many tests at once.

Student's t and the sign flip ask about the mean difference; Wilcoxon asks about the typical case, and rejects with
equal means too (20 % of the time at 20 cases, 58 % at 200). The rank tests of groups take the cases for independent;
`estimate_groups` and `stratified_gap` have intervals, clustered where a patient has several cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.stats.resampling import BLOCK, Floats, Sample, fixed_point

Alternative = Literal["two-sided", "greater", "less"]

#: Up to this many differences without ties or zeros the signed-rank distribution is counted out.
EXACT_WILCOXON = 50
#: Up to this many cases all 2**n sign flips are tried.
EXACT_FLIPS = 12


def paired_t(sample: Sample) -> Floats:
    """Return the two-sided p-values of Student's t for a mean difference of 0."""
    return t_p_values(sample.means, sample.standard_errors, sample.units)


def t_p_values(means: Floats, errors: Floats, units: Floats) -> Floats:
    """Return the two-sided p-values of Student's t for means of 0, from their standard errors and numbers of cases."""
    from scipy.special import stdtr

    t = _ratio_or_infinite(np.abs(means), errors)
    return np.minimum(2.0 * stdtr(np.maximum(units - 1.0, 1.0), -t), 1.0)


def sign_test(positive: Floats, negative: Floats) -> Floats:
    """Return the exact two-sided p-values of the sign test, from how many differences are above and below 0."""
    from scipy.special import bdtr

    count = positive + negative
    return np.asarray(np.minimum(2.0 * bdtr(np.minimum(positive, negative), count.astype(np.int64), 0.5), 1.0))


def wilcoxon(
    differences: Floats, *, alternative: Alternative = "two-sided", exact: bool | None = None, correction: bool = False
) -> Floats:
    """Return the p-values of Wilcoxon's signed-rank test; zero and NaN differences are left out, infinite ones largest.

    `exact=None` counts the distribution out for up to 50 differences without ties, and otherwise takes the normal
    approximation (with the variance corrected for ties; `correction` subtracts half a rank for continuity).
    """
    sums = signed_ranks_of(differences)
    return np.array(
        [
            _exact_tail(found.positive, found.n, alternative)
            if exact or (exact is None and found.is_plain and found.n <= EXACT_WILCOXON)
            else _normal_tail(found, alternative, correction)
            for found in sums
        ]
    )


@dataclass(frozen=True)
class SignedRanks:
    """Sum of the ranks of the positive differences, number of differences that are not 0, and what ties take away.

    `is_plain` is True where there are neither ties nor zeros.
    """

    positive: float
    n: int
    ties: float
    is_plain: bool

    @property
    def excess(self) -> float:
        """The sum minus what it is on average without a difference."""
        return self.positive - self.n * (self.n + 1) / 4.0


def signed_ranks(column: Floats) -> SignedRanks:
    """Rank the absolute differences of one pair; zero and NaN differences are left out."""
    known = column[~np.isnan(column)]
    values = known[known != 0]
    if not values.size:
        return SignedRanks(0.0, 0, 0.0, is_plain=known.size == 0)
    keys = np.sort(_keys(values))
    sizes = keys >> 1
    starts = np.flatnonzero(np.concatenate([[True], sizes[1:] != sizes[:-1]]))
    ties = np.diff(starts, append=values.size)
    ranks = np.cumsum(ties) - (ties - 1) / 2.0
    positive = float((ranks * np.add.reduceat(keys & 1, starts)).sum())
    return SignedRanks(positive, values.size, float((ties**3 - ties).sum()), is_plain=starts.size == known.size)


def signed_ranks_of(differences: Floats) -> list[SignedRanks]:
    """Return the signed ranks of each pair of (cases, pairs); the pairs without a tie are ranked all at once."""
    rows = np.ascontiguousarray(differences.T)
    n = rows.shape[1]
    if n == 0 or np.isnan(rows).any():
        return [signed_ranks(row) for row in rows]
    keys = _keys(rows)
    keys.sort(axis=1)
    sizes = keys >> 1
    zeros = n - np.count_nonzero(sizes, axis=1)
    # Zeros are equal to each other; any other two that are make a tie.
    tied = np.count_nonzero(sizes[:, 1:] == sizes[:, :-1], axis=1) > np.maximum(zeros - 1, 0)
    signs = (keys & 1).astype(np.float64)
    # Zeros stand first and have no rank: the others' ranks are their places behind them.
    positive = signs @ np.arange(1.0, n + 1.0) - zeros * signs.sum(axis=1)
    return [
        signed_ranks(rows[k])
        if tied[k]
        else SignedRanks(float(positive[k]), n - int(zeros[k]), 0.0, is_plain=not zeros[k])
        for k in range(len(rows))
    ]


def _keys(values: Floats) -> npt.NDArray[np.uint64]:
    """Return whole numbers in the order of the sizes of numbers, with their sign as the last bit.

    The bits of positive numbers are in the order of the numbers, and shifted by one they leave room for the sign: one
    sort of whole numbers then does what several passes over ranks would.
    """
    keys = np.abs(values).view(np.uint64)
    keys <<= np.uint64(1)
    keys |= values > 0
    return keys


def one_sided_wilcoxon(differences: Floats) -> tuple[Floats, Floats]:
    """Return the p-values that differences are greater, and that they are less, than 0.

    Normal approximation with continuity correction, as in R's `wilcox.test(exact=FALSE)`.
    """
    sums = signed_ranks_of(differences)
    up = np.array([_normal_tail(found, "greater", True) for found in sums])
    return up, np.array([_normal_tail(found, "less", True) for found in sums])


def _exact_tail(positive: float, n: int, alternative: Alternative) -> float:
    ways = np.array([1.0])
    for rank in range(1, n + 1):
        longer = np.zeros(ways.size + rank)
        longer[: ways.size] += ways
        longer[rank:] += ways
        ways = longer / 2.0
    greater = float(ways[int(np.ceil(positive)) :].sum())
    less = float(ways[: int(np.floor(positive)) + 1].sum())
    return {"greater": greater, "less": less, "two-sided": min(2.0 * min(greater, less), 1.0)}[alternative]


def _normal_tail(found: SignedRanks, alternative: Alternative, correction: bool) -> float:
    if found.n == 0:
        return 1.0
    n = found.n
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0 - found.ties / 48.0)
    step = 0.0
    if correction:
        step = {"two-sided": math.copysign(0.5, found.excess), "greater": 0.5, "less": -0.5}[alternative]
    z = (found.excess - step) / deviation
    if alternative == "two-sided":
        return min(2.0 * _normal_below(-abs(z)), 1.0)
    return _normal_below(-z if alternative == "greater" else z)


def _normal_below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def sign_flip(differences: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Return the two-sided p-values of the mean difference under random signs, one sign per case for all pairs.

    Exact (all 2**n signs) up to 12 cases, otherwise p = (1 + number at least as large) / (n_resamples + 1). NaN
    differences are left out.
    """
    values = np.where(np.isfinite(differences), differences, 0.0)
    whole, _ = fixed_point(values, len(values))
    n = len(values)
    # Sums that are equal but for the rounding of their n terms, as of 0.1 + 0.2 and 0.3, are as large as the observed.
    observed = np.abs(whole.sum(axis=0)) - n
    if n <= EXACT_FLIPS:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return np.asarray((np.abs(signs @ whole) >= observed).mean(axis=0))
    larger = np.zeros(observed.shape)
    for start in range(0, n_resamples, BLOCK):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (min(BLOCK, n_resamples - start), n))
        larger += (np.abs(signs @ whole) >= observed).sum(axis=0)
    return (1.0 + larger) / (n_resamples + 1.0)


def _ratio_or_infinite(numerator: Floats, denominator: Floats) -> Floats:
    ratio = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
    return np.where((denominator == 0) & (numerator > 0), np.inf, ratio)


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
