"""Worker processes that may die: each serves one item at a time and is replaced when it crashes or takes too long.

A worker is a fresh interpreter that runs `segauge.executors.worker` and never imports the user's script again: a script
needs no `if __name__ == "__main__"` guard. Items and results pass through its standard input and output.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from segauge.executors.outcomes import Crash, Outcome
from segauge.executors.worker import read_frame, write_frame

#: Several workers share the cores: a pool of threads in each, for matrix products, would only take turns on them.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_KILLED = "its worker process was killed (SIGKILL); most often the machine ran out of memory"
_START = "import sys; from segauge.executors.worker import serve; serve(*sys.argv[1:3])"


def run_in_processes(
    function: Callable[[Any], Any], items: Iterable[Any], jobs: int, timeout: float | None
) -> Iterator[Outcome]:
    """Yield outcomes as they come; at most `jobs` items are out at a time.

    An item whose worker died, or that several workers left too little memory for, is tried once more at the end, when
    nothing else runs: one worker that is lost must not cost a run of hours.
    """
    again: list[_Sent] = []
    first = _side_by_side(function, itertools.starmap(_Sent, enumerate(items)), jobs, timeout)
    with contextlib.closing(first):  # whoever stops early has no worker left behind
        for sent, result in first:
            if _is_worth_another_try(result, jobs):
                again.append(sent)
            else:
                yield Outcome(sent.place, result)
    second = _side_by_side(function, again, 1, timeout)
    with contextlib.closing(second):
        for sent, result in second:
            yield Outcome(sent.place, _said_twice(result))


class _Sent(NamedTuple):
    """An item, and its place among all."""

    place: int
    item: Any


def _is_worth_another_try(result: Any, jobs: int) -> bool:
    """Say whether an item may have a result when it runs alone; one that ran out of memory alone will do so again."""
    return isinstance(result, Crash) and (result.died or (result.lacked_memory and jobs > 1))


def _said_twice(result: Any) -> Any:
    if isinstance(result, Crash) and (result.died or result.lacked_memory):
        return replace(result, reason=f"{result.reason}; it was tried twice, the second time alone")
    return result


def _side_by_side(
    function: Callable[[Any], Any], items: Iterable[_Sent], jobs: int, timeout: float | None
) -> Generator[tuple[_Sent, Any], None, None]:
    """Yield each item with its result or Crash, as they come."""
    idle: SimpleQueue[_Worker] = SimpleQueue()
    workers = [_Worker(function, _ONE_THREAD if jobs > 1 else {}) for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def serve(item: Any) -> Any:
        worker = idle.get()
        try:
            return worker.call(item, timeout)
        finally:
            idle.put(worker)

    running: dict[Future[Any], _Sent] = {}
    # One thread per process does nothing but wait for it.
    threads = ThreadPoolExecutor(jobs)
    try:
        for sent in items:
            running[threads.submit(serve, sent.item)] = sent
            if len(running) >= jobs:
                yield from _finished(running)
        while running:
            yield from _finished(running)
    finally:
        for worker in workers:
            worker.stop()
        threads.shutdown(wait=True, cancel_futures=True)


def _finished(running: dict[Future[Any], _Sent]) -> Iterator[tuple[_Sent, Any]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=lambda one: running[one].place):
        yield running.pop(future), future.result()


class _Worker:
    """One process, started when first needed and again after it died."""

    def __init__(self, function: Callable[[Any], Any], settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._function = (function.__module__, function.__qualname__)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def call(self, item: Any, timeout: float | None) -> Any:
        """Return the result of one item, or a Crash."""
        process = self._started()
        alarm = threading.Event()

        def end() -> None:
            alarm.set()
            process.kill()

        timer = threading.Timer(timeout or 0.0, end)
        try:
            if timeout is not None:
                timer.start()
            write_frame(process.stdin, item)
            return read_frame(process.stdout)
        except (EOFError, OSError):
            code = process.wait()
            self._close()
            return Crash(f"took longer than {timeout:g} s") if alarm.is_set() else _crash_of(code)
        finally:
            timer.cancel()

    def stop(self) -> None:
        """End the process; whatever it was doing is lost."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        """Let go of a process that has ended."""
        process, self._process = self._process, None
        for stream in (process.stdin, process.stdout) if process is not None else ():
            if stream is not None:
                # What was still to be written has nobody to read it.
                with contextlib.suppress(OSError):
                    stream.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            if self._stopped:
                raise EOFError
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-c", _START, *self._function],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={
                    **self._settings,
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
                },
            )
        return self._process


def _crash_of(code: int) -> Crash:
    """Return the crash that an exit code of a worker stands for."""
    if code >= 0:
        return Crash(f"its worker process ended with exit code {code}", died=True)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    if name == "SIGKILL":
        return Crash(_KILLED, lacked_memory=True, died=True)
    return Crash(f"its worker process crashed ({name})", died=True)
