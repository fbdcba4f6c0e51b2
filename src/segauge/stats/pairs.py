"""PairFacts, PairStatistics: the differences of all pairs of models and their resamples, block by block.

And confidence distributions of means: how the doubt about several means is spread, all of them together. A claim ("A is
better than B", "A is the best", "A and B differ by less than 0.01") is a region of means. The share of the distribution
outside of it is the probability that the claim is false, with no prior preference: where a claim lies just on its edge,
that probability is uniform between 0 and 1 over repeated test sets, which is what makes it honest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.scores import Scale
from segauge.stats.intervals import Limits, Moments, half_case_limits, share_limits
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.resampling import Draws, Floats, Sample, require_resamples, stream
from segauge.stats.significance import sign_test, step_down

#: Pairs of models whose differences are in memory at once.
PAIRS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class PairFacts:
    """One number per pair of models.

    Attributes:
        n: cases that both have a score for.
        units: independent units (cases, or patients) among them.
        means: mean difference; 0 without a case.
        errors: standard error of the mean, between units.
        deviations: standard deviation of the differences; 0 below two cases.
        wins: share of cases where the first is better, ties counting half; a half without a case.
        positive, negative: cases with a difference above and below 0.
        step: the absolute value of every difference that is not 0, where they have only one (ranks of two models, found
            or not), and cases are independent: a case then only says who is ahead. NaN otherwise.
        squares, below, above, worth: further moments of the differences, see `Moments`.

    """

    n: Floats
    units: Floats
    means: Floats
    errors: Floats
    deviations: Floats
    wins: Floats
    positive: Floats
    negative: Floats
    step: Floats
    squares: Floats
    below: Floats
    above: Floats
    worth: Floats

    @property
    def moments(self) -> Moments:
        """What the half-case interval of each pair is made of."""
        return Moments(self.units, self.means, self.squares, self.below, self.above, self.worth)

    @property
    def is_sign_only(self) -> npt.NDArray[np.bool_]:
        """Where a case only says who is ahead."""
        return ~np.isnan(self.step)

    @classmethod
    def of(cls, differences: Floats, clusters: npt.NDArray[np.intp] | None, scale: Scale) -> PairFacts:
        """Return the facts of (cases, pairs) differences; NaN is left out."""
        sample = Sample.of(differences, clusters)
        # Pair by pair in memory, so that each is summed as if it were alone.
        rows = np.ascontiguousarray(differences.T)
        present, moments = np.isfinite(rows), Moments.of(sample)
        sizes = present.sum(axis=1)
        ahead = (rows > 0 if scale.higher_is_better else rows < 0) & present
        wins = (ahead.sum(axis=1) + 0.5 * (rows == 0).sum(axis=1)) / np.maximum(sizes, 1)
        return cls(
            sizes,
            sample.units,
            sample.means,
            sample.standard_errors,
            _deviations(rows, present),
            np.where(sizes > 0, wins, 0.5),
            *_signs(rows, sizes == sample.units),
            moments.squares,
            moments.below,
            moments.above,
            moments.worth,
        )

    @classmethod
    def together(cls, parts: Sequence[PairFacts]) -> PairFacts:
        """Return the facts of several blocks of pairs as one."""
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))


def _signs(rows: Floats, independent: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return how many differences of each pair are above and below 0, and their absolute value if it is only one."""
    sizes = np.where(np.isfinite(rows), np.abs(rows), 0.0)
    step = sizes.max(axis=1, initial=0.0)
    # 0.9 - 0.8 and 0.8 - 0.7 are one value but for rounding.
    differs = sizes > 1e-9 * step[:, None]
    single = (~differs | (sizes >= (1.0 - 1e-9) * step[:, None])).all(axis=1) & (step > 0) & independent
    positive, negative = ((differs & (sign * rows > 0)).sum(axis=1).astype(np.float64) for sign in (1.0, -1.0))
    return positive, negative, np.where(single, step, np.nan)


def _deviations(rows: Floats, present: npt.NDArray[np.bool_]) -> Floats:
    if rows.shape[1] > 1 and present.all():
        return np.asarray(rows.std(axis=1, ddof=1))
    kept = [row[known] for row, known in zip(rows, present, strict=True)]
    return np.array([row.std(ddof=1) if row.size > 1 else 0.0 for row in kept])


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """Differences of all pairs of models and their resamples: what comparisons and rank sets are made of.

    Attributes:
        first, second: the models of each pair, by their places.
        facts: mean, standard error, cases and wins of each pair.
        statistics, resampled: the absolute t statistics of the pairs, observed and per resample.
        regularisation: what is added to each standard error.
        is_pair_by_pair: True if each pair is compared for itself: two models, or if not regularised.
        model_shifts: the models' resampled means minus their means, from the same resamples.
        matrix: the scores.

    """

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    facts: PairFacts
    statistics: Floats
    resampled: Floats
    regularisation: float
    is_pair_by_pair: bool
    model_shifts: Floats
    matrix: ScoreMatrix

    @property
    def errors(self) -> Floats:
        """The regularised standard error of each mean difference."""
        return self.facts.errors + self.regularisation

    def differences(self) -> Floats:
        """Return (cases, pairs): what the first model of each pair has more than the second; large for many models."""
        return self.matrix.differences(self.first, self.second)

    def sample(self) -> Sample:
        """Return the sample of all differences."""
        return Sample.of(self.differences(), self.matrix.cluster_numbers())

    def single_p_values(self) -> Floats:
        """Return the p-value of each pair by itself: the symmetric bootstrap-t, or the sign test.

        Where a case only says who is ahead, the bootstrap-t breaks down: a resample without the few cases on the other
        side has no spread at all. The sign test is exact there.
        """
        p = (1.0 + (self.resampled >= self.statistics).sum(axis=0)) / (len(self.resampled) + 1.0)
        return np.where(self.by_sign_test, sign_test(self.facts.positive, self.facts.negative), p)

    def joint_p_values(self) -> Floats:
        """Return p-values that hold for all pairs together: the step-down maximum."""
        if len(self.matrix.models) == 2:
            return self.single_p_values()
        return step_down(self.statistics, self.resampled)

    @property
    def by_sign_test(self) -> npt.NDArray[np.bool_]:
        """Which pairs are told apart by the sign test, where each pair stands for itself."""
        return self.facts.is_sign_only & self.is_pair_by_pair

    def alone_limits(self, level: float) -> Limits:
        """Return the interval of each pair alone: half-case of the paired differences, whoever else takes part."""
        lower, upper = self.matrix.mean_bounds
        widest, most = upper - lower, min(upper, self.matrix.most) - lower
        low, high = half_case_limits(self.facts.moments, (1.0 - level) / 2.0, (-widest, widest), most)
        return np.maximum(low, -most), high

    def sign_limits(self, level: float) -> tuple[Floats, Floats]:
        """Return the limits of the mean difference of each pair that go with the sign test; NaN for the others.

        Exact limits (Clopper & Pearson 1934) of the share of cases that are no tie, times those of the share of them
        where the first is ahead: they exclude 0 where the sign test does.
        """
        facts = self.facts
        decided = facts.positive + facts.negative
        fewest, most = share_limits(decided, facts.n, level)
        low, high = (2.0 * limit - 1.0 for limit in share_limits(facts.positive, decided, level))
        return facts.step * low * np.where(low > 0, fewest, most), facts.step * high * np.where(high > 0, most, fewest)


def pair_statistics(matrix: ScoreMatrix, n_resamples: int, seed: int, *, regularised: bool = True) -> PairStatistics:
    """Resample the differences of all pairs of models.

    d and se are the mean and standard error of a pair's differences, s0 the median se of all pairs that have one (0 for
    two models, or if not regularised); t = |d| / (se + s0), and per resample T = |d* - d| / (se* + s0). The
    regularisation s0 keeps a pair with a tiny standard error (two nearly equal models that differ on one case) from
    ruling the maximum.

    The pairs are taken by the block: a hundred models have 4950 of them, whose differences on thousands of cases would
    take gigabytes at once. All blocks share one set of draws, so that no number depends on the size of the blocks.
    """
    first, second = np.triu_indices(len(matrix.models), 1)
    clusters = matrix.cluster_numbers()
    units = len(matrix.cases) if clusters is None else int(clusters.max()) + 1
    draws = Draws.of(units, n_resamples, stream(seed, "cases"))
    facts = []
    shifts, errors = (np.empty((n_resamples, first.size), order="F") for _ in range(2))
    for start in range(0, first.size, PAIRS_AT_ONCE):
        block = slice(start, start + PAIRS_AT_ONCE)
        differences = matrix.differences(first[block], second[block])
        facts.append(PairFacts.of(differences, clusters, matrix.scale))
        if n_resamples:
            sample = Sample.of(np.ascontiguousarray(differences), clusters)
            shifts[:, block], errors[:, block] = sample.shifts_and_errors(draws.sums)
    known = PairFacts.together(facts)
    # Pairs with fewer than two cases in common have no standard error, and no say in that of the others.
    finite = known.errors[np.isfinite(known.errors)]
    regularisation = float(np.median(finite)) if finite.size and regularised and len(matrix.models) > 2 else 0.0
    models = Sample.of(np.ascontiguousarray(matrix.values), clusters)
    errors += regularisation
    return PairStatistics(
        first,
        second,
        known,
        _ratio(np.abs(known.means), known.errors + regularisation),
        _ratio(np.abs(shifts, out=shifts), errors),
        regularisation,
        not regularised or len(matrix.models) == 2,
        models.shifts_by(draws.sums) if n_resamples else np.empty((0, len(matrix.models))),
        matrix,
    )


def _ratio(shift: Floats, error: Floats) -> Floats:
    """Return shift / error: 0 where both are 0, infinite where only the error is."""
    ratio = np.divide(shift, error, out=np.zeros_like(shift), where=error > 0)
    ratio[(error == 0) & (shift > 0)] = np.inf
    return ratio


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
