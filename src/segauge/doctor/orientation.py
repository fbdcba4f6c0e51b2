"""Try the 48 flips and permutations of the axes, and name the likely cause of the one that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from segauge.errors import option
from segauge.labelmap import LabelMap

#: Turns are tried with at most this many foreground voxels: enough to find the best ones, quick for 48 tries.
_SAMPLE = 50_000
#: The share of the sample that a turn puts onto the ground truth differs from that of all voxels by less than this.
_SAMPLING_ERROR = 0.02
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

    Of equals the one with the fewest changes. The turns are tried on a sample of the predicted voxels, each looked up
    in the whole ground truth; the Dice of the best ones is then that of all voxels, comparable with any other Dice.
    """
    if pred.grid.ndim != gt.grid.ndim:
        return None
    one, other = foreground(pred), foreground(gt)
    sample = _sample(one)
    if not len(sample) or not other.any():
        return None
    tried = [(float(np.mean(other[_turned(sample, one.shape, *turn)])), turn) for turn in _fitting(one.shape, gt)]
    hits = max((share for share, _ in tried), default=0.0)
    turns = [Turn(*turn, dice(_view(one, *turn), other)) for share, turn in tried if share >= hits - _SAMPLING_ERROR]
    return max(turns, key=lambda turn: (round(turn.dice, 6), -_changes(turn)), default=None)


def _fitting(shape: tuple[int, ...], gt: LabelMap) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...]]]:
    """Yield axes and flips of every turn that gives a mask the shape of the ground truth."""
    for axes in permutations(range(len(shape))):
        if tuple(shape[axis] for axis in axes) == gt.grid.shape:
            for flips in product((False, True), repeat=len(shape)):
                yield axes, flips


def _sample(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return the indices of foreground voxels, one row each; of many, evenly chosen ones."""
    chosen = np.flatnonzero(mask)
    if len(chosen) > _SAMPLE:
        chosen = chosen[np.linspace(0, len(chosen) - 1, _SAMPLE).astype(np.intp)]
    return np.stack(np.unravel_index(chosen, mask.shape), axis=1)


def _turned(
    points: npt.NDArray[np.intp], shape: tuple[int, ...], axes: tuple[int, ...], flips: tuple[bool, ...]
) -> tuple[npt.NDArray[np.intp], ...]:
    """Return where the voxels of a mask lie after a turn."""
    return tuple(
        shape[axis] - 1 - points[:, axis] if flip else points[:, axis] for axis, flip in zip(axes, flips, strict=True)
    )


def _view(mask: npt.NDArray[np.bool_], axes: tuple[int, ...], flips: tuple[bool, ...]) -> npt.NDArray[np.bool_]:
    return mask.transpose(axes)[tuple(slice(None, None, -1) if flip else slice(None) for flip in flips)]


def explanation(turn: Turn | None, now: float | None, gt: LabelMap) -> str:
    """Return what a turn says about the files, "" if it says nothing. `now` is the Dice as the headers place them."""
    if turn is None or turn.dice < _GOOD_DICE or (now is not None and turn.dice < now + _BETTER_BY):
        return ""
    instead = "" if now is None else f" instead of {now:.2f}"
    fit = f"Dice {turn.dice:.2f}{instead}"
    if turn.is_identity:
        return (
            f"the voxels agree as they lie in the array ({fit}), so the header of one file is wrong: it was probably "
            f"lost or replaced on the way. Write it again with the image's own header, or pass {option('trust_array')}"
        )
    return f"matches if {_in_words(turn, gt)} ({fit}): {_cause(turn, gt)}"


def foreground(labels: LabelMap) -> npt.NDArray[np.bool_]:
    """Return the voxels of any label."""
    mask = np.asarray(labels.layers[0] != 0)
    for layer in labels.layers[1:]:
        mask |= layer != 0
    return mask


def dice(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    """Return the Dice of two masks that are not both empty."""
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
