"""How many cases: for an interval of a given width, to separate two models, and what the data at hand could show.

Power is that of a paired t test; the interval of a mean is the half-case interval that is printed. A pilot's standard
deviation is itself uncertain: plans take its upper 80 % limit, so that a planned power of 80 % comes out as 80 % on
real scores and not as 60 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.plural import counted
from segauge.stats.comparison import comparable
from segauge.stats.intervals import Moments, half_case_limits
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.resampling import Floats, Sample, require_level
from segauge.stats.schemes import by_mean

#: More cases than anybody has: beyond it the answer is "not with any test set".
MOST_CASES = 10_000_000


def upper_sd(sd: float, n: int, *, assurance: float = 0.8) -> float:
    """Return the upper limit of a standard deviation estimated from n cases: sd * sqrt((n - 1) / chi2 quantile)."""
    from scipy.special import chdtri

    if n < 2:
        raise InvalidInput(f"A standard deviation needs a pilot of 2 cases or more, got {n}.")
    return float(sd * math.sqrt((n - 1) / chdtri(n - 1, assurance)))


def paired_power(difference: float, sd: float, n: int, *, level: float = 0.95) -> float:
    """Return the probability that a paired t test of n cases finds a true mean difference.

    `sd` is that of the per-case differences.
    """
    from scipy.special import nctdtr

    require_level(level)
    _require_spread(sd, difference)
    if n < 2:
        return 0.0
    if sd <= 0:
        return 1.0 if difference else 1.0 - level
    shift = abs(difference) / sd * math.sqrt(n)
    critical = _critical_t(n - 1, level)
    below, lower = (float(nctdtr(n - 1, shift, end)) for end in (critical, -critical))
    # Far out in a tail, below 1e-60, SciPy may answer NaN, which is as good as 0.
    below, lower = (0.0 if math.isnan(share) else share for share in (below, lower))
    return min(1.0 - below + (lower if shift < 30 else 0.0), 1.0)


@lru_cache(maxsize=1024)
def _critical_t(freedom: int, level: float) -> float:
    """Return what a two-sided t test compares with; a plan asks for the same one again and again."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1.0 - (1.0 - level) / 2.0))


def cases_to_separate(
    difference: float, sd: float, *, power: float = 0.8, level: float = 0.95, pilot_n: int | None = None
) -> int | None:
    """Return how many cases a paired t test needs to find a mean difference with the given power.

    With `pilot_n` the standard deviation counts as estimated from so many cases, and its upper 80 % limit is used.
    None where no realistic number is enough (ten million, or a difference of 0).
    """
    _require_share(power, "power")
    _require_spread(sd, difference)
    if difference == 0:
        return None
    spread = sd if pilot_n is None else upper_sd(sd, pilot_n)
    return _smallest(lambda n: paired_power(difference, spread, n, level=level) >= power)


def detectable_difference(n: int, sd: float, *, power: float = 0.8, level: float = 0.95) -> float | None:
    """Return the smallest true mean difference that a paired t test of n cases finds with the given power."""
    _require_share(power, "power")
    _require_spread(sd)
    if n < 2:
        return None
    low, high = 0.0, 100.0 * sd / math.sqrt(n) if sd > 0 else 0.0
    while high > 0 and paired_power(high, sd, n, level=level) < power:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if paired_power(middle, sd, n, level=level) >= power else (middle, high)
    return high


def cases_for_half_width(
    half_width: float,
    sd: float | None = None,
    *,
    level: float = 0.95,
    pilot_n: int | None = None,
    values: npt.ArrayLike | None = None,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    cluster: Sequence[object] | None = None,
) -> int | None:
    """Return how many cases make half the width of the half-case interval of a mean as small as `half_width`.

    That interval depends on the extremes, and so on the shape of the scores. With `values` the shape is the pilot's:
    n cases are its scores again and again, with the same extremes. Without them scores are taken as normal: the
    furthest of n lies ndtri((n - 3/8) / (n + 1/4)) standard deviations from the mean (Blom 1958). A pilot's distances
    from the mean are stretched until their standard deviation is its upper 80 % limit. None where no realistic number
    is enough, and where there is no such interval, as of equal values on an open scale.

    Args:
        half_width: half of the wanted width, in the metric's unit.
        sd: standard deviation of the scores over cases; give this or `values`.
        level: of the interval.
        pilot_n: number of cases that `sd` comes from; without it `sd` is taken as exact.
        values: scores of a pilot, one per case; those that are not finite are left out.
        bounds: ends of the scale of the `values`.
        cluster: one label (patient) per value, where patients have several cases; the plan then is for patients with
            as many cases each as in the pilot.

    """
    require_level(level)
    if not half_width > 0:
        raise InvalidInput(f"Expected a positive half width in the metric's unit, got {half_width!r}.")
    if (sd is None) == (values is None):
        raise InvalidInput("To plan for an interval, give either a standard deviation or the scores of a pilot.")
    if values is None:
        _require_spread(sd or 0.0)
        spread = (sd or 0.0) if pilot_n is None else upper_sd(sd or 0.0, pilot_n)
        return _smallest(lambda n: _half_width(_normal(n, spread), level) <= half_width)
    kept = np.asarray(values, dtype=np.float64).ravel()
    is_known = np.isfinite(kept)
    labels = None
    if cluster is not None:
        labels = np.unique(np.asarray(list(map(str, cluster)))[is_known], return_inverse=True)[1]
    if is_known.sum() < 2 or (labels is not None and labels.max() < 1):
        raise InvalidInput("To plan for an interval from scores, give those of two independent cases or more.")
    pilot = Moments.of(Sample.of(kept[is_known][:, None], labels))
    units = int(pilot.units[0])
    found = _smallest(lambda n: _half_width(_repeated(pilot, n), level, bounds) <= half_width)
    return None if found is None else math.ceil(found * int(is_known.sum()) / units)


def _half_width(moments: Moments, level: float, bounds: tuple[float, float] = (-math.inf, math.inf)) -> float:
    low, high = half_case_limits(moments, (1.0 - level) / 2.0, bounds)
    return float(high[0] - low[0]) / 2.0


def _repeated(pilot: Moments, n: int) -> Moments:
    """Return the moments of n units with the shape of the pilot, and the upper 80 % limit of its deviation."""
    units = pilot.units[0]
    stretched = upper_sd(1.0, int(units))
    squares = pilot.squares * stretched**2 * n / units
    return Moments(
        np.array([float(n)]), pilot.means, squares, pilot.below * stretched, pilot.above * stretched,
        pilot.worth * n / units,
    )  # fmt: skip


def _normal(n: int, sd: float) -> Moments:
    """Return the moments of n normal scores around 0."""
    from scipy.special import ndtri

    furthest, size = np.array([sd * float(ndtri((n - 0.375) / (n + 0.25)))]), np.array([float(n)])
    return Moments(size, np.zeros(1), np.array([(n - 1) * sd**2]), furthest, furthest, size)


def _smallest(enough: Any) -> int | None:
    """Return the smallest n of 2 or more for which a monotone condition holds, up to MOST_CASES."""
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_CASES:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _require_spread(sd: float, difference: float = 0.0) -> None:
    """Refuse what no plan follows from: by a NaN, which is the deviation of a single case, two cases were enough."""
    if not 0.0 <= sd < math.inf:
        raise InvalidInput(f"Expected a standard deviation of 0 or more, from a pilot of 2 cases or more, got {sd!r}.")
    if not math.isfinite(difference):
        raise InvalidInput(f"Expected a difference in the metric's unit, got {difference!r}.")


def _require_share(value: float, what: str) -> None:
    if not 0.0 < value < 1.0:
        raise InvalidInput(f"Expected a {what} between 0 and 1, such as 0.8, got {value!r}.")


@dataclass(frozen=True)
class PairPlan:
    """One pair of models: what was seen, what these cases could have shown, and how many would separate them.

    Attributes:
        a, b: the models.
        n: cases at hand, as in `PairResult`.
        difference: mean of a - b that was seen.
        sd: standard deviation of the per-case differences. Where a patient has several cases, plans take that of the
            patients, and as many degrees of freedom as these have.
        power: of these n cases, were the seen difference the true one.
        detectable: smallest difference that n cases find with the wanted power.
        cases_needed: for the wanted difference (the seen one if none was given); None if no realistic number is.

    """

    a: str
    b: str
    n: int
    difference: float
    sd: float
    power: float
    detectable: float | None
    cases_needed: int | None

    @property
    def more_cases(self) -> int | None:
        """How many cases to add to those at hand; 0 if there are enough."""
        return None if self.cases_needed is None else max(self.cases_needed - self.n, 0)


def plan_pairs(
    scores: Mapping[str, Any] | ScoreMatrix,
    *,
    difference: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    neighbours_only: bool = True,
    higher_is_better: bool | None = None,
    **selection: Any,
) -> tuple[PairPlan, ...]:
    """Plan a test set from the scores of models on a pilot: per pair what it could show, and what it would take.

    Args:
        scores: as in `compare`.
        difference: the true difference to plan for; the seen one of each pair if left out.
        power: wanted.
        level: of the test.
        neighbours_only: only pairs next to each other in the order of the means, best first.
        higher_is_better: which way is better, where no metric says it; plain values without a metric are taken as
            higher is better.
        **selection: `structure`, `metric`, `scale`, `policy`, `cases`, `cluster`, as in `score_matrix`.

    """
    matrix = comparable(scores, higher_is_better, None, selection)
    order = np.argsort(by_mean(matrix), kind="stable")
    pairs = list(pairwise(order))
    if not neighbours_only:
        pairs = [(order[i], order[j]) for i in range(order.size) for j in range(i + 1, order.size)]
    return tuple(_pair_plan(matrix, int(a), int(b), difference, power, level) for a, b in pairs)


def _pair_plan(matrix: ScoreMatrix, a: int, b: int, difference: float | None, power: float, level: float) -> PairPlan:
    column = matrix.differences(np.array([a]), np.array([b]))
    kept = np.isfinite(column[:, 0])
    differences = column[kept, 0]
    n = differences.size
    if n < 2:
        raise InvalidInput(
            f"{matrix.models[a]} and {matrix.models[b]} have {counted(n, 'case')} in common; a plan needs 2 or more."
        )
    seen, sd = float(differences.mean()), float(differences.std(ddof=1))
    clusters = matrix.cluster_numbers()
    spread, units = (sd, n) if clusters is None else _between_patients(column[kept], clusters[kept])
    if units < 2:
        raise InvalidInput(f"All {n} cases that {matrix.models[a]} and {matrix.models[b]} share are of one patient.")
    target = seen if difference is None else difference
    needed = 2 if target else None
    if spread > 0:
        needed = cases_to_separate(target, spread, power=power, level=level, pilot_n=units)
    if needed is not None:  # units, each with as many cases as here
        needed = math.ceil(needed * n / units)
    return PairPlan(
        matrix.models[a],
        matrix.models[b],
        n,
        seen,
        sd,
        paired_power(seen, spread, units, level=level),
        detectable_difference(units, spread, power=power, level=level),
        needed,
    )


def _between_patients(column: Floats, clusters: npt.NDArray[np.intp]) -> tuple[float, int]:
    """Return what stands for the standard deviation where a patient has several cases, and how many patients there are.

    As many independent values with this deviation as there are patients would have the standard error that these have.
    """
    sample = Sample.of(column, np.unique(clusters, return_inverse=True)[1])
    units = int(sample.units[0])
    return float(sample.standard_errors[0] * math.sqrt(units)), units
