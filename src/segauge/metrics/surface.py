"""Surface metrics: what the distances between two surfaces add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from segauge.errors import EmptyMask, InvalidInput
from segauge.geometry.distances import SurfaceDistances, find_boundary_bands, measure_surface_distances
from segauge.geometry.engine import engine
from segauge.geometry.masks import PackedMask, count_common, cut_out
from segauge.geometry.patterns import SurfaceKind, check_surface
from segauge.grid import normalize_spacing
from segauge.labelmap import check_same_shape, is_several
from segauge.metrics.overlap import binary_arrays

Floats = npt.NDArray[np.float64]
Spacing = float | Sequence[float]
HdMode = Literal["directed", "pooled"]
HD_MODES: tuple[str, ...] = get_args(HdMode)

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
    masks = cut_out(pred_array, gt_array, threads=threads)
    if masks is None or not (masks.pred_count and masks.gt_count):
        empty = "both masks are" if masks is None else "pred is" if not masks.pred_count else "gt is"
        raise EmptyMask(
            f"There is no surface to measure: {empty} empty. "
            "surface_metrics() answers for empty masks (both empty: distances 0; one empty: infinity)."
        )
    return measure_surface_distances(masks.pred, masks.gt, linear, surface=kind, threads=threads)


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

    As in segauge 0.1, two empty masks agree: distances 0, nsd 1. If one is empty: distances infinite, nsd 0. `measure`
    has the rule of today: no value and a status (see the page "Definitions").
    """
    pred_array, gt_array = mask_pair(pred, gt)
    linear = np.diag(normalize_spacing(spacing, pred_array.ndim))
    kind, tolerance = check_surface(surface), check_tolerance(nsd_tolerance)
    masks = cut_out(pred_array, gt_array, threads=threads)
    if masks is None:
        return {"hd": 0.0, "hd95": 0.0, "assd": 0.0, "masd": 0.0, "nsd": 1.0}
    if not (masks.pred_count and masks.gt_count):
        return dict(OF_ONE_EMPTY)
    sd = measure_surface_distances(masks.pred, masks.gt, linear, surface=kind, threads=threads)
    return values_of(sd, tolerance)


#: What `surface_metrics` answers where one of the masks is empty.
OF_ONE_EMPTY = {**dict.fromkeys(("hd", "hd95", "assd", "masd"), math.inf), "nsd": 0.0}


def values_of(sd: SurfaceDistances, tolerance: float, mode: HdMode = "directed") -> dict[str, float]:
    """Return hd, hd95, assd, masd (mm) and nsd of distances that were computed before."""
    distances = {"hd": hausdorff(sd), "hd95": hausdorff95(sd, mode), "assd": assd(sd), "masd": masd(sd)}
    return {**distances, "nsd": nsd(sd, tolerance)}


def hd(pred: npt.ArrayLike, gt: npt.ArrayLike, spacing: Spacing = 1.0) -> float:
    """Return the Hausdorff distance of two masks in mm: the largest distance from either surface to the other.

    0 is best. `hausdorff` takes distances that were computed before; `measure` has all metrics of all structures.

    Raises:
        EmptyMask: if a mask has no voxel, and so no surface.

    >>> import numpy as np
    >>> pred, gt = np.zeros((2, 9, 9, 9), dtype=bool)
    >>> pred[2:5, 2:5, 2:5] = gt[2:5, 2:5, 4:7] = True
    >>> hd(pred, gt, spacing=(1.0, 1.0, 2.5))
    5.0

    """
    return hausdorff(compute_surface_distances(pred, gt, spacing))


def hd95(pred: npt.ArrayLike, gt: npt.ArrayLike, spacing: Spacing = 1.0) -> float:
    """Return the 95 % Hausdorff distance of two masks in mm (see `hausdorff_percentile`); 0 is best.

    Raises:
        EmptyMask: if a mask has no voxel, and so no surface.

    >>> import numpy as np
    >>> pred, gt = np.zeros((2, 9, 9, 9), dtype=bool)
    >>> pred[2:5, 2:5, 2:5] = gt[2:5, 2:5, 4:7] = True
    >>> round(hd95(pred, gt, spacing=(1.0, 1.0, 2.5)), 2)
    4.79

    """
    return hausdorff95(compute_surface_distances(pred, gt, spacing))


def hausdorff(sd: SurfaceDistances) -> float:
    """Hausdorff distance in mm: the largest distance from either surface to the other; 0 is best."""
    return hausdorff_percentile(sd, 100.0)


def hausdorff95(sd: SurfaceDistances, mode: HdMode = "directed") -> float:
    """95 % Hausdorff distance in mm (see `hausdorff_percentile`); 0 is best."""
    return hausdorff_percentile(sd, 95.0, mode)


def hausdorff_percentile(sd: SurfaceDistances, percent: float, mode: HdMode = "directed") -> float:
    """Percentile of the surface distances in mm, weighted by area; 0 is best, 100 % is the maximum.

    The p-percentile is the smallest distance within which at least p % of the surface's area lies. "directed": the
    larger of the two directions' percentiles; "pooled": the percentile of both directions together. The maximum is
    that over all points of both surfaces, exact to a millionth of the shortest voxel edge; lower percentiles are those
    of the samples.
    """
    if not 0 < percent <= 100:
        raise InvalidInput(f"percent: expected more than 0 and at most 100, got {percent}.")
    check_hd_mode(mode)
    if percent == 100:
        largest = engine().largest
        return float(max(largest(sd.d_pg), largest(sd.d_gp), sd.max_pg, sd.max_gp))
    if mode == "pooled":
        return weighted_percentile(*sd.both, percent)
    found = weighted_percentile(sd.d_pg, sd.w_pg, percent)
    if engine().weight_within(sd.d_gp, sd.w_gp, found) >= sd.area_gt * (percent / 100 - _ROUNDING):
        return found  # the other direction's is no larger, and to see that takes less time than to find it
    return max(found, weighted_percentile(sd.d_gp, sd.w_gp, percent))


def assd(sd: SurfaceDistances | npt.ArrayLike, gt: npt.ArrayLike | None = None, spacing: Spacing = 1.0) -> float:
    """Average symmetric surface distance in mm: the mean over the area of both surfaces together; 0 is best.

    Of two masks, `assd(pred, gt, spacing)`, or of distances that were computed before, `assd(distances)`.
    """
    sd = _distances_of(sd, gt, spacing)
    (area_pred, moment_pred), (area_gt, moment_gt) = sd.totals
    return (moment_pred + moment_gt) / (area_pred + area_gt)


def masd(sd: SurfaceDistances | npt.ArrayLike, gt: npt.ArrayLike | None = None, spacing: Spacing = 1.0) -> float:
    """Mean average surface distance in mm: the mean of the two directions' area-weighted means; 0 is best.

    Of two masks, `masd(pred, gt, spacing)`, or of distances that were computed before, `masd(distances)`.
    """
    sd = _distances_of(sd, gt, spacing)
    (area_pred, moment_pred), (area_gt, moment_gt) = sd.totals
    return (moment_pred / area_pred + moment_gt / area_gt) / 2


def _distances_of(
    given: SurfaceDistances | npt.ArrayLike, gt: npt.ArrayLike | None, spacing: Spacing
) -> SurfaceDistances:
    if isinstance(given, SurfaceDistances):
        return given
    if gt is None:
        raise InvalidInput("Expected two masks, pred and gt, or the distances that compute_surface_distances gives.")
    return compute_surface_distances(given, gt, spacing)


def nsd(sd: SurfaceDistances, tolerance: float) -> float:
    """Normalized surface Dice: share of both surfaces' area within `tolerance` mm of the other; 0 to 1, 1 is best."""
    limit = check_tolerance(tolerance) + sd.rounding_mm
    kernel = engine()
    within = kernel.weight_within(sd.d_pg, sd.w_pg, limit) + kernel.weight_within(sd.d_gp, sd.w_gp, limit)
    return min(float(within) / (sd.area_pred + sd.area_gt), 1.0)


def nsd_curve(sd: SurfaceDistances, tolerances: Iterable[float]) -> Floats:
    """Return the normalized surface Dice at each of several tolerances in mm."""
    limits = np.array(check_tolerances(tolerances)) + sd.rounding_mm
    order = np.argsort(limits, kind="stable")
    whole = sd.area_pred + sd.area_gt
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
    kind, width = check_surface(surface), check_tolerance(width_mm)
    masks = cut_out(pred_array, gt_array, threads=threads)
    if masks is None:
        return 1.0
    share = band_iou(*find_boundary_bands(masks.pred, masks.gt, linear, width, surface=kind, threads=threads))
    if share is not None:
        return share
    return float(count_common(masks.pred, masks.gt) == masks.pred_count == masks.gt_count)


def band_iou(pred_band: PackedMask, gt_band: PackedMask) -> float | None:
    """Intersection over union of two boundary bands; None where both are empty."""
    common = count_common(pred_band, gt_band)
    union = pred_band.count() + gt_band.count() - common
    return None if union == 0 else common / union


def weighted_percentile(values: Floats, weights: Floats, percent: float) -> float:
    """Return the smallest value such that at least `percent` % of the weight lies at or below it."""
    if percent == 100:
        return float(engine().largest(values))
    return float(engine().weighted_quantile(values, weights, percent / 100 - _ROUNDING))


def _area_within(distances: Floats, areas: Floats, limits: Floats) -> Floats:
    """Return the area at or below each of the ascending limits."""
    slots = np.searchsorted(limits, distances, side="left")
    per_slot = np.bincount(slots, areas, minlength=len(limits) + 1).astype(np.float64)
    return np.cumsum(per_slot)[: len(limits)]


def check_tolerance(tolerance: float, owner: str = "tolerance") -> float:
    """Return a tolerance in mm, or say what is wrong with it."""
    if not (isinstance(tolerance, (int, float, np.integer, np.floating)) and 0 <= tolerance < math.inf):
        raise InvalidInput(f"{owner}: expected a distance of 0 mm or more, got {tolerance!r}.")
    return float(tolerance)


def check_tolerances(tolerances: Iterable[float], owner: str = "tolerances") -> tuple[float, ...]:
    """Return several tolerances in mm, or say what is wrong with them."""
    if not is_several(tolerances):
        raise InvalidInput(f"{owner}: expected several distances in mm, such as (0, 1, 2), got {tolerances!r}.")
    return tuple(check_tolerance(tolerance, owner) for tolerance in tolerances)


def check_hd_mode(mode: str) -> HdMode:
    """Return how percentiles of the Hausdorff distance are taken, or say which ways there are."""
    if mode not in HD_MODES:
        raise InvalidInput(f"hd mode: expected one of {', '.join(map(repr, HD_MODES))}, got {mode!r}.")
    return mode  # type: ignore[return-value]


def mask_pair(pred: npt.ArrayLike, gt: npt.ArrayLike) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    """Return two masks of one shape, 2-D or 3-D, as arrays of 0 and 1, or say what is wrong with them."""
    pred_array, gt_array = binary_arrays(pred, gt)
    check_same_shape(pred_array, gt_array)
    if pred_array.ndim not in (2, 3):
        raise InvalidInput(f"Surfaces are measured in 2-D and 3-D, got {pred_array.ndim}-D masks.")
    return pred_array, gt_array
