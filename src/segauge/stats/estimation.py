"""Estimate: a value with its interval, its n and what it leaves out; `estimate()` and the classic `bootstrap_ci()`."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.digits import count_of, decimals, percent, with_interval, with_unit
from segauge.errors import InvalidInput
from segauge.plural import counted
from segauge.stats.intervals import METHODS, Moments, Request, share_limits, unseen_failure_limits
from segauge.stats.resampling import Floats, Sample, index_blocks, require_level, require_resamples, stream

#: Below this many cases the resampled t statistics are too often undefined; Student's t then takes their place.
FEWEST_FOR_BOOTSTRAP_T = 5
#: The default of version 0.3 and of boards up to the rules segbench-4: "jeffreys" on a bounded scale, "bootstrap-t" on
#: an open one. Estimates made with it have none of the parts that came later (failures with limits, tail, spread).
FORMER_AUTO = "auto-0.3"
#: Why a method that only knows the spread of the values has no interval.
ALL_EQUAL = "all values equal"


@dataclass(frozen=True)
class Failures:
    """How many cases failed, and the exact limits of their share (Clopper & Pearson 1934).

    Of patients with several cases the limits are those of as many independent cases as the patients are worth.
    """

    count: int
    total: int
    low: float
    high: float

    def __str__(self) -> str:
        """Return "0 of 12 (<= 26 %)" or "2 of 20 (1 to 32 %)", as a table shows it."""
        seen = count_of(self.count, self.total)
        if not self.count:
            return f"{seen} (<= {percent(self.high)})"
        return f"{seen} ({percent(self.low).removesuffix(' %')} to {percent(self.high)})"

    @property
    def words(self) -> str:
        """Return "0 failed (at most 26 %)" or "2 failed (1 to 32 %)"."""
        if not self.count:
            return f"0 failed (at most {percent(self.high)})"
        return f"{self.count} failed ({percent(self.low).removesuffix(' %')} to {percent(self.high)})"


@dataclass(frozen=True)
class Spread:
    """How the values are spread: standard deviation (None of one value), median, quartiles, smallest and largest."""

    sd: float | None
    median: float
    q1: float
    q3: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Floats) -> Spread | None:
        """Return the spread of the values; None without one."""
        if not values.size:
            return None
        sd = float(values.std(ddof=1)) if values.size > 1 else None
        low, q1, median, q3, high = (float(x) for x in np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0]))
        return cls(sd, median, q1, q3, low, high)


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval, and everything needed to judge it.

    Attributes:
        value: the mean (or median) over the n cases; None where there is no case.
        ci_low, ci_high: limits of the interval; None where none can be given (fewer than 2 cases, a limit that the
            method leaves open, or equal values on a scale without ends).
        level: confidence level of the interval.
        n: how many cases the value is over.
        method: key of the interval method, as in `segauge.stats.METHODS`.
        excluded: how many cases are not in the value, by reason.
        failed: how many of the n cases failed and count at the scale's worst value (or a penalty), by reason.
        statistic: "mean" or "median".
        unit: unit of the value, "" for a plain number.
        n_clusters: how many independent units (patients) the cases come from; None where every case is one.
        found: for a scale without a worst value (a distance), the share of cases that have a value at all.
        policy: name of the policy for cases without a number, where one was applied.
        no_interval: why there is no interval although there are cases enough, in words; otherwise "".
        failures: how many cases failed, with the limits of their share; None where nothing says what a failure is.
        tail: how bad the mean could be if there are failures that these cases do not show: the interval is about what
            they do show. On the side of a bounded scale's worst value; None on an open scale, and for a median.
        spread: standard deviation, median, quartiles, smallest and largest value; None where no single case has one (an
            average over structures).

    """

    value: float | None
    ci_low: float | None
    ci_high: float | None
    level: float = 0.95
    n: int = 0
    method: str = ""
    excluded: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    statistic: str = "mean"
    unit: str = ""
    n_clusters: int | None = None
    found: Estimate | None = None
    policy: str = ""
    no_interval: str = ""
    failures: Failures | None = None
    tail: float | None = None
    spread: Spread | None = None

    @property
    def n_excluded(self) -> int:
        """How many cases the value leaves out."""
        return sum(self.excluded.values())

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval."""
        return None if self.ci_low is None or self.ci_high is None else (self.ci_high - self.ci_low) / 2.0

    @property
    def decimals(self) -> int:
        """With how many decimals the value and its limits are printed."""
        return decimals(self.value, self.ci_low, self.ci_high)

    def text(self, places: int | None = None) -> str:
        """Return "0.904 [0.884, 0.921]" without the unit; `places` is the number of decimals of a column."""
        if self.value is None:
            return "no value"
        return with_interval(self.value, self.ci_low, self.ci_high, places=places)

    def __str__(self) -> str:
        return self.text() if self.value is None else with_unit(self.text(), self.unit)

    def __repr__(self) -> str:
        return f"Estimate({self}, {self.details()})"

    def details(self) -> str:
        """Return n, failures, what was left out, level and method: "n=20, 0 failed (at most 17 %), 95 % half-case"."""
        parts = [f"n={self.n}"]
        if self.n_clusters is not None:
            parts.append(counted(self.n_clusters, "cluster"))
        if self.failures is not None:
            parts.append(self.failures.words)
        named = self.failures is None or len(self.failed) > 1 or "failed" not in self.failed
        parts += [f"{count} {reason}" for reason, count in self.failed.items() if count and named]
        parts += [f"without {count} {reason}" for reason, count in self.excluded.items() if count]
        if self.found is not None and self.failures is None:
            parts.append(f"found {self.found}")
        if self.statistic != "mean":
            parts.append(self.statistic)
        has_interval = self.ci_low is not None or self.ci_high is not None
        why = f": {self.no_interval}" if self.no_interval else ""
        parts.append(f"{100 * self.level:g} % {self.method}" if has_interval else f"no interval{why}")
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        details = f"{self.details()}, {self.policy}" if self.policy else self.details()
        return f"<span title='{html.escape(details, quote=True)}'>{html.escape(str(self))}</span>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON; `from_dict` makes the estimate again."""
        return {
            "value": self.value,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "level": self.level,
            "n": self.n,
            "method": self.method,
            "statistic": self.statistic,
            "excluded": dict(self.excluded),
            "failed": dict(self.failed),
            "n_clusters": self.n_clusters,
            "policy": self.policy,
            "found": None if self.found is None else self.found.to_dict(),
            **({"no_interval": self.no_interval} if self.no_interval else {}),
            **({"failures": dict(vars(self.failures))} if self.failures else {}),
            **({"tail": self.tail} if self.tail is not None else {}),
            **({"spread": dict(vars(self.spread))} if self.spread else {}),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, unit: str = "") -> Estimate:
        """Return the estimate that `to_dict` wrote; the unit is not in there."""
        found, failures, spread = (given.get(key) for key in ("found", "failures", "spread"))
        return cls(
            **{
                **given,
                "found": found and cls.from_dict(found),
                "failures": failures and Failures(**failures),
                "spread": spread and Spread(**spread),
                "unit": unit,
            }
        )


def estimate(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
    higher_is_better: bool = True,
    ci: str = "auto",
    level: float = 0.95,
    statistic: str = "mean",
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    name: str = "",
    unit: str = "",
    excluded: Mapping[str, int] | None = None,
    failed: Mapping[str, int] | None = None,
    most: float | None = None,
) -> Estimate:
    """Return the mean or median of per-case values with its confidence interval.

    `ci="auto"` is the half-case interval on every scale, bounded or open; for a median the exact order statistics. It
    covers what the cases show. On a bounded scale `Estimate.failures` and `Estimate.tail` add what failures could do
    that they do not show. Fewer than two values have no interval; nor have equal ones on an open scale.

    Args:
        values: one value per case; NaN is a case without a value (left out, counted), infinity a failed one.
        bounds: smallest and largest possible value of the scale.
        higher_is_better: which end of the scale is the worst one.
        ci: "auto" or a key of `segauge.stats.METHODS`.
        level: confidence level.
        statistic: "mean" or "median".
        cluster: one label per case; cases of one label (patient) are resampled together.
        n_resamples: for the methods that resample.
        seed: for the methods that resample; together with `name` it fixes every digit.
        name: whose values these are; estimates of different names have independent random streams.
        unit: carried into the result.
        excluded: further cases that were left out before, by reason; counted into the result.
        failed: how many of the values stand for a failed case, by reason; carried into the result.
        most: largest value that these cases can have, such as the diagonal of the image in mm; no limit lies beyond.

    """
    data = one_column(values)
    (found,) = estimate_columns(
        data[:, None], bounds=bounds, higher_is_better=higher_is_better, ci=ci, level=level, statistic=statistic,
        cluster=cluster, n_resamples=n_resamples, seed=seed, name=name, unit=unit, most=most,
    )  # fmt: skip
    return replace(found, excluded={**(excluded or {}), **found.excluded}, failed=dict(failed or {}))


def estimate_columns(
    values: Floats,
    *,
    bounds: tuple[float, float] | None = None,
    higher_is_better: bool = True,
    ci: str = "auto",
    level: float = 0.95,
    statistic: str = "mean",
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    name: str = "",
    unit: str = "",
    linearised: bool = False,
    failures: npt.NDArray[np.bool_] | None = None,
    most: float | None = None,
) -> list[Estimate]:
    """Return the estimate of every column of (cases, columns), as `estimate` does of one.

    Columns with values for the same cases share their resamples, and no column's digits depend on the others.
    `linearised`: a value is what its case adds to an average, which has bounds that the value may pass. `failures` is
    True where a case failed; without it, where it has the scale's worst value, or none (infinity).
    """
    require_level(level)
    require_resamples(n_resamples)
    labels = _cluster_numbers(cluster, len(values))
    patterns: dict[bytes, list[int]] = {}
    for j in range(values.shape[1]):
        patterns.setdefault(np.isfinite(values[:, j]).tobytes(), []).append(j)
    worst = math.nan
    if bounds is not None and all(map(math.isfinite, bounds)):
        worst = bounds[0 if higher_is_better else 1]
    worst_seen = math.nan if linearised else worst
    results: dict[int, Estimate] = {}
    for columns in patterns.values():
        keep = np.isfinite(values[:, columns[0]])
        kept = values[keep][:, columns]
        units = None if labels is None else np.unique(labels[keep], return_inverse=True)[1]
        count = len(kept) if units is None else int(units.max(initial=-1)) + 1
        method = _chosen_method(ci, statistic, bounds, count)
        rng = stream(seed, "estimate", method, name)
        limit = math.inf if ci == FORMER_AUTO else _most(most, kept)
        request = Request(level, bounds or (-math.inf, math.inf), n_resamples, rng, limit)
        if not linearised or method == "gaffke":
            _require_within(kept, request.bounds)
        sample = Sample.of(kept, units) if count else None
        low, high, is_flat = _limits(sample, kept.shape[1], count, method, request)
        tails = None
        if sample is not None and statistic == "mean" and math.isfinite(worst) and ci != FORMER_AUTO:
            tails = _tails(sample, low, high, request, worst, is_lowest=higher_is_better)
        for k, j in enumerate(columns):
            told = None if failures is None else failures[:, j]
            results[j] = Estimate(
                value=_centre(kept[:, k], statistic),
                ci_low=finite(low[k]),
                ci_high=finite(high[k]),
                level=level,
                n=len(kept),
                method=method,
                excluded=_unusable(values[:, j]),
                statistic=statistic,
                unit=unit,
                n_clusters=None if units is None else count,
                found=_found(values[:, j], labels, level),
                no_interval=ALL_EQUAL if is_flat[k] else "",
                failures=None if ci == FORMER_AUTO else _failures(values[:, j], told, worst_seen, labels, level),
                tail=None if tails is None else float(tails[k]),
                spread=None if linearised or ci == FORMER_AUTO else Spread.of(kept[:, k]),
            )
    return [results[j] for j in range(values.shape[1])]


def _most(most: float | None, kept: Floats) -> float:
    """Return the largest possible value; a value that was measured is possible."""
    return math.inf if most is None else max(most, float(kept.max(initial=-math.inf)))


def _tails(sample: Sample, low: Floats, high: Floats, request: Request, worst: float, *, is_lowest: bool) -> Floats:
    """Return the tail of every column: never within its interval."""
    limit = low if is_lowest else high
    found = unseen_failure_limits(Moments.of(sample), request.tail, worst, is_lowest=is_lowest)
    return np.fmin(found, limit) if is_lowest else np.fmax(found, limit)


def _failures(
    column: Floats,
    told: npt.NDArray[np.bool_] | None,
    worst: float,
    labels: npt.NDArray[np.intp] | None,
    level: float,
) -> Failures | None:
    """Return how many cases failed; None where no status and no end of the scale says which of them did."""
    known = ~np.isnan(column)
    has_rule = told is not None or math.isfinite(worst) or bool(np.isinf(column).any())
    if not has_rule or not known.any():
        return None
    failed = np.isinf(column) | ((column == worst) if told is None else told)
    count, total = int(failed[known].sum()), int(known.sum())
    units = float(total)
    if labels is not None:
        units = _worth(failed[known], np.unique(labels[known], return_inverse=True)[1])
    low, high = share_limits(count / total * units, units, level)
    return Failures(count, total, float(low), float(high))


def _worth(hits: npt.NDArray[np.bool_], labels: npt.NDArray[np.intp]) -> float:
    """Return how many independent cases the cases of some patients are worth, for the share of hits among them."""
    sample = Sample.of(hits[:, None].astype(np.float64), labels)
    share, error = float(sample.means[0]), float(sample.standard_errors[0])
    patients = float(sample.n[0] ** 2 / (sample.sizes**2).sum())
    if not 0.0 < error < math.inf:
        return patients
    return min(float(sample.n[0]), max(share * (1.0 - share) / error**2, min(patients, 2.0)))


def share(count: int, total: int, *, level: float = 0.95) -> Estimate:
    """Return the share count / total with its Jeffreys binomial interval."""
    values = np.zeros(total)
    values[:count] = 1.0
    return estimate(values, bounds=(0.0, 1.0), ci="jeffreys", level=level)


def _found(column: Floats, labels: npt.NDArray[np.intp] | None, level: float) -> Estimate | None:
    """Return the share of cases that have a value among those that have one or failed; None where none failed."""
    if not np.isinf(column).any():
        return None
    known = ~np.isnan(column)
    patients = None if labels is None else labels[known].tolist()
    found = estimate(np.isfinite(column[known]), bounds=(0.0, 1.0), ci="jeffreys", level=level, cluster=patients)
    return replace(found, failures=None, tail=None, spread=None)


def bootstrap_ci(
    values: npt.ArrayLike,
    statistic: Callable[[Floats], Any] = np.mean,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    drop_nonfinite: bool = True,
) -> Estimate:
    """Return the plain percentile bootstrap interval, with the random stream of segauge 0.2 to the last digit.

    For small n it is too narrow (a "95 %" interval of 20 Dice values holds the mean 89 % of the time); `estimate()`
    has better ones. Kept so that published intervals can be recomputed. Any statistic that takes an array will do;
    mean and median are computed for all resamples at once. Fewer than two values have no interval.
    """
    require_level(confidence)
    data = one_column(values)
    excluded = _unusable(data) if drop_nonfinite else {}
    kept = data[np.isfinite(data)] if drop_nonfinite else data
    low = high = math.nan
    if kept.size > 1:
        resampled = _resampled_statistic(kept, statistic, n_resamples, np.random.default_rng(seed))
        tail = (1.0 - confidence) / 2.0
        low, high = (float(limit) for limit in np.quantile(resampled, [tail, 1.0 - tail]))
    return Estimate(
        value=finite(float(statistic(kept))) if kept.size else None,
        ci_low=finite(low),
        ci_high=finite(high),
        level=confidence,
        n=int(kept.size),
        method="percentile",
        excluded=excluded,
        statistic=str(getattr(statistic, "__name__", "statistic")),
    )


def _resampled_statistic(
    data: Floats, statistic: Callable[[Floats], Any], n_resamples: int, rng: np.random.Generator
) -> Floats:
    blocks = (data[drawn] for drawn in index_blocks(data.size, n_resamples, rng))
    if statistic in (np.mean, np.median):
        return np.concatenate([np.asarray(statistic(block, axis=1)) for block in blocks])
    return np.array([float(statistic(row)) for block in blocks for row in block])


def finite(value: float) -> float | None:
    """Return a plain number, or None in the place of NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def one_column(values: npt.ArrayLike) -> Floats:
    """Return one number per case.

    A table of cases and structures is none: taken for so many cases, its interval would be far too narrow.
    """
    try:
        data = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"Expected one number per case, got something that is not a number: {error}.") from error
    if data.ndim > 1 and data.size != max(data.shape):
        raise InvalidInput(
            f"Expected one number per case, got an array of shape {data.shape}. Take one structure and metric, or a "
            "mean per case, at a time."
        )
    return data.ravel()


def _cluster_numbers(cluster: Sequence[object] | None, n: int) -> npt.NDArray[np.intp] | None:
    if cluster is None:
        return None
    labels = [str(label) for label in cluster]
    if len(labels) != n:
        raise InvalidInput(f"Expected one cluster label per case: {n} cases, {len(labels)} labels.")
    return np.unique(labels, return_inverse=True)[1]


def _unusable(data: Floats) -> dict[str, int]:
    counts = {"failed": int(np.isinf(data).sum()), "not a number": int(np.isnan(data).sum())}
    return {reason: count for reason, count in counts.items() if count}


def _chosen_method(ci: str, statistic: str, bounds: tuple[float, float] | None, units: int) -> str:
    if statistic not in ("mean", "median"):
        raise InvalidInput(f'The statistic is "mean" or "median", got {statistic!r}; bootstrap_ci takes any function.')
    if bounds is not None and not (len(bounds) == 2 and bounds[0] < bounds[1]):
        raise InvalidInput(f"Expected bounds as (smallest, largest), such as (0, 1), got {bounds!r}.")
    bounded = bounds is not None and all(map(math.isfinite, bounds))
    if ci in ("auto", FORMER_AUTO) and statistic == "median":
        return "exact"
    if ci == "auto":
        return "half-case"
    if ci == FORMER_AUTO:
        return "jeffreys" if bounded else "bootstrap-t" if units >= FEWEST_FOR_BOOTSTRAP_T else "t"
    if ci not in METHODS:
        raise InvalidInput(f'No interval method {ci!r}; there are "auto", {", ".join(map(repr, METHODS))}.')
    if METHODS[ci].statistic != statistic:
        fitting = [key for key, method in METHODS.items() if method.statistic == statistic]
        raise InvalidInput(f"The interval {ci!r} is not one of a {statistic}; for it there are {', '.join(fitting)}.")
    if METHODS[ci].needs_bounds and not bounded:
        raise InvalidInput(f"The interval {ci!r} needs the ends of the scale, such as bounds=(0, 1) for Dice.")
    return ci


def require_method(ci: str, statistic: str) -> None:
    """Refuse an interval method or a statistic that does not exist, and a method of another statistic."""
    _chosen_method(ci, statistic, (0.0, 1.0), 2)


def method_for(ci: str, bounds: tuple[float, float], *, is_clustered: bool) -> str:
    """Return a named method where it can be used, and otherwise "auto": for tables of many metrics."""
    needs_more = ci in METHODS and METHODS[ci].needs_bounds and not all(map(math.isfinite, bounds))
    return "auto" if needs_more or (ci == "gaffke" and is_clustered) else ci


def _require_within(kept: Floats, bounds: tuple[float, float]) -> None:
    slack = 1e-9 * (bounds[1] - bounds[0]) if math.isfinite(bounds[1] - bounds[0]) else 0.0
    outside = kept[(kept < bounds[0] - slack) | (kept > bounds[1] + slack)]
    if outside.size:
        raise InvalidInput(
            f"{outside.size} of {kept.size} values lie outside the bounds {bounds[0]:g} to {bounds[1]:g}, "
            f"the first is {outside[0]:g}. Per cent where a share was expected? Divide them, or pass other bounds."
        )


def _centre(kept: Floats, statistic: str) -> float | None:
    if kept.size == 0:
        return None
    return float(np.mean(kept) if statistic == "mean" else np.median(kept))


def _limits(
    sample: Sample | None, columns: int, count: int, method: str, request: Request
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return the limits of every column, NaN where there is none, and where there is none for lack of any spread."""
    none = np.full(columns, math.nan)
    if sample is None or count < 2:
        return none, none, np.zeros(columns, dtype=bool)
    low, high = METHODS[method].function(sample, request)
    knows_spread_only = METHODS[method].statistic == "mean" and not METHODS[method].needs_bounds
    is_flat = (sample.standard_errors == 0) & knows_spread_only
    if method == "half-case":
        is_flat &= np.isnan(low)
    low, high = np.maximum(low, request.reach[0]), np.minimum(high, request.reach[1])
    return np.where(is_flat, math.nan, low), np.where(is_flat, math.nan, high), is_flat
