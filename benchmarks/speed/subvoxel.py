"""How much longer the sub-voxel surface takes than marching cubes: in turns, processor time of one thread.

`python -m benchmarks.speed.subvoxel [--pairs phantoms,kits-66,...] [--rounds 9]`

Whole cases by `measure()`, and single structures by `surface_metrics()`. Those of real cases are cut to their boxes,
and have 30 voxels or more: what takes longest on fewer is neither surface.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.inputs import CASES, case_folder, cropped_pair, load_case, phantom_case
from benchmarks.phantom_pairs import phantom_pair
from benchmarks.tables import markdown_table, times
from benchmarks.tools import Case, Pair
from benchmarks.verdicts import Verdict
from segauge import Grid, Labeling, LabelMap, measure, surface_metrics
from segauge.geometry.patterns import SurfaceKind
from segauge.phantoms import Ball, Ellipsoid, Tube

#: How many times that of marching cubes its time may be.
MOST = 3.0
LEAST_VOXELS = 30
#: How long each of the two is repeated within a turn, so that short calls are met warm as often as long ones.
TURN_S = 0.02

_SHIFT = (0.7, -0.4, 0.9)
SOLIDS = {
    "ball of 20 mm": (Ball((0.0, 0.0, 0.0), 20.0), (1.0, 1.0, 1.0)),
    "ball of 60 mm": (Ball((0.0, 0.0, 0.0), 60.0), (1.0, 1.0, 1.0)),
    "ellipsoid, thick slices": (Ellipsoid((0.0, 0.0, 0.0), (40.0, 30.0, 50.0)), (0.8, 0.8, 5.0)),
    "tube of 4 mm": (Tube(((0.0, 0.0, 0.0), (60.0, 40.0, 50.0)), 4.0), (0.7, 0.7, 1.25)),
}
PHANTOMS = "phantoms"
PAIRS = (PHANTOMS, "kits-66", "tcia-21", "totalseg-120")


#: Measures something between the surfaces of one kind.
Measuring = Callable[[SurfaceKind], object]
#: Of a whole case, in the place of a structure.
ALL = "all structures"


@dataclass(frozen=True)
class Cost:
    """Seconds that one call takes between the surfaces of a structure, or of all structures of a case."""

    case: str
    structure: str
    marching_cubes: float
    subvoxel: float

    @property
    def ratio(self) -> float:
        """How many times as long the sub-voxel surface takes."""
        return self.subvoxel / self.marching_cubes


def take_turns(jobs: Mapping[tuple[str, str], Measuring], rounds: int) -> list[Cost]:
    """Return the least times of several rounds over all jobs, by case and structure.

    What disturbs a machine for seconds disturbs the turns of one structure within one round, not all of them.
    """
    least = dict.fromkeys(jobs, (math.inf, math.inf))
    for number in range(rounds):
        print(f"... round {number + 1} of {rounds}", flush=True)
        for key, job in jobs.items():
            cubes, ours = least[key]
            least[key] = min(cubes, _seconds(job, "marching-cubes")), min(ours, _seconds(job, "subvoxel"))
    return [Cost(*key, *seconds) for key, seconds in least.items()]


def _seconds(job: Measuring, surface: SurfaceKind) -> float:
    """Return the least time of a call within a turn; the first one, which makes room in the caches, does not count."""
    found = []
    end = time.process_time() + TURN_S
    while len(found) < 2 or time.process_time() < end:
        start = time.process_time()
        job(surface)
        found.append(time.process_time() - start)
    return min(found[1:])


def _jobs_of(name: str) -> Iterator[tuple[str, Measuring]]:
    """Yield what is measured of a case, by structure: all of them at once, and each by itself."""
    if name == PHANTOMS:
        yield ALL, _measuring_case(phantom_case())
        for solid_name, (solid, spacing) in SOLIDS.items():
            yield solid_name, _measuring_pair(phantom_pair(solid.shifted(_SHIFT), solid, spacing))
        return
    folder = case_folder()
    if folder is None or importlib.util.find_spec("nibabel") is None:
        return
    case = load_case(CASES[name], folder)
    yield ALL, _measuring_case(case)
    for structure, labels in {**CASES[name].structures, **CASES[name].regions}.items():
        pair = cropped_pair(case, labels)
        if pair is not None and min(pair.pred.sum(), pair.gt.sum()) >= LEAST_VOXELS:
            yield structure, _measuring_pair(pair)


def _measuring_pair(pair: Pair) -> Measuring:
    return lambda surface: surface_metrics(pair.pred, pair.gt, pair.spacing, surface=surface, threads=1)


def _measuring_case(case: Case) -> Measuring:
    grid, labeling = Grid.from_spacing(case.gt.shape, case.spacing), Labeling.of(case.structures)
    pred, gt = LabelMap((case.pred,), grid), LabelMap((case.gt,), grid)
    return lambda surface: measure(pred, gt, labeling, surface=surface, threads=1)


def judge(costs: Sequence[Cost]) -> list[Verdict]:
    """Return the verdict on whole cases, then those on the single structures of every case."""
    whole = [cost for cost in costs if cost.structure == ALL]
    single = [cost for cost in costs if cost.structure != ALL]
    cases = dict.fromkeys(cost.case for cost in single)
    return [
        *([_judge_costs(ALL + " of a case", whole, lambda cost: cost.case)] if whole else []),
        *(_judge_costs(f"{case}, one by one", [c for c in single if c.case == case], _structure) for case in cases),
    ]


def _structure(cost: Cost) -> str:
    return cost.structure


def _judge_costs(what: str, costs: Sequence[Cost], name: Callable[[Cost], str]) -> Verdict:
    longest = max(costs, key=lambda cost: cost.ratio)
    median = times(statistics.median(cost.ratio for cost in costs))
    above = sum(cost.ratio > MOST for cost in costs)
    evidence = f"longest {times(longest.ratio)} ({name(longest)}), median {median}, n = {len(costs)}, {above} above"
    return Verdict(f"{what}: at most {MOST:g} times the time of marching cubes", above == 0, evidence)


def _row(cost: Cost) -> list[str]:
    return [
        f"{cost.case}: {cost.structure}",
        f"{1e3 * cost.marching_cubes:.2f}",
        f"{1e3 * cost.subvoxel:.2f}",
        times(cost.ratio),
    ]


def _shown(costs: Sequence[Cost]) -> list[Cost]:
    """Return the costs that the table has room for: whole cases, phantoms, and of a case the longest and shortest."""
    shown = [cost for cost in costs if cost.structure == ALL]
    single = [cost for cost in costs if cost.structure != ALL]
    for case in dict.fromkeys(cost.case for cost in costs):
        ordered = sorted((cost for cost in single if cost.case == case), key=lambda cost: -cost.ratio)
        shown += ordered if len(ordered) <= 8 else [*ordered[:4], *ordered[-4:]]
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure in turns, print times, their ratios, and whether the promise is kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.subvoxel", description=__doc__)
    parser.add_argument("--pairs", default=",".join(PAIRS), help="cases by name, and phantoms")
    parser.add_argument("--rounds", type=int, default=9, help="over all structures; the least time of all counts")
    chosen = parser.parse_args(arguments)
    jobs: dict[tuple[str, str], Measuring] = {}
    for case in chosen.pairs.split(","):
        found = {(case, structure): job for structure, job in _jobs_of(case)}
        if not found:
            print(f"{case}: left out, needs nibabel and the data in ../shared\n")
        jobs |= found
    costs = take_turns(jobs, chosen.rounds)
    print("# The sub-voxel surface beside marching cubes\n")
    print(
        markdown_table(["structure", "marching cubes, ms", "sub-voxel, ms", "ratio"], [_row(c) for c in _shown(costs)])
    )
    print()
    print("\n".join(f"- {verdict}" for verdict in judge(costs)))


if __name__ == "__main__":
    main()
