"""What NRRD and MetaImage share: a text header, then voxels in the same file or in named ones beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from segauge.errors import UnreadableFile
from segauge.io.gate import MAX_BZIP2_RATIO, MAX_DEFLATE_RATIO, check_stored_bytes
from segauge.io.reading import ReadOptions
from segauge.io.streams import ByteStream, InflatingStream, open_file, read_exactly, stored_size
from segauge.io.voxels import Voxels, read_voxels


@dataclass(frozen=True)
class Payload:
    """Where the voxels are: `files` (None: in the header's own file, from `offset`), encoding, type and number."""

    files: tuple[Path, ...] | None
    offset: int
    encoding: str
    dtype: np.dtype[Any]
    count: int
    skip_lines: int = 0
    skip_bytes: int = 0
    skip_from_end: bool = False


def beside(path: Path, name: str) -> Path:
    """Return the data file that a header names, refusing any that is not inside the header's own folder."""
    if not name or "\0" in name:
        raise UnreadableFile(f"{path}: the header names no usable data file ({name!r}).")
    folder = path.parent.resolve()
    target = (folder / name.replace("\\", "/")).resolve()
    if Path(name).is_absolute() or not target.is_relative_to(folder):
        raise UnreadableFile(
            f"{path}: its data file {name!r} lies outside of the header's folder; for safety it is not opened. "
            "Put both files into one folder and name the data file without a path."
        )
    return target


def numbers(text: str, source: str, field: str, count: int | None = None) -> list[float]:
    """Return the finite numbers in a header field, refusing any other number of them than `count`."""
    try:
        values = [float(word) for word in text.split()]
    except ValueError as error:
        raise UnreadableFile(f"{source}: the field {field!r} should hold numbers, got {text[:80]!r}.") from error
    if (count is not None and len(values) != count) or not all(math.isfinite(value) for value in values):
        expected = "finite numbers" if count is None else f"{count} finite numbers"
        raise UnreadableFile(f"{source}: the field {field!r} should hold {expected}, got {text[:80]!r}.")
    return values


def whole_numbers(text: str, source: str, field: str, count: int | None = None) -> list[int]:
    """Return the whole numbers in a header field."""
    values = numbers(text, source, field, count)
    if any(value != int(value) for value in values):
        raise UnreadableFile(f"{source}: the field {field!r} should hold whole numbers, got {text[:80]!r}.")
    return [int(value) for value in values]


def read_payload(path: Path, payload: Payload, options: ReadOptions, notes: list[str]) -> Voxels:
    """Read the voxels that a header describes, flat."""
    if payload.files is not None and len(payload.files) > 1:
        return _read_several(path, payload, options, notes)
    data_path = path if payload.files is None else payload.files[0]
    with open_file(data_path) as file:
        file.seek(payload.offset if payload.files is None else 0)
        voxels = _read_one(file, path, payload, payload.count, options, notes)
    notes.extend(voxels.notes)
    return voxels


def _read_several(path: Path, payload: Payload, options: ReadOptions, notes: list[str]) -> Voxels:
    files: Sequence[Path] = payload.files or ()
    if payload.count % len(files):
        raise UnreadableFile(f"{path}: {payload.count} voxels cannot be spread evenly over {len(files)} data files.")
    parts = []
    for data_path in files:
        with open_file(data_path) as file:
            parts.append(_read_one(file, path, payload, payload.count // len(files), options, notes))
    notes.extend(dict.fromkeys(note for part in parts for note in part.notes))
    return Voxels(np.concatenate([part.array for part in parts]))


def _read_one(
    file: BinaryIO, path: Path, payload: Payload, count: int, options: ReadOptions, notes: list[str]
) -> Voxels:
    for _ in range(payload.skip_lines):
        file.readline(options.limits.max_header_bytes)
    needed = count * payload.dtype.itemsize
    stream: ByteStream = file
    if payload.encoding == "raw":
        left = stored_size(file) - file.tell()
        if payload.skip_from_end:
            file.seek(max(0, left - needed), 1)
        check_stored_bytes(needed + payload.skip_bytes, left, str(path))
    else:
        stream = InflatingStream(file, payload.encoding, str(path))
        ratio = MAX_BZIP2_RATIO if payload.encoding == "bzip2" else MAX_DEFLATE_RATIO
        check_stored_bytes(needed, stored_size(file), str(path), ratio=ratio)
    if payload.skip_bytes:
        read_exactly(stream, payload.skip_bytes, str(path), "bytes to skip")
    voxels = read_voxels(stream, count, payload.dtype, str(path), options)
    if isinstance(stream, InflatingStream):
        stream.finish(options.limits)
        notes.extend(stream.notes)
    elif payload.encoding == "raw" and not payload.skip_from_end and (surplus := stored_size(file) - file.tell()):
        notes.append(f"{surplus} bytes follow the voxels; they were ignored")
    return voxels
