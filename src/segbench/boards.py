"""Named rules of boards, and the leaderboard that follows from the scores of a record by them.

Pure: nothing but the scores has a say. The boards themselves are made in `segauge.stats.boards`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from segauge import MissingPolicy
from segauge.errors import InvalidInput, SegaugeError, UnknownMetric
from segauge.executors import Crash, Outcome, run
from segauge.stats import (
    AVERAGE,
    Board,
    BoardRules,
    Scale,
    ScoredSet,
    ScoreMatrix,
    average_contest,
    make_board,
    scale_of,
    structure_contest,
)
from segauge.stats.estimation import FORMER_AUTO
from segbench.records import RunRecord

PairTest = Literal["max-t", "wilcoxon"]
Order = Literal["mean", "median"]
Progress = Callable[[str, int, int], None]

#: The rules of today. A change of any number or verdict gets a new name:
#: segbench-2: false findings count in comparisons; the exact sign test; cases that decide an average are exact.
#: segbench-3: patients count in intervals; places, rank sets and verdicts follow from all pairs together.
#: segbench-4: failures of a model that is not ranked do not undo the average of the others.
#: segbench-5: half-case intervals with the share of failures and the tail; an interval of a pair agrees with its
#: verdict, and each pair has its own interval beside it; a record holds no sentences.
RULES = "segbench-5"
#: Rules whose records can be recomputed and checked.
KNOWN_RULES = ("segbench-3", "segbench-4", RULES)
_EARLIER = ("segbench-1", "segbench-2")


@dataclass(frozen=True)
class Rules(BoardRules):
    """What makes the numbers of an analysis: those of its boards, and those of maps and groups.

    Attributes:
        test: of pairs of models in a map: "max-t" (mean difference, all pairs together) or "wilcoxon" (one-sided, both
            directions, normal approximation without continuity correction, zeros dropped, Holm over all of them).
        order: of the models in a significance map.
        minimum: groups with fewer cases are not estimated.
        aggregated_minimum: the same in the figure over all models.
        group_resamples: of the gaps between groups, of which there are many.

    """

    name: str = RULES
    cases: Literal["common", "failed", "own"] = "common"
    test: PairTest = "max-t"
    order: Order = "mean"
    minimum: int = 5
    aggregated_minimum: int = 5
    group_resamples: int = 2_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.minimum < 2 or self.aggregated_minimum < 2:
            raise InvalidInput("Groups need a minimum of 2 cases or more: one case has no spread.")

    @property
    def is_touchstone(self) -> bool:
        """True for the rules of the Touchstone benchmark."""
        return not self.tested


PRESETS: dict[str, Rules] = {
    "segbench": Rules(),
    "touchstone": Rules(
        name="touchstone",
        cases="own",
        tested=False,
        test="wilcoxon",
        order="median",
        aggregated_minimum=6,
        sd_ddof=0,
    ),
}


def rules_of(preset: str = "segbench", **changes: Any) -> Rules:
    """Return the rules of a preset, with changes that are not None."""
    if preset not in PRESETS:
        raise InvalidInput(f"No preset {preset!r}; there are {', '.join(PRESETS)}.")
    return replace(PRESETS[preset], **{key: value for key, value in changes.items() if value is not None})


@dataclass(frozen=True)
class Settings:
    """What the leaderboard of a record depends on besides the scores."""

    level: float
    interval: str
    n_resamples: int
    seed: int
    failed: str
    penalty: float | None
    margin: Mapping[str, float]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Return the settings of a record, with their defaults."""
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

    def rules(self, name: str, metric: str) -> BoardRules:
        """Return the rules of this name for the boards of a metric."""
        return BoardRules(
            name=name,
            ci=FORMER_AUTO if name != RULES and self.interval == "auto" else self.interval,
            intervals="agreeing" if name == RULES else "single-step",
            level=self.level,
            margin=self.margin.get(metric),
            n_resamples=self.n_resamples,
            seed=self.seed,
        )

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


@dataclass(frozen=True)
class Leaderboard:
    """All boards of a record, the settings that made them, and the name of the rules."""

    boards: tuple[Board, ...]
    averages: tuple[Board, ...]
    settings: Mapping[str, Any]
    rules: str = field(default=RULES)

    def board(self, structure: str, metric: str) -> Board:
        """Return one board; the structure "average" stands for all of them together."""
        for board in (*self.boards, *self.averages):
            if (board.structure, board.metric) == (structure, metric):
                return board
        known = ", ".join(f"{board.structure} {board.metric}" for board in (*self.boards, *self.averages))
        raise InvalidInput(f"No board of {structure} {metric}; there are {known}.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            "rules": self.rules,
            "settings": dict(self.settings),
            "boards": [board.to_dict() for board in self.boards],
            "averages": [board.to_dict() for board in self.averages],
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Leaderboard:
        """Return the leaderboard that a record holds; one that was made by other rules is refused."""
        if given.get("rules") != RULES:
            raise InvalidInput(other_rules(given.get("rules")))
        boards, averages = (tuple(Board.from_dict(one) for one in given[key]) for key in ("boards", "averages"))
        return cls(boards, averages, given["settings"])


def other_rules(rules: object) -> str:
    """Return in words what to do with an analysis that was made by rules that cannot be recomputed."""
    by = f"older rules, {rules!r}" if rules in (*_EARLIER, *KNOWN_RULES) else f"the rules {rules!r}"
    return (
        f"The analysis of this record was made by {by}; this version has {RULES!r}, which may give other numbers and "
        "verdicts, so it cannot be checked. `segbench verify FILE --write` makes it again from the scores."
    )


def scored_set_of(record: RunRecord) -> ScoredSet:
    """Return the scores of a record as a test set: what all of its boards, pages and groups are made of."""
    settings = Settings.of(record.settings)
    return ScoredSet(
        record.dataset.title,
        record.tables,
        _metadata(record),
        record.clusters(),
        policies={metric: settings.policy(scale, record) for metric in record.metrics if (scale := _scale(metric))},
        unranked=tuple(entry.name for entry in record.models if not entry.ranked),
        broken={entry.name: frozenset(entry.failures) for entry in record.models if entry.failures},
    )


def _metadata(record: RunRecord) -> dict[str, dict[str, str]]:
    columns = list(dict.fromkeys(str(key) for case in record.cases for key in case.metadata))
    if not columns:
        return {}
    return {case.case_id: {key: _text(case.metadata.get(key)) for key in columns} for case in record.cases}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _scale(metric: str) -> Scale | None:
    try:
        return scale_of(metric)
    except UnknownMetric:
        return None


def make_leaderboard(
    record: RunRecord, *, rules: str = RULES, jobs: int = 1, progress: Progress | None = None
) -> Leaderboard:
    """Return the leaderboard that follows from the scores of a record, whatever analysis it came with.

    Structures are analysed one by one, in so many processes (`jobs`); no number depends on how many these are.
    `progress` is called with the structure (or the average) that is done, how many are, and of how many.
    """
    if rules not in KNOWN_RULES:
        raise InvalidInput(other_rules(rules))
    settings, scored = Settings.of(record.settings), scored_set_of(record)
    asked = {metric: settings.rules(rules, metric) for metric in record.metrics if _scale(metric)}
    names, averaged = record.structures, tuple(asked) if len(record.structures) > 1 else ()
    total = len(names) + len(averaged)
    found: dict[str, dict[str, Analysed]] = {}

    def tasks() -> Iterable[StructureTask]:
        return (StructureTask(scored.select(structures=[name]), name, asked) for name in names)

    # In this process an error is what it is; in a worker it comes back as words.
    here = (Outcome(index, structure_boards(task)) for index, task in enumerate(tasks()))
    for done, outcome in enumerate(run(structure_boards, tasks(), jobs=jobs) if jobs > 1 else here, start=1):
        name = names[outcome.index]
        if isinstance(outcome.result, Crash):
            raise SegaugeError(f"The boards of {name} could not be made: {outcome.result.reason}.")
        found[name] = outcome.result
        if progress is not None:
            progress(name, done, total)
    averages = []
    for done, metric in enumerate(averaged, start=len(names) + 1):
        contest = average_contest(
            scored, metric, asked[metric].average, asked[metric], {name: found[name][metric].scores for name in names}
        )
        if contest is not None:
            averages.append(make_board(contest, asked[metric]))
        if progress is not None:
            progress(f"{AVERAGE} {metric}", done, total)
    boards = tuple(found[name][metric].board for name in names for metric in asked)
    return Leaderboard(boards, tuple(averages), vars(settings), rules)


@dataclass(frozen=True, eq=False)
class StructureTask:
    """The scores of one structure, and the rules per metric: what a worker makes its boards of."""

    scored: ScoredSet
    structure: str
    rules: Mapping[str, BoardRules]


@dataclass(frozen=True)
class Analysed:
    """A board, and the scores that the average over structures is made of."""

    board: Board
    scores: ScoreMatrix


def structure_boards(task: StructureTask) -> dict[str, Analysed]:
    """Return the boards of one structure by metric: what one worker is asked for."""
    found = {}
    for metric, rules in task.rules.items():
        contest = structure_contest(task.scored, task.structure, metric, rules)
        # What was left out of each column is in the board; the average needs the numbers only.
        found[metric] = Analysed(make_board(contest, rules), replace(contest.matrix, columns={}))
    return found


def leaderboard_of(record: RunRecord) -> Leaderboard:
    """Return the leaderboard that a record holds, or make it where the record has none by the rules of today."""
    if record.analysis is not None and record.analysis.get("rules") == RULES:
        return Leaderboard.from_dict(record.analysis)
    return make_leaderboard(record)
