"""The cases of a board: every score, which cases decide the order, and where the models disagree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge import Status
from segauge.report.figures.charting import number_text
from segauge.report.html import packed_column, rounded
from segauge.stats import AVERAGE, Board, ScoreMatrix
from segbench.records import RunRecord

#: Metadata columns that stand beside the scores.
MOST_COLUMNS = 8
#: Models that can have a column, the first of the board: those of a hundred would make a site of gigabytes.
MOST_MODELS = 30
#: Models whose columns stand in the page itself; those of the others are in files that it loads so many at a time.
MODELS_AT_ONCE = 10
#: Cases in the short lists.
MOST_LISTED = 10


@dataclass(frozen=True)
class HardCase:
    """A case with the mean over the models that have a number, the best and the worst of them, and how many failed.

    A model without a number (it failed, and the metric has no worst value) is worse than any number; one that rightly
    found nothing where another failed is the best, without a number either.
    """

    case: str
    mean: float | None
    best: str
    best_value: float | None
    worst: str
    worst_value: float | None
    failed: int
    best_found_nothing: bool = False

    @property
    def words(self) -> str:
        """How the models did, in words."""
        mean = "no model has a number" if self.mean is None else f"mean of the models {number_text(self.mean)}"
        return f"{mean}, {self.failed} failed" if self.failed else mean

    @property
    def spread(self) -> float:
        """How far the models are apart: without end where some failed and some did not."""
        if self.best_found_nothing:
            return math.inf
        if self.best_value is None or self.worst_value is None:
            return 0.0 if self.best_value is None else math.inf
        return abs(self.best_value - self.worst_value)


@dataclass(frozen=True, eq=False)
class CaseScores:
    """Every case of a board: the models in its order, their values (case by model), and the cases, hardest first."""

    models: tuple[str, ...]
    cases: tuple[str, ...]
    values: npt.NDArray[np.float64]
    failed: npt.NDArray[np.bool_]
    hardest: tuple[HardCase, ...]
    unit: str = ""

    def of(self, case: str) -> HardCase:
        """Return a case."""
        return next(one for one in self.hardest if one.case == case)

    def score_text(self, case: str, model: str) -> str:
        """Return a model's score on a case for readers."""
        place = self.cases.index(case), self.models.index(model)
        value = float(self.values[place])
        if math.isnan(value):
            return "failed" if self.failed[place] else "no number"
        return number_text(value) if self.unit in ("", "1") else f"{number_text(value)} {self.unit}"


@dataclass(frozen=True)
class CaseTable:
    """All cases of a board.

    Attributes:
        packed: the table as columns, with the first models.
        more: columns of further models, which are loaded when somebody asks for them.
        next_column: where these go.
        hardest, disagreeing: the hardest cases, and those of the largest disagreement.
        columns, left_out: how many models can have a column, and how many cannot.

    """

    packed: dict[str, Any]
    more: list[list[dict[str, Any]]]
    next_column: int
    hardest: list[HardCase]
    disagreeing: list[HardCase]
    columns: int
    left_out: int


def case_scores(board: Board, scores: ScoreMatrix | None) -> CaseScores | None:
    """Return the scores of a board's cases; None for the average over structures, which no case has."""
    matrix = None if scores is None or board.structure == AVERAGE else scores.scored_cases()
    if matrix is None or not matrix.cases:
        return None
    order = tuple(standing.model for standing in board.rows if standing.model in matrix.models)
    columns = [matrix.models.index(name) for name in order]
    values, failed = matrix.values[:, columns], matrix.failed[:, columns]
    values = np.where(np.isfinite(values), values, np.nan)
    quiet = None if matrix.absent is None else matrix.absent[:, columns]
    found = hard_cases(matrix.cases, order, values, failed, quiet, higher_is_better=board.higher_is_better)
    return CaseScores(order, matrix.cases, values, failed, tuple(found), board.unit)


def case_table(record: RunRecord, board: Board, matrix: ScoreMatrix | None) -> CaseTable | None:
    """Return the cases of a board as its page shows them; None for the average over structures."""
    scores = case_scores(board, matrix)
    if scores is None:
        return None
    models = [
        {"name": name, "number": True, "values": [rounded(value) for value in scores.values[:, place].tolist()]}
        for place, name in enumerate(scores.models[:MOST_MODELS])
    ]
    first, more = models[:MODELS_AT_ONCE], models[MODELS_AT_ONCE:]
    columns: list[dict[str, Any]] = [{"name": "case", "values": list(scores.cases)}, *first]
    columns.append({"name": "failed", "values": _failures(record, board.structure, scores.cases, scores.models)})
    columns += _metadata(record, scores.cases)
    packed = {"columns": [packed_column(column) for column in columns], "rows": len(scores.cases)}
    apart = sorted(scores.hardest, key=lambda one: (-one.spread, one.case))[:MOST_LISTED]
    return CaseTable(
        packed,
        [more[start : start + MODELS_AT_ONCE] for start in range(0, len(more), MODELS_AT_ONCE)],
        1 + len(first),
        list(scores.hardest[:MOST_LISTED]),
        apart,
        len(models),
        len(scores.models) - len(models),
    )


def _failures(record: RunRecord, structure: str, cases: tuple[str, ...], models: Sequence[str]) -> list[str]:
    """Return per case which models failed on it, and how."""
    found: dict[str, list[str]] = {}
    for name in models:
        table = record.tables[name]
        states = table.status[:, table.structures.index(structure)]
        # Most did not fail: two comparisons of whole columns find those that did.
        for i in np.flatnonzero((states != Status.PRESENT) & (states != Status.ABSENT)):
            found.setdefault(table.cases[i], []).append(f"{name} ({states[i].value})")
    return [", ".join(found.get(case, ())) for case in cases]


def _metadata(record: RunRecord, cases: tuple[str, ...]) -> list[dict[str, Any]]:
    known = {case.case_id: case.metadata for case in record.cases}
    names = list(dict.fromkeys(str(name) for case in record.cases for name in case.metadata))[:MOST_COLUMNS]
    return [{"name": name, "values": [_text(known.get(case, {}).get(name)) for case in cases]} for name in names]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def hard_cases(
    cases: Sequence[str],
    models: Sequence[str],
    values: npt.NDArray[np.float64],
    failed: npt.NDArray[np.bool_],
    found_nothing: npt.NDArray[np.bool_] | None = None,
    *,
    higher_is_better: bool,
) -> list[HardCase]:
    """Return the cases from the hardest on: most models without a number first, then the worst mean of the others.

    `found_nothing` marks the models that rightly found nothing where there is nothing.
    """
    if not models:
        return []
    known = np.isfinite(values)
    cost = np.where(known, -values if higher_is_better else values, np.where(failed, np.inf, np.nan))
    count = known.sum(axis=1)
    means = np.where(known, values, 0.0).sum(axis=1) / np.maximum(count, 1)
    without = (failed & ~known).sum(axis=1)
    badness = np.where(count > 0, -means if higher_is_better else means, np.inf)
    # A model that does not have the case at all (NaN) is neither the best nor the worst on it.
    quiet = np.zeros(values.shape, dtype=bool)
    if found_nothing is not None:
        quiet |= found_nothing & failed.any(axis=1, keepdims=True)
    best = np.where(quiet, -np.inf, np.where(np.isnan(cost), np.inf, cost)).argmin(axis=1)
    worst = np.where(np.isnan(cost), -np.inf, cost).argmax(axis=1)
    order = sorted(range(len(cases)), key=lambda i: (-int(without[i]), -float(badness[i]), cases[i]))
    return [
        HardCase(
            cases[i],
            float(means[i]) if count[i] else None,
            models[best[i]],
            _known(values[i, best[i]]),
            models[worst[i]],
            _known(values[i, worst[i]]),
            int(failed[i].sum()),
            bool(quiet[i].any()),
        )
        for i in order
    ]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
