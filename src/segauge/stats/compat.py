"""Ranking and pairwise comparison of segauge 0.2, kept so that published leaderboards come out to the last digit.

`p_best` is how often a model comes first among resamples, which is not the probability of being the best one; its rank
interval and the percentile interval of a pair are too narrow. `rank()` and `compare()` have better answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, ShapeMismatch
from segauge.metrics.catalog import described
from segauge.notebook import NotebookTable, Shown
from segauge.plural import counted
from segauge.stats.estimation import bootstrap_ci, one_column
from segauge.stats.matrix import average_ranks
from segauge.stats.resampling import Floats, index_blocks


@dataclass(frozen=True)
class RankStat:
    """One model: mean score, share of resamples won, mean rank, and the middle 95 % of its ranks over resamples."""

    name: str
    score: float
    p_best: float
    mean_rank: float
    rank_ci_low: float
    rank_ci_high: float


@dataclass(frozen=True)
class RankingResult(NotebookTable):
    """The models, best first."""

    higher_is_better: bool
    n_cases: int
    n_resamples: int
    stats: tuple[RankStat, ...]
    metric: str = ""

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        rows = [(s.name, s.score, s.p_best, s.mean_rank, s.rank_ci_low, s.rank_ci_high) for s in self.stats]
        header = ("model", "score", "won", "mean rank", "rank low", "rank high")
        return Shown(f"{self.metric} ({counted(self.n_cases, 'case')})".strip(), header, rows)


def ranking_stability(
    scores_by_model: Mapping[str, npt.ArrayLike],
    *,
    higher_is_better: bool | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
    metric: str = "",
) -> RankingResult:
    """Rank models on resampled cases, with the random stream of segauge 0.2.

    The scores must be of the same cases in the same order; a case where any model's score is not finite is left out
    for all. Which way is better is the metric's where its name is known and nothing else is said; otherwise higher is.
    Ties share the mean rank, and a shared first place counts in equal parts. Without a single complete case
    every number is NaN.
    """
    if higher_is_better is None:
        info = described(metric)
        higher_is_better = info is None or info.direction != "lower"
    names = list(scores_by_model)
    if not names:
        raise InvalidInput("Expected the scores of at least one model, got none.")
    columns = [one_column(scores_by_model[name]) for name in names]
    if len({column.size for column in columns}) != 1:
        sizes = ", ".join(f"{name} {column.size}" for name, column in zip(names, columns, strict=True))
        raise ShapeMismatch(f"Expected scores of the same cases for every model, got {sizes}.")
    values = np.column_stack(columns)
    values = np.ascontiguousarray(values[np.isfinite(values).all(axis=1)])
    if not len(values):
        empty = tuple(RankStat(name, *[math.nan] * 5) for name in names)
        return RankingResult(higher_is_better, 0, n_resamples, empty, metric)
    sign = 1.0 if higher_is_better else -1.0
    scores = values.mean(axis=0)
    ranks = average_ranks(sign * _resampled_means(values, n_resamples, seed))
    best = ranks == ranks.min(axis=1, keepdims=True)
    p_best = (best / best.sum(axis=1, keepdims=True)).sum(axis=0) / n_resamples
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
    stats = np.column_stack([scores, p_best, ranks.mean(axis=0), low, high])
    order = np.argsort(-sign * scores)
    return RankingResult(
        higher_is_better,
        len(values),
        n_resamples,
        tuple(RankStat(names[j], *(float(number) for number in stats[j])) for j in order),
        metric,
    )


def _resampled_means(values: Floats, n_resamples: int, seed: int) -> Floats:
    blocks = index_blocks(len(values), n_resamples, np.random.default_rng(seed))
    return np.concatenate([values[drawn].mean(axis=1) for drawn in blocks])


@dataclass(frozen=True)
class PairedComparison(NotebookTable):
    """Two models by the percentile bootstrap of their mean difference (segauge 0.2).

    `delta` is the mean of a - b; `favored` names the better one, or None if the interval holds 0.
    """

    a: str
    b: str
    delta: float | None
    ci_low: float | None
    ci_high: float | None
    favored: str | None
    distinguishable: bool

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        row = (f"{self.a} - {self.b}", self.delta, self.ci_low, self.ci_high, self.favored)
        return Shown("", ("pair", "difference", "low", "high", "better"), [row])


def paired_significance(
    a_scores: npt.ArrayLike,
    b_scores: npt.ArrayLike,
    *,
    a_name: str = "A",
    b_name: str = "B",
    higher_is_better: bool = True,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> PairedComparison:
    """Return the percentile bootstrap of the mean difference, with the random stream of segauge 0.2.

    The scores must be of the same cases in the same order; cases where one is not finite are left out. The interval
    is too narrow for small n (88 % instead of 95 % at 20 cases); `compare()` has a better one.
    """
    a, b = (one_column(scores) for scores in (a_scores, b_scores))
    if a.shape != b.shape:
        raise ShapeMismatch(f"Expected scores of the same cases in the same order, got {a.size} and {b.size} of them.")
    both = np.isfinite(a) & np.isfinite(b)
    found = bootstrap_ci(a[both] - b[both], confidence=confidence, n_resamples=n_resamples, seed=seed)
    apart = found.ci_low is not None and found.ci_high is not None and not found.ci_low <= 0.0 <= found.ci_high
    favored = None
    if apart and found.value is not None:
        favored = a_name if (found.value > 0) == higher_is_better else b_name
    return PairedComparison(a_name, b_name, found.value, found.ci_low, found.ci_high, favored, apart)
