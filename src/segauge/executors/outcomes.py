"""Outcome and Crash: what became of one item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Crash:
    """An item that has no result, and why: "took longer than 60 s", "its worker process was killed (signal 9)".

    `is_death` is True where the worker died or ran out of memory, which need not be the item's fault.
    """

    reason: str
    is_death: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Outcome:
    """An item's place in the order of items, and its result or Crash."""

    index: int
    result: Any


def crash_of(error: BaseException) -> Crash:
    """Return the crash that an exception of the function stands for."""
    if isinstance(error, MemoryError):
        words = str(error).rstrip(".")
        return Crash(f"ran out of memory ({words})" if words else "ran out of memory", is_death=True)
    return Crash(f"{type(error).__name__}: {error}")
