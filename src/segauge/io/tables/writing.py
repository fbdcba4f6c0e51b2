"""write_scores: score tables to JSON, long or wide CSV, and the CSV of challengeR. Cells cannot become formulas."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.outputs import write_whole
from segauge.io.tables.results_json import SCHEMA
from segauge.scores import ScoreTable
from segauge.tables import csv_text


def write_scores(
    tables: Mapping[str, ScoreTable],
    path: str | Path,
    *,
    format: str = "json",  # noqa: A002 - the word users know, and the command line's
    metric: str | None = None,
) -> Path:
    """Write the scores of several models to one file and return its path; a crash leaves no half-written file.

    Args:
        tables: per model its scores.
        path: file to write.
        format: "json" (everything, read back without loss), "long" (CSV with every number and status), "wide" (CSV,
            one metric, one column per structure), "challenger" (CSV as challengeR and Rankings Reloaded read it, one
            metric).
        metric: for the formats that hold one.

    """
    if format not in _WRITERS:
        raise InvalidInput(f"No format {format!r} to write; there are {', '.join(_WRITERS)}.")
    text = _WRITERS[format](tables, _one_metric(tables, metric) if format in ("wide", "challenger") else "")
    return write_whole(path, text)


def _one_metric(tables: Mapping[str, ScoreTable], metric: str | None) -> str:
    known = list(dict.fromkeys(name for table in tables.values() for name in table.metrics))
    if metric is None and len(known) == 1:
        return known[0]
    if metric not in known:
        raise InvalidInput(f"Say which metric to write; there are {', '.join(known)}.")
    return metric


def _json_text(tables: Mapping[str, ScoreTable], _metric: str) -> str:
    models = {name: [_json_row(table, row) for row in table.rows()] for name, table in tables.items()}
    return json.dumps({"schema": SCHEMA, "models": models}, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _json_row(table: ScoreTable, row: dict[str, Any]) -> dict[str, Any]:
    head = {key: row[key] for key in ("case", "structure", "status")}
    reason = {"reason": row["reason"]} if row["reason"] else {}
    details = table.details(row["case"], row["structure"])
    missing = {"missing": details} if details else {}
    return {**head, **reason, **missing, "scores": {metric: row[metric] for metric in table.metrics}}


def _long_text(tables: Mapping[str, ScoreTable], _metric: str) -> str:
    rows = [
        (model, row["case"], row["structure"], metric, row[metric], row["status"])
        for model, table in tables.items()
        for row in table.rows()
        for metric in table.metrics
    ]
    return csv_text(("model", "case", "structure", "metric", "value", "status"), rows)


def _wide_text(tables: Mapping[str, ScoreTable], metric: str) -> str:
    structures = list(dict.fromkeys(name for table in tables.values() for name in table.structures))
    rows = []
    for model, table in tables.items():
        columns = {name: table.column(name, metric) for name in table.structures}
        for i, case in enumerate(table.cases):
            values = [columns[name][i] if name in columns else math.nan for name in structures]
            rows.append((model, case, *[None if math.isnan(value) else float(value) for value in values]))
    return csv_text(("model", "case", *structures), rows)


def _challenger_text(tables: Mapping[str, ScoreTable], metric: str) -> str:
    rows = [
        (row["structure"], row["case"], model, "NA" if row[metric] is None else row[metric])
        for model, table in tables.items()
        for row in table.rows()
        if row["status"] != "absent"
    ]
    return csv_text(("Task", "Case", "Algorithm", "MetricValue"), rows)


_WRITERS: dict[str, Callable[[Mapping[str, ScoreTable], str], str]] = {
    "json": _json_text,
    "long": _long_text,
    "wide": _wide_text,
    "challenger": _challenger_text,
}
