"""Tables of text: long (one row per score) and wide (one row per case, columns of structures or metrics); or Parquet.

Long tables are those of challengeR / Rankings Reloaded (Task, Case, Algorithm, MetricValue) and any like them; there a
missing value is written NA and means that the algorithm has no result for the case.
"""

from __future__ import annotations

import math
from pathlib import Path

from segauge.errors import InvalidInput, MissingExtra, option
from segauge.io.gate import MAX_BYTES, foreign_failures
from segauge.io.tables.cells import Cell, Names, Reading, metric_key, number, with_failure
from segauge.io.tables.delimited import TextTable, read_delimited
from segauge.metrics.catalog import described
from segauge.scores import Status

#: Spellings of each column, most usual first.
COLUMNS = {
    "model": ("model", "algorithm", "alg_name", "method", "team", "submission"),
    "case": ("case", "case_id", "caseid", "name", "subject", "subject_name", "image", "image_id", "filename", "id"),
    "structure": ("structure", "task", "organ", "label", "class", "region"),
    "metric": ("metric", "metric_name", "measure"),
    "value": ("value", "metricvalue", "metric_value", "score"),
}


def is_long(path: Path) -> bool:
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


def read_long(path: Path, names: Names) -> Reading:
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


#: Columns with these names are metrics; all others are structures.
METRICS = frozenset({"dice", "iou", "nsd", "hd", "hd95", "assd", "masd", "asd", "precision", "recall", "surface_dice"})


def is_wide(path: Path) -> bool:
    """Return True for delimited text with a case column."""
    if path.suffix.lower() == ".parquet":
        return True
    return path.suffix.lower() in (".csv", ".tsv", ".txt") and read_delimited(path).column(*COLUMNS["case"]) is not None


def read_wide(path: Path, names: Names) -> Reading:
    """Return the scores of a table; a Parquet file may be wide or long."""
    return cells_of_table(read_parquet(path) if path.suffix.lower() == ".parquet" else read_delimited(path), names)


def cells_of_table(table: TextTable, names: Names) -> Reading:
    """Return the scores of a table that was read already, wide or long."""
    if find_column(table, "value", names) is not None:
        return cells_of(table, names)
    return _wide_cells(table, names)


def _wide_cells(table: TextTable, names: Names) -> Reading:
    case, model = (find_column(table, role, names) for role in ("case", "model"))
    structure = find_column(table, "structure", names)
    if case is None:
        raise InvalidInput(
            f"{table.path.name}: no case column; name it with {option('columns', {'case': 'NAME'})}: {table.header}."
        )
    told = None if structure is None else free_column(table, names, "status")
    words = None if told is None else free_column(table, names, "reason")
    taken = {case, model, structure, told, words}
    scores = [j for j, name in enumerate(table.header) if j not in taken and name]
    metrics = [j for j in scores if _is_metric(table.header[j], by_structure=structure is None)]
    reading = Reading([], list(table.remarks))
    columns = metrics or scores
    ignored = [table.header[j] for j in scores if j not in columns]
    if ignored:
        reading.remarks.append(f"{table.path.name}: columns that are no metrics were left out: {', '.join(ignored)}")
    metric = "" if metrics else metric_key(names.metric or guessed_metric(table.path))
    for i, row in enumerate(table.rows):
        who = names.model or table.path.stem if model is None else row[model]
        what = names.structure or "structure" if structure is None else row[structure]
        for j in columns:
            value, status = with_failure(number(row[j], f"{table.where(i)}, column {table.header[j]}"))
            if told is not None:
                status = told_status(row[told], table.where(i))
            named = (what, metric_key(table.header[j])) if metrics else (table.header[j], metric)
            reason = "" if words is None else row[words]
            reading.cells.append(Cell(who, row[case], *named, value, status, table.where(i), reason))
    return reading


def _is_metric(name: str, *, by_structure: bool) -> bool:
    """Return whether a column holds a metric; where columns may be structures, only a usual name is enough."""
    key = metric_key(name)
    return key.split("@")[0] in METRICS or (not by_structure and described(key) is not None)


def read_parquet(path: Path) -> TextTable:
    """Return a Parquet file as a table of text; needs pyarrow."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra(
            f"{path.name}: reading Parquet needs pyarrow: install `segauge[bench]`, or save it as CSV."
        ) from None
    with foreign_failures(f"{path.name}: is not a readable Parquet file"):
        file = parquet.ParquetFile(path)
        cells = file.metadata.num_rows * file.metadata.num_columns
        if cells > MAX_BYTES // 8:
            raise InvalidInput(f"{path.name}: {cells} cells are too many for a table of scores.")
        data = file.read().to_pydict()
    columns = [["" if value is None else str(value) for value in column] for column in data.values()]
    return TextTable(path, list(map(str, data)), [list(row) for row in zip(*columns, strict=True)])
