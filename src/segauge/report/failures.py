"""What kind of failure it is: missed, spurious, swapped, mirrored, shifted, missed in part, cut off, leaked, and so on.

A diagnosis is a hint for the eye, not a measurement: each rule and its threshold is written here, and the words say
what was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from segauge.digits import percent
from segauge.geometry.components import component_labels, component_table, label_components, pack_mask
from segauge.report.pairs import Bools, CasePair, box_of


class FailureKind(StrEnum):
    """The kinds, in the order in which they are tried."""

    MISSED = "missed"
    SPURIOUS = "spurious"
    SWAPPED = "left/right swap"
    MISLABELLED = "labelled as another structure"
    MIRRORED = "mirrored"
    SHIFTED = "shifted by slices"
    ELSEWHERE = "somewhere else"
    PART_MISSED = "part missed"
    CUT = "cut off"
    CUT_AT_EDGE = "cut at the edge of the field of view"
    LEAK = "leak into a neighbour"
    ISLAND = "false island"
    TOO_SMALL = "too small"
    TOO_LARGE = "too large"
    OUTLINE = "boundary error"
    NONE = "no difference"


@dataclass(frozen=True)
class Diagnosis:
    """The kind of a failure, and what was seen."""

    kind: FailureKind
    words: str


#: Share of a mask inside another structure from which it is taken for that structure.
INSIDE_OTHER = 0.5
#: A shift or mirror image explains an error if it overlaps at least so well, and by so much better than what is.
GOOD_DICE = 0.75
BETTER_BY = 0.15
MOST_SHIFT = 12
#: Share of the missing voxels that lie in parts without any prediction, or beyond the last predicted slice, and share
#: of the structure, to call a part missed or the structure cut off.
LOST_SHARE = 0.6
LOST_VOLUME = 0.08
#: Volume of what is too much, in shares of the ground truth, and the share of it inside one neighbour, for a leak.
LEAK_VOLUME = 0.1
LEAK_SHARE = 0.5
ISLAND_SHARE = 0.4

_TOWARDS = (("to the left", "to the right"), ("to the back", "to the front"), ("towards the feet", "towards the head"))
_ENDS = (("left", "right"), ("back", "front"), ("lower", "upper"))


def diagnose(pair: CasePair, structure: str) -> Diagnosis:
    """Return what kind of failure the prediction of a structure is, however small the error."""
    pred, gt = pair.masks(structure)
    volume = float(np.prod(pair.upright.spacing)) / 1000.0
    if not pred.any():
        return _missed(pair, structure, gt, volume)
    if not gt.any():
        return _spurious(pair, structure, pred, volume)
    if np.array_equal(pred, gt):
        return Diagnosis(FailureKind.NONE, "both masks are identical")
    mistaken = _mislabelled(pair, structure, pred) or _mirrored(pred, gt, pair)
    if mistaken:
        return mistaken
    shape = gt.shape
    box = box_of(pred | gt, (MOST_SHIFT,) * 3)
    near_pred, near_gt = pred[box], gt[box]
    return (
        _shifted(near_pred, near_gt, pair)
        or _elsewhere(near_pred, near_gt, pair)
        or _part_missed(near_pred, near_gt)
        or _cut(near_pred, near_gt, pair, box, shape)
        or _leaked(pair, structure, pred, gt, volume)
        or _island(near_pred, near_gt, volume)
        or _size(near_pred, near_gt, volume)
    )


def _missed(pair: CasePair, structure: str, gt: Bools, volume: float) -> Diagnosis:
    size = _ml(np.count_nonzero(gt) * volume)
    others = {name: part for name, part in pair.shares_inside(gt, "pred").items() if name != structure}
    other = max(others, key=lambda name: others[name], default="")
    if other and others[other] >= INSIDE_OTHER:
        kind = FailureKind.SWAPPED if _opposite(structure, other) else FailureKind.MISLABELLED
        return Diagnosis(kind, f"its {size} are predicted as {other} ({percent(others[other])})")
    return Diagnosis(FailureKind.MISSED, f"no prediction; the ground truth has {size}")


def _spurious(pair: CasePair, structure: str, pred: Bools, volume: float) -> Diagnosis:
    others = {name: part for name, part in pair.shares_inside(pred, "gt").items() if name != structure}
    other = max(others, key=lambda name: others[name], default="")
    where = f", {percent(others[other])} of it inside {other}" if other and others[other] >= INSIDE_OTHER else ""
    return Diagnosis(
        FailureKind.SPURIOUS, f"{_ml(np.count_nonzero(pred) * volume)} predicted, none in the ground truth{where}"
    )


def _mislabelled(pair: CasePair, structure: str, pred: Bools) -> Diagnosis | None:
    shares = pair.shares_inside(pred, "gt")
    own = shares.pop(structure, 0.0)
    other = max(shares, key=lambda name: shares[name], default="")
    # Regions that hold the structure (kidney + tumour) cover it, too: then its own share is as high.
    if not other or shares[other] < INSIDE_OTHER or own > 0.3:
        return None
    kind = FailureKind.SWAPPED if _opposite(structure, other) else FailureKind.MISLABELLED
    return Diagnosis(
        kind, f"{percent(shares[other])} of the prediction is inside {other}, {percent(own)} inside {structure}"
    )


def _opposite(one: str, other: str) -> bool:
    """Say whether two names differ only in left and right."""
    pairs = (("left", "right"), ("_l", "_r"), (" l", " r"), ("-l", "-r"), ("l_", "r_"), ("l ", "r "))
    a, b = one.lower(), other.lower()
    return any(a.replace(x, y) == b or a.replace(y, x) == b for x, y in pairs if a != b)


def _mirrored(pred: Bools, gt: Bools, pair: CasePair) -> Diagnosis | None:
    now, turned = _dice(pred, gt), _dice(pred[::-1], gt)
    if turned < GOOD_DICE or turned < now + BETTER_BY:
        return None
    how = "left to right" if pair.gt.in_space else "along axis 0"
    return Diagnosis(FailureKind.MIRRORED, f"mirrored {how} it would overlap with a Dice of {turned:.2f}")


def _dice(one: Bools, other: Bools) -> float:
    both = int(np.count_nonzero(one & other))
    return 2.0 * both / max(int(np.count_nonzero(one)) + int(np.count_nonzero(other)), 1)


def _shifted(pred: Bools, gt: Bools, pair: CasePair) -> Diagnosis | None:
    total = int(np.count_nonzero(pred)) + int(np.count_nonzero(gt))
    now, best = _dice(pred, gt), (0.0, 0, 0)
    for axis in range(3):
        for step in range(1, min(MOST_SHIFT, gt.shape[axis] - 1) + 1):
            head = tuple(slice(step, None) if a == axis else slice(None) for a in range(3))
            tail = tuple(slice(None, -step) if a == axis else slice(None) for a in range(3))
            for sign, both in ((1, pred[head] & gt[tail]), (-1, pred[tail] & gt[head])):
                best = max(best, (2.0 * int(np.count_nonzero(both)) / total, axis, sign * step), key=lambda x: x[0])
    dice, axis, step = best
    if dice < GOOD_DICE or dice < now + BETTER_BY:
        return None
    way = (
        _TOWARDS[axis][step > 0] if pair.gt.in_space else f"along axis {axis} towards its {('start', 'end')[step > 0]}"
    )
    distance = abs(step) * pair.upright.spacing[axis]
    return Diagnosis(
        FailureKind.SHIFTED,
        f"shifted by {abs(step)} slices ({distance:.3g} mm) {way}; moved back it would overlap with a Dice of "
        f"{dice:.2f}",
    )


def _elsewhere(pred: Bools, gt: Bools, pair: CasePair) -> Diagnosis | None:
    """Look for two masks without a voxel in common; the distance is that of their centres."""
    if (pred & gt).any():
        return None
    steps = (np.argwhere(pred).mean(axis=0) - np.argwhere(gt).mean(axis=0)) * np.array(pair.upright.spacing)
    distance = float(np.linalg.norm(steps))
    return Diagnosis(FailureKind.ELSEWHERE, f"no voxel in common; the centres are {distance:.3g} mm apart")


def _part_missed(pred: Bools, gt: Bools) -> Diagnosis | None:
    """Look for connected parts without any predicted voxel that make up most of what is missing."""
    alone, total = _untouched(gt, pred)
    missed, lost = sum(alone), int(np.count_nonzero(gt & ~pred))
    share = missed / int(np.count_nonzero(gt))
    if not alone or missed < LOST_SHARE * lost or share < LOST_VOLUME:
        return None
    return Diagnosis(FailureKind.PART_MISSED, f"{len(alone)} of {total} parts missed, {percent(share)} of the volume")


def _untouched(mask: Bools, other: Bools) -> tuple[list[int], int]:
    """Return the voxels of each connected part of a mask that has none in common with another, and how many parts."""
    parts = label_components(pack_mask(mask))
    table = component_table(parts)
    touched = set(np.unique(component_labels(parts)[other]).tolist())
    return [int(table.voxels[i]) for i in range(len(table)) if i + 1 not in touched], len(table)


def _cut(
    pred: Bools, gt: Bools, pair: CasePair, box: tuple[slice, slice, slice], shape: tuple[int, ...]
) -> Diagnosis | None:
    missing = gt & ~pred
    lost, whole = int(np.count_nonzero(missing)), int(np.count_nonzero(gt))
    if not lost:
        return None
    for axis in (2, 1, 0):
        others = tuple(other for other in range(3) if other != axis)
        in_gt, in_pred = np.flatnonzero(gt.any(axis=others)), np.flatnonzero(pred.any(axis=others))
        per_slice = np.count_nonzero(missing, axis=others)
        for end, beyond in ((0, slice(0, in_pred[0])), (1, slice(in_pred[-1] + 1, None))):
            gone = int(per_slice[beyond].sum())
            slices = int(np.count_nonzero(per_slice[beyond]))
            if slices < 2 or gone < LOST_SHARE * lost or gone < LOST_VOLUME * whole:
                continue
            edge = in_gt[0] + box[axis].start <= 1 if end == 0 else in_gt[-1] + box[axis].start >= shape[axis] - 2
            kind = FailureKind.CUT_AT_EDGE if edge else FailureKind.CUT
            which = f"{_ENDS[axis][end]} end" if pair.gt.in_space else f"{('start', 'end')[end]} along axis {axis}"
            words = f"nothing is predicted in the {slices} slices at its {which} ({percent(gone / whole)} of it)"
            return Diagnosis(kind, words)
    return None


def _leaked(pair: CasePair, structure: str, pred: Bools, gt: Bools, volume: float) -> Diagnosis | None:
    extra = pred & ~gt
    count = int(np.count_nonzero(extra))
    if count < LEAK_VOLUME * int(np.count_nonzero(gt)):
        return None
    shares = pair.shares_inside(extra, "gt")
    shares.pop(structure, None)
    other = max(shares, key=lambda name: shares[name], default="")
    if not other or shares[other] < LEAK_SHARE:
        return None
    return Diagnosis(
        FailureKind.LEAK, f"{_ml(count * volume)} over-segmented, {percent(shares[other])} of it inside {other}"
    )


def _island(pred: Bools, gt: Bools, volume: float) -> Diagnosis | None:
    """Look for a predicted part that touches no ground truth and makes up most of what is too much."""
    extra = int(np.count_nonzero(pred & ~gt))
    if extra < LEAK_VOLUME * int(np.count_nonzero(gt)):
        return None
    alone, _ = _untouched(pred, gt)
    if not alone or max(alone) < ISLAND_SHARE * extra:
        return None
    return Diagnosis(FailureKind.ISLAND, f"a part of {_ml(max(alone) * volume)} is separate from the structure")


def _size(pred: Bools, gt: Bools, volume: float) -> Diagnosis:
    lost, extra = int(np.count_nonzero(gt & ~pred)), int(np.count_nonzero(pred & ~gt))
    whole = int(np.count_nonzero(gt)) * volume
    words = f"{_ml(lost * volume)} under-, {_ml(extra * volume)} over-segmented (of {_ml(whole)})"
    if lost > 2 * extra:
        return Diagnosis(FailureKind.TOO_SMALL, words)
    return Diagnosis(FailureKind.TOO_LARGE if extra > 2 * lost else FailureKind.OUTLINE, words)


def _ml(volume: float) -> str:
    """Return a volume with three figures, and never with a power of ten: "0.225 ml", "1523 ml"."""
    if 0 < volume < 1e-4:
        return "less than 0.0001 ml"
    return f"{volume:.3g} ml" if volume < 999.5 else f"{volume:.0f} ml"
