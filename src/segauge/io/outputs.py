"""Writing results: a file is there whole or not at all, and no cell of a table can become a formula."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from segauge.errors import InvalidInput


def write_whole(path: str | os.PathLike[str], content: str | bytes | Iterable[str]) -> Path:
    """Write a file (text as UTF-8, or pieces of text) beside its place, then put it there at once; return its path."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            for piece in (content,) if isinstance(content, (str, bytes)) else content:
                file.write(piece.encode("utf-8", errors="backslashreplace") if isinstance(piece, str) else piece)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InvalidInput(f"{target}: cannot be written ({error.strerror}).") from error
    return target


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV: numbers to their last digit, None as an empty cell, formulas made harmless."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([inert(name) for name in header])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return buffer.getvalue()


def inert(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _cell(value: object) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, (int, float)) else inert(str(value))
