"""Metadata of cases (age, sex, scanner, patient): one row per case, ids always text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from segauge.errors import InvalidInput, option
from segauge.io.tables.delimited import read_delimited
from segauge.io.tables.frames import Frame, frame_table, is_frame
from segauge.io.tables.long import COLUMNS


def read_metadata(path: str | Path | Frame, *, key: str | None = None) -> dict[str, dict[str, str]]:
    """Return the metadata of each case id, as text; an empty cell is "".

    Args:
        path: delimited text with a header, any separator; or a data frame of pandas or polars.
        key: the column with the case ids; one with a usual name (case, name, image_id ...) if left out.

    """
    table = frame_table(path) if is_frame(path) else read_delimited(Path(cast("str | Path", path)))
    column = table.column(key) if key else table.column(*COLUMNS["case"])
    if column is None:
        raise InvalidInput(
            f"{table.path.name}: no column {repr(key) if key else 'with a usual name for the case ids'}; "
            f"pass {option('key', ...)} with one of {', '.join(map(repr, table.header))}."
        )
    found: dict[str, dict[str, str]] = {}
    for i, row in enumerate(table.rows):
        if row[column] in found:
            raise InvalidInput(f"{table.where(i)}: the case {row[column]!r} stands twice in the metadata.")
        found[row[column]] = {name: row[j] for j, name in enumerate(table.header) if j != column and name}
    return found


def metadata_column(metadata: Mapping[str, Mapping[str, str]], name: str) -> dict[str, str]:
    """Return one column per case id, without the empty cells."""
    known = dict.fromkeys(column for row in metadata.values() for column in row)
    if name not in known:
        raise InvalidInput(f"No metadata column {name!r}; there are {', '.join(known)}.")
    return {case: row[name] for case, row in metadata.items() if row.get(name)}
