"""Open DICOM files with pydicom, with nothing but our own errors coming out and bounded inflation."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from segauge.errors import FileTooLarge, MissingExtra, SegaugeError, UnreadableFile
from segauge.io.gate import FOREIGN_FAILURES
from segauge.io.limits import Limits
from segauge.io.streams import open_file, stored_size

_DEFLATED = "1.2.840.10008.1.2.1.99"

#: A preamble that starts like this makes the same bytes a program or a document: such files attack viewers.
_FOREIGN_PREAMBLES = {b"MZ": "a Windows program", b"\x7fELF": "a Linux program", b"#!": "a script",
                      b"%PDF": "a PDF document", b"PK\x03\x04": "a ZIP archive"}  # fmt: skip


def looks_like_dicom(head: bytes) -> bool:
    """Say whether the first bytes of a file are DICOM: the prefix at byte 128, or data elements from byte 0."""
    if head[128:132] == b"DICM":
        return True
    # Old RT systems leave out preamble and prefix: the file then starts with an element of group 0002 or 0008.
    group, element = struct.unpack_from("<HH", head) if len(head) >= 8 else (0, 0)
    return group in (2, 8) and element <= 0x60 and (head[4:6].isupper() or head[6:8] == b"\0\0")


def require_pydicom(source: str) -> Any:
    """Return the module pydicom, or say which extra installs it."""
    try:
        return import_module("pydicom")
    except ImportError as error:
        raise MissingExtra(
            f"{source}: reading DICOM needs pydicom, which is not installed. Run: pip install 'segauge[dicom]'"
        ) from error


@contextmanager
def parser_failures(source: str) -> Iterator[None]:
    """Turn what pydicom raises into UnreadableFile, and keep its warnings about odd values to itself."""
    errors = require_pydicom(source).errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except SegaugeError:
            raise
        except (*FOREIGN_FAILURES, errors.InvalidDicomError, errors.BytesLengthException) as error:
            what = str(error).strip().splitlines()
            raise UnreadableFile(
                f"{source}: is damaged or lacks something a DICOM file must have "
                f"({type(error).__name__}: {what[0][:200] if what else 'no details'}). Export it again."
            ) from error


def read_dataset(path: Path, limits: Limits, *, pixels: bool = False, tags: list[str] | None = None) -> Any:
    """Return the data set of a DICOM file, without its pixels unless asked for; `tags` limits it to keywords.

    The file is parsed from memory: a length field that lies can then ask for no more than the file holds.
    """
    pydicom = require_pydicom(str(path))
    with open_file(path) as file:
        if stored_size(file) > limits.max_voxels * 8:
            raise FileTooLarge(f"{path}: has {stored_size(file)} bytes, more than max_voxels allows.")
        data = file.read()
    with parser_failures(str(path)):
        if data[128:132] == b"DICM":
            _refuse_foreign_preamble(data, path)
            meta, start = meta_information(data)
            if meta.get(0x10) == _DEFLATED:
                return _read_deflated(data[start:], path, limits, pixels=pixels, tags=tags)
        return pydicom.dcmread(io.BytesIO(data), force=True, stop_before_pixels=not pixels, specific_tags=tags)


def meta_information(data: bytes) -> tuple[dict[int, str], int]:
    """Return the texts of the file meta information by element number, and where the data set starts behind it."""
    position, texts = 132, {}
    while data[position : position + 2] == b"\2\0":
        long_form = data[position + 4 : position + 6] in (b"OB", b"OW", b"UN", b"UT", b"SQ")
        code, offset = ("<I", 8) if long_form else ("<H", 6)
        length = struct.unpack_from(code, data, position + offset)[0]
        start = position + (12 if long_form else 8)
        element = int.from_bytes(data[position + 2 : position + 4], "little")
        texts[element] = data[start : start + min(length, 64)].strip(b"\0 ").decode("ascii", errors="replace")
        position = start + length
    return texts, position


def _refuse_foreign_preamble(head: bytes, path: Path) -> None:
    for magic, words in _FOREIGN_PREAMBLES.items():
        if head.startswith(magic):
            raise UnreadableFile(
                f"{path}: its DICOM preamble starts like {words}; for safety it is not read. "
                "Clear the first 128 bytes if you trust the file."
            )


def _read_deflated(data: bytes, path: Path, limits: Limits, *, pixels: bool, tags: list[str] | None) -> Any:
    """Inflate a deflated data set within the limits (pydicom would inflate without one), then parse it."""
    pydicom = require_pydicom(str(path))
    # A label needs at most eight bytes a voxel, and functional groups some kilobytes a frame.
    most = limits.max_voxels * 8 + limits.max_header_bytes
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    inflated = inflater.decompress(data, most)
    if inflater.unconsumed_tail:
        raise FileTooLarge(f"{path}: inflates to more than {most} bytes; this may be a decompression bomb.")
    dataset = pydicom.filereader.read_dataset(
        io.BytesIO(inflated),
        is_implicit_VR=False,
        is_little_endian=True,
        stop_when=None if pixels else lambda tag, _vr, _length: tag >= 0x7FE00010,
        specific_tags=[pydicom.tag.Tag(tag) for tag in tags] if tags else None,
    )
    dataset.file_meta = pydicom.dataset.FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = _DEFLATED
    return dataset
