"""Read label maps from NIfTI-1 and -2 (.nii, .nii.gz, .hdr/.img) and from ANALYZE 7.5 pairs.

Label names come from the NIfTI extension in which TotalSegmentator and Connectome tools keep them (a Caret XML label
table).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

import numpy as np

from segauge.errors import UnreadableFile
from segauge.io.gate import MAX_DEFLATE_RATIO, check_dimensions, check_stored_bytes
from segauge.io.nifti_header import NIFTI1_SIZE, NIFTI2_SIZE, NiftiHeader, Space, parse_header, space_of
from segauge.io.reading import DEFAULT_OPTIONS, Reading, ReadOptions
from segauge.io.streams import GZIP_MAGIC, ByteStream, InflatingStream, open_file, read_exactly, stored_size
from segauge.io.voxels import choose_volume, read_voxels, refuse_frame
from segauge.labelmap import LabelArray, LabelMap

#: Names longer than this are cut: no structure is called so, and messages must stay readable.
_MAX_NAME = 200


class _DoctypeRefusedError(Exception):
    """An XML text declares a document type; entities could blow it up, and label tables have none."""


def names_in_extensions(data: bytes, byte_order: str) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return label names from the extension bytes after a NIfTI header (extender included), and notes."""
    names: dict[int, str] = {}
    notes: list[str] = []
    for content in _extensions(data, byte_order):
        text = content.rstrip(b"\0 \r\n\t")
        if b"LabelTable" not in text:
            continue
        try:
            names.update(_parse_label_table(text))
        except _DoctypeRefusedError:
            notes.append("the label table in its extension declares a document type; it was not read")
        except (expat.ExpatError, ValueError) as error:
            notes.append(f"the label table in its extension is damaged ({error}); it was not read")
    return names, tuple(notes)


def _extensions(data: bytes, byte_order: str) -> Iterator[bytes]:
    """Yield the content of each extension, stopping at the first that does not fit."""
    if len(data) < 4 or data[0] == 0:
        return
    position = 4
    while position + 8 <= len(data):
        size, _code = struct.unpack_from(byte_order + "2i", data, position)
        if size < 8 or position + size > len(data):
            return
        yield data[position + 8 : position + size]
        position += size


def _parse_label_table(text: bytes) -> dict[int, str]:
    """Parse `<Label Key="1"><![CDATA[spleen]]></Label>` elements, refusing any document type."""
    names: dict[int, str] = {}
    open_key: list[int] = []
    characters: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Label":
            open_key[:] = [int(attributes.get("Key", "0"))]
            characters.clear()

    def end(tag: str) -> None:
        name = "".join(characters).strip()
        if tag == "Label" and open_key and name and abs(open_key[0]) < 2**63:
            names[open_key[0]] = name[:_MAX_NAME]

    def refuse(*_: object) -> None:
        raise _DoctypeRefusedError

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters.append
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(text, True)
    return names


def read_nifti(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read a label map; the array keeps the file's axes and integer type, the grid is in mm, RAS."""
    header_path, data_path = _pair(path)
    notes: list[str] = []
    with ExitStack() as stack:
        file = stack.enter_context(open_file(header_path))
        stream = _inflated(file, header_path, notes)
        header = _read_header(stream, str(path))
        shape, count = _shape(header, str(path), options, notes)
        if header.single_file:
            extension = _read_extension(stream, header, str(path), options)
        else:
            extension = _rest(stream, options)
            file = stack.enter_context(open_file(data_path))
            stream = _inflated(file, data_path, notes)
            read_exactly(stream, _data_offset(header, str(path), options), str(path), "leading bytes")
        flat = _read_values(stream, file, header, count, str(path), options, notes)
    names, name_notes = names_in_extensions(extension, header.byte_order)
    notes.extend(name_notes)
    layers, space = _layers(flat, shape, header, str(path), options, notes)
    labels = LabelMap(layers, space.grid, {k: v for k, v in names.items() if k}, str(path), space.in_space)
    return Reading(labels, "nifti", tuple(notes), space.spacing_source)


def nifti_files(path: Path) -> tuple[Path, ...]:
    """Return the other half of a pair; a single file has none."""
    return tuple(other for other in _pair(path) if other != path)


def _pair(path: Path) -> tuple[Path, Path]:
    """Return the header file and the data file; both are the same for .nii."""
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith((".hdr", ".img")):
        return path, path
    stem = path.name[: len(name) - 4]
    return _sibling(path, stem, "hdr"), _sibling(path, stem, "img")


def _sibling(path: Path, stem: str, ending: str) -> Path:
    candidates = [path.with_name(f"{stem}.{variant}{gz}") for variant in (ending, ending.upper()) for gz in ("", ".gz")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise UnreadableFile(f"{path}: an .hdr file and an .img file belong together, but {candidates[0].name} is missing.")


def _inflated(file: BinaryIO, path: Path, notes: list[str]) -> ByteStream:
    """Return the file's bytes, inflated if it is gzip, whatever its name says."""
    is_gzip = file.read(2) == GZIP_MAGIC
    file.seek(0)
    if is_gzip != path.name.lower().endswith(".gz"):
        words = "is gzip although its name does not end in .gz" if is_gzip else "is not gzip although named .gz"
        notes.append(f"the file {words}; it was read by its content")
    return InflatingStream(file, "gzip", str(path)) if is_gzip else file


def _read_header(stream: ByteStream, source: str) -> NiftiHeader:
    data = read_exactly(stream, NIFTI1_SIZE, source, "header")
    if data[:4] in (NIFTI2_SIZE.to_bytes(4, "little"), NIFTI2_SIZE.to_bytes(4, "big")):
        data += read_exactly(stream, NIFTI2_SIZE - NIFTI1_SIZE, source, "header")
    return parse_header(data, source)


def _shape(header: NiftiHeader, source: str, options: ReadOptions, notes: list[str]) -> tuple[tuple[int, ...], int]:
    """Return the shape without axes of length 1 beyond the third, and the number of voxels."""
    axes = header.dim[0]
    if header.dim[1] == -1 and header.glmin > 0:
        raise UnreadableFile(
            f"{source}: is a FreeSurfer large vector file (dim[1] = -1, {header.glmin} values), not an image."
        )
    if not 1 <= axes <= 7:
        raise UnreadableFile(f"{source}: the header gives {axes} axes, expected 1 to 7. The file is damaged.")
    if axes == 1:
        raise UnreadableFile(f"{source}: has one axis only, expected an image with 2 or 3.")
    shape = tuple(int(n) for n in header.dim[1 : axes + 1])
    kept = (*shape[:3], *(n for n in shape[3:] if n != 1))
    if len(kept) < len(shape):
        notes.append(f"the size {' x '.join(map(str, shape))} has extra axes of length 1; they were dropped")
    count = check_dimensions(kept, source, options.limits)
    if len(kept) > 4:
        raise UnreadableFile(
            f"{source}: has {len(kept)} axes, expected an image with 2 or 3, or one channel axis more."
        )
    return kept, count


def _read_extension(stream: ByteStream, header: NiftiHeader, source: str, options: ReadOptions) -> bytes:
    return read_exactly(stream, _data_offset(header, source, options) - header.size, source, "header extensions")


def _data_offset(header: NiftiHeader, source: str, options: ReadOptions) -> int:
    """Return where the voxels start; single files that say 0 mean the first possible place."""
    least = header.size + 4 if header.single_file else 0
    offset = header.vox_offset
    if offset == 0:
        return least
    if not math.isfinite(offset) or offset < least or offset - header.size > options.limits.max_header_bytes:
        raise UnreadableFile(
            f"{source}: the header puts the voxels at byte {offset:g}, expected {least} or a little more. "
            "The header is damaged: write the file again."
        )
    return int(offset)


def _rest(stream: ByteStream, options: ReadOptions) -> bytes:
    return stream.read(options.limits.max_header_bytes)


def _read_values(
    stream: ByteStream,
    file: BinaryIO,
    header: NiftiHeader,
    count: int,
    source: str,
    options: ReadOptions,
    notes: list[str],
) -> LabelArray:
    dtype: np.dtype[Any] = header.dtype(source)
    needed = count * dtype.itemsize
    if isinstance(stream, InflatingStream):
        check_stored_bytes(needed, stored_size(file), source, ratio=MAX_DEFLATE_RATIO)
    else:
        check_stored_bytes(needed, stored_size(file) - file.tell(), source)
    slope, intercept = header.scaling()
    if (slope, intercept) != (1.0, 0.0):
        notes.append(
            f"the values are scaled by the header (slope {slope:g}, intercept {intercept:g}); this was applied"
        )
    voxels = read_voxels(stream, count, dtype, source, options, slope=slope, intercept=intercept)
    notes.extend(voxels.notes)
    if isinstance(stream, InflatingStream):
        stream.finish(options.limits)
        notes.extend(stream.notes)
    return voxels.array


def _layers(
    flat: LabelArray, shape: tuple[int, ...], header: NiftiHeader, source: str, options: ReadOptions, notes: list[str]
) -> tuple[tuple[LabelArray, ...], Space]:
    array = flat.reshape(shape, order="F")
    layers: tuple[LabelArray, ...] = (array,)
    if len(shape) == 4:
        layers, channel_notes = choose_volume(array, 3, source, options, is_time=header.has_time())
        notes.extend(channel_notes)
    else:
        refuse_frame(source, options)
    space = space_of(header, layers[0].shape, options.spacing)
    notes.extend(space.notes)
    return layers, space
