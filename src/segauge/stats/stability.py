"""Stability: how much of the order would have come out with fewer cases (or with more of the same kind)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segauge.stats.matrix import ScoreMatrix
from segauge.stats.ranks import average_ranks, levelled
from segauge.stats.resampling import stream
from segauge.stats.schemes import kendall_tau

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
