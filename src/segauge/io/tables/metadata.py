"""Metadata of cases (age, sex, scanner, patient): one row per case, ids always text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from segauge.errors import InvalidInput, option
from segauge.io.tables.delimited import TextTable, read_delimited
from segauge.io.tables.frames import Frame, frame_table, is_frame
from segauge.io.tables.long import COLUMNS


def read_metadata(path: str | Path | Frame, *, key: str | None = None) -> dict[str, dict[str, str]]:
    """Return the metadata of each case id, as text; an empty cell is "".

    Args:
        path: delimited text with a header, any separator; or a data frame of pandas or polars.
        key: the column with the case ids; one with a usual name (case, name, image_id ...) if left out. Or a pattern
            that makes the ids from columns, whole or in part: "AutoPET_{Subject ID[-10:]}_{Study UID[-5:]}". Then
            several rows of one case (its series, say) become one, with the columns in which they agree.

    """
    table = frame_table(path) if is_frame(path) else read_delimited(Path(cast("str | Path", path)))
    if key is not None and "{" in key:
        return _merged(table, key)
    column = table.column(key) if key else table.column(*COLUMNS["case"])
    if column is None:
        raise InvalidInput(
            f"{table.path.name}: no column {repr(key) if key else 'with a usual name for the case ids'}; "
            f"pass {option('key', ...)} with one of {', '.join(map(repr, table.header))}."
        )
    found: dict[str, dict[str, str]] = {}
    for i, row in enumerate(table.rows):
        if row[column] in found:
            raise InvalidInput(f"{table.where(i)}: the case {row[column]!r} appears twice in the metadata.")
        found[row[column]] = {name: row[j] for j, name in enumerate(table.header) if j != column and name}
    return found


#: A column in a pattern of ids, whole or from one character to another.
_PART = re.compile(r"\{([^{}\[\]]+)(?:\[(-?\d*):(-?\d*)\])?\}")


def _merged(table: TextTable, pattern: str) -> dict[str, dict[str, str]]:
    """Return the metadata of ids that a pattern makes; rows of one id keep the columns in which they agree."""
    for part in _PART.finditer(pattern):
        if table.column(part[1]) is None:
            known = ", ".join(map(repr, table.header))
            raise InvalidInput(f"{table.path.name}: the key names the column {part[1]!r}; there are {known}.")
    if not _PART.search(pattern):
        raise InvalidInput(f"key: expected columns in braces, such as '{{subject}}_{{study[-5:]}}', got {pattern!r}.")
    values: dict[str, dict[str, set[str]]] = {}
    for row in table.rows:

        def cell(part: re.Match[str], row: Sequence[str] = row) -> str:
            text = row[cast(int, table.column(part[1]))]
            return text[slice(*(int(end) if end else None for end in (part[2], part[3])))]

        columns = values.setdefault(_PART.sub(cell, pattern), {name: set() for name in table.header if name})
        for name, text in zip(table.header, row, strict=True):
            if name and text:
                columns[name].add(text)
    return {
        case: {name: next(iter(known)) if len(known) == 1 else "" for name, known in columns.items()}
        for case, columns in values.items()
    }


def metadata_column(metadata: Mapping[str, Mapping[str, str]], name: str) -> dict[str, str]:
    """Return one column per case id, without the empty cells."""
    known = dict.fromkeys(column for row in metadata.values() for column in row)
    if name not in known:
        raise InvalidInput(f"No metadata column {name!r}; there are {', '.join(known)}.")
    return {case: row[name] for case, row in metadata.items() if row.get(name)}
