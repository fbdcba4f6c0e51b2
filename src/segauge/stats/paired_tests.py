"""Tests of paired differences, one function per test: (cases, pairs) in, one p-value per pair out.

They answer different questions. Student's t and the sign flip ask about the mean difference; Wilcoxon asks about the
typical case, and rejects with equal means too (20 % of the time at 20 cases, 58 % at 200).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

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
