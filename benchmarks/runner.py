"""Runs tools on stored inputs: workers kept open, arrays on disk while needed, timings perhaps from a cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.peers import ENVIRONMENTS, HERE, Timing, Worker
from benchmarks.tools import CATALOGS, Case, Files, Input, Pair

#: How often short calls have their turn, and what is short.
TURNS = 3
SHORT_S = 0.5

CACHE_FILE = HERE / ".cache" / "timings.json"


@dataclass(frozen=True)
class Stored:
    """An input that workers can load: what to ask them, and a hash of all its content."""

    kind: str
    request: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Effort:
    """How a call is repeated, of which the best counts.

    At least so many times and for so many seconds; when no further repetition starts, and when a call is ended.
    """

    repeats: int = 5
    least_s: float = 0.0
    budget_s: float = 5.0
    timeout_s: float = 300.0


class Runner:
    """Times tools on inputs. With `use_cache` a peer's timing on the same arrays is taken from an earlier run."""

    def __init__(self, effort: Effort, *, use_cache: bool = False) -> None:
        self.effort = effort
        self._workers: dict[tuple[str, str, int], Worker] = {}
        self._open = contextlib.ExitStack()
        self._folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="benchmark-arrays-"))
        self._use_cache = use_cache
        self._cache: dict[str, Any] = _read_cache() if use_cache else {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @contextlib.contextmanager
    def stored(self, source: Input) -> Iterator[Stored]:
        """Keep an input's arrays on disk for as long as the block runs."""
        if isinstance(source, Files):
            paths = [str(path) for path in source.paths]
            yield Stored("files", {"paths": paths}, _digest(*paths))
            return
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            yield _store(source, Path(folder))

    def time(self, tool: str, stored: Stored, threads: int = 1, effort: Effort | None = None) -> Timing:
        """Return the timing of a tool on a stored input, in this tool's long-lived worker."""
        effort = effort or self.effort
        environment = CATALOGS[stored.kind][tool].environment
        key = _cache_key(tool, environment, stored, threads)
        if self._use_cache and key in self._cache:
            return replace(Timing(**self._cache[key]), cached=True)
        timing = self._worker(stored.kind, tool, threads).time(_request(stored, effort), effort.timeout_s)
        if self._use_cache and environment != "own" and not timing.error:
            self._cache[key] = asdict(timing)
            _write_cache(self._cache)
        return timing

    def time_in_turns(self, calls: Sequence[tuple[str, int]], stored: Stored) -> list[Timing]:
        """Return the timings of several tools, each on so many threads; short calls once more, and again, in turns.

        What disturbs a machine lasts for seconds: whoever has his turn then, and no other, would seem slow.
        """
        timings = [self.time(tool, stored, threads) for tool, threads in calls]
        for _ in range(TURNS - 1):
            for i, (tool, threads) in enumerate(calls):
                best = timings[i].best_s
                if best is not None and best < SHORT_S and not timings[i].cached:
                    timings[i] = timings[i].joined(self.time(tool, stored, threads))
        return timings

    def time_fresh(self, tool: str, stored: Stored, threads: int = 1) -> Timing:
        """Return one repetition in a process of its own: its peak memory is that of this input alone."""
        with Worker(stored.kind, tool, threads) as worker:
            return worker.time(_request(stored, replace(self.effort, repeats=1, least_s=0.0)), self.effort.timeout_s)

    def _worker(self, kind: str, tool: str, threads: int) -> Worker:
        key = (kind, tool, threads)
        if key not in self._workers:
            self._workers[key] = self._open.enter_context(Worker(kind, tool, threads))
        return self._workers[key]


def _request(stored: Stored, effort: Effort) -> dict[str, Any]:
    return {**stored.request, "repeats": effort.repeats, "least_s": effort.least_s, "budget_s": effort.budget_s}


def _store(source: Pair | Case, folder: Path) -> Stored:
    request: dict[str, Any] = {"spacing": list(source.spacing), "tolerance_mm": source.tolerance_mm}
    if isinstance(source, Case):
        request["structures"] = {name: list(labels) for name, labels in source.structures.items()}
    digest = _digest(json.dumps(request), source.pred.shape, source.pred.dtype.str)
    for side, array in (("pred", source.pred), ("gt", source.gt)):
        np.save(folder / f"{side}.npy", array)
        digest = _digest(digest, hashlib.sha256(array.tobytes(order="A")).hexdigest())
    paths = {side: str(folder / f"{side}.npy") for side in ("pred", "gt")}
    return Stored("pair" if isinstance(source, Pair) else "case", {**request, **paths}, digest)


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()


def _cache_key(tool: str, environment: str, stored: Stored, threads: int) -> str:
    pins = [(HERE / name).read_text(encoding="utf-8") for name in ENVIRONMENTS.get(environment, ())]
    return _digest(stored.kind, tool, threads, stored.digest, *pins)


def _read_cache() -> dict[str, Any]:
    if not CACHE_FILE.exists():
        return {}
    content: dict[str, Any] = json.loads(CACHE_FILE.read_text(encoding="utf-8"))
    return content


def _write_cache(cache: Mapping[str, Any]) -> None:
    CACHE_FILE.parent.mkdir(parents=True, exist_ok=True)
    CACHE_FILE.write_text(json.dumps(cache), encoding="utf-8")
