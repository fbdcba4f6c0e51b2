"""What the sub-voxel surface promises about its errors, and whether a run kept it.

A promise is about every shape at every spacing: the mean error over the judged pairs beside that of the package that is
nearest to the truth, or of marching cubes. A ratio of two means is known no better than its standard error, which is
printed with it: errors of lesions differ so much from pair to pair that 30 pairs cannot tell 0.9 from 1.1. Smooth
objects are judged where both are at least 8 voxels across their smallest diameter: below that a mask says too little of
their shape. What is small, thin or square is judged as it is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.surfaces import COLUMNS, MARCHING_CUBES, OURS, SUBVOXEL, Answer
from benchmarks.tables import three_digits
from benchmarks.verdicts import Verdict

#: Our own release before the kernel: a peer in speed, none in accuracy.
FORMER = "segauge-0.1"
SMOOTH = ("ball", "ellipsoid", "torus", "large ball", "large ellipsoid", "large torus")
OTHERS = ("tube", "vessel", "lesion", "box")
LEAST_VOXELS_ACROSS = 8.0
#: The largest error of a smooth object, as a part of that of the nearest package.
PARTS_OF_PEER: Mapping[str, float] = {"ASSD": 1 / 5, "NSD": 1 / 5, "HD95": 1 / 2}
#: The largest error of other objects, as a part of that of marching cubes.
PART_OF_MARCHING_CUBES = 1.1

Cell = tuple[str, tuple[float, ...]]


@dataclass(frozen=True, order=True)
class Ratio:
    """Our mean error as a part of another's, over the pairs of a shape at a spacing, and its standard error."""

    value: float
    error: float
    name: str
    pairs: int

    def __str__(self) -> str:
        return f"{self.name} {three_digits(self.value)} ± {three_digits(self.error)} ({self.pairs} pairs)"


def judge(answers: Sequence[Answer]) -> list[Verdict]:
    """Return the verdict on every promise."""
    return [
        *(_against_peers(answers, metric, part) for metric, part in PARTS_OF_PEER.items()),
        *(_against_marching_cubes(answers, metric) for metric in ("HD", "HD95", "ASSD", "NSD")),
    ]


def is_judged(answer: Answer) -> bool:
    """Whether a pair counts: not a smooth one that is too few voxels across."""
    across = answer.voxels_across
    return answer.shape in OTHERS or (across is not None and across >= LEAST_VOXELS_ACROSS)


def _against_peers(answers: Sequence[Answer], metric: str, part: float) -> Verdict:
    promise = (
        f"{metric} errors of smooth objects of {LEAST_VOXELS_ACROSS:g} voxels across and more at most {part:g} of "
        "those of the nearest package"
    )
    peers = {answer.tool for answer in answers} - {*OURS, FORMER}
    return _verdict(promise, _ratios(answers, metric, SMOOTH, peers), part)


def _against_marching_cubes(answers: Sequence[Answer], metric: str) -> Verdict:
    promise = (
        f"{metric} errors of tubes, vessels, lesions and boxes at most {PART_OF_MARCHING_CUBES:g} of those of marching "
        "cubes"
    )
    return _verdict(promise, _ratios(answers, metric, OTHERS, {MARCHING_CUBES}), PART_OF_MARCHING_CUBES)


def _ratios(answers: Sequence[Answer], metric: str, shapes: Sequence[str], others: set[str]) -> list[Ratio]:
    """Return for each shape and spacing our error as a part of the least of the others'."""
    column = next(name for name in COLUMNS if name.startswith((f"{metric},", f"{metric}(")))
    judged = [answer for answer in answers if answer.shape in shapes and is_judged(answer)]
    found = []
    for cell in dict.fromkeys((answer.shape, answer.spacing) for answer in judged):
        errors = {tool: _errors(judged, cell, tool, column) for tool in (SUBVOXEL, *others)}
        own = errors.pop(SUBVOXEL)
        least = min((some for some in errors.values() if some), key=statistics.fmean, default=[0.0])
        if own and statistics.fmean(least) > 0:
            value = statistics.fmean(own) / statistics.fmean(least)
            found.append(Ratio(value, _standard_error(own, least, value), _name(cell), len(own)))
    return found


def _standard_error(own: Sequence[float], others: Sequence[float], ratio: float) -> float:
    """Return the standard error of a ratio of two means; nan where there are not two errors of the same pairs."""
    if len(own) != len(others) or len(own) == 1:
        return math.nan
    spread = statistics.stdev(one - ratio * other for one, other in zip(own, others, strict=True))
    return spread / math.sqrt(len(own)) / statistics.fmean(others)


def _errors(answers: Sequence[Answer], cell: Cell, tool: str, column: str) -> list[float]:
    chosen = [answer for answer in answers if (answer.shape, answer.spacing) == cell and answer.tool == tool]
    return [error for answer in chosen for error in answer.errors(column)]


def _name(cell: Cell) -> str:
    return f"{cell[0]} at {' x '.join(f'{edge:g}' for edge in cell[1])}"


def _verdict(promise: str, ratios: Sequence[Ratio], most: float) -> Verdict:
    if not ratios:
        return Verdict(promise, None, "not measured")
    ordered = sorted(ratios, reverse=True)
    pairs = [ratio.pairs for ratio in ordered]
    above = [str(ratio) for ratio in ordered if ratio.value > most]
    middle = ordered[len(ordered) // 2].value
    evidence = (
        f"largest {ordered[0]}, median {three_digits(middle)}, {len(ordered)} shapes and spacings of {min(pairs)} to "
        f"{max(pairs)} pairs"
    )
    return Verdict(promise, not above, f"{evidence}; above: {', '.join(above)}" if above else evidence)
