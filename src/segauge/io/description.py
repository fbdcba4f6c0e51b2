"""Describe a file in plain values: what `segauge doctor` prints, ready for JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import IrregularSeries
from segauge.grid import Grid
from segauge.io.dicom_objects import dicom_files_in, dicom_kind
from segauge.io.dicom_series import holds_series, read_series
from segauge.io.formats import FORMATS, identify
from segauge.io.gate import DEFAULT_LIMITS, Limits
from segauge.io.reading import Reading, SpacingSource
from segauge.io.sources import find_reference, read_labels
from segauge.io.structure_sets import StructureSet, read_structure_set
from segauge.labelmap import LabelArray, LabelMap
from segauge.plural import counted

#: Readings that are no single file of the catalog, or one of two kinds under one entry of it.
_OTHER_NAMES = {
    "folder": "folder of masks",
    "dicom-seg": "DICOM segmentation",
    "label map": "label map",
    "array": "array",
}


def describe(
    path: str | os.PathLike[str],
    *,
    reference: str | None = None,
    threshold: float | None = None,
    allow_nonuniform: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> dict[str, Any]:
    """Return source, format, kind ("labels", "series", "contours"), grid, labels and notes of a file or folder.

    A label has its number, name, voxels and volume in ml (None where contours have no grid to be filled on), and
    for contours their number. Labels that have a name but no voxel are listed with 0.
    """
    place = Path(path)
    if _is_series(place, limits):
        series = read_series(place, allow_nonuniform=allow_nonuniform, limits=limits)
        count = len(series.places) or series.grid.shape[2]
        what = f"DICOM series of {count} slices" if count > 1 else "DICOM image of one slice"
        beside = _segmentations_in(place, limits) if place.is_dir() else ()
        return _facts(str(path), what, "series", series.grid, SpacingSource.HEADER, [], series.notes + beside)
    if place.is_file() and identify(place).key == "dicom" and dicom_kind(place, limits) == "rtstruct":
        return _describe_contours(place, reference, allow_nonuniform, limits)
    reading = read_labels(path, threshold=threshold, limits=limits)
    labels = [_label(reading.labels, number, count) for number, count in _counts(reading.labels).items()]
    return _facts(
        str(path), _format_words(reading), "labels", reading.labels.grid, reading.spacing_source, labels, reading.notes
    )


def _is_series(place: Path, limits: Limits) -> bool:
    """Say whether a folder holds a series, or a file is a DICOM image (an enhanced one is a whole series)."""
    if place.is_dir():
        return any(place.iterdir()) and holds_series(place)
    return place.is_file() and identify(place).key == "dicom" and dicom_kind(place, limits) == "image"


def _segmentations_in(folder: Path, limits: Limits) -> tuple[str, ...]:
    """Return a note for each segmentation and structure set among the slices of a series."""
    notes = []
    for path, kind in dicom_files_in(folder).items():
        if kind == "rtstruct":
            regions = counted(len(read_structure_set(path, limits).rois), "region")
            notes.append(f"{path.name} is a structure set (RTSTRUCT) with {regions}: give this file to see them")
        elif kind == "seg":
            notes.append(f"{path.name} is a segmentation (SEG): give this file to see its segments")
    return tuple(notes)


def _describe_contours(path: Path, reference: str | None, allow_nonuniform: bool, limits: Limits) -> dict[str, Any]:
    structures = read_structure_set(path, limits)
    what = f"RTSTRUCT with {len(structures.rois)} regions"
    note = "no image series found next to the file: give a reference to fill the contours"
    found = None
    try:
        found = find_reference(path, reference, limits, allow_nonuniform=allow_nonuniform)
    except IrregularSeries as error:
        note = str(error)
    if not structures.rois or found is None:
        return _facts(str(path), what, "contours", None, None, _regions(structures, {}, None), (note,))
    reading = read_labels(path, reference=reference, allow_nonuniform=allow_nonuniform, limits=limits)
    regions = _regions(structures, _counts(reading.labels), reading.labels.grid)
    return _facts(str(path), what, "contours", reading.labels.grid, reading.spacing_source, regions, reading.notes)


def _regions(structures: StructureSet, counts: dict[int, int], grid: Grid | None) -> list[dict[str, Any]]:
    regions = []
    for roi in structures.rois:
        voxels = counts.get(roi.number, 0) if grid is not None else None
        volume = None if grid is None or voxels is None else voxels * grid.voxel_volume_mm3 / 1000
        regions.append(
            {"label": roi.number, "name": roi.name, "voxels": voxels, "ml": volume, "contours": len(roi.contours)}
        )
    return regions


def _format_words(reading: Reading) -> str:
    layers = len(reading.labels.layers)
    name = _OTHER_NAMES.get(reading.format) or next(f.name for f in FORMATS if f.key == reading.format)
    return name if layers == 1 else f"{name}, {layers} layers of overlapping structures"


def _label(labels: LabelMap, number: int, voxels: int) -> dict[str, Any]:
    volume = voxels * labels.grid.voxel_volume_mm3 / 1000 if labels.grid.ndim == 3 else None
    name = labels.names.get(number, "")
    return {"label": number, "name": name, "voxels": voxels, "ml": volume, "contours": None}


def _counts(labels: LabelMap) -> dict[int, int]:
    """Return the voxels of each label that occurs or has a name, ascending."""
    counts = dict.fromkeys((number for number in labels.names if number != 0), 0)
    for layer in labels.layers:
        for number, count in _count_layer(layer).items():
            counts[number] = counts.get(number, 0) + count
    return dict(sorted(counts.items()))


def _count_layer(layer: LabelArray) -> dict[int, int]:
    flat = layer.ravel(order="K")
    counts: dict[int, int] = {}
    for start in range(0, flat.size, 1 << 22):  # in pieces: counting makes 64-bit copies
        piece = flat[start : start + (1 << 22)]
        values, numbers = np.unique(piece[piece != 0], return_counts=True)
        for value, number in zip(values.tolist(), numbers.tolist(), strict=True):
            counts[value] = counts.get(value, 0) + number
    return counts


def _facts(
    source: str,
    words: str,
    kind: str,
    grid: Grid | None,
    spacing_source: SpacingSource | None,
    labels: list[dict[str, Any]],
    notes: tuple[str, ...],
) -> dict[str, Any]:
    place = None
    if grid is not None:
        place = {
            "words": str(grid),
            "shape": list(grid.shape),
            "spacing_mm": list(grid.spacing),
            "orientation": grid.orientation,
            "origin_mm": grid.affine[:-1, -1].tolist(),
            "affine": grid.affine.tolist(),
            "spacing_source": str(spacing_source),
        }
    return {"source": source, "format": words, "kind": kind, "grid": place, "labels": labels, "notes": list(notes)}
