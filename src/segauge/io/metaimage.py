"""Read label maps from MetaImage files (.mha, and .mhd with its data file)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from segauge.errors import InvalidInput, UnreadableFile, option
from segauge.grid import Grid
from segauge.io.gate import check_dimensions
from segauge.io.reading import DEFAULT_OPTIONS, Reading, ReadOptions, SpacingSource
from segauge.io.streams import open_file
from segauge.io.text_headers import Payload, beside, numbers, read_payload, whole_numbers
from segauge.io.voxels import choose_volume, refuse_frame
from segauge.labelmap import LabelArray, LabelMap

_TYPES = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4", "MET_UINT": "u4",
    "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8", "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip


def read_metaimage(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read a label map; the file's LPS coordinates become RAS, in mm."""
    source = str(path)
    notes: list[str] = []
    fields, end = _parse_header(path, options)
    axes = whole_numbers(_field(fields, "NDims", source), source, "NDims", 1)[0]
    if axes not in (2, 3, 4):
        raise UnreadableFile(f"{source}: has {axes} axes (NDims), expected 2 or 3.")
    shape = tuple(whole_numbers(_field(fields, "DimSize", source), source, "DimSize", axes))
    channels = whole_numbers(fields.get("ElementNumberOfChannels", "1"), source, "ElementNumberOfChannels", 1)[0]
    count = check_dimensions((channels, *shape), source, options.limits)
    voxels = read_payload(path, _payload(path, fields, end, count), options, notes)
    layers = _layers(voxels.array.reshape((channels, *shape), order="F"), source, options, notes)
    grid, spacing_source = _grid(fields, layers[0].shape, axes, source, notes)
    if options.spacing is not None:
        grid, spacing_source = grid.with_spacing(options.spacing), SpacingSource.ARGUMENT
    return Reading(LabelMap(layers, grid, {}, source), "metaimage", tuple(notes), spacing_source)


def metaimage_files(path: Path) -> tuple[Path, ...]:
    """Return the files that a header names for its voxels, none where they stand in the file itself."""
    return _data_files(path, _parse_header(path, DEFAULT_OPTIONS)[0]["ElementDataFile"]) or ()


def looks_like_metaimage(head: bytes) -> bool:
    """Say whether the first bytes of a file are those of a MetaImage header."""
    return re.match(rb"\s*(ObjectType|Comment|ObjectSubType|NDims|TransformType|Name|ID)\s*=", head) is not None


def _parse_header(path: Path, options: ReadOptions) -> tuple[dict[str, str], int]:
    """Return the fields up to ElementDataFile, which ends the header, and where the bytes after it start."""
    fields: dict[str, str] = {}
    with open_file(path) as file:
        while line := file.readline(options.limits.max_header_bytes):
            name, marker, value = line.decode("utf-8", errors="replace").partition("=")
            if not marker or file.tell() > options.limits.max_header_bytes:
                break
            fields[name.strip()] = value.strip()
            if name.strip() == "ElementDataFile":
                if fields["ElementDataFile"].upper().startswith("LIST"):
                    rest = file.read(options.limits.max_header_bytes).decode("utf-8", errors="replace")
                    fields["ElementDataFile"] = "LIST\n" + rest
                return fields, file.tell()
    raise UnreadableFile(f"{path}: the header does not end with ElementDataFile. The file is damaged: write it again.")


def _field(fields: Mapping[str, str], name: str, source: str) -> str:
    if name not in fields:
        raise UnreadableFile(f"{source}: the header has no {name}. The file is damaged: write it again.")
    return fields[name]


def _is_true(fields: Mapping[str, str], *names: str) -> bool:
    return any(fields.get(name, "").strip().lower() in ("true", "1") for name in names)


def _payload(path: Path, fields: Mapping[str, str], end: int, count: int) -> Payload:
    source = str(path)
    kind = _field(fields, "ElementType", source).upper()
    if kind not in _TYPES:
        raise UnreadableFile(f"{source}: holds elements of type {kind}, expected integer labels.")
    if fields.get("BinaryData", "True").lower() not in ("true", "1"):
        raise UnreadableFile(f"{source}: holds its voxels as text (BinaryData = False). Write it in binary.")
    skip = whole_numbers(fields.get("HeaderSize", "0"), source, "HeaderSize", 1)[0]
    if not -1 <= skip < 2**40:
        raise UnreadableFile(f"{source}: HeaderSize {skip} is out of range. The header is damaged.")
    order = ">" if _is_true(fields, "BinaryDataByteOrderMSB", "ElementByteOrderMSB") else "<"
    return Payload(
        files=_data_files(path, fields["ElementDataFile"]),
        offset=end,
        encoding="zlib" if _is_true(fields, "CompressedData") else "raw",
        dtype=np.dtype(order + _TYPES[kind]),
        count=count,
        skip_bytes=max(0, skip),
        skip_from_end=skip == -1,
    )


def _data_files(path: Path, named: str) -> tuple[Path, ...] | None:
    if named.upper() == "LOCAL":
        return None
    if named.startswith("LIST\n"):
        names = [line.strip() for line in named.splitlines()[1:] if line.strip()]
        if not names:
            raise UnreadableFile(f"{path}: 'ElementDataFile = LIST' is not followed by file names.")
        return tuple(beside(path, name) for name in names)
    if "%" in named:
        raise UnreadableFile(f"{path}: names its data files by the pattern {named!r}; write them as a list.")
    return (beside(path, named),)


def _layers(array: LabelArray, source: str, options: ReadOptions, notes: list[str]) -> tuple[LabelArray, ...]:
    """Return the layers of an array whose first axis counts channels, or whose fifth counts volumes."""
    if array.ndim == 5 and array.shape[0] > 1:
        raise UnreadableFile(f"{source}: has both channels and a fourth axis, expected one image.")
    if array.ndim < 5 and array.shape[0] == 1:
        refuse_frame(source, options)
        return (array[0],)
    axis = 3 if array.ndim == 5 else 0
    layers, volume_notes = choose_volume(array[0] if array.ndim == 5 else array, axis, source, options)
    notes.extend(volume_notes)
    return layers


def _grid(
    fields: Mapping[str, str], shape: tuple[int, ...], axes: int, source: str, notes: list[str]
) -> tuple[Grid, SpacingSource]:
    ndim = len(shape)
    spacing_source = SpacingSource.HEADER
    named = fields.get("ElementSpacing", fields.get("ElementSize"))
    if named is None:
        notes.append(
            f"the file gives no voxel edges: 1 mm is assumed; pass {option('spacing', ...)} for distances in mm"
        )
        spacing_source = SpacingSource.ASSUMED
    edges = np.array(numbers(named, source, "ElementSpacing", axes) if named else [1.0] * axes)
    # Each row of TransformMatrix is the direction of one axis, so its transpose has them as columns.
    matrix_text = fields.get("TransformMatrix", fields.get("Rotation", fields.get("Orientation")))
    matrix = np.eye(axes)
    if matrix_text is not None:
        matrix = np.array(numbers(matrix_text, source, "TransformMatrix", axes * axes)).reshape(axes, axes).T
    offset_text = fields.get("Offset", fields.get("Position", fields.get("Origin")))
    offset = np.array(numbers(offset_text, source, "Offset", axes) if offset_text else [0.0] * axes)
    affine = np.eye(ndim + 1)
    affine[:-1, :-1] = (matrix * edges)[:ndim, :ndim]
    affine[:-1, -1] = offset[:ndim]
    affine[:2] *= -1.0
    try:
        return Grid(shape, affine), spacing_source
    except InvalidInput as error:
        raise UnreadableFile(f"{source}: the voxel edges or directions are not usable: {error}") from error
