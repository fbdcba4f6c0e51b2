"""What is probably wrong with predictions that hardly overlap: flipped, shifted, sides swapped, or other labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge import LabelMap, place
from segauge.doctor.orientation import best_turn, explanation
from segauge.errors import SegaugeError
from segbench.cards import DatasetCard, ModelCard

#: An explanation must overlap at least so well, and by so much better than what is.
GOOD_DICE = 0.5
BETTER_BY = 0.2

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Explanation:
    """What would make a prediction fit, and how well it would."""

    words: str
    dice: float


def diagnose(pred: LabelMap, gt: LabelMap, structure: str, model: ModelCard, dataset: DatasetCard) -> str:
    """Return the likely cause of a bad overlap of one case, in words; it always says something."""
    try:
        placed = place(pred, gt)
    except SegaugeError as error:
        return f"the prediction does not lie where the ground truth is: {error}"
    named = tuple(label for label, name in placed.gt.names.items() if name == structure)
    in_gt = placed.gt.mask(named or dataset.structures[structure]).array
    expected = model.structures[structure]
    in_pred = placed.pred.mask(expected).array
    if not any(bool(np.any(layer)) for layer in placed.pred.layers):
        return "the prediction is empty: no voxel has any label"
    now = _dice(in_pred, in_gt)
    found = [
        other_label(placed.pred, in_gt, structure, model.structures),
        _turned(in_pred, in_gt, placed.gt, now),
        shifted(in_pred, in_gt, placed.gt),
    ]
    good = [one for one in found if one is not None and one.dice >= max(GOOD_DICE, now + BETTER_BY)]
    if good:
        return max(good, key=lambda one: one.dice).words
    if not in_pred.any():
        return f"the prediction has no voxel with label {_listed(expected)}, and no other label fits"
    return "no flip, shift or other label explains it"


def other_label(
    pred: LabelMap, in_gt: Bools, structure: str, known: Mapping[str, tuple[int, ...]]
) -> Explanation | None:
    """Return the label of the output that fits a structure best, if the card calls it something else."""
    best: tuple[float, int] = (0.0, 0)
    for layer in pred.layers:
        inside, overlap = np.unique(layer[in_gt], return_counts=True)
        for label, count in zip(inside.tolist(), overlap.tolist(), strict=True):
            if label:
                size = int(np.count_nonzero(layer == label))
                best = max(best, (2.0 * count / (size + int(np.count_nonzero(in_gt))), label))
    dice, label = best
    if not label or label in known[structure]:
        return None
    # The smallest region that has the label says best what it is.
    owner = min((name for name, labels in known.items() if label in labels), key=lambda n: len(known[n]), default="")
    if owner and owner == _other_side(structure):
        return Explanation(f"left and right are swapped: its {owner} lies on this {structure} (Dice {dice:.2f})", dice)
    called = f", which its card calls {owner}" if owner else ""
    return Explanation(
        f"wrong ids: label {label} of its output fits (Dice {dice:.2f}){called}; its card has "
        f"{_listed(known[structure])}",
        dice,
    )


def shifted(in_pred: Bools, in_gt: Bools, gt: LabelMap) -> Explanation | None:
    """Return how far the prediction lies beside, if moving its centre onto that of the ground truth makes it fit."""
    if not in_pred.any() or not in_gt.any():
        return None
    centres = [np.array([places.mean() for places in np.nonzero(mask)]) for mask in (in_pred, in_gt)]
    step = np.rint(centres[1] - centres[0]).astype(int)
    moved = np.zeros_like(in_pred)
    source = tuple(slice(max(0, -k), min(n, n - k)) for k, n in zip(step, in_pred.shape, strict=True))
    target = tuple(slice(max(0, k), min(n, n + k)) for k, n in zip(step, in_pred.shape, strict=True))
    moved[target] = in_pred[source]
    dice = _dice(moved, in_gt)
    millimetres = ", ".join(f"{k * edge:+.1f}" for k, edge in zip(step, gt.grid.spacing, strict=True))
    return Explanation(f"shifted: matches if moved by ({millimetres}) mm along its axes (Dice {dice:.2f})", dice)


def _turned(in_pred: Bools, in_gt: Bools, gt: LabelMap, now: float) -> Explanation | None:
    turn = best_turn(LabelMap((in_pred.view(np.uint8),), gt.grid), LabelMap((in_gt.view(np.uint8),), gt.grid))
    words = "" if turn is None or turn.is_identity else explanation(turn, now, gt)
    return None if turn is None or not words else Explanation(f"flipped: {words}", turn.dice)


def _other_side(structure: str) -> str:
    for side, other in (("left", "right"), ("right", "left")):
        if side in structure:
            return structure.replace(side, other)
    return ""


def _dice(one: Bools, other: Bools) -> float:
    total = int(np.count_nonzero(one)) + int(np.count_nonzero(other))
    return 2.0 * int(np.count_nonzero(one & other)) / total if total else 0.0


def _listed(labels: tuple[int, ...]) -> str:
    return " or ".join(map(str, labels))
