"""The header of NIfTI-1, NIfTI-2 and ANALYZE 7.5 files, parsed within its 348 or 540 bytes and checked.

Nothing here reads voxels or allocates by what the header says.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import UnreadableFile

NIFTI1_SIZE, NIFTI2_SIZE = 348, 540
_MAGIC1 = (b"n+1\0", b"ni1\0")
_MAGIC2 = (b"n+2\0\r\n\x1a\n", b"ni2\0\r\n\x1a\n")

_TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
_REFUSED_TYPES = {
    1: "single bits", 32: "complex numbers", 128: "RGB colours", 1536: "128-bit floats", 1792: "complex numbers",
    2048: "complex numbers", 2304: "RGBA colours",
}  # fmt: skip
_MILLIMETRES = {0: 1.0, 1: 1000.0, 2: 1.0, 3: 0.001}
_UNIT_WORDS = {1: "metres", 3: "micrometres"}


@dataclass(frozen=True, eq=False)
class NiftiHeader:
    """What a NIfTI header says, as far as labels need it; lengths still in the file's own unit."""

    kind: str
    byte_order: str
    dim: tuple[int, ...]
    datatype: int
    pixdim: tuple[float, ...]
    vox_offset: float
    slope: float
    intercept: float
    units: int
    qform_code: int
    sform_code: int
    quaternion: tuple[float, ...]
    qoffset: tuple[float, ...]
    srow: npt.NDArray[np.float64]
    single_file: bool
    size: int
    glmin: int = 0

    def dtype(self, source: str) -> np.dtype[Any]:
        """Return the type of one voxel; raise UnreadableFile where voxels cannot be labels."""
        if self.datatype in _TYPES:
            return np.dtype(self.byte_order + _TYPES[self.datatype])
        what = _REFUSED_TYPES.get(self.datatype)
        raise UnreadableFile(
            f"{source}: holds {what}, expected integer labels. Write it as an integer label map."
            if what
            else f"{source}: has the unknown NIfTI datatype {self.datatype}. The file is damaged: write it again."
        )

    def scaling(self) -> tuple[float, float]:
        """Return slope and intercept; a slope of 0, NaN or infinity means none, by the standard."""
        if self.slope == 0 or not math.isfinite(self.slope):
            return 1.0, 0.0
        return self.slope, self.intercept if math.isfinite(self.intercept) else 0.0

    def millimetres_per_unit(self) -> tuple[float, str]:
        """Return the factor to mm, and the unit in words where it is not mm."""
        code = self.units & 7
        return _MILLIMETRES.get(code, 1.0), _UNIT_WORDS.get(code, "")

    def has_time(self) -> bool:
        """Say whether the fourth axis is declared as time (seconds to microseconds)."""
        return (self.units & 0x38) in (8, 16, 24)


def parse_header(data: bytes, source: str) -> NiftiHeader:
    """Parse the first bytes of a file, at least 348, at most 540 used."""
    for order in "<>":
        size = struct.unpack_from(order + "i", data)[0] if len(data) >= 4 else 0
        if size == NIFTI1_SIZE and len(data) >= NIFTI1_SIZE:
            return _parse_nifti1(data, order)
        if size == NIFTI2_SIZE and len(data) >= NIFTI2_SIZE:
            return _parse_nifti2(data, order, source)
    raise UnreadableFile(
        f"{source}: no NIfTI header found (its first number must be 348 or 540). "
        "The file is damaged or of another format."
    )


def looks_like_nifti(head: bytes) -> bool:
    """Say whether the first bytes of a file are those of a NIfTI or ANALYZE header."""
    return head[:4] in (b"\x5c\x01\0\0", b"\0\0\x01\x5c", b"\x1c\x02\0\0", b"\0\0\x02\x1c")


def _parse_nifti1(data: bytes, order: str) -> NiftiHeader:
    def numbers(code: str, offset: int) -> tuple[Any, ...]:
        return struct.unpack_from(order + code, data, offset)

    magic = data[344:348]
    is_nifti = magic in _MAGIC1
    vox_offset, slope, intercept = numbers("3f", 108)
    qform_code, sform_code = numbers("2h", 252) if is_nifti else (0, 0)
    return NiftiHeader(
        kind="NIfTI-1" if is_nifti else "ANALYZE 7.5",
        byte_order=order,
        dim=numbers("8h", 40),
        datatype=numbers("h", 70)[0],
        pixdim=numbers("8f", 76),
        vox_offset=vox_offset,
        # ANALYZE has other fields at the place of the scaling and the units.
        slope=slope if is_nifti else 0.0,
        intercept=intercept if is_nifti else 0.0,
        units=data[123] if is_nifti else 0,
        qform_code=qform_code,
        sform_code=sform_code,
        quaternion=numbers("3f", 256),
        qoffset=numbers("3f", 268),
        srow=np.array(numbers("12f", 280), dtype=np.float64).reshape(3, 4),
        single_file=magic == _MAGIC1[0],
        size=NIFTI1_SIZE,
        glmin=numbers("i", 144)[0],
    )


def _parse_nifti2(data: bytes, order: str, source: str) -> NiftiHeader:
    def numbers(code: str, offset: int) -> tuple[Any, ...]:
        return struct.unpack_from(order + code, data, offset)

    if data[4:12] not in _MAGIC2:
        raise UnreadableFile(f"{source}: the NIfTI-2 signature is damaged (line ends converted?). Copy it as binary.")
    slope, intercept = numbers("2d", 176)
    qform_code, sform_code = numbers("2i", 344)
    return NiftiHeader(
        kind="NIfTI-2",
        byte_order=order,
        dim=numbers("8q", 16),
        datatype=numbers("h", 12)[0],
        pixdim=numbers("8d", 104),
        vox_offset=float(numbers("q", 168)[0]),
        slope=slope,
        intercept=intercept,
        units=numbers("i", 500)[0] & 0xFF,
        qform_code=qform_code,
        sform_code=sform_code,
        quaternion=numbers("3d", 352),
        qoffset=numbers("3d", 376),
        srow=np.array(numbers("12d", 400), dtype=np.float64).reshape(3, 4),
        single_file=data[4:12] == _MAGIC2[0],
        size=NIFTI2_SIZE,
    )
