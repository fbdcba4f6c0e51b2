"""Runs the benchmarks and rewrites benchmarks/results.md, docs/benchmarks.md and docs/comparison.md: `make bench`.

    python -m benchmarks.publish [--parts speed,scale,accuracy,coverage] [--quick] [--any-load] [--out FILE]

Each part of results.md is between two marks, `<!-- begin: PART -->` and `<!-- end: PART -->`; only what was measured is
replaced, with the command that made it and the machine it ran on. `benchmarks.digest` then makes the page for readers.
Times are not measured on a busy machine: where other programs keep more than 2 processors busy, the parts on speed and
scale stay as they are, and the exit code is 3. `--quick` runs everything on little data and writes to build/.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import digest
from benchmarks.accuracy.promises import OTHERS, SMOOTH
from benchmarks.accuracy.surfaces import Answer
from benchmarks.accuracy_summary import compare, promises, summarise
from benchmarks.digest import DETAILS, replaced
from benchmarks.machine import describe_machine

PROJECT = Path(__file__).resolve().parents[1]
COMPARISON = PROJECT / "docs" / "comparison.md"
QUICK_PAGE = PROJECT / "build" / "benchmarks-quick.md"

#: Processors that others keep busy (load of the last minute), above which times are not published.
MOST_LOAD = 2.0
#: Parts that take times.
TIMED = frozenset({"speed", "scale"})
#: Exit code where a part was left as it is.
LEFT_OUT = 3


@dataclass(frozen=True)
class Run:
    """One program of a part.

    Attributes:
        title: heading of its section.
        full: arguments after `python`; `{out}` is a file that it writes and its section is made from.
        quick: those of a quick try.
        show: makes the section of what it printed and of that file.
        compare: makes the comparison with other packages of that file, if it is the one that has it.
        accepted: exit codes with which it has done its work; 1 may say, as its text does, that a promise was not kept.

    """

    title: str
    full: tuple[str, ...]
    quick: tuple[str, ...]
    show: Callable[[str, Path], str]
    compare: Callable[[Path], str] | None = None
    accepted: tuple[int, ...] = (0,)

    def arguments(self, *, quick: bool) -> list[str]:
        """Return what follows `python`."""
        return list(self.quick if quick else self.full)


def _as_text(printed: str, out: Path) -> str:
    """Return what a program printed, as it is."""
    del out
    return f"```text\n{printed.strip()}\n```"


def _as_markdown(printed: str, out: Path) -> str:
    """Return the Markdown that a program printed, without its title and with its headings two levels down."""
    del out
    text = re.sub(r"\A\s*# .*\n", "", printed)
    return re.sub(r"^(#+) ", r"##\1 ", text, flags=re.MULTILINE).strip()


def _as_summary(printed: str, out: Path) -> str:
    """Return the errors of all tools over all pairs, in three tables."""
    del printed
    return summarise(_answers(out))


def _as_promises(printed: str, out: Path) -> str:
    """Return what the sub-voxel surface promises, whether it was kept, and its errors by shape and spacing."""
    del printed
    return promises(_answers(out))


def _comparison(out: Path) -> str:
    """Return the comparison with other packages."""
    return compare(_answers(out))


def _answers(out: Path) -> list[Answer]:
    content = json.loads(out.read_text(encoding="utf-8"))
    return [Answer(**{**answer, "spacing": tuple(answer["spacing"])}) for answer in content]


_SURFACES = ("-m", "benchmarks.accuracy.surfaces")
#: What is done in a quarter of an hour; all packages on the 28 structures of tcia-21 take another hour.
_IN_TIME = ("--pairs", "kits-2,kits-66,totalseg-120,phantoms,scaling", "--peers", "surface-distance,monai")
#: Judged on pairs that no constant was tuned on, of lesions more, because these differ most from each other; of the
#: packages, those that are nearest to the truth.
_JUDGED = (*_SURFACES, "--set", "judged", "--shapes", ",".join((*SMOOTH, *OTHERS)), "--out", "{out}")
_NEAREST = "surface-distance,monai,medpy"
_ORGANS = ("-m", "benchmarks.accuracy.organs")
_SPEED = ("-m", "benchmarks.speed.measure")
_FOLDER = ("-m", "benchmarks.speed.folder")
_SUBVOXEL = ("-m", "benchmarks.speed.subvoxel")
_SCALE = ("-m", "benchmarks.scale")
_INTERVALS = ("benchmarks/coverage/intervals.py",)
_PAIRS = ("benchmarks/coverage/all_pairs.py",)
_RANKS = ("benchmarks/coverage/phantom_ranks.py",)

#: The parts of the results.
PARTS: Mapping[str, tuple[Run, ...]] = {
    "speed": (
        Run("Masks in memory", (*_SPEED, *_IN_TIME), (*_SPEED, "--quick"), _as_markdown),
        Run("From files to scores", _FOLDER, (*_FOLDER, "--cases", "2"), _as_text),
        Run(
            "The sub-voxel surface beside marching cubes",
            _SUBVOXEL,
            (*_SUBVOXEL, "--pairs", "phantoms", "--rounds", "1"),
            _as_markdown,
        ),
    ),
    "scale": (Run("A thousand cases", _SCALE, (*_SCALE, "--cases", "8"), _as_markdown, accepted=(0, 1)),),
    "accuracy": (
        Run(
            "Distance from the truth",
            (*_SURFACES, "--out", "{out}"),
            (*_SURFACES, "--pairs", "1", "--shapes", "ball,box", "--peers", "surface-distance", "--out", "{out}"),
            _as_summary,
            _comparison,
        ),
        Run(
            "Promises of the sub-voxel surface",
            (*_JUDGED, "--pairs", "30,lesion=200", "--peers", _NEAREST),
            (*_JUDGED, "--pairs", "1", "--peers", "none"),
            _as_promises,
        ),
        Run(
            "Readers' organs",
            (*_ORGANS, "--organs", "18"),
            (*_ORGANS, "--organs", "1", "--offsets", "1", "--peers", "surface-distance"),
            _as_markdown,
        ),
    ),
    "coverage": (
        Run(
            "Intervals of a mean",
            (*_INTERVALS, "--every", "6"),
            (*_INTERVALS, "--quick", "--every", "60", "--replicates", "10"),
            _as_text,
        ),
        Run(
            "All pairs, and rank sets",
            (*_PAIRS, "--every", "3", "--replicates", "10"),
            (*_PAIRS, "--every", "18", "--replicates", "1"),
            _as_text,
        ),
        Run(
            "Rank sets of the phantom benchmark",
            (*_RANKS, "--pool", "40", "--repeats", "100"),
            (*_RANKS, "--pool", "3", "--cases", "3", "--repeats", "2"),
            _as_text,
        ),
    ),
}


def measure(part: str, *, quick: bool) -> tuple[str, str]:
    """Run the programs of a part one after another; return its text, and the comparison if it has one."""
    before = os.getloadavg()[0]
    sections, comparison = [], ""
    for run in PARTS[part]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            command = [word.format(out=out) for word in run.arguments(quick=quick)]
            shown = " ".join(["python", *run.arguments(quick=quick)]).replace("{out}", "out.json")
            print(f"... {shown}", flush=True)
            sections.append(f"### {run.title}\n\nMade by `{shown}`.\n\n{run.show(_output(command, run.accepted), out)}")
            comparison = comparison if run.compare is None else run.compare(out)
    return "\n\n".join([describe_machine(before), *sections]), comparison


def _output(command: Sequence[str], accepted: Sequence[int]) -> str:
    """Return what a program prints; what it says on the error stream goes to ours."""
    # One thread for the linear algebra of every side: the speed part gives threads to whom it means to.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT)}
    ended = subprocess.run(
        [sys.executable, *command], cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if ended.returncode not in accepted:
        raise SystemExit(f"python {' '.join(command)} ended with exit code {ended.returncode}")
    return "\n".join(line for line in ended.stdout.splitlines() if not line.startswith("... "))


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.publish", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="on little data, to see that everything runs")
    parser.add_argument("--any-load", action="store_true", help="take times on a busy machine, too")
    parser.add_argument("--out", type=Path, help="the page to write (default: benchmarks/results.md)")
    given = parser.parse_args(arguments)
    parts = given.parts.split(",")
    if unknown := sorted(set(parts) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    target = given.out or (QUICK_PAGE if given.quick else DETAILS)
    # Asked before anything runs: later the load would be our own.
    too_busy = os.getloadavg()[0] > MOST_LOAD and not given.any_load
    page = DETAILS.read_text(encoding="utf-8")
    for part in parts:
        if part in TIMED and too_busy:
            print(
                f"{part}: left as it was, the load is {os.getloadavg()[0]:.1f} (at most {MOST_LOAD:g}, or --any-load)"
            )
            continue
        text, comparison = measure(part, quick=given.quick)
        page = replaced(page, part, text)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
        if comparison and target == DETAILS:
            before = COMPARISON.read_text(encoding="utf-8")
            COMPARISON.write_text(replaced(before, "comparison", comparison), encoding="utf-8")
    if target == DETAILS:
        digest.write()
    print(f"written: {target}")
    return LEFT_OUT if too_busy and not TIMED.isdisjoint(parts) else 0


if __name__ == "__main__":
    sys.exit(main())
