"""Try the 48 flips and permutations of the axes, and name the likely cause of the one that fits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from segauge.labelmap import LabelMap

#: Masks are thinned to about this many voxels: enough to tell a flip, quick for 48 tries.
_ENOUGH_VOXELS = 2_000_000
#: A turn counts as the explanation if it overlaps at least so well, and by so much better than what is.
_GOOD_DICE = 0.5
_BETTER_BY = 0.2

_AXES = {"L": "x", "R": "x", "A": "y", "P": "y", "S": "z", "I": "z"}
_SIDES = {"x": "left-right", "y": "front-back", "z": "head-foot"}


@dataclass(frozen=True)
class Turn:
    """`flip(transpose(pred, axes), flips)` and how well it overlaps the ground truth."""

    axes: tuple[int, ...]
    flips: tuple[bool, ...]
    dice: float

    @property
    def is_identity(self) -> bool:
        """True where nothing is turned."""
        return self.axes == tuple(range(len(self.axes))) and not any(self.flips)


def best_turn(pred: LabelMap, gt: LabelMap) -> Turn | None:
    """Return the turn of the predicted voxels that overlaps best, None if no shape fits or a mask is empty.

    Of equals the one with the fewest changes.
    """
    if pred.grid.ndim != gt.grid.ndim:
        return None
    one, other = _thin_foreground(pred), _thin_foreground(gt)
    if not one.any() or not other.any():
        return None
    turns = []
    for axes in permutations(range(one.ndim)):
        moved = one.transpose(axes)
        if tuple(pred.grid.shape[axis] for axis in axes) != gt.grid.shape or moved.shape != other.shape:
            continue
        for flips in product((False, True), repeat=one.ndim):
            turned = moved[tuple(slice(None, None, -1) if flip else slice(None) for flip in flips)]
            turns.append(Turn(axes, flips, _dice(turned, other)))
    return max(turns, key=lambda turn: (round(turn.dice, 6), -_changes(turn)), default=None)


def explanation(turn: Turn | None, now: float | None, gt: LabelMap) -> str:
    """Return what a turn says about the files, "" if it says nothing. `now` is the Dice as the headers place them."""
    if turn is None or turn.dice < _GOOD_DICE or (now is not None and turn.dice < now + _BETTER_BY):
        return ""
    instead = "" if now is None else f" instead of {now:.2f}"
    fit = f"Dice {turn.dice:.2f}{instead}"
    if turn.is_identity:
        return (
            f"the voxels agree as they lie in the array ({fit}), so the header of one file is wrong: it was probably "
            "lost or replaced on the way. Write it again with the image's own header, or pass trust_array"
        )
    return f"matches if {_in_words(turn, gt)} ({fit}): {_cause(turn, gt)}"


def _thin_foreground(labels: LabelMap) -> npt.NDArray[np.bool_]:
    """Return the foreground on every n-th voxel, starting so that both ends are cut alike."""
    size = labels.layers[0].size
    step = max(1, int(np.ceil((size / _ENOUGH_VOXELS) ** (1 / labels.grid.ndim))))
    chosen = tuple(slice(((n - 1) % step) // 2, None, step) for n in labels.grid.shape)
    mask = np.asarray(labels.layers[0][chosen] != 0)
    for layer in labels.layers[1:]:
        mask |= layer[chosen] != 0
    return mask


def _dice(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    return 2.0 * int(np.count_nonzero(one & other)) / (int(np.count_nonzero(one)) + int(np.count_nonzero(other)))


def _changes(turn: Turn) -> int:
    return sum(axis != place for place, axis in enumerate(turn.axes)) + sum(turn.flips)


def _axis_names(gt: LabelMap) -> list[str]:
    letters = gt.grid.orientation if gt.grid.ndim == 3 else ""
    if len(letters) != gt.grid.ndim or any(letter not in _AXES for letter in letters):
        return [f"axis {k}" for k in range(gt.grid.ndim)]
    return [_AXES[letter] for letter in letters]


def _in_words(turn: Turn, gt: LabelMap) -> str:
    names = _axis_names(gt)
    parts = []
    if turn.axes != tuple(range(len(turn.axes))):
        parts.append(f"its axes are put in the order {turn.axes}")
    flipped = [name for name, flip in zip(names, turn.flips, strict=True) if flip]
    if flipped:
        sides = [f"{name} ({_SIDES[name]})" if name in _SIDES else name for name in flipped]
        parts.append(f"flipped in {' and '.join(sides)}")
    return " and ".join(parts)


def _cause(turn: Turn, gt: LabelMap) -> str:
    flipped = {name for name, flip in zip(_axis_names(gt), turn.flips, strict=True) if flip}
    if turn.axes == tuple(range(len(turn.axes))):
        if flipped == {"x", "y"}:
            return "probably a mix-up of RAS (nibabel) and LPS (SimpleITK, DICOM) coordinates"
        if flipped == {"z"}:
            return "probably slices in reverse order"
        if flipped == {"x"}:
            return "probably a left-right mix-up (radiological against neurological order) or an undone augmentation"
        return "probably an augmentation that was not undone, or an affine that was not written with the voxels"
    if turn.axes == tuple(range(len(turn.axes)))[::-1]:
        return "probably an axis-order mix-up between nibabel (x, y, z) and SimpleITK arrays (z, y, x)"
    if turn.axes == (1, 0, 2):
        return "probably rows and columns swapped, as when DICOM pixels (row, column) are taken for (x, y)"
    return "probably an array whose axes were moved for a network and not moved back"
