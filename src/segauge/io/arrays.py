"""Read label maps from NumPy files (.npy, .npz), without pickle; voxel edges from the caller or a sidecar."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, UnreadableFile, option
from segauge.grid import Grid, normalize_spacing
from segauge.io.gate import MAX_DEFLATE_RATIO, check_dimensions, check_stored_bytes, foreign_failures
from segauge.io.reading import DEFAULT_OPTIONS, Reading, ReadOptions, SpacingSource
from segauge.io.streams import ByteStream, open_file, read_exactly, stored_size
from segauge.io.voxels import choose_volume, is_partition, labels_from_array, read_voxels, refuse_frame
from segauge.labelmap import LabelArray, LabelMap

NPY_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{\s*'descr':\s*'(?P<descr>[^']{1,16})'\s*,\s*'fortran_order':\s*(?P<fortran>True|False)\s*,"
    r"\s*'shape':\s*\((?P<shape>[\d\s,L]*)\)\s*,?\s*\}\s*"
)
_LABEL_KEYS = ("labels", "label", "segmentation", "seg", "mask", "arr_0")
_GEOMETRY_KEYS = ("spacing", "affine")
#: A fourth axis of so few is no axis of an image, where the first one is longer.
_FEW = 4


@dataclass(frozen=True)
class Geometry:
    """What is known of the place of an array: affine, or voxel edges, or nothing; names of labels."""

    spacing: tuple[float, ...] | None = None
    affine: npt.NDArray[np.float64] | None = None
    names: Mapping[int, str] | None = None


def read_npy(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read the array of an .npy file; voxel edges in mm from `options.spacing` or from a sidecar `<name>.json`."""
    with foreign_failures(f"{path}: the array is damaged"), open_file(path) as file:
        array, notes = _read_array(file, stored_size(file), str(path), options)
    return _reading(array, _sidecar(path, options), str(path), "npy", list(notes), options)


def read_npz(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read one array of an .npz file: the only one, the one called `options.array_key`, or a usual name.

    Arrays called `spacing` (one edge per axis in mm) or `affine` in the same file give the geometry.
    """
    damaged = foreign_failures(f"{path}: the archive is damaged or of an unknown kind")
    with damaged, open_file(path) as file, zipfile.ZipFile(file) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist() if name.endswith(".npy")}
        key = _chosen_key(members, str(path), options)
        array, notes = _read_member(archive, members[key], str(path), options)
        geometry = _geometry_in(archive, members, str(path))
    return _reading(array, geometry or _sidecar(path, options), str(path), "npz", list(notes), options)


def _chosen_key(members: Mapping[str, str], source: str, options: ReadOptions) -> str:
    names = [name for name in members if name not in _GEOMETRY_KEYS]
    if options.array_key is not None:
        if options.array_key not in members:
            raise UnreadableFile(f"{source}: holds {sorted(members)}, not {options.array_key!r}.")
        return options.array_key
    if len(names) == 1:
        return names[0]
    usual = [name for name in _LABEL_KEYS if name in names]
    if not usual:
        raise UnreadableFile(
            f"{source}: holds the arrays {sorted(names)}. Keep only the one that has the labels, or "
            "read it yourself with read_labels(..., array_key=NAME)."
        )
    return usual[0]


def _read_member(
    archive: zipfile.ZipFile, name: str, source: str, options: ReadOptions
) -> tuple[LabelArray, tuple[str, ...]]:
    # The directory's size bounds what may be allocated, the compressed bytes bound what the directory may claim.
    information = archive.getinfo(name)
    check_stored_bytes(information.file_size, information.compress_size, source, ratio=MAX_DEFLATE_RATIO)
    with archive.open(name) as member:
        array, notes = _read_array(member, information.file_size, f"{source}[{name.removesuffix('.npy')}]", options)
    return array, notes


def _geometry_in(archive: zipfile.ZipFile, members: Mapping[str, str], source: str) -> Geometry | None:
    found = {key: _read_small(archive, members[key], source) for key in _GEOMETRY_KEYS if key in members}
    if "affine" in found:
        return Geometry(affine=found["affine"])
    if "spacing" in found:
        return Geometry(spacing=tuple(float(edge) for edge in found["spacing"].ravel()))
    return None


def _read_small(archive: zipfile.ZipFile, name: str, source: str) -> npt.NDArray[np.float64]:
    with archive.open(name) as member:
        dtype, shape, _ = _parse_npy_header(member, source)
        if dtype.kind not in "iuf" or math.prod(shape) > 16:
            raise UnreadableFile(f"{source}: {name.removesuffix('.npy')} should hold up to 16 numbers.")
        data = read_exactly(member, math.prod(shape) * dtype.itemsize, source, name)
    return np.frombuffer(data, dtype=dtype).reshape(shape).astype(np.float64)


def _read_array(
    file: BinaryIO | Any, stored: int, source: str, options: ReadOptions
) -> tuple[LabelArray, tuple[str, ...]]:
    dtype, shape, fortran = _parse_npy_header(file, source)
    count = check_dimensions(shape, source, options.limits)
    check_stored_bytes(count * dtype.itemsize, stored, source)
    voxels = read_voxels(file, count, dtype, source, options)
    return voxels.array.reshape(shape, order="F" if fortran else "C"), voxels.notes


def _parse_npy_header(stream: ByteStream, source: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Parse the header by a fixed pattern (no evaluation), so nothing but numbers and flags can be in it."""
    start = read_exactly(stream, 8, source, "NumPy header")
    if start[:6] != NPY_MAGIC or start[6] not in (1, 2, 3):
        raise UnreadableFile(f"{source}: is no NumPy file (or of a version that is not known).")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(read_exactly(stream, width, source, "NumPy header"), "little")
    if length > 10_000:
        raise UnreadableFile(f"{source}: the NumPy header is {length} bytes long, expected a hundred or so.")
    text = read_exactly(stream, length, source, "NumPy header").decode("latin-1")
    match = _HEADER.fullmatch(text)
    if match is None:
        what = "fields (a structured array)" if "'descr': [" in text else "no type and shape that can be read"
        raise UnreadableFile(f"{source}: the NumPy header has {what}; expected a plain array of integer labels.")
    shape = tuple(int(word.strip("L")) for word in re.split(r"[\s,]+", match["shape"]) if word.strip("L"))
    return _dtype(match["descr"], source), shape, match["fortran"] == "True"


def _dtype(text: str, source: str) -> np.dtype[Any]:
    if "O" in text:
        raise UnreadableFile(f"{source}: holds Python objects, which only pickle could read; for safety it is refused.")
    if not re.fullmatch(r"[<>|=]?(b1|[iu][1248]|f[248])", text):
        raise UnreadableFile(f"{source}: holds values of type {text!r}, expected integer labels.")
    return np.dtype(text)


def sidecars(path: Path) -> tuple[Path, ...]:
    """Return the sidecar that lies beside a NumPy file, if there is one."""
    sidecar = path.with_suffix(".json")
    return (sidecar,) if sidecar.is_file() else ()


def _sidecar(path: Path, options: ReadOptions) -> Geometry:
    """Return the geometry in `<name>.json` beside the file: `spacing` or `affine`, and `labels` (value to name)."""
    found = sidecars(path)
    if not found:
        return Geometry()
    sidecar = found[0]
    with open_file(sidecar) as file:
        if stored_size(file) > options.limits.max_header_bytes:
            raise UnreadableFile(f"{sidecar}: is too large for a sidecar.")
        text = file.read()
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            return Geometry()
        spacing, affine, labels = (content.get(key) for key in ("spacing", "affine", "labels"))
        names = {int(key): str(name) for key, name in labels.items()} if isinstance(labels, dict) else None
        return Geometry(
            tuple(float(edge) for edge in np.atleast_1d(spacing)) if spacing is not None else None,
            np.array(affine, dtype=np.float64) if affine is not None else None,
            names,
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise UnreadableFile(
            f"{sidecar}: expected spacing (numbers in mm), affine (a matrix) and labels (value to name): {error}."
        ) from error


def _reading(
    array: LabelArray, geometry: Geometry, source: str, key: str, notes: list[str], options: ReadOptions
) -> Reading:
    layers: tuple[LabelArray, ...] = (array,)
    if array.ndim == 4:
        # Training frameworks put channels first.
        _refuse_channels_last(array, source, options)
        layers, channel_notes = choose_volume(array, 0, source, options)
        notes.extend(channel_notes)
    else:
        refuse_frame(source, options)
    if layers[0].ndim not in (2, 3):
        raise UnreadableFile(f"{source}: has the shape {array.shape}, expected an image with 2 or 3 axes.")
    grid, in_space, spacing_source = _grid(layers[0].shape, geometry, source, options)
    if spacing_source is SpacingSource.ASSUMED:
        notes.append(
            f"the file gives no voxel edges: 1 mm is assumed; pass {option('spacing', ...)}, or write a sidecar .json"
        )
    if not in_space:
        notes.append("the file has no world space: it pairs by shape alone")
    return Reading(LabelMap(layers, grid, geometry.names or {}, source, in_space), key, tuple(notes), spacing_source)


def _refuse_channels_last(array: LabelArray, source: str, options: ReadOptions) -> None:
    """Refuse an array whose channels seem to be its last axis: its slices would be taken for structures."""
    first, last = array.shape[0], array.shape[-1]
    if options.frame is not None or first == 1 or is_partition(array, 0):
        return
    if is_partition(array, 3) or last <= _FEW < first:
        raise UnreadableFile(
            f"{source}: has the shape {array.shape}; four axes are channels and then the image, here the channels seem "
            "to come last. Put them first: np.moveaxis(array, -1, 0)."
        )


def _grid(
    shape: tuple[int, ...], geometry: Geometry, source: str, options: ReadOptions
) -> tuple[Grid, bool, SpacingSource]:
    if options.spacing is not None:
        normalize_spacing(options.spacing, len(shape))  # a mistake of who gave it, and none of the file
    try:
        if geometry.affine is not None:
            grid = Grid(shape, geometry.affine)
            if options.spacing is None:
                return grid, True, SpacingSource.SIDECAR
            return grid.with_spacing(options.spacing), True, SpacingSource.ARGUMENT
        if options.spacing is not None:
            return Grid.from_spacing(shape, options.spacing), False, SpacingSource.ARGUMENT
        if geometry.spacing is not None:
            return Grid.from_spacing(shape, geometry.spacing), False, SpacingSource.SIDECAR
    except InvalidInput as error:
        raise UnreadableFile(f"{source}: {error}") from error
    return Grid.from_spacing(shape), False, SpacingSource.ASSUMED


def reading_of_array(array: npt.NDArray[Any], options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Return an array in memory as a Reading, by the rules of the .npy reader."""
    source = "array"
    check_dimensions(array.shape, source, options.limits)
    voxels = labels_from_array(array, source, options)
    return _reading(voxels.array, Geometry(), source, "array", list(voxels.notes), options)
