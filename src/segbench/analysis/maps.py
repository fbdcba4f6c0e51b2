"""Significance maps: all pairs of models on one structure, with verdicts by a declared rule and family.

Touchstone's rule asks about the typical case, in each direction by itself, and corrects over all directions. Ours asks
about the mean difference, gives it an interval, and holds for all pairs together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.stats import Board, PairResult, ScoreMatrix, Verdict, holm, wilcoxon
from segbench.boards import Rules

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MapCell:
    """The row's model against the column's.

    Attributes:
        row, column: the models.
        verdict: of the row's model: "better", "worse", "equivalent" or "undecided".
        p_value: adjusted over the family; of Touchstone's two directions the one that the verdict speaks of (the
            smaller one where there is none). None where there is none.
        delta, ci_low, ci_high: mean of row - column with its interval.
        effect_size: delta over the standard deviation of the differences, positive where the row is better.
        wins: share of cases where the row's model is better, ties counting half; None for an average of structure
            means, which no single case has.
        n: cases that both have.
        alone_low, alone_high: interval of this pair alone.

    """

    row: str
    column: str
    verdict: Verdict
    p_value: float | None
    delta: float
    ci_low: float | None
    ci_high: float | None
    effect_size: float | None
    wins: float | None
    n: int
    alone_low: float | None = None
    alone_high: float | None = None


@dataclass(frozen=True)
class SignificanceMap:
    """All pairs of models on one structure (or the average) and metric.

    Attributes:
        subject, metric: what was compared.
        models: in the order of rows and columns.
        cells: all ordered pairs.
        rule: test, correction and family in words.
        family: number of tests that the correction counts.

    """

    subject: str
    metric: str
    models: tuple[str, ...]
    cells: tuple[MapCell, ...]
    rule: str
    family: int

    @property
    def by_pair(self) -> Mapping[tuple[str, str], MapCell]:
        """The cells by (row, column)."""
        return {(cell.row, cell.column): cell for cell in self.cells}

    @property
    def decided(self) -> int:
        """How many pairs have a better and a worse model."""
        return sum(cell.verdict == "better" for cell in self.cells)


def significance_map(
    matrix: ScoreMatrix, subject: str, metric: str, rules: Rules, board: Board | None = None
) -> SignificanceMap:
    """Return the map of one structure by the rules; those that compare means take the pairs of the board."""
    models = _ordered(matrix, rules)
    if rules.test == "wilcoxon":
        directed = directed_wilcoxon(matrix)
        cells = _touchstone_cells(matrix, models, directed, 1.0 - rules.level)
        words = (
            "One-sided paired Wilcoxon signed-rank tests in both directions (normal approximation, no continuity "
            "correction, zero differences dropped), Holm over all {family} directions of this map; "
            f"significant below {1.0 - rules.level:g}. Cases are paired by id."
        )
        family = len(models) * (len(models) - 1)
        return SignificanceMap(subject, metric, models, cells, words.format(family=family), family)
    if board is None:
        raise InvalidInput(f"{subject}: a map of mean differences is made of a board, got none.")
    family = len(models) * (len(models) - 1) // 2
    rule = f"Mean of the paired differences, {board.test}{_simultaneous(board.level, family)}. Cases are paired by id."
    return SignificanceMap(subject, metric, models, _compared_cells(board, models), rule, family)


def _simultaneous(level: float, family: int) -> str:
    """Return what holds for all pairs together; of one pair there is nothing to say."""
    if family < 2:
        return f", {100 * level:g} %"
    return (
        f" over all {family} pairs of this map; intervals hold for all of them together at {100 * level:g} %: one "
        "excludes 0 where the pair is decided"
    )


def directed_wilcoxon(matrix: ScoreMatrix) -> Floats:
    """Return Holm-adjusted one-sided p-values: [i, j] that model i is better than model j; 1 on the diagonal."""
    count = len(matrix.models)
    first, second = (axis.ravel() for axis in np.nonzero(~np.eye(count, dtype=bool)))
    sign = 1.0 if matrix.scale.higher_is_better else -1.0
    plain = wilcoxon(sign * matrix.differences(first, second), alternative="greater", exact=False)
    adjusted = np.ones((count, count))
    adjusted[first, second] = holm(plain)
    return adjusted


def _ordered(matrix: ScoreMatrix, rules: Rules) -> tuple[str, ...]:
    better = np.where(np.isinf(matrix.values), -np.inf, matrix.better)
    centre = np.nanmedian(better, axis=0) if rules.order == "median" else np.nanmean(better, axis=0)
    return tuple(matrix.models[j] for j in np.argsort(-centre, kind="stable"))


def _touchstone_cells(
    matrix: ScoreMatrix,
    models: tuple[str, ...],
    directed: Floats,
    alpha: float,
) -> tuple[MapCell, ...]:
    places = {model: matrix.models.index(model) for model in models}
    cells = []
    for row in models:
        for column in models:
            if row == column:
                continue
            i, j = places[row], places[column]
            forth, back = float(directed[i, j]), float(directed[j, i])
            verdict: Verdict = "better" if forth < alpha else "worse" if back < alpha else "undecided"
            differences = matrix.differences(np.array([i]), np.array([j]))[:, 0]
            cells.append(_plain_cell(row, column, verdict, min(forth, back), differences, matrix))
    return tuple(cells)


def _plain_cell(
    row: str, column: str, verdict: Verdict, p_value: float, differences: Floats, matrix: ScoreMatrix
) -> MapCell:
    kept = differences[np.isfinite(differences)]
    sign = 1.0 if matrix.scale.higher_is_better else -1.0
    delta = float(kept.mean()) if kept.size else 0.0
    spread = float(kept.std(ddof=1)) if kept.size > 1 else 0.0
    wins = float(((sign * kept > 0) + 0.5 * (kept == 0)).mean()) if kept.size else 0.5
    effect = sign * delta / spread if spread > 0 else None
    return MapCell(row, column, verdict, p_value, delta, None, None, effect, wins, int(kept.size))


def _compared_cells(board: Board, models: tuple[str, ...]) -> tuple[MapCell, ...]:
    return tuple(
        _cell(row, column, board.comparison[row, column], 1.0 if board.is_higher_better else -1.0)
        for row in models
        for column in models
        if row != column
    )


def _cell(row: str, column: str, pair: PairResult, sign: float) -> MapCell:
    effect = None if pair.effect_size is None else sign * pair.effect_size
    limits = pair.ci_low, pair.ci_high
    return MapCell(
        row,
        column,
        pair.verdict,
        pair.p_value,
        pair.delta,
        *limits,
        effect,
        pair.wins,
        pair.n,
        pair.alone_low,
        pair.alone_high,
    )
