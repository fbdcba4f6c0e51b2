"""Is the claim true? The paired difference with its interval, the probability that it is false, and what it would take.

The probability that a claim is false is the share of the confidence distribution of the mean difference(s) where it
does not hold: no prior preference, calibrated on the edge of the claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.plural import counted
from segauge.stats import (
    ConfidenceDistribution,
    Estimate,
    PairPlan,
    PairResult,
    ScoreMatrix,
    compare,
    plan_pairs,
    wilcoxon,
)
from segauge.stats.estimation import estimate_columns
from segauge.stats.pairs import confidence_of_differences
from segbench.analysis.claims.grammar import EVERYBODY, Claim

Floats = npt.NDArray[np.float64]
ClaimVerdict = Literal["supported", "refuted", "not shown"]

#: Below this many cases no verdict is given: no method measured holds its level there.
FEWEST_FOR_VERDICT = 10


@dataclass(frozen=True)
class RivalResult:
    """The claimed model against one other.

    Attributes:
        pair: the two models.
        probability_false: that the claim fails on them.
        plan: cases needed.
        wins, wilcoxon_p: share of cases where the claimed model is better, and the test of the typical case; None for
            an average of structure means, which no single case has.

    """

    pair: PairResult
    probability_false: float
    plan: PairPlan | None
    wins: float | None
    wilcoxon_p: float | None


@dataclass(frozen=True)
class Assessment:
    """What the data say about a claim.

    Attributes:
        claim: with the names of the data.
        verdict: "supported", "refuted" (the opposite is supported) or "not shown".
        probability_false: that the claim is false; 0.5 says that the data do not know.
        margin: differences within it do not matter; 0 where none was given for "better".
        level: of the intervals; a verdict needs a probability below (1 - level) / 2 on the other side.
        n, n_units: cases (against the rival with the fewest in common), and independent patients among them.
        rivals: against each other model; one for a claim about a pair.
        means: of the models concerned, with intervals.
        equivalence: probability that the closest rival is within `indifference`; None without one.
        indifference: differences within it do not matter: the margin that was given; None without one.
        notes: rules that made the numbers, and warnings.

    """

    claim: Claim
    verdict: ClaimVerdict
    probability_false: float
    margin: float
    level: float
    n: int
    n_units: int
    rivals: tuple[RivalResult, ...]
    means: dict[str, Estimate]
    equivalence: float | None
    indifference: float | None
    notes: tuple[str, ...]

    @property
    def closest(self) -> RivalResult:
        """The rival that comes closest to refuting the claim."""
        return max(self.rivals, key=lambda rival: rival.probability_false)


def assess_claim(
    matrix: ScoreMatrix,
    claim: Claim,
    *,
    margin: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Assessment:
    """Return what the scores of one structure (or the average) say about a claim.

    Args:
        matrix: scores of the models on the same cases.
        claim: with the names of the matrix.
        margin: for claims without "by": what does not matter ("not worse", "equivalent" need one); for "better" it
            only adds the probability of equivalence.
        level: of intervals and verdict.
        power: of the number of cases needed.
        n_resamples: of the resampling.
        seed: of the resampling.

    """
    rivals = _rivals(matrix, claim)
    limit = _limit(claim, margin)
    if matrix.has_failures_without_value:
        raise InvalidInput("Failed cases have no value on this scale, so there is no mean; give them one (penalty).")
    # A pair is asked about alone: what other models did neither widens its interval nor removes its cases.
    asked = _asked(matrix, [claim.left, *rivals])
    differences = asked.differences(np.zeros(len(rivals), dtype=np.intp), np.arange(1, len(rivals) + 1))
    differences = differences if asked.scale.higher_is_better else -differences
    fewest = int(np.isfinite(differences).sum(axis=0).min()) if len(differences) else 0
    if fewest < 2:
        raise InvalidInput(f"The models of the claim have {counted(fewest, 'case')} in common; it needs 2 or more.")
    lowest, highest = asked.mean_bounds
    doubt = confidence_of_differences(
        differences,
        cluster=asked.clusters,
        n_resamples=n_resamples,
        seed=seed,
        bounds=(lowest - highest, highest - lowest),
    )
    holds = _holds(doubt, claim, limit)
    false = doubt.probability(~np.asarray(holds.all(axis=1)))
    each = [doubt.probability(~column) for column in holds.T]
    results = tuple(
        _rival(asked, claim.left, rival, each[k], level, margin, power, n_resamples, seed)
        for k, rival in enumerate(rivals)
    )
    indifference = margin if margin is not None else limit if claim.relation != "better" else None
    units = int(doubt.units.min())
    return Assessment(
        claim,
        _verdict(results, doubt, claim, limit, false, level, units),
        false,
        limit,
        level,
        fewest,
        units,
        results,
        {name: _mean(asked, name, level, n_resamples, seed) for name in asked.models},
        None if indifference is None else doubt.probability(np.abs(doubt.draws[:, np.argmax(each)]) < indifference),
        indifference,
        _notes(matrix, asked, claim, units, len(rivals)),
    )


def _asked(matrix: ScoreMatrix, names: list[str]) -> ScoreMatrix:
    """Return the scores of these models on the cases that say something about all of them.

    These are the cases where each has a score, or rightly found nothing where another did not.
    """
    chosen = matrix.with_models(names)
    return chosen.select(chosen.is_rankable)


def _rivals(matrix: ScoreMatrix, claim: Claim) -> list[str]:
    if claim.right != EVERYBODY:
        if claim.right == claim.left:
            raise InvalidInput(f"The claim compares {claim.left!r} with itself.")
        return [claim.right]
    return [name for name in matrix.models if name != claim.left]


def _limit(claim: Claim, margin: float | None) -> float:
    limit = claim.margin if claim.margin is not None else margin
    if claim.relation == "better":
        return claim.margin or 0.0
    if limit is None:
        raise InvalidInput(
            f"{claim.text!r}: to be {claim.relation} needs a margin that does not matter: add 'by 0.01' or --margin."
        )
    return limit


def _holds(doubt: ConfidenceDistribution, claim: Claim, limit: float) -> npt.NDArray[np.bool_]:
    """Return, per draw and rival, whether the claim holds; differences have the sign where positive is better."""
    if claim.relation == "better":
        return doubt.draws > limit
    if claim.relation == "not worse":
        return doubt.draws > -limit
    return np.asarray(np.abs(doubt.draws) < limit)


def _rival(
    asked: ScoreMatrix, left: str, rival: str, false: float, level: float, margin: float | None, power: float,
    n_resamples: int, seed: int,
) -> RivalResult:  # fmt: skip
    pair = _asked(asked, [left, rival])
    found = compare(pair, level=level, margin=margin, n_resamples=n_resamples, seed=seed).pairs[0]
    plan = plan_pairs(pair, power=power, level=level)[0]
    if asked.linearised:
        return RivalResult(found, false, plan, None, None)
    typical = float(wilcoxon(pair.differences(np.array([0]), np.array([1])), exact=None)[0])
    return RivalResult(found, false, plan, found.wins, typical)


def _verdict(
    results: tuple[RivalResult, ...], doubt: ConfidenceDistribution, claim: Claim, limit: float, false: float,
    level: float, units: int,
) -> ClaimVerdict:  # fmt: skip
    """Supported or refuted needs a probability beyond the level, and for "better" an interval that says the same."""
    alpha = (1.0 - level) / 2.0
    if units < FEWEST_FOR_VERDICT:
        return "not shown"
    needs_interval = claim.relation == "better" and limit == 0
    if false < alpha and (not needs_interval or all(map(_excludes_zero, results))):
        return "supported"
    holds = _holds(doubt, claim, limit)
    # Refuted: on some rival the claim fails beyond doubt.
    fails = [one for one, column in zip(results, holds.T, strict=True) if doubt.probability(column) < alpha]
    if any(not needs_interval or _excludes_zero(one) for one in fails):
        return "refuted"
    return "not shown"


def _excludes_zero(result: RivalResult) -> bool:
    low, high = result.pair.ci_low, result.pair.ci_high
    return low is not None and high is not None and not low <= 0.0 <= high


def _mean(asked: ScoreMatrix, name: str, level: float, n_resamples: int, seed: int) -> Estimate:
    (found,) = estimate_columns(
        asked.values[:, [asked.models.index(name)]],
        bounds=asked.mean_bounds,
        level=level,
        cluster=asked.clusters,
        n_resamples=n_resamples,
        seed=seed,
        name=name,
        unit=asked.scale.unit,
        linearised=asked.linearised,
    )
    return found


def _notes(matrix: ScoreMatrix, asked: ScoreMatrix, claim: Claim, units: int, rivals: int) -> tuple[str, ...]:
    notes = [*matrix.notes, *asked.notes_on_pairs]
    if units < FEWEST_FOR_VERDICT:
        notes.append(f"{counted(units, 'independent case')}: too few ({FEWEST_FOR_VERDICT}) for a verdict.")
    if not matrix.scale.higher_is_better:
        notes.append(f"Lower is better: {claim.left} is better where its number is smaller.")
    others = len(matrix.models) - 2
    if rivals == 1 and others > 0 and claim.relation == "better":
        notes.append(
            f"A pair that was chosen among {len(matrix.models)} models because it leads the board is judged too kindly "
            f'here; "{claim.left} > all on ..." counts all {len(matrix.models) - 1} rivals.'
        )
    notes.append("About these trained models on cases like these: not about new centres or new training runs.")
    return tuple(notes)
