"""Images (not labels): NIfTI in and out as real numbers on their grid, and images of any format for pictures.

`write_nifti` writes what the readers here read: one volume, its affine as sform, and nothing that would have to be
guessed. For pictures, what read_labels reads as labels and DICOM series become real numbers too.
"""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, MissingExtra, UnreadableFile
from segauge.grid import Grid
from segauge.io.dicom_files import parser_failures, read_dataset, require_pydicom
from segauge.io.dicom_planes import Vector, functional_group, position_of
from segauge.io.dicom_series import read_series
from segauge.io.formats import identify
from segauge.io.gate import DEFAULT_LIMITS, MAX_DEFLATE_RATIO, Limits, check_dimensions, check_stored_bytes
from segauge.io.nifti_header import NIFTI1_SIZE, NIFTI2_SIZE, NiftiHeader, parse_header, space_of
from segauge.io.outputs import write_whole
from segauge.io.reading import ReadOptions
from segauge.io.streams import GZIP_MAGIC, ByteStream, InflatingStream, open_file, read_exactly, stored_size
from segauge.io.voxels import read_reals
from segauge.labelmap import LabelMap

_CODES = {"u1": 2, "i2": 4, "i4": 8, "f4": 16, "f8": 64, "i1": 256, "u2": 512, "u4": 768, "i8": 1024, "u8": 1280}
_OFFSET = 352


@dataclass(frozen=True, eq=False)
class Image:
    """Real numbers on their grid (float32, the file's axes), the file they came from, and whether it says where."""

    array: npt.NDArray[np.float32]
    grid: Grid
    source: str = "image"
    in_space: bool = True


def read_image(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Image:
    """Read one volume from a .nii or .nii.gz file, the header's scaling applied.

    Raises:
        UnreadableFile: if it is no NIfTI file, is damaged, or holds more than one volume.

    """
    place = Path(path)
    with open_file(place) as file:
        is_gzip = file.read(2) == GZIP_MAGIC
        file.seek(0)
        stream: ByteStream = InflatingStream(file, "gzip", str(place)) if is_gzip else file
        header = _header(stream, str(place))
        shape = _volume_shape(header, str(place))
        count = check_dimensions(shape, str(place), limits)
        offset = int(header.vox_offset) if header.vox_offset >= header.size else header.size + 4
        if offset - header.size > limits.max_header_bytes:
            raise UnreadableFile(f"{place}: its header puts the voxels at byte {offset}. The header is damaged.")
        read_exactly(stream, offset - header.size, str(place), "header extensions")
        dtype = header.dtype(str(place))
        stored, ratio = (stored_size(file), MAX_DEFLATE_RATIO) if is_gzip else (stored_size(file) - offset, 1)
        check_stored_bytes(count * dtype.itemsize, stored, str(place), ratio=ratio)
        flat = read_reals(stream, count, dtype, str(place), header.scaling())
        if isinstance(stream, InflatingStream):
            stream.finish(limits)
    return Image(flat.reshape(shape, order="F"), space_of(header, shape, None).grid, str(place))


def write_nifti(path: str | os.PathLike[str], array: npt.NDArray[Any], grid: Grid) -> Path:
    """Write one volume as NIfTI-1, whole or not at all, and return its path; ".gz" compresses.

    The same array and grid give the same bytes on every machine: no time, no name, one level of compression.
    """
    target = Path(path)
    data = header_bytes(array, grid) + np.asarray(array, dtype=array.dtype.newbyteorder("<")).tobytes(order="F")
    if target.name.endswith(".gz"):
        data = gzip.compress(data, compresslevel=4, mtime=0)
    return write_whole(target, data)


def header_bytes(array: npt.NDArray[Any], grid: Grid) -> bytes:
    """Return the 352 bytes before the voxels of a NIfTI-1 file: header and empty extension."""
    code = _CODES.get(array.dtype.str.lstrip("<>|="))
    if code is None or array.ndim != 3:
        raise InvalidInput(f"A NIfTI volume has 3 axes of integers or floats, got {array.ndim} of {array.dtype}.")
    if array.shape != grid.shape:
        raise InvalidInput(f"The array has shape {array.shape}, its grid {grid.shape}.")
    if max(array.shape) > 32767:
        raise InvalidInput(f"NIfTI-1 holds up to 32767 voxels along an axis, got {array.shape}.")
    header = bytearray(_OFFSET)
    struct.pack_into("<i", header, 0, NIFTI1_SIZE)
    struct.pack_into("<8h", header, 40, 3, *array.shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, code, array.dtype.itemsize * 8)
    struct.pack_into("<8f", header, 76, 1.0, *grid.spacing, 0.0, 0.0, 0.0, 0.0)
    struct.pack_into("<3f", header, 108, _OFFSET, 1.0, 0.0)
    header[123] = 2  # millimetres
    struct.pack_into("<2h", header, 252, 0, 1)  # no qform; sform: scanner coordinates
    struct.pack_into("<12f", header, 280, *grid.affine[:3].ravel().tolist())
    header[344:348] = b"n+1\0"
    return bytes(header)


def _header(stream: ByteStream, source: str) -> NiftiHeader:
    data = read_exactly(stream, NIFTI1_SIZE, source, "header")
    if data[:4] in (NIFTI2_SIZE.to_bytes(4, "little"), NIFTI2_SIZE.to_bytes(4, "big")):
        data += read_exactly(stream, NIFTI2_SIZE - NIFTI1_SIZE, source, "header")
    header = parse_header(data, source)
    if not header.single_file:
        raise UnreadableFile(f"{source}: is one half of a pair of files; write the image as .nii or .nii.gz.")
    return header


def _volume_shape(header: NiftiHeader, source: str) -> tuple[int, ...]:
    axes = header.dim[0]
    shape = tuple(int(n) for n in header.dim[1 : axes + 1]) if 3 <= axes <= 7 else ()
    if len(shape) < 3 or any(n != 1 for n in shape[3:]):
        size = " x ".join(map(str, header.dim[1 : max(axes, 0) + 1]))
        raise UnreadableFile(f"{source}: has the size {size}, expected one volume of three axes.")
    return shape[:3]


Slice = npt.NDArray[np.float32]


def read_dicom_image(place: Path, *, limits: Limits = DEFAULT_LIMITS) -> Image:
    """Return the image of the series in a folder (or of one multi-frame file), axes (column, row, slice).

    Values are rescaled by slope and intercept of each slice. Slices that are unevenly spaced are taken on an even
    grid, each voxel from the nearest slice.
    """
    series = read_series(place, allow_nonuniform=True, limits=limits)
    normal = _normal(series.grid.affine[:3, :3])
    found = [one for path in series.files for one in _slices(path, limits)]
    found.sort(key=lambda one: float(one[0] @ normal))
    columns, rows, slices = series.grid.shape
    if len(found) != (len(series.places) or slices):
        raise UnreadableFile(f"{place}: {slices} slices were described, {len(found)} have pixels. Export it again.")
    array = np.empty((columns, rows, slices), dtype=np.float32, order="F")
    places = np.asarray(series.places or range(slices), dtype=np.float64)
    for k in range(slices):
        pixels = found[int(np.argmin(np.abs(places - k)))][1]
        if pixels.shape != (rows, columns):
            raise UnreadableFile(f"{place}: a slice decodes to {pixels.shape}, expected {(rows, columns)}.")
        array[:, :, k] = pixels.T
    return Image(array, series.grid, str(place))


def _normal(axes: npt.NDArray[np.float64]) -> Vector:
    """Return the direction across the slices in DICOM's own coordinates (left, back, up)."""
    across = np.cross(axes[:, 0], axes[:, 1])
    return np.asarray(across * np.array([-1.0, -1.0, 1.0]) / np.linalg.norm(across))


def _slices(path: Path, limits: Limits) -> Iterator[tuple[Vector, Slice]]:
    """Yield position and values of every slice of a file."""
    dataset = read_dataset(path, limits, pixels=True)
    pydicom = require_pydicom(str(path))
    with parser_failures(str(path)):
        frames = dataset.get("PerFrameFunctionalGroupsSequence")
        try:
            pixels = np.asarray(pydicom.pixels.pixel_array(dataset))
        except (RuntimeError, NotImplementedError, ImportError) as error:
            raise MissingExtra(
                f"{path}: its pixels need a codec that is not installed ({str(error).splitlines()[0][:200]}). "
                "Run: pip install 'segauge[dicom]'"
            ) from error
        if not frames:
            yield position_of(dataset.get("ImagePositionPatient"), str(path)), _rescaled(pixels, dataset)
            return
        shared = (dataset.get("SharedFunctionalGroupsSequence") or [None])[0]
        for own, frame in zip(frames, pixels.reshape(-1, *pixels.shape[-2:]), strict=True):
            where = functional_group(own, shared, "PlanePositionSequence").get("ImagePositionPatient")
            values = functional_group(own, shared, "PixelValueTransformationSequence") or dataset
            yield position_of(where, str(path)), _rescaled(frame, values)


def _rescaled(pixels: npt.NDArray[Any], rule: Any) -> Slice:
    if pixels.ndim != 2:
        raise UnreadableFile(f"A slice has {pixels.ndim} axes (colour?), expected rows and columns of one value each.")
    slope, intercept = float(rule.get("RescaleSlope") or 1.0), float(rule.get("RescaleIntercept") or 0.0)
    return np.asarray(pixels, dtype=np.float32) * np.float32(slope) + np.float32(intercept)


def read_any_image(source: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Image:
    """Read an image of two or three axes: a file of any format that label maps can have, or a DICOM series.

    A DICOM series is its folder, or one enhanced multi-frame file; its rescale slope and intercept are applied.

    Raises:
        UnreadableFile: if it cannot be read, or holds several volumes or channels.

    """
    place = Path(source)
    if place.is_dir() or identify(place).key == "dicom":
        return read_dicom_image(place, limits=limits)
    reading = identify(place).read(place, ReadOptions(real_values=True, limits=limits))
    return image_of(reading.labels)


def labels_of(image: Image) -> LabelMap:
    """Return an image as a label map whose labels are the bits of its values, to be placed as label maps are.

    Placing moves voxels and fills with 0; no value of the image has these bits, so `image_of` knows what is outside.
    """
    values = np.where(image.array == 0, np.float32(-0.0), image.array).astype(np.float32, copy=False)
    return LabelMap((values.view(np.int32),), image.grid, source="image", in_space=image.in_space)


def image_of(bits: LabelMap, *, outside: float = 0.0) -> Image:
    """Return the image whose values are the bits of a label map; voxels without any get the value `outside`."""
    if len(bits.layers) != 1:
        raise UnreadableFile(f"{bits.source}: holds {len(bits.layers)} volumes or channels, expected one image.")
    layer = bits.layers[0]
    values = layer.astype(np.int32, copy=False).view(np.float32)
    if outside != 0.0:
        values = np.where(layer == 0, np.float32(outside), values)
    return Image(values, bits.grid, bits.source, bits.in_space)
