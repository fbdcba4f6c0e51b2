"""Images in and out: what is written is what other packages read, bit by bit."""

import gzip

import nibabel
import numpy as np
import pytest
from tests.badinputs.files import AFFINE, nifti_bytes

from segauge import Grid, read_labels
from segauge.errors import FileTooLarge, InvalidInput, UnreadableFile
from segauge.io import Limits, read_image, write_nifti

DTYPES = ["uint8", "int8", "int16", "uint16", "int32", "float32", "float64"]


def volume(dtype="int16"):
    return np.arange(5 * 6 * 7).reshape(5, 6, 7).astype(dtype)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_volume_comes_back(tmp_path, dtype, name):
    grid = Grid((5, 6, 7), AFFINE)
    path = write_nifti(tmp_path / name, volume(dtype), grid)
    image = read_image(path)
    assert np.array_equal(image.array, volume(dtype))
    assert image.grid.relation_to(grid).words == "same grid"
    theirs = nibabel.load(path)
    assert theirs.get_data_dtype() == np.dtype(dtype)
    assert np.array_equal(np.asanyarray(theirs.dataobj), volume(dtype))
    # The header stores float32.
    assert np.allclose(theirs.affine, AFFINE, rtol=1e-6)
    assert theirs.header.get_xyzt_units()[0] == "mm"


def test_labels_are_read_as_labels(tmp_path):
    labels = volume("uint8") % 4
    reading = read_labels(write_nifti(tmp_path / "a.nii.gz", labels, Grid((5, 6, 7), AFFINE)))
    assert np.array_equal(reading.labels.layers[0], labels)
    assert reading.notes == ()


def test_the_bytes_depend_on_nothing_else(tmp_path):
    grid = Grid((5, 6, 7), AFFINE)
    first = write_nifti(tmp_path / "a.nii.gz", volume(), grid).read_bytes()
    assert first == write_nifti(tmp_path / "b.nii.gz", np.asfortranarray(volume()), grid).read_bytes()


@pytest.mark.parametrize("order", ["<", ">"])
def test_scaling_and_byte_order_are_applied(tmp_path, order):
    path = tmp_path / "a.nii"
    path.write_bytes(nifti_bytes(volume(), order=order, scl_slope=2.0, scl_inter=-1024.0))
    assert np.array_equal(read_image(path).array, volume() * 2.0 - 1024.0)


def test_what_is_no_single_volume_is_refused(tmp_path):
    path = tmp_path / "a.nii"
    path.write_bytes(nifti_bytes(volume()[:-1], dim=[3, 5, 6, 7, 1, 1, 1, 1]))
    with pytest.raises(UnreadableFile, match="truncated"):
        read_image(path)
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress(nifti_bytes(volume())[:-9]))
    with pytest.raises(UnreadableFile, match="210 voxels expected by the header, 205 found"):
        read_image(tmp_path / "b.nii.gz")
    path.write_bytes(nifti_bytes(np.zeros((3, 3, 3, 4), dtype=np.int16)))
    with pytest.raises(UnreadableFile, match="has the size 3 x 3 x 3 x 4, expected one volume"):
        read_image(path)
    path.write_bytes(nifti_bytes(volume(), dim=[3, 30000, 30000, 30000, 1, 1, 1, 1]))
    with pytest.raises(FileTooLarge, match="more than the limit"):
        read_image(path)
    path.write_bytes(nifti_bytes(volume()))
    with pytest.raises(FileTooLarge):
        read_image(path, limits=Limits(max_voxels=100))
    path.write_bytes(b"no image")
    with pytest.raises(UnreadableFile):
        read_image(path)


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="3 axes of integers or floats"):
        write_nifti(tmp_path / "a.nii", np.zeros((2, 2)), Grid.from_spacing((2, 2)))
    with pytest.raises(InvalidInput, match="complex"):
        write_nifti(tmp_path / "a.nii", np.zeros((2, 2, 2), dtype=complex), Grid.from_spacing((2, 2, 2)))
    with pytest.raises(InvalidInput, match="its grid"):
        write_nifti(tmp_path / "a.nii", np.zeros((2, 2, 2)), Grid.from_spacing((2, 2, 3)))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_nifti(tmp_path / "file" / "a.nii", np.zeros((2, 2, 2)), Grid.from_spacing((2, 2, 2)))
