"""One item after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from segauge.executors.outcomes import Outcome, crash_of


def run_serially(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Outcome]:
    """Yield the outcome of each item, in order."""
    for index, item in enumerate(items):
        try:
            result = function(item)
        except Exception as error:  # the one place around a case: whatever happens in it becomes its outcome
            result = crash_of(error)
        yield Outcome(index, result)
