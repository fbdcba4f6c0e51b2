"""Gaps: the differences between the means of groups of cases, with intervals and p-values that hold for all pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.stats.comparison import half_widths
from segauge.stats.estimation import finite
from segauge.stats.group_tests import fisher_exact, share_gap_limits
from segauge.stats.resampling import Floats, Sample, stream

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Gap:
    """The difference of two groups' means (a - b), with an interval and p-value that hold for all pairs of groups.

    The p-value is below 1 - level where the interval does not hold 0, and nowhere else.
    """

    a: str
    b: str
    delta: float
    ci_low: float | None
    ci_high: float | None
    p_value: float


def group_gaps(
    data: Floats,
    masks: Mapping[str, Flags],
    cluster: Sequence[object] | None,
    level: float,
    n_resamples: int,
    seed: int,
    most: float = math.inf,
) -> list[tuple[Gap, ...]]:
    """Regularised max-t over all pairs of groups, per column of `data` (a model), each column by itself.

    Not step-down: an interval has no steps, and a gap whose interval holds 0 must not be called significant. `most` is
    what two means can differ by; no limit lies beyond.

    Two groups of independent cases with only two values (found or not) are compared by Fisher's exact test: a resample
    without the few cases of one kind has no spread at all, and the bootstrap-t breaks down.
    """
    if len(masks) < 2:
        return [()] * data.shape[1]
    exact: list[Gap | None] = [None] * data.shape[1]
    if cluster is None and len(masks) == 2 and _are_apart(masks, None):
        exact = [_gap_of_shares(column, masks, level) for column in data.T]
    rest = [j for j, gap in enumerate(exact) if gap is None]
    resampled = iter(_resampled_gaps(data[:, rest], masks, cluster, level, n_resamples, seed, most) if rest else ())
    return [next(resampled) if gap is None else (gap,) for gap in exact]


def _resampled_gaps(
    data: Floats,
    masks: Mapping[str, Flags],
    cluster: Sequence[object] | None,
    level: float,
    n_resamples: int,
    seed: int,
    most: float = math.inf,
) -> list[tuple[Gap, ...]]:
    """Return the gaps of every column by the regularised max-t."""
    names = list(masks)
    means, errors, shift, error = _resampled_groups(data, masks, cluster, n_resamples, seed)
    first, second = np.triu_indices(len(names), 1)
    found = []
    for j in range(data.shape[1]):
        delta, spread = means[first, j] - means[second, j], _joint(errors[:, j], first, second)
        extra = float(np.median(spread)) if len(names) > 2 else 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled = np.abs(shift[j][:, first] - shift[j][:, second]) / (_joint(error[j], first, second) + extra)
            observed = np.abs(delta) / (spread + extra)
        # 0 / 0: two groups without any spread and without a difference.
        resampled, observed = np.nan_to_num(resampled, posinf=np.inf), np.nan_to_num(observed, posinf=np.inf)
        largest = resampled.max(axis=1)
        half = half_widths(np.quantile(largest, level, method="higher"), spread + extra)
        p = (1.0 + (largest[:, None] >= observed).sum(axis=0)) / (n_resamples + 1.0)
        low, high = np.maximum(delta - half, -most), np.minimum(delta + half, most)
        limits = [(finite(low[k]), finite(high[k])) for k in range(delta.size)]
        found.append(
            tuple(
                Gap(names[a], names[b], float(delta[k]), *limits[k], float(p[k]))
                for k, (a, b) in enumerate(zip(first, second, strict=True))
            )
        )
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
    if p_value >= 1.0 - level:  # these limits are no inversion of the test: they must not say more than it does
        low, high = min(low, 0.0), max(high, 0.0)
    return Gap(a, b, float(first.mean() - second.mean()), step * low, step * high, p_value)


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
