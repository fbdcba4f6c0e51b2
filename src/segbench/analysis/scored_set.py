"""ScoredSet: one test set with the scores of all models and what is known about its cases; matrices made of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from segauge.errors import InvalidInput, UnknownMetric
from segauge.scores import ScoreTable, Status
from segauge.stats import MissingPolicy, Scale, ScoreMatrix, average_matrix, scale_of, score_matrix
from segauge.stats.absences import found_nothing
from segbench.analysis.rules import AVERAGE_RULES, AverageRule, CaseRule

#: What boards call the average over structures.
AVERAGE = "average"


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """One test set.

    Attributes:
        name: what pages call it.
        tables: per model its scores; all have the same structures and metrics.
        metadata: per case id its columns as text; an empty text is unknown.
        cluster: per case id the patient (or institute) it belongs to; None if every case stands for itself.
        policy: what failed and absent cases count as.
        scales: of metrics that segauge does not know.

    """

    name: str
    tables: Mapping[str, ScoreTable]
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cluster: Mapping[str, str] | None = None
    policy: MissingPolicy = field(default_factory=MissingPolicy)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    _matrices: dict[tuple[str, str, str], ScoreMatrix] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.tables:
            raise InvalidInput(f"{self.name}: expected the scores of at least one model, got none.")

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.tables)

    @cached_property
    def structures(self) -> tuple[str, ...]:
        """Structures that every model has a score or a failure of, in the order of the first model."""
        known = next(iter(self.tables.values())).structures
        return tuple(name for name in known if name not in self.lacking)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that every model has a number of, in the order of the first model."""
        known = next(iter(self.tables.values())).metrics
        return tuple(name for name in known if name not in self.lacking)

    @cached_property
    def lacking(self) -> Mapping[str, tuple[str, ...]]:
        """Structures and metrics that cannot be compared, and the models that have nothing of them.

        A model that was never asked for a structure has an empty column of it in a table that others share.
        """
        known = [(_structures_of(table), _metrics_of(table)) for table in self.tables.values()]
        found: dict[str, tuple[str, ...]] = {}
        for kind, names in enumerate(("structures", "metrics")):
            for name in dict.fromkeys(name for table in self.tables.values() for name in getattr(table, names)):
                without = tuple(m for m, has in zip(self.tables, known, strict=True) if name not in has[kind])
                if without:
                    found[name] = without
        return found

    @property
    def cases(self) -> tuple[str, ...]:
        """All case ids, sorted."""
        return tuple(sorted(set().union(*(table.cases for table in self.tables.values()))))

    @property
    def common_cases(self) -> tuple[str, ...]:
        """The case ids that every model has, sorted."""
        return tuple(sorted(set.intersection(*(set(table.cases) for table in self.tables.values()))))

    def scale(self, metric: str) -> Scale:
        """Return the scale of a metric: the one that was told, or the known one."""
        return self.scales.get(metric) or scale_of(metric)

    def is_comparable(self, metric: str) -> bool:
        """Return whether all models have the metric, and it is known which way it is better."""
        if metric not in self.metrics:
            return False
        try:
            self.scale(metric)
        except UnknownMetric:
            return False
        return True

    def restricted(self, cases: Iterable[str], name: str) -> ScoredSet:
        """Return the test set with some of its cases only."""
        chosen = set(cases)
        tables = {
            model: table.select(case for case in table.cases if case in chosen) for model, table in self.tables.items()
        }
        return replace(self, name=name, tables=tables)

    def matrix(self, structure: str, metric: str, rule: CaseRule = "common") -> ScoreMatrix:
        """Return the scores of all models on one structure, paired by case id, on the cases that the rule says."""
        key = (structure, metric, rule)
        if key not in self._matrices:
            found = self._own_cases(structure, metric) if rule == "own" else self._paired(structure, metric, rule)
            self._matrices[key] = found
        return self._matrices[key]

    def _paired(self, structure: str, metric: str, rule: Literal["common", "failed"]) -> ScoreMatrix:
        return score_matrix(
            dict(self.tables),
            structure=structure,
            metric=metric,
            scale=self.scale(metric),
            policy=self.policy,
            cases=rule,
            cluster=self.cluster,
        ).scored_cases()

    def _own_cases(self, structure: str, metric: str) -> ScoreMatrix:
        """Return all cases; where a model lacks one, it has no score there."""
        ids = self.cases
        rows = {case: i for i, case in enumerate(ids)}
        values = np.full((len(ids), len(self.tables)), np.nan)
        failures, scale = np.zeros(values.shape, dtype=bool), self.scale(metric)
        columns = {}
        for j, (model, table) in enumerate(self.tables.items()):
            one = score_matrix({model: table}, structure=structure, metric=metric, scale=scale, policy=self.policy)
            places = [rows[case] for case in one.cases]
            values[places, j] = one.values[:, 0]
            failures[places, j] = one.failed[:, 0]
            columns[model] = one.columns[model]
        clusters = None if self.cluster is None else tuple(self.cluster.get(case, case) for case in ids)
        notes = (self.policy.for_scale(scale).sentence, "each model on its own cases")
        title = f"{structure} {metric}".strip()
        return ScoreMatrix(
            ids, self.models, values, scale, columns, clusters, failures, title, notes,
            # Asked of all tables together: one alone does not know what the others have in their ground truth.
            absent=found_nothing(self.tables, self.models, structure, metric, scale, ids, values),
        ).scored_cases()  # fmt: skip

    def average(self, metric: str, average: AverageRule, rule: CaseRule = "common") -> ScoreMatrix | None:
        """Return the average over all structures by a rule of `AVERAGE_RULES`.

        None where there is no mean: failures without a value (distances without a penalty), or one structure only.
        """
        matrices = {structure: self.matrix(structure, metric, rule) for structure in self.structures}
        if len(matrices) < 2 or any(matrix.has_failures_without_value for matrix in matrices.values()):
            return None
        if average == "structure-means":
            found = average_matrix(matrices)
            if rule == "own":
                found = _on_own_cases(found, matrices)
        elif average == "case-mean":
            found = case_mean_matrix(matrices)
        else:
            raise InvalidInput(f"No average {average!r}; there are {', '.join(AVERAGE_RULES)}.")
        return replace(found, title=f"{AVERAGE} {metric}")


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
