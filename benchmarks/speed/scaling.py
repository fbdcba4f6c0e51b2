"""How time grows: with the surface of a structure, and (not) with the image around it.

Our times are those of a spacing met before: what a new spacing costs is the same for every size, and would hide growth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.runner import Runner
from benchmarks.speed.results import OURS_AGAIN, ScalingResult
from benchmarks.tools import Case, Pair
from segauge.grid import Grid
from segauge.phantoms import Ball

#: Halfway between a surface (radius squared) and a volume (radius cubed).
RADIUS_LIMIT = 2.5
#: A quarter of what a cost in proportion to the image would show.
IMAGE_LIMIT = 0.25


def time_by_radius(runner: Runner, tool: str, radii: Sequence[int]) -> ScalingResult:
    """Time balls of growing radius, each in an image of three radii a side: the image grows with the radius cubed."""
    timed = []
    for radius in radii:
        with runner.stored(_ball_pair(radius)) as stored:
            timed.append((float(radius), runner.time(tool, stored).best_s))
    sizes, seconds = _kept(timed)
    what = "ball in an image of three radii a side, whole image passed"
    return ScalingResult(what, "radius", tool, sizes, seconds, "2 = surface, 3 = volume", RADIUS_LIMIT)


def time_by_distance(runner: Runner, tool: str, shifts: Sequence[float], radius: int) -> ScalingResult:
    """Time one ball against another that is further and further away: shown, not judged."""
    timed = []
    for shift in shifts:
        with runner.stored(_ball_pair(radius, shift)) as stored:
            timed.append((shift, runner.time(tool, stored).best_s))
    sizes, seconds = _kept(timed)
    what = f"ball of radius {radius} moved further and further, whole image passed"
    return ScalingResult(what, "shift", tool, sizes, seconds, "0 = distance does not matter")


def time_by_image(runner: Runner, sides: Sequence[int], radius: int = 8, balls: int = 8) -> ScalingResult:
    """Time what one more ball costs in ever larger images: (t of 1 + n balls - t of 1 ball) / n.

    The difference takes away the one pass over the label maps that is made anyway.
    """
    timed = []
    for side in sides:
        one, many = (_time_balls(runner, side, radius, count) for count in (1, 1 + balls))
        timed.append((float(side) ** 3, None if one is None or many is None else (many - one) / balls))
    sizes, seconds = _kept(timed)
    what = f"one more ball of radius {radius} in a growing image"
    return ScalingResult(what, "voxels of the image", OURS_AGAIN, sizes, seconds, "0 = surface, 1 = image", IMAGE_LIMIT)


def _kept(timed: Sequence[tuple[float, float | None]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Drop sizes that failed, or whose difference was lost in noise: a logarithm needs a positive number."""
    kept = [(size, seconds) for size, seconds in timed if seconds is not None and seconds > 0]
    return tuple(size for size, _ in kept), tuple(seconds for _, seconds in kept)


def _ball_pair(radius: int, shift: float = 1.3) -> Pair:
    grid = Grid.from_spacing((3 * radius,) * 3)
    middle = 1.5 * radius
    gt = Ball((middle - shift / 2, middle, middle), float(radius))
    pred = gt.shifted((shift, 0.3, 0.2))
    return Pair(pred.rasterize(grid).array, gt.rasterize(grid).array, grid.spacing, 1.0)


def _time_balls(runner: Runner, side: int, radius: int, count: int) -> float | None:
    labelmaps = [np.zeros((side, side, side), dtype=np.uint8) for _ in range(2)]
    step = 2 * radius + 6
    for label in range(1, count + 1):
        corner = [step * ((label - 1) // 3**axis % 3) for axis in range(3)]
        grid = Grid.from_spacing((step,) * 3)
        ball = Ball((step / 2, step / 2, step / 2), float(radius))
        box = tuple(slice(start, start + step) for start in corner)
        for labelmap, shift in zip(labelmaps, (0.7, 0.0), strict=True):
            labelmap[box][ball.shifted((shift, 0.0, 0.0)).rasterize(grid).array] = label
    structures = {f"ball {label}": (label,) for label in range(1, count + 1)}
    with runner.stored(Case(labelmaps[0], labelmaps[1], (1.0, 1.0, 1.0), 1.0, structures)) as stored:
        return runner.time(OURS_AGAIN, stored).best_s
