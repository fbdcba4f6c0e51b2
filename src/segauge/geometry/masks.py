"""Counting all labels of a pair in one pass, and cutting out the masks of one structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.engine import engine, thread_count
from segauge.labelmap import check_same_shape

Labels = npt.NDArray[np.integer[Any]]
Corner = tuple[int, ...]


class PackedMask(Protocol):
    """A binary volume of an engine: one bit a voxel in the kernel, a boolean array in the reference."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""

    def count(self) -> int:
        """Return the number of voxels."""

    def unpack(self) -> npt.NDArray[np.bool_]:
        """Return the voxels as booleans."""

    def without(self, other: Any) -> PackedMask:
        """Return the voxels that are not in `other`."""

    def transposed(self, order: Sequence[int]) -> PackedMask:
        """Return the volume with its axes in another order: axis i of it is axis order[i] of this one."""


@dataclass(frozen=True)
class Overlap:
    """Exact counts of one structure: true and false positives and negatives, and where the two masks lie.

    The index sums are those of all voxels of a mask, axis by axis (sum / count = centroid in voxels). `box` holds
    the first and one past the last index of both masks together, or None where both are empty.
    """

    tp: int
    fp: int
    fn: int
    tn: int
    pred_index_sum: tuple[int, ...]
    gt_index_sum: tuple[int, ...]
    box: tuple[Corner, Corner] | None

    @property
    def pred_count(self) -> int:
        """Voxels of the prediction."""
        return self.tp + self.fp

    @property
    def gt_count(self) -> int:
        """Voxels of the ground truth."""
        return self.tp + self.fn


@dataclass(frozen=True, eq=False)
class PairTable:
    """The joint histogram of two label arrays: every (pred, gt) pair of labels that occurs.

    One row per pair: its two labels, number of voxels, sum of their indices, and their bounding box. All overlap
    counts of all structures, regions and ignore labels follow from it exactly, without looking at a voxel again.
    """

    labels: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]
    boxes: npt.NDArray[np.int64]

    @cached_property
    def pred_labels(self) -> tuple[int, ...]:
        """Labels of the prediction, without background."""
        return tuple(int(label) for label in np.unique(self.labels[:, 0]) if label)

    @cached_property
    def gt_labels(self) -> tuple[int, ...]:
        """Labels of the ground truth, without background."""
        return tuple(int(label) for label in np.unique(self.labels[:, 1]) if label)

    def overlap(self, pred_labels: Sequence[int], gt_labels: Sequence[int], ignore: int | None = None) -> Overlap:
        """Return the counts of the structure that these labels make; voxels of the ignore label in gt do not count."""
        counted = self.labels[:, 1] != ignore if ignore is not None else np.ones(len(self.labels), dtype=np.bool_)
        in_pred = _are_any_of(self.labels[:, 0], pred_labels) & counted
        in_gt = _are_any_of(self.labels[:, 1], gt_labels) & counted
        present = in_pred | in_gt
        box = None
        if present.any():
            boxes = self.boxes[present]
            box = (tuple(map(int, boxes[:, 0].min(axis=0))), tuple(map(int, boxes[:, 1].max(axis=0))))
        return Overlap(
            self._sum(in_pred & in_gt),
            self._sum(in_pred & ~in_gt),
            self._sum(~in_pred & in_gt),
            self._sum(counted & ~present),
            tuple(map(int, self.sums[in_pred].sum(axis=0))),
            tuple(map(int, self.sums[in_gt].sum(axis=0))),
            box,
        )

    def _sum(self, rows: npt.NDArray[np.bool_]) -> int:
        return int(self.counts[rows].sum())


def _are_any_of(values: npt.NDArray[np.int64], wanted: Sequence[int]) -> npt.NDArray[np.bool_]:
    if len(wanted) == 1:  # by far the most common, and for small tables much quicker than the general way
        found: npt.NDArray[np.bool_] = values == wanted[0]
        return found
    return np.isin(values, list(wanted))


def tabulate(pred: Labels, gt: Labels, *, threads: int | None = None) -> PairTable:
    """Count every pair of labels of two arrays of the same shape, 2-D or 3-D, in one pass."""
    check_same_shape(pred, gt)
    try:
        return PairTable(*engine().pair_table(_addressable(pred), _addressable(gt), thread_count(threads)))
    except ValueError as error:  # the kernel's std::length_error
        if "too many different label pairs" not in str(error):
            raise
        raise InvalidInput(
            "The two label maps have more than four million different pairs of labels. "
            "Are these images or probability maps instead of label maps?"
        ) from None


def pack(
    labels: Labels, values: Sequence[int], box: tuple[Corner, Corner], *, threads: int | None = None
) -> PackedMask:
    """Return the voxels inside a box that carry one of the label values."""
    packed: PackedMask = engine().pack(
        _addressable(labels), list(values), list(box[0]), list(box[1]), thread_count(threads)
    )
    return packed


@dataclass(frozen=True, eq=False)
class CutOut:
    """Two masks, cut to the box of both, and the voxels of each."""

    pred: PackedMask
    gt: PackedMask
    pred_count: int
    gt_count: int


def cut_out(pred: Labels, gt: Labels, *, threads: int | None = None) -> CutOut | None:
    """Return what is not background in two arrays of the same shape, 2-D or 3-D; None where both are empty."""
    if pred.size == 0:
        return None
    found = engine().cut_out(_addressable(pred), _addressable(gt), thread_count(threads))
    return None if found is None else CutOut(*found)


def count_common(a: PackedMask, b: PackedMask) -> int:
    """Return the number of voxels that two masks of the same box share."""
    return int(engine().count_common(a, b))


def _addressable(labels: Labels) -> Labels:
    """Return the array itself, or a copy where its items do not lie at whole steps (a field of a record array)."""
    if any(stride % labels.itemsize for stride in labels.strides):
        return np.ascontiguousarray(labels)
    return labels
