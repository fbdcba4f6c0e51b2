"""MONAI's `<metric>_raw.csv` files: one row per image, one column per class, and their mean.

MONAI writes nan where the ground truth lacks the class, and inf or nan for distances where one side is empty. The
metrics of one case and class together tell what happened: a Dice of 0 without a distance is a missed class, an
infinite distance without a Dice a spurious one; all of them nan is taken for absent (MONAI does not say whether
something was predicted there).
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from segauge.io.tables.cells import Cell, Names, Reading, case_name, metric_key, number
from segauge.io.tables.delimited import read_delimited
from segauge.scores import Status

_ENDING = "_raw.csv"


def recognises(path: Path) -> bool:
    """Return True for a folder with raw metric files, or one such file."""
    return path.name.endswith(_ENDING) if path.is_file() else path.is_dir() and any(path.glob(f"*{_ENDING}"))


def read(path: Path, names: Names) -> Reading:
    """Return the scores of one folder (all its metrics) or file."""
    files = [path] if path.is_file() else sorted(path.glob(f"*{_ENDING}"))
    model = names.model or (path if path.is_dir() else path.parent).name
    values: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    reading = Reading([])
    for file in files:
        table = read_delimited(file)
        reading.remarks.extend(table.remarks)
        metric = metric_key(file.name.removesuffix(_ENDING))
        for i, row in enumerate(table.rows):
            for column, text in zip(table.header[1:], row[1:], strict=True):
                if column != "mean":
                    values[case_name(row[0]), column][metric] = number(text, table.where(i))
    for (case, structure), found in values.items():
        status = _status(found)
        for metric, value in found.items():
            finite = value if math.isfinite(value) else math.nan
            reading.cells.append(Cell(model, case, structure, metric, finite, status, f"{metric}{_ENDING}"))
    return reading


def _status(found: dict[str, float]) -> Status:
    dice = next((value for metric, value in found.items() if metric in ("dice", "surface_dice", "iou")), math.nan)
    if all(math.isfinite(value) for value in found.values()):
        return Status.PRESENT
    if dice == 0:
        return Status.MISSED
    return Status.SPURIOUS if any(math.isinf(value) for value in found.values()) else Status.ABSENT
