"""The record of a Touchstone-size run: how long it takes to write, load, analyse and render, and with how much memory.

    python benchmarks/records/touchstone_size.py [--cases 6933] [--models 19] [--structures 9] [--resamples 2000]

Asked for: 2 minutes and 4 GB in all. Seconds of the processor and of the clock: on a busy machine the clock says more
about the others. The peak is that of this process; a worker takes 0.7 GB for a hundred models on 7,000 cases. For the
largest site that is planned for, 120 structures of that size (84 million cells, two metrics):

    python benchmarks/records/touchstone_size.py --cases 7000 --models 100 --structures 120 --resamples 200 --keep site

`--keep` leaves record and pages in a folder, to be looked at. The largest pages and the memory of a worker do not
depend on the number of structures.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from segauge import ScoreTable, Status
from segbench.boards import make_leaderboard
from segbench.cards import DatasetCard, Exposure, ExposureLevel, ModelCard
from segbench.records import CaseInfo, ModelEntry, RunRecord, load_record, save_record
from segbench.site import render


def made_up_record(cases: int, models: int, structures: int, resamples: int, seed: int = 0) -> RunRecord:
    """Return a record with scores as they look: correlated between models, some organs absent, some cases missed."""
    rng = np.random.default_rng(seed)
    ids = tuple(f"case_{i:05d}" for i in range(cases))
    names = tuple(f"organ {j + 1}" for j in range(structures))
    difficulty = rng.beta(6, 1.2, size=(cases, structures, 1))
    absent = rng.random((cases, structures)) < 0.3
    tables = {}
    for m in range(models):
        skill = 0.99 - 0.01 * m
        values = np.clip(difficulty * skill + rng.normal(0, 0.02, (cases, structures, 2)), 0.001, 1.0)
        missed = rng.random((cases, structures)) < 0.02
        values[missed] = 0.0
        values[absent] = np.nan
        status = np.full((cases, structures), Status.PRESENT, dtype=object)
        status[missed] = Status.MISSED
        status[absent] = Status.ABSENT
        tables[f"model {m + 1}"] = ScoreTable(ids, names, ("dice", "nsd"), values, status)
    entries = tuple(
        ModelEntry(ModelCard(name), Exposure(name, "made-up", ExposureLevel.NONE, "made up"), True) for name in tables
    )
    return RunRecord(
        DatasetCard("made-up", structures={name: (j + 1,) for j, name in enumerate(names)}, lineage=()),
        tuple(CaseInfo(case) for case in ids),
        entries,
        names,
        ("dice", "nsd"),
        tables,
        {"written": {}, "resolved": {"n_resamples": resamples}},
    )


def _processor_seconds() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _sizes(site: Path) -> str:
    """Return how large the pages are that a visitor loads."""
    pages = sorted(site.rglob("*.html"), key=lambda page: -page.stat().st_size)
    total = sum(page.stat().st_size for page in site.rglob("*") if page.is_file())
    downloads = sum(file.stat().st_size for file in (site / "downloads").iterdir())
    front = (site / "index.html").stat().st_size
    return (
        f"{len(pages)}, {total / 1e6:.0f} MB with the downloads ({downloads / 1e6:.0f} MB); front page "
        f"{front / 1e6:.2f} MB, largest {pages[0].relative_to(site)} {pages[0].stat().st_size / 1e6:.2f} MB"
    )


def main() -> None:
    """Print one line per step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("cases", 6933), ("models", 19), ("structures", 9), ("resamples", 2000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write record and pages here, and leave them")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        measure(made_up_record(args.cases, args.models, args.structures, args.resamples), folder, args.jobs)


def _progress(what: str, done: int, total: int) -> None:
    print(f"[{done}/{total}] {what}", file=sys.stderr, flush=True)


def measure(record: RunRecord, folder: Path, jobs: int) -> None:
    """Write, load, analyse, write and render a record below a folder, and print what each step took."""
    total = np.zeros(2)
    path, site = folder / "run.json", folder / "site"

    def timed(name: str, action: Callable[[], Any]) -> Any:
        nonlocal total
        start, before = time.perf_counter(), _processor_seconds()
        result = action()
        clock, used = time.perf_counter() - start, _processor_seconds() - before
        total += np.array([used, clock])
        peak = _peak_gigabytes()
        print(f"{name:<10} {used:7.1f} s of the processor, {clock:7.1f} s, peak {peak:.2f} GB", flush=True)
        return result

    timed("write", partial(save_record, record, path))
    del record
    loaded = timed("load", lambda: load_record(path))
    analysis = timed("analyse", lambda: make_leaderboard(loaded, jobs=jobs, progress=_progress).to_dict())
    analysed = loaded.with_analysis(analysis)
    timed("write", lambda: save_record(analysed, path))
    sizes = {file.name: round(file.stat().st_size / 1e6, 1) for file in folder.iterdir() if file.is_file()}
    timed("render", lambda: render([analysed], site, jobs=jobs, progress=_progress))
    print(f"pages      {_sizes(site)}")
    print(f"total      {total[0]:7.1f} s of the processor, {total[1]:7.1f} s; files in MB: {sizes}")


if __name__ == "__main__":
    main()
