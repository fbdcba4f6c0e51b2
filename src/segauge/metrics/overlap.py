"""Overlap metrics, exact from integer counts, and centerline Dice (clDice) of tubular structures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.components import pack_mask, skeletonize_pair
from segauge.geometry.masks import Overlap, PackedMask, PairTable, count_common, tabulate
from segauge.labelmap import as_label_array, as_mask_array, check_same_shape


def confusion(pred: npt.ArrayLike, gt: npt.ArrayLike) -> tuple[int, int, int, int]:
    """Return the voxel counts (tp, fp, fn, tn) of two masks, in any number of dimensions."""
    overlap = binary_overlap(pred, gt)
    return overlap.tp, overlap.fp, overlap.fn, overlap.tn


def dice(pred: npt.ArrayLike, gt: npt.ArrayLike) -> float:
    """Dice coefficient of two masks, 2 TP / (2 TP + FP + FN): 0 to 1, higher is better.

    As in segauge 0.1, two empty masks give 1; `measure` gives no value and the status "absent".

    >>> dice([1, 1, 0], [1, 0, 0])
    0.6666666666666666
    """
    overlap = binary_overlap(pred, gt)
    return _ratio(2 * overlap.tp, 2 * overlap.tp + overlap.fp + overlap.fn, empty=1.0)


def iou(pred: npt.ArrayLike, gt: npt.ArrayLike) -> float:
    """Intersection over union of two masks, TP / (TP + FP + FN): 0 to 1, higher is better.

    As in segauge 0.1, two empty masks give 1; `measure` gives no value and the status "absent".

    >>> iou([1, 1, 0], [1, 0, 0])
    0.5
    """
    overlap = binary_overlap(pred, gt)
    return _ratio(overlap.tp, overlap.tp + overlap.fp + overlap.fn, empty=1.0)


def binary_overlap(pred: npt.ArrayLike, gt: npt.ArrayLike) -> Overlap:
    """Return the counts of two masks (bool, integers by being non-zero, floats of 0 and 1)."""
    pred_array, gt_array = binary_arrays(pred, gt)
    if pred_array.size == 0:
        return Overlap(0, 0, 0, 0, (), (), None)
    if pred_array.ndim not in (2, 3):
        pred_array, gt_array = pred_array.reshape(1, -1), gt_array.reshape(1, -1)
    return foreground_overlap(tabulate(pred_array, gt_array))


def foreground_overlap(table: PairTable) -> Overlap:
    """Return the counts of everything that is not background."""
    return table.overlap(table.pred_labels, table.gt_labels)


def binary_arrays(
    pred: npt.ArrayLike, gt: npt.ArrayLike
) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]:
    """Return two masks as integer arrays of the same shape, without a copy where they are bool or integers."""
    pred_array, gt_array = (_as_integers(mask) for mask in (pred, gt))
    check_same_shape(pred_array, gt_array)
    return pred_array, gt_array


def _as_integers(mask: npt.ArrayLike) -> npt.NDArray[np.integer[Any]]:
    array = np.asarray(mask)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        array = array.view(array.dtype.str.replace("u", "i"))  # of a mask only what is zero matters
    return as_label_array(array if array.dtype.kind in "biu" else as_mask_array(mask), "mask")


def f_beta(overlap: Overlap, beta: float = 1.0) -> float | None:
    """F-beta: weighted harmonic mean of precision and sensitivity, which counts beta times as much; None if empty."""
    if not beta > 0:
        raise InvalidInput(f"beta: expected a positive number, got {beta}.")
    weight = beta * beta
    found = (1 + weight) * overlap.tp
    return _share(found, found + weight * overlap.fn + overlap.fp)


def overlap_iou(overlap: Overlap) -> float | None:
    """TP / (TP + FP + FN); None where both masks are empty."""
    return _share(overlap.tp, overlap.tp + overlap.fp + overlap.fn)


def sensitivity(overlap: Overlap) -> float | None:
    """TP / (TP + FN): share of the ground truth that was found; None where there is no ground truth."""
    return _share(overlap.tp, overlap.tp + overlap.fn)


def precision(overlap: Overlap) -> float | None:
    """TP / (TP + FP): share of the prediction that is right; None where there is no prediction."""
    return _share(overlap.tp, overlap.tp + overlap.fp)


def specificity(overlap: Overlap) -> float | None:
    """TN / (TN + FP): share of the rest of the image that was left alone; None where there is no rest."""
    return _share(overlap.tn, overlap.tn + overlap.fp)


def relative_volume_difference(overlap: Overlap) -> float | None:
    """(V_pred - V_gt) / V_gt: 0 is best, negative means too small; None where there is no ground truth."""
    return _share(overlap.pred_count - overlap.gt_count, overlap.gt_count)


def volumetric_similarity(overlap: Overlap) -> float | None:
    """1 - |V_pred - V_gt| / (V_pred + V_gt): 0 to 1, blind to where the volumes lie; None where both are empty."""
    difference = _share(abs(overlap.pred_count - overlap.gt_count), overlap.pred_count + overlap.gt_count)
    return None if difference is None else 1 - difference


def centroid_distance_mm(overlap: Overlap, linear: npt.NDArray[np.float64]) -> float | None:
    """Distance between the centres of mass in mm; None where a mask is empty."""
    if overlap.pred_count == 0 or overlap.gt_count == 0:
        return None
    pred = np.array(overlap.pred_index_sum) / overlap.pred_count
    gt = np.array(overlap.gt_index_sum) / overlap.gt_count
    return float(np.linalg.norm(linear @ (pred - gt)))


def _ratio(part: float, whole: float, *, empty: float) -> float:
    return empty if whole == 0 else part / whole


def _share(part: float, whole: float) -> float | None:
    return None if whole == 0 else part / whole


@dataclass(frozen=True)
class CenterlineScores:
    """How far the centerlines of two masks run inside the other mask.

    Lengths are counted in voxels of the curve skeleton (`segauge.geometry.components`), as the literature does: the
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
