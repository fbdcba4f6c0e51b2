"""Outcome and Crash: what became of one item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Crash:
    """An item that has no result, and why: "took longer than 60 s", "its worker process was killed (SIGKILL) ...".

    `lacked_memory` is True where it may well have a result once nothing else takes the memory. `died` is True where its
    worker process ended by itself, or was ended by another: a defect of the machine more often than of the item.
    """

    reason: str
    lacked_memory: bool = False
    died: bool = False


@dataclass(frozen=True)
class Outcome:
    """An item's place in the order of items, and its result or Crash."""

    index: int
    result: Any


def crash_of(error: BaseException) -> Crash:
    """Return the crash that an exception of the function stands for."""
    if isinstance(error, MemoryError):
        words = str(error).rstrip(".")
        return Crash(f"ran out of memory ({words})" if words else "ran out of memory", lacked_memory=True)
    return Crash(f"{type(error).__name__}: {error}")
