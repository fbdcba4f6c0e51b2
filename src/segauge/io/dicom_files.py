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
from segauge.io.limits import Limits
from segauge.io.streams import open_file

#: What pydicom and its decoders raise on damaged files. They promise no list, so it names the general classes.
PARSER_FAILURES = (
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError, MemoryError, OSError,
    RuntimeError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except SegaugeError:
            raise
        except PARSER_FAILURES as error:
            what = str(error).strip().splitlines()
            raise UnreadableFile(
                f"{source}: is damaged or lacks something a DICOM file must have "
                f"({type(error).__name__}: {what[0][:200] if what else 'no details'}). Export it again."
            ) from error


def read_dataset(path: Path, limits: Limits, *, pixels: bool = False, tags: list[str] | None = None) -> Any:
    """Return the data set of a DICOM file, without its pixels unless asked for; `tags` limits it to keywords."""
    pydicom = require_pydicom(str(path))
    with parser_failures(str(path)), open_file(path) as file:
        head = file.read(132)
        file.seek(0)
        if head[128:132] == b"DICM":
            _refuse_foreign_preamble(head, path)
            meta = pydicom.filereader.read_file_meta_info(path)
            if meta.get("TransferSyntaxUID", "") == _DEFLATED:
                return _read_deflated(file.read(), meta, path, limits, pixels=pixels, tags=tags)
        return pydicom.dcmread(file, force=True, stop_before_pixels=not pixels, specific_tags=tags)


def _refuse_foreign_preamble(head: bytes, path: Path) -> None:
    for magic, words in _FOREIGN_PREAMBLES.items():
        if head.startswith(magic):
            raise UnreadableFile(
                f"{path}: its DICOM preamble starts like {words}; for safety it is not read. "
                "Clear the first 128 bytes if you trust the file."
            )


def _read_deflated(data: bytes, meta: Any, path: Path, limits: Limits, *, pixels: bool, tags: list[str] | None) -> Any:
    """Inflate a deflated data set within the limits (pydicom would inflate without one), then parse it."""
    pydicom = require_pydicom(str(path))
    start = 128 + 4 + 12 + int(meta.FileMetaInformationGroupLength)
    # A label needs at most eight bytes a voxel, and functional groups some kilobytes a frame.
    most = min(limits.max_voxels * 8, len(data) * 1032) + limits.max_header_bytes
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    inflated = inflater.decompress(data[start:], most)
    if inflater.unconsumed_tail:
        raise FileTooLarge(f"{path}: inflates to more than {most} bytes; this may be a decompression bomb.")
    dataset = pydicom.filereader.read_dataset(
        io.BytesIO(inflated),
        is_implicit_VR=False,
        is_little_endian=True,
        stop_when=None if pixels else lambda tag, _vr, _length: tag >= 0x7FE00010,
        specific_tags=[pydicom.tag.Tag(tag) for tag in tags] if tags else None,
    )
    dataset.file_meta = meta
    return dataset
