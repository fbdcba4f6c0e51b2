"""Data frames of pandas and polars as tables of text, without importing either: whoever has a frame has its package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from segauge.errors import InvalidInput
from segauge.io.tables.delimited import TextTable, refuse_double

#: How a frame writes a cell that holds nothing.
_NOTHING = frozenset({"None", "nan", "NaN", "NaT", "<NA>"})


class Frame(Protocol):
    """A data frame of pandas or polars, as far as it is used here."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""


def is_frame(source: object) -> TypeGuard[Frame]:
    """Return True for a data frame: it has columns, and its own way to give out its rows."""
    return hasattr(source, "columns") and (hasattr(source, "itertuples") or hasattr(source, "iter_rows"))


def frame_table(frame: Any) -> TextTable:
    """Return a data frame as a table of text; of pandas, an index that has a name is a column, too."""
    if hasattr(frame, "itertuples"):
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        rows: Iterable[tuple[Any, ...]] = frame.itertuples(index=False, name=None)
    else:
        rows = frame.iter_rows()
    header = list(frame.columns)
    odd = next((name for name in header if not isinstance(name, str)), None)
    if odd is not None:
        raise InvalidInput(f"data frame: a column's name is text, this one is {odd!r}.")
    refuse_double(header, "data frame")
    return TextTable(Path("data frame"), header, [[_text(cell) for cell in row] for row in rows], [], ("row", 0))


def _text(cell: object) -> str:
    text = str(cell)
    return "" if text in _NOTHING else text.strip()
