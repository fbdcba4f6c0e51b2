"""Which engine computes: the compiled kernel, or the NumPy reference where it is missing."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

from segauge.errors import InvalidInput
from segauge.geometry import reference

_kernel: Any
try:
    from segauge.geometry import _kernel
except ImportError:  # installed without a C++ compiler
    _kernel = None


class SlowEngineWarning(UserWarning):
    """The compiled kernel is missing, so everything runs on the NumPy reference."""


def engine() -> Any:
    """Return the module that computes: `_kernel`, or `reference` (if there is no kernel, or SEGAUGE_ENGINE says so)."""
    asked = os.environ.get("SEGAUGE_ENGINE", "")
    if asked not in ("", "kernel", "reference"):
        raise InvalidInput(f"SEGAUGE_ENGINE: expected 'kernel' or 'reference', got {asked!r}.")
    if asked == "kernel" and _kernel is None:
        raise InvalidInput("SEGAUGE_ENGINE=kernel, but segauge was installed without its compiled kernel.")
    if asked == "reference":
        return reference
    if _kernel is None:
        _say_once_that_it_is_slow()
        return reference
    return _kernel


@cache
def _say_once_that_it_is_slow() -> None:
    warnings.warn(
        "segauge was installed without its compiled kernel and computes on the NumPy reference: the same numbers, "
        "but some hundred times slower. Install a C++ compiler and reinstall segauge to get the kernel.",
        SlowEngineWarning,
        stacklevel=4,
    )


def thread_count(threads: int | None = None) -> int:
    """Return how many threads to use: the argument, SEGAUGE_NUM_THREADS, or all cores."""
    if threads is None:
        asked = os.environ.get("SEGAUGE_NUM_THREADS", "").strip()
        if not asked:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not asked.isdecimal() or int(asked) < 1:
            raise InvalidInput(f"SEGAUGE_NUM_THREADS: expected a whole number of at least 1, got {asked!r}.")
        return int(asked)
    if not hasattr(threads, "__index__") or threads < 1:
        raise InvalidInput(f"threads: expected a whole number of at least 1, got {threads!r}.")
    return int(threads)
