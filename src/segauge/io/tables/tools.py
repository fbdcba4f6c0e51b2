"""Result files of other tools: Touchstone, MONAI, panoptica and nnU-Net.

Touchstone folders, `<results>/<model>/{dsc,nsd}.csv`, are wide, one row per case, empty where the organ is absent. A
Dice of exactly 0 is an organ that is there and was missed; an NSD of 0 is that where there is no Dice.

MONAI's `<metric>_raw.csv` have one row per image, one column per class, and their mean; nan where the ground truth
lacks the class, and inf or nan for distances where one side is empty. The metrics of one case and class together tell
what happened: a Dice of 0 without a distance is a missed class, an infinite distance without a Dice a spurious one; all
of them nan is taken for absent (MONAI does not say whether something was predicted there).

panoptica has `results.tsv` (columns `<group>-<metric>`), `results.jsonl`, and dumped `to_dict()` JSON. The instance
counts of a subject and group say whether it was there and found. Rows of single instances are left out.

nnU-Net's summary.json has Dice and IoU per case and label or region; the voxel counts say what was missed. Keys are
label numbers or tuples written as text ("(1, 2, 3)"); NaN is written literally. If a dataset.json lies next to the file
or one folder up, structures get its names. nnU-Net leaves cases without a prediction out of the file.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.gate import load_json, parse_json, read_bytes
from segauge.io.tables.cells import Cell, Names, Reading, case_name, metric_key, number
from segauge.io.tables.delimited import read_delimited
from segauge.scores import Status

_TOUCHSTONE_FILES = ("dsc.csv", "nsd.csv")


def is_touchstone(path: Path) -> bool:
    """Return True for a folder of model folders, or one model folder, with dsc.csv or nsd.csv in it."""
    return path.is_dir() and bool(_model_folders(path))


def _model_folders(path: Path) -> list[Path]:
    folders = [path, *sorted(child for child in path.iterdir() if child.is_dir())]
    return [folder for folder in folders if any((folder / name).is_file() for name in _TOUCHSTONE_FILES)]


def read_touchstone(path: Path, names: Names) -> Reading:
    """Return the scores of all models."""
    reading = Reading([])
    for folder in _model_folders(path):
        model = names.model if names.model and folder == path else folder.name
        for name in _TOUCHSTONE_FILES:
            if (folder / name).is_file():
                _read_file(folder / name, model, reading)
    return reading


def _read_file(path: Path, model: str, reading: Reading) -> None:
    table = read_delimited(path)
    reading.remarks.extend(f"{model}/{remark}" for remark in table.remarks)
    metric = metric_key(path.stem)
    says_missed = metric == "dice" or not (path.parent / "dsc.csv").is_file()
    for i, row in enumerate(table.rows):
        where = f"{model}/{table.where(i)}"
        for structure, text in zip(table.header[1:], row[1:], strict=True):
            value = number(text, where)
            # An empty cell has no status of its own: the audit compares it with the other models'. A surface may agree
            # nowhere although the masks overlap: where there is a Dice, that says whether the structure was missed.
            status = Status.MISSED if value == 0 and says_missed else None
            reading.cells.append(Cell(model, row[0], structure, metric, value, status, where))


_RAW_ENDING = "_raw.csv"


def is_monai(path: Path) -> bool:
    """Return True for a folder with raw metric files, or one such file."""
    return path.name.endswith(_RAW_ENDING) if path.is_file() else path.is_dir() and any(path.glob(f"*{_RAW_ENDING}"))


def read_monai(path: Path, names: Names) -> Reading:
    """Return the scores of one folder (all its metrics) or file."""
    files = [path] if path.is_file() else sorted(path.glob(f"*{_RAW_ENDING}"))
    model = names.model or (path if path.is_dir() else path.parent).name
    values: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    reading = Reading([])
    for file in files:
        table = read_delimited(file)
        reading.remarks.extend(table.remarks)
        metric = metric_key(file.name.removesuffix(_RAW_ENDING))
        for i, row in enumerate(table.rows):
            for column, text in zip(table.header[1:], row[1:], strict=True):
                if column != "mean":
                    values[case_name(row[0]), column][metric] = number(text, table.where(i))
    for (case, structure), found in values.items():
        status = _monai_status(found)
        for metric, value in found.items():
            finite = value if math.isfinite(value) else math.nan
            reading.cells.append(Cell(model, case, structure, metric, finite, status, f"{metric}{_RAW_ENDING}"))
    return reading


def _monai_status(found: dict[str, float]) -> Status:
    dice = next((value for metric, value in found.items() if metric in ("dice", "surface_dice", "iou")), math.nan)
    if all(math.isfinite(value) for value in found.values()):
        return Status.PRESENT
    if dice == 0:
        return Status.MISSED
    return Status.SPURIOUS if any(math.isinf(value) for value in found.values()) else Status.ABSENT


#: Scores of panoptica; counts, volumes and standard deviations describe the subject, not how good the result is.
_PANOPTICA_METRICS = ("prec", "rec", "rq", "sq", "pq", "sq_dsc", "pq_dsc", "sq_assd", "pq_assd", "global_bin_dsc")
_INSTANCE = re.compile(r".+_inst_\d+")


def is_panoptica(path: Path) -> bool:
    """Return True for the three forms."""
    if path.suffix.lower() == ".tsv":
        return read_delimited(path).column("subject_name") == 0
    if path.suffix.lower() == ".jsonl":
        return b'"subject_name"' in read_bytes(path)[:200]
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    data = load_json(path)
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    inner = next(iter(first.values()), None) if isinstance(first, dict) else None
    return isinstance(inner, dict) and "n_ref_instances" in inner


def read_panoptica(path: Path, names: Names) -> Reading:
    """Return the scores of all subjects and groups."""
    reading = Reading([])
    model = names.model or path.stem
    for subject, group, found in _panoptica_groups(path):
        status = Status.of(in_pred=found.get("n_pred_instances", 0) > 0, in_gt=found.get("n_ref_instances", 0) > 0)
        for metric in _PANOPTICA_METRICS:
            if metric in found:
                value = found[metric]
                finite = value if math.isfinite(value) else math.nan
                reading.cells.append(Cell(model, subject, group, metric, finite, status, path.name))
    return reading


def _panoptica_groups(path: Path) -> Iterator[tuple[str, str, dict[str, float]]]:
    if path.suffix.lower() == ".tsv":
        yield from _tsv_groups(path)
        return
    if path.suffix.lower() == ".jsonl":
        lines = [parse_json(line, path.name) for line in read_bytes(path).splitlines() if line.strip()]
        subjects = [(entry["subject_name"], entry["groups"]) for entry in lines]
    else:
        subjects = list(load_json(path).items())
    for subject, groups in subjects:
        for group, found in groups.items():
            yield str(subject), str(group), _numbers(found)


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    plain = {key: value for key, value in found.items() if value is None or isinstance(value, (int, float))}
    return {key: math.nan if value is None else float(value) for key, value in plain.items()}


def _tsv_groups(path: Path) -> Iterator[tuple[str, str, dict[str, float]]]:
    table = read_delimited(path)
    for i, row in enumerate(table.rows):
        if _INSTANCE.fullmatch(row[0]):
            continue
        groups: dict[str, dict[str, float]] = {}
        for column, text in zip(table.header[1:], row[1:], strict=True):
            group, _, metric = column.rpartition("-")
            groups.setdefault(group, {})[metric] = number(text, table.where(i))
        for group, found in groups.items():
            yield row[0], group, found


def is_nnunet(path: Path) -> bool:
    """Return True for a summary.json of nnU-Net, or the folder it lies in."""
    file = path / "summary.json" if path.is_dir() else path
    if not file.is_file() or file.suffix.lower() != ".json":
        return False
    data = load_json(file)
    return isinstance(data, dict) and "metric_per_case" in data


def read_nnunet(path: Path, names: Names) -> Reading:
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
            status = _nnunet_status(metrics)
            for name in ("Dice", "IoU"):
                value = metrics.get(name)
                found = float(value) if isinstance(value, (int, float)) else math.nan
                reading.cells.append(
                    Cell(model, case, labels.get(_values(key), key), name.lower(), found, status, file.name)
                )
    return reading


def _nnunet_status(metrics: dict[str, Any]) -> Status | None:
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
