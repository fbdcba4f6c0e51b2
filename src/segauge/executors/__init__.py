"""Run one function on many items: here, in worker processes, or on a dask cluster. Knows nothing of segmentations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from segauge.errors import InvalidInput, MissingExtra
from segauge.executors.outcomes import Crash, Outcome, crash_of
from segauge.executors.processes import run_in_processes

#: Items out per worker: one in work, one waiting so that nobody idles between two.
_AHEAD = 2

#: An item that was done and is not any more, because the worker that held its result died before it was
#: fetched: the scheduler gives it to another worker by itself.
_UNDERWAY = ("lost", "pending")

__all__ = ["Crash", "Outcome", "run"]


def run_on_dask(
    function: Callable[[Any], Any], items: Iterable[Any], executor: Any, jobs: int | None
) -> Iterator[Outcome]:
    """Yield outcomes as they come. A worker that dies has its items done by the others."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra(
            "Running on a cluster needs dask.distributed: install it with `pip install 'segauge[dask]'`."
        ) from error
    own = not isinstance(executor, distributed.Client)
    client = _connected(distributed, executor, jobs) if own else executor
    try:
        yield from _outcomes(client, function, items, distributed)
    finally:
        if own:
            client.close()
            if executor == "dask":
                client.cluster.close()


def _connected(distributed: Any, executor: Any, jobs: int | None) -> Any:
    if executor == "dask":
        # Any free port: the usual one may be taken by another run, which dask would warn of.
        cluster = distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=":0")
        return distributed.Client(cluster)
    if not isinstance(executor, str):
        raise InvalidInput(f"executor: expected a name, an address or a dask client, got {type(executor).__name__}.")
    try:
        return distributed.Client(executor, timeout="20s")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"No dask scheduler answers at {executor!r}: {error}") from error


def _outcomes(client: Any, function: Callable[[Any], Any], items: Iterable[Any], distributed: Any) -> Iterator[Outcome]:
    places: dict[str, int] = {}
    done = distributed.as_completed()
    numbered = enumerate(items)

    def submit_next() -> bool:
        for index, item in numbered:
            future = client.submit(function, item, pure=False)
            places[future.key] = index
            done.add(future)
            return True
        return False

    width = _AHEAD * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    waiting = sum(submit_next() for _ in range(width))
    for future in done:
        status = future.status
        if status in _UNDERWAY:
            done.add(future)
            continue
        yield Outcome(places.pop(future.key), _result(future, status))
        future.release()
        waiting += submit_next() - 1
        if not waiting:
            return


def _result(future: Any, status: str) -> Any:
    """Return what an item gave. The status is handed in, for it may change from one look to the next."""
    if status == "error":
        return crash_of(future.exception())
    if status != "finished":
        return Crash(f"the cluster gave it up ({status})")
    try:
        return future.result()
    except Exception as error:  # The worker that held it died meanwhile, and so did those that tried again.
        return crash_of(error)


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
