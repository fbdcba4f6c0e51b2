"""Surface metrics: what the distances between two surfaces add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from segauge.errors import EmptyMask, InvalidInput
from segauge.geometry.distances import SurfaceDistances, find_boundary_band, measure_surface_distances
from segauge.geometry.masks import Overlap, PackedMask, count_common, pack, tabulate
from segauge.geometry.patterns import SurfaceKind, check_surface
from segauge.grid import normalize_spacing
from segauge.labelmap import check_same_shape
from segauge.metrics.overlap import binary_arrays, foreground_overlap

Floats = npt.NDArray[np.float64]
Spacing = float | Sequence[float]
HdMode = Literal["directed", "pooled"]
HD_MODES: tuple[str, ...] = get_args(HdMode)

_SORT_WHOLE_BELOW = 4096  # samples; larger sets are narrowed down to one bin of a histogram first
_BINS = 2048
_ROUNDING = 1e-12  # share of the whole area by which a cumulated area may miss a percentile by rounding


def compute_surface_distances(
    pred: npt.ArrayLike,
    gt: npt.ArrayLike,
    spacing: Spacing = 1.0,
    *,
    surface: SurfaceKind = "marching-cubes",
    threads: int | None = None,
) -> SurfaceDistances:
    """Return the distances between the surfaces of two masks, in mm, with the areas they stand for.

    Args:
        pred: predicted mask, 2-D or 3-D, bool or integers (non-zero is foreground).
        gt: ground-truth mask of the same shape.
        spacing: voxel edges in mm, one number or one per axis.
        surface: "marching-cubes" (halfway between voxel centres of different class), "voxel" (the voxels' own faces) or
            "subvoxel" (between the centres where the neighbourhood says that the boundary passes: closest to a
            smooth object).
        threads: how many threads; all cores (or SEGAUGE_NUM_THREADS) if not given.

    Raises:
        EmptyMask: if a mask has no voxel, and so no surface; `surface_metrics` has values for that case.
        ShapeMismatch: if the shapes differ.

    """
    pred_array, gt_array = mask_pair(pred, gt)
    linear = np.diag(normalize_spacing(spacing, pred_array.ndim))
    kind = check_surface(surface)
    masks = _cut_out(pred_array, gt_array, threads)
    if masks is None or not (masks[2].pred_count and masks[2].gt_count):
        empty = "both masks are" if masks is None else "pred is" if not masks[2].pred_count else "gt is"
        raise EmptyMask(
            f"There is no surface to measure: {empty} empty. "
            "surface_metrics() answers for empty masks (both empty: distances 0; one empty: infinity)."
        )
    return measure_surface_distances(masks[0], masks[1], linear, surface=kind, threads=threads)


def surface_metrics(
    pred: npt.ArrayLike,
    gt: npt.ArrayLike,
    spacing: Spacing = 1.0,
    nsd_tolerance: float = 1.0,
    *,
    surface: SurfaceKind = "marching-cubes",
    threads: int | None = None,
) -> dict[str, float]:
    """Return hd, hd95, assd, masd (mm) and nsd (at `nsd_tolerance` mm) of two masks.

    Two empty masks agree: distances 0, nsd 1. If one is empty: distances infinite, nsd 0.
    """
    pred_array, gt_array = mask_pair(pred, gt)
    linear = np.diag(normalize_spacing(spacing, pred_array.ndim))
    kind, tolerance = check_surface(surface), _checked_tolerance(nsd_tolerance)
    masks = _cut_out(pred_array, gt_array, threads)
    if masks is None:
        return {"hd": 0.0, "hd95": 0.0, "assd": 0.0, "masd": 0.0, "nsd": 1.0}
    if not (masks[2].pred_count and masks[2].gt_count):
        return {**dict.fromkeys(("hd", "hd95", "assd", "masd"), float("inf")), "nsd": 0.0}
    sd = measure_surface_distances(masks[0], masks[1], linear, surface=kind, threads=threads)
    return {
        "hd": hausdorff(sd),
        "hd95": hausdorff95(sd),
        "assd": assd(sd),
        "masd": masd(sd),
        "nsd": nsd(sd, tolerance),
    }


def hausdorff(sd: SurfaceDistances) -> float:
    """Hausdorff distance in mm: the largest distance from either surface to the other; 0 is best."""
    return hausdorff_percentile(sd, 100.0)


def hausdorff95(sd: SurfaceDistances, mode: HdMode = "directed") -> float:
    """95 % Hausdorff distance in mm (see `hausdorff_percentile`); 0 is best."""
    return hausdorff_percentile(sd, 95.0, mode)


def hausdorff_percentile(sd: SurfaceDistances, percent: float, mode: HdMode = "directed") -> float:
    """Percentile of the surface distances in mm, weighted by area; 0 is best, 100 % is the maximum.

    The p-percentile is the smallest distance within which at least p % of the surface's area lies. "directed": the
    larger of the two directions' percentiles; "pooled": the percentile of both directions together.
    """
    if not 0 < percent <= 100:
        raise InvalidInput(f"percent: expected more than 0 and at most 100, got {percent}.")
    if mode not in HD_MODES:
        raise InvalidInput(f"hd mode: expected one of {', '.join(map(repr, HD_MODES))}, got {mode!r}.")
    if mode == "pooled":
        return weighted_percentile(*sd.both, percent)
    return max(weighted_percentile(sd.d_pg, sd.w_pg, percent), weighted_percentile(sd.d_gp, sd.w_gp, percent))


def assd(sd: SurfaceDistances) -> float:
    """Average symmetric surface distance in mm: the mean over the area of both surfaces together; 0 is best."""
    return _weighted_mean([(sd.d_pg, sd.w_pg), (sd.d_gp, sd.w_gp)])


def masd(sd: SurfaceDistances) -> float:
    """Mean average surface distance in mm: the mean of the two directions' area-weighted means; 0 is best."""
    return (_weighted_mean([(sd.d_pg, sd.w_pg)]) + _weighted_mean([(sd.d_gp, sd.w_gp)])) / 2


def nsd(sd: SurfaceDistances, tolerance: float) -> float:
    """Normalized surface Dice: share of both surfaces' area within `tolerance` mm of the other; 0 to 1, 1 is best."""
    return float(nsd_curve(sd, [tolerance])[0])


def nsd_curve(sd: SurfaceDistances, tolerances: Sequence[float] | Floats) -> Floats:
    """Return the normalized surface Dice at each of several tolerances in mm."""
    limits = np.array([_checked_tolerance(tolerance) for tolerance in tolerances]) + sd.rounding_mm
    order = np.argsort(limits, kind="stable")
    whole = sd.w_pg.sum() + sd.w_gp.sum()
    within = _area_within(sd.d_pg, sd.w_pg, limits[order]) + _area_within(sd.d_gp, sd.w_gp, limits[order])
    curve = np.empty(len(limits))
    curve[order] = np.minimum(within / whole, 1.0)
    return curve


def boundary_iou(
    pred: npt.ArrayLike,
    gt: npt.ArrayLike,
    spacing: Spacing = 1.0,
    width_mm: float = 1.0,
    *,
    surface: SurfaceKind = "marching-cubes",
    threads: int | None = None,
) -> float:
    """Boundary IoU: intersection over union of the parts of both masks within `width_mm` of their own surface.

    0 to 1, 1 is best; two empty masks: 1; one empty: 0; no voxel centre of either mask that near to its surface: 1
    if the masks are equal, 0 if not.
    """
    pred_array, gt_array = mask_pair(pred, gt)
    linear = np.diag(normalize_spacing(spacing, pred_array.ndim))
    kind, width = check_surface(surface), _checked_tolerance(width_mm)
    masks = _cut_out(pred_array, gt_array, threads)
    if masks is None:
        return 1.0
    bands = [find_boundary_band(mask, linear, width, surface=kind, threads=threads) for mask in masks[:2]]
    share = band_iou(bands[0], bands[1])
    return share if share is not None else float(masks[2].fp + masks[2].fn == 0)


def band_iou(pred_band: PackedMask, gt_band: PackedMask) -> float | None:
    """Intersection over union of two boundary bands; None where both are empty."""
    common = count_common(pred_band, gt_band)
    union = pred_band.count() + gt_band.count() - common
    return None if union == 0 else common / union


def weighted_percentile(values: Floats, weights: Floats, percent: float) -> float:
    """Return the smallest value such that at least `percent` % of the weight lies at or below it."""
    if percent == 100:
        return float(values.max())
    needed = weights.sum() * (percent / 100 - _ROUNDING)
    below = 0.0
    top = float(values.max())
    if len(values) > _SORT_WHOLE_BELOW and top > 0:
        bins = np.minimum((values * (_BINS / top)).astype(np.int64), _BINS - 1)
        cumulated = np.cumsum(np.bincount(bins, weights, minlength=_BINS))
        chosen = min(int(np.searchsorted(cumulated, needed)), _BINS - 1)
        below = float(cumulated[chosen - 1]) if chosen else 0.0
        values, weights = values[bins == chosen], weights[bins == chosen]
    order = np.argsort(values, kind="stable")
    reached = below + np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(reached, needed)), len(order) - 1)]])


def _area_within(distances: Floats, areas: Floats, limits: Floats) -> Floats:
    """Return the area at or below each of the ascending limits."""
    if len(limits) == 1:
        return np.array([areas[distances <= limits[0]].sum()])
    slots = np.searchsorted(limits, distances, side="left")
    per_slot = np.bincount(slots, areas, minlength=len(limits) + 1).astype(np.float64)
    return np.cumsum(per_slot)[: len(limits)]


def _weighted_mean(parts: Sequence[tuple[Floats, Floats]]) -> float:
    # a plain sum of products instead of a dot product: BLAS would split it by the number of its threads
    total = sum(float((distances * areas).sum()) for distances, areas in parts)
    return total / sum(float(areas.sum()) for _, areas in parts)


def _checked_tolerance(tolerance: float) -> float:
    if not 0 <= tolerance < float("inf"):
        raise InvalidInput(f"tolerance: expected a distance of 0 mm or more, got {tolerance}.")
    return float(tolerance)


def mask_pair(pred: npt.ArrayLike, gt: npt.ArrayLike) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    """Return two masks of one shape, 2-D or 3-D, as arrays of 0 and 1, or say what is wrong with them."""
    pred_array, gt_array = binary_arrays(pred, gt)
    check_same_shape(pred_array, gt_array)
    if pred_array.ndim not in (2, 3):
        raise InvalidInput(f"Surfaces are measured in 2-D and 3-D, got {pred_array.ndim}-D masks.")
    return pred_array, gt_array


def _cut_out(
    pred: npt.NDArray[np.integer], gt: npt.NDArray[np.integer], threads: int | None
) -> tuple[PackedMask, PackedMask, Overlap] | None:
    """Return both masks cut to their common box, and their counts; None where both are empty."""
    if pred.size == 0:
        return None
    table = tabulate(pred, gt, threads=threads)
    overlap = foreground_overlap(table)
    if overlap.box is None:
        return None
    masks = [
        pack(array, labels, overlap.box, threads=threads)
        for array, labels in ((pred, table.pred_labels), (gt, table.gt_labels))
    ]
    return masks[0], masks[1], overlap
