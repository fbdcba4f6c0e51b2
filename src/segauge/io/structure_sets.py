"""What an RTSTRUCT file has: its regions of interest with their contours, and the images that they were drawn on.

Planar contours are filled on a grid of pixel centres by the even-odd rule, exactly in their own coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import UnreadableFile
from segauge.io.dicom_files import parser_failures, read_dataset
from segauge.io.gate import DEFAULT_LIMITS, Limits

Points = npt.NDArray[np.float64]

#: A pixel centre no further from a contour line than this, in pixels, lies on it. Contours traced along pixel
#: centres (rt-utils does so) come back from their decimal text with errors above 1e-6; a wider band would add pixels
#: that are truly outside.
ON_LINE = 1e-5

#: Two contours whose points lie no further apart than this, in pixels, are one: no hole is drawn so close to its
#: outline, but the same outline is written with more digits here than there.
_SAME_POINT = 0.02


@dataclass(frozen=True, eq=False)
class FilledArea:
    """Foreground within a rectangle of an image: where it starts, and its pixels."""

    start: tuple[int, int]
    mask: npt.NDArray[np.bool_]


def fill(polygons: Sequence[Points], shape: tuple[int, int]) -> FilledArea:
    """Return the pixels whose centre is inside an odd number of the closed polygons, or on one of their lines.

    Points are (x, y) in pixels, the centre of pixel (i, j) at x = i, y = j; the mask has axes (i, j). A hole drawn
    inside of an outline, or joined to it by a keyhole cut, stays a hole; the cut itself stays filled.
    """
    starts, ends = _edges(polygons)
    low = np.maximum(np.ceil(starts.min(axis=0) - ON_LINE), 0).astype(np.int64)
    high = np.minimum(np.floor(starts.max(axis=0) + ON_LINE), np.asarray(shape) - 1).astype(np.int64)
    size = np.maximum(high - low + 1, 0)
    if not size.all():
        return FilledArea((0, 0), np.zeros((0, 0), dtype=np.bool_))
    starts, ends = starts - low, ends - low
    width, height = (int(n) for n in size)
    mask = _odd_crossings(starts, ends, width, height)
    _mark_lines(mask, starts, ends)
    _mark_lines(mask.T, starts[:, ::-1], ends[:, ::-1])
    return FilledArea((int(low[0]), int(low[1])), mask)


def without_repeats(polygons: Sequence[Points]) -> list[Points]:
    """Return the polygons, each once: one that was stored twice would be its own hole by the even-odd rule.

    The same line may start at another point, and run the other way round.
    """
    kept: list[Points] = []
    # By number of points and place, so that ten thousand contours of a slice are not compared each with each.
    known: dict[tuple[int, int, int], list[Points]] = {}
    for polygon in polygons:
        steps = np.abs(polygon - np.roll(polygon, 1, axis=0)).max(axis=1)
        corners = polygon[steps > ON_LINE]  # without points that stand twice in a row, such as a closing one
        x, y = np.floor(corners.mean(axis=0) if len(corners) else np.zeros(2)).astype(np.int64).tolist()
        near = [(len(corners), x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        if not any(_same_line(corners, other) for place in near for other in known.get(place, ())):
            kept.append(polygon)
            known.setdefault((len(corners), x, y), []).append(corners)
    return kept


def _same_line(one: Points, other: Points) -> bool:
    if len(one) != len(other) or not len(one) or np.abs(one.mean(axis=0) - other.mean(axis=0)).max() > _SAME_POINT:
        return False
    for line in (other, other[::-1]):
        starts = np.flatnonzero(np.abs(line - one[0]).max(axis=1) <= _SAME_POINT)
        if any(np.abs(np.roll(line, -start, axis=0) - one).max() <= _SAME_POINT for start in starts.tolist()):
            return True
    return False


def _edges(polygons: Sequence[Points]) -> tuple[Points, Points]:
    """Return start and end of every edge, the closing one included."""
    starts = np.concatenate(list(polygons))
    ends = np.concatenate([np.roll(polygon, -1, axis=0) for polygon in polygons])
    return starts, ends


def _odd_crossings(starts: Points, ends: Points, width: int, height: int) -> npt.NDArray[np.bool_]:
    """Return which centres see an odd number of edges to their left; an edge counts its lower end, not its upper."""
    lower = np.minimum(starts[:, 1], ends[:, 1])
    upper = np.maximum(starts[:, 1], ends[:, 1])
    edge, row = _integers_between(np.maximum(lower, 0), np.minimum(upper, height), half_open=True)
    slope = (ends[edge, 0] - starts[edge, 0]) / (ends[edge, 1] - starts[edge, 1])
    crossing = starts[edge, 0] + (row - starts[edge, 1]) * slope
    column = np.clip(np.ceil(crossing), 0, width).astype(np.int64)
    toggles = np.zeros((width + 1, height), dtype=np.uint8)
    np.add.at(toggles, (column, row), 1)  # wraps at 256, which keeps odd and even
    parity: npt.NDArray[np.bool_] = (np.cumsum(toggles[:width], axis=0, dtype=np.uint8) & 1).astype(np.bool_)
    return parity


def _mark_lines(mask: npt.NDArray[np.bool_], starts: Points, ends: Points) -> None:
    """Mark the centres that lie on an edge, found row by row (called again with x and y exchanged)."""
    width, height = mask.shape
    lower = np.maximum(np.minimum(starts[:, 1], ends[:, 1]) - ON_LINE, 0)
    upper = np.minimum(np.maximum(starts[:, 1], ends[:, 1]) + ON_LINE, height - 1)
    edge, row = _integers_between(lower, upper, half_open=False)
    run = ends[edge, 1] - starts[edge, 1]
    steep = np.abs(run) > ON_LINE
    share = np.where(steep, (row - starts[edge, 1]) / np.where(steep, run, 1.0), 0.0)
    crossing = starts[edge, 0] + np.clip(share, 0.0, 1.0) * (ends[edge, 0] - starts[edge, 0])
    column = np.rint(crossing)
    on_line = (np.abs(crossing - column) <= ON_LINE) & (column >= 0) & (column < width)
    mask[column[on_line].astype(np.int64), row[on_line]] = True


def _integers_between(
    lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64], *, half_open: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return, for each interval [lower, upper) or [lower, upper], its index and every integer in it."""
    first = np.ceil(lower).astype(np.int64)
    last = (np.ceil(upper) - 1 if half_open else np.floor(upper)).astype(np.int64)
    count = np.maximum(last - first + 1, 0)
    index = np.repeat(np.arange(len(first)), count)
    offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return index, first[index] + offset


@dataclass(frozen=True, eq=False)
class Contour:
    """One contour: its geometric type, and its points in RAS mm, one row each."""

    kind: str
    points: Points


@dataclass(frozen=True, eq=False)
class Roi:
    """One region of interest: number (1 and above), name, and contours."""

    number: int
    name: str
    contours: tuple[Contour, ...]


@dataclass(frozen=True, eq=False)
class StructureSet:
    """The regions of an RTSTRUCT file, and the images that they were drawn on: how many, 0 if the file does not say."""

    rois: tuple[Roi, ...]
    frame_of_reference: str
    series_uids: tuple[str, ...]
    source: str
    image_count: int = 0
    notes: tuple[str, ...] = ()


def read_structure_set(path: Path, limits: Limits = DEFAULT_LIMITS, dataset: Any = None) -> StructureSet:
    """Read the regions and references of an RTSTRUCT file, without filling anything."""
    source = str(path)
    dataset = read_dataset(path, limits) if dataset is None else dataset
    with parser_failures(source):
        frames = list(dataset.get("ReferencedFrameOfReferenceSequence") or [])
        items = list(dataset.get("StructureSetROISequence") or [])
        contours = _contours_by_number(dataset, source)
        stored = [int(item.ROINumber) for item in items]
        if len(set(stored)) < len(stored):
            raise UnreadableFile(f"{source}: two regions have the same number. Export it again.")
        labels, notes = _labels_of(stored)
        rois = tuple(
            Roi(label, str(item.get("ROIName") or f"ROI {number}"), contours.get(number, ()))
            for item, number, label in zip(items, stored, labels, strict=True)
        )
        uids = [str(item.get("ReferencedFrameOfReferenceUID") or "") for item in items]
        uids += [str(frame.get("FrameOfReferenceUID") or "") for frame in frames]
        named = next((uid for uid in uids if uid), "")
        return StructureSet(rois, named, _series_uids(frames), source, _image_count(frames), notes)


def _labels_of(stored: Sequence[int]) -> tuple[list[int], tuple[str, ...]]:
    """Return a label for each region number, and what to tell: numbers below 1 get the next free ones, in order."""
    low = sorted(number for number in stored if number < 1)
    free = max([0, *stored]) + 1
    labels = {number: free + k for k, number in enumerate(low)}
    notes = tuple(
        f"region {number} has the label {label} here, since labels start at 1" for number, label in labels.items()
    )
    return [labels.get(number, number) for number in stored], notes


def referenced_series(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """Return the identifiers of the image series that an RTSTRUCT file refers to."""
    dataset = read_dataset(path, limits, tags=["ReferencedFrameOfReferenceSequence"])
    with parser_failures(str(path)):
        return _series_uids(list(dataset.get("ReferencedFrameOfReferenceSequence") or []))


def _series_uids(frames: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(series.get("SeriesInstanceUID") or "") for series in _series_items(frames))


def _series_items(frames: Sequence[Any]) -> Iterator[Any]:
    for frame in frames:
        for study in frame.get("RTReferencedStudySequence") or []:
            yield from study.get("RTReferencedSeriesSequence") or []


def _image_count(frames: Sequence[Any]) -> int:
    """Return how many images the series that the file refers to has; 0 of several series, or where it is silent."""
    counts = [len(series.get("ContourImageSequence") or []) for series in _series_items(frames)]
    return counts[0] if len(counts) == 1 else 0


def _contours_by_number(dataset: Any, source: str) -> dict[int, tuple[Contour, ...]]:
    found: dict[int, tuple[Contour, ...]] = {}
    for item in dataset.get("ROIContourSequence") or []:
        number = int(item.ReferencedROINumber)
        contours = tuple(_contour(entry, number, source) for entry in item.get("ContourSequence") or [])
        found[number] = found.get(number, ()) + contours
    return found


def _contour(entry: Any, number: int, source: str) -> Contour:
    values = _contour_data(entry)
    if len(values) % 3:
        raise UnreadableFile(f"{source}: region {number} has a contour of {len(values)} numbers, not a multiple of 3.")
    points = values.reshape(-1, 3)
    if not np.all(np.abs(points) < 1e7):  # also false for NaN
        raise UnreadableFile(f"{source}: region {number} has contour points that are no usable coordinates.")
    return Contour(str(entry.get("ContourGeometricType") or "CLOSED_PLANAR"), points * (-1.0, -1.0, 1.0))


def _contour_data(entry: Any) -> Points:
    """Return the numbers of a contour, straight from its text: pydicom's decimal objects take twenty times as long."""
    element = entry.get_item("ContourData") if "ContourData" in entry else None
    raw = None if element is None else element.value
    if isinstance(raw, bytes):
        words = raw.strip(b" \0").split(b"\\")
        return np.array([word for word in words if word.strip()], dtype=bytes).astype(np.float64)
    values = [] if raw is None else [raw] if isinstance(raw, (str, float, int)) else list(raw)
    return np.array([float(value) for value in values], dtype=np.float64)
