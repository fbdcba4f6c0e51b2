"""Delimited text as people send it: any separator, byte-order mark, quotes, CRLF, odd bytes. Ids stay text.

An apostrophe that keeps a spreadsheet from running a cell as a formula is no part of the cell, and is taken away. Data
frames of pandas and polars become tables of text too, without importing either package.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from segauge.errors import InvalidInput
from segauge.io.gate import read_bytes
from segauge.tables import plain

_SEPARATORS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class TextTable:
    """A header, rows of text as long as the header, and remarks about the bytes."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    remarks: list[str] = field(default_factory=list)
    #: How its rows are counted: a text has a header in its first line.
    first_row: tuple[str, int] = ("line", 2)

    def where(self, row: int) -> str:
        """Return file name and line of a row."""
        word, first = self.first_row
        return f"{self.path.name} {word} {row + first}"

    def column(self, *names: str) -> int | None:
        """Return the position of the first of these column names that the header has, ignoring case."""
        lower = [name.lower() for name in self.header]
        return next((lower.index(name.lower()) for name in names if name.lower() in lower), None)


def read_delimited(path: Path) -> TextTable:
    """Return the table in a delimited text file."""
    data = read_bytes(path)
    remarks = []
    if b"\x00" in data:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InvalidInput(f"{path.name}: is UTF-16; save it as UTF-8.")
        remarks.append(f"{path.name}: {data.count(0)} NUL bytes were taken out")
        data = data.replace(b"\x00", b"")
    text = _decoded(data, path, remarks)
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text)))
    filled = ((i, line) for i, line in enumerate(lines) if any(cell.strip() for cell in line))
    rows = [(i, [plain(cell.strip()) for cell in line]) for i, line in filled]
    if not rows:
        raise InvalidInput(f"{path.name}: expected a header and rows, found nothing.")
    header = rows[0][1]
    for i, line in rows[1:]:
        if len(line) != len(header):
            raise InvalidInput(
                f"{path.name} line {i + 1}: expected {len(header)} cells as in the header, found {len(line)}."
            )
    refuse_double(header, path.name)
    return TextTable(path, header, [line for _, line in rows[1:]], remarks)


def refuse_double(header: list[str], source: str) -> None:
    """Raise where a column appears twice: nobody could say which of them counts."""
    named = [name for name in header if name]
    if len(set(named)) != len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise InvalidInput(f"{source}: the column {twice!r} appears twice in the header.")


def _decoded(data: bytes, path: Path, remarks: list[str]) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        remarks.append(f"{path.name}: is not UTF-8; read as Latin-1")
        return data.decode("latin-1")


def _separator(text: str) -> str:
    """Take the separator that stands most often in the first line, outside quotes."""
    first = text.split("\n", 1)[0]
    outside = "".join(first.split('"')[::2])
    return max(_SEPARATORS, key=outside.count)


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
