"""Whether models react differently to groups of cases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.scores import Scale
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.resampling import BLOCK, Floats, fixed_point, require_resamples, stream
from segauge.stats.subgroups import Labels


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
