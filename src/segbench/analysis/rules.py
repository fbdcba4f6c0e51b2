"""Rules: by which rules an analysis is made, all of them by name, and the two presets.

"segbench" is the default: equal cases, pairing by case id, intervals, tests that hold for all pairs together.
"touchstone" computes what the Touchstone benchmark publishes, to the digit, so that its tables can be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from segauge.errors import InvalidInput

CaseRule = Literal["common", "failed", "own"]
AverageRule = Literal["structure-means", "case-mean"]
PairTest = Literal["max-t", "wilcoxon"]
Order = Literal["mean", "median"]

CASE_RULES: dict[str, str] = {
    "common": "every model on the cases that all models have",
    "failed": "every model on all cases; a case that a model lacks counts as its failure",
    "own": "each model on its own cases, also where these differ (their means cannot be compared)",
}
AVERAGE_RULES: dict[str, str] = {
    "structure-means": "unweighted mean of the structures' means",
    "case-mean": "mean over cases of each case's mean over the structures it has",
}


@dataclass(frozen=True)
class Rules:
    """What makes the numbers of an analysis.

    Attributes:
        preset: name of the set of rules.
        cases: which cases count, a key of `CASE_RULES`.
        average: the average over structures that leads the boards, a key of `AVERAGE_RULES`; both are computed.
        test: of pairs of models: "max-t" (mean difference, all pairs together) or "wilcoxon" (one-sided in both
            directions, normal approximation without continuity correction, zeros dropped, Holm over all of them).
        order: of the models in a significance map.
        minimum: groups with fewer cases are not estimated.
        aggregated_minimum: the same in the figure over all models.
        sd_ddof: 1 for the sample's standard deviation, 0 for the population's.
        level: of intervals and verdicts.
        margin: differences within it do not matter in practice; None if nobody said so.
        n_resamples: of boards, maps and claims.
        group_resamples: of the gaps between groups, of which there are many.
        seed: of all resampling.

    """

    preset: str = "segbench"
    cases: CaseRule = "common"
    average: AverageRule = "structure-means"
    test: PairTest = "max-t"
    order: Order = "mean"
    minimum: int = 5
    aggregated_minimum: int = 5
    sd_ddof: int = 1
    level: float = 0.95
    margin: float | None = None
    n_resamples: int = 10_000
    group_resamples: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.cases, CASE_RULES, "rule for cases"),
            (self.average, AVERAGE_RULES, "average"),
        ):
            if value not in known:
                raise InvalidInput(f"No {what} {value!r}; there are {', '.join(known)}.")
        if self.minimum < 2 or self.aggregated_minimum < 2:
            raise InvalidInput("Groups need a minimum of 2 cases or more: one case has no spread.")

    @property
    def is_touchstone(self) -> bool:
        """True for the rules of the Touchstone benchmark."""
        return self.preset == "touchstone"


PRESETS: dict[str, Rules] = {
    "segbench": Rules(),
    "touchstone": Rules(
        preset="touchstone",
        cases="own",
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
