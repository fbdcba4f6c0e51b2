"""Contrasts: what would have come out by rules that are common and wrong, so that a page can show what changed.

Unequal lists of cases, and cases paired by their position in a file, are the two that silently change winners.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from segauge.stats import Board, ScoredSet, ScoreMatrix, wilcoxon
from segbench.analysis.maps import SignificanceMap, directed_wilcoxon

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChangedWinner:
    """A board whose leader is another one on equal cases.

    Attributes:
        board: its title.
        own_leader, own_mean: best mean with every model on its own cases.
        leader, mean: best mean on equal cases.
        own_leader_mean: what the former leader reaches on equal cases.

    """

    board: str
    own_leader: str
    own_mean: float
    leader: str
    mean: float
    own_leader_mean: float


@dataclass(frozen=True)
class PositionPair:
    """Two models on a structure: p-values of cases paired by their row in the file, and by their id."""

    structure: str
    a: str
    b: str
    by_position: float
    by_id: float

    @property
    def is_changed(self) -> bool:
        """True if the two p-values lie on different sides of 0.05."""
        return (self.by_position < 0.05) != (self.by_id < 0.05)

    @property
    def change(self) -> float:
        """How many powers of ten lie between the two."""
        return abs(math.log10(max(self.by_position, 1e-300)) - math.log10(max(self.by_id, 1e-300)))


@dataclass(frozen=True)
class PositionPairing:
    """What pairing cases by their row in the file does to two-sided Wilcoxon tests (uncorrected, 0.05).

    Attributes:
        tested: pairs of models and structures.
        affected: of them, those whose rows are not of the same cases.
        changed: of these, those with another verdict.
        example: the pair with the largest change.
        pairs: all that are affected.

    """

    metric: str
    tested: int
    affected: int
    changed: int
    example: PositionPair | None
    pairs: tuple[PositionPair, ...]


@dataclass(frozen=True)
class TypicalCase:
    """What testing the typical case (Touchstone's Wilcoxon and Holm, on equal cases) says where the mean says nothing.

    Attributes:
        metric: what was measured.
        pairs: pairs of models and structures.
        significant: of them, significant by that test.
        undecided: of these, those whose mean difference our test cannot tell from none.
        opposite: of the significant ones, those that favour the model with the worse mean.
        example: the undecided pair with the smallest p-value: structure, models, p, mean difference and its interval.

    """

    metric: str
    pairs: int
    significant: int
    undecided: int
    opposite: int
    example: tuple[str, str, str, float, float, float, float] | None


def typical_case(
    metric: str, maps: Sequence[tuple[ScoreMatrix, SignificanceMap]], alpha: float = 0.05
) -> TypicalCase | None:
    """Set the maps of structures beside tests of the typical case; None by rules that have no interval."""
    pairs = significant = undecided = opposite = 0
    example, smallest = None, 1.0
    for matrix, found in maps:
        directed = directed_wilcoxon(matrix)
        places = {model: j for j, model in enumerate(matrix.models)}
        sign = 1.0 if matrix.scale.higher_is_better else -1.0
        for cell in found.cells:
            # A pair counts once, seen from the model that the test of the typical case favours.
            p, back = (
                float(directed[places[a], places[b]]) for a, b in ((cell.row, cell.column), (cell.column, cell.row))
            )
            pairs += cell.row < cell.column
            if p >= alpha or back < p or cell.ci_low is None or cell.ci_high is None:
                continue
            significant += 1
            opposite += sign * cell.delta < 0
            if cell.verdict in ("undecided", "equivalent"):
                undecided += 1
                if p < smallest:
                    smallest = p
                    example = (found.subject, cell.row, cell.column, p, cell.delta, cell.ci_low, cell.ci_high)
    return TypicalCase(metric, pairs, significant, undecided, opposite, example) if significant else None


def changed_winners(boards: tuple[Board, ...]) -> tuple[ChangedWinner, ...]:
    """Return the boards whose leader by the mean is another one where each model keeps its own cases."""
    found = []
    for board in boards:
        if board.is_by_ranks:  # mean ranks on equal cases have no counterpart on each model's own
            continue
        known = [row for row in board.ranked if row.own_mean is not None and row.value is not None]
        if not known:
            continue
        sign = 1.0 if board.higher_is_better else -1.0
        leader, former = known[0], max(known, key=lambda row: sign * (row.own_mean or 0.0))
        if former.model != leader.model:
            numbers = float(former.own_mean or 0.0), float(leader.value or 0.0), float(former.value or 0.0)
            found.append(ChangedWinner(board.title, former.model, numbers[0], leader.model, *numbers[1:]))
    return tuple(found)


def position_pairing(scored: ScoredSet, metric: str) -> PositionPairing:
    """Compare tests of cases paired by position with tests of cases paired by id, over all structures.

    By position the first n rows of both files are paired, n the length of the shorter one, and rows where one of the
    two is empty are dropped: what a script does that reads two columns.
    """
    found: list[PositionPair] = []
    tested = 0
    for structure in scored.structures:
        own = scored.matrix(structure, metric, "own")
        models = own.models
        tested += len(models) * (len(models) - 1) // 2
        columns = {model: scored.tables[model].column(structure, metric) for model in models}
        for (i, one), (j, other) in combinations(enumerate(models), 2):
            if scored.tables[one].cases == scored.tables[other].cases:
                continue
            by_position = _two_sided(_by_position(columns[one], columns[other]))
            by_id = _two_sided(own.values[:, i] - own.values[:, j])
            found.append(PositionPair(structure, one, other, by_position, by_id))
    changed = [pair for pair in found if pair.is_changed]
    example = max(changed, key=lambda pair: pair.change, default=None)
    return PositionPairing(metric, tested, len(found), len(changed), example, tuple(found))


def _by_position(one: Floats, other: Floats) -> Floats:
    length = min(one.size, other.size)
    return np.asarray(one[:length] - other[:length])


def _two_sided(differences: Floats) -> float:
    return float(wilcoxon(differences[:, None], exact=False)[0])
