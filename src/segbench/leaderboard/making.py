"""make_leaderboard(): from the scores of a record to its boards; pure, and nothing but the scores has a say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge import CATALOG, Estimate, MissingPolicy, Ranking, rank
from segauge.errors import InvalidInput, SegaugeError
from segauge.executors import Crash, Outcome, run
from segauge.stats import PairPlan, Scale, ScoreMatrix, average_matrix, plan_pairs, scale_of, score_matrix
from segauge.stats.estimation import FORMER_AUTO
from segauge.stats.missing import estimate_resolved
from segauge.stats.scales import is_measurement
from segbench.leaderboard.boards import AVERAGE, RULES, Board, Leaderboard, Standing
from segbench.records import RunRecord

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class _Settings:
    """What the statistics depend on beside the scores."""

    level: float
    interval: str
    n_resamples: int
    seed: int
    failed: str
    penalty: float | None
    margin: Mapping[str, float]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> _Settings:
        try:
            return cls(
                float(given.get("confidence", 0.95)),
                str(given.get("interval", "auto")),
                int(given.get("n_resamples", 10_000)),
                int(given.get("seed", 0)),
                str(given.get("failed", "auto")),
                None if given.get("penalty") is None else float(given["penalty"]),
                {str(metric): float(value) for metric, value in dict(given.get("margin") or {}).items()},
            )
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"The settings of this record cannot be used: {error}.") from error

    @property
    def method(self) -> str:
        """The interval method: the rules segbench-4 have the default of their time."""
        return FORMER_AUTO if self.interval == "auto" else self.interval

    def policy(self, scale: Scale, record: RunRecord) -> MissingPolicy:
        """Return what a failed case counts as: the scale's worst value where there is one, else by the settings."""
        if np.isfinite(scale.worst):
            return MissingPolicy()
        if self.failed not in ("diagonal", "penalty"):
            return MissingPolicy(self.failed, penalty=self.penalty)  # type: ignore[arg-type]
        if scale.unit != "mm":  # a length says nothing about a count
            return MissingPolicy("last")
        known = {case.case_id: case.diagonal_mm for case in record.cases if case.diagonal_mm is not None}
        return MissingPolicy("penalty", penalty=known if self.failed == "diagonal" else self.penalty)


def make_leaderboard(record: RunRecord, *, jobs: int = 1, progress: Progress | None = None) -> Leaderboard:
    """Return the leaderboard that follows from the scores of a record, whatever analysis it came with.

    Structures are analysed one by one, in so many processes (`jobs`); no number depends on how many these are.
    `progress` is called with the structure (or the average) that is done, how many are, and of how many.
    """
    settings = _Settings.of(record.settings)
    found: dict[str, dict[str, _Analysed]] = {}
    # One structure has no average.
    averaged = record.metrics if len(record.structures) > 1 else ()
    total = len(record.structures) + len(averaged)

    def part(index: int) -> RunRecord:
        return record.of_structure(record.structures[index])

    count = len(record.structures)
    # In this process an error is what it is; in a worker it comes back as words.
    here = (Outcome(index, structure_boards(part(index))) for index in range(count))
    outcomes = run(structure_boards, map(part, range(count)), jobs=jobs) if jobs > 1 else here
    for done, outcome in enumerate(outcomes, start=1):
        structure = record.structures[outcome.index]
        if isinstance(outcome.result, Crash):
            raise SegaugeError(f"The boards of {structure} could not be made: {outcome.result.reason}.")
        found[structure] = outcome.result
        if progress is not None:
            progress(structure, done, total)
    boards, averages = [], []
    for structure in record.structures:
        boards += [one.board for one in found[structure].values()]
    for done, metric in enumerate(averaged, start=len(found) + 1):
        matrices = {name: found[name][metric].scores for name in record.structures if metric in found[name]}
        if len(matrices) > 1:
            averages.append(_average_board(record, metric, matrices, settings))
        if progress is not None:
            progress(f"{AVERAGE} {metric}", done, total)
    return Leaderboard(tuple(boards), tuple(averages), vars(settings))


@dataclass(frozen=True)
class _Analysed:
    """A board, and the scores that the average over structures is made of."""

    board: Board
    scores: ScoreMatrix


def structure_boards(record: RunRecord) -> dict[str, _Analysed]:
    """Return the boards of a record's only structure by metric: what one worker is asked for."""
    settings = _Settings.of(record.settings)
    (structure,) = record.structures
    found = {}
    for metric in record.metrics:
        scale = metric_scale(metric)
        matrix = None if scale is None else _matrix(record, structure, metric, scale, settings)
        if matrix is not None:
            board = _board(record, structure, metric, matrix, settings)
            # What was left out of each column is in the board; the average needs the numbers only.
            found[metric] = _Analysed(board, replace(matrix, columns={}))
    return found


def board_scores(record: RunRecord, structure: str, metric: str) -> ScoreMatrix | None:
    """Return the scores that a board is made of, of all models, failures resolved; None where there is no board."""
    scale = metric_scale(metric)
    return None if scale is None else _matrix(record, structure, metric, scale, _Settings.of(record.settings))


def chosen_models(matrix: ScoreMatrix, models: Sequence[str]) -> ScoreMatrix:
    """Return the scores of some of the models, on the cases that have any."""
    return matrix.scored_cases().with_models(models)


def leaderboard_of(record: RunRecord) -> Leaderboard:
    """Return the leaderboard that a record holds, or make it where the record has none by the rules of today."""
    if record.analysis is not None and record.analysis.get("rules") == RULES:
        return Leaderboard.from_dict(record.analysis)
    return make_leaderboard(record)


def metric_scale(metric: str) -> Scale | None:
    """Return which way a metric is better, None for a plain measurement such as a volume."""
    if is_measurement(metric):
        return None
    info = CATALOG.get(metric.split("@", 1)[0])
    return scale_of(metric) if info is None else Scale(info.direction == "higher", info.bounds, info.unit)


def _matrix(record: RunRecord, structure: str, metric: str, scale: Scale, settings: _Settings) -> ScoreMatrix | None:
    """Return the scores of all models that have a structure; None if none has."""
    tables = {name: table for name, table in record.tables.items() if structure in table.structures}
    if not tables:
        return None
    matrix = score_matrix(
        tables,
        structure=structure,
        metric=metric,
        scale=scale,
        policy=settings.policy(scale, record),
        cases="failed",
        cluster=record.clusters(),
    )
    return matrix if matrix.absent is None else replace(matrix, absent=matrix.absent & _predicted(record, matrix))


def _predicted(record: RunRecord, matrix: ScoreMatrix) -> npt.NDArray[np.bool_]:
    """Return (cases, models) which predictions were made: a model that broke down did not rightly find nothing."""
    broken = [record[name].failures for name in matrix.models]
    return np.array([[case not in failures for failures in broken] for case in matrix.cases], dtype=bool)


def _board(record: RunRecord, structure: str, metric: str, matrix: ScoreMatrix, settings: _Settings) -> Board:
    """Return the board of one structure: estimates of all models, and the ranking of those that take part."""
    estimates = {
        name: estimate_resolved(
            column, matrix.scale, ci=settings.method, level=settings.level, cluster=matrix.clusters,
            n_resamples=settings.n_resamples, seed=settings.seed, name=f"{structure}/{metric}/{name}",
        )
        for name, column in matrix.columns.items()
    }  # fmt: skip
    shares = dict(zip(matrix.models, matrix.failure_shares.tolist(), strict=True))
    shown = tuple(
        _shown(record, structure, name, found, found.value, shares[name]) for name, found in estimates.items()
    )
    scored = matrix.scored_cases()
    board = Board(structure, metric, matrix.scale.higher_is_better, matrix.scale.unit, len(scored.cases), shown, "")
    if not scored.cases:
        return replace(board, sentence=f"No case has {structure} in its ground truth or a prediction.")
    takes_part = [name for name in scored.models if record[name].ranked and _has_values(scored, name)]
    if not takes_part:
        return replace(board, sentence="No model is ranked.")
    contest = scored.with_models(takes_part).scored_cases()
    return _ranked_board(replace(board, n_cases=len(contest.cases)), contest, settings)


def _average_board(record: RunRecord, metric: str, matrices: Mapping[str, ScoreMatrix], settings: _Settings) -> Board:
    """Return the board of the unweighted mean of the structures' means, of the models that have all of them."""
    scored = {structure: matrix.scored_cases() for structure, matrix in matrices.items()}
    scored = {structure: matrix for structure, matrix in scored.items() if matrix.cases}
    scale = next(iter(matrices.values())).scale
    board = Board(AVERAGE, metric, scale.higher_is_better, scale.unit, 0, (), "")
    everywhere = [
        name
        for name in record.tables
        if scored and all(name in matrix.models and _has_values(matrix, name) for matrix in scored.values())
    ]
    ranked = [name for name in everywhere if record[name].ranked]
    if not all(_has_means(scored, name) for name in ranked or everywhere):
        return replace(
            board, sentence=f"Failed cases have no {metric}, so there is no mean over structures; give a penalty."
        )

    def alone(name: str) -> Standing:
        # One by one: a model that is only shown has no say in the numbers of the others.
        if not _has_means(scored, name):
            return _shown(record, AVERAGE, name, None, None, None)
        matrix = _averaged(scored, [name])
        return _shown(record, AVERAGE, name, None, float(matrix.values.mean()), float(matrix.failure_shares[0]))

    if len(ranked) < 2:
        sentence = "Fewer than two ranked models have every structure, so there is no order."
        return replace(board, standings=tuple(map(alone, everywhere)), sentence=sentence)
    contest = _averaged(scored, ranked)
    shown = tuple(
        _shown(record, AVERAGE, name, None, None, None) if name in ranked else alone(name) for name in everywhere
    )
    made = _ranked_board(replace(board, standings=shown, n_cases=len(contest.cases)), contest, settings)
    return made if made.rule else replace(made, standings=tuple(map(alone, everywhere)))


def _averaged(scored: Mapping[str, ScoreMatrix], names: Sequence[str]) -> ScoreMatrix:
    return average_matrix({structure: matrix.with_models(names) for structure, matrix in scored.items()})


def _has_values(matrix: ScoreMatrix, name: str) -> bool:
    return not bool(np.isnan(matrix.values[:, matrix.models.index(name)]).all())


def _has_means(scored: Mapping[str, ScoreMatrix], name: str) -> bool:
    """Return whether a model has a mean of every structure: it has none where its failures have no value."""
    return not any(matrix.with_models([name]).has_failures_without_value for matrix in scored.values())


def _ranked_board(board: Board, contest: ScoreMatrix, settings: _Settings) -> Board:
    """Return the board with the ranking of a contest, or with the reason why there is none."""
    if len(contest.models) < 2:
        return replace(board, sentence=f"Only {contest.models[0]} can be ranked here, so there is no order.")
    try:
        ranking = rank(
            contest, ci=settings.method, level=settings.level, margin=settings.margin.get(board.metric),
            n_resamples=settings.n_resamples, seed=settings.seed,
        )  # fmt: skip
    except InvalidInput as error:  # such as: no case that every model has a score or a failure for
        return replace(board, sentence=str(error))
    plans = _plans(contest, settings)
    known = {standing.model: standing for standing in board.standings}
    standings = [_ranked(known.pop(model.name), ranking, board.structure) for model in ranking.models]
    return replace(
        board,
        standings=(*standings, *known.values()),
        sentence=sentence_of(ranking, plans, f"{board.metric} on {board.structure}"),
        rule=ranking.rule,
        pairs=ranking.comparison.pairs,
        plans=plans,
        deciding_cases={flip.case: flip.winner for flip in ranking.flips if flip.winner is not None},
        flip_share=ranking.flip_share,
        schemes=ranking.schemes,
        notes=ranking.notes,
    )


def _plans(contest: ScoreMatrix, settings: _Settings) -> tuple[PairPlan, ...]:
    """Return the plans of neighbours; none where two of them share a single case, which does not undo the order."""
    try:
        return plan_pairs(contest, level=settings.level)
    except InvalidInput:
        return ()


def _shown(
    record: RunRecord,
    structure: str,
    name: str,
    estimate: Estimate | None,
    mean: float | None,
    failure_share: float | None,
) -> Standing:
    suspect = any(one.model == name and structure in (one.structure, AVERAGE) for one in record.suspects)
    exposure = record[name].exposure.level.value
    return Standing(name, estimate, mean, False, exposure, suspect, failure_share=failure_share)


def _ranked(standing: Standing, ranking: Ranking, structure: str) -> Standing:
    found = ranking[standing.model]
    return replace(
        standing,
        estimate=found.score if structure == AVERAGE else standing.estimate,
        mean=found.score.value,
        ranked=True,
        place=found.place,
        rank_low=found.rank_low,
        rank_high=found.rank_high,
        win_frequency=found.win_frequency,
        win_probability=found.win_probability,
        failure_share=found.failure_share,
    )


def sentence_of(ranking: Ranking, plans: Sequence[PairPlan], what: str) -> str:
    """Return what a ranking says, in one or two plain sentences."""
    best, count = ranking.models[0], ranking.n_cases
    head = f"{best.name} has the best {'mean rank by' if ranking.is_by_ranks else 'mean'} {what}"
    if count < 10:
        few = "1 case is" if count == 1 else f"{count} cases are"
        return f"{head}, but {few} too few to tell any two models apart."
    tied = [name for name in ranking.winners if name != best.name]
    percent = f"{100 * ranking.level:g} %"
    if not tied:
        others = "the other model" if len(ranking.models) == 2 else "every other model"
        return f"{best.name} is best by {what}: better than {others} on these {count} cases at {percent}."
    words = f"{', '.join(tied[:-1])} and {tied[-1]}" if len(tied) > 1 else tied[0]
    said = f"{head}, but {words} cannot be told from it on these {count} cases at {percent}."
    plan = next((plan for plan in plans if best.name in (plan.a, plan.b)), None)
    other = "" if plan is None else plan.b if plan.a == best.name else plan.a
    # The next in the order may be told apart although one behind it is not.
    if plan is None or not plan.more_cases or other not in tied:
        return said
    more = "More than 10,000" if plan.more_cases > 10_000 else f"About {plan.more_cases}"
    cases = "case" if plan.more_cases == 1 else "cases"
    return f"{said} {more} more {cases} would separate {best.name} and {other} four times out of five."
