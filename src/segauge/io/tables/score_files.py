"""Score files: the JSON of segauge and segbench (0.1, 0.2 and today) is read, and score tables are written.

`write_scores` writes JSON, long or wide CSV, and the CSV of challengeR. Cells cannot become formulas.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from segauge.errors import InvalidInput
from segauge.io.compat import causes_of
from segauge.io.gate import load_json
from segauge.io.outputs import write_whole
from segauge.io.tables.cells import Cell, Names, Reading
from segauge.io.tables.rules import rules_of
from segauge.metrics.catalog import described
from segauge.scores import Missing, ScoreTable, Status
from segauge.tables import csv_text

#: Written into every score file; a reader refuses any other.
SCHEMA = "segauge-scores/1"
#: Metrics that have a number wherever both masks have the structure.
_ALWAYS = ("dice", "iou")
_META = "meta."
_NOT_METRICS = ("case_id", "case", "structure", "status", "reason", "missing")


def recognises(path: Path) -> bool:
    """Return True for any of the three kinds."""
    return path.is_file() and path.suffix.lower() == ".json" and _kind(load_json(path)) is not None


def _kind(data: Any) -> str | None:
    if not isinstance(data, dict):
        return None
    if str(data.get("schema", "")).startswith("segauge-scores/"):
        return "scores"
    models = data.get("models")
    if isinstance(models, list) and models and isinstance(models[0], dict) and "per_organ" in models[0]:
        return "segbench"
    return "evaluation" if isinstance(data.get("per_case"), list) else None


def read(path: Path, names: Names) -> Reading:
    """Return the scores of all models in the file."""
    data = load_json(path)
    kind = _kind(data)
    try:
        if kind == "scores":
            return Reading(list(_score_file(data, path.name)))
        if kind == "segbench":
            return Reading(list(_segbench(data, path.name)))
        if kind == "evaluation":
            structure, model = names.structure or "structure", names.model or path.stem
            rules = rules_of(data)
            cells = list(_rows(data["per_case"], model, structure, path.name))
            return Reading(cells, [], () if rules is None else ((model, rules),), _metadata(data["per_case"]))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path.name}: is not built as its kind ({kind}) is: {error!r}.") from error
    raise InvalidInput(f"{path.name}: is no result file of segauge or segbench.")


def _metadata(rows: list[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return what the rows know of each case, as a table of metadata would say it: "" where they know nothing."""
    columns = dict.fromkeys(key for row in rows for key in row if key.startswith(_META))
    found: dict[str, dict[str, str]] = {}
    for row in rows if columns else ():
        values = {key: row.get(key) for key in columns}
        texts = {key.removeprefix(_META): "" if value is None else str(value) for key, value in values.items()}
        found[_case(row)] = texts
    return found


def _case(row: Mapping[str, Any]) -> str:
    return str(row.get("case_id", row.get("case", "")))


def _segbench(data: Mapping[str, Any], where: str) -> Iterator[Cell]:
    for model in data["models"]:
        for structure, found in model["per_organ"].items():
            yield from _rows(found["per_case"], str(model["name"]), str(structure), where)


def _rows(rows: list[Mapping[str, Any]], model: str, structure: str, where: str) -> Iterator[Cell]:
    """Yield the numbers of flat rows; metadata ("meta.age") and columns of text are no scores.

    Rows of today carry their structure and status. segauge 0.2 wrote infinity (or null)
    for the distances of an empty mask, beside a Dice of 0.
    """
    metrics = _metrics_of(rows)
    for row in rows:
        place = _Place(where, _case(row), str(row.get("structure", structure)))
        status, reason = Status(row["status"]) if "status" in row else None, str(row.get("reason") or "")
        numbers = {key: place.number(key, row.get(key), status, reason) for key in metrics}
        if status is None:
            failed = numbers.get("dice") == 0.0 and any(not math.isfinite(value) for value in numbers.values())
            status = Status.MISSED if failed else Status.PRESENT
        for key, value in numbers.items():
            number = value if math.isfinite(value) else math.nan
            yield Cell(model, place.case, place.structure, key, number, status, where, reason, _causes(row, status))


def _causes(row: Mapping[str, Any], status: Status) -> dict[str, Missing]:
    return causes_of(status, row["missing"]) if row.get("missing") else {}


def _metrics_of(rows: list[Mapping[str, Any]]) -> list[str]:
    """Return the columns that hold scores: those of a known metric, and others with a number or nothing in some row."""
    columns = dict.fromkeys(key for row in rows for key in row)
    return [
        key
        for key in columns
        if key not in _NOT_METRICS
        and not key.startswith(_META)
        and (described(key) is not None or any(row.get(key, "") is None or _is_number(row.get(key)) for row in rows))
    ]


class _Place(NamedTuple):
    """Where a score stands in a file."""

    where: str
    case: str
    structure: str

    def number(self, metric: str, value: object, status: Status | None, reason: str) -> float:
        """Return a score, NaN where there is none; refuse what is no number, and a gap that nothing explains."""
        if value is not None and not _is_number(value):
            raise self._error(metric, f"is {value!r}; expected a number, or null with a status")
        is_explained = status is not Status.PRESENT or reason
        if value is None:
            if metric in _ALWAYS and not is_explained:
                raise self._error(metric, "is not there, although the structure is in both masks (status present)")
            return math.nan
        if not math.isfinite(value) and not is_explained:
            raise self._error(metric, f"is {value}, although the structure is in both masks (status present)")
        return float(value)

    def _error(self, metric: str, words: str) -> InvalidInput:
        return InvalidInput(f"{self.where}: {metric} of {self.structure!r} in case {self.case!r} {words}.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _score_file(data: Mapping[str, Any], where: str) -> Iterator[Cell]:
    if data["schema"] != SCHEMA:
        raise InvalidInput(f"{where}: has the schema {data['schema']!r}; this version reads {SCHEMA!r}.")
    for model, rows in data["models"].items():
        for row in rows:
            status, reason = Status(row["status"]), str(row.get("reason") or "")
            if not isinstance(row["case"], str) or not isinstance(row["structure"], str):
                raise InvalidInput(f"{where}: the case and the structure of a score should be texts.")
            place, causes = _Place(where, row["case"], row["structure"]), _causes(row, status)
            for metric, value in row["scores"].items():
                number = place.number(metric, value, status, reason)
                yield Cell(model, place.case, place.structure, metric, number, status, where, reason, causes)


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
        raise InvalidInput(f"Choose the metric to write; there are {', '.join(known)}.")
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
