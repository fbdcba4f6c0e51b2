"""Content hashes: what decides whether a case must be measured again."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import UnreadableFile
from segauge.io.streams import list_folder, open_file
from segauge.labelmap import LabelMap

_PIECE = 1 << 20
#: Headers whose voxels lie in other files, or that a sidecar belongs to.
_DETACHED = (".mhd", ".nhdr", ".hdr", ".img", ".img.gz", ".npy", ".npz")


def content_hash(source: Any) -> str:
    """Return the SHA-256 of what a source of labels holds: a file with those that belong to it, a folder, an array.

    A DICOM file may be a structure set drawn on a series beside it, so for a folder that holds it the names, sizes and
    times of its other files count as well.

    Raises:
        UnreadableFile: if a file cannot be read.

    """
    digest = hashlib.sha256()
    if isinstance(source, LabelMap):
        digest.update(repr((source.grid.shape, source.grid.affine.tolist(), dict(source.names))).encode())
        for layer in source.layers:
            _add_array(digest, layer)
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir():
            for entry in list_folder(path):
                if entry.is_file():
                    digest.update(f"{entry.name}\0{file_hash(entry)}\0".encode(errors="surrogateescape"))
        else:
            digest.update(file_hash(path).encode())
            for companion in _companions(path):
                digest.update(f"{companion.name}\0{file_hash(companion)}\0".encode(errors="surrogateescape"))
            _add_series_beside(digest, path)
    else:
        _add_array(digest, np.asarray(source))
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, read piece by piece."""
    digest = hashlib.sha256()
    with open_file(path) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _add_array(digest: Any, array: np.ndarray[Any, Any]) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.dtype != object else repr(array).encode())


def _companions(path: Path) -> list[Path]:
    """Return the files that a header names, and those of its own name with another ending."""
    name = path.name.lower()
    if not name.endswith(_DETACHED):
        return []
    stem = path.name.split(".", 1)[0]
    with open_file(path) as file:
        head = file.read(1 << 16).split(b"\n\n", 1)[0]
    named = set(re.split(r"[\s=:]+", head.decode("latin-1"))) if name.endswith((".mhd", ".nhdr")) else set()
    return [
        entry
        for entry in list_folder(path.parent)
        if entry != path and (entry.name in named or entry.name.split(".", 1)[0] == stem) and entry.is_file()
    ]


def _add_series_beside(digest: Any, path: Path) -> None:
    """Add what lies in the folders beside a structure set: its contours are filled on the series it finds there."""
    with open_file(path) as file:
        head = file.read(4096)
    if head[128:132] != b"DICM" or b"1.2.840.10008.5.1.4.1.1.481.3" not in head:
        return
    for folder in (path.parent, *(entry for entry in list_folder(path.parent) if entry.is_dir())):
        for entry in list_folder(folder):
            try:
                facts = entry.stat()
            except OSError as error:
                raise UnreadableFile(f"{entry}: cannot be opened: {error.strerror}.") from error
            digest.update(f"{entry.name}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode(errors="surrogateescape"))
