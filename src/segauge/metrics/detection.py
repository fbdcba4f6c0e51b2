"""Detection: which lesions were found, missed and invented.

Voxel overlap says how much of the tumour was covered; the clinician asks whether each tumour was found. Lesions are
connected components; `DetectionRules` says when a predicted lesion answers a ground-truth lesion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.components import ComponentTable, label_components, pack_mask
from segauge.geometry.masks import PackedMask
from segauge.grid import normalize_spacing
from segauge.labelmap import as_mask_array, check_same_shape
from segauge.metrics.matching import (
    VOLUME_ROUNDING,
    Assignment,
    DetectionRules,
    LesionMatching,
    MatchRule,
    match_lesions,
)
from segauge.notebook import NotebookTable, Shown

#: IoU from which a pair of lesions counts for panoptic quality, as it is defined (Kirillov et al. 2019,
#: arXiv:1801.00868). At more than 0.5 no lesion can match two others, whatever the order.
PANOPTIC_IOU = 0.5

#: Borders between lesion sizes in ml (a ball of 0.1 ml is 6 mm across, of 1 ml 12 mm, of 10 ml 27 mm).
SIZE_EDGES_ML = (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Lesion:
    """One lesion of one mask.

    Attributes:
        number: its position in raster order, from 0.
        voxels: its size; `volume_ml` the same in ml, None without a 3-D spacing.
        centroid: mean voxel index along each axis.
        status: of a ground-truth lesion "found", "missed" or "left out"; of a predicted lesion "true",
            "false positive" or "left out".
        partners: numbers of the lesions in the other mask that it is matched with.
        iou: intersection over union with (the union of) its partners, of a found ground-truth lesion; else None.

    """

    number: int
    voxels: int
    volume_ml: float | None
    centroid: tuple[float, ...]
    status: Literal["found", "missed", "left out", "true", "false positive"]
    partners: tuple[int, ...]
    iou: float | None


@dataclass(frozen=True)
class SizeBin:
    """Ground-truth lesions of at least `lower_ml` and less than `upper_ml`: how many, and how many were found."""

    lower_ml: float
    upper_ml: float
    lesions: int
    found: int

    @property
    def recall(self) -> float | None:
        """Share of the lesions that were found; None where there is none."""
        return self.found / self.lesions if self.lesions else None


@dataclass(frozen=True)
class PanopticQuality:
    """Panoptic quality and its parts, with the IoU from which a pair of lesions counts.

    Attributes:
        tp, fp, fn: lesions found, invented and missed at this threshold.
        iou_sum: sum of the IoUs of the found lesions.
        iou_threshold: IoU from which a lesion counts as found.

    >>> print(PanopticQuality(2, 1, 0, 1.5, 0.5))
    PQ 0.6000 (SQ 0.7500, RQ 0.8000) at IoU 0.5

    """

    tp: int
    fp: int
    fn: int
    iou_sum: float
    iou_threshold: float

    @property
    def rq(self) -> float:
        """Recognition quality, tp / (tp + fp / 2 + fn / 2), in [0, 1]; 1 where there are no lesions in either mask."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def sq(self) -> float:
        """Segmentation quality, the mean IoU of the found lesions, in [0, 1].

        Nothing found: 0, or 1 where there are no lesions in either mask.
        """
        if self.tp == 0:
            return 1.0 if self.fp == self.fn == 0 else 0.0
        return self.iou_sum / self.tp

    @property
    def pq(self) -> float:
        """Panoptic quality, `sq * rq`, in [0, 1]."""
        return self.sq * self.rq

    def __str__(self) -> str:
        return f"PQ {self.pq:.4f} (SQ {self.sq:.4f}, RQ {self.rq:.4f}) at IoU {self.iou_threshold:g}"


@dataclass(frozen=True)
class DetectionScores(NotebookTable):
    """How many lesions were found (tp), invented (fp) and missed (fn), and which.

    tp and fn count ground-truth lesions, fp counts predicted lesions. Two results are equal if their counts are.
    `panoptic` has the counts at the IoU threshold of panoptic quality, which is another one than that of detection.
    """

    tp: int
    fp: int
    fn: int
    matching: LesionMatching | None = field(default=None, repr=False, compare=False)
    voxel_volume_mm3: float | None = field(default=None, repr=False, compare=False)
    panoptic: PanopticQuality | None = field(default=None, repr=False, compare=False)

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        header = ("found", "invented", "missed", "precision", "recall", "F1")
        return Shown("", header, [(self.tp, self.fp, self.fn, self.precision, self.recall, self.f1)])

    @property
    def precision(self) -> float:
        """Share of the predicted lesions that are true, tp / (tp + fp), in [0, 1]; 1 where nothing was predicted."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        """Share of the lesions that were found, tp / (tp + fn), in [0, 1]; 1 where there is nothing to find."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        """2 tp / (2 tp + fp + fn), in [0, 1]; 1 where there are no lesions in either mask."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def rq(self) -> float:
        """Recognition quality in [0, 1], at the threshold of `panoptic` (IoU 0.5)."""
        return self._panoptic.rq

    @property
    def sq(self) -> float:
        """Segmentation quality in [0, 1], the mean IoU of the lesions found at the threshold of `panoptic`."""
        return self._panoptic.sq

    @property
    def pq(self) -> float:
        """Panoptic quality, `sq * rq`, in [0, 1], at the threshold of `panoptic` (IoU 0.5)."""
        return self._panoptic.pq

    def gt_lesions(self) -> tuple[Lesion, ...]:
        """Return every ground-truth lesion: how large, found by what, how well."""
        known = self._known
        partners = _partners(known.pairs[:, 1], known.pairs[:, 0], len(known.gt))
        return tuple(
            Lesion(
                number,
                *_size_and_place(known.gt, number, self.voxel_volume_mm3),
                "found" if found else "missed" if kept else "left out",
                partners[number],
                float(iou) if found else None,
            )
            for number, (found, kept, iou) in enumerate(zip(known.gt_found, known.gt_kept, known.gt_iou, strict=True))
        )

    def pred_lesions(self) -> tuple[Lesion, ...]:
        """Return every predicted lesion: how large, and what it answers."""
        known = self._known
        partners = _partners(known.pairs[:, 0], known.pairs[:, 1], len(known.pred))
        return tuple(
            Lesion(
                number,
                *_size_and_place(known.pred, number, self.voxel_volume_mm3),
                "true" if matched else "false positive" if kept else "left out",
                partners[number],
                None,
            )
            for number, (matched, kept) in enumerate(zip(known.pred_matched, known.pred_kept, strict=True))
        )

    def recall_by_size(self, edges_ml: Sequence[float] = SIZE_EDGES_ML) -> tuple[SizeBin, ...]:
        """Return how many lesions of each size were found; the first bin starts at 0, the last one is open."""
        edges = np.asarray(edges_ml, dtype=np.float64)
        if edges.ndim != 1 or not np.all(np.isfinite(edges)) or np.any(np.diff([0.0, *edges]) <= 0):
            raise InvalidInput(f"edges_ml: expected ascending volumes above 0 ml, got {edges_ml!r}.")
        if self.voxel_volume_mm3 is None:
            raise InvalidInput("Lesion volumes need the size of a voxel: pass spacing=(...) in mm with a 3-D image.")
        known = self._known
        borders = [0.0, *edges.tolist(), np.inf]
        place = np.digitize(known.gt.voxels * self.voxel_volume_mm3 / 1000.0, edges * (1.0 - VOLUME_ROUNDING))
        lesions = np.bincount(place[known.gt_kept], minlength=len(borders) - 1)
        found = np.bincount(place[known.gt_found], minlength=len(borders) - 1)
        bins = zip(borders[:-1], borders[1:], lesions.tolist(), found.tolist(), strict=True)
        return tuple(SizeBin(*one) for one in bins)

    @property
    def _panoptic(self) -> PanopticQuality:
        if self.panoptic is None:
            raise InvalidInput("These scores were made from counts alone; detection_scores() also has the IoUs.")
        return self.panoptic

    @property
    def _known(self) -> LesionMatching:
        if self.matching is None:
            raise InvalidInput("These scores were made from counts alone; detection_scores() also keeps the lesions.")
        return self.matching


def detection_scores(
    pred: npt.ArrayLike,
    gt: npt.ArrayLike,
    iou_threshold: float = 0.1,
    connectivity: int | None = None,
    *,
    match: MatchRule = "iou",
    assign: Assignment = "greedy",
    min_volume_ml: float | None = None,
    spacing: float | Sequence[float] | None = None,
    pq_threshold: float = PANOPTIC_IOU,
) -> DetectionScores:
    """Return how many lesions of `gt` are found in `pred`, how many are missed and how many invented.

    Both masks are arrays of bool or integers (non-zero is inside) of the same shape. By default a predicted and a
    ground-truth lesion may match if their IoU is at least `iou_threshold`, and pairs are taken one to one, highest
    IoU first. `DetectionRules` defines the other options; `spacing` (voxel edges in mm) is needed for volumes.
    Panoptic quality and its parts (`pq`, `sq`, `rq`) count pairs from an IoU of `pq_threshold`.

    Raises:
        ShapeMismatch: if the masks differ in shape.

    """
    pred_array, gt_array = as_mask_array(pred), as_mask_array(gt)
    check_same_shape(pred_array, gt_array)
    rules = DetectionRules(match, assign, iou_threshold, connectivity, min_volume_ml)
    volume = None if spacing is None else float(np.prod(normalize_spacing(spacing, gt_array.ndim)))
    return detect_lesions(pack_mask(pred_array), pack_mask(gt_array), rules, volume, pq_threshold)


def detect_lesions(
    pred: PackedMask,
    gt: PackedMask,
    rules: DetectionRules | None = None,
    voxel_volume_mm3: float | None = None,
    pq_threshold: float = PANOPTIC_IOU,
) -> DetectionScores:
    """Return the detection scores of two packed masks of the same shape (cut to any box that holds both).

    The voxel volume counts in 3-D only: an area has no millilitres.
    """
    rules = rules or DetectionRules()
    volume = voxel_volume_mm3 if len(gt.shape) == 3 else None
    components = [label_components(mask, rules.connectivity) for mask in (pred, gt)]
    matching = match_lesions(components[0], components[1], rules, volume)
    strict = replace(rules, match="iou", iou_threshold=pq_threshold)
    same = strict == rules
    panoptic = matching if same else match_lesions(components[0], components[1], strict, volume)
    tp, fp, fn = _counts(panoptic)
    quality = PanopticQuality(tp, fp, fn, float(np.nansum(panoptic.gt_iou)), pq_threshold)
    return DetectionScores(*_counts(matching), matching, volume, quality)


def _counts(matching: LesionMatching) -> tuple[int, int, int]:
    """Return how many lesions were found, invented and missed."""
    tp = int(np.count_nonzero(matching.gt_found))
    fn = int(np.count_nonzero(matching.gt_kept)) - tp
    return tp, int(np.count_nonzero(matching.pred_kept & ~matching.pred_matched)), fn


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _partners(own: npt.NDArray[np.int64], other: npt.NDArray[np.int64], number: int) -> list[tuple[int, ...]]:
    partners: list[list[int]] = [[] for _ in range(number)]
    for mine, theirs in zip(own.tolist(), other.tolist(), strict=True):
        partners[mine].append(theirs)
    return [tuple(members) for members in partners]


def _size_and_place(
    table: ComponentTable, number: int, voxel_volume_mm3: float | None
) -> tuple[int, float | None, tuple[float, ...]]:
    voxels = int(table.voxels[number])
    volume_ml = None if voxel_volume_mm3 is None else voxels * voxel_volume_mm3 / 1000.0
    return voxels, volume_ml, tuple(table.centroids[number].tolist())
