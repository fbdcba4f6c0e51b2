"""Locks between processes: whoever makes a file that others want too holds it, the others wait."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from segauge.errors import CacheUnusable

flock: Callable[[int, int], None] | None
try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows has none: two runs in one folder are then not noticed
    flock = None

#: Seconds between two looks at a lock that somebody else holds.
_PAUSE_S = 0.05


@contextmanager
def held(path: str | os.PathLike[str], *, timeout_s: float | None = None) -> Iterator[None]:
    """Hold the lock file `path` (made if need be), waiting for whoever has it; the system frees it if we die.

    Raises:
        CacheUnusable: if it is still taken after `timeout_s` seconds, or cannot be made.

    """
    place = Path(path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CacheUnusable(f"{place}: cannot be made ({error.strerror}). Choose another folder.") from error
    try:
        _wait(descriptor, place, timeout_s)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, place: Path, timeout_s: float | None) -> None:
    if flock is None:
        return
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
            return
        except OSError:
            if end is not None and time.monotonic() >= end:
                raise CacheUnusable(
                    f"{place}: another process is still at it after {timeout_s:g} s. Wait for it to end and run again."
                ) from None
            time.sleep(_PAUSE_S)
