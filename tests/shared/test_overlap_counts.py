"""Every row of the exact overlap counts of real readers, from the files."""

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


@pytest.mark.slow
def test_kidney_readers(shared):
    folder = shared / "data" / "kits23_readers"
    pairs = {
        key: rows
        for key, rows in rows_by_pair(shared / "data" / "expected_overlap.csv").items()
        if key[0] == folder.name
    }
    cache = {}

    def labels(reader, case):
        if (reader, case) not in cache:
            for old in [key for key in cache if key[1] != case]:
                del cache[old]
            cache[reader, case] = read(folder / reader / f"{case}.nii.gz")
        return cache[reader, case]

    assert len(pairs) == 13 * 9
    for (_, case, reference, reader), rows in sorted(pairs.items(), key=lambda item: item[0][1]):
        check_counts(labels(reader, case), labels(reference, case), rows)


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
def test_the_other_data_sets(shared):
    """Head-and-neck organs in one file each, spine and whole-body label maps: found by their own tables."""
    data = shared / "data"
    checked = 0
    for (dataset, case, reference, reader), rows in rows_by_pair(data / "expected_overlap.csv").items():
        if dataset == "tcia_oars":
            for row in rows:
                name = row["structure"]
                masks = [read(data / dataset / who / case / f"{name}.nrrd") for who in (reader, reference)]
                check_counts(*[(mask != 0).astype(np.uint8) * int(row["labels"]) for mask in masks], [row])
                checked += 1
        elif dataset == "totalsegmentator":
            check_counts(*[read(data / dataset / f"{who}.nii.gz") for who in (reader, reference)], rows)
            checked += len(rows)
        elif dataset == "spine":
            check_counts(*[read(next((data / dataset / case).glob(f"*{who}*"))) for who in (reader, reference)], rows)
            checked += len(rows)
    assert checked == 126 + 41 + 62


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
