"""Confidence distributions of means: how the doubt about several means is spread, all of them together.

A claim ("A is better than B", "A is the best", "A and B differ by less than 0.01") is a region of means. The share of
the distribution outside of it is the probability that the claim is false, with no prior preference: where a claim lies
just on its edge, that probability is uniform between 0 and 1 over repeated test sets, which is what makes it honest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.scores import Scale
from segauge.stats.intervals import Moments, half_case_limits
from segauge.stats.pairs import PairFacts
from segauge.stats.resampling import Floats, Sample, require_resamples, stream


@dataclass(frozen=True, eq=False)
class ConfidenceDistribution:
    """Draws of the means of several columns: each has the half-case limits as its quantiles.

    Attributes:
        means: of the columns.
        draws: (n_resamples, columns). How the columns go together is that of the studentised bootstrap: one resample
            of the cases for all columns.
        units: independent cases (patients) behind each column.

    """

    means: Floats
    draws: Floats
    units: Floats

    def probability(self, holds: npt.NDArray[np.bool_]) -> float:
        """Return the share of the draws where `holds` (one answer per draw) is True, never exactly 0 or 1."""
        return float((np.count_nonzero(holds) + 0.5) / (holds.size + 1.0))

    def interval(self, column: int = 0, *, level: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed interval of one mean."""
        tail = (1.0 - level) / 2.0
        low, high = np.quantile(self.draws[:, column], [tail, 1.0 - tail])
        return float(low), float(high)


def confidence_distribution(
    values: npt.ArrayLike,
    *,
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> ConfidenceDistribution:
    """Return the confidence distribution of the mean of every column.

    Args:
        values: (cases, columns), or one column; NaN is left out.
        cluster: one label per case; cases of one label (patient) are resampled together.
        n_resamples: draws.
        seed: of the resampling.
        bounds: smallest and largest possible mean.

    """
    require_resamples(n_resamples)
    data = np.asarray(values, dtype=np.float64)
    data = data[:, None] if data.ndim == 1 else data
    if np.isinf(data).any():
        raise InvalidInput("A failure without a value (infinity) has no mean; give it a value, such as a penalty.")
    labels = None if cluster is None else [str(label) for label in cluster]
    if labels is not None and len(labels) != len(data):
        raise InvalidInput(f"Expected one cluster label per case: {len(data)} cases, {len(labels)} labels.")
    sample = Sample.of(data, None if labels is None else np.unique(labels, return_inverse=True)[1])
    if (sample.units < 2).any():
        raise InvalidInput("A confidence distribution needs two independent cases or more in every column.")
    shift, error = sample.resampled(n_resamples, stream(seed, "confidence"))
    # A resample without any spread (one case drawn throughout) says nothing about t; its shift is 0 or tells the sign.
    t = np.divide(shift, error, out=np.zeros_like(shift), where=(error > 0) & np.isfinite(error))
    draws = sample.means - t * sample.standard_errors
    moments = Moments.of(sample)
    tails = (np.arange(n_resamples) + 0.5) / n_resamples
    for k in range(draws.shape[1]):
        low, high = half_case_limits(moments.column(k), np.minimum(tails, 1.0 - tails), bounds)
        if not np.isnan(low).any():  # values without any spread on an open scale say nothing
            draws[np.argsort(draws[:, k], kind="stable"), k] = np.where(tails < 0.5, low, high)
    return ConfidenceDistribution(sample.means, draws, sample.units)


def confidence_of_differences(
    differences: Floats,
    *,
    cluster: Sequence[str] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> ConfidenceDistribution:
    """Return the confidence distribution of the mean of every column of (cases, pairs) paired differences.

    Where a case only says who is ahead, a column takes the draws that go with the exact sign test, in the order of the
    others, so that the columns stay drawn together. `bounds` are those of a difference.
    """
    found = confidence_distribution(differences, cluster=cluster, n_resamples=n_resamples, seed=seed, bounds=bounds)
    labels = None if cluster is None else np.unique(cluster, return_inverse=True)[1]
    facts = PairFacts.of(differences, labels, Scale())
    draws = found.draws.copy()
    for k in np.flatnonzero(facts.is_sign_only):
        rng = stream(seed, "confidence", "signs", str(k))
        decided = facts.positive[k] + facts.negative[k]
        ahead = 2.0 * _share_draws(facts.positive[k], decided, n_resamples, rng) - 1.0
        exact = facts.step[k] * ahead * _share_draws(decided, facts.n[k], n_resamples, rng)
        draws[np.argsort(draws[:, k], kind="stable"), k] = np.sort(exact)
    return replace(found, draws=draws)


def _share_draws(count: float, total: float, size: int, rng: np.random.Generator) -> Floats:
    """Draw a share: from the two Beta distributions that its exact limits are quantiles of, half from each (mid-p)."""
    is_upper = rng.integers(0, 2, size)
    hits, others = count + is_upper, total - count + 1.0 - is_upper
    drawn = rng.beta(np.maximum(hits, 1.0), np.maximum(others, 1.0))
    return np.where(hits == 0, 0.0, np.where(others == 0, 1.0, drawn))
