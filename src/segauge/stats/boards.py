"""Boards: models from best to worst on one structure (or the average) by one metric, and the rules that make them.

The one model of a board: `segauge compare` and `segbench run`, `import`, `analyze`, `render` and `verify` all show or
check what `make_board` (in `contests`) makes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from segauge.digits import column_decimals, fixed, sample_size
from segauge.errors import InvalidInput
from segauge.stats.comparison import Comparison, Intervals, PairResult
from segauge.stats.estimation import Estimate
from segauge.stats.planning import PairPlan
from segauge.stats.scored_set import AVERAGE, AVERAGE_RULES, CASE_RULES, AverageRule, CaseRule

#: What the values of a board are: means in the metric's unit, or mean ranks within the cases.
ValueKind = Literal["mean", "mean rank"]
#: Why a board has no order.
NO_ORDER: Mapping[str, str] = {
    "no case": "No case has {structure} in its ground truth or a prediction.",
    "none ranked": "No model is ranked.",
    "one ranked": "Only {models} can be ranked here, so there is no order.",
    "no mean": "Failed cases have no {metric}, so there is no mean over structures; give a penalty.",
    "few complete": "Fewer than two ranked models have every structure, so there is no order.",
    "no shared case": "No case has a score or a failure of every ranked model, so there is no order.",
}


#: Tied models that a sentence names.
MOST_NAMED = 3


@dataclass(frozen=True)
class BoardRules:
    """What makes the numbers of a board.

    Attributes:
        name: of the rules.
        cases: which cases count, a key of `CASE_RULES`.
        average: the average over structures that leads the boards, a key of `AVERAGE_RULES`.
        tested: whether models are compared; otherwise the order is that of the means, without intervals.
        ci: interval method of means, as in `estimate`.
        level: of intervals and verdicts.
        margin: differences within it do not matter in practice; None if none was given.
        n_resamples: of cases.
        seed: of all resampling.
        intervals: of pairs: "agreeing" with the verdicts, or "single-step" as up to the rules segbench-4.
        sd_ddof: 1 for the sample's standard deviation, 0 for the population's.

    """

    name: str = ""
    cases: CaseRule = "failed"
    average: AverageRule = "structure-means"
    tested: bool = True
    ci: str = "auto"
    level: float = 0.95
    margin: float | None = None
    n_resamples: int = 10_000
    seed: int = 0
    intervals: Intervals = "agreeing"
    sd_ddof: int = 1

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.cases, CASE_RULES, "rule for cases"),
            (self.average, AVERAGE_RULES, "average"),
        ):
            if value not in known:
                raise InvalidInput(f"No {what} {value!r}; there are {', '.join(known)}.")


@dataclass(frozen=True)
class BoardRow:
    """One model on one board.

    Attributes:
        model: its name.
        value: what the order is made of: the mean, or on a board by ranks the mean rank; None where there is none.
        estimate: the mean score in the metric's unit, with interval and n; on a board by ranks over the cases that have
            a value. None where there is no mean.
        n: cases with a score or a failure of the model.
        failed: of these, the cases that failed; in an average, those with any failed structure.
        place: 1 + the number of models that are significantly better; models that share it are statistically tied. By
            rules without a test, the rank. None if the model is not ranked.
        rank: by the value; ties share the mean rank.
        rank_low, rank_high: ranks that the data do not exclude; None by rules without a test.
        win_frequency: how often it is first among resampled cases; None of too few cases.
        win_probability: chance to lead on a new set of as many cases; None likewise.
        median, sd: of the cases; None for an average of structure means, which no case has.
        own_mean, own_n: mean score over all cases of the model, whatever the others have, and how many these are.

    """

    model: str
    value: float | None
    estimate: Estimate | None
    n: int
    failed: int
    place: int | None = None
    rank: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    win_frequency: float | None = None
    win_probability: float | None = None
    median: float | None = None
    sd: float | None = None
    own_mean: float | None = None
    own_n: int = 0

    @property
    def ranked(self) -> bool:
        """Whether the model takes part in the ranking."""
        return self.place is not None

    @property
    def failure_share(self) -> float:
        """Share of the cases that failed."""
        return self.failed / self.n if self.n else 0.0

    @property
    def rank_range(self) -> str:
        """The ranks that the data do not exclude: "1 to 3", or "2"."""
        if self.rank_low is None:
            return ""
        return str(self.rank_low) if self.rank_low == self.rank_high else f"{self.rank_low} to {self.rank_high}"


@dataclass(frozen=True)
class Board:
    """Models from best to worst.

    Attributes:
        structure, metric: what was measured; the structure is "average" on a board over all of them.
        average: which average it is, a key of `AVERAGE_RULES`; "" for a structure.
        kind: what the values are.
        unit: of the metric (of the estimates).
        higher_is_better: of the metric.
        n_cases: cases where a ranked model has a score or a failure; where none is ranked, any model.
        rows: ranked models from best to worst, then those that are only shown.
        level: of intervals and verdicts.
        no_order: why there is no order, a key of `NO_ORDER`; "" if there is one.
        rule: what makes models share a place, in words.
        test: what tells two models apart, in words.
        pairs: every pair of ranked models, with intervals and verdict.
        plans: per pair of neighbours how many cases it would take to separate them.
        flips: per case without which another model would lead, that model.
        flip_share: share of the cases whose removal changes some rank.
        schemes: per ranking scheme the rank of each model.
        notes: rules that made the numbers, and what could not be done.

    """

    structure: str
    metric: str
    average: str
    kind: ValueKind
    unit: str
    higher_is_better: bool
    n_cases: int
    rows: tuple[BoardRow, ...]
    level: float = 0.95
    no_order: str = ""
    rule: str = ""
    test: str = ""
    pairs: tuple[PairResult, ...] = ()
    plans: tuple[PairPlan, ...] = ()
    flips: Mapping[str, str] = field(default_factory=dict)
    flip_share: float | None = None
    schemes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __getitem__(self, model: str) -> BoardRow:
        """Return the row of a model."""
        for row in self.rows:
            if row.model == model:
                return row
        raise InvalidInput(f"No model {model!r} on the board {self.title!r}.")

    def get(self, model: str) -> BoardRow | None:
        """Return the row of a model; None where it is not on the board."""
        return next((row for row in self.rows if row.model == model), None)

    @property
    def key(self) -> str:
        """Name of the board for files and anchors: "liver-dice", "average-structure-means-dice"."""
        return "-".join(part for part in (self.structure, self.average, self.metric) if part)

    @property
    def title(self) -> str:
        """Structure and metric in words."""
        words = f"{self.structure} {self.metric}".strip()
        return f"{words} ({AVERAGE_RULES[self.average]})" if self.average else words

    @property
    def is_average(self) -> bool:
        """Whether the board is over all structures."""
        return self.structure == AVERAGE

    @property
    def is_by_ranks(self) -> bool:
        """True if order and pairs are of ranks within the cases, because failures have no value."""
        return self.kind == "mean rank"

    @property
    def measure(self) -> str:
        """What values and differences are of: the metric, or ranks by it."""
        return f"rank by {self.metric}" if self.is_by_ranks else self.metric

    @property
    def is_higher_better(self) -> bool:
        """Whether a higher value leads: never of ranks."""
        return self.higher_is_better and not self.is_by_ranks

    @property
    def ranked(self) -> tuple[BoardRow, ...]:
        """The rows of the models that are ranked."""
        return tuple(row for row in self.rows if row.place is not None)

    @property
    def winners(self) -> tuple[str, ...]:
        """The models on the first place."""
        return tuple(row.model for row in self.rows if row.place == 1)

    @property
    def leader(self) -> BoardRow | None:
        """The model with the best value; None without an order, or where several have it."""
        first = self.ranked[:2]
        if not first or (len(first) > 1 and _is_same(first[0].value, first[1].value)):
            return None
        return first[0]

    @cached_property
    def comparison(self) -> Comparison:
        """All pairs, which can be asked for by (a, b) either way round."""
        return Comparison(self.pairs, tuple(row.model for row in self.ranked), self.test, "", self.level, None, 0, 0)

    @property
    def sentence(self) -> str:
        """What the board says: who leads, who is tied with it, or why there is no order."""
        if self.no_order:
            models = ", ".join(row.model for row in self.rows)
            return NO_ORDER[self.no_order].format(structure=self.structure, metric=self.metric, models=models)
        first = self.ranked[0]
        if _is_same(first.value, self.ranked[-1].value):
            return (
                f"All {len(self.ranked)} models have the same {self.kind} ({self._text(first.value)}), so none leads."
            )
        if not self.pairs:
            return f"{first.model} has the best {self.kind} ({self._text(first.value)}); no test."
        if "too few" in self.rule:
            return f"{first.model} has the best {self.kind} ({self._text(first.value)}). {self.rule}"
        tied = [row for row in self.ranked if row.place == 1]
        if len(tied) == 1:
            others = "the other model" if len(self.ranked) == 2 else f"each of the other {len(self.ranked) - 1} models"
            return f"{first.model} leads ({self._text(first.value)}): significantly better than {others}."
        return f"{self._tie(tied)} {self._needed(tied)}".strip()

    @cached_property
    def places(self) -> int:
        """With how many decimals the values of the board are printed."""
        known = [row.estimate for row in self.rows if row.estimate is not None]
        return 2 if self.is_by_ranks else column_decimals(known)

    def _text(self, value: float | None) -> str:
        """Return a value as sentences have it; a gap that rounds to 0 is "<0.001"."""
        if value and not float(fixed(value, self.places)):
            return f"<{10.0**-self.places:.{self.places}f}"
        return fixed(value, self.places, missing="no value")

    def _tie(self, tied: list[BoardRow]) -> str:
        named = [f"{row.model} ({self._text(row.value)})" for row in tied[:MOST_NAMED]]
        named += [f"{len(tied) - MOST_NAMED} more"] if len(tied) > MOST_NAMED else []
        words = f"Tie for first: {', '.join(named[:-1])} and {named[-1]}."
        if len(tied) == 2 and tied[0].value is not None and tied[1].value is not None:
            return f"{words} The {self._text(abs(tied[0].value - tied[1].value))} gap is within noise."
        return f"{words} The gaps between them and the best are within noise."

    def _needed(self, tied: list[BoardRow]) -> str:
        plan = self.plan_of(tied[0].model, tied[1].model)
        if plan is None or not plan.more_cases:
            return ""
        which = "them" if len(tied) == 2 else f"{plan.a} and {plan.b}"
        return f"You would need {sample_size(plan.cases_needed)} to separate {which}."

    def to_first(self, model: str) -> PairResult | None:
        """Return the pair of a ranked model and the first row, as model - first; None for the first itself."""
        if not self.pairs or not self.rows or self.rows[0].model == model or self[model].place is None:
            return None
        return self.comparison[model, self.rows[0].model]

    def plan_of(self, a: str, b: str) -> PairPlan | None:
        """Return the plan of two neighbours; None where there is none."""
        return next((plan for plan in self.plans if {plan.a, plan.b} == {a, b}), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON; `from_dict` makes the board again."""
        return {
            **{name: value for name, value in vars(self).items() if name in _PLAIN},
            "rows": [
                {**vars(row), "estimate": None if row.estimate is None else row.estimate.to_dict()} for row in self.rows
            ],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "plans": [dict(vars(plan)) for plan in self.plans],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Board:
        """Return the board that `to_dict` wrote."""
        unit = given["unit"]
        return cls(
            **{name: given[name] for name in _PLAIN},
            rows=tuple(_row_of(row, unit) for row in given["rows"]),
            pairs=tuple(PairResult(**pair) for pair in given["pairs"]),
            plans=tuple(PairPlan(**plan) for plan in given["plans"]),
            notes=tuple(given["notes"]),
        )


_PLAIN = (
    "structure", "metric", "average", "kind", "unit", "higher_is_better", "n_cases", "level", "no_order", "rule",
    "test", "flips", "flip_share", "schemes",
)  # fmt: skip


def _row_of(given: Mapping[str, Any], unit: str) -> BoardRow:
    found = given["estimate"]
    return BoardRow(**{**given, "estimate": None if found is None else Estimate.from_dict(found, unit=unit)})


def _is_same(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
