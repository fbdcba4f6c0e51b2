"""Centerline Dice (clDice): whether two tubular structures follow each other, whatever their width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.components import pack_mask
from segauge.geometry.masks import PackedMask, count_common
from segauge.geometry.skeleton import skeletonize_pair
from segauge.labelmap import as_mask_array, check_same_shape
from segauge.metrics.overlap import binary_overlap


@dataclass(frozen=True)
class CenterlineScores:
    """How far the centerlines of two masks run inside the other mask.

    Lengths are counted in voxels of the curve skeleton (`segauge.geometry.skeleton`), as the literature does: the
    spacing plays no role.

    Attributes:
        pred_length: voxels of the prediction's skeleton.
        pred_length_in_gt: those of them that lie inside the ground truth.
        gt_length: voxels of the ground truth's skeleton.
        gt_length_in_pred: those of them that lie inside the prediction.

    """

    pred_length: int
    pred_length_in_gt: int
    gt_length: int
    gt_length_in_pred: int

    @property
    def topology_precision(self) -> float | None:
        """Share of the predicted centerline inside the ground truth, 0 to 1; None where there is no prediction."""
        return self.pred_length_in_gt / self.pred_length if self.pred_length else None

    @property
    def topology_sensitivity(self) -> float | None:
        """Share of the true centerline inside the prediction, 0 to 1; None where there is no ground truth."""
        return self.gt_length_in_pred / self.gt_length if self.gt_length else None

    @property
    def cldice(self) -> float:
        """Harmonic mean of topology precision and sensitivity, 0 to 1; both masks empty: 1, one of them: 0."""
        precision, sensitivity = self.topology_precision, self.topology_sensitivity
        if precision is None or sensitivity is None:
            return float(precision is sensitivity)
        return 2 * precision * sensitivity / (precision + sensitivity) if precision + sensitivity > 0 else 0.0


def centerline_dice(pred: npt.ArrayLike, gt: npt.ArrayLike) -> float:
    """Centerline Dice of two masks: 0 to 1, higher is better; both empty: 1, one of them: 0.

    clDice = 2 P S / (P + S), with P the share of the prediction's skeleton inside `gt`, and S the share of the ground
    truth's skeleton inside `pred`. Made for vessels, airways, nerves and the like, in 2-D or 3-D.
    """
    return centerline_scores(pred, gt).cldice


def centerline_scores(pred: npt.ArrayLike, gt: npt.ArrayLike) -> CenterlineScores:
    """Return clDice and its parts for two masks: arrays of bool or integers (non-zero is inside), 2-D or 3-D.

    Raises:
        ShapeMismatch: if the masks differ in shape.
        InvalidInput: if they are neither 2-D nor 3-D.

    """
    pred_array, gt_array = as_mask_array(pred), as_mask_array(gt)
    check_same_shape(pred_array, gt_array)
    if pred_array.ndim not in (2, 3):
        raise InvalidInput(f"Centerlines are found in 2-D and 3-D masks, got arrays of shape {pred_array.shape}.")
    box = binary_overlap(pred_array, gt_array).box
    if box is None:
        return CenterlineScores(0, 0, 0, 0)
    cut = tuple(slice(first, last) for first, last in zip(*box, strict=True))
    return measure_centerlines(pack_mask(pred_array[cut]), pack_mask(gt_array[cut]))


def measure_centerlines(pred: PackedMask, gt: PackedMask, threads: int | None = None) -> CenterlineScores:
    """Return the scores of two packed masks of the same shape, cut to any box that holds both."""
    pred_skeleton, gt_skeleton = skeletonize_pair(pred, gt, threads)
    return CenterlineScores(
        pred_skeleton.count(),
        count_common(pred_skeleton, gt),
        gt_skeleton.count(),
        count_common(gt_skeleton, pred),
    )
