"""Leaderboard, Board, Standing: who is best on which structure by which metric, as values that go to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from segauge import Estimate
from segauge.errors import InvalidInput
from segauge.stats import PairPlan, PairResult
from segauge.stats.matrix import RANKED_WITHIN_CASES

#: Names the rules that make an analysis; a change of any of them gets a new name. The second: false findings count in
#: comparisons, the sign test tells apart two models that a case only orders, and the cases that decide an average are
#: found without its linearisation. The third: patients count in intervals, nothing invented where there is nothing is a
#: number, places and rank sets follow from all pairs together, and averages of bounded scores have the interval of
#: these; no chance to win again from fewer than ten cases. The fourth: failures of a model that is not ranked do not
#: undo the average of the others, and its share of them is told.
RULES = "segbench-4"
_OLDER_RULES = ("segbench-1", "segbench-2", "segbench-3")
#: What the board over all structures is called.
AVERAGE = "average"


@dataclass(frozen=True)
class Standing:
    """One model on one board: its estimate and, if it is ranked, its place.

    Attributes:
        model: its name.
        estimate: mean over its cases, with interval, n and failures; None on the average over structures.
        mean: the number that the order is made of: the mean score, or the mean rank where failures have no value.
        ranked: whether it takes part in the ranking.
        exposure: what it has seen of the dataset.
        suspect: whether its result should not be believed.
        place: 1 + the number of models that are significantly better; models that share it cannot be told apart.
        rank_low, rank_high: ranks that the data do not exclude.
        win_frequency: how often it is first among resampled cases; None where these are too few to tell models apart.
        win_probability: chance to be first on a new set of as many cases; None likewise.
        failure_share: share of its cases that failed.

    """

    model: str
    estimate: Estimate | None
    mean: float | None
    ranked: bool
    exposure: str
    suspect: bool = False
    place: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    win_frequency: float | None = None
    win_probability: float | None = None
    failure_share: float | None = None


@dataclass(frozen=True)
class Board:
    """One structure and one metric.

    Attributes:
        structure, metric: what was scored; the structure is "average" on the board over all of them.
        higher_is_better, unit: of the metric.
        n_cases: cases where a ranked model has a score or a failure; where none is ranked, any model.
        standings: ranked models from best to worst, then those that are only shown.
        sentence: what the board says, in words.
        rule: what makes models share a place.
        pairs: every pair of ranked models, with interval and verdict.
        plans: per pair of neighbours how many cases it would take to tell them apart.
        deciding_cases: cases without which another model would be first, and which one.
        flip_share: share of the cases whose removal changes some rank.
        schemes: per ranking scheme the rank of each model.
        notes: policies that were applied, and what could not be done.

    """

    structure: str
    metric: str
    higher_is_better: bool
    unit: str
    n_cases: int
    standings: tuple[Standing, ...]
    sentence: str
    rule: str = ""
    pairs: tuple[PairResult, ...] = ()
    plans: tuple[PairPlan, ...] = ()
    deciding_cases: Mapping[str, str] | None = None
    flip_share: float | None = None
    schemes: Mapping[str, Mapping[str, float]] | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_by_ranks(self) -> bool:
        """True if order and pairs are of ranks within the cases, because failures have no value."""
        return RANKED_WITHIN_CASES in self.notes

    @property
    def winners(self) -> tuple[str, ...]:
        """The models that share the first place."""
        return tuple(standing.model for standing in self.standings if standing.place == 1)

    def __getitem__(self, model: str) -> Standing:
        """Return the standing of a model."""
        for standing in self.standings:
            if standing.model == model:
                return standing
        raise InvalidInput(f"{model!r} is not on the board of {self.structure} {self.metric}.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            **{name: getattr(self, name) for name in _PLAIN_FIELDS},
            "standings": [
                {**vars(s), "estimate": None if s.estimate is None else s.estimate.to_dict()} for s in self.standings
            ],
            "pairs": [dict(vars(pair)) for pair in self.pairs],
            "plans": [{**vars(plan), "more_cases": plan.more_cases} for plan in self.plans],
            "notes": list(self.notes),
        }


_PLAIN_FIELDS = (
    "structure", "metric", "higher_is_better", "unit", "n_cases", "sentence", "rule", "deciding_cases", "flip_share",
    "schemes",
)  # fmt: skip


@dataclass(frozen=True)
class Leaderboard:
    """All boards of a run, and the settings that made them."""

    boards: tuple[Board, ...]
    averages: tuple[Board, ...]
    settings: Mapping[str, Any]

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
            "rules": RULES,
            "settings": dict(self.settings),
            "boards": [board.to_dict() for board in self.boards],
            "averages": [board.to_dict() for board in self.averages],
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Leaderboard:
        """Return the leaderboard that a record holds; one that was made by other rules is refused."""
        if given.get("rules") != RULES:
            raise InvalidInput(other_rules(given.get("rules")))
        boards, averages = (tuple(_board_of(one) for one in given[key]) for key in ("boards", "averages"))
        return cls(boards, averages, given["settings"])


def other_rules(rules: object) -> str:
    """Return in words what to do with an analysis that was made by other rules than those of today."""
    by = f"older rules, {rules!r}" if rules in _OLDER_RULES else f"the rules {rules!r}"
    return (
        f"The analysis of this record was made by {by}; this version has {RULES!r}, which may give other numbers and "
        "verdicts, so it cannot be checked. `segbench reanalyze FILE --write` makes it again from the scores."
    )


def _board_of(given: Mapping[str, Any]) -> Board:
    unit = given["unit"]
    return Board(
        **{name: given[name] for name in _PLAIN_FIELDS},
        standings=tuple(
            Standing(**{**one, "estimate": one["estimate"] and Estimate.from_dict(one["estimate"], unit=unit)})
            for one in given["standings"]
        ),
        pairs=tuple(PairResult(**one) for one in given["pairs"]),
        plans=tuple(PairPlan(**{key: one[key] for key in one if key != "more_cases"}) for one in given["plans"]),
        notes=tuple(given["notes"]),
    )
