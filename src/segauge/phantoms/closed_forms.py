"""distance_truth: the pairs of phantoms whose distances are known in closed form."""

from __future__ import annotations

from collections.abc import Callable

from segauge.errors import InvalidInput
from segauge.phantoms.block_pairs import block_distances
from segauge.phantoms.phantom import Phantom
from segauge.phantoms.round_pairs import coaxial_torus_distances, disk_distances, sphere_distances
from segauge.phantoms.solids import Ball, Box, Disk, Rectangle, Shell
from segauge.phantoms.truth import DirectedDistances, DistanceTruth, constant_distances
from segauge.phantoms.tube_pairs import cylinder_distances, tube_distances
from segauge.phantoms.tubes import Cylinder, Torus, Tube

_Formula = Callable[..., DirectedDistances | None]

#: Kinds of solids, and the formula that gives the distances from one to another of the same kind; a formula answers
#: None for a position that it does not cover.
_FORMULAS: tuple[tuple[tuple[type[Phantom], ...], _Formula], ...] = (
    ((Ball, Shell), sphere_distances),
    ((Disk,), disk_distances),
    ((Box,), block_distances),
    ((Rectangle,), block_distances),
    ((Torus,), coaxial_torus_distances),
    ((Cylinder,), cylinder_distances),
    ((Tube,), tube_distances),
)


def distance_truth(pred: Phantom, gt: Phantom) -> DistanceTruth:
    """Return the exact distances between two phantoms.

    There is a closed form for balls and shells in any position, disks, boxes and rectangles in any position, tori
    around one axis, straight cylinders and straight tubes around one axis or side by side at the same height, and
    for every phantom with itself.

    Raises:
        InvalidInput: for all other pairs; `sampled_truth` answers those.

    """
    if pred == gt:
        same = constant_distances(pred.surface_area_mm2, 0.0)
        return DistanceTruth(same, same)
    for kinds, formula in _FORMULAS:
        if isinstance(pred, kinds) and isinstance(gt, kinds):
            there, back = formula(pred, gt), formula(gt, pred)
            if there is not None and back is not None:
                return DistanceTruth(there, back)
    raise InvalidInput(
        f"No closed form for the distances between {pred} and {gt}. Use sampled_truth(pred, gt), which is exact up to "
        "the density of its samples."
    )
