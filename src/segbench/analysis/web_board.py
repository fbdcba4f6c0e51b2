"""Touchstone's web board: models by their median, and what it calls a 95 % confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segauge.stats import ScoredSet


@dataclass(frozen=True)
class WebRow:
    """One model on one structure.

    Attributes:
        structure, model: what was scored.
        rank: by the median, 1 is best; models with the same median share the better rank.
        median, mean: of the model's own cases.
        low, high: the 2.5 and 97.5 percentiles of the cases. The web board calls them a 95 % confidence interval;
            they say where cases lie, and do not get narrower with more of them.
        n: cases.

    """

    structure: str
    model: str
    rank: int
    median: float
    mean: float
    low: float
    high: float
    n: int


def web_board(scored: ScoredSet, metric: str) -> tuple[WebRow, ...]:
    """Return the rows of every structure, best first; a model without a number on a structure is not on its board."""
    rows = []
    for structure in scored.structures:
        matrix = scored.matrix(structure, metric, "own")
        sign = 1.0 if matrix.scale.higher_is_better else -1.0
        columns = {
            model: column[np.isfinite(column)] for model, column in zip(matrix.models, matrix.values.T, strict=True)
        }
        medians = {model: float(np.median(column)) for model, column in columns.items() if column.size}
        for model in sorted(medians, key=lambda name: -sign * medians[name]):
            better = sum(sign * other > sign * medians[model] for other in medians.values())
            low, high = (float(limit) for limit in np.quantile(columns[model], (0.025, 0.975)))
            size = columns[model].size
            rows.append(
                WebRow(structure, model, 1 + better, medians[model], float(columns[model].mean()), low, high, size)
            )
    return tuple(rows)
