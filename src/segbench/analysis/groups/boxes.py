"""Groups by Touchstone's rules: box plots with rank tests, to the digit, so that published figures can be checked.

Kruskal-Wallis over all boxes of the figure is the gate; then two-sided Mann-Whitney tests between the groups of each
model, Bonferroni over all of them in the figure. The gate pools models, so it nearly always opens; the factor grows
with the number of models, so one more model takes another one's stars away; overlapping groups are taken for
independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from segauge.stats import AVERAGE, ScoredSet, ScoreMatrix, kruskal_wallis, mann_whitney
from segbench.analysis.groups.declaration import Family, Metadata
from segbench.analysis.groups.membership import Membership, membership

#: Thresholds of the stars: p at or below.
STARS = ((0.0001, "****"), (0.001, "***"), (0.01, "**"), (0.05, "*"))
#: What the figure over all models calls its one series.
ALL_MODELS = "mean of all models"


@dataclass(frozen=True)
class BoxTest:
    """Two groups of one model: plain and corrected p-value, and the stars ("" where not significant)."""

    model: str
    a: str
    b: str
    n_a: int
    n_b: int
    p_plain: float
    p_value: float
    stars: str


@dataclass(frozen=True, eq=False)
class BoxFigure:
    """One figure of boxes: a family of groups on one structure (or the average) and metric.

    Attributes:
        family, subject, metric: what it shows.
        matrix: the scores; one column for the figure over all models.
        membership: who is in which group.
        groups: those with enough cases.
        dropped: the others, with their sizes.
        gate: p-value of Kruskal-Wallis over all boxes; None where there are fewer than two boxes.
        factor: how many tests the correction counts.
        tests: all pairs of groups of each model; without stars where the gate is closed.

    """

    family: str
    subject: str
    metric: str
    matrix: ScoreMatrix
    membership: Membership
    groups: tuple[str, ...]
    dropped: dict[str, int]
    gate: float | None
    factor: int
    tests: tuple[BoxTest, ...]


def stars(p_value: float) -> str:
    """Return the stars of a p-value: * to 0.05, ** to 0.01, *** to 0.001, **** to 0.0001."""
    return next((text for limit, text in STARS if p_value <= limit), "")


def aggregated_matrix(scored: ScoredSet, metric: str) -> ScoreMatrix | None:
    """Return one column: per case and structure the mean over the models that have it, then the mean over structures.

    None where failures have no value.
    """
    matrices = [scored.matrix(structure, metric, "own") for structure in scored.structures]
    if any(matrix.has_failures_without_value for matrix in matrices):
        return None
    ids = scored.cases
    rows = {case: i for i, case in enumerate(ids)}
    means = np.full((len(ids), len(matrices)), np.nan)
    for k, matrix in enumerate(matrices):
        means[[rows[case] for case in matrix.cases], k] = np.nanmean(matrix.values, axis=1)
    kept = np.isfinite(means).any(axis=1)
    values = np.nanmean(means[kept], axis=1)
    cases = tuple(case for case, keep in zip(ids, kept, strict=True) if keep)
    clusters = None if scored.cluster is None else tuple(scored.cluster.get(case, case) for case in cases)
    return ScoreMatrix(
        cases, (ALL_MODELS,), values[:, None], matrices[0].scale, {}, clusters, title=f"{AVERAGE} {metric}"
    )


def box_figure(
    matrix: ScoreMatrix, family: Family, metadata: Metadata, subject: str, metric: str, minimum: int
) -> BoxFigure | None:
    """Return the tests of one figure by Touchstone's rules; None without two groups of `minimum` cases."""
    if matrix.has_failures_without_value:
        return None
    matrix = matrix.scored_cases()
    found = membership(family, matrix.cases, metadata)
    groups = tuple(name for name, size in found.sizes.items() if size >= minimum)
    if len(groups) < 2:
        return None
    dropped = {name: size for name, size in found.sizes.items() if name not in groups and size}
    boxes = {
        (model, group): column[np.isfinite(column)]
        for j, model in enumerate(matrix.models)
        for group in groups
        for column in (matrix.values[found.masks[group], j],)
    }
    filled = [box for box in boxes.values() if box.size]
    gate = kruskal_wallis(filled) if len(filled) > 1 else None
    pairs = [
        (model, a, b)
        for model in matrix.models
        for a, b in combinations(groups, 2)
        if boxes[model, a].size and boxes[model, b].size
    ]
    is_open = gate is not None and gate < 0.05
    tests = []
    for model, a, b in pairs:
        plain = mann_whitney(boxes[model, a], boxes[model, b])
        adjusted = min(plain * len(pairs), 1.0)
        sizes = boxes[model, a].size, boxes[model, b].size
        tests.append(BoxTest(model, a, b, *sizes, plain, adjusted, stars(adjusted) if is_open else ""))
    return BoxFigure(family.name, subject, metric, matrix, found, groups, dropped, gate, len(pairs), tuple(tests))
