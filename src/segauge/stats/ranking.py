"""Rankings that say how far they can be trusted: rank sets, tie groups, win probabilities, and the cases that decide.

One structure and one metric: `rank()`. Several of them and their consensus: `rank_tasks()` in `consensus`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from segauge.errors import InvalidInput
from segauge.notebook import NotebookTable, Shown
from segauge.plural import counted
from segauge.stats.comparison import (
    FEWEST_FOR_VERDICT,
    SIGN_TEST,
    Comparison,
    Intervals,
    comparable,
    compared,
)
from segauge.stats.estimation import Estimate, estimate_columns
from segauge.stats.matrix import ScoreMatrix, average_ranks, levelled
from segauge.stats.missing import Resolved
from segauge.stats.pairs import PairStatistics, pair_statistics
from segauge.stats.resampling import Floats, Sample, require_level, require_resamples, stream
from segauge.stats.schemes import SCHEMES, USUAL_SCHEMES, kendall_tau

#: Schemes that need nothing of a case but what it adds to a mean, and whether it failed.
_OF_MEANS = ("mean", "failures")


@dataclass(frozen=True)
class RankedModel:
    """One model's place.

    Attributes:
        name: the model.
        rank: by the ranking's scheme; ties share the mean rank.
        place: 1 + the number of models that are significantly better; models of one tie group share it.
        rank_low, rank_high: the ranks that the data do not exclude at the ranking's level.
        score: its mean with interval, n and failures.
        failure_share: share of its cases that failed.
        win_frequency: how often it comes first among resampled cases (*bootstrap win frequency*): too sure of itself.
            None of fewer than 10 cases (patients), which are too few to tell models apart.
        win_probability: chance to come first on a new set of as many cases (*replication win probability*); None
            likewise.
        mean_rank: its mean rank over the resamples.

    """

    name: str
    rank: float
    place: int
    rank_low: int
    rank_high: int
    score: Estimate
    failure_share: float
    win_frequency: float | None
    win_probability: float | None
    mean_rank: float


@dataclass(frozen=True)
class Flip:
    """A case without which the order would be another one: the new winner (None if the same), and ranks that move."""

    case: str
    winner: str | None
    moved: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Ranking(NotebookTable):
    """Models from best to worst, and how far the order can be trusted.

    Attributes:
        models: best first.
        scheme: the scheme of the ranks.
        rule: what makes models share a place.
        comparison: all pairs.
        flips: the cases whose removal changes the winner or any rank.
        flip_share: share of single removals that change some rank.
        schemes: per scheme the rank of each model.
        agreement: Kendall's tau between each two schemes; None where one of them ties all.
        tau: mean and lower 2.5 % of Kendall's tau between this order and that of resampled cases; None where all tie.
        is_by_ranks: True if all numbers are ranks within the cases, because failures have no value: no mean is in the
            unit of the metric.

    """

    models: tuple[RankedModel, ...]
    scheme: str
    rule: str
    comparison: Comparison
    flips: tuple[Flip, ...]
    flip_share: float
    schemes: Mapping[str, Mapping[str, float]]
    agreement: Mapping[tuple[str, str], float | None]
    tau: tuple[float, float] | tuple[None, None]
    level: float
    n_cases: int
    n_resamples: int
    seed: int
    title: str = ""
    notes: tuple[str, ...] = ()
    is_by_ranks: bool = False

    @property
    def winners(self) -> tuple[str, ...]:
        """The models that share the first place: none is significantly better."""
        return tuple(model.name for model in self.models if model.place == 1)

    @property
    def deciding_cases(self) -> tuple[str, ...]:
        """The cases without which another model would come first."""
        return tuple(flip.case for flip in self.flips if flip.winner is not None)

    def __getitem__(self, name: str) -> RankedModel:
        """Return one model by its name."""
        for model in self.models:
            if model.name == name:
                return model
        raise InvalidInput(f"No model {name!r} in this ranking; there are {', '.join(m.name for m in self.models)}.")

    def __str__(self) -> str:
        width = max(len(model.name) for model in self.models)
        lines = [
            f"{model.place:>3}  {model.name:<{width}}  {model.score}  ranks {model.rank_low}-{model.rank_high}"
            for model in self.models
        ]
        return "\n".join([f"{self.title} ({counted(self.n_cases, 'case')})".strip(), *lines, self.rule])

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        rows = [(m.place, m.name, str(m.score), f"{m.rank_low}-{m.rank_high}") for m in self.models]
        title = f"{self.title} ({counted(self.n_cases, 'case')}). {self.rule}".strip()
        return Shown(title, ("place", "model", "score", "possible ranks"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            "title": self.title,
            "scheme": self.scheme,
            "rule": self.rule,
            "level": self.level,
            "n_cases": self.n_cases,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "notes": list(self.notes),
            "models": [{**vars(model), "score": model.score.to_dict()} for model in self.models],
            "comparison": self.comparison.to_dict(),
            "flip_share": self.flip_share,
            "flips": [
                {"case": f.case, "winner": f.winner, "moved": {m: list(r) for m, r in f.moved.items()}}
                for f in self.flips
            ],
            "schemes": {key: dict(ranks) for key, ranks in self.schemes.items()},
            "agreement": [{"schemes": list(pair), "kendall_tau": tau} for pair, tau in self.agreement.items()],
            "kendall_tau_over_resamples": {"mean": self.tau[0], "lower": self.tau[1]},
        }


def rank(
    scores: Mapping[str, Any] | ScoreMatrix,
    *,
    scheme: str = "mean",
    schemes: Sequence[str] = USUAL_SCHEMES,
    ci: str = "auto",
    level: float = 0.95,
    margin: float | None = None,
    higher_is_better: bool | None = None,
    bounds: tuple[float, float] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    intervals: Intervals = "agreeing",
    **selection: Any,
) -> Ranking:
    """Rank models on the same cases, and say how far the order can be trusted.

    The order is that of `scheme`; rank sets, tie groups and win probabilities speak of the mean score. Where failures
    have no value (a distance without penalty), all of it is computed on the ranks within each case, failures last.

    Args:
        scores: as in `compare`.
        scheme: the scheme of the printed order, a key of `segauge.stats.SCHEMES`.
        schemes: further schemes to compare it with.
        ci: interval method of each model's mean, as in `estimate`.
        level: of intervals, rank sets and verdicts.
        margin: practical equivalence, as in `compare`.
        higher_is_better: which way is better, where no metric says it; plain values without a metric are taken as
            higher is better.
        bounds: ends of the scale, where they are not those of the metric.
        n_resamples: resamples of cases, the same for all models.
        seed: of the resampling.
        intervals: of the pairs, as in `compare`.
        **selection: `structure`, `metric`, `scale`, `policy`, `cases`, `cluster`, as in `score_matrix`.

    """
    require_level(level)
    require_resamples(n_resamples)
    for key in (scheme, *schemes):
        if key not in SCHEMES:
            raise InvalidInput(f"No ranking scheme {key!r}; there are {', '.join(SCHEMES)}.")
    matrix = comparable(scores, higher_is_better, bounds, selection)
    return rank_matrix(matrix, scheme, schemes, ci, level, margin, n_resamples, seed, intervals)


def rank_matrix(
    matrix: ScoreMatrix,
    scheme: str,
    schemes: Sequence[str],
    ci: str,
    level: float,
    margin: float | None,
    n_resamples: int,
    seed: int,
    intervals: Intervals = "agreeing",
) -> Ranking:
    """Rank the models of a matrix that has a mean for each of them."""
    pairs = pair_statistics(matrix, n_resamples, seed)
    comparison = compared(matrix, pairs, level, margin, n_resamples, seed, intervals=intervals)
    if matrix.linearised:
        # No case has a score of its own there: a median, ranks within cases and tests of them would mean nothing.
        scheme, schemes = "mean", [key for key in schemes if key in _OF_MEANS]
    ranks = {key: SCHEMES[key].function(matrix) for key in dict.fromkeys((scheme, *schemes))}
    sign = 1.0 if matrix.scale.higher_is_better else -1.0
    means, shifts = sign * np.nanmean(matrix.values, axis=0), sign * pairs.model_shifts
    resampled = average_ranks(means + shifts)
    low, high = rank_sets(matrix, pairs, level)
    level_means = levelled(means)
    order = sorted(range(means.size), key=lambda j: (ranks[scheme][j], -level_means[j], matrix.models[j]))
    flips, flip_share = leave_one_out(matrix)
    shares = matrix.failure_shares
    frequency = _chances(matrix, resampled)
    replication = _chances(matrix, average_ranks(means + np.sqrt(2.0) * shifts))
    estimates = _estimates(matrix, ci, level, n_resamples, seed)
    tau = kendall_tau(average_ranks(means), resampled)
    return Ranking(
        models=tuple(
            RankedModel(
                name=matrix.models[j],
                rank=float(ranks[scheme][j]),
                place=int(low[j]),
                rank_low=int(low[j]),
                rank_high=int(high[j]),
                score=estimates[j],
                failure_share=float(shares[j]),
                win_frequency=frequency[j],
                win_probability=replication[j],
                mean_rank=float(resampled[:, j].mean()),
            )
            for j in order
        ),
        scheme=scheme,
        rule=_rule(matrix, pairs, level),
        comparison=comparison,
        flips=flips,
        flip_share=flip_share,
        schemes={key: dict(zip(matrix.models, map(float, found), strict=True)) for key, found in ranks.items()},
        agreement=_agreement(ranks),
        tau=_tau_summary(tau),
        level=level,
        n_cases=len(matrix.cases),
        n_resamples=n_resamples,
        seed=seed,
        title=matrix.title,
        notes=comparison.notes,
        is_by_ranks=matrix.is_ranks,
    )


def rank_sets(matrix: ScoreMatrix, pairs: PairStatistics, level: float) -> tuple[Floats, Floats]:
    """Return per model the lowest and highest rank that the data do not exclude.

    All pairs are tested together, as in the comparison, so that rank sets, places and verdicts cannot disagree: a rank
    is at least 1 + the number of models that are significantly better, and at most their number minus those that are
    significantly worse. Pairs with fewer than 10 cases exclude nothing.
    """
    count = len(matrix.models)
    told_apart = (pairs.joint_p_values() < 1.0 - level) & (pairs.facts.units >= FEWEST_FOR_VERDICT)
    first_leads = pairs.facts.means > 0 if matrix.scale.higher_is_better else pairs.facts.means < 0
    better = np.where(first_leads, pairs.first, pairs.second)[told_apart]
    worse = np.where(first_leads, pairs.second, pairs.first)[told_apart]
    low, high = 1 + np.bincount(worse, minlength=count), count - np.bincount(better, minlength=count)
    return low.astype(np.float64), high.astype(np.float64)


def leave_one_out(matrix: ScoreMatrix) -> tuple[tuple[Flip, ...], float]:
    """Return the cases whose removal changes any rank by the mean, and the share of removals that do."""
    sign = 1.0 if matrix.scale.higher_is_better else -1.0
    without = sign * matrix.means_without()
    before = average_ranks(levelled(sign * matrix.means))
    after = average_ranks(levelled(without))
    changed = np.flatnonzero((after != before).any(axis=1) & ~np.isnan(without).any(axis=1))
    flips = []
    for i in changed:
        winner = int(np.argmin(after[i]))
        # One that was first and still is, be it beside another, has not lost.
        is_new = not ((before == before.min()) & (after[i] == after[i].min())).any()
        moved = {matrix.models[j]: (float(before[j]), float(after[i, j])) for j in np.flatnonzero(after[i] != before)}
        flips.append(Flip(matrix.cases[i], matrix.models[winner] if is_new else None, moved))
    return tuple(flips), len(flips) / max(len(matrix.cases), 1)


def _chances(matrix: ScoreMatrix, ranks: Floats) -> list[float] | list[None]:
    """Return how often each model is first; a shared first place counts in equal parts. None of too few cases."""
    if _units(matrix) < FEWEST_FOR_VERDICT:
        return [None] * len(matrix.models)
    best = ranks == ranks.min(axis=1, keepdims=True)
    shares: list[float] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return shares


def _units(matrix: ScoreMatrix) -> int:
    """Return how many independent cases, or patients, there are."""
    return len(matrix.cases if matrix.clusters is None else set(matrix.clusters))


def _rule(matrix: ScoreMatrix, pairs: PairStatistics, level: float) -> str:
    units = _units(matrix)
    if units < FEWEST_FOR_VERDICT:
        few = counted(units, "case" if matrix.clusters is None else "patient")
        verb = "is" if units == 1 else "are"
        return f"All models are tied: {few} {verb} too few for a verdict (at least {FEWEST_FOR_VERDICT})."
    if len(matrix.models) == 2:
        test = SIGN_TEST if pairs.by_sign_test.any() else "symmetric bootstrap-t"
    else:
        test = f"regularised max-t, step-down over all {pairs.first.size} pairs"
    return (
        f"A model's place is 1 + the number of models that are significantly better than it ({test}, "
        f"{100 * level:g} %)."
    )


def _estimates(matrix: ScoreMatrix, ci: str, level: float, n_resamples: int, seed: int) -> list[Estimate]:
    found = estimate_columns(
        matrix.values, bounds=matrix.mean_bounds, higher_is_better=matrix.scale.higher_is_better, ci=ci, level=level,
        cluster=matrix.clusters, n_resamples=n_resamples, seed=seed, name=matrix.title, unit=matrix.scale.unit,
        linearised=matrix.linearised, failures=matrix.failed, most=matrix.most,
    )  # fmt: skip
    columns = [matrix.columns.get(name, Resolved(matrix.values[:, j])) for j, name in enumerate(matrix.models)]
    return [
        replace(
            result,
            excluded=dict(column.excluded),
            failed={**column.failed, **column.behind},
            policy=str(column.policy) if matrix.columns else "",
        )
        for result, column in zip(found, columns, strict=True)
    ]


def _agreement(ranks: Mapping[str, Floats]) -> dict[tuple[str, str], float | None]:
    keys = list(ranks)
    found: dict[tuple[str, str], float | None] = {}
    for i, one in enumerate(keys):
        for other in keys[i + 1 :]:
            tau = float(kendall_tau(ranks[one], ranks[other])[0])
            found[one, other] = None if np.isnan(tau) else tau
    return found


def _tau_summary(tau: Floats) -> tuple[float, float] | tuple[None, None]:
    known = tau[~np.isnan(tau)]
    if not known.size:
        return None, None
    return float(known.mean()), float(np.quantile(known, 0.025))


def rank_frequencies(matrix: ScoreMatrix, *, n_resamples: int = 10_000, seed: int = 0) -> dict[str, dict[float, float]]:
    """Return per model how often it has each rank over resampled cases: the resamples that `rank` makes of them."""
    made = comparable(matrix, None, None, {})
    sign = 1.0 if made.scale.higher_is_better else -1.0
    # The very resamples that `pair_statistics` draws: the sums are exact, whatever other columns there are.
    shifts = Sample.of(made.values, made.cluster_numbers()).shifts(n_resamples, stream(seed, "cases"))
    ranks = average_ranks(sign * (np.nanmean(made.values, axis=0) + shifts))
    shares = {}
    for model, column in zip(made.models, ranks.T, strict=True):
        values, counts = np.unique(column, return_counts=True)
        shares[model] = {float(r): float(c) / len(ranks) for r, c in zip(values, counts, strict=True)}
    return shares
