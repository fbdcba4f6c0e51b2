"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from segauge.tables import Column, Table, notes_of

if TYPE_CHECKING:
    from rich.console import Console


def print_tables(
    out: Console, tables: Sequence[Table], *, keys: int = 1, tail: int = 0, wrapped: Collection[str] = ()
) -> None:
    """Print tables as wide as the terminal, then the notes of all of them once; arguments as in `Table.text`."""
    for one in tables:
        # What knows no box-drawing letters gets bars and dashes.
        text = one.text(out.width, keys=keys, tail=tail, wrapped=wrapped, plain=out.options.ascii_only)
        out.print(text, end="", markup=False, highlight=False, soft_wrap=True)
    for note in notes_of(tables):
        out.print(note, markup=False)


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
    """Print rows of texts, the first of which is the header; arguments as in `Table.text`.

    `right` are the columns that are aligned to the right, `text` those whose cells may be broken into lines.
    """
    columns = tuple(Column(head, format="count" if head in right else "text") for head in rows[0])
    print_tables(out, [Table(columns, tuple(map(tuple, rows[1:])), title)], keys=keys, tail=tail, wrapped=text)
