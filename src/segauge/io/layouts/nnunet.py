"""nnU-Net: labelsTr or labelsTs against a folder of predictions or fold_X/validation, structures from dataset.json."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.gate import load_json
from segauge.io.layouts.pairs import Pair, Pairing, image_files, once_each, paired
from segauge.io.layouts.structure_files import labeling_of_dataset
from segauge.io.outputs import common_folder, without_folders, write_whole
from segauge.io.streams import list_folder
from segauge.plural import counted
from segauge.scores import ScoreTable, Status

Counts = tuple[int, int, int, int]
#: How nnU-Net calls a structure: by its label or region, as text in a file.
Key = str | int | tuple[int, ...]


def recognises(pred: Path, gt: Path) -> bool:
    """Return True where a dataset.json with labels lies with the ground truth or the predictions."""
    return gt.is_dir() and pred.is_dir() and _dataset_file(pred, gt) is not None


def find(pred: Path, gt: Path) -> Pairing:
    """Pair label files by name; of a validation folder, expect the cases of its fold."""
    described = _dataset_file(pred, gt)
    if described is None:
        raise InvalidInput(f"{gt}: no dataset.json with labels next to it or the predictions; nnU-Net has one.")
    dataset = load_json(described, unique_keys=True)
    ending = str(dataset.get("file_ending", ".nii.gz"))
    preds = _predictions(pred, ending)
    gts = image_files(_labels_folder(gt, preds, ending), ending)
    warnings: list[str] = []
    folds = [folder for folder in _validation_folders(pred) if folder.name == "validation"]
    if folds:
        gts = _expected(gts, folds, described, warnings)
    return paired("nnunet", preds, gts, structures=labeling_of_dataset(dataset, str(described.name)), warnings=warnings)


def _dataset_file(pred: Path, gt: Path) -> Path | None:
    for folder in (gt, gt.parent, pred, pred.parent, pred.parent.parent):
        path = folder / "dataset.json"
        if path.is_file():
            data = load_json(path)
            if isinstance(data, Mapping) and isinstance(data.get("labels"), Mapping):
                return path
    return None


def _validation_folders(pred: Path) -> list[Path]:
    """Return the folder itself, or the validation folders of a fold or of all folds under it."""
    if (pred / "validation").is_dir():
        return [pred / "validation"]
    folds = [path / "validation" for path in list_folder(pred) if path.name.startswith("fold_")]
    return [path for path in folds if path.is_dir()] or [pred]


def _predictions(pred: Path, ending: str) -> dict[str, Path]:
    return once_each(
        (case, path) for folder in _validation_folders(pred) for case, path in image_files(folder, ending).items()
    )


def _labels_folder(gt: Path, preds: Mapping[str, Path], ending: str) -> Path:
    """Return the folder of labels: the one given, or that of a dataset which has the predicted cases."""
    candidates = [gt / name for name in ("labelsTs", "labelsTr") if (gt / name).is_dir()]
    if not candidates:
        return gt
    return max(candidates, key=lambda folder: len(set(image_files(folder, ending)) & set(preds)))


def _expected(gts: dict[str, Path], folds: Sequence[Path], described: Path, warnings: list[str]) -> dict[str, Path]:
    """Return the ground truths of the folds that were validated, by splits_final.json where it can be found."""
    places = [described.parent, *(folder.parent.parent for folder in folds)]
    splits_file = next(
        (place / "splits_final.json" for place in places if (place / "splits_final.json").is_file()), None
    )
    if splits_file is None:
        warnings.append("no splits_final.json was found, so every case of the ground truth is expected in validation")
        return gts
    splits = load_json(splits_file)
    expected: set[str] = set()
    for folder in folds:
        number = folder.parent.name.removeprefix("fold_")
        if number == "all":
            return gts
        try:
            expected.update(map(str, splits[int(number)]["val"]))
        except (ValueError, LookupError, TypeError) as error:
            raise InvalidInput(f"{splits_file}: has no validation cases for {folder.parent.name}.") from error
    nowhere = sorted(expected - gts.keys())
    if nowhere:
        shown = f"{nowhere[0]!r}{' ...' * (len(nowhere) > 1)}"
        cases = counted(len(nowhere), "validation case")
        warnings.append(f"{cases} without a ground truth, which cannot be measured: {shown}")
    return {case: path for case, path in gts.items() if case in expected}


def write_summary(
    path: str | os.PathLike[str],
    table: ScoreTable,
    labels: Mapping[str, tuple[int, ...]],
    pairs: Iterable[Pair],
    counts: Mapping[tuple[str, str], Counts],
) -> Path:
    """Write nnU-Net's summary.json with all our metrics next to its own; files are relative to the common folder."""
    pairs = list(pairs)
    keys = {name: str(values[0]) if len(values) == 1 else str(tuple(values)) for name, values in labels.items()}
    folders = [("gt", common_folder(pair.gt for pair in pairs)), ("pred", common_folder(pair.pred for pair in pairs))]
    content = without_folders(summary_of(table, keys, pairs, counts), folders)
    return write_whole(path, json.dumps(content, indent=4, sort_keys=True) + "\n")


def summary_of(
    table: ScoreTable, keys: Mapping[str, Key], pairs: Iterable[Pair], counts: Mapping[tuple[str, str], Counts]
) -> dict[str, Any]:
    """Return the content of nnU-Net's summary.json; `keys` says under which key each structure stands.

    Keys, means and NaN are nnU-Net's: Dice and IoU of a structure that is in neither mask are NaN, its means are over
    the cases that have a prediction and a number, and the foreground mean is NaN where a structure has no mean. Cases
    that could not be measured stand under "not_measured", which nnU-Net does not know and does not look at.
    """
    measured: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    for pair in pairs:
        files = {"reference_file": str(pair.gt), "prediction_file": None if pair.pred is None else str(pair.pred)}
        if all((pair.case_id, name) in counts for name in table.structures):
            metrics = {keys[name]: _metrics(table, pair.case_id, name, counts) for name in table.structures}
            measured.append({"metrics": metrics, **files})
        else:
            status, reason = table.case_failure(pair.case_id) or (Status.FAILED, "")
            left_out.append({**files, "status": status.value, "reason": reason})
    means = {key: _mean([entry["metrics"][key] for entry in measured]) for key in keys.values()}
    return {
        "foreground_mean": _mean_of_all(list(means.values())),
        "mean": means,
        "metric_per_case": measured,
        "not_measured": left_out,
    }


def _metrics(table: ScoreTable, case: str, name: str, counts: Mapping[tuple[str, str], Counts]) -> dict[str, Any]:
    tp, fp, fn, tn = counts[case, name]
    whole = tp + fp + fn
    own = {
        "Dice": 2 * tp / (2 * tp + fp + fn) if whole else math.nan,
        "IoU": tp / whole if whole else math.nan,
        "TP": tp, "FP": fp, "FN": fn, "TN": tn, "n_pred": tp + fp, "n_ref": tp + fn,
    }  # fmt: skip
    ours = {key: table[case, name, key].value for key in table.metrics if key not in ("dice", "iou")}
    return {**own, **{key: math.nan if value is None else value for key, value in ours.items()}}


def _mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each number over the rows that have it, NaN where none has."""
    keys = dict.fromkeys(key for row in rows for key in row)
    found = {key: [row[key] for row in rows if not math.isnan(row[key])] for key in keys}
    return {key: math.fsum(values) / len(values) if values else math.nan for key, values in found.items()}


def _mean_of_all(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each number over all rows, NaN where one of them has none."""
    return {key: math.fsum(row[key] for row in rows) / len(rows) for key in rows[0]}
