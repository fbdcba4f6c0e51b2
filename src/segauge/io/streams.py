"""Byte streams of files: regular files only, inflated piece by piece, checksums verified, never more than asked for."""

from __future__ import annotations

import bz2
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from segauge.errors import UnreadableFile
from segauge.io.gate import Limits

GZIP_MAGIC = b"\x1f\x8b"
BZIP2_MAGIC = b"BZh"
#: Bytes that are read and inflated at a time.
PIECE = 1 << 20


class ByteStream(Protocol):
    """Anything that gives up to n bytes a call, and nothing at its end."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" only at the end."""
        ...


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; say in words why a folder, pipe, loop, or unreadable file cannot be read."""
    try:
        information = path.stat()
        if not stat.S_ISREG(information.st_mode):
            kind = "a folder" if stat.S_ISDIR(information.st_mode) else "a pipe, socket or device"
            raise UnreadableFile(f"{path}: expected a file, this is {kind}.")
        if information.st_size == 0:
            raise UnreadableFile(f"{path}: the file is empty (0 bytes). Copy or write it again.")
        file = path.open("rb")
    except (OSError, ValueError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(f"{path}: cannot be opened: {_reason(error)}.") from error
    with file:
        try:
            yield file
        except OSError as error:
            raise UnreadableFile(f"{path}: reading failed: {_reason(error)}.") from error


def list_folder(folder: Path) -> list[Path]:
    """Return what a folder holds, sorted by name, or say why it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise UnreadableFile(f"{folder}: cannot be listed: {_reason(error)}.") from error


def _reason(error: OSError | ValueError) -> str:
    """Return the words of the operating system alone, without number and repeated path."""
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).rstrip(".")


def stored_size(file: BinaryIO) -> int:
    """Return the size in bytes of an open file."""
    return os.fstat(file.fileno()).st_size


def read_exactly(stream: ByteStream, size: int, source: str, what: str) -> bytes:
    """Return `size` bytes, or raise UnreadableFile saying how many there were."""
    data = b"".join(pieces(stream, size))
    if len(data) < size:
        raise UnreadableFile(f"{source}: {size} bytes of {what} expected, {len(data)} found. The file is truncated.")
    return data


def pieces(stream: ByteStream, size: int) -> Iterator[bytes]:
    """Yield the next `size` bytes in pieces of at most 1 MiB, fewer if the stream ends."""
    while size > 0:
        piece = stream.read(min(size, PIECE))
        if not piece:
            return
        size -= len(piece)
        yield piece


def inflated_head(path: Path, size: int = 1024) -> bytes:
    """Return the first bytes of a file, inflated if it is gzip."""
    with open_file(path) as file:
        head = file.read(size)
        if not head.startswith(GZIP_MAGIC):
            return head
        file.seek(0)
        return b"".join(pieces(InflatingStream(file, "gzip", str(path)), size))


class InflatingStream:
    """The inflated content of a compressed file, member after member, each checked against its checksum.

    `encoding` is "gzip", "zlib" or "bzip2". `notes` collects what was odd (bytes after the last member).
    """

    def __init__(self, file: ByteStream, encoding: str, source: str) -> None:
        self._file = file
        self._source = source
        self._encoding = encoding
        self._pending: bytes = b""
        self._exhausted = False
        self._member = self._new_member()
        self.notes: list[str] = []

    def _new_member(self) -> Any:
        if self._encoding == "bzip2":
            return _Bzip2Member()
        return _zlib_module().decompressobj(31 if self._encoding == "gzip" else 15)

    def read(self, size: int, /) -> bytes:
        """Return up to `size` inflated bytes, b"" at the end of the last member."""
        while not self._exhausted:
            if self._member.eof:
                self._start_next_member()
            elif data := self._inflate(size):
                return data
        return b""

    def _inflate(self, size: int) -> bytes:
        data, at_end = self._compressed()
        try:
            inflated: bytes = self._member.decompress(data, size)
        except (zlib.error, _zlib_module().error, OSError, EOFError) as error:
            raise UnreadableFile(
                f"{self._source}: the compressed data is damaged ({_plain(error)}). Copy or write the file again."
            ) from error
        if at_end and not inflated and not self._member.eof:
            self._exhausted = True
        return inflated

    def _compressed(self) -> tuple[bytes, bool]:
        """Return the next compressed bytes, and whether the file has no more of them."""
        data: bytes = self._member.unconsumed_tail or self._pending
        self._pending = b""
        if data or not getattr(self._member, "needs_input", True):
            return data, False
        data = self._file.read(PIECE // 4)
        return data, not data

    def _start_next_member(self) -> None:
        rest: bytes = self._member.unused_data
        if len(rest) < 4:  # a signature may lie across two pieces
            rest += self._file.read(PIECE // 4)
        magic = {"gzip": GZIP_MAGIC, "bzip2": BZIP2_MAGIC}.get(self._encoding)
        if magic is not None and rest.startswith(magic):
            self._member = self._new_member()
            self._pending = rest
            return
        self._exhausted = True
        if rest.strip(b"\0"):
            self.notes.append("there are bytes after the end of the compressed data; they were ignored")

    def finish(self, limits: Limits) -> None:
        """Read on to the end, so that the checksum is verified, and refuse more surplus than the limits allow."""
        surplus = 0
        while piece := self.read(PIECE):
            surplus += len(piece)
            if surplus > limits.max_surplus_bytes:
                raise UnreadableFile(
                    f"{self._source}: the decompressed size exceeds what the header needs by more than "
                    f"{limits.max_surplus_bytes} bytes; this may be a decompression bomb. Write the file again."
                )
        if not self._member.eof:
            raise UnreadableFile(
                f"{self._source}: the compressed data ends before its checksum. The file is truncated: copy it again."
            )
        if surplus:
            self.notes.append(f"{surplus} bytes follow the voxels; they were ignored")


def _plain(error: Exception) -> str:
    return str(error).removeprefix("Error ").rstrip(".") or type(error).__name__


@cache
def _zlib_module() -> Any:
    """Return isal's zlib where it is installed, four times as fast on label maps, else Python's own."""
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return zlib


class _Bzip2Member:
    """A bzip2 decompressor with zlib's face; bzip2 keeps its unread input itself."""

    def __init__(self) -> None:
        self._decompressor = bz2.BZ2Decompressor()
        self.unconsumed_tail = b""

    @property
    def eof(self) -> bool:
        return self._decompressor.eof

    @property
    def needs_input(self) -> bool:
        return self._decompressor.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._decompressor.unused_data

    def decompress(self, data: bytes, size: int) -> bytes:
        return self._decompressor.decompress(data, size)
