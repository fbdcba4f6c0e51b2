"""Several test sets in one analysis: a board over all of them, a part beside the whole, and how orders agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from segauge.errors import InvalidInput
from segauge.stats import Board, Contest, ScoredSet, ScoreMatrix, average_matrix, kendall_tau, make_board
from segbench.boards import Rules

#: Name of the board over all test sets.
OVERALL = "all test sets"


@dataclass(frozen=True)
class JointBoard:
    """Models over several test sets.

    Attributes:
        board: by the unweighted mean of the test sets' averages, cases resampled within each test set together.
        sets: per test set its own average per model.
        agreement: Kendall's tau between each test set's order and the joint one; None where one ties all.
        left_out: models that some test set lacks, with the sets that lack them.

    """

    board: Board
    sets: dict[str, dict[str, float]]
    agreement: dict[str, float | None]
    left_out: dict[str, tuple[str, ...]]

    @property
    def metric(self) -> str:
        """What was measured."""
        return self.board.metric


@dataclass(frozen=True)
class PartBoard:
    """A part of the cases (the official split) beside the whole: both boards, and how their orders agree."""

    part: str
    n_part: int
    n_whole: int
    board: Board
    whole: Board
    tau: float | None


def joint_board(sets: Sequence[ScoredSet], metric: str, rules: Rules) -> JointBoard | None:
    """Return the board over several test sets, of the models that all of them rank; None if no average exists."""
    if len(sets) < 2:
        raise InvalidInput(f"A joint board needs two test sets or more, got {len(sets)}.")
    having = {scored.name: _complete(scored, metric, rules) for scored in sets}
    shared = [model for model in next(iter(having.values())) if all(model in models for models in having.values())]
    if len(shared) < 2:
        raise InvalidInput("The test sets have fewer than two models in common, so there is no joint board.")
    lacking = {
        model: tuple(name for name, models in having.items() if model not in models)
        for model in dict.fromkeys(model for scored in sets for model in scored.ranked)
        if model not in shared
    }
    averages = {}
    for scored in sets:
        found = _set_average(scored, metric, rules, shared)
        if found is None:
            return None
        averages[scored.name] = found
    matrix = average_matrix(averages)
    board = make_board(Contest(OVERALL, metric, "structure-means", matrix, tuple(shared), matrix), rules)
    means = {name: np.nanmean(one.values, axis=0) for name, one in averages.items()}
    joint = np.array([board[model].value for model in shared], dtype=np.float64)
    taus = {name: float(kendall_tau(joint, values[None, :])[0]) for name, values in means.items()}
    return JointBoard(
        board,
        {name: dict(zip(shared, values.tolist(), strict=True)) for name, values in means.items()},
        {name: None if np.isnan(tau) else tau for name, tau in taus.items()},
        lacking,
    )


def _complete(scored: ScoredSet, metric: str, rules: Rules) -> list[str]:
    """Return the ranked models that have a value of every structure."""
    return [model for model in scored.complete_models(metric, rules.cases) if model in scored.ranked]


def _set_average(scored: ScoredSet, metric: str, rules: Rules, models: Sequence[str]) -> ScoreMatrix | None:
    """Return a test set's average, with its name in every case id: ids of two test sets may be the same."""
    if len(scored.structures) == 1:
        matrix = scored.matrix(scored.structures[0], metric, rules.cases).with_models(models).scored_cases()
        found = None if matrix.has_failures_without_value else matrix
    else:
        found = scored.average(metric, rules.average, rules.cases, models)
    if found is None:
        return None
    clusters = None if found.clusters is None else tuple(f"{scored.name}/{label}" for label in found.clusters)
    return replace(found, cases=tuple(f"{scored.name}/{case}" for case in found.cases), clusters=clusters)


def part_of(scored: ScoredSet, column: str, value: str) -> ScoredSet | None:
    """Return the cases whose metadata column has a value; None if these are fewer than two."""
    chosen = [case for case in scored.cases if scored.metadata.get(case, {}).get(column, "") == value]
    return scored.select(cases=chosen, name=f"{column} = {value}") if len(chosen) > 1 else None


def beside(part: str, board: Board, whole: Board) -> PartBoard:
    """Return the board of a part beside that of all cases, with how their orders agree."""
    models = [row.model for row in whole.ranked if (found := board.get(row.model)) is not None and found.ranked]
    orders = [np.array([found[model].rank for model in models], dtype=np.float64) for found in (whole, board)]
    tau = float(kendall_tau(orders[0], orders[1][None, :])[0])
    return PartBoard(part, board.n_cases, whole.n_cases, board, whole, None if np.isnan(tau) else tau)
