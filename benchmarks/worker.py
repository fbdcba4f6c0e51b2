"""The process in which one tool runs: requests in as JSON lines, timings out as JSON lines, arrays in .npy files.

`python -m benchmarks.worker KIND TOOL THREADS`, in the environment that has the tool. Only the tool's call is timed:
imports, loading, conversion and a warm-up on a tiny input come before. Whatever the tool prints goes to stderr.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks.tools import CATALOGS, Call, Case, Files, Input, Pair, Tool

#: Every way in which the libraries beneath the tools are told how many threads to use.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
    "SEGAUGE_NUM_THREADS",
)


def main() -> None:
    """Serve requests until stdin ends."""
    kind, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers = _claim_stdout()
    tool = CATALOGS[kind][name]
    if tool.pinned:
        _hold_to_cores(threads)
    try:
        _warm_up(kind, tool, threads)
        _answer(answers, {"version": importlib.metadata.version(tool.distribution)})
    except Exception as error:  # a peer may fail in any way; its row says how
        _answer(answers, {"error": _in_words(error)})
        return
    for line in sys.stdin:
        request = json.loads(line)
        try:
            _answer(answers, _serve(kind, tool, threads, request))
        except Exception as error:  # as above: one structure's failure is that structure's row
            _answer(answers, {"error": _in_words(error)})
        gc.collect()


def _claim_stdout() -> TextIO:
    """Keep the real stdout for answers and send all other output to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _answer(answers: TextIO, content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def _hold_to_cores(count: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def _warm_up(kind: str, tool: Tool, threads: int) -> None:
    """Import the tool and let it build what it builds once, on a cube of 64 voxels."""
    if kind == "files":
        tool.prepare(Files(()), threads)()
        return
    cube = np.zeros((8, 8, 8), dtype=np.uint8)
    cube[2:6, 2:6, 2:6] = 1
    shifted = np.roll(cube, 1, axis=0)
    tiny: Input = Pair(cube > 0, shifted > 0, (1.0, 1.0, 1.0), 1.0)
    if kind == "case":
        tiny = Case(cube, shifted, (1.0, 1.0, 1.0), 1.0, {"cube": (1,)})
    tool.values(tool.prepare(tiny, threads)())


def _serve(kind: str, tool: Tool, threads: int, request: Mapping[str, Any]) -> dict[str, Any]:
    call = tool.prepare(_load(kind, request), threads)
    seconds, cpu_seconds, result = _time(
        call, int(request["repeats"]), float(request.get("least_s", 0.0)), float(request["budget_s"])
    )
    values = tool.values(result)
    if strange := [f"{key} = {value}" for key, value in values.items() if not math.isfinite(value)]:
        return {"error": f"answered {', '.join(strange)}"}
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "values": values,
        "peak_rss_bytes": peak_rss_bytes(),
    }


def _load(kind: str, request: Mapping[str, Any]) -> Input:
    if kind == "files":
        return Files(tuple(Path(path) for path in request["paths"]))
    pred, gt = (np.load(request[side], allow_pickle=False) for side in ("pred", "gt"))
    spacing, tolerance = tuple(map(float, request["spacing"])), float(request["tolerance_mm"])
    if kind == "pair":
        return Pair(pred, gt, spacing, tolerance)
    structures = {name: tuple(labels) for name, labels in request["structures"].items()}
    return Case(pred, gt, spacing, tolerance, structures)


def _time(call: Call, repeats: int, least_s: float, budget_s: float) -> tuple[list[float], list[float], Any]:
    """Return wall and processor seconds of each repetition; no further one starts once the budget is spent.

    Short calls are repeated for `least_s`: a handful of a millisecond each would say how the machine woke up.
    """
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    result = None
    while not seconds or (sum(seconds) < budget_s and (len(seconds) < repeats or sum(seconds) < least_s)):
        result = None  # release the previous one before the next is made
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        seconds.append(time.perf_counter() - wall)
        cpu_seconds.append(time.process_time() - cpu)
    return seconds, cpu_seconds, result


def peak_rss_bytes() -> int:
    """Return the most memory this process has held, or 0 where the system does not tell.

    Not `ru_maxrss`: a process started from a large one inherits the large one's peak there.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    for line in status.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
