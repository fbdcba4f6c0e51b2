"""The limits of a NIfTI header, each from both sides: what is just allowed is read, what is just beyond is refused."""

import numpy as np
import pytest
from tests.badinputs.files import nifti_bytes

from segauge.errors import UnreadableFile
from segauge.io import Limits, read_labels
from segauge.io.nifti import names_in_extensions


def labels(shape=(5, 4, 3)):
    array = np.zeros(shape, dtype=np.uint16)
    array[1:3, 1:3] = 7
    return array


def read(tmp_path, data, **options):
    path = tmp_path / "image.nii"
    path.write_bytes(data)
    return read_labels(path, **options)


@pytest.mark.parametrize("axes", [2, 3, 4, 7])
def test_two_to_seven_axes_are_read_where_those_beyond_the_third_have_length_1(tmp_path, axes):
    array = labels((5, 4, 3)[: min(axes, 3)])
    dim = [axes, *array.shape, *[1] * (7 - array.ndim)]
    found = read(tmp_path, nifti_bytes(array, dim=dim))
    np.testing.assert_array_equal(found.labels.layers[0], array)
    assert any("extra axes of length 1" in note for note in found.notes) == (axes > 3)


@pytest.mark.parametrize(("axes", "words"), [(0, "0 axes"), (8, "8 axes"), (-1, "-1 axes"), (1, "one axis only")])
def test_other_numbers_of_axes_are_refused(tmp_path, axes, words):
    with pytest.raises(UnreadableFile, match=words):
        read(tmp_path, nifti_bytes(labels(), dim=[axes, 5, 4, 3, 1, 1, 1, 1]))


def test_a_fifth_axis_that_is_longer_than_1_is_refused(tmp_path):
    array = np.zeros((3, 3, 3, 2, 2), dtype=np.uint8)
    with pytest.raises(UnreadableFile, match="has 5 axes"):
        read(tmp_path, nifti_bytes(array))


@pytest.mark.parametrize("gap", [0, 16, 1000])
def test_voxels_may_begin_later(tmp_path, gap):
    data = nifti_bytes(labels(), vox_offset=352.0 + gap)
    found = read(tmp_path, data[:352] + bytes(gap) + data[352:])
    np.testing.assert_array_equal(found.labels.layers[0], labels())


@pytest.mark.parametrize("offset", [351.0, 1.0, -16.0, float("nan"), float("inf"), 1e9])
def test_voxels_that_begin_within_the_header_or_nowhere_are_refused(tmp_path, offset):
    with pytest.raises(UnreadableFile, match="puts the voxels at byte"):
        read(tmp_path, nifti_bytes(labels(), vox_offset=offset))


def test_the_header_may_be_as_long_as_its_limit_and_no_longer(tmp_path):
    gap = 4096
    data = nifti_bytes(labels(), vox_offset=352.0 + gap)
    data = data[:352] + bytes(gap) + data[352:]
    assert read(tmp_path, data, limits=Limits(max_header_bytes=4 + gap)).labels.layers[0].any()
    with pytest.raises(UnreadableFile, match="puts the voxels at byte"):
        read(tmp_path, data, limits=Limits(max_header_bytes=3 + gap))


@pytest.mark.parametrize("missing", [1, 2, 60, 119])
def test_a_file_without_its_last_bytes_is_refused_before_anything_is_kept(tmp_path, missing):
    data = nifti_bytes(labels())
    assert len(data) == 352 + 120
    with pytest.raises(UnreadableFile, match="120 bytes"):
        read(tmp_path, data[:-missing])


def table(key):
    text = f'<LabelTable><Label Key="{key}">spleen</Label></LabelTable>'.encode()
    size = -(-(8 + len(text)) // 16) * 16
    return b"\1\0\0\0" + size.to_bytes(4, "little") + (0).to_bytes(4, "little") + text.ljust(size - 8, b"\0")


@pytest.mark.parametrize(("key", "is_kept"), [(2**63 - 1, True), (2**63, False), (-(2**63) + 1, True), (2**64, False)])
def test_names_are_of_numbers_that_a_label_can_be(key, is_kept):
    names, notes = names_in_extensions(table(key), "<")
    assert names == ({key: "spleen"} if is_kept else {})
    assert notes == ()


def test_an_extension_of_another_kind_is_no_damaged_label_table():
    text = b"<other"
    data = b"\1\0\0\0" + (16).to_bytes(4, "little") + (0).to_bytes(4, "little") + text.ljust(8, b"\0")
    assert names_in_extensions(data, "<") == ({}, ())
    assert names_in_extensions(b"\1\0\0\0", "<") == ({}, ())
