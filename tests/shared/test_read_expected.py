"""Every row of the reference tables, counted through our readers with plain NumPy."""

import csv
import json
from functools import lru_cache
from pathlib import Path

import nibabel
import numpy as np
import pytest

from segauge.grid import Kinship
from segauge.io import read_labels
from segauge.io.sources import load_mask, load_rtstruct
from tests.conftest import shared_folder

pytestmark = pytest.mark.shared


def _rows(table: str) -> list[dict[str, str]]:
    folder = shared_folder()
    if folder is None:
        return []
    with (folder / "data" / table).open(newline="") as file:
        return list(csv.DictReader(file))


@lru_cache(maxsize=1)
def _pairs() -> dict[tuple[str, str, str, str], list[dict[str, str]]]:
    pairs: dict[tuple[str, str, str, str], list[dict[str, str]]] = {}
    for row in _rows("expected_overlap.csv"):
        pairs.setdefault((row["dataset"], row["case"], row["reference"], row["reader"]), []).append(row)
    return pairs


@lru_cache(maxsize=4)
def _labels(path: Path):
    """Return the label map, and the sorted flat indices of the voxels of each label."""
    labels = read_labels(path).labels
    voxels: dict[int, np.ndarray] = {}
    for layer in labels.layers:
        flat = layer.ravel(order="F")
        foreground = np.flatnonzero(flat)
        for label in np.unique(flat[foreground]):
            voxels[int(label)] = foreground[flat[foreground] == label]
    return labels, voxels


def _source(data: Path, dataset: str, case: str, reader: str) -> Path:
    if dataset == "kits23_readers":
        return data / dataset / reader / f"{case}.nii.gz"
    if dataset == "tcia_oars":
        return data / dataset / reader / case
    if dataset == "spine":
        return data / dataset / case / f"{reader}.nii.gz"
    return data / dataset / f"{reader}.nii.gz"


def _marked(pair: tuple[str, ...]):
    """Mark the large ones long, but for one pair: they are up to a hundred million voxels.

    Folders of organs (`tcia_oars`) are met, with the same counts, where whole files are evaluated.
    """
    large = pair[0] in ("kits23_readers", "tcia_oars") and pair[1:] != ("case_00002", "reference", "reader1")
    return pytest.param(pair, marks=pytest.mark.long if large else (), id="-".join(pair))


@pytest.mark.parametrize("pair", [_marked(pair) for pair in _pairs()])
def test_overlap_counts_are_exact(shared, pair):
    dataset, case, reference, reader = pair
    gt, gt_voxels = _labels(_source(shared / "data", dataset, case, reference))
    pred, pred_voxels = _labels(_source(shared / "data", dataset, case, reader))
    assert pred.grid.relation_to(gt.grid).kind is Kinship.SAME
    none = np.empty(0, dtype=np.int64)
    for row in _pairs()[pair]:
        wanted = [int(label) for label in row["labels"].split("+")]
        if dataset == "tcia_oars":
            wanted = [next(label for label, name in gt.names.items() if name == row["structure"])]
        g = np.concatenate([gt_voxels.get(label, none) for label in wanted])
        p = np.concatenate([pred_voxels.get(label, none) for label in wanted])
        tp = len(np.intersect1d(g, p, assume_unique=True))
        counts = [len(g), len(p), tp, len(p) - tp, len(g) - tp]
        assert counts == [int(row[key]) for key in ("n_ref", "n_pred", "tp", "fp", "fn")], row


@lru_cache(maxsize=1)
def _read_once(path: Path, threshold: float | None):
    return read_labels(path, threshold=threshold).labels


def _dicom_rows() -> list[dict[str, str]]:
    return [row for row in _rows("dicom/expected_dicom.csv") if row["number"]]


@pytest.mark.parametrize("row", _dicom_rows(), ids=lambda row: f"{row['item']}-{row['file']}-{row['number']}")
def test_dicom_voxels_are_exact(shared, row):
    path = shared / "data" / "dicom" / row["item"] / row["file"]
    # The table counts every fraction above zero; 1e-6 is below one part of any stored maximum.
    labels = _read_once(path, 1e-6 if "FRACTIONAL" in row["geometry_types"] else None)
    number = int(row["number"])
    voxels = sum(int(np.count_nonzero(layer == number)) for layer in labels.layers)
    if number == 0:
        absent = labels.grid.shape[2] - int(row["planes"])
        voxels -= absent * labels.grid.shape[0] * labels.grid.shape[1]
    else:
        assert labels.names[number] == row["label"]
    # For contours through pixel centres the README allows a difference; our rule needs none.
    assert voxels == int(row["n_voxels"])
    if row["n_voxels_reference_mask"].startswith(">=50%:"):
        half = read_labels(path).labels
        assert np.count_nonzero(half.layers[0] == number) == int(row["n_voxels_reference_mask"].removeprefix(">=50%:"))


@pytest.mark.parametrize(
    ("item", "file", "mask"),
    [
        ("rtstruct_ibsi_ct_phantom", "rtstruct.dcm", "mask_reference.nii.gz"),
        ("rtstruct_sts002_ct", "rtstruct.dcm", "mask_reference.nii.gz"),
        pytest.param("rtstruct_lung1_001", "rtstruct.dcm", "expected_roi-7.nii.gz", marks=pytest.mark.slow),
        ("rtstruct_sts001_mr_t2_oblique", "rtstruct.dcm", "expected_roi-2.nii.gz"),
        ("seg_ucsf_br06_sagittal_fractional", "seg.dcm", "seg__expected_segment-1.nii.gz"),
        ("seg_dcmqi_liver", "partial_overlaps.dcm", "partial_overlaps__expected_segment-3.nii.gz"),
        ("seg_dcmqi_23x38x3", "seg.dcm", "seg__expected_segment-1.nii.gz"),
        ("odd_files", "liver_j2k.dcm", "liver_j2k__expected_segment-1.nii.gz"),
        ("odd_files", "liver_expb.dcm", "liver_expb__expected_segment-1.nii.gz"),
        ("odd_files", "liver_nonbyte_aligned.dcm", "liver_nonbyte_aligned__expected_segment-1.nii.gz"),
    ],
)
def test_dicom_masks_equal_in_space(shared, item, file, mask):
    folder = shared / "data" / "dicom" / item
    labels = read_labels(folder / file).labels
    number = int(mask.split("-")[-1].split(".")[0]) if "-" in mask else 1
    expected = read_labels(folder / mask).labels
    ours = expected.on_grid_of(labels)
    layer = next(layer for layer in labels.layers if (layer == number).any())
    assert np.array_equal(ours.layers[0] != 0, layer == number)


@pytest.mark.parametrize("file", ["liver_deflate.dcm", "liver_rle.dcm"])
def test_frames_that_pydicom_cannot_decode(shared, file):
    labels = read_labels(shared / "data" / "dicom" / "odd_files" / file).labels
    assert np.count_nonzero(labels.layers[0]) == 107098


@pytest.mark.parametrize("kind", ["aniso_inplane", "iso_inplane_square"])
@pytest.mark.parametrize(
    "file",
    ["seg_binary_empty_frames_omitted", "seg_binary_all_frames", "seg_fractional_probability", "seg_labelmap"],
)
def test_oblique_segmentations_of_highdicom(shared, kind, file):
    folder = shared / "data" / "conventions" / "dicom_made" / kind
    expected = json.loads((folder / "expected.json").read_text())
    reading = read_labels(folder / f"{file}.dcm")
    facts = expected["files"][f"{file}.dcm"]
    counts = [int(reading.labels.mask(number).array.sum()) for number in (1, 2, 3)]
    assert counts == facts.get("voxels", facts.get("voxels_at_or_above_half"))
    assert list(reading.labels.names.values()) == ["liver", "lesion", "kidney"]
    if "all_frames" in file:
        liver = read_labels(folder / "nifti" / "liver.nii.gz").labels.on_grid_of(reading.labels)
        assert np.array_equal(liver.layers[0] != 0, reading.labels.mask(1).array)


def test_contours_of_rt_utils_come_back_voxel_by_voxel(shared):
    folder = shared / "data" / "conventions" / "dicom_made" / "iso_inplane_square"
    labels = read_labels(folder / "rtstruct_rt_utils.dcm", reference=folder / "ct").labels
    for number, name in labels.names.items():
        truth = read_labels(folder / "nifti" / f"{name}.nii.gz").labels.on_grid_of(labels)
        assert np.array_equal(truth.layers[0] != 0, labels.mask(number).array)


def test_misplaced_contours_keep_their_area(shared):
    """Contours that rt-utils put at the wrong place: the area is the polygons' own."""
    folder = shared / "data" / "conventions" / "dicom_made" / "aniso_inplane"
    reading = read_labels(folder / "rtstruct_rt_utils_MISPLACED.dcm")
    # 9274 is the shoelace area in pixels; a count of centres differs by a fraction of the outline (15 x ~100 pixels).
    assert np.count_nonzero(reading.labels.mask(1).array) == pytest.approx(9274, rel=0.005)
    assert any("beyond the image" in note for note in reading.notes)


def test_load_functions_of_the_first_release(shared):
    folder = shared / "data" / "dicom"
    mask, spacing = load_rtstruct(
        folder / "rtstruct_lung1_001" / "ct", folder / "rtstruct_lung1_001" / "rtstruct.dcm", "GTV-1"
    )
    assert (mask.shape, mask.dtype, int(mask.sum())) == ((512, 512, 134), np.bool_, 54639)
    assert spacing == pytest.approx((0.9765625, 0.9765625, 3.0))
    mask, spacing = load_mask(folder / "seg_dcmqi_23x38x3" / "seg.dcm", segment_number=1)
    assert (mask.shape, int(mask.sum())) == ((3, 38, 23), 322)
    assert spacing == pytest.approx((2.5, 0.7, 0.7))
    path = shared / "data" / "kits23_readers" / "reference" / "case_00002.nii.gz"
    mask, spacing = load_mask(path, label=2)
    image = nibabel.load(path)
    assert int(mask.sum()) == 41936
    assert spacing == pytest.approx(image.header.get_zooms())


def test_slicer_segmentations(shared):
    folder = shared / "data" / "conventions" / "slicer"
    expected = json.loads((folder / "expected.json").read_text())
    to_ras = np.diag([-1.0, -1.0, 1.0, 1.0])
    for path in sorted(folder.glob("overlapping*.seg.nrrd")):
        labels = read_labels(path).labels
        # The affine is written with 17 digits.
        np.testing.assert_allclose(labels.grid.affine, to_ras @ np.array(expected["ijk_to_lps"]), atol=1e-9)
        assert labels.grid.shape == tuple(expected["shape_ijk"])
        counts = {name: int(labels.mask(number).array.sum()) for number, name in labels.names.items()}
        assert counts == {name: facts["voxels"] for name, facts in expected["segments"].items()}
    labels = read_labels(folder / "single_layer_slicerio.seg.nrrd").labels
    assert len(labels.layers) == 1
    assert {"liver", "kidney"} & set(labels.names.values())


def test_totalsegmentator_files(shared):
    folder = shared / "data" / "conventions" / "totalsegmentator"
    expected = json.loads((folder / "expected_voxels.json").read_text())
    whole = read_labels(folder / "multilabel_total.nii.gz").labels
    assert len(whole.names) == 117
    masks = read_labels(folder / "segmentations").labels
    for labels in (whole, masks):
        number_of = {name: number for number, name in labels.names.items()}
        for name, voxels in _voxels_by_name(expected).items():
            if name in number_of:
                assert int(labels.mask(number_of[name]).array.sum()) == voxels
    assert "gallbladder" in masks.names.values()


def _voxels_by_name(expected):
    return {name: int(value) for name, value in expected.items() if isinstance(value, int)}


def test_a_real_folder_of_masks_holds_what_the_label_map_holds(shared):
    folder = shared / "data" / "totalsegmentator"
    masks = read_labels(folder / "example_seg_fast").labels
    whole = read_labels(folder / "example_seg_fast.nii.gz").labels
    assert len(masks.names) == 117
    assert sum(int(np.count_nonzero(layer)) for layer in masks.layers) == 111381
    number_of = {name: number for number, name in masks.names.items()}
    for number in whole.labels():
        other = masks.mask(number_of[whole.names[number]]).array
        assert np.array_equal(whole.mask(number).array, other)


def test_grand_challenge_images(shared):
    simple = shared / "data" / "conventions" / "grand_challenge"
    for path in sorted(simple.rglob("*.mha")):
        labels = read_labels(path).labels
        assert labels.grid.ndim == 3
        assert labels.labels()


def test_every_label_map_of_the_conventions_equals_nibabel(shared):
    paths = sorted((shared / "data" / "conventions").rglob("*.nii.gz"))
    assert len(paths) > 80
    for path in paths:
        image = nibabel.load(path)
        probabilities = "detection_map" in path.name
        labels = read_labels(path, threshold=0.5 if probabilities else None).labels
        truth = np.asanyarray(image.dataobj)
        assert np.array_equal(truth >= 0.5 if probabilities else truth, labels.layers[0])
        # float32 affines, multiplied by unit factors of 1.
        np.testing.assert_allclose(labels.grid.affine, image.affine, atol=1e-5)
