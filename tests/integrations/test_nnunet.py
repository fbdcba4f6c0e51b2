"""nnU-Net's evaluation from segauge: the same numbers and keys, its own readers take the file, nothing is hidden."""

import gzip
import json
import math
import re

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.integrations.nnunet import compute_metrics_on_folder
from segauge.io import read_labels
from segauge.io.tables import read_scores
from tests.badinputs.files import AFFINE, nifti_bytes

LABELS = [1, 2, (1, 2)]
COUNTS = ("TP", "FP", "FN", "TN", "n_pred", "n_ref")


def write(folder, name, array, affine=AFFINE):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.nii.gz").write_bytes(gzip.compress(nifti_bytes(array, affine), mtime=0))


@pytest.fixture
def folders(tmp_path):
    """Three cases: both labels, label 2 in neither mask, and an area that is to be ignored."""
    gt = np.zeros((12, 12, 8), dtype=np.uint8)
    gt[2:7, 2:7, 2:6] = 1
    only_one = gt.copy()
    gt[7:10, 2:7, 2:6] = 2
    ignored = gt.copy()
    ignored[2:7, 2:4, 2:6] = 9
    for name, array in (("a", gt), ("b", only_one), ("c", ignored)):
        write(tmp_path / "ref", name, array)
        write(tmp_path / "pred", name, np.where(np.roll(array, 1, axis=0) == 9, 1, np.roll(array, 1, axis=0)))
    return tmp_path / "ref", tmp_path / "pred"


def counted(ref, pred, label, ignore):
    """Return what nnU-Net defines, voxel by voxel."""
    wanted = label if isinstance(label, tuple) else (label,)
    use = np.ones(ref.shape, bool) if ignore is None else ref != ignore
    r, p = np.isin(ref, wanted) & use, np.isin(pred, wanted) & use
    tp, fp, fn = int((r & p).sum()), int((~r & p).sum()), int((r & ~p).sum())
    found = {"TP": tp, "FP": fp, "FN": fn, "TN": int(use.sum()) - tp - fp - fn, "n_pred": tp + fp, "n_ref": tp + fn}
    either = tp + fp + fn
    return {
        **found,
        "Dice": 2 * tp / (2 * tp + fp + fn) if either else math.nan,
        "IoU": tp / either if either else math.nan,
    }


@pytest.mark.parametrize("ignore", [None, 9])
def test_counts_dice_and_means_are_those_that_nnunet_defines(folders, ignore):
    ref, pred = folders
    found = compute_metrics_on_folder(ref, pred, None, None, ".nii.gz", LABELS, ignore, 1)
    expected = []
    for entry in found["metric_per_case"]:
        arrays = [read_labels(entry[side]).labels.layers[0] for side in ("reference_file", "prediction_file")]
        expected.append({label: counted(*arrays, label, ignore) for label in LABELS})
        for label in LABELS:
            measured = {key: entry["metrics"][label][key] for key in (*COUNTS, "Dice", "IoU")}
            assert measured == pytest.approx(expected[-1][label], rel=1e-15, nan_ok=True)  # one division of integers
    assert any(math.isnan(case[2]["Dice"]) for case in expected)
    for label in LABELS:
        for key in (*COUNTS, "Dice", "IoU"):
            mean = np.nanmean([case[label][key] for case in expected])
            assert found["mean"][label][key] == pytest.approx(mean, rel=1e-14)  # a sum in another order
    over_labels = np.mean([found["mean"][label]["Dice"] for label in LABELS])
    assert found["foreground_mean"]["Dice"] == pytest.approx(over_labels, rel=1e-14)


def test_the_file_has_our_metrics_too_and_our_importer_reads_it(folders, tmp_path):
    ref, pred = folders
    target = tmp_path / "summary.json"
    compute_metrics_on_folder(str(ref), str(pred), str(target), None, ".nii.gz", LABELS, 9, 1, metrics=["dice", "hd95"])
    written = json.loads(target.read_text())
    assert set(written["mean"]) == {"1", "2", "(1, 2)"}
    assert written["mean"]["1"]["hd95"] > 0
    estimate = written["segauge"]["estimates"]["1"]["dice"]
    assert estimate["ci_low"] < estimate["value"] < estimate["ci_high"]
    (table,) = read_scores(target).tables.values()
    assert len(table) == 3


def test_a_label_in_no_reference_makes_the_foreground_mean_nan_as_in_nnunet(folders):
    found = compute_metrics_on_folder(*folders, None, None, ".nii.gz", [1, 5], None, 1)
    assert math.isnan(found["mean"][5]["Dice"])
    assert math.isnan(found["foreground_mean"]["Dice"])
    assert found["foreground_mean"]["TP"] == pytest.approx(found["mean"][1]["TP"] / 2)
    assert found["segauge"]["estimates"]["5"]["dice"]["excluded"] == {"absent": 3}


def test_missing_predictions_are_listed_and_counted(folders):
    ref, pred = folders
    (pred / "b.nii.gz").unlink()
    # As in the validation of a fold, whose references are those of all folds.
    found = compute_metrics_on_folder(ref, pred, None, None, ".nii.gz", [1], None, 1)
    assert len(found["metric_per_case"]) == 2
    assert found["not_measured"] == []
    assert found["segauge"]["references_without_prediction"] == ["b"]
    estimate = found["segauge"]["estimates"]["1"]["dice"]
    assert (estimate["n"], estimate["failed"]) == (2, {})
    with pytest.warns(UserWarning, match="1 of 3 cases were not measured"):
        found = compute_metrics_on_folder(ref, pred, None, None, ".nii.gz", [1], None, 1, count_missing=True)
    assert len(found["metric_per_case"]) == 2
    assert [entry["status"] for entry in found["not_measured"]] == ["prediction missing"]
    estimate = found["segauge"]["estimates"]["1"]["dice"]
    assert (estimate["n"], estimate["failed"]) == (3, {"prediction missing": 1})
    assert estimate["value"] == pytest.approx(found["mean"][1]["Dice"] * 2 / 3)
    with pytest.raises(InvalidInput, match=re.escape("has no b.nii.gz (1 of 3")):
        compute_metrics_on_folder(ref, pred, None, None, ".nii.gz", [1], None, 1, chill=False)


def test_a_prediction_elsewhere_is_refused_unless_the_array_is_trusted(folders):
    ref, pred = folders
    moved = AFFINE.copy()
    moved[0, 3] += 40
    write(pred, "a", read_labels(ref / "a.nii.gz").labels.layers[0], moved)
    with pytest.warns(UserWarning, match="a: refused"):
        found = compute_metrics_on_folder(ref, pred, None, None, ".nii.gz", [1], None, 1)
    assert found["not_measured"][0]["status"] == "refused"
    found = compute_metrics_on_folder(ref, pred, None, None, ".nii.gz", [1], None, 1, trust_array=True)
    assert found["metric_per_case"][0]["metrics"][1]["Dice"] == 1.0


class PictureReader:
    """What nnU-Net's reader of PNG files gives: float, with an axis that is not there."""

    def read_seg(self, seg_fname):
        with open(seg_fname, "rb") as file:  # noqa: PTH123 - as nnU-Net's reader, by a name
            return np.load(file)[None, None].astype(np.float32), {"spacing": (999, 1, 1)}


def test_files_that_only_nnunet_reads_come_through_its_reader(tmp_path):
    ref = np.zeros((10, 10), np.uint8)
    ref[2:6, 2:8] = 1
    for side, array in (("ref", ref), ("pred", np.roll(ref, 1, axis=0))):
        (tmp_path / side).mkdir()
        with (tmp_path / side / "x.png").open("wb") as file:
            np.save(file, array)
    found = compute_metrics_on_folder(
        tmp_path / "ref", tmp_path / "pred", None, PictureReader(), ".png", [1], None, 1, metrics=["dice", "hd"]
    )
    assert found["mean"][1]["Dice"] == 0.75
    assert found["mean"][1]["hd"] == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"regions_or_labels": [0, 1]}, "0 is the background"),
        ({"regions_or_labels": []}, "at least one label"),
        ({"output_file": "summary.txt"}, "ends with .json"),
        ({"folder_pred": "nowhere"}, "no such folder"),
        ({"file_ending": ".mha"}, "no prediction that ends with .mha"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(folders, change, words):
    given = {"folder_ref": folders[0], "folder_pred": folders[1], "output_file": None, "regions_or_labels": [1]}
    with pytest.raises(InvalidInput, match=words):
        compute_metrics_on_folder(**{**given, **change})


def test_a_prediction_without_a_reference_is_refused(folders):
    (folders[0] / "c.nii.gz").unlink()
    with pytest.raises(InvalidInput, match=re.escape("has no c.nii.gz")):
        compute_metrics_on_folder(*folders, None, None, ".nii.gz", [1])


@pytest.mark.parametrize("ignore", [None, 9])
def test_against_nnunet_itself(folders, tmp_path, monkeypatch, ignore):
    theirs = pytest.importorskip(
        "nnunetv2.evaluation.evaluate_predictions", reason="nnunetv2 is not installed here", exc_type=ImportError
    )
    from nnunetv2.imageio.simpleitk_reader_writer import SimpleITKIO

    ref, pred = map(str, folders)
    expected = theirs.compute_metrics_on_folder(
        ref, pred, str(tmp_path / "theirs.json"), SimpleITKIO(), ".nii.gz", LABELS, ignore, 1
    )
    found = compute_metrics_on_folder(
        ref, pred, str(tmp_path / "ours.json"), SimpleITKIO(), ".nii.gz", LABELS, ignore, 1
    )
    by_file = {entry["prediction_file"]: entry for entry in found["metric_per_case"]}
    for entry in expected["metric_per_case"]:
        for label in LABELS:
            same = {key: by_file[entry["prediction_file"]]["metrics"][label][key] for key in entry["metrics"][label]}
            assert same == pytest.approx(entry["metrics"][label], rel=1e-15, nan_ok=True)
    for label in LABELS:
        same = {key: found["mean"][label][key] for key in expected["mean"][label]}
        assert same == pytest.approx(expected["mean"][label], rel=1e-14, nan_ok=True)
    same = {key: found["foreground_mean"][key] for key in expected["foreground_mean"]}
    assert same == pytest.approx(expected["foreground_mean"], rel=1e-14, nan_ok=True)
    read = theirs.load_summary_json(str(tmp_path / "ours.json"))
    assert set(read["mean"]) == set(expected["mean"])
    assert read["foreground_mean"]["Dice"] == pytest.approx(expected["foreground_mean"]["Dice"])
