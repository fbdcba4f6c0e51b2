"""Where the voxels of a NIfTI file lie: sform before qform before bare voxel edges, in mm, with what was odd."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.errors import option
from segauge.grid import Grid
from segauge.io.nifti_header import NiftiHeader
from segauge.io.reading import SpacingSource

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
