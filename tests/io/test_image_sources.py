"""Images of any format as real numbers: what was written comes back, and a DICOM series lies on its grid."""

import nibabel
import numpy as np
import pytest
from tests.badinputs.files import even_positions, write_enhanced, write_series

from segauge import Grid, LabelMap
from segauge.errors import UnreadableFile
from segauge.io import Image
from segauge.io.dicom_series import read_series
from segauge.io.images import image_of, labels_of, read_any_image
from segauge.report.pairs import background

AFFINE = np.array([[-2.0, 0, 0, 5], [0, 0, 3.0, -7], [0, 1.5, 0, 2], [0, 0, 0, 1]])


def values(dtype="float32"):
    """Hounsfield-like reals with NaN, an infinity, zeros of both signs; doubles also beyond what float32 can hold."""
    array = np.random.default_rng(0).normal(40.25, 300, (5, 6, 7))
    array.flat[:5] = (np.nan, np.inf, 0.0, -0.0, 1e300 if dtype == "float64" else -1024.5)
    return np.nan_to_num(array, posinf=9).clip(-999, 999).astype(dtype) if dtype == "int16" else array.astype(dtype)


@pytest.mark.parametrize("kind", ["nii.gz", "nrrd", "mha", "npy"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_reals_come_back_from_every_format(tmp_path, kind, dtype):
    array, path = values(dtype), tmp_path / f"image.{kind}"
    if kind == "nii.gz":
        nibabel.save(nibabel.Nifti1Image(array, AFFINE), path)
    elif kind == "npy":
        np.save(path, array)
    else:
        write = _nrrd if kind == "nrrd" else _mha
        path.write_bytes(write(array))
    image = read_any_image(path)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(image.array, array.astype(np.float32))
    assert image.array.dtype == np.float32


def _nrrd(array):
    kind = {"f4": "float", "f8": "double", "i2": "short"}[array.dtype.str[1:]]
    header = (
        f"NRRD0004\ntype: {kind}\ndimension: 3\nspace: right-anterior-superior\nsizes: 5 6 7\nendian: little\n"
        "encoding: raw\nspace directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\n\n"
    )
    return header.encode() + array.tobytes(order="F")


def _mha(array):
    kind = {"f4": "MET_FLOAT", "f8": "MET_DOUBLE", "i2": "MET_SHORT"}[array.dtype.str[1:]]
    header = f"ObjectType = Image\nNDims = 3\nDimSize = 5 6 7\nElementType = {kind}\nElementDataFile = LOCAL\n"
    return header.encode() + array.tobytes(order="F")


def pixels(k):
    """Slice k holds 100 k + its pixel's number, from 0."""
    return (100 * k + np.arange(48)).astype(np.int16).tobytes()


STORED = {
    "BitsAllocated": 16, "BitsStored": 16, "HighBit": 15, "PixelRepresentation": 1, "SamplesPerPixel": 1,
    "PhotometricInterpretation": "MONOCHROME2",
}  # fmt: skip


def expected(count):
    """Axes (column, row, slice): 8 rows of 6 columns per slice, doubled and moved by -1000."""
    stack = np.stack([(100 * k + np.arange(48)).reshape(8, 6).T for k in range(count)], axis=2)
    return (2.0 * stack - 1000).astype(np.float32)


def test_a_series_is_rescaled_and_stacked_along_its_normal(tmp_path):
    folder = write_series(
        tmp_path / "ct", even_positions(5)[::-1], PixelData=lambda k: pixels(4 - k), RescaleSlope=2,
        RescaleIntercept=-1000, **STORED,
    )  # fmt: skip
    image = read_any_image(folder)
    assert image.grid == read_series(folder).grid
    np.testing.assert_array_equal(image.array, expected(5))


def test_an_enhanced_file_is_the_same_image(tmp_path):
    data = b"".join(pixels(4 - k) for k in range(5))
    write_enhanced(
        tmp_path / "e" / "ct.dcm", even_positions(5)[::-1], PixelData=data, RescaleSlope=2, RescaleIntercept=-1000,
        **STORED,
    )  # fmt: skip
    for place in (tmp_path / "e", tmp_path / "e" / "ct.dcm"):
        np.testing.assert_array_equal(read_any_image(place).array, expected(5))


def test_a_missing_slice_is_filled_from_the_nearest(tmp_path):
    places = [place for k, place in enumerate(even_positions(5)) if k != 2]
    folder = write_series(
        tmp_path / "ct", places, PixelData=lambda k: pixels((0, 1, 3, 4)[k]), RescaleSlope=2, RescaleIntercept=-1000,
        **STORED,
    )  # fmt: skip
    array = read_any_image(folder).array
    np.testing.assert_array_equal(array[:, :, [0, 1, 3, 4]], expected(5)[:, :, [0, 1, 3, 4]])
    np.testing.assert_array_equal(array[:, :, 2], expected(5)[:, :, 1])


def test_slices_without_pixels_and_colours_are_refused(tmp_path):
    with pytest.raises(UnreadableFile):
        read_any_image(write_series(tmp_path / "empty", even_positions(3)))
    colour = {**STORED, "SamplesPerPixel": 3, "PhotometricInterpretation": "RGB", "BitsAllocated": 8, "BitsStored": 8}
    colour |= {"HighBit": 7, "PixelRepresentation": 0, "PlanarConfiguration": 0, "PixelData": bytes(144)}
    with pytest.raises(UnreadableFile, match="colour"):
        read_any_image(write_series(tmp_path / "colour", even_positions(3), **colour))


def test_bits_keep_every_value_and_know_what_lies_outside():
    array = values()
    bits = labels_of(Image(array, Grid(array.shape, AFFINE)))
    np.testing.assert_array_equal(image_of(bits, outside=7.0).array, array)
    assert np.count_nonzero(bits.layers[0] == 0) == 0
    moved = LabelMap((np.zeros_like(bits.layers[0]),), bits.grid)
    assert (image_of(moved, outside=7.0).array == 7.0).all()


@pytest.mark.parametrize("shift", [0, 2])
def test_an_image_is_brought_onto_the_masks_grid(tmp_path, shift):
    """The masks cover a part of the image, their first axis mirrored; beyond the image there is no value."""
    array = np.arange(5 * 6 * 7, dtype=np.float32).reshape(5, 6, 7) + 0.5
    nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), tmp_path / "image.nii.gz")
    affine = np.diag([-1.0, 1.0, 1.0, 1.0])
    affine[:3, 3] = [4 + shift, 0, 0]
    gt = LabelMap((np.ones((5, 4, 7), dtype=np.uint8),), Grid((5, 4, 7), affine))
    found, remark = background(tmp_path / "image.nii.gz", gt)
    assert remark == ""
    # Upright, the axes point to the right again: index 0 lies at x = shift.
    np.testing.assert_array_equal(found[: 5 - shift], array[shift:, :4])
    assert np.isnan(found[5 - shift :]).all()


def test_an_image_that_cannot_be_drawn_says_why(tmp_path):
    gt = LabelMap((np.ones((5, 4, 7), dtype=np.uint8),), Grid((5, 4, 7), np.eye(4)))
    assert "shape" in background(np.zeros((2, 2, 2)), gt)[1]
    assert "No such file" in background(tmp_path / "nothing.nii.gz", gt)[1]
    nibabel.save(nibabel.Nifti1Image(np.full((5, 4, 7), -1024.0), np.eye(4)), tmp_path / "blank.nii.gz")
    assert "same value everywhere" in background(tmp_path / "blank.nii.gz", gt)[1]
    far = np.eye(4)
    far[:3, 3] = 1000
    nibabel.save(nibabel.Nifti1Image(np.ones((3, 3, 3), dtype=np.float32), far), tmp_path / "far.nii.gz")
    assert "share no voxel" in background(tmp_path / "far.nii.gz", gt)[1]
