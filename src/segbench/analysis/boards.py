"""Boards: models from best to worst on one structure or the average, with interval, n, failures and rank set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.stats import SCHEMES, Estimate, Ranking, ScoreMatrix, rank
from segbench.analysis.rules import AVERAGE_RULES, CASE_RULES, AverageRule, Rules
from segbench.analysis.scored_set import AVERAGE, ScoredSet

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BoardRow:
    """One model on one board.

    Attributes:
        model: its name.
        rank: by the mean; ties share the mean rank.
        place: 1 + the number of models that are significantly better; without a test, the rank.
        rank_low, rank_high: ranks that the data do not exclude; None by rules that have no rank sets.
        mean: with its interval, n and failures.
        median, sd: of the cases; None for an average of structure means, which no case has.
        failed: cases that count as failures.
        win_probability: chance to come first on as many new cases; None by rules that have none.
        own_mean, own_n: mean over all cases of the model, whatever the others have.

    """

    model: str
    rank: float
    place: int
    rank_low: int | None
    rank_high: int | None
    mean: Estimate
    median: float | None
    sd: float | None
    failed: int
    win_probability: float | None
    own_mean: float
    own_n: int


@dataclass(frozen=True)
class Board:
    """Models from best to worst.

    Attributes:
        subject: the structure, or "average".
        metric: what was measured.
        average: which average this is, "" for a structure.
        rows: best first.
        rule: what makes models share a place.
        ranking: everything else that is known about the order; None by rules without it.
        n_cases: cases that count.
        notes: rules that made the numbers.
        higher_is_better: which way the metric is better.

    """

    subject: str
    metric: str
    average: str
    rows: tuple[BoardRow, ...]
    rule: str
    ranking: Ranking | None
    n_cases: int
    notes: tuple[str, ...]
    higher_is_better: bool = True

    @property
    def key(self) -> str:
        """Name of the board for files and anchors: "liver-dice", "average-structure-means-dice"."""
        return "-".join(part for part in (self.subject, self.average, self.metric) if part)

    @property
    def title(self) -> str:
        """Subject and metric in words."""
        words = f"{self.subject} {self.metric}".strip()
        return f"{words} ({AVERAGE_RULES[self.average]})" if self.average else words

    @property
    def is_by_ranks(self) -> bool:
        """True if the means are of ranks within the cases, because failures have no value."""
        return self.ranking is not None and self.ranking.is_by_ranks

    @property
    def measure(self) -> str:
        """What the means are of: the metric, or ranks by it."""
        return f"rank by {self.metric}" if self.is_by_ranks else self.metric

    @property
    def winners(self) -> tuple[str, ...]:
        """The models on the first place."""
        return tuple(row.model for row in self.rows if row.place == 1)

    @property
    def leader_on_own_cases(self) -> str:
        """The model with the best mean over its own cases, whatever the others have."""
        known = [row for row in self.rows if np.isfinite(row.own_mean)] or list(self.rows)
        return (max if self.higher_is_better else min)(known, key=lambda row: row.own_mean).model

    def __getitem__(self, model: str) -> BoardRow:
        """Return the row of a model."""
        for row in self.rows:
            if row.model == model:
                return row
        raise InvalidInput(f"No model {model!r} on the board {self.title!r}.")


@dataclass(frozen=True, eq=False)
class Contest:
    """The scores that a board is made of.

    Attributes:
        subject: the structure, or "average".
        metric: what was measured.
        average: which average this is, "" for a structure.
        matrix: the cases that count.
        own: every model on all of its own cases.

    """

    subject: str
    metric: str
    average: str
    matrix: ScoreMatrix
    own: ScoreMatrix


def structure_board(scored: ScoredSet, structure: str, metric: str, rules: Rules) -> Board:
    """Return the board of one structure."""
    return board_of(_structure_contest(scored, structure, metric, rules), rules)


def average_board(scored: ScoredSet, metric: str, average: AverageRule, rules: Rules) -> Board | None:
    """Return the board of the average over structures, by one of the two rules; None where there is no average."""
    contest = _average_contest(scored, metric, average, rules)
    return None if contest is None else board_of(contest, rules)


def boards_of(scored: ScoredSet, metric: str, rules: Rules) -> tuple[Board, ...]:
    """Return the boards of both averages (the rules' own one first) and of every structure."""
    return tuple(board_of(contest, rules) for contest in contests_of(scored, metric, rules))


def contests_of(scored: ScoredSet, metric: str, rules: Rules) -> tuple[Contest, ...]:
    """Return what the boards of a metric are made of: both averages (the rules' own one first), every structure."""
    others = [key for key in AVERAGE_RULES if key != rules.average]
    averages = [_average_contest(scored, metric, key, rules) for key in (rules.average, *others)]  # type: ignore[arg-type]
    structures = [_structure_contest(scored, structure, metric, rules) for structure in scored.structures]
    return (*(contest for contest in averages if contest is not None), *structures)


def _structure_contest(scored: ScoredSet, structure: str, metric: str, rules: Rules) -> Contest:
    matrix = scored.matrix(structure, metric, rules.cases)
    return Contest(structure, metric, "", matrix, scored.matrix(structure, metric, "own"))


def _average_contest(scored: ScoredSet, metric: str, average: AverageRule, rules: Rules) -> Contest | None:
    matrix = scored.average(metric, average, rules.cases)
    own = scored.average(metric, average, "own")
    return None if matrix is None or own is None else Contest(AVERAGE, metric, average, matrix, own)


def board_of(contest: Contest, rules: Rules) -> Board:
    """Return the board of a contest by the rules."""
    subject, metric, average = contest.subject, contest.metric, contest.average
    matrix, own = contest.matrix, contest.own
    if rules.is_touchstone:
        return _plain_board(subject, metric, average, matrix, rules)
    ranking = rank(
        matrix,
        schemes=() if average == "structure-means" else ("mean", "median", "rank-then-mean", "test-then-rank"),
        level=rules.level,
        margin=rules.margin,
        n_resamples=rules.n_resamples,
        seed=rules.seed,
    )
    owned = {model: _finite(column) for model, column in zip(own.models, own.values.T, strict=True)}
    rows = tuple(
        BoardRow(
            model=model.name,
            rank=model.rank,
            place=model.place,
            rank_low=model.rank_low,
            rank_high=model.rank_high,
            mean=model.score,
            win_probability=model.win_probability,
            own_mean=_mean(owned[model.name]),
            own_n=owned[model.name].size,
            **_of_cases(matrix, model.name, average, rules),
        )
        for model in ranking.models
    )
    notes = (*ranking.notes, f"cases: {CASE_RULES[rules.cases]}")
    return Board(
        subject, metric, average, rows, ranking.rule, ranking, len(matrix.cases), notes, own.scale.higher_is_better
    )


def _plain_board(subject: str, metric: str, average: str, matrix: ScoreMatrix, rules: Rules) -> Board:
    """Return means in their order, as Touchstone's README has them: no interval, no test."""
    columns = {model: _finite(column) for model, column in zip(matrix.models, matrix.values.T, strict=True)}
    means = np.array([_mean(column) for column in columns.values()])
    ranks = SCHEMES["mean"].function(matrix)
    rows = []
    for j in sorted(range(means.size), key=lambda j: (ranks[j], matrix.models[j])):
        model, n = matrix.models[j], columns[matrix.models[j]].size
        mean = Estimate(float(means[j]) if n else None, None, None, rules.level, n=n, unit=matrix.scale.unit)
        rows.append(
            BoardRow(
                model=model, rank=float(ranks[j]), place=int(np.floor(ranks[j])), rank_low=None, rank_high=None,
                mean=mean, win_probability=None, own_mean=float(means[j]), own_n=n,
                **_of_cases(matrix, model, average, rules),
            )
        )  # fmt: skip
    rule = "Places are those of the means, without a test."
    notes = (*matrix.notes, f"cases: {CASE_RULES[rules.cases]}")
    return Board(
        subject, metric, average, tuple(rows), rule, None, len(matrix.cases), notes, matrix.scale.higher_is_better
    )


def _of_cases(matrix: ScoreMatrix, model: str, average: str, rules: Rules) -> dict[str, Any]:
    """Return median, standard deviation and failures of a model's cases."""
    j = matrix.models.index(model)
    kept = _finite(matrix.values[:, j])
    failed = int((matrix.failed[:, j] & ~np.isnan(matrix.values[:, j])).sum())
    if average == "structure-means" or kept.size <= rules.sd_ddof:
        return {"median": None, "sd": None, "failed": 0 if average else failed}
    return {"median": float(np.median(kept)), "sd": float(kept.std(ddof=rules.sd_ddof)), "failed": failed}


def _finite(column: Floats) -> Floats:
    return column[np.isfinite(column)]


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")
