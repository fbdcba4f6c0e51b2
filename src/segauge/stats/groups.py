"""Groups of cases: estimates per group, gaps between groups, the worst group, and whether models react differently.

Everything is corrected for the number of groups looked at. Small groups are named, not estimated; their mean is
available shrunk towards the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.scores import Scale
from segauge.stats.estimation import Estimate, estimate_columns
from segauge.stats.gaps import Flags, Gap, group_gaps
from segauge.stats.matrix import ScoreMatrix, average_ranks
from segauge.stats.resampling import BLOCK, Floats, fixed_point, require_level, require_resamples, stream

Labels = Sequence[str | None]


@dataclass(frozen=True)
class Group:
    """One group.

    Attributes:
        name: what it is called.
        n: its cases, failures included.
        estimate: over the cases that have a value; None where these are fewer than the minimum.
        shrunken: its mean drawn towards the others'.
        failed: cases that failed and have no value: they are in n, and in the share found of the estimate.

    """

    name: str
    n: int
    estimate: Estimate | None
    shrunken: float | None
    failed: int = 0

    @property
    def size(self) -> str:
        """How many cases it has, and how many of them failed without a value, in words."""
        return f"n = {self.n}" + (f", {self.failed} of them failed" if self.failed else "")


@dataclass(frozen=True)
class SubgroupReport:
    """Groups of cases of one model.

    Attributes:
        groups: in the order of their names; those below `minimum` cases have no estimate.
        gaps: all pairs of groups that have one; of the cases that have a value.
        worst: name of the group with the worst mean, None without groups. Where failures have no value there is no
            mean: then the group with the worst mean rank of its cases, failures last.
        worst_bound: the limit that its mean does not pass, corrected for the choice among all groups: a lower limit
            where higher is better, otherwise an upper one. None where failures have no value.
        unlabelled: cases without a group.
        overlapping: True if a case may be in several groups; gaps then resample all cases together.

    """

    groups: tuple[Group, ...]
    gaps: tuple[Gap, ...]
    worst: str | None
    worst_bound: float | None
    unlabelled: int
    overlapping: bool
    minimum: int
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            **{key: getattr(self, key) for key in ("worst", "worst_bound", "unlabelled", "overlapping")},
            "minimum": self.minimum,
            "level": self.level,
            "groups": [
                {**vars(group), "estimate": None if group.estimate is None else group.estimate.to_dict()}
                for group in self.groups
            ],
            "gaps": [dict(vars(gap)) for gap in self.gaps],
        }


def binned(values: Sequence[object], edges: Sequence[float]) -> list[str | None]:
    """Return the group of each number by declared edges: "under 18", "18 to <30", ..., "90 and over".

    What is not a number (missing, text) has no group.
    """
    limits = [float(edge) for edge in edges]
    if not limits or limits != sorted(set(limits)):
        raise InvalidInput(f"Expected edges in ascending order, such as [18, 40, 65], got {list(edges)!r}.")
    texts = [plain_text(limit) for limit in limits]
    names = [f"under {texts[0]}", *(f"{low} to <{high}" for low, high in pairwise(texts)), f"{texts[-1]} and over"]
    numbers = [_number(value) for value in values]
    return [None if x is None else names[int(np.searchsorted(limits, x, side="right"))] for x in numbers]


def plain_text(number: float) -> str:
    """Return a number with as many digits as it takes to tell it from others: 40, 0.25, 20150131."""
    short = f"{number:g}"
    return short if float(short) == number and "e" not in short else f"{number:.15g}"


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def estimate_groups(
    values: npt.ArrayLike,
    groups: Labels | Mapping[str, Sequence[bool]],
    *,
    bounds: tuple[float, float] | None = None,
    higher_is_better: bool = True,
    ci: str = "auto",
    level: float = 0.95,
    minimum: int = 5,
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    name: str = "",
) -> SubgroupReport:
    """Return the estimates of groups of cases and the gaps between them.

    Args:
        values: one score per case; NaN is left out, infinity is a failure without a value, which is counted.
        groups: one label per case (None: no group), or per group a mask of its cases (a case may be in several).
        bounds: ends of the scale.
        higher_is_better: which way is better, to find the worst group.
        ci: interval method, as in `estimate`.
        level: of intervals; those of the gaps hold for all pairs together.
        minimum: groups with fewer cases are named but not estimated.
        cluster: one label per case; cases of one label (patient) are resampled together.
        n_resamples: of the gaps.
        seed: of the gaps.
        name: whose scores these are.

    """
    column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    (found,) = estimate_group_columns(
        column, groups, names=(name,), bounds=bounds, higher_is_better=higher_is_better, ci=ci, level=level,
        minimum=minimum, cluster=cluster, n_resamples=n_resamples, seed=seed,
    ).values()  # fmt: skip
    return found


def estimate_group_columns(
    values: Floats,
    groups: Labels | Mapping[str, Sequence[bool]],
    *,
    names: Sequence[str],
    bounds: tuple[float, float] | None = None,
    higher_is_better: bool = True,
    ci: str = "auto",
    level: float = 0.95,
    minimum: int = 5,
    cluster: Sequence[object] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, SubgroupReport]:
    """Return the groups of every column of (cases, models), as `estimate_groups` does of one model.

    Models with scores for the same cases share their resamples; no model's numbers depend on the others.
    """
    require_level(level)
    require_resamples(n_resamples)
    patterns: dict[bytes, list[int]] = {}
    for j in range(values.shape[1]):
        known = np.isnan(values[:, j]).tobytes() + np.isinf(values[:, j]).tobytes()
        patterns.setdefault(known, []).append(j)
    options: dict[str, Any] = {"bounds": bounds, "ci": ci, "n_resamples": n_resamples, "seed": seed}
    found: dict[int, SubgroupReport] = {}
    for columns in patterns.values():
        data = values[:, columns]
        masks, failed = _masks(groups, data[:, 0]), np.isinf(data[:, 0])
        valued = {key: mask & ~failed for key, mask in masks.items()}
        large = {key: mask for key, mask in valued.items() if mask.sum() >= max(minimum, 2)}
        gaps = group_gaps(data, large, cluster, level, n_resamples, seed, bounds or (-math.inf, math.inf))
        estimates = {key: _estimates(data, masks[key], cluster, key, level=level, **options) for key in large}
        if any((mask & failed).any() for mask in masks.values()):
            worst = _worst_ranked(data, masks, higher_is_better, max(minimum, 2))
        else:
            worst = _worst(data, large, cluster, higher_is_better, level, options)
        labelled = np.any(list(masks.values()), axis=0) if masks else np.zeros(len(data), dtype=bool)
        overlapping = bool(masks) and bool((np.sum(list(masks.values()), axis=0) > 1).any())
        unlabelled = int((~labelled & ~np.isnan(data[:, 0])).sum())
        for k, j in enumerate(columns):
            shrunk = _shrunken(data[:, k], {key: mask for key, mask in valued.items() if mask.any()})
            members = tuple(
                Group(
                    key, int(mask.sum()), estimates[key][k] if key in large else None, shrunk.get(key),
                    int((mask & failed).sum()),
                )
                for key, mask in masks.items()
            )  # fmt: skip
            found[j] = SubgroupReport(members, gaps[k], *worst[k], unlabelled, overlapping, minimum, level)
    return {names[j]: found[j] for j in range(values.shape[1])}


def _masks(groups: Labels | Mapping[str, Sequence[bool]], data: Floats) -> dict[str, Flags]:
    if not isinstance(groups, Mapping):
        labels = list(groups)
        names = sorted({x for x in labels if x is not None}, key=_by_numbers)
        groups = {key: [label == key for label in labels] for key in names}
        if len(labels) != data.size:
            raise InvalidInput(f"Expected one group label per case: {data.size} cases, {len(labels)} labels.")
    masks = {str(key): np.asarray(mask, dtype=bool) for key, mask in groups.items()}
    for key, mask in masks.items():
        if mask.shape != data.shape:
            raise InvalidInput(f"The group {key!r} has a mask of {mask.size} cases, but there are {data.size}.")
    return {key: mask & ~np.isnan(data) for key, mask in masks.items()}


def _by_numbers(name: str) -> list[str | float]:
    """Sort by the numbers in names: "2" before "15", "age 9" before "age 10"."""
    return [float(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+(?:\.[0-9]+)?)", name))]


def _estimates(
    data: Floats, mask: Flags, cluster: Sequence[object] | None, group: str, **options: Any
) -> list[Estimate]:
    """Return the estimate of one group in every column."""
    labels = None if cluster is None else [cluster[i] for i in np.flatnonzero(mask).tolist()]
    return estimate_columns(data[mask], cluster=labels, name=f"group/{group}", **options)


def _worst(
    data: Floats,
    masks: Mapping[str, Flags],
    cluster: Sequence[object] | None,
    higher_is_better: bool,
    level: float,
    options: Mapping[str, Any],
) -> list[tuple[str | None, float | None]]:
    """Return, per column, the group with the worst mean and the limit that its mean does not pass."""
    found: list[tuple[str | None, float | None]] = [(None, None)] * data.shape[1]
    if not masks:
        return found
    sign = 1.0 if higher_is_better else -1.0
    keys = list(masks)
    worst = np.argmin([sign * data[mask].mean(axis=0) for mask in masks.values()], axis=0)
    # One-sided, and any of the groups might have come out worst: level 1 - (1 - level) / groups on that side.
    corrected = max(1.0 - 2.0 * (1.0 - level) / len(masks), 0.5)
    for g in np.unique(worst).tolist():
        columns = np.flatnonzero(worst == g)
        limits = _estimates(data[:, columns], masks[keys[g]], cluster, f"worst/{keys[g]}", level=corrected, **options)
        for j, limit in zip(columns.tolist(), limits, strict=True):
            found[j] = (keys[g], limit.ci_low if higher_is_better else limit.ci_high)
    return found


def _worst_ranked(
    data: Floats, masks: Mapping[str, Flags], higher_is_better: bool, fewest: int
) -> list[tuple[str | None, float | None]]:
    """Return, per column, the group with the worst mean rank of its cases, failures without a value last."""
    large = {key: mask for key, mask in masks.items() if mask.sum() >= fewest}
    if not large:
        return [(None, None)] * data.shape[1]
    labelled = np.any(list(large.values()), axis=0)
    found: list[tuple[str | None, float | None]] = []
    for column in data.T:
        better = np.where(np.isinf(column), -np.inf, column if higher_is_better else -column)
        ranks = np.full(column.shape, np.nan)
        ranks[labelled] = average_ranks(better[labelled])
        means = {key: float(ranks[mask].mean()) for key, mask in large.items()}
        found.append((max(means, key=means.__getitem__), None))
    return found


def _shrunken(data: Floats, masks: Mapping[str, Flags]) -> dict[str, float]:
    """Return the empirical-Bayes means: each is drawn to the common mean as far as its size cannot hold it apart.

    Within-group variance pooled over the groups, variance between groups by DerSimonian and Laird.
    """
    sizes = np.array([mask.sum() for mask in masks.values()], dtype=np.float64)
    means = np.array([data[mask].mean() for mask in masks.values()])
    if sizes.size < 2 or sizes.sum() <= sizes.size:
        return dict(zip(masks, map(float, means), strict=True))
    within = sum(((data[mask] - data[mask].mean()) ** 2).sum() for mask in masks.values()) / (sizes.sum() - sizes.size)
    if within == 0:
        return dict(zip(masks, map(float, means), strict=True))
    weights = sizes / within
    common = (weights * means).sum() / weights.sum()
    excess = (weights * (means - common) ** 2).sum() - (sizes.size - 1)
    between = max(excess / (weights.sum() - (weights**2).sum() / weights.sum()), 0.0)
    precision = 1.0 / (between + 1.0 / weights)
    centre = (precision * means).sum() / precision.sum()
    keep = between / (between + 1.0 / weights)
    return dict(zip(masks, map(float, centre + keep * (means - centre)), strict=True))


@dataclass(frozen=True)
class Interaction:
    """Do models react differently to the groups? A permutation test over all models and groups.

    Attributes:
        p_value: of no interaction at all, corrected for all models and groups; None if it cannot be tested.
        strongest: the model and group with the largest deviation, or None.
        deviations: per (model, group) how much better the model is in the group than elsewhere, compared with the
            average model; positive is better.

    """

    p_value: float | None
    strongest: tuple[str, str] | None
    deviations: Mapping[tuple[str, str], float]


def group_interaction(
    scores: ScoreMatrix | Mapping[str, npt.ArrayLike],
    groups: Labels,
    *,
    minimum: int = 5,
    n_permutations: int = 2000,
    seed: int = 0,
) -> Interaction:
    """Test whether the differences between models depend on the group.

    A case's mean over the models is taken off its scores, which leaves how each model does compared with the others.
    For every model and group the studentised difference between the group and all other cases is computed; the
    largest is compared with those under permuted group labels. Only cases that every model has a score for, or rightly
    found nothing where another did not. Where failures have no value, scores are the ranks within each case. Where a
    patient has several cases (clusters of the matrix), what is permuted are patients, with the mean of their cases in a
    group: cases of one patient go together, and would make any difference between patients one between groups.

    Args:
        scores: of all models on the same cases; plain values are taken as higher is better.
        groups: one label per case; None is left out.
        minimum: groups with fewer cases are left out.
        n_permutations: of the labels.
        seed: of the permutations.

    """
    require_resamples(n_permutations)
    matrix = scores if isinstance(scores, ScoreMatrix) else _plain_matrix(scores)
    if len(groups) != len(matrix.cases):
        raise InvalidInput(f"Expected one group label per case: {len(matrix.cases)} cases, {len(groups)} labels.")
    by_case = dict(zip(matrix.cases, groups, strict=True))
    matrix = _complete(matrix)
    usable = np.array([by_case[case] is not None for case in matrix.cases], dtype=bool)
    values, labels = matrix.better[usable], np.array([str(by_case[case]) for case in matrix.cases])[usable]
    names, cases_in = np.unique(labels, return_counts=True)
    if matrix.clusters is not None:
        values, labels = _patient_means(values, labels, np.array(matrix.clusters)[usable])
    codes = np.searchsorted(names, labels)
    units = np.bincount(codes, minlength=names.size)
    fewest = max(minimum, 2)
    large = (np.minimum(cases_in, cases_in.sum() - cases_in) >= fewest) & (np.minimum(units, units.sum() - units) >= 2)
    tested = np.flatnonzero(large).tolist()
    if len(matrix.models) < 2 or not tested:
        return Interaction(None, None, {})
    residuals = values - values.mean(axis=1, keepdims=True)
    residuals = residuals - residuals.mean(axis=0)
    observed, deviation = _welch(residuals, codes[None, :], tested)
    rng, largest = stream(seed, "interaction"), []
    for start in range(0, n_permutations, BLOCK):
        rows = min(BLOCK, n_permutations - start)
        permuted = rng.permuted(np.tile(codes, (rows, 1)), axis=1)
        largest.append(np.abs(_welch(residuals, permuted, tested)[0]).max(axis=(1, 2)))
    strongest = np.abs(observed[0]).max()
    p = (1.0 + (np.concatenate(largest) >= strongest).sum()) / (n_permutations + 1.0)
    group, model = np.unravel_index(np.abs(observed[0]).argmax(), observed[0].shape)
    named = {
        (matrix.models[m], str(names[g])): float(deviation[0, k, m])
        for k, g in enumerate(tested)
        for m in range(len(matrix.models))
    }
    return Interaction(float(p), (matrix.models[int(model)], str(names[tested[int(group)]])), named)


def _complete(matrix: ScoreMatrix) -> ScoreMatrix:
    """Return the cases that say something about every model, with a number for each."""
    if matrix.has_failures_without_value:
        return matrix.as_ranks()
    if matrix.absent is None or not math.isfinite(matrix.scale.best):
        return matrix.complete_cases()
    kept = matrix.select(matrix.is_rankable)
    return replace(kept, values=np.where(np.isnan(kept.values), kept.scale.best, kept.values))


def _patient_means(
    values: Floats, labels: npt.NDArray[np.str_], clusters: npt.NDArray[np.str_]
) -> tuple[Floats, npt.NDArray[np.str_]]:
    """Return one row per patient and group: the mean of the patient's cases in it."""
    units = sorted(set(zip(clusters.tolist(), labels.tolist(), strict=True)))
    rows = [values[(clusters == patient) & (labels == label)].mean(axis=0) for patient, label in units]
    return np.array(rows).reshape(-1, values.shape[1]), np.array([label for _, label in units], dtype=labels.dtype)


def _plain_matrix(scores: Mapping[str, npt.ArrayLike]) -> ScoreMatrix:
    values = np.column_stack([np.asarray(column, dtype=np.float64).ravel() for column in scores.values()])
    return ScoreMatrix(tuple(map(str, range(len(values)))), tuple(scores), values, Scale())


def _welch(residuals: Floats, codes: npt.NDArray[np.intp], tested: Sequence[int]) -> tuple[Floats, Floats]:
    """Return, per row of codes, tested group and model, Welch's t of the group against the rest, and the difference."""
    n, models = residuals.shape
    both = np.hstack([residuals, residuals**2])
    whole, unit = fixed_point(both, n)
    total = whole.sum(axis=0) * unit
    statistics, differences = [], []
    for group in tested:
        member = (codes == group).astype(np.float64)
        size = member.sum(axis=1, keepdims=True)
        inside = (member @ whole) * unit
        parts = []
        for sums, count in ((inside, size), (total - inside, n - size)):
            mean = sums[:, :models] / count
            variance = np.maximum(sums[:, models:] / count - mean**2, 0.0) / (count - 1.0)
            parts.append((mean, variance))
        difference = parts[0][0] - parts[1][0]
        error = np.sqrt(parts[0][1] + parts[1][1])
        statistics.append(np.divide(difference, error, out=np.zeros_like(difference), where=error > 1e-12))
        differences.append(difference)
    return np.stack(statistics, axis=1), np.stack(differences, axis=1)
