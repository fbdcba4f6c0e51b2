"""Run one function on many items: here, in worker processes, or on a dask cluster. Knows nothing of segmentations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from segauge.errors import InvalidInput
from segauge.executors.clusters import run_on_dask
from segauge.executors.outcomes import Crash, Outcome, crash_of
from segauge.executors.processes import run_in_processes

__all__ = ["Crash", "Outcome", "run"]


def run(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    *,
    executor: Any = None,
    jobs: int | None = None,
    timeout: float | None = None,
) -> Iterator[Outcome]:
    """Yield the outcome of `function` on each item, in the order in which they end.

    Items are taken from the iterable only as workers become free, so that any number of them needs the memory of a
    few. An item that crashes its worker, takes longer than `timeout` seconds or runs out of memory has a `Crash` as
    its outcome; the others go on. Where its worker died (was killed, crashed), or others left it too little memory, it
    is tried once more when nothing else runs.

    Args:
        function: a function at the top level of an importable module.
        items: what it is called with; sent to workers by pickle.
        executor: "serial", "processes", "dask" (a cluster on this machine), the address of a dask scheduler such as
            "tcp://host:8786", or a dask client. By default processes if there are several jobs or a timeout.
        jobs: number of worker processes; ignored on a cluster that is there already.
        timeout: seconds for one item; needs processes.

    """
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs: expected a number of worker processes of at least 1, got {jobs!r}.")
    if timeout is not None and not timeout > 0:
        raise InvalidInput(f"timeout: expected seconds above 0, got {timeout!r}.")
    if executor is None:
        executor = "processes" if (jobs or 1) > 1 or timeout is not None else "serial"
    if executor == "processes":
        return run_in_processes(function, items, jobs or 1, timeout)
    if timeout is not None:
        raise InvalidInput(f"timeout: needs the executor 'processes'; {executor!r} cannot end a running case.")
    if executor == "serial":
        return run_serially(function, items)
    if isinstance(executor, str) and executor != "dask" and "://" not in executor:
        raise InvalidInput(
            f'No executor {executor!r}; there are "serial", "processes", "dask", and a scheduler\'s address such as '
            '"tcp://host:8786".'
        )
    return run_on_dask(function, items, executor, jobs)


def run_serially(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Outcome]:
    """Yield the outcome of each item, in order."""
    for index, item in enumerate(items):
        try:
            result = function(item)
        except Exception as error:  # the one place around a case: whatever happens in it becomes its outcome
            result = crash_of(error)
        yield Outcome(index, result)
