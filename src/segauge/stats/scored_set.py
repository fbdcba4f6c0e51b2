"""ScoredSet: one test set with the scores of all models and what is known about its cases; matrices made of it.

The one place where the scores of several models become what boards, comparisons and groups are made of.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from segauge.errors import InvalidInput, UnknownMetric
from segauge.scores import Scale, ScoreTable, Status
from segauge.stats.consensus import average_matrix
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.missing import MissingPolicy, scale_of
from segauge.stats.shared_cases import found_nothing, score_matrix

CaseRule = Literal["common", "failed", "own"]
AverageRule = Literal["structure-means", "case-mean"]

CASE_RULES: dict[str, str] = {
    "common": "every model on the cases that all models have",
    "failed": "every model on all cases; a case missing for a model counts as its failure",
    "own": "each model on its own cases, also where these differ (their means cannot be compared)",
}
AVERAGE_RULES: dict[str, str] = {
    "structure-means": "unweighted mean of the structures' means",
    "case-mean": "mean over cases of each case's mean over the structures it has",
}
#: What boards call the average over structures.
AVERAGE = "average"


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """One test set.

    Attributes:
        name: what pages call it.
        tables: per model its scores; all have the same metrics.
        metadata: per case id its columns as text; an empty text is unknown.
        cluster: per case id the patient (or institute) it belongs to; None if every case is independent.
        policy: what failed and absent cases count as.
        scales: of metrics that segauge does not know.
        policies: per metric its own policy, where it has one.
        unranked: models that are shown on the boards, but not ranked.
        broken: per model the cases without a prediction because it failed: it did not rightly find nothing there.

    """

    name: str
    tables: Mapping[str, ScoreTable]
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cluster: Mapping[str, str] | None = None
    policy: MissingPolicy = field(default_factory=MissingPolicy)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    policies: Mapping[str, MissingPolicy] = field(default_factory=dict)
    unranked: Collection[str] = ()
    broken: Mapping[str, Collection[str]] = field(default_factory=dict)
    _matrices: dict[tuple[str, str, str], ScoreMatrix] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.tables:
            raise InvalidInput(f"{self.name}: expected the scores of at least one model, got none.")

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.tables)

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the models that take part in rankings."""
        return tuple(name for name in self.tables if name not in self.unranked)

    @cached_property
    def structures(self) -> tuple[str, ...]:
        """Structures that some model has a score or a failure of, in the order of the tables."""
        known = {model: _structures_of(table) for model, table in self.tables.items()}
        names = dict.fromkeys(name for table in self.tables.values() for name in table.structures)
        return tuple(name for name in names if any(name in having for having in known.values()))

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that every model has a number of, in the order of the first model."""
        known = next(iter(self.tables.values())).metrics
        return tuple(name for name in known if name not in self.incomplete_metrics)

    @cached_property
    def incomplete_metrics(self) -> Mapping[str, tuple[str, ...]]:
        """Metrics that cannot be compared, and the models that have no number of them."""
        return self._without("metrics")

    @cached_property
    def incomplete_structures(self) -> Mapping[str, tuple[str, ...]]:
        """Structures that some models have nothing of, and these models: on none of their boards, and in no average.

        A model that was never asked for a structure has an empty column of it in a table that others share.
        """
        return self._without("structures")

    def _without(self, kind: Literal["structures", "metrics"]) -> Mapping[str, tuple[str, ...]]:
        has = {model: (_structures_of if kind == "structures" else _metrics_of)(t) for model, t in self.tables.items()}
        names = dict.fromkeys(name for table in self.tables.values() for name in getattr(table, kind))
        found = {name: tuple(model for model in self.tables if name not in has[model]) for name in names}
        return {name: models for name, models in found.items() if models}

    @property
    def cases(self) -> tuple[str, ...]:
        """All case ids, sorted."""
        return tuple(sorted(set().union(*(table.cases for table in self.tables.values()))))

    @property
    def common_cases(self) -> tuple[str, ...]:
        """The case ids that every model has, sorted."""
        return tuple(sorted(set.intersection(*(set(table.cases) for table in self.tables.values()))))

    @cached_property
    def has_equal_cases(self) -> bool:
        """Whether every model was scored on the same cases."""
        return len({frozenset(table.cases) for table in self.tables.values()}) == 1

    def scale(self, metric: str) -> Scale:
        """Return the scale of a metric: the one that was told, or the known one."""
        return self.scales.get(metric) or scale_of(metric)

    def policy_of(self, metric: str) -> MissingPolicy:
        """Return what failed and absent cases count as by a metric."""
        return self.policies.get(metric, self.policy)

    def is_comparable(self, metric: str) -> bool:
        """Return whether all models have the metric, and it is known which way it is better."""
        if metric not in self.metrics:
            return False
        try:
            self.scale(metric)
        except UnknownMetric:
            return False
        return True

    def select(
        self, *, cases: Iterable[str] | None = None, structures: Iterable[str] | None = None, name: str = ""
    ) -> ScoredSet:
        """Return the test set with some of its cases or structures only; a model without any of these is left out."""
        kept = None if cases is None else frozenset(cases)
        wanted = None if structures is None else frozenset(structures)
        tables = {
            model: table.select(
                None if kept is None else [case for case in table.cases if case in kept],
                None if wanted is None else [one for one in table.structures if one in wanted],
            )
            for model, table in self.tables.items()
        }
        tables = {model: table for model, table in tables.items() if table.structures}
        return replace(self, name=name or self.name, tables=tables)

    def models_of(self, structure: str) -> tuple[str, ...]:
        """Return the models that have a structure in their table."""
        return tuple(model for model, table in self.tables.items() if structure in table.structures)

    def matrix(self, structure: str, metric: str, rule: CaseRule = "common") -> ScoreMatrix:
        """Return the scores of the models that have a structure, paired by case id, on the cases that the rule says."""
        key = (structure, metric, rule)
        if key not in self._matrices:
            found = self._own_cases(structure, metric) if rule == "own" else self._paired(structure, metric, rule)
            self._matrices[key] = self._without_broken(found).scored_cases()
        return self._matrices[key]

    def _without_broken(self, matrix: ScoreMatrix) -> ScoreMatrix:
        """Return the scores without false credit: a model that broke down did not rightly find nothing."""
        if matrix.absent is None or not self.broken:
            return matrix
        gone = [self.broken.get(name, ()) for name in matrix.models]
        predicted = np.array([[case not in cases for cases in gone] for case in matrix.cases], dtype=bool)
        return replace(matrix, absent=matrix.absent & predicted.reshape(matrix.absent.shape))

    def _tables_of(self, structure: str) -> dict[str, ScoreTable]:
        return {model: self.tables[model] for model in self.models_of(structure)}

    def _paired(self, structure: str, metric: str, rule: Literal["common", "failed"]) -> ScoreMatrix:
        return score_matrix(
            self._tables_of(structure),
            structure=structure,
            metric=metric,
            scale=self.scale(metric),
            policy=self.policy_of(metric),
            cases=rule,
            cluster=self.cluster,
        )

    def _own_cases(self, structure: str, metric: str) -> ScoreMatrix:
        """Return all cases; where a model lacks one, it has no score there."""
        tables = self._tables_of(structure)
        ids = tuple(sorted(set().union(*(table.cases for table in tables.values()))))
        rows = {case: i for i, case in enumerate(ids)}
        values = np.full((len(ids), len(tables)), np.nan)
        failures, scale, policy = np.zeros(values.shape, dtype=bool), self.scale(metric), self.policy_of(metric)
        columns = {}
        for j, (model, table) in enumerate(tables.items()):
            one = score_matrix({model: table}, structure=structure, metric=metric, scale=scale, policy=policy)
            places = [rows[case] for case in one.cases]
            values[places, j] = one.values[:, 0]
            failures[places, j] = one.failed[:, 0]
            columns[model] = one.columns[model]
        clusters = None if self.cluster is None else tuple(self.cluster.get(case, case) for case in ids)
        notes = (policy.for_scale(scale).sentence, "each model on its own cases")
        title = f"{structure} {metric}".strip()
        return ScoreMatrix(
            ids, tuple(tables), values, scale, columns, clusters, failures, title, notes,
            # Asked of all tables together: one alone does not know what the others have in their ground truth.
            absent=found_nothing(tables, tuple(tables), structure, metric, scale, ids, values),
        )  # fmt: skip

    def complete_models(self, metric: str, rule: CaseRule = "common") -> tuple[str, ...]:
        """Return the models that have a value of every structure that any model has one of."""
        scored = [found for name in self.structures if (found := self.matrix(name, metric, rule)).cases]
        return tuple(model for model in self.tables if scored and all(_has_values(one, model) for one in scored))

    def average(
        self,
        metric: str,
        average: AverageRule,
        rule: CaseRule = "common",
        models: Sequence[str] | None = None,
    ) -> ScoreMatrix | None:
        """Return the average over all structures by a rule of `AVERAGE_RULES`, of these models or all complete ones.

        None where there is no mean: failures without a value (distances without a penalty), one structure only, or no
        model that has them all.
        """
        chosen = self.complete_models(metric, rule) if models is None else tuple(models)
        if len(self.structures) < 2 or not chosen:
            return None
        known = {name: self.matrix(name, metric, rule) for name in self.structures}
        parts = {name: found.with_models(chosen).scored_cases() for name, found in known.items() if found.cases}
        return average_of(parts, average, rule)


def average_of(matrices: Mapping[str, ScoreMatrix], average: AverageRule, rule: CaseRule) -> ScoreMatrix | None:
    """Return the average of the structures' scores of the same models; None where there is no mean."""
    if not matrices or any(matrix.has_failures_without_value for matrix in matrices.values()):
        return None
    if average == "structure-means":
        found = average_matrix(matrices)
        if rule == "own":
            found = _on_own_cases(found, matrices)
    elif average == "case-mean":
        found = case_mean_matrix(matrices)
    else:
        raise InvalidInput(f"No average {average!r}; there are {', '.join(AVERAGE_RULES)}.")
    return found


def _has_values(matrix: ScoreMatrix, name: str) -> bool:
    return name in matrix.models and not bool(np.isnan(matrix.values[:, matrix.models.index(name)]).all())


def _structures_of(table: ScoreTable) -> set[str]:
    is_absent = np.asarray(table.status == Status.ABSENT, dtype=bool)
    return {name for j, name in enumerate(table.structures) if not is_absent[:, j].all()}


def _metrics_of(table: ScoreTable) -> set[str]:
    """Return the metrics that a table has a number of; all, where every case failed, which counts as such."""
    if not np.asarray(table.status == Status.PRESENT, dtype=bool).any():
        return set(table.metrics)
    return {name for k, name in enumerate(table.metrics) if np.isfinite(table.values[:, :, k]).any()}


def _on_own_cases(average: ScoreMatrix, matrices: Mapping[str, ScoreMatrix]) -> ScoreMatrix:
    """Return an average without the cases that a model has no score of: neither its n nor its spread has them."""
    rows = {case: i for i, case in enumerate(average.cases)}
    present = np.zeros(average.values.shape, dtype=bool)
    for matrix in matrices.values():
        present[[rows[case] for case in matrix.cases]] |= ~np.isnan(matrix.values)
    means = average.values.mean(axis=0)
    # What a case adds was written for the mean over all cases; here it is one over fewer.
    values = means + (average.values - means) * present.mean(axis=0)
    return replace(average, values=np.where(present, values, np.nan))


def case_mean_matrix(matrices: Mapping[str, ScoreMatrix]) -> ScoreMatrix:
    """Return per case and model the mean over the structures that have a score."""
    first = next(iter(matrices.values()))
    cases = tuple(sorted(set().union(*(matrix.cases for matrix in matrices.values()))))
    rows = {case: i for i, case in enumerate(cases)}
    totals, counts = np.zeros((2, len(cases), len(first.models)))
    failures, absent = np.zeros((2, *totals.shape), dtype=bool)
    clusters: dict[str, str] = {}
    for matrix in matrices.values():
        places = [rows[case] for case in matrix.cases]
        totals[places] += np.nan_to_num(matrix.values)
        counts[places] += ~np.isnan(matrix.values)
        failures[places] |= matrix.failed & ~np.isnan(matrix.values)
        if matrix.absent is not None:
            absent[places] |= matrix.absent
        clusters.update(zip(matrix.cases, matrix.clusters or matrix.cases, strict=True))
    values = np.divide(totals, counts, out=np.full(totals.shape, math.nan), where=counts > 0)
    # The mean of values on a bounded scale can pass its end by rounding only.
    values = np.clip(values, *first.scale.bounds)
    note = "mean over cases of the mean over the structures a case has; failed: any of them failed"
    return ScoreMatrix(
        cases,
        first.models,
        values,
        first.scale,
        {},
        tuple(clusters[case] for case in cases) if first.clusters is not None else None,
        failures,
        AVERAGE,
        (*first.notes, note),
        absent=absent & (counts == 0) if (absent & (counts == 0)).any() else None,
    )
