"""One run of `evaluate` in a process of its own: when each case was taken, and the memory of all.

python -m benchmarks.scale.run FOLDER OUT.json --executor processes --jobs 2 [--cache FOLDER] [--result FILE]
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from benchmarks.scale.dataset import cases_of
from segauge import Case, evaluate

#: Seconds between two looks at the memory.
INTERVAL_S = 0.2
METRICS = ("dice", "hd95", "assd", "nsd@2")


class MemoryWatch(threading.Thread):
    """Looks at the resident memory of this process and of all that it started, until it is stopped."""

    def __init__(self, start: float) -> None:
        super().__init__(daemon=True)
        self.samples: list[tuple[float, int, int]] = []
        self._start, self._over = start, threading.Event()

    def run(self) -> None:
        """Take a sample in every interval."""
        own = psutil.Process()
        while not self._over.wait(INTERVAL_S):
            workers = 0
            for child in own.children(recursive=True):
                try:
                    workers += child.memory_info().rss
                except psutil.Error:
                    continue  # it has just ended
            self.samples.append((time.perf_counter() - self._start, own.memory_info().rss, workers))

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self.join()


def watched_cases(cases: Sequence[Case], start: float, taken: list[float], processor: list[float]) -> Iterator[Case]:
    """Yield the cases and note when each is taken, by the clock and in seconds of the processor.

    A case is taken as soon as a worker is free for it.
    """
    for case in cases:
        taken.append(time.perf_counter() - start)
        processor.append(processor_seconds())
        yield case


def processor_seconds() -> float:
    """Return what this process and its workers have used so far."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        try:
            used = process.cpu_times()
        except psutil.Error:
            continue  # it has just ended
        total += used.user + used.system
    return total


def main() -> None:
    """Measure the folder and write what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--executor", default="serial")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--result", type=Path)
    args = parser.parse_args()
    cases = cases_of(args.folder)
    start = time.perf_counter()
    taken: list[float] = []
    processor: list[float] = []
    memory = MemoryWatch(start)
    memory.start()
    result = evaluate(
        watched_cases(cases, start, taken, processor),
        structures="all",
        metrics=METRICS,
        executor=args.executor,
        jobs=args.jobs,
        cache=args.cache,
    )
    seconds = time.perf_counter() - start
    memory.stop()
    if args.result is not None:
        result.to_json(args.result)
    seen = {
        "seconds": seconds,
        "taken": taken,
        "processor": processor,
        "memory": memory.samples,
        "failed": len(result.failures),
    }
    args.out.write_text(json.dumps(seen), encoding="utf-8")


if __name__ == "__main__":
    main()
