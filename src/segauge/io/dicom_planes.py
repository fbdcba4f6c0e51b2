"""Image planes in the patient: orientation, spacing and positions of slices, and the grid that they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import UnreadableFile
from segauge.grid import Affine, Grid

Vector = npt.NDArray[np.float64]

#: Slices whose stacking direction deviates from the normal by more than this, in degrees, are tilted or shifted.
#: Direction cosines written with six digits stay below 1e-3 degrees.
TILT_DEGREES = 0.1

#: A slice may lie off its place in a regular stack by this share of the slice distance.
OFF_PLACE = 0.02


@dataclass(frozen=True, eq=False)
class Plane:
    """Size and directions of a stack of parallel slices, in DICOM's LPS millimetres."""

    rows: int
    columns: int
    along_row: Vector
    along_column: Vector
    row_spacing: float
    column_spacing: float

    @property
    def normal(self) -> Vector:
        """Unit vector across the slices."""
        return np.cross(self.along_row, self.along_column)

    def same_as(self, other: Plane) -> bool:
        """Say whether two slices have the same size, directions and spacing, up to written digits."""
        return (
            (self.rows, self.columns) == (other.rows, other.columns)
            and np.allclose(self.along_row, other.along_row, atol=1e-4)
            and np.allclose(self.along_column, other.along_column, atol=1e-4)
            and np.allclose(
                (self.row_spacing, self.column_spacing), (other.row_spacing, other.column_spacing), rtol=1e-4, atol=0
            )
        )

    def grid(self, first: Vector, step: Vector, slices: int) -> Grid:
        """Return the grid of a stack, axes (column, row, slice), turned from LPS to RAS."""
        affine: Affine = np.eye(4)
        affine[:3, 0] = self.along_row * self.column_spacing
        affine[:3, 1] = self.along_column * self.row_spacing
        affine[:3, 2] = step
        affine[:3, 3] = first
        affine[:2] *= -1.0
        return Grid((self.columns, self.rows, slices), affine)


def plane_of(size: Any, orientation: Any, spacing: Any, source: str) -> Plane:
    """Return the plane of an image from (rows, columns), ImageOrientationPatient and PixelSpacing, checked."""
    rows, columns = (int(n) for n in size)
    if rows < 1 or columns < 1:
        raise UnreadableFile(f"{source}: has {rows} rows and {columns} columns. The file is damaged.")
    if orientation is None or len(orientation) != 6:
        raise UnreadableFile(
            f"{source}: its orientation in the patient is unknown (ImageOrientationPatient is missing)."
        )
    if spacing is None or len(spacing) != 2:
        raise UnreadableFile(f"{source}: the size of its pixels is unknown (PixelSpacing is missing).")
    cosines = np.array([float(value) for value in orientation])
    row_spacing, column_spacing = (float(value) for value in spacing)
    along_row, along_column = cosines[:3], cosines[3:]
    lengths = np.linalg.norm(along_row), np.linalg.norm(along_column)
    if not np.all(np.isfinite(cosines)) or not np.allclose(lengths, 1.0, atol=1e-2):
        raise UnreadableFile(f"{source}: ImageOrientationPatient holds no unit vectors. The file is damaged.")
    if abs(float(along_row @ along_column)) > 1e-2:
        raise UnreadableFile(f"{source}: ImageOrientationPatient holds vectors that are not at right angles.")
    if not (0 < row_spacing < 1e6 and 0 < column_spacing < 1e6):
        raise UnreadableFile(f"{source}: PixelSpacing {row_spacing:g} x {column_spacing:g} mm is not usable.")
    return Plane(rows, columns, along_row / lengths[0], along_column / lengths[1], row_spacing, column_spacing)


def position_of(value: Any, source: str) -> Vector:
    """Return ImagePositionPatient, checked."""
    if value is None or len(value) != 3:
        raise UnreadableFile(f"{source}: its position in the patient is unknown (ImagePositionPatient is missing).")
    position = np.array([float(coordinate) for coordinate in value])
    if not np.all(np.abs(position) < 1e7):  # also false for NaN
        raise UnreadableFile(f"{source}: ImagePositionPatient {position.tolist()} is not usable.")
    return position


def functional_group(own: Any, shared: Any, name: str) -> Any:
    """Return a functional group of a frame: its own, else the shared one, else an empty one."""
    for group in (own, shared):
        sequence = group.get(name) if group is not None else None
        if sequence:
            return sequence[0]
    return {}


def tilt_degrees(positions: npt.NDArray[np.float64], normal: Vector) -> float:
    """Return the angle between the line through the outermost slices and the normal, 0 for a single place."""
    heights = positions @ normal
    span = positions[int(np.argmax(heights))] - positions[int(np.argmin(heights))]
    length = float(np.linalg.norm(span))
    if length == 0:
        return 0.0
    return math.degrees(math.acos(min(1.0, abs(float(span @ normal)) / length)))


def lattice_distance(heights: Sequence[float], stated: float | None) -> tuple[float | None, str]:
    """Return the slice distance that all heights are multiples of, and a note where it is not the stated one.

    The stated distance (SpacingBetweenSlices) wins where it fits; else the smallest gap, if it fits; else None.
    """
    levels = np.unique(np.round(np.asarray(heights), 4))
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-3]
    if stated is not None and (not math.isfinite(stated) or abs(stated) < 1e-6):
        stated = None
    if not gaps.size:
        return (abs(stated) if stated else None), ""
    if stated is not None and _are_multiples(gaps, abs(stated)):
        return _refined(levels, abs(stated)), ""
    smallest = float(gaps.min())
    if not _are_multiples(gaps, smallest):
        return None, ""
    note = ""
    if stated is not None:
        note = f"SpacingBetweenSlices is {abs(stated):g} mm, but frames lie {smallest:g} mm apart; the latter is used"
    return _refined(levels, smallest), note


def _are_multiples(gaps: npt.NDArray[np.float64], distance: float) -> bool:
    """Say whether every gap is a whole number of distances; a long gap may be off by more, as rounding adds up."""
    steps = np.rint(gaps / distance)
    allowed = OFF_PLACE * distance * np.sqrt(np.maximum(steps, 1))
    return bool(np.all(steps >= 1) and np.all(np.abs(gaps - steps * distance) <= allowed))


def _refined(levels: npt.NDArray[np.float64], distance: float) -> float:
    """Return the distance that carries the first level exactly to the last one, so that rounding does not add up."""
    span = float(levels[-1] - levels[0])
    steps = round(span / distance)
    return span / steps if steps else distance
