"""Estimate: a value with its interval, its n and what it leaves out; `estimate()` and the classic `bootstrap_ci()`."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.nouns import counted
from segauge.stats.intervals import METHODS, Request
from segauge.stats.resampling import Floats, Sample, index_blocks, require_level, require_resamples, stream

#: Below this many cases the resampled t statistics are too often undefined; `ci="auto"` then takes Student's t.
FEWEST_FOR_BOOTSTRAP_T = 5
#: Why a method that only knows the spread of the values has no interval.
ALL_EQUAL = "all values equal"


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval, and everything needed to judge it.

    Attributes:
        value: the mean (or median) over the n cases; None where there is no case.
        ci_low, ci_high: limits of the interval; None where none can be given (fewer than 2 cases, a limit that the
            method leaves open, or equal values, of which a method that knows no ends of the scale can say nothing).
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

    @property
    def n_excluded(self) -> int:
        """How many cases the value leaves out."""
        return sum(self.excluded.values())

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval."""
        return None if self.ci_low is None or self.ci_high is None else (self.ci_high - self.ci_low) / 2.0

    def __str__(self) -> str:
        if self.value is None:
            return "no value"
        digits = _decimals(self)
        unit = f" {self.unit}" if self.unit not in ("", "1") else ""
        if self.ci_low is None and self.ci_high is None:
            return f"{self.value:.{digits}f}{unit}"
        return f"{self.value:.{digits}f} [{_limit(self.ci_low, digits)}, {_limit(self.ci_high, digits)}]{unit}"

    def __repr__(self) -> str:
        return f"Estimate({self}, {self.details()})"

    def details(self) -> str:
        """Return n, what was left out, level and method in words: "n=20, 1 missed, 95 % jeffreys"."""
        parts = [f"n={self.n}"]
        if self.n_clusters is not None:
            parts.append(counted(self.n_clusters, "cluster"))
        parts += [f"{count} {reason}" for reason, count in self.failed.items() if count]
        parts += [f"without {count} {reason}" for reason, count in self.excluded.items() if count]
        if self.found is not None:
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
        """Return plain values, ready for strict JSON."""
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
        }


def _decimals(estimate: Estimate) -> int:
    """Enough decimals for two figures of the half width; at least three on a scale of 0 to 1."""
    numbers = [abs(x) for x in (estimate.value, estimate.ci_low, estimate.ci_high) if x is not None]
    fewest = 3 if max(numbers) <= 1.0 else 1
    half = estimate.half_width
    if not half:
        return 3
    return min(max(1 - math.floor(math.log10(half)), fewest), 9)


def _limit(value: float | None, digits: int) -> str:
    return "open" if value is None else f"{value:.{digits}f}"


def estimate(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
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
) -> Estimate:
    """Return the mean or median of per-case values with its confidence interval.

    `ci="auto"` takes what holds its level on real scores: on a bounded scale (`bounds=(0, 1)` for Dice or NSD) the
    calibrated bootstrap "jeffreys"; without bounds (a distance in mm) "bootstrap-t" over the cases that have a value,
    beside the share of cases that do (`Estimate.found`); for a median the exact order statistics. Fewer than two
    values have no interval; nor have equal ones, unless the method knows the ends of the scale.

    Args:
        values: one value per case; NaN is a case without a value (left out, counted), infinity a failed one.
        bounds: smallest and largest possible value of the scale.
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

    """
    data = one_column(values)
    (found,) = estimate_columns(
        data[:, None], bounds=bounds, ci=ci, level=level, statistic=statistic, cluster=cluster, n_resamples=n_resamples,
        seed=seed, name=name, unit=unit,
    )  # fmt: skip
    return replace(found, excluded={**(excluded or {}), **found.excluded}, failed=dict(failed or {}))


def estimate_columns(
    values: Floats,
    *,
    bounds: tuple[float, float] | None = None,
    ci: str = "auto",
    level: float = 0.95,
    statistic: str = "mean",
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    name: str = "",
    unit: str = "",
    linearised: bool = False,
) -> list[Estimate]:
    """Return the estimate of every column of (cases, columns), as `estimate` does of one.

    Columns with values for the same cases share their resamples, and no column's digits depend on the others.
    `linearised`: a value is what its case adds to an average, which has bounds that the value may pass.
    """
    require_level(level)
    require_resamples(n_resamples)
    labels = _cluster_numbers(cluster, len(values))
    patterns: dict[bytes, list[int]] = {}
    for j in range(values.shape[1]):
        patterns.setdefault(np.isfinite(values[:, j]).tobytes(), []).append(j)
    results: dict[int, Estimate] = {}
    for columns in patterns.values():
        keep = np.isfinite(values[:, columns[0]])
        kept = values[keep][:, columns]
        units = None if labels is None else np.unique(labels[keep], return_inverse=True)[1]
        count = len(kept) if units is None else int(units.max(initial=-1)) + 1
        method = _chosen_method(ci, statistic, bounds, count)
        request = Request(level, bounds or (-math.inf, math.inf), n_resamples, stream(seed, "estimate", method, name))
        if not linearised or method == "gaffke":
            _require_within(kept, request.bounds)
        low, high, is_flat = _limits(kept, units, count, method, request)
        for k, j in enumerate(columns):
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
            )
    return [results[j] for j in range(values.shape[1])]


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
    return estimate(np.isfinite(column[known]), bounds=(0.0, 1.0), ci="jeffreys", level=level, cluster=patients)


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
        raise InvalidInput(
            f'Expected statistic="mean" or "median", got {statistic!r}; bootstrap_ci takes any function.'
        )
    if bounds is not None and not (len(bounds) == 2 and bounds[0] < bounds[1]):
        raise InvalidInput(f"Expected bounds as (smallest, largest), such as (0, 1), got {bounds!r}.")
    bounded = bounds is not None and all(map(math.isfinite, bounds))
    if ci == "auto":
        if statistic == "median":
            return "exact"
        return "jeffreys" if bounded else "bootstrap-t" if units >= FEWEST_FOR_BOOTSTRAP_T else "t"
    if ci not in METHODS:
        raise InvalidInput(f'No interval method {ci!r}; there are "auto", {", ".join(map(repr, METHODS))}.')
    if METHODS[ci].statistic != statistic:
        fitting = [key for key, method in METHODS.items() if method.statistic == statistic]
        raise InvalidInput(f"The interval {ci!r} is not one of a {statistic}; for it there are {', '.join(fitting)}.")
    if METHODS[ci].needs_bounds and not bounded:
        raise InvalidInput(f"The interval {ci!r} needs the ends of the scale: pass bounds=(0, 1) for Dice, say.")
    return ci


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
    kept: Floats, units: npt.NDArray[np.intp] | None, count: int, method: str, request: Request
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return the limits of every column, NaN where there is none, and where there is none for lack of any spread."""
    none = np.full(kept.shape[1], math.nan)
    if count < 2:
        return none, none, np.zeros(none.shape, dtype=bool)
    sample = Sample.of(kept, units)
    low, high = METHODS[method].function(sample, request)
    knows_spread_only = METHODS[method].statistic == "mean" and not METHODS[method].needs_bounds
    is_flat = (sample.standard_errors == 0) & knows_spread_only
    low, high = np.maximum(low, request.bounds[0]), np.minimum(high, request.bounds[1])
    return np.where(is_flat, math.nan, low), np.where(is_flat, math.nan, high), is_flat
