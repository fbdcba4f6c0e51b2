"""The bad inputs that concern files, by number: each makes its file and says what must come of it.

`refused` is a pattern of the error's message; `noted` is a pattern of a note on a file that is read all the same.
"""

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from segauge.grid import Grid
from tests.badinputs.files import (
    AFFINE,
    even_positions,
    labels,
    metaimage_bytes,
    nifti_bytes,
    nrrd_bytes,
    rtstruct_dataset,
    save,
    seg_dataset,
    write_enhanced,
    write_series,
)


@dataclass(frozen=True)
class BadInput:
    number: int
    name: str
    make: Callable[[Path], Path]
    refused: str = ""
    noted: str = ""
    error: str = "UnreadableFile"
    options: dict[str, Any] = field(default_factory=dict)
    series: bool = False


CATALOG: list[BadInput] = []


def bad_input(number: int, **facts: Any) -> Callable[[Callable[[Path], Path]], Callable[[Path], Path]]:
    def add(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
        CATALOG.append(BadInput(number, make.__name__, make, **facts))
        return make

    return add


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _zipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


# 1 to 9: the bytes of NIfTI files


@bad_input(1, refused=r"compressed data ends|bytes of voxels expected by the header, \d+ found")
def truncated_gzip(folder: Path) -> Path:
    noise = np.random.default_rng(0).integers(0, 200, (30, 30, 20), dtype=np.uint8)
    data = _zipped(nifti_bytes(noise))
    return _write(folder / "a.nii.gz", data[: len(data) // 2])


@bad_input(1, refused=r"210 bytes of voxels expected by the header, 110 found.*truncated")
def truncated_plain(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels())[:-100])


@bad_input(1, refused=r"348 bytes of header expected, 100 found")
def truncated_header(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels())[:100])


@bad_input(2, noted=r"not gzip although named \.gz")
def gz_that_is_not_gzip(folder: Path) -> Path:
    return _write(folder / "a.nii.gz", nifti_bytes(labels()))


@bad_input(3, noted=r"is gzip although its name does not end in \.gz")
def gzip_that_is_not_named_gz(folder: Path) -> Path:
    return _write(folder / "a.nii", _zipped(nifti_bytes(labels())))


@bad_input(4, refused="decompressed size exceeds what the header needs")
def gzip_bomb(folder: Path) -> Path:
    return _write(folder / "a.nii.gz", _zipped(nifti_bytes(labels()) + bytes(80_000_000)))


@bad_input(5, noted="bytes after the end of the compressed data")
def gzip_with_garbage_behind(folder: Path) -> Path:
    return _write(folder / "a.nii.gz", _zipped(nifti_bytes(labels())) + b"garbage")


@bad_input(5)
def gzip_in_several_members(folder: Path) -> Path:
    data = nifti_bytes(labels())
    return _write(folder / "a.nii.gz", _zipped(data[:200]) + _zipped(data[200:400]) + _zipped(data[400:]))


@bad_input(6, refused="compressed data is damaged")
def wrong_checksum(folder: Path) -> Path:
    data = bytearray(_zipped(nifti_bytes(labels())))
    data[-6] ^= 0x40
    return _write(folder / "a.nii.gz", bytes(data))


@bad_input(7, refused="32767 x 32767 x 32767 = 35181150961663 voxels, more than the limit", error="FileTooLarge")
def huge_dimensions(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), dim=[3, 32767, 32767, 32767, 1, 1, 1, 1]))


@bad_input(7, refused="compressed bytes cannot hold")
def large_dimensions_in_a_tiny_gzip(folder: Path) -> Path:
    return _write(folder / "a.nii.gz", _zipped(nifti_bytes(labels(), dim=[3, 1000, 1000, 1000, 1, 1, 1, 1])))


@bad_input(8, refused="each axis needs at least one voxel")
def zero_dimension(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), dim=[3, 5, 0, 7, 1, 1, 1, 1]))


@bad_input(8, refused="each axis needs at least one voxel")
def negative_dimension(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), dim=[3, 5, -6, 7, 1, 1, 1, 1]))


@bad_input(8, refused="gives 9 axes, expected 1 to 7")
def nine_axes(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), dim=[9, 5, 6, 7, 1, 1, 1, 1]))


@bad_input(8, refused="FreeSurfer large vector file")
def freesurfer_large_vector(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), dim=[4, -1, 1, 1, 1, 1, 1, 1], glmin=163842))


@bad_input(9, refused="voxels, more than the limit", error="FileTooLarge")
def product_beyond_64_bits(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), dim=[7] + [32767] * 7))


# 10 to 15: the space of NIfTI files


@bad_input(10, noted=r"pixdim \(0 x 0.9 x nan\) are not those of the sform")
def bad_pixdim_with_good_sform(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), pixdim=[1, 0, 0.9, np.nan, 0, 0, 0, 0]))


@bad_input(10, noted=r"1 mm is assumed; pass --spacing")
def bad_pixdim_without_sform(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), pixdim=[1, 1e-30, 0.9, 2.5, 0, 0, 0, 0], sform_code=0))


@bad_input(11, noted=r"pixdim \(1 x 1 x 1\) are not those of the sform \(0.8 x 0.9 x 2.5\)")
def pixdim_against_sform(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), pixdim=[1.0, 1, 1, 1, 0, 0, 0, 0]))


@bad_input(12, noted=r"sform and qform disagree by up to \d+(\.\d+)? mm; the sform is used")
def sform_against_qform(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), qform_code=1, qoffset=[5.0, 0.0, 0.0]))


@bad_input(13, noted="no world space")
def no_space_at_all(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), sform_code=0))


@bad_input(13, noted="no world space")
def analyze_pair(folder: Path) -> Path:
    data = nifti_bytes(labels(), magic=b"\0\0\0\0", vox_offset=0.0)
    _write(folder / "a.img", data[352:])
    return _write(folder / "a.hdr", data[:348])


@bad_input(13, refused="a.img is missing")
def header_without_its_image(folder: Path) -> Path:
    return _write(folder / "a.hdr", nifti_bytes(labels(), magic=b"ni1\0")[:348])


@bad_input(14, noted="degrees off right angles; the full affine is used")
def sheared_affine(folder: Path) -> Path:
    affine = AFFINE.copy()
    affine[0, 1] = 0.1
    return _write(folder / "a.nii", nifti_bytes(labels(), affine))


@bad_input(15, noted="lengths are in metres; they were converted to mm")
def metres(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), np.vstack([AFFINE[:3] * 0.001, AFFINE[3:]]), xyzt_units=1))


@bad_input(15, noted="lengths are in micrometres; they were converted to mm")
def micrometres(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), np.vstack([AFFINE[:3] * 1000, AFFINE[3:]]), xyzt_units=3))


# 20 to 27: the values


@bad_input(20, noted=r"extra axes of length 1; they were dropped")
def fourth_axis_of_one(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels()[..., None]))


@bad_input(21, noted=r"one channel per structure, the first is the background")
def one_hot(folder: Path) -> Path:
    channels = np.stack([labels() == k for k in range(4)], axis=-1).astype(np.uint8)
    return _write(folder / "a.nii", nifti_bytes(channels))


@bad_input(21, refused=r"time series of 3 volumes.*frame=")
def time_series(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(np.stack([labels()] * 3, axis=-1), xyzt_units=2 | 8))


@bad_input(21, refused=r"no one-hot image.*frame=")
def four_axes_of_labels(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(np.stack([labels()] * 3, axis=-1)))


@bad_input(22, noted=r"voxel is not exactly a whole number: rounded")
def nearly_whole_floats(folder: Path) -> Path:
    array = labels(dtype="float32")
    array[array == 3] = 3.0001
    return _write(folder / "a.nii", nifti_bytes(array))


@bad_input(23, refused=r"holds the value 0\.35, labels are whole numbers.*threshold=0\.5")
def probabilities(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes((labels() * 0.35).astype(np.float32)))


@bad_input(23, options={"threshold": 0.5}, noted="values of at least 0.5 were taken as the mask")
def probabilities_with_a_threshold(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes((labels() * 0.6).astype(np.float32)))


@bad_input(24, refused=r"NaN or infinite.*--nan background")
def not_a_number(folder: Path) -> Path:
    array = labels(dtype="float32")
    array[0, 0, :2] = np.nan, np.inf
    return _write(folder / "a.nii", nifti_bytes(array))


@bad_input(24, options={"nan": "background"}, noted="2 voxels are NaN or infinite: taken as background")
def not_a_number_as_background(folder: Path) -> Path:
    return not_a_number(folder)


@bad_input(25, noted="slope 2, intercept 0")
def scaled_labels(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), scl_slope=2.0))


@bad_input(25)
def slope_of_nan_means_none(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), scl_slope=np.nan, scl_inter=np.nan))


@bad_input(25, refused="labels are whole numbers")
def slope_that_makes_fractions(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), scl_slope=0.5))


@bad_input(26)
def big_endian(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(dtype="int32"), order=">"))


@bad_input(26, refused="holds RGB colours, expected integer labels")
def colours(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels(), datatype=128))


@bad_input(26, refused="holds complex numbers")
def complex_numbers(folder: Path) -> Path:
    return _write(folder / "a.nii", nifti_bytes(labels().astype(np.complex64)))


@bad_input(27)
def labels_large_and_negative(folder: Path) -> Path:
    array = labels(dtype="int32") * 40_000
    array[0, 0, 0] = -7
    return _write(folder / "a.nii", nifti_bytes(array))


# 37 and 38: things that are no files, and NumPy files


@bad_input(37, refused="cannot be opened")
def symlink_loop(folder: Path) -> Path:
    (folder / "a.nii.gz").symlink_to(folder / "b.nii.gz")
    (folder / "b.nii.gz").symlink_to(folder / "a.nii.gz")
    return folder / "a.nii.gz"


@bad_input(37, refused="a pipe, socket or device")
def named_pipe(folder: Path) -> Path:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(folder / "a.nii.gz")
    return folder / "a.nii.gz"


@bad_input(37, refused=r"the file is empty \(0 bytes\)")
def zero_bytes(folder: Path) -> Path:
    return _write(folder / "a.nii.gz", b"")


@bad_input(37, refused="there is no such file")
def no_file(folder: Path) -> Path:
    return folder / "a.nii.gz"


@bad_input(37, refused="its content is of no known format")
def text_file(folder: Path) -> Path:
    return _write(folder / "a.nii.gz", b"404: Not Found, this is a web page that was saved under the wrong name\n" * 9)


@bad_input(38, refused="Python objects, which only pickle could read")
def objects_in_npy(folder: Path) -> Path:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return _write(folder / "a.npy", buffer.getvalue())


@bad_input(38, refused="voxels, more than the limit", error="FileTooLarge")
def npy_with_a_huge_shape(folder: Path) -> Path:
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (100000, 100000, 100000), }".ljust(117) + "\n"
    return _write(folder / "a.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())


@bad_input(38, refused="bytes of voxels expected by the header")
def npy_that_is_shorter_than_its_shape(folder: Path) -> Path:
    np.save(folder / "a.npy", labels())
    data = (folder / "a.npy").read_bytes()
    return _write(folder / "a.npy", data[:-5])


@bad_input(38, refused="structured array")
def npy_with_fields(folder: Path) -> Path:
    np.save(folder / "a.npy", np.zeros((2, 2), dtype=[("a", "u1"), ("b", "u1")]))
    return folder / "a.npy"


@bad_input(38, refused="voxels, more than the limit", error="FileTooLarge")
def npz_bomb(folder: Path) -> Path:
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (60000, 60000, 60000), }".ljust(117) + "\n"
    head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    with zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mask.npy", head + bytes(10_000_000))
    return folder / "a.npz"


@bad_input(38, noted="1 mm is assumed")
def npy_without_spacing(folder: Path) -> Path:
    np.save(folder / "a.npy", labels())
    return folder / "a.npy"


# 39 and 40: NRRD and MetaImage


@bad_input(39, refused="lies outside of the header's folder")
def nrrd_that_points_outside(folder: Path) -> Path:
    return _write(folder / "a.nhdr", nrrd_bytes(labels(), {"data file": "../../etc/passwd"}, b""))


@bad_input(39, refused="lies outside of the header's folder")
def nrrd_that_points_to_an_absolute_path(folder: Path) -> Path:
    return _write(folder / "a.nhdr", nrrd_bytes(labels(), {"data file": "/etc/passwd"}, b""))


@bad_input(39)
def nrrd_with_a_list_of_files(folder: Path) -> Path:
    for k in range(7):
        _write(folder / f"part{k}.raw", labels()[:, :, k].tobytes(order="F"))
    names = "LIST\n" + "\n".join(f"part{k}.raw" for k in range(7))
    return _write(folder / "a.nhdr", nrrd_bytes(labels(), {"data file": names}, b""))


@bad_input(39, refused="lies outside of the header's folder")
def nrrd_with_a_list_that_points_outside(folder: Path) -> Path:
    return _write(folder / "a.nhdr", nrrd_bytes(labels(), {"data file": "LIST\n../secret.raw"}, b""))


@bad_input(39, refused="has the encoding 'hex'")
def nrrd_in_hex(folder: Path) -> Path:
    return _write(folder / "a.nrrd", nrrd_bytes(labels(), {"encoding": "hex"}))


@bad_input(39, refused="210 bytes of voxels expected by the header, 100 found")
def nrrd_truncated_gzip(folder: Path) -> Path:
    return _write(folder / "a.nrrd", nrrd_bytes(labels(), {"encoding": "gzip"}, _zipped(bytes(100))))


@bad_input(40, refused="lies outside of the header's folder")
def mhd_that_points_outside(folder: Path) -> Path:
    return _write(folder / "a.mhd", metaimage_bytes(labels(), {"ElementDataFile": "/etc/passwd"}, b""))


@bad_input(40, refused="210 bytes of voxels expected by the header, 60 found")
def mha_with_too_few_elements(folder: Path) -> Path:
    return _write(folder / "a.mha", metaimage_bytes(labels(), data=bytes(60)))


@bad_input(40, refused="DimSize.*should hold 3 finite numbers")
def mha_with_two_sizes_for_three_axes(folder: Path) -> Path:
    return _write(folder / "a.mha", metaimage_bytes(labels(), {"DimSize": "5 6"}))


@bad_input(40, refused="decompressed size exceeds")
def mha_bomb(folder: Path) -> Path:
    data = zlib.compress(bytes(50_000_000))
    return _write(folder / "a.mha", metaimage_bytes(labels(), {"CompressedData": "True"}, data))


# 41 to 44: DICOM segmentations


def frame_mask(k: int = 0) -> np.ndarray:
    mask = np.zeros((7, 5), dtype=bool)
    mask[1:4, 1 + k : 3 + k] = True
    return mask


@bad_input(41, noted="2 of 6 slices between the first and the last have no frame")
def seg_out_of_order_with_missing_frames(folder: Path) -> Path:
    places = even_positions(6)
    frames = [(1, places[5], frame_mask()), (2, places[2], frame_mask(1)), (1, places[0], frame_mask(2)),
              (2, places[3], frame_mask())]  # fmt: skip
    return save(seg_dataset(folder / "a.dcm", frames), folder / "a.dcm")


@bad_input(41, refused="not on a regular stack")
def seg_with_irregular_positions(folder: Path) -> Path:
    frames = [(1, [0, 0, z], frame_mask()) for z in (0.0, 2.0, 3.3, 7.0)]
    return save(seg_dataset(folder / "a.dcm", frames), folder / "a.dcm")


@bad_input(42)
def seg_of_35_bits_a_frame(folder: Path) -> Path:
    frames = [(1, place, frame_mask(k % 3)) for k, place in enumerate(even_positions(3))]
    return save(seg_dataset(folder / "a.dcm", frames), folder / "a.dcm")


@bad_input(42, refused="NumberOfFrames is 4, but 3 frames are described")
def seg_with_a_wrong_number_of_frames(folder: Path) -> Path:
    frames = [(1, place, frame_mask()) for place in even_positions(3)]
    return save(seg_dataset(folder / "a.dcm", frames, NumberOfFrames=4), folder / "a.dcm")


@bad_input(42, refused="14 bytes of pixels expected for 3 frames of 7 x 5, 6 found")
def seg_with_too_few_bytes(folder: Path) -> Path:
    frames = [(1, place, frame_mask()) for place in even_positions(3)]
    return save(seg_dataset(folder / "a.dcm", frames, PixelData=bytes(6)), folder / "a.dcm")


@bad_input(43)
def seg_with_overlapping_segments(folder: Path) -> Path:
    places = even_positions(2)
    frames = [(1, places[0], frame_mask()), (2, places[0], frame_mask()), (3, places[1], frame_mask())]
    return save(seg_dataset(folder / "a.dcm", frames), folder / "a.dcm")


@bad_input(43, noted="fractions of at least 0.5 are taken as foreground")
def seg_fractional(folder: Path) -> Path:
    values = (frame_mask() * 200 + frame_mask(1) * 50).astype(np.uint8)
    dataset = seg_dataset(folder / "a.dcm", [(1, [0, 0, 0], frame_mask())], SegmentationType="FRACTIONAL")
    dataset.SegmentationFractionalType, dataset.MaximumFractionalValue = "PROBABILITY", 255
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.PixelData = values.tobytes() + b"\0"
    return save(dataset, folder / "a.dcm")


@bad_input(43, noted="fractions of at least 0.5 are taken as foreground")
def seg_fractional_of_ones(folder: Path) -> Path:
    dataset = seg_dataset(folder / "a.dcm", [(1, [0, 0, 0], frame_mask())], SegmentationType="FRACTIONAL")
    dataset.SegmentationFractionalType, dataset.MaximumFractionalValue = "OCCUPANCY", 1
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.PixelData = frame_mask().astype(np.uint8).tobytes() + b"\0"
    return save(dataset, folder / "a.dcm")


@bad_input(43, noted=r"segment 0 \(organ 0\) is no background here; it has label 256")
def seg_labelmap_with_gaps_and_padding(folder: Path) -> Path:
    values = np.full((7, 5), 255, dtype=np.uint8)
    values[1:3] = 0
    values[4] = 17
    frames = [(0, [0, 0, 0], frame_mask()), (17, [0, 0, 0], frame_mask())]
    dataset = seg_dataset(folder / "a.dcm", frames, SegmentationType="LABELMAP", NumberOfFrames=1)
    dataset.PerFrameFunctionalGroupsSequence = dataset.PerFrameFunctionalGroupsSequence[:1]
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.add_new("PixelPaddingValue", "US", 255)
    dataset.PixelData = values.tobytes() + b"\0"
    return save(dataset, folder / "a.dcm")


SQUARE = [[-8.2, -17.8, 32], [-6.4, -17.8, 32], [-6.4, -14.5, 32], [-8.2, -14.5, 32]]


@bad_input(44, error="GridMismatch", refused="frame of reference 9.9.9.*any_frame_of_reference=True")
def contours_in_another_frame_of_reference(folder: Path) -> Path:
    write_series(folder / "ct", even_positions())
    regions = [("organ", [("CLOSED_PLANAR", SQUARE)])]
    return save(rtstruct_dataset(folder / "rt.dcm", regions, frame_of_reference="9.9.9"), folder / "rt.dcm")


@bad_input(44, options={"any_frame_of_reference": True})
def contours_in_another_frame_of_reference_forced(folder: Path) -> Path:
    return contours_in_another_frame_of_reference(folder)


# 45: contours; the grid is given, so that no series is needed

GRID = Grid((20, 20, 5), np.diag([-1.0, -1.0, 2.0, 1.0]))


def _contours(folder: Path, *regions: Any) -> Path:
    return save(rtstruct_dataset(folder / "rt.dcm", regions), folder / "rt.dcm")


def box(low: float, high: float, z: float = 2.0) -> list[list[float]]:
    return [[low, low, z], [high, low, z], [high, high, z], [low, high, z]]


@bad_input(45, options={"reference": GRID}, noted="2 contours of fewer than 3 different points; dropped")
def contours_of_one_and_two_points(folder: Path) -> Path:
    short = [("CLOSED_PLANAR", [[3, 3, 2]]), ("CLOSED_PLANAR", [[3, 3, 2], [5, 5, 2]])]
    return _contours(folder, ("organ", [*short, ("CLOSED_PLANAR", box(2.5, 8.5))]))


@bad_input(45, options={"reference": GRID})
def contours_nested(folder: Path) -> Path:
    rings = [("CLOSED_PLANAR", box(low, high)) for low, high in ((2.5, 12.5), (4.5, 10.5), (6.5, 8.5))]
    return _contours(folder, ("organ", rings))


@bad_input(45, options={"reference": GRID})
def contour_with_a_keyhole(folder: Path) -> Path:
    outer, inner = box(2.5, 12.5), box(4.5, 10.5)[::-1]
    return _contours(folder, ("organ", [("CLOSED_PLANAR", [*outer, outer[0], inner[-1], *inner])]))


@bad_input(45, options={"reference": GRID})
def contour_that_crosses_itself(folder: Path) -> Path:
    bow_tie = [[2.5, 2.5, 2.0], [8.5, 8.5, 2.0], [8.5, 2.5, 2.0], [2.5, 8.5, 2.0]]
    return _contours(folder, ("organ", [("CLOSED_PLANAR", bow_tie)]))


@bad_input(45, options={"reference": GRID}, noted="contour of type OPEN_PLANAR, which encloses nothing")
def open_contour(folder: Path) -> Path:
    return _contours(folder, ("organ", [("OPEN_PLANAR", box(2.5, 8.5)), ("CLOSED_PLANAR", box(2.5, 8.5))]))


@bad_input(45, options={"reference": GRID}, noted=r"region 2 \(isocentre\): has no closed contour; its mask is empty")
def region_of_a_point(folder: Path) -> Path:
    return _contours(folder, ("organ", [("CLOSED_PLANAR", box(2.5, 8.5))]), ("isocentre", [("POINT", [[3, 3, 2]])]))


@bad_input(45, options={"reference": GRID}, noted="has no closed contour; its mask is empty")
def empty_region(folder: Path) -> Path:
    return _contours(folder, ("nothing", []))


@bad_input(45, options={"reference": GRID}, noted="several regions are called organ")
def two_regions_of_one_name(folder: Path) -> Path:
    contour = [("CLOSED_PLANAR", box(2.5, 8.5))]
    return _contours(folder, ("organ", contour), ("organ", contour))


@bad_input(45, options={"reference": GRID}, noted="contours lie up to 0.8 mm off the slices")
def contours_between_slices(folder: Path) -> Path:
    return _contours(folder, ("organ", [("CLOSED_PLANAR", box(2.5, 8.5, z=2.8))]))


@bad_input(45, options={"reference": GRID}, noted="across axis 0 of the grid")
def sagittal_contours(folder: Path) -> Path:
    points = [[4.0, 2.5, 0.0], [4.0, 8.5, 0.0], [4.0, 8.5, 6.0], [4.0, 2.5, 6.0]]
    return _contours(folder, ("organ", [("CLOSED_PLANAR", points)]))


@bad_input(45, options={"reference": GRID}, noted="oblique to the grid and cannot be filled")
def oblique_contours(folder: Path) -> Path:
    points = [[2, 2, 0.0], [9, 3, 3.0], [9, 9, 7.0], [2, 8, 4.0]]
    return _contours(folder, ("organ", [("CLOSED_PLANAR", points)]))


@bad_input(45, error="InvalidInput", refused="contours need a grid to be filled on.*reference")
def contours_without_images(folder: Path) -> Path:
    return _contours(folder, ("organ", [("CLOSED_PLANAR", box(2.5, 8.5))]))


# 46: image series


@bad_input(46, series=True, error="IrregularSeries", refused=r"10 degrees off the normal \(gantry tilt\)")
def gantry_tilt(folder: Path) -> Path:
    shift = 2 * np.tan(np.radians(10))
    return write_series(folder / "ct", [[0.0, shift * k, 2.0 * k] for k in range(5)])


@bad_input(46, series=True, error="IrregularSeries", refused=r"1 slice positions occur twice \(slice03.dcm and slice06")
def doubled_position(folder: Path) -> Path:
    return write_series(folder / "ct", [*even_positions(), even_positions()[2]])


@bad_input(46, series=True, error="IrregularSeries", refused=r"usually 2 mm but 4 mm between slices 3 and 4 \(slice03")
def missing_slice(folder: Path) -> Path:
    return write_series(folder / "ct", [p for k, p in enumerate(even_positions(8)) if k != 3])


@bad_input(46, series=True, error="IrregularSeries", refused=r"holds 2 series mixed \(1\.2\.3\.4, 1\.2\.3\.9\)")
def mixed_series(folder: Path) -> Path:
    return write_series(folder / "ct", even_positions(), SeriesInstanceUID=lambda k: "1.2.3.9" if k > 2 else "1.2.3.4")


@bad_input(
    46, series=True, error="IrregularSeries", refused=r"holds a scout \(localizer\) among its slices: slice05.dcm"
)
def scout_among_slices(folder: Path) -> Path:
    kinds = ["ORIGINAL", "PRIMARY", "AXIAL"], ["ORIGINAL", "PRIMARY", "LOCALIZER"]
    return write_series(folder / "ct", even_positions(), ImageType=lambda k: kinds[k == 4])


@bad_input(46, series=True, error="IrregularSeries", refused="slice05.dcm differ from the other slices in size")
def scout_by_its_orientation(folder: Path) -> Path:
    cosines = [1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, -1]
    return write_series(folder / "ct", even_positions(), ImageOrientationPatient=lambda k: cosines[k == 4])


@bad_input(46, series=True, error="IrregularSeries", refused="20 frames without a position for each")
def frames_without_places(folder: Path) -> Path:
    return write_series(folder / "ct", even_positions(1), NumberOfFrames=20)


@bad_input(46, series=True, error="IrregularSeries", refused=r"4 mm between slices 2 and 3 \(ct.dcm frame 2\)")
def enhanced_multiframe_with_a_gap(folder: Path) -> Path:
    return write_enhanced(folder / "ct" / "ct.dcm", [p for k, p in enumerate(even_positions(6)) if k != 2])


@bad_input(46, series=True, error="IrregularSeries", refused=r"twice \(ct.dcm frame 1 and ct.dcm frame 4")
def enhanced_multiframe_of_two_phases(folder: Path) -> Path:
    return write_enhanced(folder / "ct" / "ct.dcm", [*even_positions(3), *even_positions(3)])


@bad_input(46, series=True, refused="NumberOfFrames is 9, but 4 frames are described")
def enhanced_multiframe_of_another_length(folder: Path) -> Path:
    return write_enhanced(folder / "ct" / "ct.dcm", even_positions(4), NumberOfFrames=9)


@bad_input(46, series=True, refused=r"ct.dcm frame 2: its position in the patient is unknown")
def enhanced_multiframe_with_a_lost_frame(folder: Path) -> Path:
    return write_enhanced(folder / "ct" / "ct.dcm", [even_positions(1)[0], []])


@bad_input(46, series=True)
def enhanced_multiframe(folder: Path) -> Path:
    return write_enhanced(folder / "ct" / "ct.dcm", even_positions()[::-1])


@bad_input(46, series=True, refused="its DICOM preamble starts like a Windows program")
def program_in_the_preamble(folder: Path) -> Path:
    write_series(folder / "ct", even_positions(2))
    path = folder / "ct" / "slice01.dcm"
    path.write_bytes(b"MZ" + path.read_bytes()[2:])
    return folder / "ct"


@bad_input(46, series=True, refused="its position in the patient is unknown")
def slice_without_a_position(folder: Path) -> Path:
    return write_series(folder / "ct", even_positions(2), ImagePositionPatient=lambda k: [] if k else [0, 0, 0])


@bad_input(46, series=True, refused="slice02.dcm: is a slice without its size")
def slice_without_a_size(folder: Path) -> Path:
    write_series(folder / "ct", even_positions(3))
    dataset = pydicom.dcmread(folder / "ct" / "slice02.dcm")
    del dataset.Rows
    save(dataset, folder / "ct" / "slice02.dcm")
    return folder / "ct"
