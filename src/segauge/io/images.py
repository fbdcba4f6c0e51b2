"""Images (not labels) in and out: the volume that a model sees, as real numbers on its grid; NIfTI only.

`write_nifti` writes what the readers here read: one volume, its affine as sform, and nothing that would have to be
guessed.
"""

from __future__ import annotations

import gzip
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, UnreadableFile
from segauge.grid import Grid
from segauge.io.gate import DEFAULT_LIMITS, MAX_DEFLATE_RATIO, Limits, check_dimensions, check_stored_bytes
from segauge.io.nifti_header import NIFTI1_SIZE, NIFTI2_SIZE, NiftiHeader, parse_header, space_of
from segauge.io.outputs import write_whole
from segauge.io.streams import GZIP_MAGIC, ByteStream, InflatingStream, open_file, read_exactly, stored_size
from segauge.io.voxels import read_reals

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
            raise UnreadableFile(f"{place}: its voxels are said to start at byte {offset}. The header is damaged.")
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
