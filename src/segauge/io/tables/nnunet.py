"""nnU-Net's summary.json: Dice and IoU per case and label or region; the voxel counts say what was missed.

Keys are label numbers or tuples written as text ("(1, 2, 3)"); NaN is written literally. If a dataset.json lies beside
the file or one folder up, structures get its names. nnU-Net leaves cases without a prediction out of the file.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.gate import load_json
from segauge.io.tables.cells import Cell, Names, Reading, case_name
from segauge.scores import Status


def recognises(path: Path) -> bool:
    """Return True for a summary.json of nnU-Net, or the folder it lies in."""
    file = path / "summary.json" if path.is_dir() else path
    if not file.is_file() or file.suffix.lower() != ".json":
        return False
    data = load_json(file)
    return isinstance(data, dict) and "metric_per_case" in data


def read(path: Path, names: Names) -> Reading:
    """Return the scores of one nnU-Net evaluation."""
    file = path / "summary.json" if path.is_dir() else path
    data = load_json(file)
    labels = _label_names(file)
    model = names.model or file.parent.name
    reading = Reading([], ["nnU-Net leaves out cases without a prediction; compare the number of cases with your list"])
    for entry in data["metric_per_case"]:
        case = case_name(str(entry.get("reference_file") or entry.get("prediction_file") or ""))
        if not case:
            raise InvalidInput(f"{file.name}: a case names neither its reference nor its prediction file.")
        for key, metrics in entry["metrics"].items():
            status = _status(metrics)
            for name in ("Dice", "IoU"):
                value = metrics.get(name)
                number = float(value) if isinstance(value, (int, float)) else math.nan
                reading.cells.append(
                    Cell(model, case, labels.get(_values(key), key), name.lower(), number, status, file.name)
                )
    return reading


def _status(metrics: dict[str, Any]) -> Status | None:
    if "n_pred" not in metrics or "n_ref" not in metrics:
        return None
    return Status.of(in_pred=metrics["n_pred"] > 0, in_gt=metrics["n_ref"] > 0)


def _values(key: object) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", str(key)))


def _label_names(file: Path) -> dict[tuple[int, ...], str]:
    for folder in (file.parent, file.parent.parent):
        described = folder / "dataset.json"
        if described.is_file():
            data = load_json(described)
            labels = data.get("labels", {}) if isinstance(data, dict) else {}
            return {_values(value): str(name) for name, value in labels.items() if not str(name).isdigit()}
    return {}
