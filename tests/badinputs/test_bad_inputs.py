"""Each bad input comes to what the catalog says: refused in words that help, or read with a note."""

import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from segauge import errors
from segauge.io import read_labels, streams
from segauge.io.dicom_series import read_series
from tests.badinputs.catalog import CATALOG, BadInput, frame_mask
from tests.badinputs.files import AFFINE, labels


def _read(bad: BadInput, path: Path):
    return read_series(path) if bad.series else read_labels(path, **bad.options)


@pytest.mark.parametrize("bad", CATALOG, ids=lambda bad: f"{bad.number:02}-{bad.name}")
def test_bad_input(bad, tmp_path):
    path = bad.make(tmp_path)
    if bad.refused:
        with pytest.raises(getattr(errors, bad.error), match=re.compile(bad.refused, re.DOTALL)) as caught:
            _read(bad, path)
        assert str(path) in str(caught.value) or tmp_path.name in str(caught.value)
        assert type(caught.value) is getattr(errors, bad.error)
        return
    reading = _read(bad, path)
    if bad.noted:
        assert any(re.search(bad.noted, note) for note in reading.notes), reading.notes
    else:
        assert reading.notes == ()


GZIPPED = [bad for bad in CATALOG if "gzip" in bad.name or bad.number in (4, 6)]


@pytest.mark.parametrize("bad", GZIPPED, ids=lambda bad: bad.name)
def test_gzip_without_the_accelerator(bad, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_zlib_module", lambda: zlib)
    test_bad_input(bad, tmp_path)


def test_the_catalog_covers_the_files():
    numbers = {bad.number for bad in CATALOG}
    assert numbers >= {*range(1, 16), *range(20, 28), *range(37, 47)}


def _made(name: str, folder: Path):
    bad = next(bad for bad in CATALOG if bad.name == name)
    return _read(bad, bad.make(folder))


@pytest.mark.parametrize(
    "name",
    ["gz_that_is_not_gzip", "gzip_that_is_not_named_gz", "gzip_with_garbage_behind", "gzip_in_several_members",
     "bad_pixdim_with_good_sform", "no_space_at_all", "analyze_pair", "sheared_affine", "metres", "micrometres",
     "fourth_axis_of_one", "one_hot", "nearly_whole_floats", "slope_of_nan_means_none", "big_endian",
     "npy_without_spacing", "nrrd_with_a_list_of_files"],
)  # fmt: skip
def test_what_is_read_all_the_same_is_read_right(name, tmp_path):
    assert np.array_equal(_made(name, tmp_path).labels.layers[0], labels())


@pytest.mark.parametrize("name", ["metres", "micrometres", "bad_pixdim_with_good_sform", "big_endian"])
def test_the_place_is_right_in_mm(name, tmp_path):
    # Headers hold 32-bit floats: seven digits of up to 30 mm.
    np.testing.assert_allclose(_made(name, tmp_path).labels.grid.affine, AFFINE, atol=1e-5)


def test_scaling_is_applied(tmp_path):
    assert np.array_equal(_made("scaled_labels", tmp_path).labels.layers[0], labels() * 2)


def test_large_and_negative_labels_are_kept(tmp_path):
    assert _made("labels_large_and_negative", tmp_path).labels.labels() == (-7, 40_000, 80_000, 120_000)


def test_nan_as_background_keeps_the_rest(tmp_path):
    assert np.array_equal(_made("not_a_number_as_background", tmp_path).labels.layers[0], labels())


def test_frames_are_placed_by_position_not_by_index(tmp_path):
    got = _made("seg_out_of_order_with_missing_frames", tmp_path).labels
    assert got.grid.shape == (5, 7, 6)
    for number, slices in ((1, {5: 0, 0: 2}), (2, {2: 1, 3: 0})):
        expected = np.zeros((5, 7, 6), dtype=bool)
        for k, shift in slices.items():
            expected[:, :, k] = frame_mask(shift).T
        assert np.array_equal(got.mask(number).array, expected)
    np.testing.assert_allclose(got.grid.affine[:3, 3], [10, 20, 30])


def test_frames_that_are_no_whole_bytes(tmp_path):
    got = _made("seg_of_35_bits_a_frame", tmp_path).labels
    assert np.array_equal(got.layers[0], np.stack([frame_mask(k).T for k in range(3)], axis=-1))


def test_overlapping_segments_are_all_kept(tmp_path):
    got = _made("seg_with_overlapping_segments", tmp_path).labels
    assert [int(got.mask(number).array.sum()) for number in (1, 2, 3)] == [6, 6, 6]
    assert len(got.layers) == 2


def test_fractions_below_the_threshold_are_background(tmp_path):
    got = _made("seg_fractional", tmp_path).labels
    # 128 of 255 is the smallest value of at least one half; 50 and 0 are below, 200 and 250 above.
    assert np.array_equal(got.layers[0][..., 0] != 0, frame_mask().T)


def test_fractions_of_one_are_a_mask(tmp_path):
    got = _made("seg_fractional_of_ones", tmp_path).labels
    assert np.array_equal(got.layers[0][..., 0] != 0, frame_mask().T)


# Boxes between voxel centres hold whole voxels: 10 x 10, 6 x 6 and 2 x 2. The bow tie of a 6 x 6 box are two triangles
# that meet in its middle; the centres on its diagonals count as inside: per triangle 6 + 4 + 2.
@pytest.mark.parametrize(
    ("name", "voxels"),
    [("contours_nested", 100 - 36 + 4), ("contour_with_a_keyhole", 100 - 36), ("contour_that_crosses_itself", 24)],
)
def test_contours_are_filled_by_the_even_odd_rule(name, voxels, tmp_path):
    assert int(np.count_nonzero(_made(name, tmp_path).labels.layers[0])) == voxels


def test_label_maps_with_padding_and_a_segment_zero(tmp_path):
    got = _made("seg_labelmap_with_gaps_and_padding", tmp_path).labels
    assert got.labels() == (17, 256)
    assert int(got.mask(256).array.sum()) == 10
    assert got.names == {17: "organ 17", 256: "organ 0"}
