"""The board over several test sets: a stated aggregation, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segauge.stats import AVERAGE, Board
from segbench.site.axes import Axis, axis_for
from segbench.site.chapters import Chapter, metric_title


@dataclass(frozen=True)
class OverallRow:
    """One model over all test sets.

    Attributes:
        model: its name.
        mean: unweighted mean over the test sets of its mean over structures; None unless all of them rank it.
        low, high: 95 % limits of the mean, from the half widths of the sets' intervals; None where one has none.
        places: per test set its place there; None where it is not ranked.
        sets: how many test sets rank it.

    """

    model: str
    mean: float | None
    low: float | None
    high: float | None
    places: tuple[int | None, ...]
    mean_place: float | None
    sets: int


@dataclass(frozen=True)
class OverallBoard:
    """One metric over all test sets: rows from best to worst, those without every set behind."""

    metric: str
    title: str
    chapters: tuple[Chapter, ...]
    boards: tuple[Board, ...]
    rows: tuple[OverallRow, ...]
    axis: Axis | None
    rule: str


def overall_boards(chapters: Sequence[Chapter]) -> tuple[OverallBoard, ...]:
    """Return a board per metric that the newest records of two or more datasets share."""
    newest = {chapter.record.dataset.name: chapter for chapter in chapters}
    if len(newest) < 2:
        return ()
    found = []
    for metric in dict.fromkeys(metric for chapter in newest.values() for metric in chapter.metrics):
        parts = [(chapter, board) for chapter in newest.values() if (board := _whole(chapter, metric)) is not None]
        if len(parts) > 1:
            found.append(_overall(metric, parts))
    # Where fewer than two models are ranked everywhere there is nothing to compare.
    return tuple(board for board in found if sum(row.mean is not None for row in board.rows) > 1)


def _whole(chapter: Chapter, metric: str) -> Board | None:
    """Return the board that stands for a whole test set: the average, or the only structure that there is.

    None where its numbers are ranks within the cases, because failures have no value.
    """
    boards = [board for board in chapter.boards if board.metric == metric]
    average = next((board for board in boards if board.structure == AVERAGE), None)
    whole = average if average is not None else boards[0] if len(boards) == 1 else None
    # Mean ranks of one test set have no mean with the millimetres of another.
    return None if whole is None or whole.is_by_ranks else whole


def _overall(metric: str, parts: Sequence[tuple[Chapter, Board]]) -> OverallBoard:
    boards = tuple(board for _, board in parts)
    names = dict.fromkeys(standing.model for board in boards for standing in board.rows if standing.place)
    rows = [_row(name, boards) for name in names]
    sign = -1.0 if boards[0].higher_is_better else 1.0
    rows.sort(key=lambda row: (row.mean is None, 0.0 if row.mean is None else sign * row.mean, row.model))
    axis = axis_for([limit for row in rows for limit in (row.mean, row.low, row.high)])
    rule = (
        f"The unweighted mean over {len(boards)} test sets of the unweighted mean over the structures of each, of "
        "models that every test set ranks. Test sets are taken as independent: the half widths of their 95 % intervals "
        "add in squares. Models that some test set does not rank stand below, without a mean."
    )
    return OverallBoard(metric, metric_title(metric), tuple(c for c, _ in parts), boards, tuple(rows), axis, rule)


def _row(name: str, boards: Sequence[Board]) -> OverallRow:
    standings = [next((s for s in board.rows if s.model == name and s.place), None) for board in boards]
    ranked = [standing for standing in standings if standing is not None]
    places = tuple(None if standing is None else standing.place for standing in standings)
    known = [place for place in places if place is not None]
    mean_place = float(np.mean(known)) if len(known) == len(boards) else None
    if len(ranked) < len(boards) or any(standing.value is None for standing in ranked):
        return OverallRow(name, None, None, None, places, mean_place, len(ranked))
    mean = float(np.mean([standing.value for standing in ranked if standing.value is not None]))
    errors = [_standard_error(standing.estimate) for standing in ranked]
    if any(error is None for error in errors):
        return OverallRow(name, mean, None, None, places, mean_place, len(ranked))
    error = float(np.sqrt(sum((one or 0.0) ** 2 for one in errors))) / len(boards)
    return OverallRow(name, mean, mean - 1.96 * error, mean + 1.96 * error, places, mean_place, len(ranked))


def _standard_error(estimate: object) -> float | None:
    """Return half the width of a 95 % interval over 1.96; None where there is no such interval."""
    half, level = getattr(estimate, "half_width", None), getattr(estimate, "level", None)
    return float(half) / 1.96 if half is not None and level == 0.95 else None
