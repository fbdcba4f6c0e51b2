"""Tables that fit the terminal without cutting or breaking a name or a number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: A column of free text is given at least so many letters before it stands in a table of its own.
_TEXT = 30


def print_table(
    out: Console,
    title: str,
    rows: Sequence[Sequence[str]],
    *,
    keys: int = 1,
    tail: int = 0,
    right: Collection[str] = (),
    text: Collection[str] = (),
) -> None:
    """Print rows, the first of which is the header; columns that do not fit stand in further tables below.

    Columns without any content are left out, those of the keys excepted.

    Args:
        out: where to print.
        title: above the first table.
        rows: the header, then the cells, as plain text.
        keys: so many first columns stand in every table.
        tail: so many last columns stand in the first table, whatever its width leaves for those before them.
        right: columns that are aligned to the right.
        text: columns whose cells may be broken into lines.

    """
    from rich.cells import cell_len

    kept = [i for i in range(len(rows[0])) if i < keys or any(row[i] for row in rows[1:])]
    tail = sum(i >= len(rows[0]) - tail for i in kept)
    rows = [[row[i] for i in kept] for row in rows]
    head = rows[0]
    widths = [
        min(max(cell_len(row[i]) for row in rows), max(_TEXT, cell_len(name)) if name in text else 10_000) + 3
        for i, name in enumerate(head)  # two blanks and a line
    ]
    for number, columns in enumerate(_shared_out(widths, out.width - 1, keys, tail)):
        chosen = [[row[i] for i in columns] for row in rows]
        _print_one(out, title if number == 0 else "", chosen, right)


def _shared_out(widths: Sequence[int], width: int, keys: int, tail: int) -> list[list[int]]:
    """Return the columns of each table."""
    first, last = list(range(keys)), list(range(len(widths) - tail, len(widths)))
    tables: list[list[int]] = []
    chosen: list[int] = []
    fixed = sum(widths[i] for i in (*first, *last))
    for i in range(keys, len(widths) - tail):
        if chosen and fixed + sum(widths[k] for k in (*chosen, i)) > width:
            tables.append(chosen)
            chosen, fixed = [], sum(widths[k] for k in first)
        chosen.append(i)
    tables.append(chosen)
    return [[*first, *columns, *(last if number == 0 else ())] for number, columns in enumerate(tables)]


def _print_one(out: Console, title: str, rows: Sequence[Sequence[str]], right: Collection[str]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title) or None, title_justify="left")
    for name in rows[0]:
        # What is too wide even alone is folded: a name that is cut is the name of another.
        table.add_column(escape(name), justify="right" if name in right else "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*map(escape, row))
    out.print(table)
