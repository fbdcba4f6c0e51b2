"""Gaps: the differences between the means of groups of cases, of all pairs of groups, or of two within strata.

A raw gap mixes what the group does with what else differs between the groups. Within strata of another column (men and
women of the same age, on one scanner) only like is compared with like.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from segauge.digits import decimals, fixed
from segauge.digits import interval as interval_text
from segauge.errors import InvalidInput
from segauge.stats.comparison import half_widths
from segauge.stats.estimation import Estimate, estimate_columns, finite
from segauge.stats.intervals import Limits, Moments, half_case_limits
from segauge.stats.resampling import Floats, Sample, stream
from segauge.stats.significance import agreeing, fisher_exact, share_gap_limits, step_down

Flags = npt.NDArray[np.bool_]

#: The p-value of a gap is found by halving the logarithm of a tail so often, down to this tail.
_HALVINGS = 45
_LEAST_TAIL = 1e-12


@dataclass(frozen=True)
class Gap:
    """The difference of two groups' means (a - b), with an interval and p-value that hold for all pairs of groups.

    The interval excludes 0 exactly where the p-value is below 1 - level. `alone_low` and `alone_high` are the limits of
    "this pair alone", from the half-case intervals of the two groups, which no other group changes.
    """

    a: str
    b: str
    delta: float
    ci_low: float | None
    ci_high: float | None
    p_value: float
    alone_low: float | None = None
    alone_high: float | None = None

    @property
    def text(self) -> str:
        """Return the difference with its interval: "+0.041 [+0.012, +0.070]"."""
        places = decimals(self.delta, self.ci_low, self.ci_high)
        limits = interval_text(self.ci_low, self.ci_high, places, signed=True)
        return f"{fixed(self.delta, places, signed=True)} {limits}".rstrip()


def group_gaps(
    data: Floats,
    masks: Mapping[str, Flags],
    cluster: Sequence[object] | None,
    level: float,
    n_resamples: int,
    seed: int,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> list[tuple[Gap, ...]]:
    """Return the gaps between all pairs of groups, per column of `data` (a model), each column by itself.

    Two groups: from the half-case intervals of their means; the p-value is 1 minus the level at which the interval
    reaches 0. More of them: regularised max-t over all pairs, step-down, with limits that agree with it, and each pair
    alone beside it. Two groups of independent cases with only two values (found or not) are compared by Fisher's exact
    test.
    """
    if len(masks) < 2:
        return [()] * data.shape[1]
    exact: list[Gap | None] = [None] * data.shape[1]
    if cluster is None and len(masks) == 2 and _are_apart(masks, None):
        exact = [_gap_of_shares(column, masks, level) for column in data.T]
    rest = [j for j, gap in enumerate(exact) if gap is None]
    if not rest:
        return [(gap,) for gap in exact if gap is not None]
    chosen = data[:, rest]
    alone = _Alone.of(chosen, masks, cluster, bounds)
    if len(masks) == 2:
        found = _gaps_alone(alone, list(masks), level)
    else:
        found = _resampled_gaps(chosen, masks, cluster, level, n_resamples, seed, alone)
    others = iter(found)
    return [next(others) if gap is None else (gap,) for gap in exact]


def mover(means: tuple[Floats, Floats], first: Limits, second: Limits) -> Limits:
    """Return limits of the difference of two independent means from the limits of each (Zou & Donner 2008)."""
    delta = means[0] - means[1]
    below = np.hypot(means[0] - first[0], second[1] - means[1])
    above = np.hypot(first[1] - means[0], means[1] - second[0])
    return delta - below, delta + above


@dataclass(frozen=True, eq=False)
class _Alone:
    """The half-case limits of each pair of groups alone, at any level.

    Attributes:
        deltas: (pairs, columns), the differences of the means.
        groups: moments of each group where no case or patient is in two of them; None otherwise.
        pairs: moments of what each case adds to the difference of each pair, where `groups` is None.
        bounds: ends of the scale.

    """

    deltas: Floats
    groups: tuple[Moments, ...] | None
    pairs: tuple[Moments, ...]
    bounds: tuple[float, float]

    @classmethod
    def of(
        cls,
        data: Floats,
        masks: Mapping[str, Flags],
        cluster: Sequence[object] | None,
        bounds: tuple[float, float],
    ) -> _Alone:
        labels = None if cluster is None else np.unique([str(label) for label in cluster], return_inverse=True)[1]
        flags = list(masks.values())
        means = np.array([np.ascontiguousarray(data[mask].T).mean(axis=1) for mask in flags])
        first, second = np.triu_indices(len(flags), 1)
        deltas = means[first] - means[second]
        if _are_apart(masks, labels):
            return cls(deltas, tuple(_moments(data[mask], labels, mask) for mask in flags), (), bounds)
        pairs = tuple(
            _moments(contributions(data, [(flags[a], flags[b])])[used], labels, used)
            for a, b in zip(first, second, strict=True)
            for used in [flags[a] | flags[b]]
        )
        return cls(deltas, None, pairs, bounds)

    def limits(self, tail: float | Floats) -> Limits:
        """Return the limits of each pair and column, with so much probability outside on either side."""
        widest = self.bounds[1] - self.bounds[0]
        if self.groups is None:
            found = [half_case_limits(one, tail, (-widest, widest)) for one in self.pairs]
        else:
            each = [half_case_limits(one, tail, self.bounds) for one in self.groups]
            first, second = np.triu_indices(len(each), 1)
            found = [
                mover((self.groups[a].means, self.groups[b].means), each[a], each[b])
                for a, b in zip(first, second, strict=True)
            ]
        low, high = (np.array([pair[k] for pair in found]) for k in (0, 1))
        return low, high

    def p_values(self) -> Floats:
        """Return, per column of the only pair, 1 minus the level at which its interval reaches 0; 1 without one."""
        low, high = (np.full(self.deltas.shape[1], math.log(end)) for end in (_LEAST_TAIL, 0.5))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            limits = self.limits(np.exp(middle))
            excludes = (limits[0][0] > 0) | (limits[1][0] < 0)
            low, high = np.where(excludes, low, middle), np.where(excludes, middle, high)
        p: Floats = 2.0 * np.exp(high)
        return p


def _moments(data: Floats, labels: npt.NDArray[np.intp] | None, mask: Flags) -> Moments:
    units = None if labels is None else np.unique(labels[mask], return_inverse=True)[1]
    return Moments.of(Sample.of(data, units))


def _gaps_alone(alone: _Alone, names: Sequence[str], level: float) -> list[tuple[Gap, ...]]:
    """Return the gap of the only two groups per column."""
    low, high = (limit[0] for limit in alone.limits((1.0 - level) / 2.0))
    excludes = (low > 0) | (high < 0)
    reached = alone.p_values()
    p = np.where(excludes, np.minimum(reached, np.nextafter(1.0 - level, 0.0)), np.maximum(reached, 1.0 - level))
    return [
        (Gap(names[0], names[1], float(alone.deltas[0, j]), *_known(low[j], high[j]), float(p[j]),
             *_known(low[j], high[j])),)
        for j in range(low.size)
    ]  # fmt: skip


def _known(low: float, high: float) -> tuple[float | None, float | None]:
    return finite(low), finite(high)


def contributions(data: Floats, cells: Sequence[tuple[Flags, Flags]]) -> Floats:
    """Return values whose mean over the cases used is a difference of groups, and whose spread is its own.

    `cells` are pairs of groups (a, b), such as those within strata, which weigh n_a n_b / (n_a + n_b); the difference
    is the weighted mean of theirs. `data` is one column or (cases, columns).
    """
    weights = [one.sum() * two.sum() / (one.sum() + two.sum()) for one, two in cells]
    total = sum(weights)
    used = np.any([one | two for one, two in cells], axis=0)
    gap = np.zeros(data.shape[1:])
    shares = np.zeros_like(data)
    for weight, pair in zip(weights, cells, strict=True):
        for sign, part in zip((1.0, -1.0), pair, strict=True):
            n, mean = int(part.sum()), np.ascontiguousarray(data[part].T).mean(axis=-1)
            gap += sign * weight / total * mean
            # sqrt(n / (n - 1)): the spread around a cell's own mean is too small by that factor.
            shares[part] += sign * weight / total * (data[part] - mean) / n * math.sqrt(n / (n - 1))
    return np.asarray(gap + shares * int(used.sum()))


def _resampled_gaps(
    data: Floats,
    masks: Mapping[str, Flags],
    cluster: Sequence[object] | None,
    level: float,
    n_resamples: int,
    seed: int,
    alone: _Alone,
) -> list[tuple[Gap, ...]]:
    """Return the gaps of every column by the regularised max-t, step-down."""
    names = list(masks)
    means, errors, shift, error = _resampled_groups(data, masks, cluster, n_resamples, seed)
    first, second = np.triu_indices(len(names), 1)
    most = alone.bounds[1] - alone.bounds[0]
    alone_low, alone_high = alone.limits((1.0 - level) / 2.0)
    found = []
    for j in range(data.shape[1]):
        delta, spread = means[first, j] - means[second, j], _joint(errors[:, j], first, second)
        extra = float(np.median(spread))
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled = np.abs(shift[j][:, first] - shift[j][:, second]) / (_joint(error[j], first, second) + extra)
            observed = np.abs(delta) / (spread + extra)
        # 0 / 0: two groups without any spread and without a difference.
        resampled, observed = np.nan_to_num(resampled, posinf=np.inf), np.nan_to_num(observed, posinf=np.inf)
        half = half_widths(np.quantile(resampled.max(axis=1), level, method="higher"), spread + extra)
        p = step_down(observed, resampled)
        low, high = np.maximum(delta - half, -most), np.minimum(delta + half, most)
        low, high = agreeing(low, high, np.sign(delta), p < 1.0 - level)
        found.append(
            tuple(
                Gap(
                    names[a], names[b], float(delta[k]), *_known(low[k], high[k]), float(p[k]),
                    *_known(alone_low[k, j], alone_high[k, j]),
                )
                for k, (a, b) in enumerate(zip(first, second, strict=True))
            )
        )  # fmt: skip
    return found


def _gap_of_shares(column: Floats, masks: Mapping[str, Flags], level: float) -> Gap | None:
    """Return the gap of two groups whose cases have two values only; None where they have more, or one."""
    (a, first), (b, second) = ((name, column[mask]) for name, mask in masks.items())
    known = np.unique(np.concatenate([first, second]))
    if known.size != 2:
        return None
    step = float(known[1] - known[0])
    hits = int((first == known[1]).sum()), int((second == known[1]).sum())
    sizes = first.size, second.size
    low, high = share_gap_limits(hits, sizes, level)
    p_value = fisher_exact(hits, sizes)
    # These limits are no inversion of the test: they must not say more than it does, nor less.
    decided, sign = np.array([p_value < 1.0 - level]), np.sign([first.mean() - second.mean()])
    low, high = (float(limit[0]) for limit in agreeing(np.array([low]), np.array([high]), sign, decided))
    limits = step * low, step * high
    return Gap(a, b, float(first.mean() - second.mean()), *limits, p_value, *limits)


def _resampled_groups(
    data: Floats,
    masks: Mapping[str, Flags],
    cluster: Sequence[object] | None,
    n_resamples: int,
    seed: int,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means and standard errors (groups, columns), and their resamples (columns, resamples, groups).

    Groups without a case or patient in common are resampled each by itself, in a stream of its own name, so that one
    more group changes no other; otherwise all cases are resampled together.
    """
    labels = None if cluster is None else np.unique([str(label) for label in cluster], return_inverse=True)[1]
    columns = data.shape[1]
    if _are_apart(masks, labels):
        units = {
            name: None if labels is None else np.unique(labels[mask], return_inverse=True)[1]
            for name, mask in masks.items()
        }
        samples = [Sample.of(data[mask], units[name]) for name, mask in masks.items()]
        drawn = [
            sample.resampled(n_resamples, stream(seed, "group", name))
            for name, sample in zip(masks, samples, strict=True)
        ]
        means, errors = np.array([part.means for part in samples]), np.array([part.standard_errors for part in samples])
        shift, error = (np.stack([pair[k] for pair in drawn], axis=-1).transpose(1, 0, 2) for k in (0, 1))
        return means, errors, shift, error
    used = np.any(list(masks.values()), axis=0)
    stacked = np.hstack([np.where(mask[:, None], data, np.nan)[used] for mask in masks.values()])
    sample = Sample.of(stacked, None if labels is None else np.unique(labels[used], return_inverse=True)[1])
    shift, error = sample.resampled(n_resamples, stream(seed, "groups"))
    shape = (n_resamples, len(masks), columns)
    means, errors = (found.reshape(len(masks), columns) for found in (sample.means, sample.standard_errors))
    return means, errors, shift.reshape(shape).transpose(2, 0, 1), error.reshape(shape).transpose(2, 0, 1)


def _are_apart(masks: Mapping[str, Flags], labels: npt.NDArray[np.intp] | None) -> bool:
    """Return True if no case, and no patient, is in two groups."""
    if labels is None:
        return not bool((np.sum(list(masks.values()), axis=0) > 1).any())
    members = [set(labels[mask].tolist()) for mask in masks.values()]
    return sum(map(len, members)) == len(set().union(*members))


def _joint(errors: Floats, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> Floats:
    return np.sqrt(errors[..., first] ** 2 + errors[..., second] ** 2)


#: A stratum needs this many cases of each group: one case has no spread.
FEWEST_IN_STRATUM = 2


@dataclass(frozen=True)
class StratifiedGap:
    """The mean difference of two groups (a - b) within strata.

    Attributes:
        gap: weighted mean of the differences within strata, with its interval.
        n_a, n_b: cases of the two groups that were compared.
        strata: names of the strata with enough cases of both.
        left_out: cases of either group in strata without enough of the other, or without a stratum.
        failed: cases of either group that failed and have no value (infinity), so that they are in no mean.

    """

    gap: Estimate
    n_a: int
    n_b: int
    strata: tuple[str, ...]
    left_out: int
    failed: int = 0


def stratified_gap(
    values: npt.ArrayLike,
    in_a: Sequence[bool] | Flags,
    in_b: Sequence[bool] | Flags,
    strata: Sequence[str | None] | None = None,
    *,
    level: float = 0.95,
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    name: str = "",
    bounds: tuple[float, float] | None = None,
) -> StratifiedGap:
    """Return the difference of two groups' means, compared within strata.

    Strata weigh n_a n_b / (n_a + n_b), which makes the pooled difference the most precise one where spreads are alike.
    Every case enters once, with what it adds to the pooled difference (linearised, corrected for the small sizes of
    cells), so that the interval is half-case over cases, or over patients with `cluster`; a case in both groups
    adds to both.

    Args:
        values: one score per case; NaN is left out, infinity is a failure without a value, which is counted.
        in_a: which cases are in the first group.
        in_b: which are in the second.
        strata: one label per case, None where unknown; without strata the plain difference.
        level: of the interval.
        cluster: one label per case; cases of one label are resampled together.
        n_resamples: of the interval.
        seed: of the interval.
        name: whose scores these are.
        bounds: ends of the scale, which limit what two means can differ by.

    """
    data = np.asarray(values, dtype=np.float64).ravel()
    labels = [""] * data.size if strata is None else list(strata)
    if not len(in_a) == len(in_b) == len(labels) == data.size:
        given = f"{len(in_a)}, {len(in_b)}, {len(labels)}"
        raise InvalidInput(f"Expected groups and strata for {data.size} cases, got {given}.")
    a, b = (np.asarray(flags, dtype=bool) & np.isfinite(data) for flags in (in_a, in_b))
    cells = _cells(a, b, labels)
    used_a, used_b = _joined([one for one, _ in cells.values()], a), _joined([two for _, two in cells.values()], b)
    left_out = int(((a | b) & ~(used_a | used_b)).sum())
    sizes = int(used_a.sum()), int(used_b.sum())
    failed = int(((np.asarray(in_a, dtype=bool) | np.asarray(in_b, dtype=bool)) & np.isinf(data)).sum())
    if not cells:
        return StratifiedGap(Estimate(None, None, None, level), *sizes, (), left_out, failed)
    kept = used_a | used_b
    patients = None if cluster is None else [cluster[i] for i in np.flatnonzero(kept).tolist()]
    widest = math.inf if bounds is None else bounds[1] - bounds[0]
    (gap,) = estimate_columns(
        contributions(data, list(cells.values()))[kept, None], bounds=(-widest, widest), level=level, cluster=patients,
        n_resamples=n_resamples, seed=seed, name=f"gap/{name}", linearised=True,
    )  # fmt: skip
    return StratifiedGap(replace(gap, tail=None, failures=None), *sizes, tuple(cells), left_out, failed)


def _cells(a: Flags, b: Flags, labels: Sequence[str | None]) -> dict[str, tuple[Flags, Flags]]:
    known = sorted({label for label, used in zip(labels, a | b, strict=True) if used and label is not None})
    names = np.array(["" if label is None else label for label in labels])
    given = np.array([label is not None for label in labels])
    cells = {label: (a & given & (names == label), b & given & (names == label)) for label in known}
    return {key: pair for key, pair in cells.items() if min(part.sum() for part in pair) >= FEWEST_IN_STRATUM}


def _joined(parts: Sequence[Flags], like: Flags) -> Flags:
    return np.any(parts, axis=0) if parts else np.zeros_like(like)
