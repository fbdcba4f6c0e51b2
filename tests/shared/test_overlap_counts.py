"""Exact overlap counts of real readers by measure() and of the big pairs; from files: test_read_expected.py."""

import csv
from collections import defaultdict

import numpy as np
import pytest

from segauge import Grid, Labeling, LabelMap, measure
from segauge.geometry.masks import tabulate

pytestmark = pytest.mark.shared


def rows_by_pair(path):
    pairs = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            pairs[row["dataset"], row["case"], row["reference"], row["reader"]].append(row)
    return pairs


def read(path):
    if path.suffix == ".nrrd":
        return pytest.importorskip("nrrd").read(str(path))[0]
    return np.asarray(pytest.importorskip("nibabel").load(path).dataobj)


def check_counts(pred, gt, rows):
    table = tabulate(pred, gt)
    for row in rows:
        labels = [int(label) for label in row["labels"].split("+")]
        overlap = table.overlap(labels, labels)
        found = (overlap.gt_count, overlap.pred_count, overlap.tp, overlap.fp, overlap.fn)
        assert found == tuple(int(row[key]) for key in ("n_ref", "n_pred", "tp", "fp", "fn")), row


def test_dice_through_measure(shared):
    folder = shared / "data" / "kits23_readers"
    pairs = rows_by_pair(shared / "data" / "expected_overlap.csv")
    case = sorted(key[1] for key in pairs if key[0] == folder.name)[0]
    rows = pairs[folder.name, case, "reference", "reader1"]
    gt, pred = (read(folder / reader / f"{case}.nii.gz") for reader in ("reference", "reader1"))
    grid = Grid.from_spacing(gt.shape)
    structures = {row["structure"]: [int(label) for label in row["labels"].split("+")] for row in rows}
    result = measure(LabelMap((pred,), grid), LabelMap((gt,), grid), Labeling.of(structures), ["dice"])
    for row in rows:
        value = result[row["structure"], "dice"].value
        assert value == (pytest.approx(float(row["dice"]), abs=1e-15) if row["dice"] else None)


@pytest.mark.slow
def test_big_pairs(shared):
    folder = shared / "data" / "perf"
    files = {
        "kits23/case_00066 reference vs reader1": ("kits23/reader1/case_00066", "kits23/reference/case_00066"),
        "kits23/case_00116 reference vs reader3": ("kits23/reader3/case_00116", "kits23/reference/case_00116"),
    }
    with (folder / "expected_overlap.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for pair, paths in files.items():
        pred, gt = (read(folder / f"{path}.nii.gz") for path in paths)
        table = tabulate(pred, gt)
        expected = [row for row in rows if row["pair"] == pair]
        assert expected
        for row in expected:
            labels = [int(label) for label in row["label"].split("+")]
            overlap = table.overlap(labels, labels)
            assert (overlap.tp, overlap.fp, overlap.fn) == tuple(int(row[key]) for key in ("tp", "fp", "fn"))
