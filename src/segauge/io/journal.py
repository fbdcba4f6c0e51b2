"""The journal: one line on the disk for each finished case, so that a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from segauge.errors import CacheUnusable

flock: Callable[[int, int], None] | None
try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows has none: two runs in one folder are then not noticed
    flock = None

_NAME = "cases.jsonl"


class Journal:
    """Finished cases by key, in a file that only grows.

    A line is a checksum and a JSON object; a line that was not written to its end is as if it were not there. In
    memory there is one key and one position per line, whatever the cases hold.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._places: dict[str, tuple[int, int]] = {}
        self._end = self._scan()

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: str) -> Any:
        """Return the record of a key, None if there is none."""
        if key not in self._places:
            return None
        start, size = self._places[key]
        self._file.seek(start)
        entry = _entry(self._file.read(size))
        return None if entry is None else entry["record"]

    def add(self, key: str, record: Mapping[str, Any]) -> None:
        """Write a record and wait until it is on the disk."""
        text = json.dumps({"key": key, "record": record}, allow_nan=False, ensure_ascii=True).encode()
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        try:
            self._file.seek(self._end)
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise CacheUnusable(
                f"{self._path}: cannot be written ({error.strerror}). The cases done so far are kept: make room, or "
                "choose another cache folder, and run the same command again."
            ) from error
        self._places[key] = (self._end, len(line))
        self._end += len(line)

    def _scan(self) -> int:
        """Note where each whole line stands, and return where the next one goes: behind the last whole line."""
        position = end = 0
        self._file.seek(0)
        for line in self._file:
            entry = _entry(line)
            if entry is not None:
                self._places[entry["key"]] = (position, len(line))
            position += len(line)
            if line.endswith(b"\n"):
                end = position
        if end < position:
            self._file.truncate(end)
        return end


def _entry(line: bytes) -> Any:
    """Return what a line holds, None if it is torn or damaged."""
    if not line.endswith(b"\n") or line[8:9] != b" ":
        return None
    text = line[9:-1]
    try:
        if int(line[:8], 16) != zlib.crc32(text):
            return None
        return json.loads(text)
    except ValueError:
        return None


@contextmanager
def open_journal(folder: str | os.PathLike[str]) -> Iterator[Journal]:
    """Open the journal in a folder, made if need be, and hold it: two runs at once are refused."""
    place = Path(folder)
    path = place / _NAME
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise CacheUnusable(
            f"{place}: cannot be used as cache folder ({error.strerror}). Choose another one, or none."
        ) from error
    with file:
        _hold(file, place)
        # Reopened without "append", which would ignore every position.
        with path.open("r+b") as held:
            yield Journal(held, path)


def _hold(file: BinaryIO, place: Path) -> None:
    if flock is None:
        return
    try:
        flock(file.fileno(), LOCK_EX | LOCK_NB)
    except OSError as error:
        raise CacheUnusable(
            f"{place}: another run is using this cache folder. Wait for it to end, or choose another one."
        ) from error
