"""Several test sets in one analysis: a board over all of them, a part beside the whole, and how orders agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from segauge.errors import InvalidInput
from segauge.stats import Ranking, ScoreMatrix, average_matrix, kendall_tau, rank
from segbench.analysis.boards import Board, average_board, structure_board
from segbench.analysis.rules import Rules
from segbench.analysis.scored_set import AVERAGE, ScoredSet

#: Name of the board over all test sets.
OVERALL = "all test sets"


@dataclass(frozen=True)
class JointBoard:
    """Models over several test sets.

    Attributes:
        metric: what was measured.
        ranking: by the unweighted mean of the test sets' averages, cases resampled within each test set together.
        sets: per test set its own average per model.
        agreement: Kendall's tau between each test set's order and the joint one; None where one ties all.
        left_out: models that some test set lacks, with the sets that lack them.

    """

    metric: str
    ranking: Ranking
    sets: dict[str, dict[str, float]]
    agreement: dict[str, float | None]
    left_out: dict[str, tuple[str, ...]]


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
    """Return the board over several test sets, of the models that all of them have; None if no average exists."""
    if len(sets) < 2:
        raise InvalidInput(f"A joint board needs two test sets or more, got {len(sets)}.")
    shared = [model for model in sets[0].models if all(model in other.models for other in sets)]
    if len(shared) < 2:
        raise InvalidInput("The test sets have fewer than two models in common, so there is no joint board.")
    lacking = {
        model: tuple(other.name for other in sets if model not in other.models)
        for model in dict.fromkeys(model for scored in sets for model in scored.models)
        if model not in shared
    }
    averages = {}
    for scored in sets:
        found = _set_average(replace(scored, tables={model: scored.tables[model] for model in shared}), metric, rules)
        if found is None:
            return None
        averages[scored.name] = found
    ranking = rank(
        replace(average_matrix(averages), title=f"{OVERALL} {metric}"),
        schemes=(),
        level=rules.level,
        margin=rules.margin,
        n_resamples=rules.n_resamples,
        seed=rules.seed,
    )
    means = {name: np.nanmean(matrix.values, axis=0) for name, matrix in averages.items()}
    joint = np.array([ranking[model].score.value for model in shared], dtype=np.float64)
    taus = {name: float(kendall_tau(joint, values[None, :])[0]) for name, values in means.items()}
    return JointBoard(
        metric,
        ranking,
        {name: dict(zip(shared, values.tolist(), strict=True)) for name, values in means.items()},
        {name: None if np.isnan(tau) else tau for name, tau in taus.items()},
        lacking,
    )


def _set_average(scored: ScoredSet, metric: str, rules: Rules) -> ScoreMatrix | None:
    """Return a test set's average, with its name in every case id: ids of two test sets may be the same."""
    if len(scored.structures) == 1:
        found: ScoreMatrix | None = scored.matrix(scored.structures[0], metric, rules.cases)
        found = None if found is None or found.has_failures_without_value else found
    else:
        found = scored.average(metric, rules.average, rules.cases)
    if found is None:
        return None
    clusters = None if found.clusters is None else tuple(f"{scored.name}/{label}" for label in found.clusters)
    return replace(found, cases=tuple(f"{scored.name}/{case}" for case in found.cases), clusters=clusters)


def part_of(scored: ScoredSet, column: str, value: str) -> ScoredSet | None:
    """Return the cases whose metadata column has a value; None if these are fewer than two."""
    chosen = [case for case in scored.cases if scored.metadata.get(case, {}).get(column, "") == value]
    return scored.restricted(chosen, f"{column} = {value}") if len(chosen) > 1 else None


def subject_board(scored: ScoredSet, metric: str, subject: str, rules: Rules) -> Board | None:
    """Return the board of a structure, or of the leading average; None where there is no average."""
    if subject == AVERAGE:
        return average_board(scored, metric, rules.average, rules)
    return structure_board(scored, subject, metric, rules)


def beside(part: str, board: Board, whole: Board) -> PartBoard:
    """Return the board of a part beside that of all cases, with how their orders agree."""
    models = [row.model for row in whole.rows]
    orders = [np.array([found[model].rank for model in models]) for found in (whole, board)]
    tau = float(kendall_tau(orders[0], orders[1][None, :])[0])
    return PartBoard(part, board.n_cases, whole.n_cases, board, whole, None if np.isnan(tau) else tau)
