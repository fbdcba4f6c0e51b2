"""Reference: counting label pairs, and the voxels of a structure inside a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.labelmap import where_any_of

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReferenceMask:
    """A binary volume as a plain boolean array."""

    array: npt.NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""
        return self.array.shape

    def count(self) -> int:
        """Return the number of voxels."""
        return int(np.count_nonzero(self.array))

    def unpack(self) -> npt.NDArray[np.bool_]:
        """Return the voxels as booleans."""
        return self.array.copy()

    def without(self, other: ReferenceMask) -> ReferenceMask:
        """Return the voxels that are not in `other`."""
        return ReferenceMask(self.array & ~other.array)

    def transposed(self, order: Sequence[int]) -> ReferenceMask:
        """Return the volume with its axes in another order: axis i of it is axis order[i] of this one."""
        return ReferenceMask(np.ascontiguousarray(self.array.transpose(order)))


def pair_table(
    pred: npt.NDArray[Any], gt: npt.NDArray[Any], threads: int
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Return labels (n, 2), counts (n), index sums (n, d) and boxes (n, 2, d) of every (pred, gt) pair of labels."""
    del threads
    pred_labels, pred_codes = np.unique(pred, return_inverse=True)
    gt_labels, gt_codes = np.unique(gt, return_inverse=True)
    joint = pred_codes.reshape(pred.shape).astype(np.int64) * len(gt_labels) + gt_codes.reshape(gt.shape)
    pairs, codes = np.unique(joint, return_inverse=True)
    codes = codes.reshape(-1)
    which = np.divmod(pairs, len(gt_labels))
    # One by one: signed and unsigned labels together would be floats, which cannot tell large ones apart.
    labels = np.stack([found[i].astype(np.int64) for found, i in zip((pred_labels, gt_labels), which, strict=True)], 1)
    counts = np.bincount(codes, minlength=len(pairs))
    sums = np.zeros((len(pairs), pred.ndim), dtype=np.int64)
    boxes = np.zeros((len(pairs), 2, pred.ndim), dtype=np.int64)
    for axis, index in enumerate(np.indices(pred.shape).reshape(pred.ndim, -1)):
        np.add.at(sums[:, axis], codes, index)
        boxes[:, 0, axis] = pred.shape[axis]
        np.minimum.at(boxes[:, 0, axis], codes, index)
        np.maximum.at(boxes[:, 1, axis], codes, index + 1)
    return labels, counts.astype(np.int64), sums, boxes


def pack(
    labels: npt.NDArray[Any], values: Sequence[int], start: Sequence[int], stop: Sequence[int], threads: int
) -> ReferenceMask:
    """Return the voxels of the box [start, stop) whose label is one of `values`."""
    del threads
    box = tuple(slice(first, last) for first, last in zip(start, stop, strict=True))
    return ReferenceMask(np.ascontiguousarray(where_any_of(labels[box], values)))


def cut_out(
    pred: npt.NDArray[Any], gt: npt.NDArray[Any], threads: int
) -> tuple[ReferenceMask, ReferenceMask, int, int] | None:
    """Return the foreground of both arrays cut to their common box, and its voxels; None where both are empty."""
    del threads
    found = np.nonzero((pred != 0) | (gt != 0))
    if not len(found[0]):
        return None
    box = tuple(slice(int(index.min()), int(index.max()) + 1) for index in found)
    masks = [ReferenceMask(np.ascontiguousarray(array[box] != 0)) for array in (pred, gt)]
    return masks[0], masks[1], masks[0].count(), masks[1].count()


def count_common(a: ReferenceMask, b: ReferenceMask) -> int:
    """Return the number of voxels that two masks share."""
    return int(np.count_nonzero(a.array & b.array))
