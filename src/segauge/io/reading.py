"""Reading: what a reader returns, a label map with what had to be said about its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from segauge.grid import Grid
from segauge.io.gate import DEFAULT_LIMITS, Limits
from segauge.labelmap import LabelMap


class SpacingSource(StrEnum):
    """Where the voxel edges in mm come from."""

    HEADER = "header"
    SIDECAR = "sidecar"
    ARGUMENT = "argument"
    ASSUMED = "assumed"
    UNUSABLE = "unusable"


@dataclass(frozen=True)
class Reading:
    """A label map read from a file, the file's format, and the notes: what was odd and how it was taken.

    `spacing_source` says whether distances in mm may be trusted: ASSUMED means that the file knows no voxel edges
    and 1 mm was put in their place, UNUSABLE that it should know them but its header holds none that can be.
    `unfilled` are labels whose voxels are not in the map, although the file has them: contours oblique to its grid.
    `drawn_on` is the grid that contours were filled on, None for a file of voxels.
    """

    labels: LabelMap
    format: str
    notes: tuple[str, ...] = ()
    spacing_source: SpacingSource = SpacingSource.HEADER
    unfilled: frozenset[int] = frozenset()
    drawn_on: ReferenceGrid | None = None

    @property
    def reference(self) -> ReferenceGrid | LabelMap | None:
        """What the contours of a prediction for this ground truth are filled on; None where it has no place in space.

        Contours of the same series as the ground truth's are filled by the same rule as these.
        """
        if self.drawn_on is not None:
            return self.drawn_on
        return self.labels if self.labels.in_space else None


@dataclass(frozen=True)
class ReferenceGrid:
    """The grid that contours are filled on, its frame of reference, and whether it is their own image series.

    `slices`: where the images of an uneven series lie along the third axis, in voxels of the grid, ascending; empty
    for a series whose every slice is a slice of the grid. `series_uid` is the identifier of the series. `partial`: the
    grid covers a part of its image only, and contours that reach further must not be cut.
    """

    grid: Grid
    frame_of_reference: str = ""
    is_series: bool = False
    slices: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    series_uid: str = ""
    partial: bool = False


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be taken.

    `spacing`: voxel edges in mm that replace those of the file, one per array axis. `threshold`: probabilities and
    fractions of at least this value count as foreground. `frame`: which volume of a time series, from 0.
    `nan`: "refuse" NaN and infinite voxels, or take them as "background". `reference`: the grid that contours are
    filled on; `any_frame_of_reference` lets contours of another coordinate system through. `array_key`: which array
    of an .npz file. `real_values`: the file is an image, and a layer holds the bits of its float32 values.
    `one_volume`: refuse several volumes, and do not take them for a channel per structure.
    """

    spacing: float | tuple[float, ...] | None = None
    threshold: float | None = None
    frame: int | None = None
    nan: Literal["refuse", "background"] = "refuse"
    reference: ReferenceGrid | None = None
    any_frame_of_reference: bool = False
    array_key: str | None = None
    real_values: bool = False
    one_volume: bool = False
    limits: Limits = field(default=DEFAULT_LIMITS)


DEFAULT_OPTIONS = ReadOptions()
