"""What an RTSTRUCT file says: its regions of interest with their contours, and the images that they were drawn on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import UnreadableFile
from segauge.io.contours import Points
from segauge.io.dicom_files import parser_failures, read_dataset
from segauge.io.limits import DEFAULT_LIMITS, Limits


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
