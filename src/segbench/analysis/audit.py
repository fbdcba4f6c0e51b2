"""The audit as pages show it: cases per model, what is missing where, and what unequal lists would do to the means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.plural import counted
from segauge.scores import NOT_IN_GROUND_TRUTH, ScoreTable, Status
from segauge.stats import ScoredSet

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ModelCoverage:
    """The cases of one model.

    Attributes:
        model: its name.
        n_cases: cases it was scored on.
        lacking: cases of the test set that it lacks.
        empty: cases without a single number.
        complete: cases with a number for every structure.
        failures: per status how often (structure of a case) it failed.

    """

    model: str
    n_cases: int
    lacking: tuple[str, ...]
    empty: int
    complete: int
    failures: Mapping[str, int]


@dataclass(frozen=True)
class LackingCases:
    """How hard the cases are that some models lack: the mean of the models that have all cases, there and elsewhere."""

    models: tuple[str, ...]
    n_lacking: int
    mean_lacking: float | None
    mean_common: float | None
    metric: str

    def __str__(self) -> str:
        verb = "lacks" if len(self.models) == 1 else "lack"
        head = f"{' and '.join(self.models)} {verb} {counted(self.n_lacking, 'case')} that the other models have"
        if self.mean_lacking is None or self.mean_common is None:
            return head
        return (
            f"{head}: the others score {self.metric} {self.mean_lacking:.3f} on them against {self.mean_common:.3f} on "
            "the shared cases"
        )


@dataclass(frozen=True)
class Coverage:
    """What there is and what is missing in one test set.

    Attributes:
        name: of the test set.
        n_cases, n_common: cases of any model, and of all of them.
        models: each model's cases.
        structures: per structure the number of cases that have it (in the ground truth), as far as the tables tell.
        lacking: how hard the cases are that models lack; one entry per distinct list of cases.
        findings: what reading the files found, in words.

    """

    name: str
    n_cases: int
    n_common: int
    models: tuple[ModelCoverage, ...]
    structures: Mapping[str, int]
    lacking: tuple[LackingCases, ...]
    findings: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True if every model was scored on the same cases."""
        return self.n_cases == self.n_common


def audit_coverage(scored: ScoredSet, metric: str, findings: tuple[str, ...] = ()) -> Coverage:
    """Return what there is and what is missing, per model and structure."""
    cases = scored.cases
    lists = {model: frozenset(cases) - frozenset(table.cases) for model, table in scored.tables.items()}
    return Coverage(
        scored.name,
        len(cases),
        len(scored.common_cases),
        tuple(_model_coverage(model, table, lists[model]) for model, table in scored.tables.items()),
        {structure: _present(scored, structure) for structure in scored.structures},
        tuple(_lacking(scored, metric, lists, gone) for gone in dict.fromkeys(lists.values()) if gone),
        findings,
    )


def _model_coverage(model: str, table: ScoreTable, lacking: frozenset[str]) -> ModelCoverage:
    numbers = np.asarray(np.isfinite(table.values).any(axis=2))
    states = [state for state in table.status.ravel() if state.is_failure]
    return ModelCoverage(
        model,
        len(table),
        tuple(sorted(lacking)),
        int((~numbers.any(axis=1)).sum()),
        int(numbers.all(axis=1).sum()),
        {status.value: states.count(status) for status in Status if status in states},
    )


def _present(scored: ScoredSet, structure: str) -> int:
    """Return how many cases have the structure: those where some model's status says so.

    A model that broke down on a case says nothing about its ground truth: it counts where none was measured there.
    """
    having: set[str] = set()
    lacking: set[str] = set()
    unknown: set[str] = set()
    for table in scored.tables.values():
        for case, state in zip(table.cases, table.status[:, table.structures.index(structure)], strict=True):
            kind = having if state in _IN_GT else lacking if state in NOT_IN_GROUND_TRUTH else unknown
            kind.add(case)
    return len(having | (unknown - lacking))


_IN_GT = (Status.PRESENT, Status.MISSED)


def _lacking(scored: ScoredSet, metric: str, lists: Mapping[str, frozenset[str]], gone: frozenset[str]) -> LackingCases:
    short = tuple(model for model, missing in lists.items() if missing == gone)
    full = [model for model, missing in lists.items() if not missing & gone]
    there, elsewhere = [], []
    for model in full:
        table = scored.tables[model]
        values = table.values[:, :, table.metrics.index(metric)]
        among = np.array([case in gone for case in table.cases])
        there.append(_mean_of_case_means(values[among]))
        elsewhere.append(_mean_of_case_means(values[~among]))
    return LackingCases(short, len(gone), _mean(there), _mean(elsewhere), metric)


def _mean_of_case_means(values: Floats) -> float:
    kept = values[np.isfinite(values).any(axis=1)]
    return float(np.nanmean(kept, axis=1).mean()) if len(kept) else float("nan")


def _mean(values: list[float]) -> float | None:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else None
