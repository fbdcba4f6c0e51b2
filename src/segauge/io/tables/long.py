"""Long tables: one row per score. challengeR / Rankings Reloaded (Task, Case, Algorithm, MetricValue) and any like it.

In a challengeR table a missing value is written NA and means that the algorithm has no result for the case.
"""

from __future__ import annotations

import math
from pathlib import Path

from segauge.errors import InvalidInput, option
from segauge.io.tables.cells import Cell, Names, Reading, metric_key, number, with_failure
from segauge.io.tables.delimited import TextTable, read_delimited
from segauge.scores import Status

#: Spellings of each column, most usual first.
COLUMNS = {
    "model": ("model", "algorithm", "alg_name", "method", "team", "submission"),
    "case": ("case", "case_id", "caseid", "name", "subject", "subject_name", "image", "image_id", "filename", "id"),
    "structure": ("structure", "task", "organ", "label", "class", "region"),
    "metric": ("metric", "metric_name", "measure"),
    "value": ("value", "metricvalue", "metric_value", "score"),
}


def recognises(path: Path) -> bool:
    """Return True for delimited text with a case column and a value column."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return False
    table = read_delimited(path)
    return table.column(*COLUMNS["value"]) is not None and table.column(*COLUMNS["case"]) is not None


def find_column(table: TextTable, role: str, names: Names) -> int | None:
    """Return the column of a role: the one that the user named, or one with a usual name that has no role yet."""
    told = names.columns.get(role)
    if told is None:
        return free_column(table, names, *COLUMNS[role])
    if told not in table.header:
        raise InvalidInput(f"{table.path.name}: no column {told!r}; there are {', '.join(table.header)}.")
    return table.header.index(told)


def free_column(table: TextTable, names: Names, *spellings: str) -> int | None:
    """Return the first column of these names, ignoring case, to which the user gave no role."""
    taken = set(names.columns.values())
    lower = ["" if name in taken else name.lower() for name in table.header]
    return next((lower.index(name) for name in spellings if name in lower), None)


def read(path: Path, names: Names) -> Reading:
    """Return the scores of a long table."""
    return cells_of(read_delimited(path), names)


def cells_of(table: TextTable, names: Names) -> Reading:
    """Return the scores of a long table that was read already."""
    places = {role: find_column(table, role, names) for role in COLUMNS}
    if places["case"] is None or places["value"] is None:
        raise InvalidInput(f"{table.path.name}: a long table needs a case and a value column; it has {table.header}.")
    fallback = {
        "model": names.model or table.path.stem,
        "structure": names.structure or "structure",
        "metric": names.metric or "",
    }
    if places["metric"] is None and names.metric is None:
        fallback["metric"] = guessed_metric(table.path)
    reading = Reading([], list(table.remarks))
    told = free_column(table, names, "status")
    is_challenger = places["structure"] is not None and places["model"] is not None and places["metric"] is None
    for i, row in enumerate(table.rows):
        named = {
            role: row[place] if (place := places[role]) is not None else fallback[role]
            for role in ("model", "structure", "metric")
        }
        value, status = with_failure(number(row[places["value"]], table.where(i)))
        if told is not None:
            status = told_status(row[told], table.where(i))
        elif is_challenger and math.isnan(value):
            status = status or Status.PREDICTION_MISSING
        reading.cells.append(
            Cell(
                named["model"], row[places["case"]], named["structure"], metric_key(named["metric"]), value, status,
                table.where(i),
            )
        )  # fmt: skip
    return reading


def told_status(text: str, where: str) -> Status:
    """Return the status that a cell names."""
    try:
        return Status(text.strip().lower())
    except ValueError:
        raise InvalidInput(f"{where}: {text!r} is no status; there are {', '.join(Status)}.") from None


def guessed_metric(path: Path) -> str:
    """Return the metric that a file name speaks of ("lesionwise_dice_long.csv"), or refuse."""
    words = metric_key(path.stem).replace(".", "_").split("_")
    for word in words:
        key = metric_key(word)
        if key in ("dice", "nsd", "iou", "hd95", "hd", "assd", "masd", "asd"):
            return key
    raise InvalidInput(f"{path.name}: does not name its metric; pass {option('metric', 'dice')} or another.")
