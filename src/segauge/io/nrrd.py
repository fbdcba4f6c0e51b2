"""Read label maps from NRRD (.nrrd, .nhdr) and 3D Slicer's segmentations (.seg.nrrd).

Segments of 3D Slicer lie in several layers, and their label values repeat from layer to layer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, UnreadableFile, option
from segauge.grid import Grid
from segauge.io.gate import check_dimensions
from segauge.io.reading import DEFAULT_OPTIONS, Reading, ReadOptions, SpacingSource
from segauge.io.streams import open_file
from segauge.io.text_headers import Payload, beside, numbers, read_payload, whole_numbers
from segauge.io.voxels import choose_volume, refuse_frame
from segauge.labelmap import LabelArray, LabelMap


@dataclass(frozen=True)
class Segment:
    """One segment as the header has it: its layer, its label value there, and its name."""

    number: int
    layer: int
    value: int
    name: str


def segments_as_layers(
    layers: Sequence[LabelArray], keys: Mapping[str, str], source: str, notes: list[str]
) -> tuple[tuple[LabelArray, ...], dict[int, str]]:
    """Return layers whose labels are unique over all of them, and the segments' names.

    Where label values repeat (value 1 in two layers is two segments), the segments are numbered from 1 in the
    file's order; otherwise they keep their values. Voxels that belong to no declared segment keep a label of their
    own after the last one, without a name.
    """
    segments = _segments(keys, len(layers), source)
    values = [segment.value for segment in segments]
    unique = len(set(values)) == len(values)
    label_of = {(s.layer, s.value): s.value if unique else k for k, s in enumerate(segments, start=1)}
    undeclared = _undeclared(layers, label_of)
    if undeclared:
        first = max([*label_of.values(), *(value for _, value in undeclared)], default=0) + 1
        label_of.update({where: first + k for k, where in enumerate(undeclared)})
        notes.append(f"{len(undeclared)} label values belong to no segment of the header; labelled from {first}")
    if not unique:
        notes.append("label values repeat from layer to layer; the segments are labelled from 1 in the file's order")
    relabelled = tuple(_relabel(layer, k, label_of) for k, layer in enumerate(layers))
    return relabelled, {label_of[s.layer, s.value]: s.name for s in segments}


def _segments(keys: Mapping[str, str], layer_count: int, source: str) -> list[Segment]:
    found = sorted({int(m.group(1)) for key in keys if (m := re.match(r"Segment(\d{1,6})_", key))})
    segments = []
    for order, number in enumerate(found):
        # Before 2020 Slicer wrote one 0/1 volume per segment and neither value nor layer.
        layer = _whole(keys.get(f"Segment{number}_Layer", str(order if layer_count > 1 else 0)), source)
        value = _whole(keys.get(f"Segment{number}_LabelValue", "1"), source)
        if not 0 <= layer < layer_count:
            raise UnreadableFile(
                f"{source}: segment {number} lies in layer {layer}, the file has {layer_count} layers."
            )
        name = keys.get(f"Segment{number}_Name") or keys.get(f"Segment{number}_ID") or f"Segment {number}"
        segments.append(Segment(number, layer, value, name))
    if len({(s.layer, s.value) for s in segments}) < len(segments):
        raise UnreadableFile(f"{source}: two segments share one label value in one layer. The header is damaged.")
    return segments


def _whole(text: str, source: str) -> int:
    if not re.fullmatch(r"-?\d{1,9}", text.strip()):
        raise UnreadableFile(f"{source}: a segment's layer and label value are whole numbers, got {text[:40]!r}.")
    return int(text)


def _undeclared(layers: Sequence[LabelArray], label_of: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    occurring = [(k, int(value)) for k, layer in enumerate(layers) for value in np.unique(layer) if value != 0]
    return [where for where in occurring if where not in label_of]


def _relabel(layer: LabelArray, index: int, label_of: Mapping[tuple[int, int], int]) -> LabelArray:
    changes = {value: label for (k, value), label in label_of.items() if k == index and value != label}
    if not changes:
        return layer
    relabelled = layer.astype(np.int32 if max(changes.values()) > np.iinfo(layer.dtype).max else layer.dtype)
    for value, label in changes.items():
        relabelled[layer == value] = label
    return relabelled


_TYPES = {
    "signed char": "i1", "int8": "i1", "int8_t": "i1", "uchar": "u1", "unsigned char": "u1", "uint8": "u1",
    "uint8_t": "u1", "short": "i2", "short int": "i2", "signed short": "i2", "signed short int": "i2", "int16": "i2",
    "int16_t": "i2", "ushort": "u2", "unsigned short": "u2", "unsigned short int": "u2", "uint16": "u2",
    "uint16_t": "u2", "int": "i4", "signed int": "i4", "int32": "i4", "int32_t": "i4", "uint": "u4",
    "unsigned int": "u4", "uint32": "u4", "uint32_t": "u4", "longlong": "i8", "long long": "i8",
    "long long int": "i8", "signed long long": "i8", "signed long long int": "i8", "int64": "i8", "int64_t": "i8",
    "ulonglong": "u8", "unsigned long long": "u8", "unsigned long long int": "u8", "uint64": "u8", "uint64_t": "u8",
    "float": "f4", "double": "f8",
}  # fmt: skip
_ENCODINGS = {"raw": "raw", "gzip": "gzip", "gz": "gzip", "bzip2": "bzip2", "bz2": "bzip2"}
#: World axes of the named spaces, as signs against right, anterior, superior.
_SPACES = {
    "right-anterior-superior": (1, 1, 1), "ras": (1, 1, 1),
    "left-anterior-superior": (-1, 1, 1), "las": (-1, 1, 1),
    "left-posterior-superior": (-1, -1, 1), "lps": (-1, -1, 1),
}  # fmt: skip
_MILLIMETRES = {"mm": 1.0, "m": 1000.0, "cm": 10.0, "um": 1e-3, "µm": 1e-3, "micron": 1e-3, "nm": 1e-6, "": 1.0}


@dataclass(frozen=True)
class NrrdHeader:
    """Fields (`name: value`, names lower-case), key/value pairs (`key:=value`), and where the header ends."""

    fields: Mapping[str, str]
    keys: Mapping[str, str]
    data_names: tuple[str, ...]
    end: int


def read_nrrd(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read a label map or a Slicer segmentation; the grid is in mm, RAS."""
    source = str(path)
    notes: list[str] = []
    header = _parse_header(path, options)
    sizes = whole_numbers(_field(header, "sizes", source), source, "sizes")
    count = check_dimensions(sizes, source, options.limits)
    voxels = read_payload(path, _payload(path, header, count), options, notes)
    array = voxels.array.reshape(sizes, order="F")
    channel_axis = _channel_axis(header, array.shape, source)
    layers, names = _layers(array, channel_axis, header, source, options, notes)
    space_axes = [axis for axis in range(len(sizes)) if axis != channel_axis]
    grid, in_space, spacing_source = _grid(header, layers[0].shape, space_axes, source, notes)
    if options.spacing is not None:
        grid, spacing_source = grid.with_spacing(options.spacing), SpacingSource.ARGUMENT
    return Reading(LabelMap(layers, grid, names, source, in_space), "nrrd", tuple(notes), spacing_source)


def nrrd_files(path: Path) -> tuple[Path, ...]:
    """Return the files that a header names for its voxels, none where they stand in the file itself."""
    return _data_files(path, _parse_header(path, DEFAULT_OPTIONS)) or ()


def _parse_header(path: Path, options: ReadOptions) -> NrrdHeader:
    fields: dict[str, str] = {}
    keys: dict[str, str] = {}
    data_names: list[str] = []
    with open_file(path) as file:
        if not file.readline(64).startswith(b"NRRD"):
            raise UnreadableFile(f"{path}: does not start with 'NRRD'; it is of another format.")
        while text := _next_line(file, path, options):
            if _is_list(fields.get("data file", "")):
                data_names.append(text)
            elif not text.startswith("#"):
                _parse_line(text, fields, keys)
        end = file.tell()
    return NrrdHeader(fields, keys, tuple(data_names), end)


def _next_line(file: BinaryIO, path: Path, options: ReadOptions) -> str:
    """Return the next line of the header, "" at the blank line (or end of file) that closes it."""
    line = file.readline(options.limits.max_header_bytes)
    if file.tell() > options.limits.max_header_bytes:
        raise UnreadableFile(f"{path}: the header is longer than {options.limits.max_header_bytes} bytes.")
    return line.decode("utf-8", errors="replace").rstrip("\r\n")


def _parse_line(text: str, fields: dict[str, str], keys: dict[str, str]) -> None:
    key, marker, value = text.partition(":=")
    if marker:
        keys[key] = value.strip()
        return
    name, marker, value = text.partition(":")
    if marker:
        fields[name.strip().lower().replace("datafile", "data file")] = value.strip()


def _is_list(data_file: str) -> bool:
    return data_file.upper().split()[:1] == ["LIST"]


def _field(header: NrrdHeader, name: str, source: str) -> str:
    if name not in header.fields:
        raise UnreadableFile(f"{source}: the header has no field {name!r}. The file is damaged: write it again.")
    return header.fields[name]


def _payload(path: Path, header: NrrdHeader, count: int) -> Payload:
    source = str(path)
    kind = _field(header, "type", source).lower()
    if kind not in _TYPES:
        raise UnreadableFile(f"{source}: holds voxels of type {kind!r}, expected integer labels.")
    encoding = _field(header, "encoding", source).lower()
    if encoding not in _ENCODINGS:
        raise UnreadableFile(f"{source}: has the encoding {encoding!r}; raw, gzip and bzip2 can be read. Write it so.")
    order = ">" if header.fields.get("endian", "little").lower() == "big" else "<"
    skips = {
        name: whole_numbers(header.fields.get(name, "0"), source, name, 1)[0] for name in ("line skip", "byte skip")
    }
    if skips["line skip"] not in range(10_000) or skips["byte skip"] not in range(-1, 2**40):
        raise UnreadableFile(f"{source}: line skip or byte skip is out of range. The header is damaged.")
    return Payload(
        files=_data_files(path, header),
        offset=header.end,
        encoding=_ENCODINGS[encoding],
        dtype=np.dtype(order + _TYPES[kind]),
        count=count,
        skip_lines=skips["line skip"],
        skip_bytes=max(0, skips["byte skip"]),
        skip_from_end=skips["byte skip"] == -1,
    )


def _data_files(path: Path, header: NrrdHeader) -> tuple[Path, ...] | None:
    named = header.fields.get("data file")
    if named is None:
        return None
    if _is_list(named):
        if not header.data_names:
            raise UnreadableFile(f"{path}: 'data file: LIST' is not followed by file names.")
        return tuple(beside(path, name) for name in header.data_names)
    pattern = re.fullmatch(r"(\S*%0?(\d*)d\S*)\s+(-?\d+)\s+(-?\d+)\s+(-?\d+)(\s+\d+)?", named)
    if pattern is None:
        return (beside(path, named),)
    first, last, step = (int(pattern.group(k)) for k in (3, 4, 5))
    if step == 0 or len(pattern.group(2)) > 2 or not 0 <= (last - first) // step < 100_000:
        raise UnreadableFile(f"{path}: the data file pattern {named!r} names no files.")
    count = range(first, last + (1 if step > 0 else -1), step)
    return tuple(beside(path, _numbered(pattern.group(1), number)) for number in count)


def _numbered(pattern: str, number: int) -> str:
    return re.sub(r"%(0?)(\d*)d", lambda m: f"{number:{m.group(1)}{m.group(2)}d}", pattern, count=1)


def _channel_axis(header: NrrdHeader, shape: Sequence[int], source: str) -> int | None:
    """Return the axis that counts channels or layers: the one without a direction or kind in space."""
    if len(shape) <= 3 and not (len(shape) == 3 and "none" in header.fields.get("space directions", "")):
        return None
    if len(shape) > 4:
        raise UnreadableFile(f"{source}: has {len(shape)} axes, expected 2 or 3, or one channel axis more.")
    directions = re.findall(r"none|\([^)]*\)", header.fields.get("space directions", "").lower())
    if len(directions) == len(shape) and directions.count("none") == 1:
        return directions.index("none")
    kinds = header.fields.get("kinds", "").lower().split()
    others = [axis for axis, kind in enumerate(kinds) if kind not in ("domain", "space", "???", "none")]
    if len(kinds) == len(shape) and len(others) == 1:
        return others[0]
    raise UnreadableFile(f"{source}: has 4 axes, and 'kinds' does not name the axis of channels.")


def _layers(
    array: LabelArray,
    channel_axis: int | None,
    header: NrrdHeader,
    source: str,
    options: ReadOptions,
    notes: list[str],
) -> tuple[tuple[LabelArray, ...], dict[int, str]]:
    if any(re.match(r"Segment\d+_", key) for key in header.keys):
        layers = (array,) if channel_axis is None else tuple(np.moveaxis(array, channel_axis, 0))
        return segments_as_layers(layers, header.keys, source, notes)
    if channel_axis is None:
        refuse_frame(source, options)
        return (array,), {}
    layers, channel_notes = choose_volume(array, channel_axis, source, options)
    notes.extend(channel_notes)
    return layers, {}


def _grid(
    header: NrrdHeader, shape: tuple[int, ...], space_axes: Sequence[int], source: str, notes: list[str]
) -> tuple[Grid, bool, SpacingSource]:
    directions = re.findall(r"none|\([^)]*\)", header.fields.get("space directions", "").lower())
    if not directions:
        return _grid_of_spacings(header, shape, space_axes, source, notes)
    vectors = [_vector(word, source, len(shape)) for word in directions if word != "none"]
    if len(vectors) != len(shape):
        raise UnreadableFile(f"{source}: {len(vectors)} space directions for {len(shape)} axes. The header is damaged.")
    origin = np.zeros(len(shape))
    if "space origin" in header.fields:
        origin = _vector(header.fields["space origin"], source, len(shape))
    signs, in_space = _space_signs(header, len(shape), source, notes)
    affine = np.eye(len(shape) + 1)
    affine[:-1, :-1] = np.column_stack(vectors)
    affine[:-1, -1] = origin
    affine[:-1] *= (signs * _unit_factors(header, len(shape), notes))[:, None]
    try:
        return Grid(shape, affine), in_space, SpacingSource.HEADER
    except InvalidInput as error:
        raise UnreadableFile(f"{source}: the space directions are no usable axes: {error}") from error


def _grid_of_spacings(
    header: NrrdHeader, shape: tuple[int, ...], space_axes: Sequence[int], source: str, notes: list[str]
) -> tuple[Grid, bool, SpacingSource]:
    notes.append("the file has no world space (no space directions): it pairs by shape alone")
    words = header.fields.get("spacings", "").split()
    chosen = [words[axis] for axis in space_axes] if len(words) > max(space_axes) else []
    if not chosen or "nan" in [word.lower() for word in chosen]:
        notes.append(
            f"the file gives no voxel edges: 1 mm is assumed; pass {option('spacing', ...)} for distances in mm"
        )
        return Grid.from_spacing(shape), False, SpacingSource.ASSUMED
    units = re.findall(r'"([^"]*)"', header.fields.get("units", ""))
    factors = [_millimetres(units[axis], notes) if axis < len(units) else 1.0 for axis in space_axes]
    given = numbers(" ".join(chosen), source, "spacings", len(shape))
    edges = [abs(edge) * factor for edge, factor in zip(given, factors, strict=True)]
    try:
        return Grid.from_spacing(shape, edges), False, SpacingSource.HEADER
    except InvalidInput as error:
        raise UnreadableFile(f"{source}: the spacings are not usable: {error}") from error


def _vector(text: str, source: str, length: int) -> npt.NDArray[np.float64]:
    return np.array(numbers(text.strip().strip("()").replace(",", " "), source, "space directions", length))


def _space_signs(header: NrrdHeader, ndim: int, source: str, notes: list[str]) -> tuple[npt.NDArray[np.float64], bool]:
    space = header.fields.get("space", "").lower()
    if space in _SPACES:
        return np.array(_SPACES[space][:ndim], dtype=np.float64), True
    if space.endswith(("-time", "time")):
        raise UnreadableFile(f"{source}: lies in the space {space!r} with time; one volume is expected.")
    # ITK, and with it most writers, takes unnamed spaces for its own.
    notes.append(f"its space {space or '(none)'} does not define left; taken as left-posterior-superior")
    return np.array(_SPACES["lps"][:ndim], dtype=np.float64), True


def _unit_factors(header: NrrdHeader, ndim: int, notes: list[str]) -> npt.NDArray[np.float64]:
    """Return the millimetres of a unit along each world axis."""
    units = re.findall(r'"([^"]*)"', header.fields.get("space units", ""))
    return np.array([_millimetres(units[axis] if axis < len(units) else "", notes) for axis in range(ndim)])


def _millimetres(unit: str, notes: list[str]) -> float:
    """Return a unit of length in mm, with a note where it is another one, or none that is known."""
    unit = unit.strip().lower()
    note = ""
    if unit not in _MILLIMETRES:
        note = f"the space unit {unit!r} is not known; taken as mm"
    elif _MILLIMETRES[unit] != 1.0:
        note = f"lengths are in {unit}; they were converted to mm"
    if note and note not in notes:
        notes.append(note)
    return _MILLIMETRES.get(unit, 1.0)
