"""Confidence intervals of a mean or median: one function per method, all columns at once, and one catalog of them.

Each function takes a `Sample` of columns and returns the lower and the upper limits. Their coverage on real scores is
measured in `benchmarks/coverage`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, option
from segauge.stats.resampling import Floats, Sample, fixed_point

Limits = tuple[Floats, Floats]


@dataclass(frozen=True)
class Request:
    """What an interval method knows besides the data.

    Attributes:
        level: of the interval.
        bounds: ends of the scale, infinite where there is none.
        n_resamples, rng: of the methods that resample.
        most: largest value that these cases can have where it is known, such as the diagonal of an image in mm. It cuts
            an interval, but does not make an open scale a bounded one.

    """

    level: float
    bounds: tuple[float, float]
    n_resamples: int
    rng: np.random.Generator
    most: float = np.inf

    @property
    def tail(self) -> float:
        """The probability left out on each side."""
        return (1.0 - self.level) / 2.0

    @property
    def reach(self) -> tuple[float, float]:
        """The smallest and the largest value that a mean can have."""
        return self.bounds[0], min(self.bounds[1], self.most)


@dataclass(frozen=True)
class IntervalMethod:
    """The facts of one method: how it is called, what it is, what it needs."""

    key: str
    name: str
    statistic: str
    needs_bounds: bool
    is_random: bool
    definition: str
    function: Callable[[Sample, Request], Limits]


#: The half cases of the half-case interval lie 1 + 10 / n times as far from the mean as the furthest case on their
#: side, and on the side of the longer tail further by twice the asymmetry of the two.
_FURTHER_BY_N = 10.0
_FURTHER_BY_ASYMMETRY = 2.0


@dataclass(frozen=True, eq=False)
class Moments:
    """What the half-case interval of every column is made of.

    A unit (a case, or a patient with several) has one value; the plain mean and standard error of these values are
    those of the mean of all cases.

    Attributes:
        units: how many values there are.
        means: their mean.
        squares: sum of the squared distances from the mean.
        below, above: distance from the mean to the smallest and to the largest value.
        worth: how many independent cases the mean is worth, fewer than there are patients where some have more cases
            than others (Kish 1965).

    """

    units: Floats
    means: Floats
    squares: Floats
    below: Floats
    above: Floats
    worth: Floats

    @classmethod
    def of(cls, sample: Sample) -> Moments:
        """Return the moments of a sample; a unit without a value in a column lies at its mean and changes nothing."""
        weights = np.broadcast_to((sample.sizes**2).sum(axis=0), sample.squares.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = sample.deviations * np.nan_to_num(sample.units / sample.n)
        # Column by column in memory, so that each is summed as if it were alone.
        rows = np.ascontiguousarray(values.T)
        return cls(
            sample.units,
            sample.means,
            np.add.reduce(rows**2, axis=1),
            -rows.min(axis=1, initial=0.0),
            rows.max(axis=1, initial=0.0),
            np.divide(sample.n**2, weights, out=np.zeros_like(sample.means), where=weights > 0),
        )

    def column(self, k: int) -> Moments:
        """Return the moments of one column."""
        return Moments(*(getattr(self, one.name)[k : k + 1] for one in fields(self)))


def half_case(sample: Sample, request: Request) -> Limits:
    """Limits of the mean if half a case more lay beyond the extremes, on one side at a time.

    n cases, mean m, a = m - min, b = max - m, s = (b - a) / (a + b), k = 1 + 10 / n, scale from L to U. The half case
    of the lower limit is put at e = max(L, m - (k + 2 max(-s, 0)) a). W = n + 1/2, y = (x - e) / (max - e),
    mu = sum y / W, v = (sum y^2 / W - mu^2) / (W + 1), c = mu (1 - mu) / v - 1: the limit is the quantile of
    Beta(mu c, (1 - mu) c), mapped back, at most m. The upper limit is its mirror image. Of equal values: the interval
    of `jeffreys` on a bounded scale, none on an open one. Of patients with several cases each counts once.
    """
    return half_case_limits(Moments.of(sample), request.tail, request.bounds, request.most)


def half_case_limits(
    moments: Moments, tail: float | Floats, bounds: tuple[float, float] = (-np.inf, np.inf), most: float = np.inf
) -> Limits:
    """Return the half-case limits; NaN below two units, and where all values are equal on an open scale.

    Single values of patients and of averages may lie beyond the ends of the scale: the half case then lies where the
    furthest of them does. `most` cuts the limits, but makes no open scale a bounded one.
    """
    reach = bounds[0], min(bounds[1], most)
    n, mean, below, above = moments.units, moments.means, moments.below, moments.above
    has_spread = (n > 1) & (below + above > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        asymmetry = (above - below) / (above + below)
        further = 1.0 + _FURTHER_BY_N / n
        down = np.minimum((further + _FURTHER_BY_ASYMMETRY * np.maximum(-asymmetry, 0.0)) * below, mean - reach[0])
        up = np.minimum((further + _FURTHER_BY_ASYMMETRY * np.maximum(asymmetry, 0.0)) * above, reach[1] - mean)
        low = mean - _drop(moments, np.maximum(down, below), above, 0.5, tail)
        high = mean + _drop(moments, np.maximum(up, above), below, 0.5, tail)
    low, high = np.clip(low, *reach), np.clip(high, *reach)
    low, high = np.where(has_spread, low, np.nan), np.where(has_spread, high, np.nan)
    is_flat = (n > 1) & ~has_spread
    if not is_flat.any() or not np.isfinite(bounds).all():
        return low, high
    share = np.clip((mean - bounds[0]) / (bounds[1] - bounds[0]), 0.0, 1.0)
    limits = (
        bounds[0] + (bounds[1] - bounds[0]) * limit for limit in _jeffreys_limits(moments.worth, share, share**2, tail)
    )
    low_flat, high_flat = (np.minimum(limit, reach[1]) for limit in limits)
    return np.where(is_flat, low_flat, low), np.where(is_flat, high_flat, high)


def unseen_failure_limits(moments: Moments, tail: float, worst: float, *, is_lowest: bool) -> Floats:
    """Return how bad each mean could be if there are failures that the sample does not show.

    The half-case limit on the side of the scale's worst value, with one whole case at that value. For n equal scores
    on a scale from 0 it is the score times 1 minus the exact upper limit of a share of 0 of n.
    """
    side = (moments.below, moments.above) if is_lowest else (moments.above, moments.below)
    sign = 1.0 if is_lowest else -1.0
    distance = np.maximum(sign * (moments.means - worst), side[0])
    drop = _drop(moments, distance, side[1], 1.0, tail)
    return np.asarray(moments.means - sign * np.minimum(drop, np.maximum(sign * (moments.means - worst), 0.0)))


def _drop(moments: Moments, distance: Floats, other: Floats, weight: float, tail: float | Floats) -> Floats:
    """Return how far below its mean each column's limit lies, with `weight` of a case at `distance` below the mean.

    `other` is the distance from the mean to the furthest value on the other side. The limit is a quantile of the Beta
    distribution with the first two moments of a Bayesian bootstrap of these cases. Where values are mirrored, it is the
    distance of the upper limit.
    """
    from scipy.special import betaincinv

    n, total, width = moments.units, moments.units + weight, distance + other
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = distance / width
        first = n * mean / total
        second = (moments.squares / width**2 + n * mean**2) / total
        concentration = first * (1.0 - first) * (total + 1.0) / (second - first**2) - 1.0
        quantile = betaincinv(first * concentration, (1.0 - first) * concentration, tail)
    return np.where(width > 0, np.maximum(distance - width * quantile, 0.0), 0.0)


def share_limits(count: npt.ArrayLike, total: npt.ArrayLike, level: float) -> Limits:
    """Return the exact limits of a share (Clopper & Pearson 1934); 0 and 1 of a total of 0."""
    from scipy.special import betaincinv

    hits, n = (np.asarray(x, dtype=np.float64) for x in (count, total))
    tail, rest = (1.0 - level) / 2.0, n - hits
    low = betaincinv(np.where(hits > 0, hits, 1.0), rest + 1.0, tail)
    high = betaincinv(hits + 1.0, np.where(rest > 0, rest, 1.0), 1.0 - tail)
    return np.where(hits > 0, low, 0.0), np.where(rest > 0, high, 1.0)


def percentile(sample: Sample, request: Request) -> Limits:
    """Quantiles of the resampled means."""
    shifts = sample.shifts(request.n_resamples, request.rng)
    low, high = np.quantile(shifts, [request.tail, 1.0 - request.tail], axis=0)
    return sample.means + low, sample.means + high


def basic(sample: Sample, request: Request) -> Limits:
    """Percentile interval, reflected at the mean."""
    low, high = percentile(sample, request)
    return 2.0 * sample.means - high, 2.0 * sample.means - low


def bca(sample: Sample, request: Request) -> Limits:
    """Percentile interval corrected for bias and skewness (Efron 1987)."""
    from scipy.special import ndtr, ndtri

    shifts = sample.shifts(request.n_resamples, request.rng)
    below = (shifts < 0).mean(axis=0) + (shifts == 0).mean(axis=0) / 2.0
    bias = ndtri(np.clip(below, 1e-9, 1.0 - 1e-9))
    deviations = sample.deviations
    spread = (deviations**2).sum(axis=0)
    skew = np.divide((deviations**3).sum(axis=0), 6.0 * spread**1.5, out=np.zeros_like(spread), where=spread > 0)
    limits = []
    for probability in (request.tail, 1.0 - request.tail):
        z = bias + ndtri(probability)
        level = ndtr(bias + z / (1.0 - skew * z))
        limits.append(_quantile_per_column(shifts, level))
    return sample.means + limits[0], sample.means + limits[1]


def bootstrap_t(sample: Sample, request: Request) -> Limits:
    """Quantiles of the resampled t statistics, turned back into limits of the mean (Hall 1988)."""
    shift, error = sample.resampled(request.n_resamples, request.rng)
    t = studentised(shift, error)
    high = np.quantile(t, 1.0 - request.tail, axis=0, method="higher")
    low = np.quantile(t, request.tail, axis=0, method="lower")
    spread = sample.standard_errors
    return sample.means - _product(high, spread), sample.means - _product(low, spread)


def student_t(sample: Sample, request: Request) -> Limits:
    """Mean -+ t quantile times standard error."""
    from scipy.special import stdtrit

    half = stdtrit(sample.units - 1.0, 1.0 - request.tail) * sample.standard_errors
    return sample.means - half, sample.means + half


def jeffreys(sample: Sample, request: Request) -> Limits:
    """Beta quantiles with the first two moments of a Bayesian bootstrap that adds half a case at each end of the scale.

    y = (x - L) / (U - L); W = n + 1; m = (sum y + 1/2) / W; q = (sum y^2 + 1/2) / W; v = (q - m^2) / (W + 1);
    c = m (1 - m) / v - 1; limits = quantiles of Beta(m c, (1 - m) c), widened to hold the sample mean. Exactly the
    Jeffreys binomial interval for values that are all L or U. The half cases say that n cases without a failure do
    not rule failures out. Of patients with several cases each counts once, and half a patient is added at each end.
    """
    lower, upper = request.bounds
    width = upper - lower
    mean = np.clip((sample.means - lower) / width, 0.0, 1.0)
    low, high = _jeffreys_limits(*_of_independent(sample, mean, lower, width), request.tail)
    return lower + width * low, lower + width * high


def _jeffreys_limits(n: Floats, mean: Floats, square: Floats, tail: float | Floats) -> Limits:
    """Return the limits on a scale from 0 to 1, from the number of values, their mean and that of their squares."""
    from scipy.special import betaincinv

    weight = n + 1.0
    m = (n * mean + 0.5) / weight
    q = (n * square + 0.5) / weight
    v = (q - m**2) / (weight + 1.0)
    c = m * (1.0 - m) / v - 1.0
    low = np.minimum(betaincinv(m * c, (1.0 - m) * c, tail), mean)
    return low, np.maximum(betaincinv(m * c, (1.0 - m) * c, 1.0 - tail), mean)


def _of_independent(sample: Sample, mean: Floats, lower: float, width: float) -> tuple[Floats, Floats, Floats]:
    """Return of how many independent values the mean (scale from 0 to 1) is, the mean, and that of their squares.

    Of patients with as many cases each, these are the means of the patients. Where some have more cases than others,
    the patients are worth fewer (Kish 1965), and the squares are those that go with the standard error of the mean;
    never more than values from 0 to 1 can have. So it is where values leave the scale, as what a case adds to an
    average over structures may.
    """
    raw_square = sample.squares / sample.n
    square = np.clip((raw_square - 2.0 * lower * sample.means + lower**2) / width**2, mean**2, mean)
    slack = 1e-9 * width
    inside = (sample.sums.min(axis=0) >= lower - slack) & (sample.sums.max(axis=0) <= lower + width + slack)
    is_plain = inside & (sample.n == sample.units)
    error = (sample.standard_errors / width) ** 2
    most = mean * (1.0 - mean)
    units = sample.n**2 / np.broadcast_to(sample.sizes**2, sample.sums.shape).sum(axis=0)
    n = np.minimum(units, 1.0 + np.divide(most, error, out=np.full_like(error, np.inf), where=error > 0))
    by_error = mean**2 + np.minimum((n - 1.0) * error, most)
    return np.where(is_plain, sample.n, n), mean, np.where(is_plain, square, by_error)


def gaffke(sample: Sample, request: Request) -> Limits:
    """Quantiles of Dirichlet-weighted means with one more case at the end of the scale (Gaffke 2005): conservative."""
    if (sample.sizes != 1.0).any():
        raise InvalidInput(
            f"{option('ci', 'gaffke')} needs one value per case and no clusters; use {option('ci', 'jeffreys')}."
        )
    lower, upper = request.bounds
    # Whole-number weights, as in every resample: the weighted sums are exact and do not depend on threads.
    weights = np.rint(request.rng.standard_exponential((request.n_resamples, len(sample.sums) + 1)) * 2.0**10)
    whole, unit = fixed_point(sample.sums, int(weights.sum(axis=1).max()))
    total = (weights[:, 1:] @ whole) * unit
    share = weights.sum(axis=1, keepdims=True)
    low = np.quantile((total + weights[:, :1] * lower) / share, request.tail, axis=0)
    high = np.quantile((total + weights[:, :1] * upper) / share, 1.0 - request.tail, axis=0)
    return low, high


def order_statistic(sample: Sample, request: Request) -> Limits:
    """Exact interval of the median: the two order statistics that hold it with at least the level (sign test).

    With fewer than 6 cases no order statistic reaches 95 %: the limit is then the end of the scale.
    """
    if (sample.sizes != 1.0).any():
        raise InvalidInput(
            f"The exact interval of a median needs independent cases; use {option('statistic', 'mean')} for patients "
            "with several cases."
        )
    from scipy.special import bdtr

    ordered = np.sort(sample.sums, axis=0)
    n = len(ordered)
    outside = bdtr(np.arange(n // 2 + 1, dtype=np.float64), n, 0.5)
    rank = int(np.searchsorted(outside, request.tail, side="right"))
    if rank == 0:
        shape = ordered.shape[1]
        return np.full(shape, request.bounds[0]), np.full(shape, request.bounds[1])
    return ordered[rank - 1], ordered[n - rank]


def studentised(shift: Floats, error: Floats) -> Floats:
    """Return shift / error; where the error is 0, the shift's sign times infinity, and 0 where both are 0."""
    t = np.divide(shift, error, out=np.zeros_like(shift), where=error > 0)
    flat = (error == 0) & (shift != 0)
    t[flat] = np.copysign(np.inf, shift[flat])
    return t


def _product(t: Floats, error: Floats) -> Floats:
    """Return t * error, and 0 where the error is 0 however large t is."""
    return np.multiply(t, error, out=np.zeros_like(t), where=error > 0)


def _quantile_per_column(values: Floats, levels: Floats) -> Floats:
    """Return the quantile of each column at that column's own level."""
    return np.array([np.quantile(column, level) for column, level in zip(values.T, levels, strict=True)])


METHODS: dict[str, IntervalMethod] = {
    method.key: method
    for method in (
        IntervalMethod("half-case", "half-case", "mean", False, False, half_case.__doc__ or "", half_case),
        IntervalMethod("percentile", "percentile bootstrap", "mean", False, True, percentile.__doc__ or "", percentile),
        IntervalMethod("basic", "basic bootstrap", "mean", False, True, basic.__doc__ or "", basic),
        IntervalMethod("bca", "BCa bootstrap", "mean", False, True, bca.__doc__ or "", bca),
        IntervalMethod("bootstrap-t", "bootstrap-t", "mean", False, True, bootstrap_t.__doc__ or "", bootstrap_t),
        IntervalMethod("t", "Student t", "mean", False, False, student_t.__doc__ or "", student_t),
        IntervalMethod("jeffreys", "calibrated bootstrap", "mean", True, False, jeffreys.__doc__ or "", jeffreys),
        IntervalMethod("gaffke", "Gaffke", "mean", True, True, gaffke.__doc__ or "", gaffke),
        IntervalMethod(
            "exact", "order statistics", "median", False, False, order_statistic.__doc__ or "", order_statistic
        ),
    )
}
