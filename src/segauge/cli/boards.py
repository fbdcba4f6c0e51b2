"""How a board is printed in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segauge.cli.tables import print_table
from segauge.cli.terminal import one_line, show
from segauge.digits import fixed, unit_word
from segauge.plural import chance_text, counted
from segauge.stats import Board, BoardRow
from segauge.stats.comparison import TOGETHER
from segauge.stats.matrix import NOTHING_TO_FIND, RANKED_WITHIN_CASES

_RIGHT = ("place", "n", "failed", "rank range", "chance to lead on new cases", "mean rank")


def print_board(
    out: Any, board: Board, *, title: str = "", extra: str = "", further: Callable[[BoardRow], str] | None = None
) -> None:
    """Print a board as a table, its verdict, and what must be known about it; `extra` heads the column of `further`."""
    unit = f" in {word}" if (word := unit_word(board.unit)) else ""
    named = title or f"{board.structure} {board.metric}".strip() + unit
    if board.rows:
        rows = [
            _titles(board, extra),
            *(_cells(board, row, None if further is None else further(row)) for row in board.rows),
        ]
        print_table(out, one_line(f"{named}, {counted(board.n_cases, 'case')}"), rows, keys=2, right=_RIGHT)
    else:
        show(named)
    notes = (note for note in board.notes if note == RANKED_WITHIN_CASES or NOTHING_TO_FIND in note)
    show(board.sentence, *notes, "")


def _titles(board: Board, extra: str) -> list[str]:
    by_ranks = ["mean rank"] if board.is_by_ranks else []
    last = [extra] if extra else []
    level = f"{100 * board.level:g} %"
    middle = ["place", "model", *by_ranks, f"mean [{level}]", "n", "failed", "rank range"]
    gap = [f"difference to the leader ({TOGETHER})"] if board.pairs else []
    return [*middle, *gap, "chance to lead on new cases", *last]


def _cells(board: Board, row: BoardRow, last: str | None) -> list[str]:
    estimate = row.estimate
    by_ranks = ["" if row.value is None else f"{row.value:.2f}"] if board.is_by_ranks else []
    cells = [
        str(row.place or "-"),
        row.model,
        *by_ranks,
        "no value" if estimate is None else str(estimate),
        "" if estimate is None else str(estimate.n),
        f"{row.failed} of {row.n}" if row.n else "",
        row.rank_range,
        *([_gap(board, row)] if board.pairs else []),
        chance_text(row.win_probability),
        *([] if last is None else [last]),
    ]
    return [one_line(cell) for cell in cells]


def _gap(board: Board, row: BoardRow) -> str:
    pair = board.to_first(row.model)
    return "" if pair is None else f"{fixed(pair.delta, pair.decimals, signed=True)} {pair.interval_text()}"
