"""A claim from published numbers alone: mean, standard deviation and n of two models, without the cases.

What a table does not tell is how the models go together: where both find the same cases hard, the difference is known
much better than the two means. The correlation of their scores decides; without the cases it can only be taken from
experience, so the answer is given for typical, low and high correlations, and on average over those seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from segauge.errors import InvalidInput
from segauge.stats import cases_to_separate

#: Correlation of the per-case scores of two models: the 5, 15, ..., 95 % quantiles over all pairs of 19 models, nine
#: organs, Dice and NSD (3078 pairs) of the public Touchstone tables, on the 656 cases that all models have.
SEEN_CORRELATIONS = (0.32, 0.43, 0.51, 0.57, 0.62, 0.68, 0.73, 0.78, 0.82, 0.88)


#: An unpublished standard deviation of Dice is imputed by (1 - mean) (a + b mean): a second-order polynomial of the
#: mean as in arXiv:2409.17763, without spread where every case is perfect. Its coefficients were not at hand:
#: these are least squares over 306 pairs of models and organs of the public Touchstone tables (two test sets, mean Dice
#: 0.05 to 0.97, R^2 0.78, residual 0.05).
SD_OF_MEAN = (-0.041, 1.474)
#: True over imputed standard deviation: the 5, 15, ..., 95 % quantiles over the same pairs.
SEEN_SD_RATIOS = (0.38, 0.61, 0.74, 0.95, 1.03, 1.07, 1.13, 1.27, 1.39, 1.57)


def imputed_sd(mean: float) -> float:
    """Return the standard deviation that per-case Dice with this mean usually has.

    Raises:
        InvalidInput: if the mean is not between 0 and 1.

    """
    if not 0.0 < mean < 1.0:
        raise InvalidInput(f"A standard deviation can be imputed for a mean Dice between 0 and 1, got {mean:g}.")
    a, b = SD_OF_MEAN
    # No scores between 0 and 1 spread more than those that are all 0 or 1.
    return min(max((1.0 - mean) * (a + b * mean), 0.0), math.sqrt(mean * (1.0 - mean)))


@dataclass(frozen=True)
class Published:
    """Mean and standard deviation of a model's per-case scores over n cases; `imputed` where the paper gives no SD."""

    name: str
    mean: float
    sd: float
    n: int
    imputed: bool = False

    @classmethod
    def without_sd(cls, name: str, mean: float, n: int) -> Published:
        """Return a model whose paper gives no standard deviation: it is imputed from the mean Dice."""
        return cls(name, mean, imputed_sd(mean), n, imputed=True)

    def __post_init__(self) -> None:
        if not math.isfinite(self.mean) or not (math.isfinite(self.sd) and self.sd >= 0):
            raise InvalidInput(f"{self.name}: expected a mean and a standard deviation of 0 or more.")
        if self.n < 2:
            raise InvalidInput(f"{self.name}: expected 2 cases or more, got {self.n}.")


@dataclass(frozen=True)
class Scenario:
    """The answer for one correlation of the two models' scores.

    Attributes:
        correlation: of the per-case scores; None for separate test sets.
        sd_difference: standard deviation of the per-case differences; None for separate test sets.
        ci_low, ci_high: interval of the mean difference (Student's t).
        probability_false: that the first model is not better, by as much as is claimed.
        equivalence: probability that the difference is within the margin; None without one.
        cases_needed: to find the published difference with 80 % power, should the true standard deviations be as large
            as the published ones allow (80 % limit); None where no realistic number is enough.

    """

    correlation: float | None
    sd_difference: float | None
    ci_low: float
    ci_high: float
    probability_false: float
    equivalence: float | None
    cases_needed: int | None


@dataclass(frozen=True)
class Review:
    """What published numbers say about "a is better than b".

    Attributes:
        a, b: as published.
        difference: a - b, positive where a is better.
        scenarios: for low, typical and high correlation (or the one given); one for separate test sets.
        probability_false: averaged over the correlations seen on real scores (or the one given), and over the standard
            deviations seen for such a mean where they are imputed.
        margin: differences within it do not matter; None if not said.
        notes: what was assumed.

    """

    a: Published
    b: Published
    difference: float
    scenarios: tuple[Scenario, ...]
    probability_false: float
    margin: float | None
    level: float
    notes: tuple[str, ...]


def review_claim(
    a: Published,
    b: Published,
    *,
    correlation: float | None = None,
    paired: bool = True,
    higher_is_better: bool = True,
    by: float = 0.0,
    margin: float | None = None,
    level: float = 0.95,
) -> Review:
    """Return what mean, SD and n say about "a is better than b", or "a is better than b by so much".

    Args:
        a: the model that is claimed to be better.
        b: the other one.
        correlation: of the two models' per-case scores, where it is known.
        paired: both on the same cases (then n must be the same); otherwise two separate test sets.
        higher_is_better: which way is better.
        by: how much better a is claimed to be.
        margin: differences within it do not matter.
        level: of the intervals.

    """
    if margin is not None and not margin > 0:
        raise InvalidInput(f"Expected a positive margin in the metric's unit, got {margin!r}.")
    if not by >= 0:
        raise InvalidInput(f"Expected a lead of 0 or more in the metric's unit, got {by!r}.")
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"Expected a level between 0 and 1, such as 0.95, got {level!r}.")
    if correlation is not None and not -1.0 <= correlation <= 1.0:
        raise InvalidInput(f"Expected a correlation between -1 and 1, got {correlation!r}.")
    if paired and a.n != b.n:
        raise InvalidInput(f"Models on the same cases have the same n, got {a.n} and {b.n}; pass paired=False.")
    difference = (a.mean - b.mean) if higher_is_better else (b.mean - a.mean)
    ratios = SEEN_SD_RATIOS if a.imputed or b.imputed else (1.0,)
    notes = ["Student's t on published moments: for skewed scores of few cases it is too sure (90 % at n=10)."]
    if not paired:
        scenarios: tuple[Scenario, ...] = (_separate(difference, a, b, by, margin, level),)
        notes.append("Two separate test sets: nothing is known about their difference in difficulty.")
        notes += _imputation_notes(a, b)
        wrong = [_separate(difference, _spread(a, r), _spread(b, r), by, margin, level) for r in ratios]
        probability = float(np.mean([one.probability_false for one in wrong]))
        return Review(a, b, difference, scenarios, probability, margin, level, tuple(notes))
    if correlation is not None:
        chosen: tuple[float, ...] = (correlation,)
        everything = chosen
        notes.append(f"The correlation of the two models' scores was given: {correlation:g}.")
    else:
        chosen = (SEEN_CORRELATIONS[0], float(np.median(SEEN_CORRELATIONS)), SEEN_CORRELATIONS[-1])
        everything = SEEN_CORRELATIONS
        notes.append(
            f"The correlation of the two models' scores is not published; {chosen[0]:g} to {chosen[2]:g} covers 90 % "
            "of the pairs of 19 CT models on nine organs."
        )
    scenarios = tuple(_same_cases(difference, a, b, value, by, margin, level) for value in chosen)
    notes += _imputation_notes(a, b)
    false = [
        _same_cases(difference, _spread(a, ratio), _spread(b, ratio), value, by, margin, level).probability_false
        for value in everything
        for ratio in ratios
    ]
    return Review(a, b, difference, scenarios, float(np.mean(false)), margin, level, tuple(notes))


def _spread(one: Published, ratio: float) -> Published:
    """Return a model as it would be if its true standard deviation were so many times the imputed one."""
    return replace(one, sd=one.sd * ratio) if one.imputed else one


def _imputation_notes(a: Published, b: Published) -> list[str]:
    without = [one for one in (a, b) if one.imputed]
    if not without:
        return []
    values = " and ".join(f"{one.sd:.3f} for {one.name}" for one in without)
    low, high = SEEN_SD_RATIOS[0], SEEN_SD_RATIOS[-1]
    return [
        f"The standard deviation is not published; it was imputed from the mean Dice ({values}). On 306 pairs of CT "
        f"models and organs the true one was {low:g} to {high:g} times as large (90 %). The probability is "
        "the mean over that range; the intervals are those of the imputed value."
    ]


def _same_cases(
    difference: float, a: Published, b: Published, correlation: float, by: float, margin: float | None, level: float
) -> Scenario:
    variance = a.sd**2 + b.sd**2 - 2.0 * correlation * a.sd * b.sd
    spread = math.sqrt(max(variance, 0.0))
    needed = 2 if difference else None
    if spread > 0:  # the published deviations come from a pilot, as those of a plan do
        needed = cases_to_separate(difference, spread, level=level, pilot_n=a.n)
    return _scenario(difference, spread / math.sqrt(a.n), a.n - 1, by, margin, level, correlation, spread, needed)


def _separate(difference: float, a: Published, b: Published, by: float, margin: float | None, level: float) -> Scenario:
    """Welch's t."""
    one, other = a.sd**2 / a.n, b.sd**2 / b.n
    parts = one**2 / (a.n - 1) + other**2 / (b.n - 1)
    freedom = (one + other) ** 2 / parts if parts > 0 else a.n + b.n - 2
    return _scenario(difference, math.sqrt(one + other), freedom, by, margin, level, None, None, None)


def _scenario(
    difference: float, error: float, freedom: float, by: float, margin: float | None, level: float,
    correlation: float | None, spread: float | None, needed: int | None,
) -> Scenario:  # fmt: skip
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(freedom, 0.5 + level / 2.0)) * error

    def below(limit: float) -> float:
        """Probability that the true difference is below a limit."""
        if error == 0:
            return 0.5 if difference == limit else float(difference < limit)
        return float(stdtr(freedom, (limit - difference) / error))

    equivalent = None if margin is None else below(margin) - below(-margin)
    return Scenario(correlation, spread, difference - half, difference + half, below(by), equivalent, needed)
