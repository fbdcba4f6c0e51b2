"""Contrasts: what would have come out by rules that are common and wrong, so that a page can show what changed.

Unequal lists of cases, and cases paired by their position in a file, are the two that silently change winners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.stats import wilcoxon
from segbench.analysis.boards import Board
from segbench.analysis.scored_set import ScoredSet

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
class PositionPairing:
    """What pairing cases by their row in the file does to two-sided Wilcoxon tests (uncorrected, 0.05).

    Attributes:
        tested: pairs of models and structures.
        affected: of them, those whose rows are not of the same cases.
        changed: of these, those with another verdict.
        example: the pair with the largest change: structure, models, p by position and by id; None without one.

    """

    metric: str
    tested: int
    affected: int
    changed: int
    example: tuple[str, str, str, float, float] | None


def changed_winners(boards: tuple[Board, ...]) -> tuple[ChangedWinner, ...]:
    """Return the boards whose leader by the mean is another one where each model keeps its own cases."""
    found = []
    for board in boards:
        leader, former = board.rows[0], board[board.leader_on_own_cases]
        if former.model != leader.model and leader.mean.value is not None and former.mean.value is not None:
            found.append(
                ChangedWinner(
                    board.title, former.model, former.own_mean, leader.model, leader.mean.value, former.mean.value
                )
            )
    return tuple(found)


def position_pairing(scored: ScoredSet, metric: str) -> PositionPairing:
    """Compare tests of cases paired by position with tests of cases paired by id, over all structures.

    By position the first n rows of both files are paired, n the length of the shorter one, and rows where one of the
    two is empty are dropped: what a script does that reads two columns.
    """
    tested = affected = changed = 0
    example, largest = None, 0.0
    models = scored.models
    for structure in scored.structures:
        own = scored.matrix(structure, metric, "own")
        columns = {model: scored.tables[model].column(structure, metric) for model in models}
        for i, one in enumerate(models):
            for j in range(i + 1, len(models)):
                tested += 1
                other = models[j]
                if scored.tables[one].cases == scored.tables[other].cases:
                    continue
                affected += 1
                by_position = _two_sided(_by_position(columns[one], columns[other]))
                by_id = _two_sided(own.values[:, i] - own.values[:, j])
                if (by_position < 0.05) == (by_id < 0.05):
                    continue
                changed += 1
                size = abs(np.log10(max(by_position, 1e-300)) - np.log10(max(by_id, 1e-300)))
                if size > largest:
                    largest, example = float(size), (structure, one, other, by_position, by_id)
    return PositionPairing(metric, tested, affected, changed, example)


def _by_position(one: Floats, other: Floats) -> Floats:
    length = min(one.size, other.size)
    return np.asarray(one[:length] - other[:length])


def _two_sided(differences: Floats) -> float:
    return float(wilcoxon(differences[:, None], exact=False)[0])
