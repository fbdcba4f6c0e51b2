"""Contests and the maker of boards: the scores that a board is made of, and what follows from them by the rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from segauge.errors import InvalidInput
from segauge.stats.boards import Board, BoardRow, BoardRules
from segauge.stats.estimation import Estimate, estimate_columns
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.missing import estimate_resolved
from segauge.stats.planning import plan_pairs
from segauge.stats.ranking import RankedModel, Ranking, rank
from segauge.stats.schemes import SCHEMES
from segauge.stats.scored_set import AVERAGE, AVERAGE_RULES, CASE_RULES, AverageRule, ScoredSet, average_of


@dataclass(frozen=True, eq=False)
class Contest:
    """The scores that a board is made of.

    Attributes:
        structure, metric, average: of the board.
        matrix: the scores on the cases that count: of all models of a structure, of the ranked ones of an average.
        ranked: the models that take part.
        own: every model on all of its own cases.
        shown: in an average, per model that is only shown its own average; None where it has none.
        no_order: why there is no order, known before any ranking.

    """

    structure: str
    metric: str
    average: str
    matrix: ScoreMatrix
    ranked: tuple[str, ...]
    own: ScoreMatrix
    shown: Mapping[str, ScoreMatrix | None] = field(default_factory=dict)
    no_order: str = ""


def structure_contest(scored: ScoredSet, structure: str, metric: str, rules: BoardRules) -> Contest:
    """Return the scores of one structure, of all models that have it."""
    matrix = scored.matrix(structure, metric, rules.cases)
    known = [name for j, name in enumerate(matrix.models) if not np.isnan(matrix.values[:, j]).all()]
    ranked = tuple(name for name in known if name not in scored.unranked)
    own = matrix if rules.cases == "own" or scored.has_equal_cases else scored.matrix(structure, metric, "own")
    return Contest(structure, metric, "", matrix, ranked, own)


def average_contest(
    scored: ScoredSet,
    metric: str,
    average: AverageRule,
    rules: BoardRules,
    matrices: Mapping[str, ScoreMatrix] | None = None,
) -> Contest | None:
    """Return the scores of the average over structures, of the models that have all of them; None of one structure.

    `matrices` are the scores of the structures where they were made already.
    """
    known = matrices or {name: scored.matrix(name, metric, rules.cases) for name in scored.structures}
    if len(known) < 2:
        return None
    parts = {name: matrix for name, matrix in known.items() if matrix.cases}
    complete = [name for name in scored.models if parts and all(_has_values(one, name) for one in parts.values())]
    ranked = tuple(name for name in complete if name not in scored.unranked)

    def average_over(names: Sequence[str]) -> ScoreMatrix | None:
        chosen = {name: matrix.with_models(names).scored_cases() for name, matrix in parts.items()}
        return average_of(chosen, average, rules.cases)

    def contest(matrix: ScoreMatrix, names: tuple[str, ...], no_order: str = "", **further: Any) -> Contest:
        return Contest(
            AVERAGE, metric, average, matrix, names, further.pop("own", matrix), no_order=no_order, **further
        )

    empty = replace(next(iter(known.values())).with_models(()), columns={})
    takes_part = ranked or tuple(complete)
    matrix = average_over(takes_part) if takes_part else None
    if matrix is None:
        return contest(empty, (), "no mean" if takes_part else "few complete")
    others = tuple(name for name in complete if name not in ranked) if len(ranked) > 1 else tuple(complete)
    shown = {name: average_over([name]) for name in others}
    if len(ranked) < 2:
        return contest(empty, (), "few complete", shown=shown)
    own = matrix
    if rules.cases != "own" and not scored.has_equal_cases:
        own = scored.average(metric, average, "own", ranked) or matrix
    return contest(matrix, ranked, shown=shown, own=own)


def contests_of(scored: ScoredSet, metric: str, rules: BoardRules) -> Iterator[Contest]:
    """Yield what the boards of a metric are made of: both averages (the rules' own one first), every structure."""
    others = [key for key in AVERAGE_RULES if key != rules.average]
    for average in (rules.average, *others):
        found = average_contest(scored, metric, average, rules)  # type: ignore[arg-type]
        if found is not None:
            yield found
    for structure in scored.structures:
        yield structure_contest(scored, structure, metric, rules)


def boards_of(scored: ScoredSet, metric: str, rules: BoardRules) -> tuple[Board, ...]:
    """Return the boards of both averages (the rules' own one first) and of every structure."""
    return tuple(make_board(contest, rules) for contest in contests_of(scored, metric, rules))


def make_board(contest: Contest, rules: BoardRules) -> Board:
    """Return the board of a contest: the estimates of all models, and the order of those that take part."""
    scale, matrix = contest.matrix.scale, contest.matrix
    board = Board(
        contest.structure, contest.metric, contest.average, "mean", scale.unit, scale.higher_is_better,
        len(matrix.cases), (), rules.level,
    )  # fmt: skip
    shown = {name: _shown_row(name, contest, rules) for name in (*matrix.models, *contest.shown)}
    board = replace(board, rows=tuple(shown.values()), no_order=_no_order(contest))
    if board.no_order:
        return board
    taking_part = matrix.with_models(contest.ranked).scored_cases()
    board = replace(board, n_cases=len(taking_part.cases))
    if not rules.tested:
        return _plain_board(board, taking_part, rules)
    ranking = rank(
        taking_part, ci=rules.ci, level=rules.level, margin=rules.margin, n_resamples=rules.n_resamples,
        seed=rules.seed, intervals=rules.intervals,
    )  # fmt: skip
    board = _with_ranking(board, ranking, taking_part, rules)
    rows = [_ranked_row(shown.pop(model.name), model, contest) for model in ranking.models]
    # A mean has no place among mean ranks.
    others = (replace(row, value=None) if board.is_by_ranks else row for row in shown.values())
    return replace(board, rows=(*rows, *others))


def _no_order(contest: Contest) -> str:
    if contest.no_order:
        return contest.no_order
    if not contest.matrix.cases:
        return "no case"
    if len(contest.ranked) < 2:
        return "one ranked" if contest.ranked else "none ranked"
    taking_part = contest.matrix.with_models(contest.ranked).scored_cases()
    if taking_part.has_failures_without_value and not taking_part.is_rankable.any():
        return "no shared case"
    return ""


def _with_ranking(board: Board, ranking: Ranking, matrix: ScoreMatrix, rules: BoardRules) -> Board:
    try:
        plans = plan_pairs(matrix, level=rules.level)
    except InvalidInput:  # two neighbours that share a single case, which does not undo the order
        plans = ()
    return replace(
        board,
        kind="mean rank" if ranking.is_by_ranks else "mean",
        rule=ranking.rule,
        test=ranking.comparison.test,
        pairs=ranking.comparison.pairs,
        plans=plans,
        flips={flip.case: flip.winner for flip in ranking.flips if flip.winner is not None},
        flip_share=ranking.flip_share,
        schemes=ranking.schemes,
        notes=(*ranking.notes, f"cases: {CASE_RULES[rules.cases]}"),
    )


def _ranked_row(row: BoardRow, model: RankedModel, contest: Contest) -> BoardRow:
    return replace(
        row,
        value=model.score.value,
        estimate=model.score if contest.average else row.estimate,
        place=model.place,
        rank=model.rank,
        rank_low=model.rank_low,
        rank_high=model.rank_high,
        win_frequency=model.win_frequency,
        win_probability=model.win_probability,
    )


def _plain_board(board: Board, matrix: ScoreMatrix, rules: BoardRules) -> Board:
    """Return means in their order, as Touchstone's README has them: no interval, no test."""
    ranks = dict(zip(matrix.models, SCHEMES["mean"].function(matrix).tolist(), strict=True))
    known = {row.model: row for row in board.rows}
    order = sorted(ranks, key=lambda name: (ranks[name], name))
    rows = [replace(known.pop(name), place=math.floor(ranks[name]), rank=float(ranks[name])) for name in order]
    return replace(
        board,
        rows=(*rows, *known.values()),
        rule="Places are those of the means, without a test.",
        notes=(*matrix.notes, f"cases: {CASE_RULES[rules.cases]}"),
    )


def _shown_row(name: str, contest: Contest, rules: BoardRules) -> BoardRow:
    """Return what is known of a model without any ranking."""
    matrix = contest.shown.get(name, contest.matrix)
    if matrix is None:
        return BoardRow(name, None, None, 0, 0)
    column = matrix.values[:, matrix.models.index(name)]
    scored = ~np.isnan(column)
    kept = column[np.isfinite(column)]
    failed = matrix.failed[:, matrix.models.index(name)] & scored
    own = contest.own if name in contest.own.models else matrix
    owned = own.values[:, own.models.index(name)]
    owned = owned[np.isfinite(owned)]
    has_spread = contest.average != "structure-means" and kept.size > rules.sd_ddof
    estimate = _estimate(name, matrix, contest, rules)
    return BoardRow(
        name,
        None if estimate is None else estimate.value,
        estimate,
        int(scored.sum()),
        int(failed.sum()),
        median=float(np.median(kept)) if has_spread else None,
        sd=float(kept.std(ddof=rules.sd_ddof)) if has_spread else None,
        own_mean=float(owned.mean()) if owned.size else None,
        own_n=owned.size,
    )


def _estimate(name: str, matrix: ScoreMatrix, contest: Contest, rules: BoardRules) -> Estimate | None:
    """Return the mean of a model by itself; that of a ranked model in an average comes with the ranking."""
    j = matrix.models.index(name)
    if not rules.tested:
        kept = matrix.values[np.isfinite(matrix.values[:, j]), j]
        mean = float(kept.mean()) if kept.size else None
        return Estimate(mean, None, None, rules.level, n=kept.size, unit=matrix.scale.unit)
    options: dict[str, Any] = {
        "ci": rules.ci, "level": rules.level, "cluster": matrix.clusters, "n_resamples": rules.n_resamples,
        "seed": rules.seed, "name": f"{contest.structure}/{contest.metric}/{name}",
    }  # fmt: skip
    if not contest.average:
        column = replace(matrix.columns[name], values=matrix.values[:, j], is_failure=matrix.failed[:, j])
        return estimate_resolved(column, matrix.scale, most=matrix.most, **options)
    if name not in contest.shown:
        return None
    (found,) = estimate_columns(
        matrix.values[:, [j]], bounds=matrix.mean_bounds, higher_is_better=matrix.scale.higher_is_better,
        unit=matrix.scale.unit, linearised=matrix.linearised, failures=matrix.failed[:, [j]], most=matrix.most,
        **options,
    )  # fmt: skip
    return found


def _has_values(matrix: ScoreMatrix, name: str) -> bool:
    return name in matrix.models and not bool(np.isnan(matrix.values[:, matrix.models.index(name)]).all())


def board_on(
    scored: ScoredSet, structure: str, metric: str, rules: BoardRules, average: AverageRule | None = None
) -> Board | None:
    """Return the board of a structure, or of the average (by the rules' own rule unless told); None without one."""
    if structure != AVERAGE:
        return make_board(structure_contest(scored, structure, metric, rules), rules)
    contest = average_contest(scored, metric, average or rules.average, rules)
    return None if contest is None else make_board(contest, rules)
