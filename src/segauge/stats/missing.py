"""Cases without a number: what each of them counts as, by named policies, in every result.

A structure may be missed, spurious, absent, its prediction missing, unreadable or refused. None of these is dropped
silently: a case either counts (at the scale's worst value, at a penalty, or behind all others) or is left out and
counted by its reason. Where the ground truth cannot be read, no model has failed: such a case is always left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, UnknownMetric
from segauge.metrics.catalog import CATALOG, described
from segauge.scores import NO_GROUND_TRUTH, Scale, ScoreTable, Status
from segauge.stats.estimation import Estimate, estimate_columns
from segauge.stats.resampling import Floats


def is_measurement(metric: str) -> bool:
    """Return True for a metric that is known to be a plain measurement (a volume), of which none is better."""
    info = described(metric)
    return info is not None and info.direction == "none"


def counts_where_absent(metric: str) -> bool:
    """Return True for a metric that has a value where there is nothing to find and nothing was found."""
    info = described(metric)
    return info is not None and info.when_absent is not None


def scale_of(metric: str) -> Scale:
    """Return the scale of a metric known by name; an unknown one, or one that is no score, is refused."""
    info = described(metric)
    if info is None or info.direction == "none":
        what = "is not known" if info is None else "makes no sense to ask: it is a measurement, not a score"
        raise UnknownMetric(
            f"Whether a higher {metric!r} is better {what}. Pass it (higher_is_better=True or False, and the bounds of "
            f"its scale), or use a known name: {', '.join(list(CATALOG)[:12])}, ..."
        )
    return info.scale


def told_scale(metric: str, higher_is_better: bool | None, bounds: tuple[float, float] | None) -> Scale:
    """Return the scale of scores: that of their metric where it has a known name, otherwise what was told.

    Without a name and without a word, higher is better. A direction that is not that of the metric is refused.
    """
    if higher_is_better is None and metric:
        known = scale_of(metric)
        return known if bounds is None else replace(known, bounds=bounds)
    info = described(metric) if metric else None
    if info is None or info.direction == "none":
        return Scale(higher_is_better is not False, bounds or (-math.inf, math.inf))
    if higher_is_better != (info.direction == "higher"):
        raise InvalidInput(
            f"higher_is_better={higher_is_better}, but a {info.direction} {metric} is better; leave it out, or pass "
            "scale=Scale(...) if the scores are no such thing."
        )
    return told_scale(metric, None, bounds)


FailedPolicy = Literal["auto", "worst", "penalty", "last", "exclude"]
AbsentPolicy = Literal["exclude", "perfect"]
MissingPredictionPolicy = Literal["failed", "exclude"]


@dataclass(frozen=True)
class MissingPolicy:
    """What a case without a number counts as.

    Attributes:
        failed: for missed, spurious, missing, unreadable and refused cases. "worst": the worst value of a bounded
            scale (0 for Dice and NSD). "penalty": a finite value given in `penalty`, such as the image diagonal in
            mm, on scales without a worst value ("worst" on the others).
            "last": no value, but behind every case that has one wherever cases are ranked. "auto": "worst" on a
            bounded scale, "penalty" where one is given, otherwise "last". These four are about cases without a value:
            the Dice 0 of a missed structure stays. "exclude": every failed case is left out and counted, also one
            that has a value, so that all metrics speak of the same cases; a model then gains by failing on its
            hardest ones.
        absent: for cases where neither mask has the structure, and metrics without a value then (volumes and counts of
            lesions are 0). "exclude": left out and counted; "perfect": the best value of the scale.
        penalty: one value for all cases, or one per case id.
        missing: for cases without a prediction. "failed": as `failed` says; "exclude": left out and counted, for a
            model that was run on a part of the dataset on purpose.

    """

    failed: FailedPolicy = "auto"
    absent: AbsentPolicy = "exclude"
    penalty: float | Mapping[str, float] | None = None
    missing: MissingPredictionPolicy = "failed"

    def __post_init__(self) -> None:
        if self.failed not in ("auto", "worst", "penalty", "last", "exclude"):
            raise InvalidInput(f"No policy failed={self.failed!r}; there are auto, worst, penalty, last, exclude.")
        if self.absent not in ("exclude", "perfect"):
            raise InvalidInput(f"No policy absent={self.absent!r}; there are exclude, perfect.")
        if self.missing not in ("failed", "exclude"):
            raise InvalidInput(f"No policy missing={self.missing!r}; there are failed, exclude.")
        if self.failed == "penalty" and self.penalty is None:
            raise InvalidInput(
                'failed="penalty" needs penalty=, such as the image diagonal in mm (one, or per case id).'
            )
        for value in self.penalty.values() if isinstance(self.penalty, Mapping) else (self.penalty,):
            if value is not None and not math.isfinite(value):
                raise InvalidInput(
                    f'penalty: expected finite numbers, got {value!r}; failed="exclude" leaves cases out.'
                )

    def for_scale(self, scale: Scale) -> MissingPolicy:
        """Return this policy with "auto" decided for a scale."""
        if self.failed == "worst" and not math.isfinite(scale.worst):
            raise InvalidInput('failed="worst" needs a scale with a worst value; use "penalty", "last" or "exclude".')
        if self.absent == "perfect" and not math.isfinite(scale.best):
            raise InvalidInput('absent="perfect" needs a scale with a best value; use absent="exclude".')
        bounded = math.isfinite(scale.worst)
        # A penalty is in the unit of a distance; a bounded scale has a worst value of its own.
        if self.failed not in ("auto", "penalty") or (self.failed == "penalty" and not bounded):
            return self
        return replace(self, failed="worst" if bounded else "last" if self.penalty is None else "penalty")

    @property
    def sentence(self) -> str:
        """What the policy does, as a sentence for readers; of a policy that a scale has decided."""
        failed = {
            "auto": "a failed case counts as the worst value where there is one, and ranks last otherwise",
            "worst": "a failed case counts as the worst value",
            "penalty": "a failed case counts as the penalty",
            "last": "a failed case has no value, and ranks behind all others",
            "exclude": "failed cases are left out",
        }[self.failed]
        absent = "count as perfect" if self.absent == "perfect" else "are left out where they have no value"
        missing = "; cases without a prediction are left out" if self.missing == "exclude" else ""
        return f"{failed[0].upper()}{failed[1:]}; cases without the structure {absent}{missing}."

    def __str__(self) -> str:
        missing = "" if self.missing == "failed" else f", missing={self.missing}"
        return f"failed={self.failed}, absent={self.absent}{missing}"


AUTO = MissingPolicy()


@dataclass(frozen=True)
class Resolved:
    """One column after a policy: NaN is left out, infinity is a failure without a value.

    `is_failure` marks the cases that failed and stay in. By status: `excluded` counts the cases left out, `failed` the
    failures that have a value (the worst one, or a penalty), `behind` those that have none and stand behind all others.
    """

    values: Floats
    excluded: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    behind: Mapping[str, int] = field(default_factory=dict)
    policy: MissingPolicy = AUTO
    is_failure: npt.NDArray[np.bool_] | None = None


def resolve(
    table: ScoreTable, structure: str, metric: str, *, scale: Scale | None = None, policy: MissingPolicy = AUTO
) -> Resolved:
    """Return the values of one structure and metric with the policy applied to every case without a number."""
    states = table.status[:, table.structures.index(structure)]
    if is_measurement(metric):  # none of its values is the best one, which an absent structure could count as
        policy = replace(policy, absent="exclude")
    return resolve_column(
        table.column(structure, metric), states, table.cases, scale or scale_of(metric), policy,
        counts=counts_where_absent(metric), neither=counting_neither_way(table, structure, metric),
    )  # fmt: skip


def counting_neither_way(table: ScoreTable, structure: str, metric: str) -> frozenset[str]:
    """Return the cases whose missing value counts neither for nor against the model, whatever the policy."""
    return frozenset(
        place[0]
        for place, found in table.missing.items()
        if place[1:] in ((structure,), (structure, metric)) and found.counts_as == "nothing"
    )


def resolve_column(
    column: Floats,
    states: npt.NDArray[np.object_],
    cases: Sequence[str],
    scale: Scale,
    policy: MissingPolicy,
    *,
    counts: bool = False,
    neither: Collection[str] = (),
) -> Resolved:
    """Return one column of values and statuses with the policy applied to every case without a number.

    `counts`: the metric has a number where nothing is to be found and nothing was, such as 0 ml invented; it stays.
    `neither`: cases whose missing value is left out by every policy: the metric is not defined there, or no one looked
    for the structure.
    """
    decided = policy.for_scale(scale)
    absent = np.asarray(states == Status.ABSENT, dtype=bool)
    failures = ~absent & np.asarray(states != Status.PRESENT, dtype=bool)
    for status in NO_GROUND_TRUTH:
        failures &= np.asarray(states != status, dtype=bool)
    if policy.missing == "exclude":
        failures &= np.asarray(states != Status.PREDICTION_MISSING, dtype=bool)
    silent = absent & np.isnan(column) if counts else absent
    if neither:
        uncounted = np.array([case in neither for case in cases]) & np.isnan(column)
        silent &= ~uncounted
        failures &= ~uncounted
    values = np.where(silent, scale.best if decided.absent == "perfect" else np.nan, column)
    if decided.failed == "exclude":
        values[failures] = np.nan
    for i in np.flatnonzero(failures & np.isnan(values)):
        values[i] = _failure_value(cases[int(i)], decided, scale)
    return Resolved(
        values,
        excluded=_by_reason(states, np.isnan(values)),
        failed=_by_reason(states, failures & np.isfinite(values)),
        behind=_by_reason(states, np.isinf(values)),
        policy=decided,
        is_failure=failures & ~np.isnan(values),
    )


def largest_penalty(policy: MissingPolicy, scale: Scale) -> float:
    """Return the largest penalty of a policy, which stands for the largest possible distance; infinite without one."""
    if policy.for_scale(scale).failed != "penalty" or policy.penalty is None or scale.higher_is_better:
        return math.inf
    penalties = policy.penalty.values() if isinstance(policy.penalty, Mapping) else (policy.penalty,)
    return max(penalties, default=math.inf)


def failures_of(column: Resolved, scale: Scale) -> npt.NDArray[np.bool_]:
    """Return which cases of a column failed: by their status, without a value, or at the scale's worst value."""
    worst: npt.NDArray[np.bool_] = (column.values == scale.worst) | np.isinf(column.values)
    return worst if column.is_failure is None else worst | column.is_failure


def _failure_value(case: str, policy: MissingPolicy, scale: Scale) -> float:
    if policy.failed == "worst":
        return scale.worst
    if policy.failed == "last":
        return math.inf
    if policy.failed == "exclude":
        return math.nan
    if not isinstance(policy.penalty, Mapping):
        return float(policy.penalty or 0.0)
    if case not in policy.penalty:
        raise InvalidInput(f"The penalty names no value for the failed case {case!r}.")
    return float(policy.penalty[case])


def _by_reason(states: npt.NDArray[np.object_], chosen: npt.NDArray[np.bool_]) -> dict[str, int]:
    # Counted by identity: each status is there once, and its hash would take longer than all else here.
    found = Counter(map(id, states[chosen].tolist()))
    return {_reason(status): found[id(status)] for status in Status if found[id(status)]}


def _reason(status: Status) -> str:
    return "without a value" if status == Status.PRESENT else status.value


def summarise(
    table: ScoreTable,
    *,
    scales: Mapping[str, Scale] | None = None,
    policy: MissingPolicy = AUTO,
    ci: str = "auto",
    level: float = 0.95,
    cluster: Mapping[str, str] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, dict[str, Estimate]]:
    """Return the estimate of every structure and metric of a table, with what it leaves out and what failed.

    `cluster` names the patient of each case id; cases of one patient are then not taken for independent ones.
    """
    patients = None if cluster is None else [cluster.get(case, case) for case in table.cases]
    summary: dict[str, dict[str, Estimate]] = {}
    for structure in table.structures:
        summary[structure] = {}
        for metric in table.metrics:
            scale = (scales or {}).get(metric) or scale_of(metric)
            column = resolve(table, structure, metric, scale=scale, policy=policy)
            summary[structure][metric] = estimate_resolved(
                column, scale, ci=ci, level=level, cluster=patients, n_resamples=n_resamples, seed=seed,
                name=f"{structure}/{metric}",
            )  # fmt: skip
    return summary


def estimate_resolved(
    column: Resolved,
    scale: Scale,
    *,
    ci: str = "auto",
    level: float = 0.95,
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    name: str = "",
    statistic: str = "mean",
    most: float | None = None,
) -> Estimate:
    """Return the estimate of a resolved column; failures without a value are left out by their reason, and counted.

    `most` is the largest value that these cases can have, such as the diagonal of the image in mm.
    """
    told = failures_of(column, scale)
    (result,) = estimate_columns(
        column.values[:, None], bounds=scale.bounds, higher_is_better=scale.higher_is_better, ci=ci, level=level,
        statistic=statistic, cluster=cluster, n_resamples=n_resamples, seed=seed, name=name, unit=scale.unit,
        failures=told[:, None], most=most if scale.unit == "mm" else None,
    )  # fmt: skip
    if column.policy.failed == "exclude":  # the failures are left out, and their number is with what is left out
        result = replace(result, failures=None)
    # What stays behind a value is left out of a mean: "6.1 mm over 17 of 20, 3 missed". Where other failures have a
    # value that stays in it (the Dice 0 of a missed structure), nobody must read that failures are left out.
    decided = replace(column.policy, failed="exclude") if column.behind and not column.failed else column.policy
    return replace(
        result, excluded={**column.excluded, **column.behind}, failed=dict(column.failed), policy=str(decided)
    )
