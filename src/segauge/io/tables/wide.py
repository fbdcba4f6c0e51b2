"""Wide tables: one row per case (and model), one column per structure or per metric. CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

from segauge.errors import InvalidInput, MissingExtra, option
from segauge.io.gate import MAX_BYTES, foreign_failures
from segauge.io.tables.cells import Cell, Names, Reading, metric_key, number, with_failure
from segauge.io.tables.delimited import TextTable, read_delimited
from segauge.io.tables.long import COLUMNS, cells_of, find_column, free_column, guessed_metric, told_status
from segauge.metrics.catalog import described

#: Columns with these names are metrics; all others are structures.
METRICS = frozenset({"dice", "iou", "nsd", "hd", "hd95", "assd", "masd", "asd", "precision", "recall", "surface_dice"})


def recognises(path: Path) -> bool:
    """Return True for delimited text with a case column."""
    if path.suffix.lower() == ".parquet":
        return True
    return path.suffix.lower() in (".csv", ".tsv", ".txt") and read_delimited(path).column(*COLUMNS["case"]) is not None


def read(path: Path, names: Names) -> Reading:
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
