"""Extract zip and tar archives from elsewhere: nothing leaves the folder, nothing blows up, nothing is half done."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Self

from segauge.errors import SegaugeError
from segbench.locks import held

_PIECE = 1 << 20


class UnsafeArchive(SegaugeError):
    """An archive holds what no dataset holds: a path out of the folder, a link, more than it should."""


#: Bytes of a header that holds the name of the next file; paths have at most 4096.
_LONGEST_NAME = 1 << 16


@dataclass(frozen=True)
class ArchiveLimits:
    """What an archive may hold.

    `max_bytes`: everything extracted together. `max_ratio`: extracted bytes per byte of the archive; medical images are
    stored compressed, and compress little again. `free_bytes`: up to this much the ratio is not looked at.
    `max_files`: number of entries.
    """

    max_bytes: int = 2**40
    max_ratio: float = 100.0
    free_bytes: int = 2**26
    max_files: int = 1_000_000

    def allowed_bytes(self, archive_bytes: int) -> int:
        """Return how much an archive of this size may become."""
        return min(self.max_bytes, max(self.free_bytes, int(self.max_ratio * archive_bytes)))


@dataclass(frozen=True)
class _Entry:
    """One entry: its name as it stands there, and its bytes; None for a folder."""

    name: str
    content: IO[bytes] | None


def extract(
    archive: str | os.PathLike[str], folder: str | os.PathLike[str], *, limits: ArchiveLimits | None = None
) -> Path:
    """Extract an archive into a new folder and return it; a folder that is there already is taken as done.

    Bytes are counted as they come out, not as the archive announces them. The folder appears when everything is in it.

    Raises:
        UnsafeArchive: for absolute paths, "..", links, devices, and for more than the limits allow.

    """
    source, target = Path(archive), Path(folder)
    with held(target.with_name(f".{target.name}.lock")):
        if target.is_dir():
            return target
        beside = target.with_name(f".{target.name}.part")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        try:
            _unpack(source, beside, limits or ArchiveLimits())
        except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError) as error:
            shutil.rmtree(beside, ignore_errors=True)
            raise UnsafeArchive(
                f"{source}: cannot be extracted ({error}). Make room if the disk is full; otherwise delete the archive "
                "and fetch it again."
            ) from error
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        beside.replace(target)
    return target


def _unpack(source: Path, folder: Path, limits: ArchiveLimits) -> None:
    allowed = limits.allowed_bytes(source.stat().st_size)
    written = 0
    seen: set[str] = set()
    with closing(_entries(source)) as entries:
        for entry in entries:
            path = folder / _safe_name(entry.name, source)
            seen.add(str(path).casefold())
            if len(seen) > limits.max_files:
                raise UnsafeArchive(f"{source}: holds more than {limits.max_files} entries; no dataset here does.")
            if entry.content is None:
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            written += _copy(entry, path, allowed - written, source, allowed)


def _copy(entry: _Entry, path: Path, room: int, source: Path, allowed: int) -> int:
    """Write one entry and return its size; stop where the archive has no room left."""
    written = 0
    if path.exists():
        raise UnsafeArchive(f"{source}: holds {entry.name!r} twice.")
    with path.open("xb") as file:
        while entry.content is not None and (piece := entry.content.read(_PIECE)):
            written += len(piece)
            if written > room:
                raise UnsafeArchive(
                    f"{source}: becomes larger than {allowed} bytes when extracted, {source.stat().st_size} bytes as "
                    "it is; that looks like a bomb. If it is not, raise the limits."
                )
            file.write(piece)
    return written


def _safe_name(name: str, source: Path) -> PurePosixPath:
    """Return an entry's path inside the folder; refuse what could lead out of it, on any system."""
    path = PurePosixPath(name)
    parts = path.parts
    if "\\" in name or "\0" in name or path.is_absolute() or ".." in parts or any(":" in part for part in parts):
        raise UnsafeArchive(f"{source}: holds the path {name!r}, which leads out of the folder it is extracted to.")
    return path


class _Header(tarfile.TarInfo):
    """A header of a tar archive. Some hold the name of the next file: these are read whole, however long they are."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return a header, refusing a name that is longer than any: before it is read, and counts as no file."""
        found = super().frombuf(buf, encoding, errors)
        if found.type not in (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE) and found.size > _LONGEST_NAME:
            raise UnsafeArchive(
                f"The archive has a name, or a link, of {found.size} bytes; that looks like a bomb. Delete it."
            )
        return found


def _entries(source: Path) -> Generator[_Entry, None, None]:
    return _zip_entries(source) if zipfile.is_zipfile(source) else _tar_entries(source)


def _zip_entries(source: Path) -> Generator[_Entry, None, None]:
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            kind = (info.external_attr >> 16) & 0o170000
            if kind not in (0, 0o100000, 0o040000):
                raise UnsafeArchive(f"{source}: holds {info.filename!r}, which is a link or a device, not a file.")
            if info.is_dir():
                yield _Entry(info.filename, None)
                continue
            with archive.open(info) as content:
                yield _Entry(info.filename, content)


def _tar_entries(source: Path) -> Generator[_Entry, None, None]:
    try:
        opened = tarfile.open(source, tarinfo=_Header)  # noqa: SIM115 - closed by the with below
    except tarfile.ReadError as error:
        raise UnsafeArchive(f"{source}: is neither a zip nor a tar archive. Delete it and fetch it again.") from error
    with opened as archive:
        for member in archive:
            if member.isdir():
                yield _Entry(member.name, None)
                continue
            content = archive.extractfile(member) if member.isreg() else None
            if content is None:
                raise UnsafeArchive(f"{source}: holds {member.name!r}, which is a link or a device, not a file.")
            with content:
                yield _Entry(member.name, content)
