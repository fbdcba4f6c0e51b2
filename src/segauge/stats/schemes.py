"""Ranking schemes: ways to order models by per-case scores, how far orders agree, and how an order settles.

Each scheme takes a `ScoreMatrix` and returns one rank per model: 1 is best, ties share the mean of their ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.stats.matrix import ScoreMatrix, average_ranks, levelled
from segauge.stats.resampling import Floats, stream
from segauge.stats.significance import holm, one_sided_wilcoxon, uncorrected

#: Pairs of models that are tested at once: all of a hundred models' would take gigabytes.
_PAIRS_AT_ONCE = 256
#: Orders that are compared with another at once.
_ORDERS_AT_ONCE = 64


@dataclass(frozen=True)
class RankingScheme:
    """The facts of one scheme."""

    key: str
    definition: str
    function: Callable[[ScoreMatrix], Floats]


def by_mean(matrix: ScoreMatrix) -> Floats:
    """Rank by the mean score (aggregate, then rank)."""
    return average_ranks(levelled(np.nanmean(matrix.better, axis=0)))


def by_median(matrix: ScoreMatrix) -> Floats:
    """Rank by the median score (aggregate, then rank); a failure without a value is worse than any value."""
    return average_ranks(np.nanmedian(_failures_worst(matrix), axis=0))


def by_mean_rank(matrix: ScoreMatrix) -> Floats:
    """Rank the models within each case, failures last, then rank by the mean of these ranks.

    Without a case that every model has, all tie.
    """
    ranks = matrix.as_ranks().values
    return average_ranks(levelled(-ranks.sum(axis=0) / max(len(ranks), 1)))


def by_tests_won(matrix: ScoreMatrix) -> Floats:
    """Rank by how many models each one beats: one-sided Wilcoxon signed-rank tests, Holm over all of them, 5 %.

    The tests are those of challengeR's test-then-rank (normal approximation with continuity correction). challengeR
    itself corrects for nothing by default: that is the scheme "test-then-rank-uncorrected".
    """
    return _ranks_by_tests(matrix, holm)


def by_uncorrected_tests_won(matrix: ScoreMatrix) -> Floats:
    """Rank by how many models each one beats: one-sided Wilcoxon signed-rank tests at 5 % each, without correction.

    The default of challengeR (`testThenRank(..., p.adjust.method = "none")`); see "test-then-rank" for ours.
    """
    return _ranks_by_tests(matrix, uncorrected)


def _ranks_by_tests(matrix: ScoreMatrix, correct: Callable[[npt.ArrayLike], Floats]) -> Floats:
    """Return the ranks by the number of one-sided tests won at 5 %, after a correction over all of them."""
    first, second = np.triu_indices(len(matrix.models), 1)
    largest = _largest_difference(_failures_worst(matrix)) if matrix.has_failures_without_value else None
    up, down = [], []
    for start in range(0, first.size, _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        p_values = one_sided_wilcoxon(_differences(matrix, first[block], second[block], largest))
        up.append(p_values[0])
        down.append(p_values[1])
    significant = correct(np.concatenate([*up, *down])) < 0.05
    winners = np.concatenate([first, second])[significant]
    return average_ranks(np.bincount(winners, minlength=len(matrix.models)).astype(np.float64))


def _differences(
    matrix: ScoreMatrix, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp], largest: float | None
) -> Floats:
    """Return by how much the first of each pair is better; with failures that have no value, these are behind by most.

    Two failures are a tie, and a failure against a value, or against nothing found where there is nothing, the largest
    difference of all.
    """
    if largest is None:
        sign = 1.0 if matrix.scale.higher_is_better else -1.0
        return sign * matrix.differences(first, second)
    worst = _failures_worst(matrix)
    if matrix.absent is not None:
        worst = np.where(matrix.absent & matrix.false_findings[:, None], np.inf, worst)
    with np.errstate(invalid="ignore"):
        differences = worst[:, first] - worst[:, second]
    tied = (worst[:, first] == worst[:, second]) & ~np.isposinf(worst[:, first])
    differences[tied] = 0.0
    return np.clip(differences, -largest, largest, out=differences)


def _largest_difference(better: Floats) -> float:
    """Return twice the largest difference of any two models on a case, and at least 2."""
    known = np.isfinite(better)
    high = np.where(known, better, -np.inf).max(axis=1, initial=-np.inf)
    low = np.where(known, better, np.inf).min(axis=1, initial=np.inf)
    spans = (high - low)[known.any(axis=1)]
    return 2.0 * float(spans.max(initial=1.0))


def by_failures(matrix: ScoreMatrix) -> Floats:
    """Rank by the share of failed cases, fewest first."""
    return average_ranks(-matrix.failure_shares)


def _failures_worst(matrix: ScoreMatrix) -> Floats:
    return np.where(np.isinf(matrix.values), -np.inf, matrix.better)


SCHEMES: dict[str, RankingScheme] = {
    scheme.key: scheme
    for scheme in (
        RankingScheme("mean", by_mean.__doc__ or "", by_mean),
        RankingScheme("median", by_median.__doc__ or "", by_median),
        RankingScheme("rank-then-mean", by_mean_rank.__doc__ or "", by_mean_rank),
        RankingScheme("test-then-rank", by_tests_won.__doc__ or "", by_tests_won),
        RankingScheme("test-then-rank-uncorrected", by_uncorrected_tests_won.__doc__ or "", by_uncorrected_tests_won),
        RankingScheme("failures", by_failures.__doc__ or "", by_failures),
    )
}

#: What `rank` compares if nobody says otherwise: one scheme of each kind.
USUAL_SCHEMES = tuple(key for key in SCHEMES if key != "test-then-rank-uncorrected")


def kendall_tau(ranks: Floats, others: Floats) -> Floats:
    """Return Kendall's tau-b between one ranking and each row of others: 1 same order, -1 reversed; NaN if all tie."""
    first, second = np.triu_indices(ranks.size, 1)
    one = np.sign(ranks[first] - ranks[second])
    count = float(np.count_nonzero(one))
    rows = np.atleast_2d(others)
    tau = np.full(len(rows), np.nan)
    for start in range(0, len(rows), _ORDERS_AT_ONCE):
        block = rows[start : start + _ORDERS_AT_ONCE]
        many = np.sign(block[:, first] - block[:, second])
        scale = np.sqrt(np.count_nonzero(many, axis=1) * count)
        np.divide(many @ one, scale, out=tau[start : start + len(block)], where=scale > 0)
    return tau


#: Sizes of test sets that are tried, as far as they make sense.
SIZES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
#: Test sets drawn per size.
DRAWS = 1000


@dataclass(frozen=True)
class OrderStability:
    """How orders of the models on test sets of different sizes agree with the order on all cases.

    Attributes:
        sizes: cases drawn, with replacement, from those there are; sizes beyond them stand for more cases like these.
        tau, tau_low, tau_high: mean and middle 90 % of Kendall's tau with the order on all cases.
        same_winner: share of drawn test sets with the winner of all cases.
        winner: of all cases.
        n_cases: how many there are.

    """

    sizes: tuple[int, ...]
    tau: tuple[float, ...]
    tau_low: tuple[float, ...]
    tau_high: tuple[float, ...]
    same_winner: tuple[float, ...]
    winner: str
    n_cases: int


def order_stability(matrix: ScoreMatrix, *, draws: int = DRAWS, seed: int = 0) -> OrderStability | None:
    """Return how the order by the mean settles with the number of cases.

    None for fewer than 5 complete cases, and where all models tie, which is no order.

    Only cases that every model has a number for, or rightly found nothing where another did not. The order on all
    cases is taken for the true one, so the curves are on the hopeful side, the more so the closer a size comes to the
    number of cases.
    """
    kept = matrix.select(matrix.is_rankable)
    values, known = np.nan_to_num(kept.better, nan=0.0), ~np.isnan(kept.values)
    n = len(values)
    if n < SIZES[0] or np.isinf(kept.values).any() or len(kept.models) < 2 or not known.any(axis=0).all():
        return None
    order = average_ranks(levelled(values.sum(axis=0) / known.sum(axis=0)))
    if (order == order[0]).all():
        return None
    # A size close to the number of cases would only show the noise of the draws.
    sizes = sorted({size for size in SIZES if size <= 2 * n and not 0.75 * n < size < 1.4 * n} | {n})
    taus, wins = [], []
    for size in sizes:
        counts = stream(seed, "stability", str(size)).multinomial(size, np.full(n, 1.0 / n), draws)
        with np.errstate(invalid="ignore"):
            means = (counts @ values) / (counts @ known)
        # A model that rightly found nothing in every case that was drawn is not beaten by anyone there.
        ranks = average_ranks(np.where(np.isnan(means), np.inf, means))
        found = kendall_tau(order, ranks)
        taus.append(found[~np.isnan(found)] if (~np.isnan(found)).any() else np.zeros(1))
        wins.append(float((ranks[:, order.argmin()] == ranks.min(axis=1)).mean()))
    return OrderStability(
        tuple(sizes),
        tuple(float(found.mean()) for found in taus),
        tuple(float(np.quantile(found, 0.05)) for found in taus),
        tuple(float(np.quantile(found, 0.95)) for found in taus),
        tuple(wins),
        kept.models[int(order.argmin())],
        n,
    )
