"""Speed of our measuring core and of the peers, on the same arrays, in one run.

`python -m benchmarks.speed.measure [--quick] [--peers all|none|a,b] [--pairs a,b] [--cache] [--out file.json]`
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs import CASES, CaseFiles, case_folder, cropped_pair, load_case, phantom_case, whole_pair
from benchmarks.phantom_pairs import phantom_pair
from benchmarks.runner import Effort, Runner
from benchmarks.speed.report import describe
from benchmarks.speed.results import (
    OURS,
    OURS_AGAIN,
    OURS_ALL,
    READ_ONCE,
    CaseResult,
    ScalingResult,
    SpeedRun,
    StructureResult,
)
from benchmarks.speed.scaling import time_by_distance, time_by_image, time_by_radius
from benchmarks.tools import CASE_TOOLS, PAIR_TOOLS, Case, Files, Pair
from segauge.phantoms import Ball, Ellipsoid, Phantom, Torus, Tube

#: Peers that cut a whole image down to the structure by themselves.
SELF_CROPPING = ("surface-distance", "monai")
PEERS = tuple(name for name, tool in PAIR_TOOLS.items() if tool.environment != "own")
#: Those that take tens of seconds for a structure on whole arrays: not looped over many labels.
SLOW_ON_WHOLE_ARRAYS = ("monai",)
LOOPS = tuple(name for name, tool in CASE_TOOLS.items() if tool.environment != "own")
#: How long a short call is repeated.
LEAST_S = 0.5
SLOW_EFFORT = Effort(repeats=2, budget_s=60.0, timeout_s=1800.0)


@dataclass(frozen=True)
class Selection:
    """What a run covers: the peers, the pairs by name ("phantoms" and "scaling" among them), and how large."""

    peers: tuple[str, ...]
    pairs: tuple[str, ...]
    quick: bool = False


def run(selection: Selection, runner: Runner) -> SpeedRun:
    """Measure everything that was selected; what cannot be measured is listed with its reason."""
    left_out: list[str] = []
    structures: list[StructureResult] = []
    cases: list[CaseResult] = []
    folder = case_folder()
    for name in (name for name in selection.pairs if name in CASES):
        if folder is None:
            left_out.append(f"{name}: needs the data in ../shared (or in the folder that SEGAUGE_SHARED names)")
        elif importlib.util.find_spec("nibabel") is None:
            left_out.append(f"{name}: needs nibabel to read it (pip install nibabel)")
        else:
            case = load_case(CASES[name], folder)
            structures += _structures_of(CASES[name], case, selection, runner, left_out)
            loops = chosen_loops(selection.peers, many_labels=not CASES[name].one_by_one)
            cases.append(_whole_case(name, case, loops, runner, CASES[name].files(folder)))
    if "phantoms" in selection.pairs:
        structures += _phantoms(selection, runner)
        if not selection.quick:
            loops = chosen_loops(selection.peers, many_labels=False)
            cases.append(_whole_case("phantom abdomen", phantom_case(), loops, runner))
    scaling = _scaling(selection, runner) if "scaling" in selection.pairs else ()
    left_out += _failures(structures, cases)
    return SpeedRun(_machine(), tuple(structures), tuple(cases), scaling, tuple(left_out))


def _structures_of(
    files: CaseFiles, case: Case, selection: Selection, runner: Runner, left_out: list[str]
) -> Iterator[StructureResult]:
    if not files.one_by_one:
        return
    wanted = {**files.structures, **({} if selection.quick else files.regions)}
    for structure, labels in wanted.items():
        pair = cropped_pair(case, labels)
        if pair is None:
            left_out.append(f"{files.name} {structure}: in one of the two label maps only, no distance to measure")
            continue
        yield _structure(files.name, structure, "cropped", pair, selection.peers, runner)
        if structure in files.structures and not selection.quick:
            tools = [READ_ONCE, *(peer for peer in selection.peers if peer in SELF_CROPPING)]
            yield _structure(files.name, structure, "whole", whole_pair(case, labels), tools, runner)


def _structure(
    case: str, structure: str, arrays: str, pair: Pair, peers: Sequence[str], runner: Runner
) -> StructureResult:
    print(f"... {case} {structure}, {arrays}", flush=True)
    with runner.stored(pair) as stored:
        calls = [(OURS, 1), (OURS, 2), *((tool, 1) for tool in (OURS_AGAIN, *peers))]
        timings = runner.time_in_turns(calls, stored)
    return StructureResult(case, structure, arrays, pair.gt.shape, tuple(timings))


def chosen_loops(peers: Sequence[str], *, many_labels: bool) -> list[str]:
    """Return the peers' loops over the structures of a case to time; over many labels, not those that take minutes."""
    tools = [(name, CASE_TOOLS[name].distribution) for name in LOOPS]
    return [name for name, peer in tools if peer in peers and not (many_labels and peer in SLOW_ON_WHOLE_ARRAYS)]


def _whole_case(name: str, case: Case, loops: Sequence[str], runner: Runner, files: Files | None = None) -> CaseResult:
    """Time all structures at once; of a case in files also how long these take to read, and our peak memory.

    The label maps of a phantom are small beside the process itself, so that a share of them would say nothing.
    """
    print(f"... {name}, all structures", flush=True)
    reading, memory = [], None
    if files is not None:
        with runner.stored(files) as stored:
            reading = [runner.time(reader, stored) for reader in ("nibabel", "nibabel+isal")]
    with runner.stored(case) as stored:
        timings = [runner.time(tool, stored, threads) for tool in (OURS, OURS_AGAIN, OURS_ALL) for threads in (1, 2)]
        timings += [runner.time(loop, stored, effort=SLOW_EFFORT) for loop in loops]
        if files is not None:
            memory = runner.time_fresh(OURS, stored, threads=2)
    size = case.pred.nbytes + case.gt.nbytes
    return CaseResult(name, len(case.structures), size, tuple(timings), tuple(reading), memory)


def _phantoms(selection: Selection, runner: Runner) -> Iterator[StructureResult]:
    for name, (gt, spacing) in _phantom_solids(selection.quick).items():
        pair = phantom_pair(gt.shifted((1.3, 0.4, 0.7)), gt, spacing)
        yield _structure("phantom", name, "phantom", pair, selection.peers, runner)


def _phantom_solids(quick: bool) -> Mapping[str, tuple[Phantom, tuple[float, float, float]]]:
    middle = (0.3, 0.1, 0.2)
    cube = (1.0, 1.0, 1.0)
    solids: dict[str, tuple[Phantom, tuple[float, float, float]]] = {
        f"ball {radius} mm": (Ball(middle, float(radius)), cube) for radius in ((10,) if quick else (5, 10, 20, 40, 80))
    }
    solids["ellipsoid, thick slices"] = Ellipsoid(middle, (40.0, 30.0, 20.0)), (0.8, 0.8, 2.5)
    solids["torus"] = Torus(middle, 40.0, 10.0), cube
    solids["tube"] = Tube(((0.0, 0.0, 0.0), (120.0, 60.0, 30.0)), 4.0), cube
    return solids


def _scaling(selection: Selection, runner: Runner) -> tuple[ScalingResult, ...]:
    print("... growth", flush=True)
    radii = (8, 12, 16) if selection.quick else (10, 20, 40, 80, 120)
    sides = (72, 96, 128) if selection.quick else (96, 128, 192, 256, 384, 512)
    tools = [OURS_AGAIN, *(peer for peer in ("surface-distance",) if peer in selection.peers)]
    shifts, radius = ((1.0, 2.0, 4.0), 12) if selection.quick else ((1.0, 2.0, 4.0, 8.0, 16.0, 32.0), 40)
    return (
        *(time_by_radius(runner, tool, radii) for tool in tools),
        *(time_by_distance(runner, tool, shifts, radius) for tool in tools),
        time_by_image(runner, sides),
    )


def _failures(structures: Sequence[StructureResult], cases: Sequence[CaseResult]) -> list[str]:
    named = [(f"{result.case} {result.structure}, {result.arrays}", result.timings) for result in structures]
    for case in cases:
        memory = (case.memory,) if case.memory is not None else ()
        named.append((f"{case.case}, all structures", (*case.timings, *case.reading, *memory)))
    return [f"{name}: {timing.tool}: {timing.error}" for name, timings in named for timing in timings if timing.error]


def _machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    return f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, load at the end {load}"


def _selection(arguments: argparse.Namespace) -> Selection:
    everything = (*CASES, "phantoms", "scaling")
    quick_peers, quick_pairs = ("surface-distance",), ("kits-66", "phantoms", "scaling")
    peers = _chosen(arguments.peers, PEERS, quick_peers if arguments.quick else PEERS)
    pairs = _chosen(arguments.pairs, everything, quick_pairs if arguments.quick else everything)
    return Selection(peers, pairs, arguments.quick)


def _chosen(text: str, known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    if text in ("", "none"):
        return tuple(default) if not text else ()
    names = tuple(known) if text == "all" else tuple(text.split(","))
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"Unknown: {', '.join(unknown)}. There are {', '.join(known)}, or all, or none.")
    return names


def main(arguments: Sequence[str] | None = None) -> SpeedRun:
    """Parse the command line, measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.measure", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one case, small phantoms, surface-distance only")
    parser.add_argument("--peers", default="", help=f"comma-separated: {', '.join(PEERS)}; all, none")
    parser.add_argument(
        "--pairs", default="", help=f"comma-separated: {', '.join(CASES)}, phantoms, scaling; all, none"
    )
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each call; the best counts")
    parser.add_argument("--cache", action="store_true", help="take peers' timings on the same arrays from earlier runs")
    parser.add_argument("--out", type=Path, help="write everything that was measured to this JSON file")
    given = parser.parse_args(arguments)
    with Runner(Effort(repeats=given.repeats, least_s=LEAST_S), use_cache=given.cache) as runner:
        found = run(_selection(given), runner)
    print(describe(found))
    if given.out is not None:
        given.out.write_text(json.dumps(dataclasses.asdict(found), indent=1, allow_nan=False), encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
