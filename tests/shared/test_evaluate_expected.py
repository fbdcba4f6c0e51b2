"""Every row of the reference tables, and every format of the conventions, from the files through evaluate."""

import csv
import json
import math
from collections import defaultdict

import pytest

from segauge import Case, evaluate, read_labels
from tests.conftest import shared_folder

pytestmark = pytest.mark.shared

#: Volumes and Dice are one product and one quotient of whole numbers and header values.
ROUNDING = 1e-12


def table_rows(name, **wanted):
    folder = shared_folder()
    if folder is None:
        return []
    with (folder / "data" / name).open(newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]


def voxel_ml(path):
    return math.prod(read_labels(path).labels.grid.spacing) / 1000


def check_overlap(result, case, structure, row, millilitres):
    found = result.table[case, structure, "gt_volume"].value, result.table[case, structure, "pred_volume"].value
    expected = int(row["n_ref"]) * millilitres, int(row["n_pred"]) * millilitres
    assert found == pytest.approx(expected, rel=ROUNDING), row
    dice = result.table[case, structure, "dice"].value
    assert dice == (pytest.approx(float(row["dice"]), rel=ROUNDING) if row["dice"] else None), row
    assert result.counts[case, structure][:3] == tuple(int(row[key]) for key in ("tp", "fp", "fn")), row


METRICS = ["dice", "pred_volume", "gt_volume"]


@pytest.mark.parametrize("dataset", ["spine", "totalsegmentator"])
def test_label_maps(shared, dataset):
    folder = shared / "data" / dataset
    pairs = defaultdict(list)
    for row in table_rows("expected_overlap.csv", dataset=dataset):
        pairs[row["case"], row["reference"], row["reader"]].append(row)
    assert pairs
    for (case, reference, reader), rows in pairs.items():
        place = folder / case if dataset == "spine" else folder
        gt, pred = (place / f"{name}.nii.gz" for name in (reference, reader))
        structures = {row["structure"]: [int(label) for label in row["labels"].split("+")] for row in rows}
        # A label that is in the prediction alone has a row here, and would be an error in a dataset of one case.
        occurring = {row["structure"]: structures[row["structure"]] for row in rows if int(row["n_ref"])}
        result = evaluate([Case(case, pred, gt)], structures=occurring, metrics=METRICS)
        assert not result.failures
        for row in rows:
            if row["structure"] in occurring:
                check_overlap(result, case, row["structure"], row, voxel_ml(gt))
        # The others exchange the two sides: false positives are then false negatives.
        others = {name: labels for name, labels in structures.items() if name not in occurring}
        if others:
            back = evaluate([Case(case, gt, pred)], structures=others, metrics=METRICS)
            for row in (row for row in rows if row["structure"] in others):
                swapped = {**row, "n_ref": row["n_pred"], "n_pred": row["n_ref"], "fp": row["fn"], "fn": row["fp"]}
                check_overlap(back, case, row["structure"], swapped, voxel_ml(gt))


@pytest.mark.parametrize("n", [1, pytest.param(6, marks=pytest.mark.long)])
def test_folders_of_organs(shared, n):
    rows = defaultdict(list)
    for row in table_rows("expected_overlap.csv", dataset="tcia_oars"):
        rows[row["case"]].append(row)
    folder = shared / "data" / "tcia_oars"
    cases = [
        Case(case, folder / rows[case][0]["reader"] / case, folder / rows[case][0]["reference"] / case)
        for case in sorted(rows)[:n]
    ]
    assert len(cases) == n
    names = list(dict.fromkeys(row["structure"] for case in cases for row in rows[case.case_id]))
    result = evaluate(cases, structures=names, metrics=METRICS)
    assert not result.failures, result.failures
    for case in cases:
        millilitres = voxel_ml(next(case.gt.glob("*.nrrd")))
        for row in rows[case.case_id]:
            check_overlap(result, case.case_id, row["structure"], row, millilitres)


def dicom_rows():
    return [row for row in table_rows("dicom/expected_dicom.csv") if row["number"] not in ("", "0")]


def marks_of(item, *, large_too=False):
    """Mark what is of the large series long: everything it shows, others show on less."""
    return pytest.mark.long if item == "rtstruct_lung1_001" and not large_too else ()


def files_with_rows():
    files = defaultdict(list)
    for row in dicom_rows():
        files[row["item"], row["file"]].append(row)
    return [pytest.param(*key, rows, id="-".join(key), marks=marks_of(key[0])) for key, rows in files.items()]


@pytest.mark.parametrize(("item", "file", "rows"), files_with_rows())
def test_dicom_objects_have_their_voxels(shared, item, file, rows):
    """The file against itself, every segment or region by its name."""
    path = shared / "data" / "dicom" / item / file
    # The table counts every fraction above zero; 1e-6 is below one part of any stored maximum.
    threshold = 1e-6 if "FRACTIONAL" in rows[0]["geometry_types"] else None
    names = [row["label"] for row in rows]
    gt = path if threshold is None else read_labels(path, threshold=threshold).labels  # a threshold is of predictions
    result = evaluate([Case("a", path, gt)], structures=names, metrics=METRICS, threshold=threshold)
    assert not result.failures, result.failures
    found = {row["structure"]: (row["dice"], row["gt_volume"]) for row in result.rows}
    millilitres = voxel_ml(path)
    assert found == {
        row["label"]: (1.0, pytest.approx(int(row["n_voxels"]) * millilitres, rel=ROUNDING)) for row in rows
    }


def test_a_segment_that_is_the_background_is_what_no_segment_holds(shared):
    (row,) = [row for row in table_rows("dicom/expected_dicom.csv") if row["number"] == "0"]
    path = shared / "data" / "dicom" / row["item"] / row["file"]
    result = evaluate([Case("a", path, path)], structures="all", metrics=["dice"])
    assert result.structures == ["Liver"]
    columns, rows, slices = read_labels(path).labels.grid.shape
    # Slices that the file leaves out are background as well, and are in no row of the table.
    left_out = (slices - int(row["planes"])) * columns * rows
    assert result.counts["a", "Liver"][3] == int(row["n_voxels"]) + left_out


def dicom_masks():
    """Each row that comes with a mask of its own as NIfTI."""
    folder = shared_folder()
    found = []
    for row in dicom_rows() if folder is not None else []:
        place = folder / "data" / "dicom" / row["item"]
        stem = row["file"].removesuffix(".dcm")
        for name in (f"expected_roi-{row['number']}", f"{stem}__expected_segment-{row['number']}"):
            if (place / f"{name}.nii.gz").is_file():
                marks = marks_of(row["item"], large_too=row["number"] == "2")
                found.append(
                    pytest.param(row, f"{name}.nii.gz", id=f"{row['item']}-{stem}-{row['number']}", marks=marks)
                )
    return found


@pytest.mark.parametrize(("row", "mask"), dicom_masks())
def test_dicom_objects_meet_their_masks_in_space(shared, row, mask):
    place = shared / "data" / "dicom" / row["item"]
    threshold = 1e-6 if "FRACTIONAL" in row["geometry_types"] else None
    case = Case("a", place / row["file"], place / mask)
    result = evaluate([case], structures={row["label"]: 1}, metrics=["dice", "hd"], threshold=threshold)
    assert not result.failures, result.failures
    assert (result.rows[0]["dice"], result.rows[0]["hd"]) == (1.0, 0.0)


def test_files_that_others_cannot_decode(shared):
    """The two rows without a count: run lengths and deflate of 1-bit frames hold what the other copies hold."""
    place = shared / "data" / "dicom" / "odd_files"
    gt = place / "liver_expb__expected_segment-1.nii.gz"
    cases = [Case(name, place / f"{name}.dcm", gt) for name in ("liver_rle", "liver_deflate")]
    result = evaluate(cases, metrics=["dice"])
    assert [row["dice"] for row in result.rows] == [1.0, 1.0]


@pytest.fixture
def conventions(shared):
    return shared / "data" / "conventions"


@pytest.mark.parametrize(
    "kind", ["overlapping_slicerio", "overlapping_simpleitk", "single_layer_slicerio"], ids=lambda kind: kind
)
def test_slicer_segments_against_their_sources(conventions, kind):
    folder = conventions / "slicer"
    names = read_labels(folder / f"{kind}.seg.nrrd").labels.names.values()
    assert names
    for name in names:
        source = "lesion" if "lesion" in name else name
        case = Case("a", folder / f"{kind}.seg.nrrd", folder / f"source_{source}.nii.gz")
        (row,) = evaluate([case], structures={name: 1}, metrics=["dice", "hd"]).rows
        assert (row["dice"], row["hd"]) == (1.0, 0.0)


def test_totalsegmentator_voxels(conventions):
    folder = conventions / "totalsegmentator"
    expected = json.loads((folder / "expected_voxels.json").read_text())
    for name in ("segmentations", "multilabel_total.nii.gz", "multilabel_roi_subset.nii.gz"):
        result = evaluate([Case("a", folder / name, folder / "segmentations")], structures="all", metrics=METRICS)
        edges = voxel_ml(folder / "segmentations" / "liver.nii.gz")
        volumes = {row["structure"]: row["pred_volume"] for row in result.rows}
        assert volumes == {key: pytest.approx(n * edges, rel=ROUNDING) for key, n in expected.items() if n}


def test_monai_dice(conventions):
    folder = conventions / "monai"
    with (folder / "write_metrics_reports_tensor" / "val_mean_dice_raw.csv").open(newline="") as file:
        theirs = {row["filename"]: list(row.values())[1:] for row in csv.DictReader(file)}
    paths = sorted((folder / "predictions").glob("*.nii.gz"))
    cases = [Case(path.name, path, folder / "labels" / path.name) for path in paths]
    result = evaluate(cases, structures=[1, 2], metrics=["dice"])
    assert set(result.table.cases) == set(theirs)
    for row in result.rows:
        other = float(theirs[row["case_id"]][int(row["structure"].removeprefix("label ")) - 1])
        if row["status"] == "absent":
            assert row["dice"] is None
        else:
            # Theirs is computed in 32 bits; where only the prediction has the structure it has no number.
            assert row["dice"] == (pytest.approx(other, abs=1e-6) if other == other else 0.0)


def test_panoptica_lesions(conventions):
    folder = conventions / "panoptica"
    with (folder / "results.tsv").open(newline="") as file:
        theirs = {row["subject_name"]: row for row in csv.DictReader(file, delimiter="\t")}
    cases = [
        Case(path.name.split(".")[0], path, folder / "references" / path.name)
        for path in sorted((folder / "predictions").glob("*.nii.gz"))
    ]
    # Panoptica ran at IoU 0.25; without a threshold of its own, panoptic quality is at 0.5.
    metrics = ["dice", "lesion_tp", "lesion_fp", "lesion_fn", "pq@0.25"]
    result = evaluate(cases, structures={"lesion": 1, "core": 2}, metrics=metrics, detection_iou=0.25)
    names = dict(zip(metrics, ("global_bin_dsc", "tp", "fp", "fn", "pq"), strict=True))
    for row in result.rows:
        other = theirs[row["case_id"]]
        for key, name in names.items():
            value = other[f"{row['structure']}-{name}"]
            if row["status"] == "present":
                assert row[key] == pytest.approx(float(value), rel=1e-12)
            elif row["status"] == "absent":
                assert row[key] is None or row[key] == float(value or 0)


def test_brats_lesionwise_scores(conventions):
    folder = conventions / "brats_lesionwise"
    official = json.loads((folder / "official_scores.json").read_text())
    regions = {"WT": [1, 2, 3], "TC": [1, 3], "ET": [3]}
    cases = [
        Case(path.name.removesuffix(".nii.gz"), path, folder / "gt" / path.name)
        for path in sorted((folder / "pred").glob("*.nii.gz"))
    ]
    names = {"lesionwise_dice": "LesionWise_Score_Dice", "lesionwise_hd95": "LesionWise_Score_HD95"}
    presets = {preset: f"brats-2023-{preset.removeprefix('BraTS-').lower()}" for preset in official["presets"]}
    keys = [f"{name}@{preset}" for name in names for preset in presets.values()]
    result = evaluate(cases, structures=regions, metrics=keys)
    assert not result.failures
    assert len(result.rows) == 33
    for row in result.rows:
        for preset, ours in presets.items():
            expected = official["cases"][row["case_id"]][preset][row["structure"]]
            for name, theirs in names.items():
                if row["status"] != "absent":  # 1 and 0 there, no number here
                    # Both add the same few numbers, in another order.
                    assert row[f"{name}@{ours}"] == pytest.approx(expected[theirs], rel=1e-12)


def test_misplaced_contours_do_not_pass(conventions):
    """rt-utils misplaces contours on unequal spacings; the score says so, and nothing is silently moved."""
    folder = conventions / "dicom_made" / "aniso_inplane"
    case = Case("a", folder / "rtstruct_rt_utils_MISPLACED.dcm", folder / "nifti" / "liver.nii.gz")
    (row,) = evaluate([case], structures={"liver": 1}, metrics=["dice"], any_frame_of_reference=True).rows
    assert row["status"] == "present"
    assert 0.2 < row["dice"] < 0.95


def test_picai_detection_maps_need_a_threshold(conventions):
    folder = conventions / "picai"
    cases = [
        Case(
            path.name.removesuffix(".nii.gz"),
            folder / "detection_maps" / f"{path.name[:-7]}_detection_map.nii.gz",
            path,
        )
        for path in sorted((folder / "gt").glob("*.nii.gz"))
    ]
    soft = evaluate(cases, metrics=["dice"])
    assert {status.value for status, _ in soft.failures.values()} == {"unreadable"}
    assert all("threshold=0.5" in reason for _, reason in soft.failures.values())
    assert not evaluate(cases, metrics=["dice", "lesion_f1"], threshold=0.5).failures
