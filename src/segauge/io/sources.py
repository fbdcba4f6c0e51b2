"""The entry for all readers: any source of a segmentation, by its content, as a label map or as one mask."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import GridMismatch, InvalidInput, UnknownStructure, UnreadableFile
from segauge.grid import Grid, Kinship, normalize_spacing
from segauge.io.arrays import reading_of_array
from segauge.io.dicom_objects import dicom_kind
from segauge.io.dicom_series import Series, SeriesNotFound, holds_series, read_series
from segauge.io.formats import identify, image_stem
from segauge.io.gate import DEFAULT_LIMITS, Limits
from segauge.io.reading import DEFAULT_OPTIONS, Reading, ReadOptions, ReferenceGrid
from segauge.io.rtstruct import check_frame_of_reference, fill_regions, region_named
from segauge.io.streams import list_folder
from segauge.io.structure_sets import read_structure_set, referenced_series
from segauge.io.voxels import Block, foreground_box, stack_layers
from segauge.labelmap import LabelMap


def read_mask_folder(folder: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read `<structure>.<suffix>` files as structures 1, 2, ... in the order of their names.

    Each file is a mask: background and one other value. All must lie on one grid. Masks may overlap and may be
    empty; an empty one keeps its name and label. Files that are no images are left out.
    """
    files = mask_files(folder)
    if not files:
        raise UnreadableFile(f"{folder}: the folder holds no image files (such as liver.nii.gz), one per structure.")
    notes: list[str] = []
    first: list[Reading] = []
    structures = _masks(files, first, notes, options)
    label, blocks = next(structures)
    grid = first[0].labels.grid

    def in_order() -> Iterator[tuple[int, list[Block]]]:
        yield label, blocks
        yield from structures

    layers = stack_layers(in_order(), grid.shape, len(files), str(folder), options.limits)
    head = first[0].labels
    labels = LabelMap(
        layers, grid, dict(enumerate(files, start=1)), str(folder), head.in_space, head.partial, head.frame_of_reference
    )
    return Reading(labels, "folder", tuple(notes), first[0].spacing_source)


def mask_files(folder: Path) -> dict[str, Path]:
    """Return the image files of a folder by structure name, sorted; refuse two files of one name."""
    files: dict[str, Path] = {}
    for path in list_folder(folder):
        name = image_stem(path.name)
        if name is None or path.name.startswith(".") or path.is_dir():
            continue
        if name in files:
            raise UnreadableFile(f"{folder}: {files[name].name} and {path.name} are both called {name!r}. Remove one.")
        files[name] = path
    return files


def _masks(
    files: dict[str, Path], first: list[Reading], notes: list[str], options: ReadOptions
) -> Iterator[tuple[int, list[Block]]]:
    """Yield label and voxels of each file; the first reading is put into `first`, notes into `notes`."""
    told: set[str] = set()
    for label, path in enumerate(files.values(), start=1):
        reading = identify(path).read(path, options)
        if not first:
            first.append(reading)
        relation = reading.labels.grid.relation_to(first[0].labels.grid)
        if relation.kind is not Kinship.SAME:
            raise GridMismatch(
                f"{path}: does not lie on the grid of {first[0].labels.source}: {relation.words}. "
                "The masks of one folder must share one grid."
            )
        fresh = [note for note in reading.notes if note not in told]
        told.update(fresh)
        notes.extend(f"{path.name}: {note}" for note in fresh)
        yield label, [_foreground(reading.labels)]


def _foreground(labels: LabelMap) -> Block:
    """Return the voxels of a mask, cropped to where there are any."""
    array = labels.layers[0]
    box = foreground_box(array)
    inside = array[box]
    mask = inside != 0
    if len(labels.layers) > 1 or (inside.size and np.any(inside[mask] != inside.max())):
        raise UnreadableFile(
            f"{labels.source}: holds several labels, but in a folder of structures each file is one mask. "
            "Give the file itself if it is a label map."
        )
    return Block(box, mask)


LabelSource = str | os.PathLike[str] | npt.NDArray[Any] | LabelMap
Reference = str | os.PathLike[str] | Grid | LabelMap | ReferenceGrid


def read_labels(
    source: LabelSource,
    *,
    spacing: float | tuple[float, ...] | None = None,
    reference: Reference | None = None,
    threshold: float | None = None,
    frame: int | None = None,
    nan: Literal["refuse", "background"] = "refuse",
    any_frame_of_reference: bool = False,
    allow_nonuniform: bool = False,
    array_key: str | None = None,
    one_volume: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Reading:
    """Read a segmentation from a file, a folder of masks, an array, or take a label map as it is.

    The format is told by the content. `spacing` (mm, one number or one per array axis) replaces the file's.
    `reference` gives the grid for RTSTRUCT: a folder with the image series, a file, a label map or a grid; by
    default the referenced series is looked for beside the file. `threshold` makes a mask of a probability map
    (FRACTIONAL DICOM: 0.5 by default). `frame` chooses a volume of a time series. `nan="background"` takes NaN
    voxels as background. `allow_nonuniform` fills contours also on a series whose slices are unevenly spaced, each
    slice from halfway to halfway of its neighbours, or tilted. `array_key` names the array of an .npz file.
    `one_volume` refuses an image of several volumes, which otherwise are a channel per structure.

    Raises:
        UnreadableFile: if the source cannot be read; the message says why and what to do.
        MissingExtra: if an optional dependency is missing; the message names the extra.

    """
    if nan not in ("refuse", "background"):
        raise InvalidInput(f"nan: expected 'refuse' or 'background', got {nan!r}.")
    if threshold is not None and not math.isfinite(threshold):
        raise InvalidInput(f"threshold: expected a finite number, got {threshold!r}.")
    options = ReadOptions(
        spacing if spacing is None or isinstance(spacing, (int, float)) else tuple(spacing),
        threshold,
        frame,
        nan,
        any_frame_of_reference=any_frame_of_reference,
        array_key=array_key,
        one_volume=one_volume,
        limits=limits,
    )
    if isinstance(source, LabelMap):
        return Reading(source, "label map")
    if isinstance(source, np.ndarray):
        return reading_of_array(source, options)
    path = _path(source)
    if path.is_dir():
        return _read_folder(path, options)
    entry = identify(path)
    if entry.key == "dicom" and dicom_kind(path, limits) == "rtstruct":
        found = find_reference(path, reference, limits, allow_nonuniform=allow_nonuniform)
        if found is not None:
            options = replace(options, reference=found)
    return entry.read(path, options)


def load_mask(
    source: npt.NDArray[Any] | str | os.PathLike[str],
    *,
    label: int | None = None,
    spacing: float | tuple[float, ...] | None = None,
    segment_number: int = 1,
) -> tuple[npt.NDArray[np.bool_], tuple[float, ...]]:
    """Return one mask and its voxel edges in mm, one per array axis.

    `label` keeps the voxels of that label, by default every non-zero voxel. `spacing` replaces that of the file;
    arrays and .npy files without one have 1 mm. From a DICOM-SEG comes the segment `segment_number`, whatever
    `label` says, with axes (slice, row, column) and slices descending along the normal, as highdicom orders them.
    """
    reading = read_labels(source)
    labels = reading.labels
    if reading.format == "dicom-seg":
        if segment_number not in labels.names and segment_number not in labels.labels():
            known = ", ".join(f"{number} ({name})" for number, name in labels.names.items())
            raise UnknownStructure(f"{labels.source}: has no segment {segment_number}; it has {known}.")
        mask = _voxels(labels, segment_number).transpose(2, 1, 0)[::-1]
        edges = labels.grid.spacing[::-1]
    else:
        mask = _voxels(labels, label)
        edges = labels.grid.spacing
    return mask, edges if spacing is None else normalize_spacing(spacing, mask.ndim)


def load_rtstruct(
    series_dir: str | os.PathLike[str],
    rtstruct_path: str | os.PathLike[str],
    roi_name: str,
    *,
    spacing: float | tuple[float, ...] | None = None,
) -> tuple[npt.NDArray[np.bool_], tuple[float, ...]]:
    """Return one region of an RTSTRUCT as a mask on its image series, and the voxel edges in mm.

    The axes are (row, column, slice), slices ascending along the normal. `spacing` replaces that of the series.
    Contours that refer to this very series are filled also where they carry another frame of reference (some
    writers invent one); contours of another frame of reference and another series are refused.
    """
    structures = read_structure_set(_path(rtstruct_path))
    series = _series_for(structures.series_uids, _path(series_dir), DEFAULT_LIMITS)
    drawn_on_it = series.series_uid in structures.series_uids
    options = ReadOptions(reference=_series_grid(series), any_frame_of_reference=drawn_on_it)
    check_frame_of_reference(structures, options)
    region = region_named(structures, roi_name)
    reading = fill_regions(structures, [region], _series_grid(series), options)
    mask = _voxels(reading.labels, region.number).transpose(1, 0, 2)
    columns, rows, slices = series.grid.spacing
    return mask, (rows, columns, slices) if spacing is None else normalize_spacing(spacing, 3)


def _voxels(labels: LabelMap, label: int | None) -> npt.NDArray[np.bool_]:
    """Return the voxels of a label, of any label if None, in the memory order of the layers."""
    mask = np.zeros_like(labels.layers[0], dtype=np.bool_)
    for layer in labels.layers:
        mask |= layer != 0 if label is None else layer == label
    return mask


def _path(source: str | os.PathLike[str]) -> Path:
    try:
        path = Path(source)
        exists = path.exists()
    except (TypeError, ValueError, OSError) as error:
        raise InvalidInput(f"Expected a path, an array or a label map, got {str(source)[:200]!r}: {error}.") from error
    if not exists and not path.is_symlink():
        raise UnreadableFile(f"{path}: there is no such file or folder.")
    return path


def _read_folder(folder: Path, options: ReadOptions) -> Reading:
    if not any(path.is_file() for path in list_folder(folder)):
        raise UnreadableFile(f"{folder}: the folder holds no files.")
    if holds_series(folder):
        raise UnreadableFile(
            f"{folder}: is a folder of DICOM files. Give the SEG or RTSTRUCT file itself; the images that it was drawn "
            "on may lie in the same folder."
        )
    return read_mask_folder(folder, options)


def find_reference(
    path: Path, reference: Reference | None, limits: Limits, *, allow_nonuniform: bool = False
) -> ReferenceGrid | None:
    """Return the grid that the contours of an RTSTRUCT file are to be filled on.

    None if `reference` is None and the referenced series is not beside the file.
    """
    if isinstance(reference, Grid):
        return ReferenceGrid(reference)
    if isinstance(reference, LabelMap):
        return _grid_in_space(reference)
    series_uids = referenced_series(path, limits)
    if isinstance(reference, ReferenceGrid):
        # What was drawn on other images says nothing about the slices of these: its planes stand for slabs.
        is_own = reference.is_series and reference.series_uid in series_uids
        return reference if is_own else replace(reference, is_series=False, slices=(), notes=())
    if reference is None:
        series = _series_beside(path, series_uids, limits, allow_nonuniform=allow_nonuniform)
        return None if series is None else _series_grid(series)
    place = _path(reference)
    if holds_series(place) if place.is_dir() else _is_image(place, limits):
        return _series_grid(_series_for(series_uids, place, limits, allow_nonuniform=allow_nonuniform))
    return _grid_in_space(read_labels(place, limits=limits).labels)


def _is_image(path: Path, limits: Limits) -> bool:
    """Say whether a file is a DICOM image: an enhanced multi-frame file is a series by itself."""
    return identify(path).key == "dicom" and dicom_kind(path, limits) == "image"


def _series_grid(series: Series) -> ReferenceGrid:
    return ReferenceGrid(
        series.grid,
        series.frame_of_reference,
        is_series=True,
        slices=series.places,
        notes=series.notes,
        series_uid=series.series_uid,
    )


def _grid_in_space(labels: LabelMap) -> ReferenceGrid:
    if not labels.in_space:
        raise InvalidInput(f"{labels.source}: has no world space, so contours cannot be filled on its grid.")
    return ReferenceGrid(labels.grid, labels.frame_of_reference, partial=labels.partial)


def _series_for(
    series_uids: tuple[str, ...], folder: Path, limits: Limits, *, allow_nonuniform: bool = False
) -> Series:
    """Return the series in a folder that the contours refer to, or the only one there."""
    for uid in series_uids:
        try:
            return read_series(folder, series_uid=uid, allow_nonuniform=allow_nonuniform, limits=limits)
        except SeriesNotFound:
            continue
    return read_series(folder, allow_nonuniform=allow_nonuniform, limits=limits)


def _series_beside(
    path: Path, series_uids: tuple[str, ...], limits: Limits, *, allow_nonuniform: bool
) -> Series | None:
    """Look for the referenced series in the file's folder and the folders in it.

    Raises:
        UnreadableFile: if it is there but makes no grid, or a file of it cannot be read: that is what to tell, and not
            that there is no series.

    """
    folders = [path.parent, *(entry for entry in list_folder(path.parent) if entry.is_dir())]
    reason = None
    for folder in folders:
        for uid in series_uids:
            try:
                return read_series(folder, series_uid=uid, allow_nonuniform=allow_nonuniform, limits=limits)
            except SeriesNotFound:
                continue
            except UnreadableFile as error:
                reason = reason or error
    if reason is not None:
        raise reason
    return None
