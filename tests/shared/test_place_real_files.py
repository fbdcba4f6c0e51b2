"""Real files of one scan in several formats meet in space."""

import numpy as np
import pytest

from segauge.errors import GridMismatch
from segauge.grid import Grid, Kinship
from segauge.io import load_rtstruct, read_labels
from segauge.io.dicom_series import read_series
from segauge.placement import Method, place

pytestmark = pytest.mark.shared

MADE = ["aniso_inplane", "iso_inplane_square"]


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("file", ["seg_binary_empty_frames_omitted", "seg_labelmap"])
def test_a_segmentation_without_its_empty_frames_meets_the_whole_label_map(shared, kind, file):
    folder = shared / "data" / "conventions" / "dicom_made" / kind
    seg = read_labels(folder / f"{file}.dcm").labels
    gt = read_labels(folder / "nifti" / "labelmap.nii.gz").labels
    placed = place(seg, gt)
    assert seg.grid.shape[2] < 40
    assert placed.method is Method.PLACED
    for number in (2, 3):
        assert np.array_equal(placed.pred.mask(number).array, gt.mask(number).array)
    back = place(gt, seg)
    assert np.count_nonzero(back.pred.layers[0]) == np.count_nonzero(gt.layers[0])
    assert np.array_equal(back.pred.mask(3).array, back.gt.mask(3).array)


@pytest.mark.parametrize("kind", MADE)
def test_a_series_lies_where_its_nifti_lies(shared, kind):
    folder = shared / "data" / "conventions" / "dicom_made" / kind
    gt = read_labels(folder / "nifti" / "liver.nii.gz").labels
    assert read_series(folder / "ct").grid.relation_to(gt.grid).kind is not Kinship.DIFFERENT


def test_contours_are_filled_on_the_ground_truths_grid(shared):
    folder = shared / "data" / "conventions" / "dicom_made" / "iso_inplane_square"
    truth = folder / "nifti" / "kidney.nii.gz"
    labels = read_labels(folder / "rtstruct_rt_utils.dcm", reference=truth).labels
    number = next(number for number, name in labels.names.items() if name == "kidney")
    gt = read_labels(truth).labels
    placed = place(labels, gt)
    assert placed.method is Method.SAME
    assert np.array_equal(placed.pred.mask(number).array, gt.layers[0] != 0)


def test_totalsegmentators_result_lies_on_its_series(shared):
    folder = shared / "data" / "totalsegmentator"
    result = read_labels(folder / "example_seg_dicom.nii.gz").labels
    series = read_series(folder / "example_ct_dicom")
    assert result.grid.relation_to(series.grid).kind is Kinship.REORIENTABLE


def test_a_cut_image_with_the_affine_of_the_whole_is_seen_as_a_part(shared):
    """The file says so, wrongly: only doctor can find out, by what the voxels show. The note says what was done."""
    folder = shared / "data" / "totalsegmentator"
    part = read_labels(folder / "example_seg.nii.gz").labels
    whole = read_labels(folder / "example_seg_fast_force_split.nii.gz").labels
    placed = place(part, whole)
    assert placed.method is Method.PLACED
    assert "of the same lattice" in placed.notes[0]


def test_two_scans_are_refused(shared):
    folder = shared / "data" / "kits23_readers" / "reference"
    one, other = (read_labels(folder / f"case_{k}.nii.gz").labels for k in ("00002", "00003"))
    with pytest.raises(GridMismatch, match=r"shape .* against"):
        place(one, other)


@pytest.mark.parametrize("file", ["invalid_reference_rt.dcm", "non_existent_reference_rt.dcm"])
def test_contours_with_bad_references_to_single_images_are_filled(shared, file):
    folder = shared / "data" / "dicom" / "rtstruct_rt_utils" / "mock_data"
    labels = read_labels(folder / file, reference=folder).labels
    assert labels.grid.shape == (512, 512, 2)
    assert len(labels.names) == 4


def test_a_frame_of_reference_that_rt_utils_invented(shared):
    folder = shared / "data" / "dicom" / "rtstruct_rt_utils" / "mock_data"
    with pytest.raises(GridMismatch, match="frame of reference"):
        read_labels(folder / "rt.dcm", reference=folder)
    forced = read_labels(folder / "rt.dcm", reference=folder, any_frame_of_reference=True).labels
    mask, _ = load_rtstruct(folder, folder / "rt.dcm", "ROI-1")
    assert np.array_equal(mask, forced.mask(1).array.transpose(1, 0, 2))


def test_points_without_images_are_told(shared):
    path = shared / "data" / "dicom" / "odd_files" / "rtstruct_points_no_image.dcm"
    grid = Grid.from_spacing((50, 50, 50), 10.0, origin=(-250, -250, -250))
    reading = read_labels(path, reference=grid)
    assert sum("1 contour of type POINT" in note for note in reading.notes) == 2
