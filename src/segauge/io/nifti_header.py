"""The header of NIfTI-1, NIfTI-2 and ANALYZE 7.5 files, parsed within its 348 or 540 bytes and checked.

Nothing here reads voxels or allocates by what the header says. Where the voxels lie: sform before qform before bare
voxel edges, in mm, with a note on what was odd.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import UnreadableFile, option
from segauge.grid import Grid
from segauge.io.reading import SpacingSource

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


#: Voxel edges outside of this range in mm (a picometre to a kilometre) are damage, not geometry.
_PLAUSIBLE_EDGE = (1e-9, 1e6)

#: sform and qform are the same place where no corner is further apart than this, in mm.
_SAME_MM = 1e-3

#: Axes further than this from right angles, in degrees, are worth a note: float32 headers stay far below it.
_SHEAR_DEGREES = 0.01


@dataclass(frozen=True)
class Space:
    """The grid of a file, whether it says where in the world it lies, and where its spacing comes from."""

    grid: Grid
    in_space: bool
    spacing_source: SpacingSource
    notes: tuple[str, ...]


def space_of(header: NiftiHeader, shape: tuple[int, ...], spacing: float | tuple[float, ...] | None) -> Space:
    """Return where the voxels lie; `spacing` replaces the voxel edges of the file."""
    notes: list[str] = []
    factor, unit = header.millimetres_per_unit()
    if unit:
        notes.append(f"lengths are in {unit}; they were converted to mm")
    affine, name = _chosen_affine(header, shape, notes)
    source = SpacingSource.HEADER
    if affine is None:
        affine, source = _bare_affine(header, notes)
    affine[:3] *= factor
    in_space = name != ""
    if len(shape) == 2:
        affine, in_plane = _in_plane(affine, notes)
        in_space = in_space and in_plane
    grid = Grid(shape, affine)
    if grid.shear_degrees > _SHEAR_DEGREES:
        notes.append(f"the axes are {grid.shear_degrees:.2g} degrees off right angles; the full affine is used")
    if spacing is not None:
        grid, source = grid.with_spacing(spacing), SpacingSource.ARGUMENT
    return Space(grid, in_space, source, tuple(notes))


def _chosen_affine(
    header: NiftiHeader, shape: tuple[int, ...], notes: list[str]
) -> tuple[npt.NDArray[np.float64] | None, str]:
    sform = _valid(_sform(header)) if header.sform_code > 0 else None
    qform = _valid(_qform(header)) if header.qform_code > 0 else None
    if header.sform_code > 0 and sform is None:
        notes.append("the sform is no usable affine; it was ignored")
    if header.qform_code > 0 and qform is None:
        notes.append("the qform or its voxel edges (pixdim) are not usable; it was ignored")
    if sform is not None:
        _note_disagreements(header, sform, qform, shape, notes)
        return sform, "sform"
    if qform is not None:
        return qform, "qform"
    notes.append("the file has no world space (no usable sform or qform): it pairs by shape alone")
    return None, ""


def _note_disagreements(
    header: NiftiHeader,
    sform: npt.NDArray[np.float64],
    qform: npt.NDArray[np.float64] | None,
    shape: tuple[int, ...],
    notes: list[str],
) -> None:
    if qform is not None:
        full = (*shape, 1)[:3]
        gap = np.linalg.norm(Grid(full, sform).corners() - Grid(full, qform).corners(), axis=1).max()
        if gap > _SAME_MM:
            notes.append(f"sform and qform disagree by up to {gap:.4g} mm; the sform is used")
    edges = np.linalg.norm(sform[:3, :3], axis=0)
    pixdim = np.abs(np.asarray(header.pixdim[1:4], dtype=np.float64))
    used = slice(0, min(3, len(shape)))
    if not np.allclose(pixdim[used], edges[used], rtol=1e-3, atol=0):
        notes.append(
            f"voxel edges in pixdim ({_words(pixdim[used])}) are not those of the sform "
            f"({_words(edges[used])}); the sform is used"
        )


def _words(edges: npt.NDArray[np.float64]) -> str:
    return " x ".join(f"{edge:.4g}" for edge in edges)


def _sform(header: NiftiHeader) -> npt.NDArray[np.float64]:
    return np.vstack([header.srow, [0.0, 0.0, 0.0, 1.0]])


def _qform(header: NiftiHeader) -> npt.NDArray[np.float64] | None:
    edges = header.pixdim[1:4]
    if not all(_is_edge(edge) for edge in edges) or not all(math.isfinite(x) for x in header.quaternion):
        return None
    b, c, d = header.quaternion
    square = b * b + c * c + d * d
    if square > 1.0 + 1e-5:
        return None
    a = math.sqrt(max(0.0, 1.0 - square))
    length = math.sqrt(a * a + square)
    a, b, c, d = a / length, b / length, c / length, d / length
    rotation = np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )
    handed = -1.0 if header.pixdim[0] < 0 else 1.0
    affine = np.eye(4)
    affine[:3, :3] = rotation * np.array([edges[0], edges[1], edges[2] * handed])
    affine[:3, 3] = header.qoffset
    return affine


def _valid(affine: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64] | None:
    """Return the affine if it is finite, spans the space, and has plausible voxel edges and place; else None."""
    if affine is None or not np.all(np.isfinite(affine)) or np.abs(affine).max() > 1e9:
        return None
    edges = np.linalg.norm(affine[:3, :3], axis=0)
    if not all(_is_edge(float(edge)) for edge in edges):
        return None
    return affine if abs(np.linalg.det(affine[:3, :3] / edges)) >= 1e-6 else None


def _is_edge(edge: float) -> bool:
    return math.isfinite(edge) and _PLAUSIBLE_EDGE[0] <= edge <= _PLAUSIBLE_EDGE[1]


def _bare_affine(header: NiftiHeader, notes: list[str]) -> tuple[npt.NDArray[np.float64], SpacingSource]:
    edges = [abs(edge) for edge in header.pixdim[1:4]]
    needed = edges[: min(3, max(header.dim[0], 2))]
    if all(_is_edge(edge) for edge in needed):
        return np.diag([*needed, *[1.0] * (3 - len(needed)), 1.0]), SpacingSource.HEADER
    given = ", ".join(f"{edge:g}" for edge in header.pixdim[1:4])
    notes.append(
        f"the voxel edges (pixdim {given}) are not usable: 1 mm is assumed; "
        f"pass {option('spacing', ...)} for distances in mm"
    )
    return np.eye(4), SpacingSource.UNUSABLE


def _in_plane(affine: npt.NDArray[np.float64], notes: list[str]) -> tuple[npt.NDArray[np.float64], bool]:
    """Return the affine of a 2-D image, and whether it has a place: x and y of an axial plane, else bare edges."""
    if np.abs(affine[2, :2]).max() <= 1e-6 * np.abs(affine[:2, :2]).max():
        return affine[np.ix_([0, 1, 3], [0, 1, 3])].copy(), True
    notes.append("the 2-D image does not lie in an axial plane; only its voxel edges are used")
    edges = np.linalg.norm(affine[:3, :2], axis=0)
    return np.diag([edges[0], edges[1], 1.0]), False
