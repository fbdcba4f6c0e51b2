"""The cases of a board: every score, which cases decide the order, and where the models disagree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.digits import with_unit
from segauge.report.figures.charting import number_text
from segauge.report.html import rounded
from segauge.stats import AVERAGE, Board, PairResult, ScoreMatrix

#: Models whose scores pages can load, the first of the board: those of a hundred would make a site of gigabytes.
MOST_MODELS = 30
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
        return with_unit(number_text(value), self.unit)


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


def score_file(board: Board, scores: CaseScores) -> dict[str, Any]:
    """Return the scores of a board's cases and its pairs, as its page and those that compare models load them."""
    models = scores.models[:MOST_MODELS]
    number = {name: place for place, name in enumerate(models)}
    kept = [pair for pair in board.pairs if pair.a in number and pair.b in number]
    return {
        "models": list(models),
        "cases": list(scores.cases),
        "unit": "" if scores.unit == "1" else scores.unit,
        "higher": board.higher_is_better,
        "values": [[rounded(value) for value in scores.values[:, j].tolist()] for j in range(len(models))],
        "failed": [np.flatnonzero(scores.failed[:, j]).tolist() for j in range(len(models))],
        "hardest": [scores.cases.index(one.case) for one in scores.hardest],
        "by_ranks": board.is_by_ranks,
        "pairs": [
            [number[pair.a], number[pair.b], *(rounded(x) for x in _limits(pair)), pair.n, pair.verdict]
            for pair in kept
        ],
    }


def _limits(pair: PairResult) -> tuple[float | None, ...]:
    return (
        pair.delta,
        pair.ci_low,
        pair.ci_high,
        pair.alone_low,
        pair.alone_high,
        pair.p_value,
    )


def disagreeing(scores: CaseScores) -> list[HardCase]:
    """Return the cases where the models are furthest apart."""
    return sorted(scores.hardest, key=lambda one: (-one.spread, one.case))[:MOST_LISTED]


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
