"""Content hashes: what decides whether a case must be measured again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import UnreadableFile
from segauge.io.formats import identify, image_stem
from segauge.io.streams import list_folder, open_file
from segauge.labelmap import LabelMap

_PIECE = 1 << 20
#: So much of a slice is looked at: more than its header takes.
_HEAD = 1 << 14


def content_hash(source: Any) -> str:
    """Return the SHA-256 of what a source of labels holds: a file with those that belong to it, a folder, an array.

    A DICOM file may be a structure set drawn on a series beside it, so the names, sizes and first bytes, where the
    place of a slice is written, of the files in the folders beside it count as well.

    Raises:
        UnreadableFile: if a file cannot be read.

    """
    digest = hashlib.sha256()
    if isinstance(source, LabelMap):
        digest.update(repr((source.grid.shape, source.grid.affine.tolist(), dict(source.names))).encode())
        if not source.in_space or source.partial or source.frame_of_reference:
            digest.update(repr((source.in_space, source.partial, source.frame_of_reference)).encode())
        for layer in source.layers:
            _add_array(digest, layer)
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir():
            _add_folder(digest, path)
        else:
            digest.update(file_hash(path).encode())
            for companion in companions(path):
                _add_file(digest, companion)
            _add_series_beside(digest, path)
    else:
        _add_array(digest, np.asarray(source))
    return digest.hexdigest()


def path_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; of a folder, or a file whose voxels lie in others, that of all it holds."""
    return content_hash(path) if path.is_dir() or companions(path) else file_hash(path)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, read piece by piece."""
    digest = hashlib.sha256()
    with open_file(path) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _add_file(digest: Any, path: Path) -> None:
    digest.update(f"{path.name}\0{file_hash(path)}\0".encode(errors="surrogateescape"))


def _add_folder(digest: Any, folder: Path) -> None:
    """Add all files of a folder, and those in folders below it that its images name."""
    files = [entry for entry in list_folder(folder) if entry.is_file()]
    here = {entry.resolve() for entry in files}
    for entry in files:
        _add_file(digest, entry)
    for entry in files:
        for companion in companions(entry) if image_stem(entry.name) is not None else ():
            if companion.resolve() not in here:
                _add_file(digest, companion)


def _add_array(digest: Any, array: np.ndarray[Any, Any]) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.dtype != object else repr(array).encode())


def companions(path: Path) -> tuple[Path, ...]:
    """Return the other files that a reader opens with this one: voxels that a header names, a pair's half, a sidecar.

    A file that cannot be read has none: its own bytes decide, and the reader will say what is wrong.
    """
    try:
        return tuple(other for other in identify(path).companions(path) if other.resolve() != path.resolve())
    except UnreadableFile:
        return ()


def _add_series_beside(digest: Any, path: Path) -> None:
    """Add what lies in the folders beside a structure set: its contours are filled on the series it finds there."""
    with open_file(path) as file:
        head = file.read(4096)
    if head[128:132] != b"DICM" or b"1.2.840.10008.5.1.4.1.1.481.3" not in head:
        return
    for folder in (path.parent, *(entry for entry in list_folder(path.parent) if entry.is_dir())):
        for entry in list_folder(folder):
            if entry.is_dir():
                continue
            with open_file(entry) as file:
                digest.update(f"{entry.name}\0".encode(errors="surrogateescape") + file.read(_HEAD))
            digest.update(f"\0{entry.stat().st_size}\0".encode())
