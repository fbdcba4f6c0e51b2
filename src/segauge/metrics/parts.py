"""StructureParts: all that is measured of one structure of one pair, each part once and only when asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.geometry.distances import SurfaceDistances, find_boundary_bands, measure_surface_distances
from segauge.geometry.masks import Overlap, PackedMask, pack
from segauge.geometry.patterns import SurfaceKind
from segauge.geometry.subvoxel import are_at_right_angles
from segauge.metrics.conventions import Convention, ToolDistances
from segauge.metrics.detection import DetectionScores, PanopticQuality, detect_lesions
from segauge.metrics.lesions import FalseVolumes, LesionwiseMeans, mean_lesionwise, measure_false_volumes
from segauge.metrics.matching import DetectionRules
from segauge.metrics.noise import NoiseFloor, noise_floor
from segauge.metrics.overlap import CenterlineScores, measure_centerlines
from segauge.metrics.surface import HdMode
from segauge.scores import MetricInfo, Status

LabelArray = npt.NDArray[np.integer[Any]]
#: The first voxel of a box, and the one behind its last.
Box = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Options:
    """How to measure; the same for all structures of a pair but for the tolerance.

    Attributes:
        surface: which surface of a mask distances are measured between.
        hd: Hausdorff percentiles as the larger of the two directions ("directed") or of both together ("pooled").
        detection: which lesions count, and when one counts as found.
        tolerance_mm: what counts as agreement for NSD, and the width of the boundary for boundary IoU.
        threads: number of threads; None for all cores.
        convention: the tool whose way to measure surfaces is followed; None for our own.

    """

    surface: SurfaceKind = "marching-cubes"
    hd: HdMode = "directed"
    detection: DetectionRules = field(default_factory=DetectionRules)
    tolerance_mm: float = 1.0
    threads: int | None = None
    convention: Convention | None = None


@dataclass(frozen=True, eq=False)
class StructureParts:
    """One structure of a pair of label arrays: its counts, and lazily its masks, surfaces and lesions.

    `linear` holds the voxel steps in mm as columns, `ignore` the ground-truth label that counts for nothing.
    """

    pred: LabelArray
    gt: LabelArray
    pred_labels: tuple[int, ...]
    gt_labels: tuple[int, ...]
    ignore: int | None
    linear: npt.NDArray[np.float64]
    overlap: Overlap
    options: Options

    @cached_property
    def status(self) -> Status:
        """Whether the structure is in both masks, in one, or in none."""
        return Status.of(in_pred=self.overlap.pred_count > 0, in_gt=self.overlap.gt_count > 0)

    @cached_property
    def voxel_volume_mm3(self) -> float:
        """Volume of a voxel in mm³ (area in mm² in 2-D)."""
        return float(abs(np.linalg.det(self.linear)))

    @cached_property
    def ignored(self) -> PackedMask | None:
        """The ignored voxels in and around the box, None if there are none."""
        if self.ignore is None:
            return None
        mask = self._packed(self.gt, (self.ignore,))
        return mask if mask.count() else None

    @cached_property
    def pred_mask(self) -> PackedMask:
        """The predicted mask, cut to the box of both."""
        return self._counted(self._packed(self.pred, self.pred_labels))

    @cached_property
    def gt_mask(self) -> PackedMask:
        """The ground-truth mask, cut to the box of both."""
        return self._counted(self._packed(self.gt, self.gt_labels))

    @cached_property
    def distances(self) -> SurfaceDistances | None:
        """The distances between both surfaces; None where a mask is empty, or its surface is nowhere counted."""
        if self.status is not Status.PRESENT:
            return None
        distances = measure_surface_distances(
            self.pred_mask,
            self.gt_mask,
            self.linear,
            surface=self.options.surface,
            ignore=self.ignored,
            threads=self.options.threads,
        )
        return distances if len(distances.d_pg) and len(distances.d_gp) else None

    @cached_property
    def noise(self) -> NoiseFloor | None:
        """What moving the voxel grid does to the metrics; both masks must be there.

        None where they cannot be drawn again: beside ignored voxels nobody knows the objects, and on a sheared grid
        the drawn ones would have another shape.
        """
        if self.ignored is not None or not are_at_right_angles(self.linear):
            return None
        return noise_floor(
            self.pred_mask.unpack(),
            self.gt_mask.unpack(),
            np.linalg.norm(self.linear, axis=0).tolist(),
            self.options.tolerance_mm,
            surface=self.options.surface,
            hd=self.options.hd,
            threads=self.options.threads,
        )

    @cached_property
    def tool_distances(self) -> ToolDistances | None:
        """The distances as the tool that is followed measures them; None where a mask is empty, or none is followed."""
        if self.status is not Status.PRESENT or self.options.convention is None:
            return None
        spacing = np.linalg.norm(self.linear, axis=0).tolist()
        return self.options.convention.measure(self.pred_mask, self.gt_mask, spacing, self.options.threads)

    @cached_property
    def lesions(self) -> DetectionScores | None:
        """Which lesions were found; None where there is none in either mask."""
        if self.status is Status.ABSENT:
            return None
        volume = self.voxel_volume_mm3 if self.gt.ndim == 3 else None
        return detect_lesions(self.pred_mask, self.gt_mask, self.options.detection, volume)

    def panoptic(self, iou_threshold: float) -> PanopticQuality | None:
        """Return panoptic quality and its parts at an IoU threshold; None where there is no lesion in either mask."""
        if self.lesions is None or self.lesions.panoptic is None:
            return None
        if iou_threshold == self.lesions.panoptic.iou_threshold:
            return self.lesions.panoptic
        if iou_threshold not in self._panoptic:
            volume = self.voxel_volume_mm3 if self.gt.ndim == 3 else None
            scores = detect_lesions(self.pred_mask, self.gt_mask, self.options.detection, volume, iou_threshold)
            self._panoptic[iou_threshold] = scores.panoptic
        return self._panoptic[iou_threshold]

    @cached_property
    def _panoptic(self) -> dict[float, PanopticQuality | None]:
        return {}

    @cached_property
    def false_volumes(self) -> FalseVolumes | None:
        """Volume of lesions that nothing of the other mask touches; None where there is no lesion, or no volume."""
        if self.status is Status.ABSENT or self.gt.ndim != 3:
            return None
        return measure_false_volumes(self.pred_mask, self.gt_mask, self.voxel_volume_mm3)

    def lesionwise(self, rules: str) -> LesionwiseMeans | None:
        """Return the lesion-wise means by a challenge's rules; None where there is no lesion in either mask."""
        if self.status is Status.ABSENT:
            return None
        if rules not in self._lesionwise:
            spacing = tuple(float(edge) for edge in np.linalg.norm(self.linear, axis=0))
            self._lesionwise[rules] = mean_lesionwise(
                self.pred_mask, self.gt_mask, spacing, rules, self.options.threads
            )
        return self._lesionwise[rules]

    @cached_property
    def _lesionwise(self) -> dict[str, LesionwiseMeans]:
        return {}

    @cached_property
    def centerlines(self) -> CenterlineScores | None:
        """How far each centerline runs inside the other mask; None where there is neither."""
        if self.status is Status.ABSENT:
            return None
        return measure_centerlines(self.pred_mask, self.gt_mask, self.options.threads)

    def bands(self, width_mm: float) -> tuple[PackedMask, PackedMask]:
        """Return the voxels of each mask within a distance of the mask's own surface.

        Beside ignored voxels those that lie within it whether all of these belong to the mask or none: where a mask
        merely ends at ignored voxels, nobody knows of a boundary.
        """
        if self.ignore is None or self.ignored is None:
            return self._bands(self.pred_mask, self.gt_mask, width_mm)
        box = self._box_with(self._steps_within(width_mm))
        pred, gt = self._packed(self.pred, self.pred_labels, box), self._packed(self.gt, self.gt_labels, box)
        ignored = self._packed(self.gt, (self.ignore,), box)
        without = self._bands(pred.without(ignored), gt.without(ignored), width_mm)
        with_all = self._bands(_union(pred, ignored), _union(gt, ignored), width_mm)
        first, second = (band.without(band.without(other)) for band, other in zip(without, with_all, strict=True))
        return first, second

    def _bands(self, pred: PackedMask, gt: PackedMask, width_mm: float) -> tuple[PackedMask, PackedMask]:
        return find_boundary_bands(
            pred, gt, self.linear, width_mm, surface=self.options.surface, threads=self.options.threads
        )

    def _packed(self, labels: LabelArray, values: tuple[int, ...], box: Box | None = None) -> PackedMask:
        return pack(labels, values, self._box if box is None else box, threads=self.options.threads)

    @property
    def _box(self) -> Box:
        """The box of both masks; with one voxel more around it where ignored voxels next to them matter."""
        return self._box_with((0 if self.ignore is None else 1,) * self.gt.ndim)

    def _box_with(self, more: Sequence[int]) -> Box:
        """Return the box of both masks with so many voxels more on every side, as far as the image goes."""
        if self.overlap.box is None:
            raise AssertionError("parts of an absent structure are never asked for")
        start, stop = self.overlap.box
        return (
            tuple(max(0, first - steps) for first, steps in zip(start, more, strict=True)),
            tuple(min(size, last + steps) for last, steps, size in zip(stop, more, self.gt.shape, strict=True)),
        )

    def _steps_within(self, width_mm: float) -> list[int]:
        """Return how many voxels beyond the box what is near may lie: the width, and a cell at each end."""
        per_mm = np.linalg.norm(np.linalg.inv(self.linear), axis=1)
        return [math.ceil(min(width_mm * steps, size)) + 2 for steps, size in zip(per_mm, self.gt.shape, strict=True)]

    def _counted(self, mask: PackedMask) -> PackedMask:
        return mask if self.ignored is None else mask.without(self.ignored)


def _union(mask: PackedMask, other: PackedMask) -> PackedMask:
    voxels = mask.unpack() | other.unpack()
    return pack(voxels.view(np.uint8), (1,), ((0,) * voxels.ndim, voxels.shape))


Function = Callable[[StructureParts], float | None]

SHARE = (0.0, 1.0)
DISTANCE = (0.0, math.inf)
NUMBER = r"(\d+(?:\.\d+)?)"


@dataclass(frozen=True)
class MetricFamily:
    """Metrics that differ in one part of their key, such as hd90 and hd95, or nsd@1 and nsd@2.5.

    `make` raises a ValueError, whose words say what was expected, for a part that no metric can have.
    """

    pattern: re.Pattern[str]
    example: str
    make: Callable[[str], MetricInfo]


def number_above_0(text: str, most: float = math.inf) -> float:
    """Return the number in a key; one that no case could be measured by must not become a failure of every case."""
    value = float(text)
    if not 0.0 < value <= most:
        raise ValueError(f"expected a number above 0{'' if math.isinf(most) else f' and at most {most:g}'} in it")
    return value


def when_present(function: Function, otherwise: float | None = None) -> Function:
    """Return a function that is asked only where both masks have voxels; one empty mask gives `otherwise`."""

    def value(parts: StructureParts) -> float | None:
        if parts.status is Status.PRESENT:
            return function(parts)
        return None if parts.status is Status.ABSENT else otherwise

    return value
