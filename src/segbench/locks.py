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
def held(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock file `path` (made if need be), waiting for whoever has it; the system frees it if we die.

    Raises:
        CacheUnusable: if it cannot be made.

    """
    place = Path(path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CacheUnusable(f"{place}: cannot be made ({error.strerror}). Choose another folder.") from error
    try:
        _wait(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int) -> None:
    while flock is not None:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
            return
        except OSError:
            time.sleep(_PAUSE_S)
