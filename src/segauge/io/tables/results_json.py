"""Results in JSON of segauge and segbench: 0.1/0.2 evaluations and leaderboards, and the score files of today."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.tables.cells import Cell, Names, Reading
from segauge.io.tables.json_files import load_json
from segauge.io.tables.rules import rules_of
from segauge.scores import Status

#: Written into every score file; a reader refuses any other.
SCHEMA = "segauge-scores/1"
_NOT_METRICS = ("case_id", "case", "structure", "status", "reason")


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
            return Reading(cells, rules=() if rules is None else ((model, rules),))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path.name}: is not built as its kind ({kind}) is: {error!r}.") from error
    raise InvalidInput(f"{path.name}: is no result file of segauge or segbench.")


def _segbench(data: Mapping[str, Any], where: str) -> Iterator[Cell]:
    for model in data["models"]:
        for structure, found in model["per_organ"].items():
            yield from _rows(found["per_case"], str(model["name"]), str(structure), where)


def _rows(rows: list[Mapping[str, Any]], model: str, structure: str, where: str) -> Iterator[Cell]:
    """Yield the numbers of flat rows; metadata ("meta.age") and text are no scores.

    Rows of today carry their structure and status. segauge 0.2 wrote infinity (or null)
    for the distances of an empty mask, beside a Dice of 0.
    """
    for row in rows:
        case = str(row.get("case_id", row.get("case", "")))
        scores = {key: value for key, value in row.items() if key not in _NOT_METRICS and not key.startswith("meta.")}
        numbers = {key: _value(value) for key, value in scores.items() if value is None or _is_number(value)}
        failed = numbers.get("dice") == 0.0 and any(not math.isfinite(value) for value in numbers.values())
        status = Status.MISSED if failed else Status.PRESENT
        if "status" in row:
            status = Status(row["status"])
        named, reason = str(row.get("structure", structure)), str(row.get("reason") or "")
        for key, value in numbers.items():
            yield Cell(model, case, named, key, value if math.isfinite(value) else math.nan, status, where, reason)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(value: Any) -> float:
    return math.nan if value is None else float(value)


def _score_file(data: Mapping[str, Any], where: str) -> Iterator[Cell]:
    if data["schema"] != SCHEMA:
        raise InvalidInput(f"{where}: has the schema {data['schema']!r}; this version reads {SCHEMA!r}.")
    for model, rows in data["models"].items():
        for row in rows:
            status, reason = Status(row["status"]), str(row.get("reason") or "")
            for metric, value in row["scores"].items():
                yield Cell(model, row["case"], row["structure"], metric, _value(value), status, where, reason)
