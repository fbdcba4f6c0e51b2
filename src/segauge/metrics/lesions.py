"""Lesion-wise scores by the written rules of challenges: BraTS 2023 (Dice and HD95 per lesion), autoPET (volumes).

Each function says its rules in full; the numbers are those of the challenges' own evaluation code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.cell_distances import cell_distances
from segauge.geometry.components import (
    Components,
    ComponentTable,
    SharedVoxels,
    component_table,
    dilate,
    label_components,
    pack_mask,
    restrict_components,
    select_components,
    shared_voxels,
)
from segauge.geometry.masks import PackedMask
from segauge.grid import normalize_spacing
from segauge.labelmap import as_mask_array, check_same_shape
from segauge.notebook import NotebookTable, Shown

Int64Array = npt.NDArray[np.int64]
_EDGES, _CORNERS = 2, 3  # neighbours across edges (18 in 3-D) and across corners (26)


@dataclass(frozen=True)
class LesionwiseRules:
    """What BraTS 2023 lets vary between its tasks.

    Attributes:
        dilations: how many times the ground truth is dilated before its lesions are told apart.
        left_out_mm3: lesions of this volume or less are left out.
        penalty_mm: HD95 of a lesion that was missed or invented.

    """

    dilations: int
    left_out_mm3: float
    penalty_mm: float = 374.0

    def __post_init__(self) -> None:
        for name in ("dilations", "left_out_mm3", "penalty_mm"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise InvalidInput(f"{name}: expected a finite number of 0 or more, got {getattr(self, name)!r}.")
        if not hasattr(self.dilations, "__index__"):
            raise InvalidInput(f"dilations: expected a whole number, got {self.dilations!r}.")


#: The tasks of BraTS 2023: adult glioma, Sub-Saharan Africa, paediatric, meningioma, metastases.
LESIONWISE_PRESETS: Mapping[str, LesionwiseRules] = MappingProxyType(
    {
        "brats-2023-gli": LesionwiseRules(dilations=3, left_out_mm3=50.0),
        "brats-2023-ssa": LesionwiseRules(dilations=3, left_out_mm3=50.0),
        "brats-2023-ped": LesionwiseRules(dilations=3, left_out_mm3=50.0),
        "brats-2023-men": LesionwiseRules(dilations=1, left_out_mm3=50.0),
        "brats-2023-met": LesionwiseRules(dilations=1, left_out_mm3=2.0),
    }
)


@dataclass(frozen=True)
class ScoredLesion:
    """One ground-truth lesion.

    Attributes:
        volume_mm3: its volume, undilated.
        kept: False where it is too small to count.
        pred_components: numbers of the predicted components that belong to it; empty where it was missed.
        dice: overlap with all of them; 0 where it was missed.
        hd95_mm: distance to all of them; None where it was missed or left out.

    """

    volume_mm3: float
    kept: bool
    pred_components: tuple[int, ...]
    dice: float
    hd95_mm: float | None


@dataclass(frozen=True)
class RegionScores:
    """The region as a whole, as BraTS scored it before 2023; penalties where one mask is empty.

    Attributes:
        dice: 1 if both masks are empty.
        hd95_mm: 0 if both masks are empty, the penalty if one is.
        sensitivity: share of the region that was predicted; 1 if both masks are empty, 0 if only the ground truth is.
        specificity: share of the rest of the image that was not predicted; 1 if there is no rest.
        gt_volume_mm3: volume of the region.

    """

    dice: float
    hd95_mm: float
    sensitivity: float
    specificity: float
    gt_volume_mm3: float


@dataclass(frozen=True)
class LesionwiseScores(NotebookTable):
    """Mean Dice and HD95 over the lesions of one region, with every lesion that went into them.

    Attributes:
        dice: sum of the kept lesions' Dice, divided by their number plus `fp`; 1 if that is 0.
        hd95_mm: the same of HD95, missed and invented lesions at the penalty; 0 if there are none.
        tp, fn: kept ground-truth lesions that were found and missed.
        fp: predicted components that belong to no lesion.
        lesions: the ground-truth lesions.
        region: the region as a whole.

    """

    dice: float
    hd95_mm: float
    tp: int
    fp: int
    fn: int
    lesions: tuple[ScoredLesion, ...]
    region: RegionScores

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        header = ("lesion", "volume (mm³)", "counts", "Dice", "HD95 (mm)")
        rows = [(i, s.volume_mm3, s.kept, s.dice, s.hd95_mm) for i, s in enumerate(self.lesions, start=1)]
        said = (
            f"Dice {self.dice:.4g}, HD95 {self.hd95_mm:.4g} mm; {self.tp} found, {self.fn} missed, {self.fp} invented"
        )
        return Shown(said, header, rows)


@dataclass(frozen=True)
class LesionwiseMeans:
    """Mean Dice and HD95 over the lesions of one region, as in LesionwiseScores."""

    dice: float
    hd95_mm: float


def lesionwise_scores(
    pred: npt.ArrayLike,
    gt: npt.ArrayLike,
    spacing: float | Sequence[float],
    rules: LesionwiseRules | str = "brats-2023-gli",
) -> LesionwiseScores:
    """Return the lesion-wise scores of one region (whole tumour, core, ...) by the rules of BraTS 2023.

    1. Lesions: the ground truth is dilated `dilations` times with the 18-neighbour element; its voxels in one
       26-connected component of the result are one lesion. The prediction's lesions are its 26-connected components,
       neither dilated nor filtered.
    2. A predicted component that meets a lesion's dilated zone belongs to the lesion, as a whole, and may belong to
       several. A lesion with such a component is found, even without a shared voxel.
    3. A lesion's Dice and HD95 compare the undilated lesion with all its components. HD95 is the larger of the two
       directed, area-weighted 95th percentiles between surface cells (`segauge.geometry.cell_distances`). Missed: Dice
       0, HD95 `penalty_mm`.
    4. Lesions of `left_out_mm3` or less do not count; components that belong to them are not false positives.
    5. Every component that belongs to no lesion is a false positive, whatever its size: Dice 0, HD95 `penalty_mm`.

    Both masks are 3-D arrays of bool or integers (non-zero is inside); `spacing` is in mm; `rules` may be the name of
    a preset.
    """
    pred_array, gt_array = as_mask_array(pred), as_mask_array(gt)
    check_same_shape(pred_array, gt_array)
    return score_lesionwise(pack_mask(pred_array), pack_mask(gt_array), spacing, rules)


def score_lesionwise(
    pred: PackedMask,
    gt: PackedMask,
    spacing: float | Sequence[float],
    rules: LesionwiseRules | str = "brats-2023-gli",
    *,
    image_voxels: int | None = None,
) -> LesionwiseScores:
    """Return the lesion-wise scores of two packed masks (see `lesionwise_scores`).

    The masks may be cut to any box that holds both: no lesion changes by it. Only specificity looks at what is
    outside; give the number of voxels of the whole image for it.
    """
    known = _rules_of(rules)
    pair, lesions, fp = _told_apart(pred, gt, spacing, known, None)
    means = _averages(lesions, fp, known.penalty_mm)
    kept = [lesion for lesion in lesions if lesion.kept]
    tp = sum(bool(lesion.pred_components) for lesion in kept)
    voxels = int(np.prod(gt.shape)) if image_voxels is None else image_voxels
    region = _region_scores(pair, lesions, voxels, known.penalty_mm)
    return LesionwiseScores(means.dice, means.hd95_mm, tp, fp, len(kept) - tp, lesions, region)


def mean_lesionwise(
    pred: PackedMask,
    gt: PackedMask,
    spacing: float | Sequence[float],
    rules: LesionwiseRules | str,
    threads: int | None = None,
) -> LesionwiseMeans:
    """Return the means alone: the same as `score_lesionwise` has, without the time that the region as a whole takes."""
    known = _rules_of(rules)
    _, lesions, fp = _told_apart(pred, gt, spacing, known, threads)
    return _averages(lesions, fp, known.penalty_mm)


#: The rules of autoPET by year. Without lesions in the ground truth, the false negative volume is 0 in 2022; since
#: 2024 neither it nor Dice is defined there.
AUTOPET_RULES = ("autopet-2022", "autopet-2024")


@dataclass(frozen=True)
class FalseVolumes:
    """Volume in ml, and number, of the lesions that share no voxel with the other mask.

    `false_negative_ml` is None where the rules do not define it.
    """

    false_positive_ml: float
    false_negative_ml: float | None
    false_positives: int
    false_negatives: int


def false_volumes(
    pred: npt.ArrayLike,
    gt: npt.ArrayLike,
    spacing: float | Sequence[float],
    connectivity: int | None = 18,
    *,
    rules: str = "autopet-2022",
) -> FalseVolumes:
    """Return the false positive and false negative volume by the rules of autoPET in one year.

    Lesions are 18-connected components. The false positive volume is that of the predicted lesions which share no
    voxel with the ground truth, the false negative volume that of the ground-truth lesions which share no voxel with
    the prediction; one shared voxel saves the whole lesion, touching does not. Any size counts. In ml, 0 or more.
    Without lesions in the ground truth the false negative volume is 0 by "autopet-2022", and None by "autopet-2024".
    """
    if rules not in AUTOPET_RULES:
        raise InvalidInput(f"rules: expected one of {', '.join(map(repr, AUTOPET_RULES))}, got {rules!r}.")
    pred_array, gt_array = as_mask_array(pred), as_mask_array(gt)
    check_same_shape(pred_array, gt_array)
    voxel_volume = float(np.prod(normalize_spacing(spacing, gt_array.ndim)))
    found = measure_false_volumes(pack_mask(pred_array), pack_mask(gt_array), voxel_volume, connectivity)
    return replace(found, false_negative_ml=None) if rules == "autopet-2024" and not gt_array.any() else found


def measure_false_volumes(
    pred: PackedMask, gt: PackedMask, voxel_volume_mm3: float, connectivity: int | None = 18
) -> FalseVolumes:
    """Return the false volumes of two packed masks, cut to any box that holds both (see `false_volumes`)."""
    if len(gt.shape) != 3:
        raise InvalidInput(f"Volumes in ml need 3-D masks, got {len(gt.shape)}-D ones.")
    pair = [label_components(mask, connectivity) for mask in (pred, gt)]
    met = shared_voxels(pair[0], pair[1]).pairs
    volumes, numbers = [], []
    for side, components in enumerate(pair):
        alone = np.delete(component_table(components).voxels, met[:, side])
        volumes.append(float(alone.sum()) * voxel_volume_mm3 / 1000.0)
        numbers.append(len(alone))
    return FalseVolumes(volumes[0], volumes[1], numbers[0], numbers[1])


def _told_apart(
    pred: PackedMask,
    gt: PackedMask,
    spacing: float | Sequence[float],
    rules: LesionwiseRules,
    threads: int | None,
) -> tuple[_Pair, tuple[ScoredLesion, ...], int]:
    """Return the components of both masks, the lesions with their scores, and how many were invented."""
    if len(gt.shape) != 3:
        raise InvalidInput(f"Lesion-wise scores need 3-D masks, got {len(gt.shape)}-D ones.")
    edges = normalize_spacing(spacing, 3)
    zones = label_components(dilate(gt, _EDGES, rules.dilations), _CORNERS)
    pair = _Pair.of(label_components(pred, _CORNERS), restrict_components(zones, gt), edges, threads)
    belonging = shared_voxels(pair.pred, zones).pairs
    fp = len(pair.pred) - len(np.unique(belonging[:, 0]))
    return pair, _scored_lesions(pair, belonging, rules), fp


def _rules_of(rules: LesionwiseRules | str) -> LesionwiseRules:
    if isinstance(rules, LesionwiseRules):
        return rules
    if rules not in LESIONWISE_PRESETS:
        names = ", ".join(map(repr, LESIONWISE_PRESETS))
        raise InvalidInput(f"rules: expected LesionwiseRules or one of {names}, got {rules!r}.")
    return LESIONWISE_PRESETS[rules]


@dataclass(frozen=True, eq=False)
class _Pair:
    """The components of the prediction and the lesions of the ground truth, with their tables and what they share."""

    pred: Components
    gt: Components
    pred_table: ComponentTable
    gt_table: ComponentTable
    shared: SharedVoxels
    spacing: tuple[float, ...]
    threads: int | None

    @classmethod
    def of(cls, pred: Components, gt: Components, spacing: tuple[float, ...], threads: int | None) -> _Pair:
        return cls(pred, gt, component_table(pred), component_table(gt), shared_voxels(pred, gt), spacing, threads)

    @property
    def voxel_mm3(self) -> float:
        return float(np.prod(self.spacing))

    def hd95(self, pred_numbers: Sequence[int], gt_numbers: Sequence[int]) -> float:
        """Return HD95 in mm between some components of the prediction and some lesions, neither of them empty."""
        boxes = np.concatenate([self.pred_table.boxes[list(pred_numbers)], self.gt_table.boxes[list(gt_numbers)]])
        box = np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])
        masks = (select_components(self.pred, pred_numbers, box), select_components(self.gt, gt_numbers, box))
        return cell_distances(*masks, self.spacing, self.threads).hausdorff(95.0)


def _scored_lesions(pair: _Pair, belonging: Int64Array, rules: LesionwiseRules) -> tuple[ScoredLesion, ...]:
    """Return every lesion with its scores; `belonging` holds (predicted component, lesion)."""
    by_lesion = belonging[np.argsort(belonging[:, 1], kind="stable")]
    first = np.searchsorted(by_lesion[:, 1], np.arange(len(pair.gt) + 1)).tolist()
    shared = np.bincount(pair.shared.pairs[:, 1], pair.shared.voxels, minlength=len(pair.gt)).astype(np.int64)
    lesions = []
    for number in range(len(pair.gt)):
        components = by_lesion[first[number] : first[number + 1], 0].tolist()
        gt_voxels = int(pair.gt_table.voxels[number])
        volume = gt_voxels * pair.voxel_mm3
        kept = volume > rules.left_out_mm3
        pred_voxels = int(pair.pred_table.voxels[components].sum())
        dice = 2 * int(shared[number]) / (pred_voxels + gt_voxels)
        hd95_mm = pair.hd95(components, [number]) if kept and components else None
        lesions.append(ScoredLesion(volume, kept, tuple(components), dice, hd95_mm))
    return tuple(lesions)


def _averages(lesions: Sequence[ScoredLesion], fp: int, penalty_mm: float) -> LesionwiseMeans:
    kept = [lesion for lesion in lesions if lesion.kept]
    number = len(kept) + fp
    if number == 0:
        return LesionwiseMeans(1.0, 0.0)
    distances = [penalty_mm if lesion.hd95_mm is None else lesion.hd95_mm for lesion in kept]
    dice = sum(lesion.dice for lesion in kept) / number
    return LesionwiseMeans(dice, (sum(distances) + penalty_mm * fp) / number)


def _region_scores(pair: _Pair, lesions: Sequence[ScoredLesion], image_voxels: int, penalty_mm: float) -> RegionScores:
    pred_voxels, gt_voxels, shared = (
        int(table.voxels.sum()) for table in (pair.pred_table, pair.gt_table, pair.shared)
    )
    volume = gt_voxels * pair.voxel_mm3
    rest = image_voxels - gt_voxels
    specificity = (rest - (pred_voxels - shared)) / rest if rest else 1.0
    if pred_voxels == 0 and gt_voxels == 0:
        return RegionScores(1.0, 0.0, 1.0, specificity, volume)
    if pred_voxels == 0 or gt_voxels == 0:
        return RegionScores(0.0, penalty_mm, 0.0, specificity, volume)
    only = lesions[0] if len(lesions) == 1 and len(lesions[0].pred_components) == len(pair.pred) else None
    if only is not None and only.hd95_mm is not None:
        hd95_mm = only.hd95_mm  # the lesion is the region
    else:
        hd95_mm = pair.hd95(range(len(pair.pred)), range(len(pair.gt)))
    dice = 2 * shared / (pred_voxels + gt_voxels)
    return RegionScores(dice, hd95_mm, shared / gt_voxels, specificity, volume)
