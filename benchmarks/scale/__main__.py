"""`python -m benchmarks.scale`: a thousand small cases with one worker, two, and dask; and one run that is killed.

Prints Markdown. Exit code 1 where something is not as promised.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.scale.dataset import GRID, scene_of, write_cases
from benchmarks.scale.findings import Findings, findings
from benchmarks.tables import MISSING, markdown_table, three_digits

PROJECT = Path(__file__).resolve().parents[2]
RUNS = {
    "in this process": ("serial", 1),
    "1 worker": ("processes", 1),
    "2 workers": ("processes", 2),
    "dask, 2 workers": ("dask", 2),
}


@dataclass(frozen=True)
class Resumed:
    """A run that was killed and started again.

    Attributes:
        kept: cases that were on disk when it was killed.
        cases: how many there are.
        killed_s, resumed_s, whole_s: seconds until the kill, of the second start, and of a run that is left alone.
        same: whether the result file is the same, byte for byte.

    """

    kept: int
    cases: int
    killed_s: float
    resumed_s: float
    whole_s: float
    same: bool


def command(folder: Path, out: Path, executor: str, jobs: int, *more: str) -> list[str]:
    """Return the command of one run."""
    module = [sys.executable, "-m", "benchmarks.scale.run", str(folder), str(out)]
    return [*module, "--executor", executor, "--jobs", str(jobs), *more]


def run(folder: Path, name: str, *more: str) -> dict[str, Any]:
    """Run once and return what was seen."""
    out = folder / "seen.json"
    subprocess.run(command(folder, out, *RUNS[name], *more), cwd=PROJECT, check=True)
    seen: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return seen


def kept_cases(cache: Path) -> int:
    """Return how many finished cases a cache holds."""
    return sum(path.read_bytes().count(b"\n") for path in cache.rglob("*.jsonl")) if cache.is_dir() else 0


def killed_and_resumed(folder: Path, cases: int) -> Resumed:
    """Kill a run without warning when half of it is done, start it again, and compare with one that was left alone."""
    cache, whole, again = folder / "cache", folder / "whole.json", folder / "again.json"
    whole_s = run(folder, "2 workers", "--cache", str(folder / "other"), "--result", str(whole))["seconds"]
    start = time.perf_counter()
    first = subprocess.Popen(
        command(folder, folder / "seen.json", *RUNS["2 workers"], "--cache", str(cache)),
        cwd=PROJECT,
        start_new_session=True,
    )
    while first.poll() is None and kept_cases(cache) < cases // 2:
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    killed_s, kept = time.perf_counter() - start, kept_cases(cache)
    resumed_s = run(folder, "2 workers", "--cache", str(cache), "--result", str(again))["seconds"]
    return Resumed(kept, cases, killed_s, resumed_s, whole_s, whole.read_bytes() == again.read_bytes())


def as_markdown(found: list[Findings], resumed: Resumed | None) -> str:
    """Return the tables, and what is not as promised."""
    header = (
        "run",
        "s",
        "cases/s",
        "2nd half / 1st",
        "by the clock",
        "process MB",
        "growth MB/1000",
        "workers MB",
        "growth MB/1000",
    )
    rows = [
        (
            one.name,
            three_digits(one.seconds),
            three_digits(one.per_second),
            f"{one.halves:.2f}",
            f"{one.clock_halves:.2f}",
            f"{one.parent_mb:.0f}",
            _growth(one.parent_growth_mb),
            f"{one.workers_mb:.0f}",
            _growth(one.workers_growth_mb),
        )
        for one in found
    ]
    size = "x".join(map(str, GRID.shape))
    organs = len(scene_of(0).organs)
    head = f"{found[0].cases} cases of {size} voxels, {organs} structures; {platform.machine()}, {os.cpu_count()} cores"
    parts = [head, markdown_table(header, rows)]
    if resumed is not None:
        parts.append(
            f"Killed after {resumed.killed_s:.1f} s with {resumed.kept} of {resumed.cases} cases on disk; the same "
            f"command then took {resumed.resumed_s:.1f} s (a whole run: {resumed.whole_s:.1f} s), and its result is "
            f"{'the same, byte for byte' if resumed.same else 'ANOTHER ONE'}."
        )
    parts += [f"FAIL {one.name}: {words}" for one in found for words in one.complaints]
    return "\n\n".join(parts)


def _growth(megabytes: float | None) -> str:
    return MISSING if megabytes is None else f"{megabytes:+.1f}"


def main() -> int:
    """Run everything, print it, and say by the exit code whether it is as promised."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS), help="which (default: all)")
    parser.add_argument("--no-kill", action="store_true", help="without the run that is killed")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep every number as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        write_cases(folder, args.cases)
        seen = {name: run(folder, name) for name in args.runs}
        resumed = None if args.no_kill else killed_and_resumed(folder, args.cases)
    found = [findings(name, one) for name, one in seen.items()]
    if args.out is not None:
        kept = {"runs": seen, "resumed": None if resumed is None else asdict(resumed)}
        args.out.write_text(json.dumps(kept), encoding="utf-8")
    print(as_markdown(found, resumed))
    return int(any(one.complaints for one in found) or (resumed is not None and not resumed.same))


if __name__ == "__main__":
    raise SystemExit(main())
