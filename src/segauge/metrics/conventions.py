"""Which HD95 is this? The surface metrics as other tools define them, so that their published numbers can be met.

A tool's convention is a choice of three things: what counts as the surface of a mask, what a distance is measured
between, and how the distances of the two directions are put together. The numbers of two tools on the same pair differ
because of these choices; none of them is an error of measurement, and none is the distance between the two surfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.geometry.cell_distances import CellDistances, cell_distances
from segauge.geometry.distances import SurfaceDistances, measure_surface_distances
from segauge.geometry.masks import PackedMask
from segauge.metrics import surface

Floats = npt.NDArray[np.float64]


class ToolDistances(Protocol):
    """The distances between two masks as a tool measures them, and what it makes of them; None: no such number."""

    def hd(self, percent: float) -> float | None:
        """Return the Hausdorff distance at a percentile, in mm; 100 is the maximum."""

    def assd(self) -> float | None:
        """Return the average symmetric surface distance in mm."""

    def masd(self) -> float | None:
        """Return the mean of the two directions' means in mm."""

    def nsd(self, tolerance_mm: float) -> float | None:
        """Return the normalized surface Dice."""


@dataclass(frozen=True)
class Convention:
    """How one tool measures.

    Attributes:
        key: what `convention=` takes.
        tool: name and version of the package that was followed.
        surface: what it takes as the surface of a mask, and a distance as.
        percentile: how it makes one number of two directions.
        measure: function of the two masks (cut to their common box), the spacing in mm and the number of threads.

    """

    key: str
    tool: str
    surface: str
    percentile: str
    measure: Callable[[PackedMask, PackedMask, Sequence[float], int | None], ToolDistances]


@dataclass(frozen=True, eq=False)
class EdgeDistances:
    """Distances in mm between edge voxels (foreground that shares a face with background), centre to centre."""

    pred_to_gt: Floats
    gt_to_pred: Floats

    @property
    def both(self) -> Floats:
        """The distances of both directions, one after the other."""
        return np.concatenate([self.pred_to_gt, self.gt_to_pred])

    def assd(self) -> float:
        """Return the mean over the edge voxels of both masks."""
        return float(self.both.mean())

    def masd(self) -> float | None:
        """Return nothing: neither MONAI nor MedPy has it."""
        return None


class MonaiDistances(EdgeDistances):
    """What MONAI makes of the distances between edge voxels; it keeps them in 32 bits."""

    def hd(self, percent: float) -> float:
        """Return the larger of the two directions' percentiles, linear between neighbours."""
        return float(max(np.percentile(way, percent) for way in (self.pred_to_gt, self.gt_to_pred)))

    def nsd(self, tolerance_mm: float) -> float:
        """Return the share of the edge voxels of both masks within the tolerance."""
        return float(np.mean(self.both <= np.float32(tolerance_mm)))


class MedpyDistances(EdgeDistances):
    """What MedPy makes of the distances between edge voxels."""

    def hd(self, percent: float) -> float:
        """Return the percentile of both directions together, linear between neighbours."""
        return float(np.percentile(self.both, percent))

    def nsd(self, tolerance_mm: float) -> None:
        """Return nothing: MedPy has none."""
        del tolerance_mm


@dataclass(frozen=True, eq=False)
class SurfaceCellDistances:
    """What surface-distance makes of the distances between surface cells."""

    cells: CellDistances

    def hd(self, percent: float) -> float:
        """Return the larger of the two directed, area-weighted percentiles."""
        return self.cells.hausdorff(percent)

    def assd(self) -> float | None:
        """Return nothing: the package gives the means of the two directions only."""
        return None

    def masd(self) -> float:
        """Return the mean of the two directions' means, which the package gives one by one."""
        return sum(self.cells.mean_distances()) / 2

    def nsd(self, tolerance_mm: float) -> float:
        """Return the share of both surfaces' area within the tolerance."""
        return self.cells.surface_dice(tolerance_mm)


@dataclass(frozen=True, eq=False)
class FaceDistances:
    """What MeshMetrics makes of the distances between the faces of the voxels."""

    distances: SurfaceDistances

    def hd(self, percent: float) -> float:
        """Return the larger of the two directed, area-weighted percentiles."""
        return surface.hausdorff_percentile(self.distances, percent)

    def assd(self) -> float:
        """Return the mean over the area of both surfaces."""
        return surface.assd(self.distances)

    def masd(self) -> float:
        """Return the mean of the two directions' means."""
        return surface.masd(self.distances)

    def nsd(self, tolerance_mm: float) -> float:
        """Return the share of both surfaces' area within the tolerance."""
        return surface.nsd(self.distances, tolerance_mm)


def _monai(pred: PackedMask, gt: PackedMask, spacing: Sequence[float], threads: int | None) -> MonaiDistances:
    del threads
    to_gt, to_pred = (way.astype(np.float32).astype(np.float64) for way in _edge_distances(pred, gt, spacing))
    return MonaiDistances(to_gt, to_pred)


def _medpy(pred: PackedMask, gt: PackedMask, spacing: Sequence[float], threads: int | None) -> MedpyDistances:
    del threads
    return MedpyDistances(*_edge_distances(pred, gt, spacing))


def _edge_distances(pred: PackedMask, gt: PackedMask, spacing: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the distance of each edge voxel to the nearest one of the other mask, from pred and from gt."""
    from scipy.spatial import KDTree

    pred_edge, gt_edge = (_edge_voxels(mask) * np.asarray(spacing) for mask in (pred, gt))
    return np.asarray(KDTree(gt_edge).query(pred_edge)[0]), np.asarray(KDTree(pred_edge).query(gt_edge)[0])


def _edge_voxels(mask: PackedMask) -> npt.NDArray[np.intp]:
    """Return the foreground voxels that share a face with the background; outside the image everything is."""
    voxels = np.pad(mask.unpack(), 1)
    inner = voxels.copy()
    for axis in range(voxels.ndim):
        inner &= np.roll(voxels, 1, axis) & np.roll(voxels, -1, axis)
    return np.argwhere(voxels & ~inner)


def _surface_cells(
    pred: PackedMask, gt: PackedMask, spacing: Sequence[float], threads: int | None
) -> SurfaceCellDistances:
    return SurfaceCellDistances(cell_distances(pred, gt, spacing, threads))


def _voxel_faces(pred: PackedMask, gt: PackedMask, spacing: Sequence[float], threads: int | None) -> FaceDistances:
    return FaceDistances(
        measure_surface_distances(pred, gt, np.diag(np.asarray(spacing)), surface="voxel", threads=threads)
    )


#: The conventions by key.
CONVENTIONS = MappingProxyType(
    {
        convention.key: convention
        for convention in (
            Convention(
                "monai",
                "MONAI 1.6.1",
                "edge voxels (foreground voxels that share a face with the background), centre to centre",
                "the larger of the two directions, linear between neighbouring values, every voxel counts the same",
                _monai,
            ),
            Convention(
                "medpy",
                "MedPy 0.5.2",
                "edge voxels (foreground voxels that share a face with the background), centre to centre",
                "both directions together, linear between neighbouring values, every voxel counts the same",
                _medpy,
            ),
            Convention(
                "surface-distance",
                "surface-distance 0.1 (DeepMind)",
                "blocks of 2 x 2 x 2 voxels that the surface passes, centre to centre",
                "the larger of the two directions, weighted by the area in each block",
                _surface_cells,
            ),
            Convention(
                "meshmetrics",
                "MeshMetrics 0.2.1",
                "the faces of the voxels, to the nearest point of a face; sampled more evenly than by the tool, so "
                "within 3 % or a tenth of the smallest voxel edge of it",
                "the larger of the two directions, weighted by area",
                _voxel_faces,
            ),
        )
    }
)


def check_convention(key: str | None) -> Convention | None:
    """Return a convention by its key, None for our own, or say which there are."""
    if key is None or key == "segauge":
        return None
    if key not in CONVENTIONS:
        known = ", ".join(map(repr, ("segauge", *CONVENTIONS)))
        raise InvalidInput(f"convention: expected one of {known}, got {key!r}.")
    return CONVENTIONS[key]
