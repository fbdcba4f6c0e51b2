"""Groups by our rules: per model the mean of each group, the gaps between them with intervals, and the worst group.

Every model is corrected for its own comparisons only, so that one more model changes no other model's verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from segauge.errors import InvalidInput
from segauge.plural import counted
from segauge.stats import (
    AVERAGE,
    Gap,
    Interaction,
    ScoredSet,
    ScoreMatrix,
    StratifiedGap,
    SubgroupReport,
    estimate_group_columns,
    group_interaction,
    stratified_gap,
)
from segbench.analysis.groups.declaration import Family, Metadata
from segbench.analysis.groups.membership import Membership, membership
from segbench.boards import Rules


@dataclass(frozen=True)
class AdjustedGap:
    """A model's gap between two groups, and the same within strata of another column."""

    model: str
    raw: Gap
    within: StratifiedGap
    column: str


@dataclass(frozen=True, eq=False)
class GroupReport:
    """One family of groups on one structure (or the average) and metric.

    Attributes:
        family: name of the family.
        subject, metric: what was measured.
        membership: who is in which group.
        matrix: the scores.
        models: per model its groups and gaps.
        interaction: whether models react differently to the groups; None where not asked or groups overlap.
        adjusted: largest gap of each model within strata of another column; empty unless asked for.
        minimum: smaller groups were not estimated.

    """

    family: str
    subject: str
    metric: str
    membership: Membership
    matrix: ScoreMatrix
    models: Mapping[str, SubgroupReport]
    interaction: Interaction | None
    adjusted: tuple[AdjustedGap, ...]
    minimum: int

    @property
    def estimated(self) -> tuple[str, ...]:
        """Groups with enough cases, in the family's order."""
        first = next(iter(self.models.values()))
        return tuple(group.name for group in first.groups if group.estimate is not None)

    def largest_gap(self, model: str) -> Gap | None:
        """Return the pair of groups with the largest difference of means."""
        return max(self.models[model].gaps, key=lambda gap: abs(gap.delta), default=None)


def report_groups(
    matrix: ScoreMatrix,
    family: Family,
    metadata: Metadata,
    subject: str,
    metric: str,
    rules: Rules,
    *,
    strata: tuple[str, Mapping[str, str]] | None = None,
    with_interaction: bool = False,
) -> GroupReport | None:
    """Return the groups of a family for every model; None if failures have no value or fewer than two groups are large.

    Args:
        matrix: scores of all models.
        family: the groups.
        metadata: of the cases.
        subject: structure, or "average".
        metric: what was measured.
        rules: minimum, level, resamples.
        strata: name of another column, and per case its stratum: gaps are then also given within strata.
        with_interaction: also test whether models react differently.

    """
    if matrix.has_failures_without_value:
        return None
    found = membership(family, matrix.cases, metadata)
    minimum = family.minimum or rules.minimum
    if sum(size >= minimum for size in found.sizes.values()) < 2:
        return None
    models = estimate_group_columns(
        matrix.values,
        {name: mask.tolist() for name, mask in found.masks.items()},
        names=matrix.models,
        bounds=matrix.scale.bounds,
        higher_is_better=matrix.scale.higher_is_better,
        level=rules.level,
        minimum=minimum,
        cluster=matrix.clusters,
        n_resamples=rules.group_resamples,
        seed=rules.seed,
    )
    interaction = _interaction(matrix, found, minimum, rules) if with_interaction else None
    report = GroupReport(family.name, subject, metric, found, matrix, models, interaction, (), minimum)
    if strata is None:
        return report
    return GroupReport(**{**vars(report), "adjusted": _adjusted(report, strata, rules)})


def small_groups(scored: ScoredSet, families: Sequence[Family], rules: Rules) -> list[str]:
    """Return a sentence per declared group that is too small to be estimated on some structure or on the average.

    A group is counted on the cases that have scores: those are fewer than the metadata list.
    """
    told = []
    for family in families:
        minimum = family.minimum or rules.minimum
        everyone = membership(family, tuple(scored.metadata), scored.metadata)
        for name, mask in everyone.masks.items():
            members = {case for case, inside in zip(everyone.cases, mask, strict=True) if inside}
            for metric in scored.metrics:
                sizes = {
                    subject: len(members.intersection(matrix.cases))
                    for subject, matrix in subjects_of(scored, metric, rules)
                }
                small = [f"{subject} {size}" for subject, size in sizes.items() if size < minimum]
                if small:
                    told.append(
                        f"group {name!r} of {family.name!r}: {counted(len(members), 'case')} in the metadata; with a "
                        f"{metric} score on {', '.join(small)}. A group of fewer than {minimum} cases is not estimated"
                    )
    return told


def subjects_of(scored: ScoredSet, metric: str, rules: Rules) -> Iterator[tuple[str, ScoreMatrix]]:
    """Yield the average (per case, over the structures it has) and every structure with their scores."""
    average = scored.average(metric, "case-mean", rules.cases)
    if average is not None:
        yield AVERAGE, average
    for structure in scored.structures:
        yield structure, scored.matrix(structure, metric, rules.cases)


def _interaction(matrix: ScoreMatrix, found: Membership, minimum: int, rules: Rules) -> Interaction | None:
    if found.overlaps:
        return None
    labels: list[str | None] = [None] * len(matrix.cases)
    for name, mask in found.masks.items():
        for i in mask.nonzero()[0].tolist():
            labels[i] = name
    return group_interaction(matrix, labels, minimum=minimum, n_permutations=1000, seed=rules.seed)


def _adjusted(report: GroupReport, strata: tuple[str, Mapping[str, str]], rules: Rules) -> tuple[AdjustedGap, ...]:
    column, by_case = strata
    labels = [by_case.get(case) for case in report.matrix.cases]
    found = []
    for j, model in enumerate(report.matrix.models):
        raw = report.largest_gap(model)
        if raw is None:
            continue
        masks = report.membership.masks
        within = stratified_gap(
            report.matrix.values[:, j],
            masks[raw.a],
            masks[raw.b],
            labels,
            level=rules.level,
            cluster=report.matrix.clusters,
            n_resamples=rules.group_resamples,
            seed=rules.seed,
            name=model,
        )
        found.append(AdjustedGap(model, raw, within, column))
    return tuple(found)


def strata_of(column: str, families: Sequence[Family], metadata: Metadata) -> tuple[str, dict[str, str]]:
    """Return per case its stratum: the groups of the family of this name, otherwise the column's values."""
    for family in families:
        if family.name == column:
            found = membership(family, tuple(metadata), metadata)
            if found.overlaps:
                raise InvalidInput(f"The groups of {column!r} overlap; strata must not.")
            by_case = {
                case: name
                for name, mask in found.masks.items()
                for case, inside in zip(found.cases, mask, strict=True)
                if inside
            }
            return column, by_case
    if column not in next(iter(metadata.values()), {}):
        raise InvalidInput(f"No family of groups and no metadata column {column!r} to stratify by.")
    return column, {case: row[column] for case, row in metadata.items() if row[column]}
