"""Layouts and formats as the real tools wrote them, through evaluate."""

import csv
import json
import math
from collections import defaultdict

import pytest

from segauge import Case, evaluate
from segauge.cli import main
from segauge.io.layouts import find_pairs
from segauge.scores import Status

pytestmark = pytest.mark.shared


@pytest.fixture
def conventions(shared):
    return shared / "data" / "conventions"


def cases_of(pairing):
    return [Case(pair.case_id, pair.pred, pair.gt) for pair in pairing.pairs]


def evaluated(pred, gt, **options):
    pairing = find_pairs(pred, gt)
    structures = options.pop("structures", pairing.structures)
    return evaluate(cases_of(pairing), structures=structures, **{"metrics": ["dice", "iou"], **options})


def same(ours, theirs):
    return math.isnan(ours) and math.isnan(theirs) if math.isnan(theirs) else ours == theirs


@pytest.mark.parametrize("kind", ["plain", "regions_ignore"])
def test_nnunet_summary_is_nnunets_own_and_more(conventions, tmp_path, kind, capsys):
    folder = conventions / "nnunet" / kind
    out = tmp_path / "summary.json"
    code = main(["eval", "--pred", str(folder / "predictions"), "--gt", str(folder), "--executor", "serial",
                 "--summary-json", str(out)])  # fmt: skip
    assert code == 3  # one prediction is missing
    ours, theirs = (json.loads(path.read_text()) for path in (out, folder / "predictions" / "summary.json"))
    assert [entry["prediction_file"] is None for entry in ours["not_measured"]] == [True]
    assert len(ours["metric_per_case"]) == len(theirs["metric_per_case"]) == 3
    for one, other in zip(ours["metric_per_case"], theirs["metric_per_case"], strict=True):
        # nnU-Net names the folder, too; results of segauge hold no folders of the machine.
        assert one["reference_file"].rpartition("/")[2] == other["reference_file"].rpartition("/")[2]
        for key, metrics in other["metrics"].items():
            assert all(same(one["metrics"][key][name], value) for name, value in metrics.items())
            assert "hd95" in one["metrics"][key]
    for key, metrics in {**theirs["mean"], "foreground": theirs["foreground_mean"]}.items():
        found = {**ours["mean"], "foreground": ours["foreground_mean"]}[key]
        # Means of a few numbers, summed in another order.
        assert all(found[name] == pytest.approx(value, rel=1e-14, nan_ok=True) for name, value in metrics.items())


def test_nnunet_label_that_never_occurs_is_an_error(conventions, capsys):
    folder = conventions / "nnunet" / "plain_label_absent_everywhere"
    command = ["eval", "--pred", str(folder / "predictions"), "--gt", str(folder / "labelsTr"), "--executor", "serial"]
    assert main(command) == 1
    assert "occurs in none of 4 ground truths" in capsys.readouterr().err


def test_missing_prediction_stays_in_the_mean(conventions):
    folder = conventions / "nnunet" / "plain"
    result = evaluated(folder / "predictions", folder)
    assert result.table.status[3].tolist() == [Status.PREDICTION_MISSING] * 3
    theirs = json.loads((folder / "predictions" / "summary.json").read_text())["mean"]["1"]["Dice"]
    assert result.summary("liver")["dice"].value == pytest.approx(theirs * 3 / 4, rel=1e-14)


def test_totalsegmentator_folder_against_multilabel_file(conventions):
    folder = conventions / "totalsegmentator"
    for name in ("multilabel_total.nii.gz", "multilabel_roi_subset.nii.gz"):
        result = evaluated(folder / name, folder / "segmentations", metrics=["dice", "pred_volume"])
        assert result.structures == ["aorta", "kidney_left", "kidney_right", "liver", "spleen"]
        assert set(result.table.column("liver", "dice")) == {1.0}
        assert (result.table.values[:, :, 0] == 1.0).all()
        back = evaluated(folder / "segmentations", folder / name, structures="all")
        assert back.structures == result.structures
        assert (back.table.values[:, :, 0] == 1.0).all()


def test_bids(conventions):
    pairing = find_pairs(conventions / "bids" / "auto", conventions / "bids" / "manual")
    assert [pair.case_id for pair in pairing.pairs] == ["sub-01_space-orig_dseg", "sub-02_space-orig_dseg"]
    result = evaluate(cases_of(pairing), structures=pairing.structures, metrics=["dice"])
    assert result.structures == ["Gray Matter", "White Matter", "Lesion"]
    assert not result.failures
    masks = find_pairs(conventions / "bids" / "auto", conventions / "bids" / "manual", layout="bids-mask")
    assert not evaluate(cases_of(masks), metrics=["dice"]).failures


def test_grand_challenge(conventions, tmp_path, capsys):
    folder = conventions / "grand_challenge"
    out = tmp_path / "metrics.json"
    main(["eval", "--pred", str(folder / "input"), "--gt", str(folder / "ground_truth"), "--label", "1",
          "--executor", "serial", "--metrics-json", str(out)])  # fmt: skip
    ours, theirs = (json.loads(path.read_text()) for path in (out, folder / "metrics.json"))
    dice = sorted(entry["structures"]["label 1"]["dice"] for entry in ours["results"])
    # Its results carry no names and come in any order.
    assert dice == pytest.approx(sorted(entry["my_metric"] for entry in theirs["results"]), rel=1e-14)
    assert ours["aggregates"]["dice"] == pytest.approx(theirs["aggregates"]["my_metric"], rel=1e-14)


SEGMENTATIONS = ["seg_binary_all_frames", "seg_binary_empty_frames_omitted"]


@pytest.mark.parametrize("series", ["aniso_inplane", "iso_inplane_square"])
def test_dicom_of_an_oblique_series_against_nifti(conventions, series):
    folder = conventions / "dicom_made" / series
    expected = json.loads((folder / "expected.json").read_text())
    for structure in ("liver", "kidney", "lesion"):
        gt = folder / "nifti" / f"{structure}.nii.gz"
        cases = [Case(name, folder / f"{name}.dcm", gt) for name in SEGMENTATIONS]
        names = {segment: number for number, segment in _segments(folder / f"{SEGMENTATIONS[0]}.dcm").items()}
        result = evaluate(cases, segment_number=names[structure], metrics=["dice", "hd"])
        assert not result.failures, result.failures
        assert set(result.table.column("foreground", "dice")) == {1.0}
        fractional = Case("fractional", folder / "seg_fractional_probability.dcm", gt)
        result = evaluate([fractional], segment_number=names[structure], metrics=["pred_volume"])
        assert "fractions of at least 0.5" in " ".join(result.notes["fractional"])
        voxels = expected["files"]["seg_fractional_probability.dcm"]["voxels_at_or_above_half"][names[structure] - 1]
        edges = (*expected["geometry"]["pixel_spacing_row_col"], expected["geometry"]["slice_spacing"])
        # One product of three 32-bit header values.
        assert result.rows[0]["pred_volume"] == pytest.approx(voxels * math.prod(edges) / 1000, rel=1e-6)


def _segments(path):
    from segauge import read_labels

    return {number: name.lower() for number, name in read_labels(path).labels.names.items()}


def test_rtstruct_against_segments(conventions):
    folder = conventions / "dicom_made" / "iso_inplane_square"
    case = Case("a", folder / "rtstruct_rt_utils.dcm", folder / "seg_binary_all_frames.dcm")
    result = evaluate([case], structures="all", metrics=["dice"], any_frame_of_reference=True)
    assert not result.failures, result.failures
    assert result.structures == ["kidney", "lesion", "liver"]
    assert (result.table.values == 1.0).all()


@pytest.mark.parametrize("series", ["aniso_inplane", "iso_inplane_square"])
def test_dicom_label_map_against_nifti(conventions, series):
    folder = conventions / "dicom_made" / series
    case = Case("a", folder / "seg_labelmap.dcm", folder / "nifti" / "labelmap.nii.gz")
    result = evaluate([case], structures=[1, 2, 3], metrics=["dice"])
    assert (result.table.values == 1.0).all()


def test_slicer_segments_by_name(conventions):
    folder = conventions / "slicer"
    case = Case("a", folder / "overlapping_simpleitk.seg.nrrd", folder / "overlapping_slicerio.seg.nrrd")
    result = evaluate([case], structures="all", metrics=["dice"])
    assert not result.failures, result.failures
    assert len(result.structures) == 3
    assert (result.table.values == 1.0).all()


@pytest.mark.long
def test_exact_counts_of_kidney_readers(shared):
    """Every row of expected_overlap.csv on the KiTS23 readers, from the files through evaluate."""
    folder = shared / "data" / "kits23_readers"
    rows = defaultdict(dict)
    structures = {}
    with (shared / "data" / "expected_overlap.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["dataset"] == folder.name:
                structures[row["structure"]] = [int(label) for label in row["labels"].split("+")]
                rows[row["reference"], row["reader"], row["case"]][row["structure"]] = row
    assert len(rows) == 13 * 9
    cases = [
        Case("/".join(key), folder / key[1] / f"{key[2]}.nii.gz", folder / key[0] / f"{key[2]}.nii.gz") for key in rows
    ]
    result = evaluate(cases, structures=structures, metrics=["dice"])
    assert not result.failures
    for key, expected in rows.items():
        for structure, row in expected.items():
            tp, fp, fn, _ = result.counts["/".join(key), structure]
            assert (tp, fp, fn) == tuple(int(row[name]) for name in ("tp", "fp", "fn")), row


def test_autopet_folders_give_the_official_scores(conventions):
    folder = conventions / "autopet"
    metrics = ["dice", "false_positive_volume", "false_negative_volume"]
    result = evaluated(folder / "pred", folder / "gt", metrics=metrics)
    official = json.loads((folder / "official_scores.json").read_text())["cases"]
    assert set(result.table.cases) == set(official)
    for row in result.rows:
        theirs = official[row["case_id"]]
        if row["status"] == "absent":  # 0 / 0 there, no number here
            assert row["dice"] is None
        else:
            assert row["dice"] == pytest.approx(theirs["dice"], rel=1e-14)
        # Theirs multiplies 32-bit voxel edges.
        assert row["false_positive_volume"] == pytest.approx(theirs["false_pos_vol_ml"], rel=1e-6)
        assert row["false_negative_volume"] == pytest.approx(theirs["false_neg_vol_ml"], rel=1e-6)


def test_brats_folders_have_the_states_their_names_say(conventions):
    folder = conventions / "brats_lesionwise"
    regions = {"WT": [1, 2, 3], "TC": [1, 3], "ET": [3]}
    result = evaluated(folder / "pred", folder / "gt", structures=regions)
    assert len(result.table) == 11
    assert not result.failures
    assert result.table["01_perfect", "WT", "dice"].value == 1.0
    assert result.table["06_empty_prediction", "WT", "dice"].status is Status.MISSED
    assert result.table["07_ET_absent_in_both", "ET", "dice"].status is Status.ABSENT
    assert result.table["08_empty_reference", "WT", "dice"].status is Status.SPURIOUS
