"""Touchstone folders: `<results>/<model>/{dsc,nsd}.csv`, wide, one row per case, empty where the organ is absent.

A Dice of exactly 0 is an organ that is there and was missed; an NSD of 0 is that where there is no Dice.
"""

from __future__ import annotations

from pathlib import Path

from segauge.io.tables.cells import Cell, Names, Reading, metric_key, number
from segauge.io.tables.delimited import read_delimited
from segauge.scores import Status

_FILES = ("dsc.csv", "nsd.csv")


def recognises(path: Path) -> bool:
    """Return True for a folder of model folders, or one model folder, with dsc.csv or nsd.csv in it."""
    return path.is_dir() and bool(_model_folders(path))


def _model_folders(path: Path) -> list[Path]:
    folders = [path, *sorted(child for child in path.iterdir() if child.is_dir())]
    return [folder for folder in folders if any((folder / name).is_file() for name in _FILES)]


def read(path: Path, names: Names) -> Reading:
    """Return the scores of all models."""
    reading = Reading([])
    for folder in _model_folders(path):
        model = names.model if names.model and folder == path else folder.name
        for name in _FILES:
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
