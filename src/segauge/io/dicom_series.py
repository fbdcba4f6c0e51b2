"""The grid of a DICOM image series: slices sorted by position along the normal, or refused with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import IrregularSeries, UnreadableFile, option
from segauge.grid import Grid
from segauge.io.dicom_files import looks_like_dicom, parser_failures, read_dataset
from segauge.io.dicom_planes import (
    OFF_PLACE,
    TILT_DEGREES,
    Plane,
    Vector,
    functional_group,
    plane_of,
    position_of,
    tilt_degrees,
)
from segauge.io.gate import DEFAULT_LIMITS, Limits, check_dimensions
from segauge.io.streams import list_folder, open_file
from segauge.plural import counted

_TAGS = [
    "SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID", "Modality", "ImageType",
    "NumberOfFrames", "Rows", "Columns", "ImageOrientationPatient", "ImagePositionPatient", "PixelSpacing",
    "SpacingBetweenSlices", "SliceThickness", "SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence",
]  # fmt: skip
_NOT_IMAGES = ("SEG", "RTSTRUCT", "RTPLAN", "RTDOSE", "RTRECORD", "REG", "SR", "PR", "KO", "DOC")
_MAX_FILES = 100_000


@dataclass(frozen=True)
class Series:
    """A series of slices as a grid, axes (column, row, slice), RAS mm, slices ascending along the normal.

    `places`: where the slices of an uneven series lie along the third axis, in voxels; empty for an even one.
    """

    grid: Grid
    series_uid: str
    frame_of_reference: str
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    places: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class _Slice:
    path: Path
    name: str
    series_uid: str
    frame_of_reference: str
    image_type: str
    stated_distance: float | None
    plane: Plane
    position: Vector

    @property
    def is_scout(self) -> bool:
        return "LOCALIZER" in self.image_type.upper()


class SeriesNotFound(UnreadableFile):
    """A folder does not hold the series that was asked for, or any."""


def read_series(
    folder: Path,
    *,
    series_uid: str | None = None,
    allow_nonuniform: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Series:
    """Read the grid of the image series in a folder: a file per slice, or an enhanced multi-frame file (or just that).

    With `allow_nonuniform` a series whose slices are not evenly spaced gets an even grid as fine as its closest
    slices, from the first slice to the last, and a tilted one a sheared grid; the notes say so.

    Files beside the slices (screen saves, dose, reports, scouts) are not used, and named in the notes.

    Raises:
        SeriesNotFound: if the folder holds no slice (of the series `series_uid`).
        IrregularSeries: if the folder holds several series (and `series_uid` names none), a scout in the plane of the
            slices, slices of different size or orientation, doubled positions; without `allow_nonuniform` also for a
            tilted gantry and missing positions.

    """
    slices, others = _slices_in(folder, series_uid, limits)
    if not slices:
        wanted = f" of the series {series_uid}" if series_uid else ""
        raise SeriesNotFound(f"{folder}: holds no DICOM image slices{wanted} ({counted(len(others), 'other file')}).")
    _refuse_mixed(slices, folder)
    plane = slices[0].plane
    ordered = sorted(slices, key=lambda item: float(item.position @ plane.normal))
    stack = _stack(ordered, plane, folder, allow_nonuniform=allow_nonuniform)
    check_dimensions((plane.columns, plane.rows, stack.count), str(folder), limits)
    grid = plane.grid(ordered[0].position, stack.step, stack.count)
    files = tuple(dict.fromkeys(item.path for item in ordered))
    notes = (f"{counted(len(others), 'DICOM file')} of other kinds or series not used: {_names(others)}",)
    return Series(
        grid, ordered[0].series_uid, ordered[0].frame_of_reference, files, stack.notes + notes * bool(others),
        stack.places,
    )  # fmt: skip


def holds_series(folder: Path) -> bool:
    """Say whether a folder holds DICOM files directly."""
    files = (path for path in list_folder(folder) if path.is_file() and path.stat().st_size > 132)
    return any(_is_dicom(path) for _, path in zip(range(20), files, strict=False))


def _is_dicom(path: Path) -> bool:
    with open_file(path) as file:
        return looks_like_dicom(file.read(132))


def _slices_in(folder: Path, series_uid: str | None, limits: Limits) -> tuple[list[_Slice], list[str]]:
    """Return the slices of the wanted series, or of all, and the names of the DICOM files that were left out.

    What lies beside the slices of a series (screen saves, dose, reports, scouts of another plane) is left out and
    named; segmentations are left out, too. A file of the same series and kind as the slices is never left out: a slice
    that does not say where it lies would make a gap that looks like a regular, wider spacing.
    """
    found_here = [folder] if folder.is_file() else list_folder(folder)
    paths = [path for path in found_here if path.is_file() and path.stat().st_size > 0]
    if len(paths) > _MAX_FILES:
        raise IrregularSeries(
            f"{folder}: holds {len(paths)} files, more than a series has. Give the series' own folder."
        )
    images: list[tuple[Path, Any, tuple[str, str]]] = []
    placed: set[tuple[str, str]] = set()
    others: list[str] = []
    for path in paths:
        if not _is_dicom(path):
            continue
        dataset = read_dataset(path, limits, tags=list(_TAGS))
        with parser_failures(str(path)):
            kind = _kind_of(dataset)
            if not _is_image(path, dataset) or series_uid not in (None, kind[0]):
                others += [path.name] if dataset.get("Modality", "") not in ("SEG", "RTSTRUCT") else []
                continue
            images.append((path, dataset, kind))
            placed |= {kind} if _says_its_place(dataset) else set()
    slices: list[_Slice] = []
    for path, dataset, kind in images:
        if placed and kind not in placed:
            others.append(path.name)
        else:
            slices += _slices_of(path, dataset)
    scouts = _scouts_of_another_plane(slices)
    return [item for item in slices if item not in scouts], others + [item.name for item in scouts]


def _kind_of(dataset: Any) -> tuple[str, str]:
    """Return series and class of an image: a screen save may carry the series of the slices, never their class."""
    return str(dataset.get("SeriesInstanceUID", "")), str(dataset.get("SOPClassUID", ""))


def _says_its_place(dataset: Any) -> bool:
    frames = dataset.get("PerFrameFunctionalGroupsSequence")
    return bool(frames) or dataset.get("ImagePositionPatient") is not None


def _is_image(path: Path, dataset: Any) -> bool:
    """Say whether a file holds pixels of a series; refuse a slice without its size."""
    if dataset.get("Modality", "") in _NOT_IMAGES:
        return False
    if dataset.get("Rows") is not None and dataset.get("Columns") is not None:
        return True
    if _says_its_place(dataset):
        raise UnreadableFile(f"{path}: is a slice without its size (Rows, Columns). Export it again.")
    return False


def _scouts_of_another_plane(slices: Sequence[_Slice]) -> list[_Slice]:
    """Return the scouts (localizers) that lie across the slices of their folder; none where there are only scouts."""
    rest = [item for item in slices if not item.is_scout]
    usual = _usual(rest) if rest else None
    return [item for item in slices if usual is not None and item.is_scout and not item.plane.same_as(usual)]


def _slices_of(path: Path, dataset: Any) -> list[_Slice]:
    """Return the slice of a file, or those of its frames."""
    with parser_failures(str(path)):
        frames = dataset.get("PerFrameFunctionalGroupsSequence")
        if frames:
            return _slices_of_frames(path, dataset, frames)
        stated = int(dataset.get("NumberOfFrames") or 1)
        if stated > 1:
            raise IrregularSeries(
                f"{path}: is a multi-frame image of {stated} frames without a position for each. "
                "Convert it to single slices, or to NIfTI."
            )
        return [_slice(path, path.name, dataset, dataset, dataset, dataset)]


def _slices_of_frames(path: Path, dataset: Any, frames: Any) -> list[_Slice]:
    """Return the slices of an enhanced multi-frame image, each with its own or the shared place and spacing."""
    stated = int(dataset.get("NumberOfFrames") or len(frames))
    if stated != len(frames):
        raise UnreadableFile(f"{path}: NumberOfFrames is {stated}, but {len(frames)} frames are described.")
    shared = (dataset.get("SharedFunctionalGroupsSequence") or [None])[0]
    groups = ("PlaneOrientationSequence", "PixelMeasuresSequence", "PlanePositionSequence")
    return [
        _slice(path, f"{path.name} frame {k}", dataset, *(functional_group(own, shared, name) for name in groups))
        for k, own in enumerate(frames, start=1)
    ]


def _slice(path: Path, name: str, dataset: Any, orientation: Any, measures: Any, position: Any) -> _Slice:
    """Return one slice from where its orientation, pixel measures and position stand."""
    source = f"{path.with_name(name)}"
    size = (dataset.get("Rows"), dataset.get("Columns"))
    stated = measures.get("SpacingBetweenSlices") or measures.get("SliceThickness")
    return _Slice(
        path,
        name,
        str(dataset.get("SeriesInstanceUID", "")),
        str(dataset.get("FrameOfReferenceUID", "") or ""),
        "\\".join(str(word) for word in dataset.get("ImageType", None) or []),
        float(stated) if stated else None,
        plane_of(size, orientation.get("ImageOrientationPatient"), measures.get("PixelSpacing"), source),
        position_of(position.get("ImagePositionPatient"), source),
    )


def _refuse_mixed(slices: Sequence[_Slice], folder: Path) -> None:
    series = sorted({item.series_uid for item in slices})
    if len(series) > 1:
        raise IrregularSeries(
            f"{folder}: holds {len(series)} series mixed ({', '.join(series[:3])}{' ...' if len(series) > 3 else ''}). "
            "Give each series its own folder, or pass series_uid=."
        )
    scouts = [item.name for item in slices if item.is_scout]
    if scouts and len(scouts) < len(slices):
        raise IrregularSeries(f"{folder}: holds a scout (localizer) among its slices: {_names(scouts)}. Remove it.")
    usual = _usual(slices)
    odd = [item.name for item in slices if not item.plane.same_as(usual)]
    if odd:
        raise IrregularSeries(
            f"{folder}: {_names(odd)} differ from the other slices in size, orientation or pixel spacing "
            "(a scout, or two stacks in one series). Remove them."
        )


def _usual(slices: Sequence[_Slice]) -> Plane:
    """Return the plane that most slices have."""
    counts = Counter((s.plane.rows, s.plane.columns, *np.round(s.plane.normal, 2).tolist()) for s in slices)
    most = counts.most_common(1)[0][0]
    return next(
        s.plane for s in slices if (s.plane.rows, s.plane.columns, *np.round(s.plane.normal, 2).tolist()) == most
    )


@dataclass(frozen=True, eq=False)
class _Stack:
    """How slices make a grid: the vector from slice to slice, their number, and where uneven ones lie."""

    step: Vector
    count: int
    notes: tuple[str, ...] = ()
    places: tuple[float, ...] = ()


def _stack(ordered: Sequence[_Slice], plane: Plane, folder: Path, *, allow_nonuniform: bool) -> _Stack:
    """Return the stack of the slices, refusing doubles, and tilt and gaps unless they are allowed."""
    if len(ordered) == 1:
        stated = ordered[0].stated_distance
        if stated is None or not 0 < abs(stated) < 1e6:
            raise IrregularSeries(f"{folder}: holds one slice without a thickness, so its voxels have no height.")
        note = f"one slice only; its height {abs(stated):g} mm is its stated thickness"
        return _Stack(plane.normal * abs(stated), 1, (note,))
    positions = np.array([item.position for item in ordered])
    heights = positions @ plane.normal
    _refuse_doubles(heights, ordered, folder)
    tilt = tilt_degrees(positions, plane.normal)
    notes: tuple[str, ...] = ()
    if tilt > TILT_DEGREES:
        words = f"the slices are shifted against each other, {tilt:.3g} degrees off the normal (gantry tilt)"
        if not allow_nonuniform or not _lie_on_a_line(positions, heights):
            raise IrregularSeries(
                f"{folder}: {words}. Correct the tilt by resampling the series first"
                + (f", or {option('allow_nonuniform')} to take it as a sheared grid." if not allow_nonuniform else ".")
            )
        notes = (f"{words}; taken as a sheared grid",)
    if not _are_even(heights):
        if not allow_nonuniform:
            _refuse_gaps(heights, ordered, folder)
        return _uneven(positions, heights, notes)
    return _Stack((positions[-1] - positions[0]) / (len(ordered) - 1), len(ordered), notes)


def _uneven(positions: Any, heights: Any, notes: tuple[str, ...]) -> _Stack:
    """Return an even stack as fine as the closest slices, and where the slices lie in it."""
    gaps, span = np.diff(heights), float(heights[-1] - heights[0])
    steps = round(span / float(gaps.min()))
    places = tuple(((heights - heights[0]) * (steps / span)).tolist())
    note = (
        f"the slices lie {gaps.min():.4g} to {gaps.max():.4g} mm apart; taken on an even grid of {span / steps:.4g} "
        "mm, each slice from halfway to halfway of its neighbours"
    )
    return _Stack((positions[-1] - positions[0]) / steps, steps + 1, (*notes, note), places)


def _lie_on_a_line(positions: Any, heights: Any) -> bool:
    """Say whether the first pixels of all slices lie on one line, as those of a tilted gantry do."""
    share = ((heights - heights[0]) / (heights[-1] - heights[0]))[:, None]
    off = positions - (positions[0] + share * (positions[-1] - positions[0]))
    return bool(np.abs(off).max() <= OFF_PLACE * float(np.median(np.diff(heights))))


def _refuse_doubles(heights: Any, ordered: Sequence[_Slice], folder: Path) -> None:
    gaps = np.diff(heights)
    doubled = np.flatnonzero(gaps <= 0.01 * float(np.median(gaps)) + 1e-6)
    if doubled.size:
        pairs = [f"{ordered[k].name} and {ordered[k + 1].name}" for k in doubled[:3]]
        raise IrregularSeries(
            f"{folder}: {doubled.size} slice positions occur twice ({'; '.join(pairs)}). "
            "Remove the copies, or separate the two acquisitions."
        )


def _are_even(heights: Any) -> bool:
    gaps = np.diff(heights)
    usual = float(np.median(gaps))
    even = np.linspace(heights[0], heights[-1], len(heights))
    return bool(np.abs(heights - even).max() <= OFF_PLACE * usual and np.abs(gaps - usual).max() <= 0.25 * usual)


def _refuse_gaps(heights: Any, ordered: Sequence[_Slice], folder: Path) -> None:
    gaps = np.diff(heights)
    usual = float(np.median(gaps))
    wide = np.flatnonzero(np.abs(gaps - usual) > OFF_PLACE * usual)
    places = [f"{gaps[k]:.4g} mm between slices {k + 1} and {k + 2} ({ordered[k].name})" for k in wide[:3]]
    raise IrregularSeries(
        f"{folder}: the slice distance is not constant, usually {usual:.4g} mm but {'; '.join(places)}"
        f"{' ...' if wide.size > 3 else ''}. A slice is missing, or the spacing varies: complete the series, or "
        f"pass {option('allow_nonuniform')} to let each slice represent the space around it."
    )


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
