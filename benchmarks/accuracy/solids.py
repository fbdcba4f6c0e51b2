"""The pairs of solids of the accuracy benchmark: how they are drawn, and how many voxels they are across."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from segauge.phantoms import Ball, Box, Ellipsoid, Phantom, Torus, Tube

LARGEST_SHIFT_MM = 3.0
#: The set of pairs that is published, and on which constants of our surfaces were tuned. Any other name is another set.
PUBLISHED = "published"

Pair = tuple[Phantom, Phantom]


def drawn_pair(shape: str, number: int, name_of_set: str = PUBLISHED) -> Pair:
    """Return a pair of a shape: always the same one for its number and the name of its set."""
    seed = shape if name_of_set == PUBLISHED else f"{name_of_set} {shape}"
    return SHAPES[shape](np.random.default_rng([*seed.encode(), number]))


def voxels_across(pair: Pair, spacing: Sequence[float]) -> float:
    """Return the smallest diameter of either solid along any axis, in voxels."""
    return min(width / edge for solid in pair for width, edge in zip(_diameters(solid), spacing, strict=True))


def _diameters(solid: Phantom) -> tuple[float, ...]:
    """Return along each axis how thick a solid is in mm; a ring or a tube is as thick as its tube along all of them."""
    match solid:
        case Ball(radius_mm=radius) | Torus(tube_radius_mm=radius) | Tube(radius_mm=radius):
            return (2 * radius,) * 3
        case Ellipsoid(semi_axes_mm=semi_axes):
            return tuple(2 * axis for axis in semi_axes)
        case Box(size_mm=size):
            return tuple(size)
    raise TypeError(f"no diameters are known of a {type(solid).__name__}")


def _balls(rng: np.random.Generator, smallest: float, largest: float) -> Pair:
    radius = float(rng.uniform(smallest, largest))
    gt = Ball(_center(rng), radius)
    return Ball(_shifted_center(gt.center_mm, rng), radius + float(rng.uniform(-1.0, 1.0))), gt


def _ball(rng: np.random.Generator) -> Pair:
    return _balls(rng, 14.0, 20.0)


def _large_ball(rng: np.random.Generator) -> Pair:
    """Return balls of at least 8 voxels across at every spacing in use."""
    return _balls(rng, 20.0, 30.0)


def _ellipsoids(rng: np.random.Generator, smallest: float, largest: float, change: float = 1.0) -> Pair:
    axes = rng.uniform(smallest, largest, size=3)
    gt = Ellipsoid(_center(rng), tuple(axes.tolist()))
    pred = Ellipsoid(_shifted_center(gt.center_mm, rng), tuple((axes + rng.uniform(-change, change, size=3)).tolist()))
    return pred, gt


def _lesion(rng: np.random.Generator) -> Pair:
    """Return small ellipsoids; where the slices are thick some fall between them, and the pair is left out."""
    return _ellipsoids(rng, 1.0, 5.0, change=0.5)


def _vessel(rng: np.random.Generator) -> Pair:
    start, end = _center(rng), tuple(rng.uniform(20.0, 35.0, size=3).tolist())
    gt = Tube((start, end), float(rng.uniform(1.0, 3.0)))
    return gt.shifted(_shift(rng)), gt


def _ellipsoid(rng: np.random.Generator) -> Pair:
    return _ellipsoids(rng, 8.0, 20.0)


def _large_ellipsoid(rng: np.random.Generator) -> Pair:
    """Return ellipsoids of at least 8 voxels across at every spacing in use."""
    return _ellipsoids(rng, 21.0, 30.0)


def _torus(rng: np.random.Generator) -> Pair:
    gt = Torus(_center(rng), float(rng.uniform(14.0, 20.0)), float(rng.uniform(5.0, 8.0)))
    return gt.shifted(_shift(rng)), gt


def _large_torus(rng: np.random.Generator) -> Pair:
    """Return rings whose tube is at least 8 voxels across at every spacing in use."""
    gt = Torus(_center(rng), float(rng.uniform(32.0, 40.0)), float(rng.uniform(20.0, 26.0)))
    return gt.shifted(_shift(rng)), gt


def _tube(rng: np.random.Generator) -> Pair:
    start, end = _center(rng), tuple(rng.uniform(20.0, 35.0, size=3).tolist())
    gt = Tube((start, end), float(rng.uniform(3.0, 6.0)))
    return gt.shifted(_shift(rng)), gt


def _box(rng: np.random.Generator) -> Pair:
    gt = Box(_center(rng), tuple(rng.uniform(16.0, 36.0, size=3).tolist()))
    return gt.shifted(_shift(rng)), gt


SHAPES: Mapping[str, Callable[[np.random.Generator], Pair]] = {
    "ball": _ball,
    "ellipsoid": _ellipsoid,
    "torus": _torus,
    "tube": _tube,
    "box": _box,
    "large ball": _large_ball,
    "lesion": _lesion,
    "vessel": _vessel,
    "large ellipsoid": _large_ellipsoid,
    "large torus": _large_torus,
}


#: The shapes that all packages are compared on.
COMPARED = ("ball", "ellipsoid", "torus", "tube", "box", "large ball", "lesion", "vessel")


def _center(rng: np.random.Generator) -> tuple[float, ...]:
    """Return a centre whose place between the voxel centres is random, for every spacing in use."""
    return tuple(rng.uniform(-5.0, 5.0, size=3).tolist())


def _shift(rng: np.random.Generator) -> tuple[float, ...]:
    direction = rng.normal(size=3)
    length = rng.uniform(0.0, LARGEST_SHIFT_MM)
    return tuple((direction * (length / np.linalg.norm(direction))).tolist())


def _shifted_center(center: Sequence[float], rng: np.random.Generator) -> tuple[float, ...]:
    return tuple(np.add(center, _shift(rng)).tolist())
