"""Slices: whether a model does as well on every group of cases (sex, age, scanner, any metadata)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from segauge.plural import counted
from segauge.report import figures
from segauge.report.figures import Interval
from segauge.report.html import Picture
from segauge.report.illustrations import Illustration
from segauge.stats import AVERAGE, Board, ScoreMatrix, SubgroupReport, binned, estimate_groups
from segbench.records import RunRecord
from segbench.site.chapters import axis_of

#: A column with more groups than this is an identity, not a group.
MOST_GROUPS = 8
#: Models whose groups are estimated: the best of the board.
MOST_MODELS = 4
#: Groups below this many cases are named, not estimated.
FEWEST_CASES = 5
#: Resamples of the gaps: intervals to about two figures, which is what a figure shows.
N_RESAMPLES = 2000


@dataclass(frozen=True)
class Slice:
    """One metadata column: its groups, the figure, and per model the worst group in words."""

    column: str
    picture: Picture
    worst: list[str]


def slices_of(record: RunRecord, board: Board, scores: ScoreMatrix | None) -> list[Slice]:
    """Return the groups of a board's best models by every column of metadata that has any."""
    if board.structure == AVERAGE or scores is None or not any(case.metadata for case in record.cases):
        return []
    matrix = scores.scored_cases()
    models = [standing.model for standing in board.rows if standing.model in matrix.models][:MOST_MODELS]
    found = []
    for column in dict.fromkeys(str(name) for case in record.cases for name in case.metadata):
        labels = group_labels(record, column, matrix.cases)
        if labels is not None:
            found.append(_slice(record, board, matrix, models, column, labels))
    return found


def group_labels(record: RunRecord, column: str, cases: Sequence[str]) -> list[str | None] | None:
    """Return the group of each case by a column: its words, or thirds of its numbers; None where there are no groups.

    A column makes groups if at least two of them have enough cases to be estimated.
    """
    if column == record.dataset.cluster_column:
        return None
    known = {case.case_id: case.metadata.get(column) for case in record.cases}
    values = [known.get(case) for case in cases]
    texts = [None if value is None or str(value).strip() == "" else str(value).strip() for value in values]
    labels: list[str | None] = texts
    if len({text for text in texts if text is not None}) > MOST_GROUPS:
        numbers = [_number(text) for text in texts]
        real = sorted(number for number in numbers if number is not None)
        if len(real) < 0.5 * len([text for text in texts if text is not None]) or len(set(real)) < 3:
            return None
        edges = sorted({float(f"{edge:.3g}") for edge in np.quantile(real, [1 / 3, 2 / 3])})
        labels = binned(numbers, edges)
    sizes = [labels.count(label) for label in {label for label in labels if label is not None}]
    return labels if sum(size >= FEWEST_CASES for size in sizes) > 1 else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else float("nan")
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _slice(
    record: RunRecord, board: Board, matrix: ScoreMatrix, models: Sequence[str], column: str, labels: list[str | None]
) -> Slice:
    reports = {name: _report(matrix, name, labels) for name in models}
    rows: list[Interval] = []
    worst = []
    for name, report in reports.items():
        rows.append(Interval(name, None))
        for group in report.groups:
            estimate = group.estimate
            if estimate is None:
                rows.append(Interval(f"{group.name}", None, note=f"{group.size}, too few"))
                continue
            rows.append(
                Interval(
                    group.name, estimate.value, estimate.ci_low, estimate.ci_high, f"{estimate}  {group.size}",
                    emphasis=group.name == report.worst,
                )
            )  # fmt: skip
        worst.append(_words(name, report))
    axis = axis_of(board, record)
    failing = any(group.failed for report in reports.values() for group in report.groups)
    over = ", over the cases that have a value" if failing else ""
    last = " (by ranks, failures last)" if failing else ""
    caption = (
        f"Mean of each group with its interval{over}; the worst group of each model is marked{last}. "
        f"{counted(len(record.cases), 'case')}."
    )
    illustration = Illustration(
        f"groups-{column}", f"{axis} by {column}", caption, partial(figures.forest, rows, axis=axis)
    )
    return Slice(column, Picture.of(illustration), worst)


def _report(matrix: ScoreMatrix, model: str, labels: list[str | None]) -> SubgroupReport:
    values = matrix.values[:, matrix.models.index(model)]
    return estimate_groups(
        values, labels, bounds=matrix.scale.bounds, higher_is_better=matrix.scale.higher_is_better,
        minimum=FEWEST_CASES, cluster=matrix.clusters, n_resamples=N_RESAMPLES, name=model,
    )  # fmt: skip


def _words(model: str, report: SubgroupReport) -> str:
    """Return which group is worst, and whether any gap is more than chance, in words."""
    if report.worst is None:
        return f"{model}: no group has enough cases."
    apart = [gap for gap in report.gaps if gap.ci_low is not None and gap.ci_high is not None]
    apart = [gap for gap in apart if (gap.ci_low or 0.0) > 0 or (gap.ci_high or 0.0) < 0]
    if not apart:
        return f"{model}: worst on {report.worst}; no two groups can be told apart."
    gap = max(apart, key=lambda one: abs(one.delta))
    limits = f"[{gap.ci_low:+.3f}, {gap.ci_high:+.3f}]"
    return f"{model}: worst on {report.worst}; {gap.a} minus {gap.b} is {gap.delta:+.3f} {limits}."
