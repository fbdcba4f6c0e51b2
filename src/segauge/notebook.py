"""NotebookTable: what a notebook shows of a result, a small HTML table that needs nothing but the standard library."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

#: Rows that are shown; a table of a thousand cases would fill the notebook.
MOST_ROWS = 60


@dataclass(frozen=True)
class Shown:
    """A caption, the header, and rows of plain values."""

    caption: str
    header: Sequence[str]
    rows: Iterable[Sequence[object]]


class NotebookTable:
    """A result that a notebook shows as a table."""

    @abstractmethod
    def shown(self) -> Shown:
        """Return what a notebook shows: caption, header and rows."""

    def _repr_html_(self) -> str:
        shown = self.shown()
        rows = list(shown.rows)
        more = f"<p>... and {len(rows) - MOST_ROWS} more rows</p>" if len(rows) > MOST_ROWS else ""
        head = "".join(f"<th>{escape(str(name))}</th>" for name in shown.header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
        caption = f"<p>{escape(shown.caption)}</p>" if shown.caption else ""
        return f"<div>{caption}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{escape(f"{value:.4g}")}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value}</td>'
    return f"<td>{escape('-' if value is None else str(value))}</td>"
