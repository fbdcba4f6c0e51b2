"""Scores in Parquet: one row per model, case and structure; and the hash of what they say, whoever wrote the file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge import ScoreTable, Status
from segauge.errors import InvalidInput, MissingExtra

_STATUSES = tuple(Status)
_KEYS = ("model", "case", "structure", "status", "reason")


def write_scores(tables: Mapping[str, ScoreTable], path: Path) -> None:
    """Write the scores of all models, whole or not at all."""
    pa, pq = _pyarrow()
    parts = [pa.table(_columns(pa, model, table)) for model, table in tables.items()]
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        pq.write_table(pa.concat_tables(parts).unify_dictionaries(), beside, compression="zstd")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read_scores(
    path: Path, models: Sequence[str], structures: Sequence[str], metrics: Sequence[str]
) -> dict[str, ScoreTable]:
    """Read the scores of these models."""
    pa, pq = _pyarrow()
    try:
        found = pq.read_table(path, columns=[*_KEYS, *metrics])
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{path.name}: cannot be read as scores in Parquet ({error})") from error
    columns = {name: _coded(found.column(name)) for name in _KEYS}
    values = np.column_stack([found.column(metric).to_numpy() for metric in metrics])
    position = {name: i for i, name in enumerate(columns["model"][0])}
    tables = {}
    for model in models:
        if model not in position:
            raise InvalidInput(f"{path.name}: has no scores of {model}")
        rows = np.flatnonzero(columns["model"][1] == position[model])
        tables[model] = _table(columns, values, rows, structures, metrics)
    return tables


def content_hash(tables: Mapping[str, ScoreTable]) -> str:
    """Return a hash of models, cases, structures, statuses, reasons and the bits of every number."""
    digest = hashlib.sha256()
    order = {status: i for i, status in enumerate(_STATUSES)}
    for model, table in tables.items():
        reasons = sorted([*key, words] for key, words in table.reasons.items())
        names = [model, list(table.cases), list(table.structures), list(table.metrics), reasons]
        digest.update(json.dumps(names).encode())
        # One bit pattern for every NaN.
        digest.update(np.where(np.isnan(table.values), np.nan, table.values).astype("<f8").tobytes())
        digest.update(bytes(order[status] for status in table.status.ravel()))
    return digest.hexdigest()


def _columns(pa: Any, model: str, table: ScoreTable) -> dict[str, Any]:
    shape = table.status.shape
    order = {status: i for i, status in enumerate(_STATUSES)}
    codes = np.array([order[status] for status in table.status.ravel()], dtype=np.int8)
    cases = np.repeat(np.arange(shape[0], dtype=np.int32), shape[1])
    structures = np.tile(np.arange(shape[1], dtype=np.int32), shape[0])
    reasons = [table.reasons.get((case, name), "") for case in table.cases for name in table.structures]
    return {
        "model": pa.DictionaryArray.from_arrays(np.zeros(codes.size, dtype=np.int32), pa.array([model])),
        "case": pa.DictionaryArray.from_arrays(cases, pa.array(table.cases)),
        "structure": pa.DictionaryArray.from_arrays(structures, pa.array(table.structures)),
        "status": pa.DictionaryArray.from_arrays(codes, pa.array([status.value for status in _STATUSES])),
        "reason": pa.array(reasons).dictionary_encode(),
        **{metric: pa.array(table.values[:, :, k].ravel(), from_pandas=True) for k, metric in enumerate(table.metrics)},
    }


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
    if rows.size != shape[0] * shape[1] or np.unique(row_of_case * shape[1] + column_of).size != rows.size:
        raise InvalidInput("the scores do not have one row for each case and structure of a model")
    filled = np.full((*shape, len(metrics)), np.nan)
    filled[row_of_case, column_of] = values[rows]
    status = np.empty(shape, dtype=object)
    words, codes = columns["status"]
    status[row_of_case, column_of] = np.array([Status(word) for word in words], dtype=object)[codes[rows]]
    told, said = columns["reason"]
    reasons = {
        (cases[row_of_case[i]], structures[column_of[i]]): told[said[rows[i]]]
        for i in range(rows.size)
        if told[said[rows[i]]]
    }
    return ScoreTable(tuple(cases), structures, tuple(metrics), filled, status, reasons)


def _positions(
    column: tuple[list[str], npt.NDArray[np.intp]], rows: npt.NDArray[np.intp]
) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return the words that occur in these rows, in the order of their first row, and per row which one it is."""
    words, codes = column
    used, first, place = np.unique(codes[rows], return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    rank = np.empty(used.size, dtype=np.intp)
    rank[by_first] = np.arange(used.size)
    return [words[used[i]] for i in by_first], rank[place]


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra(
            "The scores of a run this large are kept in Parquet: install it with `pip install 'segauge[bench]'`."
        ) from error
    return pa, pq
