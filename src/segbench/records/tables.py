"""Score tables in records: as columns of plain values, or in Parquet with one row per model, case and structure.

In columns each structure has the status of each case and one column per metric. The hash is of what the scores say,
whoever wrote the file. Scores that contradict themselves, a status that says one thing and a number that says another,
are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge import ScoreTable, Status
from segauge.errors import InvalidInput, MissingExtra, UnknownMetric
from segauge.io.compat import missing_of
from segauge.metrics import catalog
from segauge.scores import NOT_IN_GROUND_TRUTH, MetricInfo, Missing, Place


def columns_of(table: ScoreTable) -> dict[str, Any]:
    """Return a table as plain values; a number that is not there is None, and the status says why."""
    structures = {}
    for j, structure in enumerate(table.structures):
        columns: dict[str, Any] = {"status": [str(status) for status in table.status[:, j]]}
        for k, metric in enumerate(table.metrics):
            columns[metric] = [None if value != value else value for value in table.values[:, j, k].tolist()]
        structures[structure] = columns
    reasons: dict[str, dict[str, str]] = {}
    reasons_of = dict(sorted(table.reasons.items()))
    for (case, structure), words in reasons_of.items():
        reasons.setdefault(structure, {})[case] = words
    missing: dict[str, dict[str, Any]] = {}
    for case, structure in reasons_of:
        if details := table.details(case, structure):
            missing.setdefault(structure, {})[case] = details
    found = {"cases": list(table.cases), "structures": structures, "reasons": reasons}
    return {**found, "missing": missing} if missing else found


def table_of(given: Mapping[str, Any], order: Iterable[str], metrics: Sequence[str]) -> ScoreTable:
    """Return the table that was written, its structures in the given order."""
    structures = tuple(name for name in order if name in given["structures"])
    cases = tuple(given["cases"])
    values = np.full((len(cases), len(structures), len(metrics)), np.nan)
    status = np.empty((len(cases), len(structures)), dtype=object)
    members = {member.value: member for member in Status}
    for j, structure in enumerate(structures):
        columns = given["structures"][structure]
        status[:, j] = [members[word] for word in columns["status"]]
        for k, metric in enumerate(metrics):
            # None becomes NaN.
            values[:, j, k] = np.array(columns[metric], dtype=np.float64)
    missing: dict[Place, Missing] = {}
    rows, details = {case: i for i, case in enumerate(cases)}, given.get("missing", {})
    for structure, told in given["reasons"].items():
        for case, words in told.items():
            state = status[rows[case], structures.index(structure)]
            missing |= missing_of(case, structure, state, details.get(structure, {}).get(case), words)
    return ScoreTable(cases, structures, tuple(metrics), values, status, missing)


_STATUSES = tuple(Status)
#: Rows that are read at once; of a longer file the rows of one model at a time.
MOST_ROWS_AT_ONCE = 4_000_000
_KEYS = ("model", "case", "structure", "status", "reason")
#: Why values are missing as JSON (`ScoreTable.details`), where status and reason do not tell all.
_DETAILS = "missing"


def write_scores(tables: Mapping[str, ScoreTable], path: Path) -> None:
    """Write the scores of all models, model by model, whole or not at all."""
    pa, pq = _pyarrow()
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        first = next(iter(tables.items()))
        with pq.ParquetWriter(beside, pa.table(_columns(pa, *first)).schema, compression="zstd") as writer:
            for model, table in tables.items():
                writer.write_table(pa.table(_columns(pa, model, table)))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read_scores(
    path: Path, models: Sequence[str], structures: Sequence[str], metrics: Sequence[str], n_cases: int
) -> dict[str, ScoreTable]:
    """Read the scores of these models; more rows than models, structures and cases can have are refused unread."""
    pa, pq = _pyarrow()
    try:
        with pq.ParquetFile(path) as file:
            most = len(models) * len(structures) * n_cases
            if file.metadata.num_rows > most:
                raise InvalidInput(
                    f"{path.name}: has {file.metadata.num_rows} rows, but its record has {len(models)} models, "
                    f"{len(structures)} structures and {n_cases} cases, which make at most {most}."
                )
            # Files of earlier versions have the reasons alone.
            details = [_DETAILS] if _DETAILS in file.schema_arrow.names else []
            names = [*_KEYS, *details, *metrics]
            groups = _groups_of(file.metadata, models)
            read = sum(file.metadata.row_group(i).num_rows for found in groups.values() for i in found)
            if not MOST_ROWS_AT_ONCE < read <= 2 * file.metadata.num_rows:
                return _tables(file.read(columns=names), path, models, structures, metrics)
            # Model by model: rows take several times the memory of the tables that they become.
            tables = {}
            for model, found in groups.items():
                rows = file.read_row_groups(found, columns=names)
                tables.update(_tables(rows, path, [model], structures, metrics))
            return tables
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{path.name}: cannot be read as scores in Parquet ({error})") from error


def _groups_of(metadata: Any, models: Sequence[str]) -> dict[str, list[int]]:
    """Return per model the groups of rows that may hold it, by the smallest and largest name that each has."""
    place = metadata.schema.names.index("model") if "model" in metadata.schema.names else 0
    ends = [metadata.row_group(i).column(place).statistics for i in range(metadata.num_row_groups)]
    return {
        model: [i for i, one in enumerate(ends) if one is None or not one.has_min_max or one.min <= model <= one.max]
        for model in models
    }


def _tables(
    found: Any, path: Path, models: Sequence[str], structures: Sequence[str], metrics: Sequence[str]
) -> dict[str, ScoreTable]:
    """Return the tables of these models from rows."""
    keys = [name for name in (*_KEYS, _DETAILS) if name in found.column_names]
    columns = {name: _coded(found.column(name)) for name in keys}
    values = np.column_stack([found.column(metric).to_numpy() for metric in metrics])
    position = {name: i for i, name in enumerate(columns["model"][0])}
    tables = {}
    for model in models:
        rows = np.flatnonzero(columns["model"][1] == position.get(model, -1))
        if not rows.size:
            raise InvalidInput(f"{path.name}: has no scores of {model}")
        tables[model] = _table(columns, values, rows, structures, metrics)
    return tables


def content_hash(tables: Mapping[str, ScoreTable]) -> str:
    """Return a hash of models, cases, structures, statuses, reasons and the bits of every number."""
    digest = hashlib.sha256()
    for model, table in tables.items():
        reasons = sorted([*key, words] for key, words in table.reasons.items())
        names = [model, list(table.cases), list(table.structures), list(table.metrics), reasons]
        if details := [[*cell, text] for cell, text in sorted(_details(table).items())]:
            names.append(details)
        digest.update(json.dumps(names).encode())
        # One bit pattern for every NaN.
        digest.update(np.where(np.isnan(table.values), np.nan, table.values).astype("<f8").tobytes())
        digest.update(_status_codes(table))
    return digest.hexdigest()


def _status_codes(table: ScoreTable) -> bytes:
    """Return the place of every status in the list of all, a byte each."""
    # By identity: each status is there once, and its hash would take longer than all else here.
    order = {id(status): i for i, status in enumerate(_STATUSES)}
    return bytes(map(order.__getitem__, map(id, table.status.ravel().tolist())))


def _columns(pa: Any, model: str, table: ScoreTable) -> dict[str, Any]:
    shape = table.status.shape
    codes = np.frombuffer(_status_codes(table), dtype=np.int8)
    cases = np.repeat(np.arange(shape[0], dtype=np.int32), shape[1])
    structures = np.tile(np.arange(shape[1], dtype=np.int32), shape[0])
    words, said = _different(table, table.reasons)
    details, detailed = _different(table, _details(table))
    return {
        "model": pa.DictionaryArray.from_arrays(np.zeros(codes.size, dtype=np.int32), pa.array([model])),
        "case": pa.DictionaryArray.from_arrays(cases, pa.array(table.cases)),
        "structure": pa.DictionaryArray.from_arrays(structures, pa.array(table.structures)),
        "status": pa.DictionaryArray.from_arrays(codes, pa.array([status.value for status in _STATUSES])),
        "reason": pa.DictionaryArray.from_arrays(said, pa.array(words)),
        _DETAILS: pa.DictionaryArray.from_arrays(detailed, pa.array(details)),
        **{metric: pa.array(table.values[:, :, k].ravel(), from_pandas=True) for k, metric in enumerate(table.metrics)},
    }


def _details(table: ScoreTable) -> dict[tuple[str, str], str]:
    """Return as JSON what status and reason do not tell of a cell's missing values."""
    found = {cell: table.details(*cell) for cell in table.reasons}
    return {cell: json.dumps(details, sort_keys=True) for cell, details in found.items() if details}


def _different(table: ScoreTable, texts: Mapping[tuple[str, str], str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the different texts of cells, none ("") first, and per case and structure which of them it has."""
    words = {"": 0}
    said = np.zeros(table.status.shape, dtype=np.int32)
    rows, columns = ({name: i for i, name in enumerate(names)} for names in (table.cases, table.structures))
    for (case, structure), text in texts.items():
        said[rows[case], columns[structure]] = words.setdefault(text, len(words))
    return list(words), said.ravel()


def _coded(column: Any) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return the different words of a column, and per row which of them stands there."""
    whole = column.combine_chunks().dictionary_encode() if not _is_dictionary(column) else None
    array = whole if whole is not None else column.unify_dictionaries().combine_chunks()
    return array.dictionary.to_pylist(), array.indices.to_numpy(zero_copy_only=False).astype(np.intp)


def _is_dictionary(column: Any) -> bool:
    return hasattr(column.type, "value_type")


def _table(
    columns: Mapping[str, tuple[list[str], npt.NDArray[np.intp]]],
    values: npt.NDArray[np.float64],
    rows: npt.NDArray[np.intp],
    order: Sequence[str],
    metrics: Sequence[str],
) -> ScoreTable:
    """Return the table of the given rows; every case must have every structure of the model, once."""
    cases, row_of_case = _positions(columns["case"], rows)
    names, place = _positions(columns["structure"], rows)
    structures = tuple(name for name in order if name in names)
    column_of = np.array([structures.index(name) for name in names], dtype=np.intp)[place]
    shape = (len(cases), len(structures))
    if rows.size != shape[0] * shape[1] or (np.bincount(row_of_case * shape[1] + column_of) > 1).any():
        raise InvalidInput("the scores do not have one row for each case and structure of a model")
    filled = np.full((*shape, len(metrics)), np.nan)
    filled[row_of_case, column_of] = values[rows]
    status = np.empty(shape, dtype=object)
    words, codes = columns["status"]
    status[row_of_case, column_of] = np.array([Status(word) for word in words], dtype=object)[codes[rows]]
    told, said = columns["reason"]
    with_words = np.flatnonzero(np.array([bool(word) for word in told])[said[rows]])
    details, detailed = columns.get(_DETAILS, ([""], np.zeros_like(said)))
    missing: dict[Place, Missing] = {}
    for i in with_words:
        cell = cases[row_of_case[i]], structures[column_of[i]]
        text = details[detailed[rows[i]]]
        known = json.loads(text) if text else None
        missing |= missing_of(*cell, status[row_of_case[i], column_of[i]], known, told[said[rows[i]]])
    return ScoreTable(tuple(cases), structures, tuple(metrics), filled, status, missing)


def _positions(
    column: tuple[list[str], npt.NDArray[np.intp]], rows: npt.NDArray[np.intp]
) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return the words that occur in these rows, in the order of their first row, and per row which one it is."""
    words, codes = column
    found = codes[rows]
    # From the last row back, so that what stays is the first row of each word.
    first = np.full(len(words), found.size, dtype=np.intp)
    first[found[::-1]] = np.arange(found.size - 1, -1, -1)
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < found.size)]
    rank = np.empty(len(words), dtype=np.intp)
    rank[order] = np.arange(order.size)
    return [words[i] for i in order], rank[found]


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra(
            "The scores of a run this large are kept in Parquet: install it with `pip install 'segauge[bench]'`."
        ) from error
    return pa, pq


#: There was nothing that could have been measured.
_UNMEASURED = (Status.PREDICTION_MISSING, Status.UNREADABLE, Status.REFUSED)


def require_consistent(tables: Mapping[str, ScoreTable], *, measured_here: bool) -> None:
    """Refuse scores whose statuses and values exclude each other.

    Args:
        tables: scores by model.
        measured_here: whether segbench measured them. Then a status says exactly which numbers there are, and a
            structure is in the ground truth of a case for all models or for none; tables of other tools say less.

    Raises:
        InvalidInput: with the first place that contradicts itself.

    """
    for model, table in tables.items():
        for k, key in enumerate(table.metrics):
            _require_values(model, table, k, _known(key), measured_here=measured_here)
    if measured_here:
        _require_one_ground_truth(tables)


def _known(key: str) -> MetricInfo | None:
    try:
        return catalog.metric(key)
    except UnknownMetric:
        return None


def _require_values(model: str, table: ScoreTable, k: int, info: MetricInfo | None, *, measured_here: bool) -> None:
    has_value = ~np.isnan(table.values[:, :, k])
    unmeasured = _is_any(table, (*_UNMEASURED, *((Status.FAILED,) if measured_here else ())))
    _refuse(model, table, k, has_value & unmeasured, "no value")
    if not measured_here or info is None or info.needs not in ("counts", "surface"):
        return
    present = _is_any(table, (Status.PRESENT,))
    if info.when_failed is not None:
        in_one = _is_any(table, (Status.MISSED, Status.SPURIOUS))
        _refuse(model, table, k, present & ~has_value, "a value")
        _refuse(model, table, k, in_one & (table.values[:, :, k] != info.when_failed), f"{info.when_failed:g}")
        _refuse(model, table, k, has_value & _is_any(table, (Status.ABSENT,)), "no value")
    elif info.unit == "mm" and info.direction == "lower":  # a noise floor is no distance of the pair
        _refuse(model, table, k, present & ~has_value, "a value")
        _refuse(model, table, k, has_value & ~present, "no value")


def _require_one_ground_truth(tables: Mapping[str, ScoreTable]) -> None:
    """Refuse a structure that one model has in the ground truth of a case and another one has not."""
    said: dict[tuple[str, str], tuple[bool, str]] = {}
    for model, table in tables.items():
        lacks = _is_any(table, NOT_IN_GROUND_TRUTH).tolist()
        for case, row in zip(table.cases, lacks, strict=True):
            for structure, is_lacking in zip(table.structures, row, strict=True):
                before, other = said.setdefault((case, structure), (is_lacking, model))
                if before != is_lacking:
                    has, has_not = (other, model) if is_lacking else (model, other)
                    raise InvalidInput(
                        f"The ground truth of {case} has {structure} in the scores of {has}, and not in those of "
                        f"{has_not}. The scores contradict themselves: score the predictions again."
                    )


def _is_any(table: ScoreTable, statuses: Sequence[Status]) -> npt.NDArray[np.bool_]:
    found = np.zeros(table.status.shape, dtype=bool)
    for status in statuses:
        found |= table.status == status
    return found


def _refuse(model: str, table: ScoreTable, k: int, wrong: npt.NDArray[np.bool_], expected: str) -> None:
    if not wrong.any():
        return
    i, j = np.argwhere(wrong)[0]
    value = table.values[i, j, k]
    got = "none" if np.isnan(value) else f"{value:g}"
    raise InvalidInput(
        f"The scores of {model} contradict themselves: {table.structures[j]} of {table.cases[i]} is "
        f"{str(table.status[i, j])!r}, so {table.metrics[k]} should have {expected}, got {got}. Score it again."
    )
