"""How far each tool is from the truth: pairs of solids whose distances are known, over spacings and anisotropies.

`python -m benchmarks.accuracy.surfaces [--pairs 6] [--peers all|none|a,b] [--out file.json]`
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.phantom_pairs import phantom_pair
from benchmarks.runner import Effort, Runner
from benchmarks.tables import MISSING, markdown_table
from benchmarks.tools import PAIR_TOOLS
from segauge.errors import InvalidInput
from segauge.phantoms import Ball, Box, DistanceTruth, Ellipsoid, Phantom, Torus, Tube, distance_truth, sampled_truth

TOLERANCE_MM = 1.5
LARGEST_SHIFT_MM = 3.0
SPACINGS = ((1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (0.7, 0.7, 1.25), (0.8, 0.8, 2.5), (0.8, 0.8, 5.0))
#: Points on each surface where there is no closed form; the next metric digit shown is 0.001.
SAMPLES = 200_000

#: Our surfaces.
OURS = ("segauge", "segauge-voxel", "segauge-subvoxel")
#: Columns of the table, and the values of a tool that stand in them: a pooled HD95 is held against a pooled truth.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "HD, mm": ("hd",),
    "HD95, mm": ("hd95", "hd95_pooled"),
    "ASSD, mm": ("assd",),
    "MASD, mm": ("masd",),
    f"NSD({TOLERANCE_MM:g} mm)": ("nsd",),
}


@dataclass(frozen=True)
class Answer:
    """What one tool said of one pair, by metric, and the truth; or the reason why it said nothing."""

    shape: str
    spacing: tuple[float, ...]
    tool: str
    values: Mapping[str, float]
    truth: Mapping[str, float]
    error: str = ""

    def errors(self, column: str) -> list[float]:
        """Return the absolute error in a column of the table: one number, or none."""
        return [abs(self.values[key] - self.truth[key]) for key in COLUMNS[column] if key in self.values]


def _ball(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    radius = float(rng.uniform(14.0, 20.0))
    gt = Ball(_center(rng), radius)
    return Ball(_shifted_center(gt.center_mm, rng), radius + float(rng.uniform(-1.0, 1.0))), gt


def _large_ball(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    """Return balls of at least 8 voxels across at every spacing in use."""
    radius = float(rng.uniform(20.0, 30.0))
    gt = Ball(_center(rng), radius)
    return Ball(_shifted_center(gt.center_mm, rng), radius + float(rng.uniform(-1.0, 1.0))), gt


def _lesion(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    """Return small ellipsoids; where the slices are thick some fall between them, and the pair is left out."""
    axes = rng.uniform(1.0, 5.0, size=3)
    gt = Ellipsoid(_center(rng), tuple(axes.tolist()))
    pred = Ellipsoid(_shifted_center(gt.center_mm, rng), tuple((axes + rng.uniform(-0.5, 0.5, size=3)).tolist()))
    return pred, gt


def _vessel(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    start, end = _center(rng), tuple(rng.uniform(20.0, 35.0, size=3).tolist())
    gt = Tube((start, end), float(rng.uniform(1.0, 3.0)))
    return gt.shifted(_shift(rng)), gt


def _ellipsoid(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    axes = rng.uniform(8.0, 20.0, size=3)
    gt = Ellipsoid(_center(rng), tuple(axes.tolist()))
    pred = Ellipsoid(_shifted_center(gt.center_mm, rng), tuple((axes + rng.uniform(-1.0, 1.0, size=3)).tolist()))
    return pred, gt


def _torus(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    gt = Torus(_center(rng), float(rng.uniform(14.0, 20.0)), float(rng.uniform(5.0, 8.0)))
    return gt.shifted(_shift(rng)), gt


def _tube(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    start, end = _center(rng), tuple(rng.uniform(20.0, 35.0, size=3).tolist())
    gt = Tube((start, end), float(rng.uniform(3.0, 6.0)))
    return gt.shifted(_shift(rng)), gt


def _box(rng: np.random.Generator) -> tuple[Phantom, Phantom]:
    gt = Box(_center(rng), tuple(rng.uniform(16.0, 36.0, size=3).tolist()))
    return gt.shifted(_shift(rng)), gt


SHAPES: Mapping[str, Callable[[np.random.Generator], tuple[Phantom, Phantom]]] = {
    "ball": _ball,
    "ellipsoid": _ellipsoid,
    "torus": _torus,
    "tube": _tube,
    "box": _box,
    "large ball": _large_ball,
    "lesion": _lesion,
    "vessel": _vessel,
}


def _center(rng: np.random.Generator) -> tuple[float, ...]:
    """Return a centre whose place between the voxel centres is random, for every spacing in use."""
    return tuple(rng.uniform(-5.0, 5.0, size=3).tolist())


def _shift(rng: np.random.Generator) -> tuple[float, ...]:
    direction = rng.normal(size=3)
    length = rng.uniform(0.0, LARGEST_SHIFT_MM)
    return tuple((direction * (length / np.linalg.norm(direction))).tolist())


def _shifted_center(center: Sequence[float], rng: np.random.Generator) -> tuple[float, ...]:
    return tuple(np.add(center, _shift(rng)).tolist())


def true_values(pred: Phantom, gt: Phantom) -> dict[str, float]:
    """Return every metric of two solids, in closed form where there is one, else from dense exact samples."""
    truth = _truth(pred, gt)
    return {
        "hd": truth.hd(),
        "hd95": truth.hd_percentile(95.0),
        "hd95_pooled": truth.hd_percentile(95.0, pooled=True),
        "assd": truth.assd(),
        "masd": truth.masd(),
        "nsd": truth.nsd(TOLERANCE_MM),
    }


def _truth(pred: Phantom, gt: Phantom) -> DistanceTruth:
    try:
        return distance_truth(pred, gt)
    except InvalidInput:
        return sampled_truth(pred, gt, SAMPLES)


def ask(
    runner: Runner, tools: Sequence[str], shapes: Sequence[str], spacings: Sequence[tuple[float, ...]], pairs: int
) -> Iterator[Answer]:
    """Let every tool measure the same pairs; each pair is seeded by its name and drawn at every spacing."""
    for shape in shapes:
        for number in range(pairs):
            pred, gt = SHAPES[shape](np.random.default_rng([*shape.encode(), number]))
            truth = true_values(pred, gt)
            print(f"... {shape} {number + 1} of {pairs}", flush=True)
            for spacing in spacings:
                pair = phantom_pair(pred, gt, spacing, tolerance_mm=TOLERANCE_MM)
                if not (pair.pred.any() and pair.gt.any()):
                    continue
                with runner.stored(pair) as stored:
                    for tool in tools:
                        timing = runner.time(tool, stored)
                        yield Answer(shape, spacing, tool, timing.values, truth, timing.error)


def describe(answers: Sequence[Answer]) -> str:
    """Return the tables as Markdown: mean absolute error and its standard deviation over the pairs."""
    parts = [
        "# Distance from the truth\n\nMean absolute error ± standard deviation over the pairs; the truth is that of "
        "the solids themselves. A pooled HD95 is held against the pooled truth."
    ]
    for shape in dict.fromkeys(answer.shape for answer in answers):
        chosen = [answer for answer in answers if answer.shape == shape]
        parts.append(f"## {shape}\n\n{error_table(chosen)}")
    failures = dict.fromkeys(f"- {answer.tool}: {answer.error}" for answer in answers if answer.error)
    if failures:
        parts.append("## Failures\n\n" + "\n".join(failures))
    return "\n\n".join(parts)


def error_table(answers: Sequence[Answer]) -> str:
    """Return mean absolute error ± standard deviation by spacing, tool and metric, as Markdown."""
    rows = []
    for spacing in dict.fromkeys(answer.spacing for answer in answers):
        for tool in dict.fromkeys(answer.tool for answer in answers):
            chosen = [answer for answer in answers if answer.spacing == spacing and answer.tool == tool]
            name = f"{' x '.join(f'{edge:g}' for edge in spacing)}: {tool}"
            rows.append([name, str(len(chosen)), *(_cell(chosen, column) for column in COLUMNS)])
    return markdown_table(["spacing, mm: tool", "pairs", *COLUMNS], rows)


def _cell(answers: Sequence[Answer], column: str) -> str:
    errors = [error for answer in answers for error in answer.errors(column)]
    if not errors:
        return MISSING
    return f"{statistics.fmean(errors):.3f} ± {statistics.pstdev(errors):.3f}"


def main(arguments: Sequence[str] | None = None) -> list[Answer]:
    """Parse the command line, ask all tools, print and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.surfaces", description=__doc__)
    parser.add_argument("--pairs", type=int, default=6, help="pairs of each shape, drawn at every spacing")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated shapes")
    parser.add_argument("--peers", default="all", help="comma-separated; all, none")
    parser.add_argument("--out", type=Path, help="write answers to this JSON file and the tables beside it as .md")
    given = parser.parse_args(arguments)
    with Runner(Effort(repeats=1)) as runner:
        answers = list(ask(runner, tools_asked_for(given.peers), given.shapes.split(","), SPACINGS, given.pairs))
    text = describe(answers)
    print(text)
    if given.out is not None:
        content = [dataclasses.asdict(answer) for answer in answers]
        given.out.write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
        given.out.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    return answers


def tools_asked_for(peers: str) -> list[str]:
    """Return our surfaces and the peers that a command line names."""
    known = [name for name, tool in PAIR_TOOLS.items() if tool.environment != "own"]
    wanted = {"all": known, "none": []}.get(peers, peers.split(","))
    if unknown := sorted(set(wanted) - set(known)):
        raise SystemExit(f"Unknown: {', '.join(unknown)}. There are {', '.join(known)}, or all, or none.")
    return [*OURS, *wanted]


if __name__ == "__main__":
    main()
