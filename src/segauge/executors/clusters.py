"""The same work on a dask.distributed cluster: one on this machine, one that runs already, or a client's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from segauge.errors import InvalidInput, MissingExtra
from segauge.executors.outcomes import Crash, Outcome, crash_of

#: Items out per worker: one in work, one waiting so that nobody idles between two.
_AHEAD = 2

#: An item that was done and is not any more, because the worker that held its result died before it was
#: fetched: the scheduler gives it to another worker by itself.
_UNDERWAY = ("lost", "pending")


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
