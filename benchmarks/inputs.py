"""The arrays that are measured: real label maps next to the project, and how a structure is cut out of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.tools import Case, Files, Pair
from segauge.geometry.masks import tabulate
from segauge.grid import Grid
from segauge.phantoms import perturbed, scene

PROJECT = Path(__file__).resolve().parent.parent
TOLERANCE_MM = 1.0

_KIDNEY_STRUCTURES = {"kidney": (1,), "tumor": (2,), "cyst": (3,)}
_KIDNEY_REGIONS = {"kidney+masses": (1, 2, 3), "masses": (2, 3)}
_HEAD_AND_NECK = (
    *("brain", "lung-left", "lung-right", "mandible", "spinal-canal", "parotid-left", "parotid-right"),
    *("submandibular-left", "submandibular-right", "orbit-left", "orbit-right", "brainstem", "spinal-cord"),
    *("optic-nerve-left", "optic-nerve-right", "lacrimal-left", "lacrimal-right", "lens-left", "lens-right"),
    *("cochlea-left", "cochlea-right"),
)


@dataclass(frozen=True)
class CaseFiles:
    """Where the two label maps of a case lie, and which structures (and regions, unions of them) they hold."""

    name: str
    pred: str
    gt: str
    structures: Mapping[str, tuple[int, ...]]
    regions: Mapping[str, tuple[int, ...]]
    one_by_one: bool = True

    def files(self, folder: Path) -> Files:
        """Return the two files below the folder of the reference data."""
        return Files((folder / self.pred, folder / self.gt))


def _kits(number: int, reader: int) -> CaseFiles:
    return CaseFiles(
        f"kits-{number}",
        f"kits23/reader{reader}/case_{number:05d}.nii.gz",
        f"kits23/reference/case_{number:05d}.nii.gz",
        _KIDNEY_STRUCTURES,
        _KIDNEY_REGIONS,
    )


#: The cases by name; the first is the pair that the promises of speed were made for. Of the 120 labels no structure is
#: timed on its own: their peers are looped over the whole case.
CASES = {
    case.name: case
    for case in (
        CaseFiles(
            "kits-2",
            "../kits23_readers/reader1/case_00002.nii.gz",
            "../kits23_readers/reference/case_00002.nii.gz",
            _KIDNEY_STRUCTURES,
            _KIDNEY_REGIONS,
        ),
        _kits(66, 1),
        _kits(116, 2),
        CaseFiles(
            "kits-151-giant",
            "kits23_giant/case_00151_perturbed.nii.gz",
            "kits23_giant/case_00151_reference.nii.gz",
            _KIDNEY_STRUCTURES,
            _KIDNEY_REGIONS,
        ),
        CaseFiles(
            "tcia-21",
            "tcia/0522c0727a_radiographer_21labels.nii.gz",
            "tcia/0522c0727a_oncologist_21labels.nii.gz",
            {name: (label,) for label, name in enumerate(_HEAD_AND_NECK, start=1)},
            {},
        ),
        CaseFiles(
            "totalseg-120",
            "many_labels/totalseg120_perturbed.nii.gz",
            "many_labels/totalseg120_reference.nii.gz",
            {f"label {label}": (label,) for label in range(1, 121)},
            {},
            one_by_one=False,
        ),
    )
}


def case_folder() -> Path | None:
    """Return the folder of the big pairs in `../shared` (or in the folder that SEGAUGE_SHARED names), or None."""
    shared = Path(os.environ.get("SEGAUGE_SHARED", PROJECT.parent / "shared"))
    folder = shared / "data" / "perf"
    return folder if folder.is_dir() else None


def load_case(case: CaseFiles, folder: Path) -> Case:
    """Return the two label maps as a reader gives them: in the file's axis order, one byte a voxel."""
    import nibabel

    images = [nibabel.load(path) for path in case.files(folder).paths]
    pred, gt = (np.asarray(image.dataobj) for image in images)  # type: ignore[attr-defined]
    spacing = tuple(round(float(edge), 6) for edge in images[1].header.get_zooms())  # type: ignore[attr-defined]
    return Case(pred, gt, spacing, TOLERANCE_MM, case.structures)


def phantom_case() -> Case:
    """Return an abdomen of phantoms on a grid as scanners give it, and the same with every organ 2 mm away."""
    truth = scene(Grid.from_spacing((256, 256, 160), (1.4, 1.4, 2.0)))
    pred, gt = (each.label_map.layers[0] for each in (perturbed(truth, shift_mm=2.0), truth))
    return Case(pred, gt, truth.grid.spacing, TOLERANCE_MM, dict(truth.labeling.structures))


def cropped_pair(case: Case, labels: tuple[int, ...]) -> Pair | None:
    """Return a structure's masks, cut to the box of both plus one voxel; None where either is empty.

    Contiguous in memory, so that no tool pays for the file's axis order: what a careful user passes.
    """
    overlap = tabulate(case.pred, case.gt).overlap(labels, labels)
    if overlap.box is None or 0 in (overlap.pred_count, overlap.gt_count):
        return None
    box = tuple(slice(max(first - 1, 0), stop + 1) for first, stop in zip(*overlap.box, strict=True))
    pred, gt = (np.ascontiguousarray(np.isin(labelmap[box], labels)) for labelmap in (case.pred, case.gt))
    return Pair(pred, gt, case.spacing, case.tolerance_mm)


def whole_pair(case: Case, labels: tuple[int, ...]) -> Pair:
    """Return a structure's masks as large as the image, in the file's axis order: what a hasty user passes."""
    pred, gt = (np.isin(labelmap, labels) for labelmap in (case.pred, case.gt))
    return Pair(pred, gt, case.spacing, case.tolerance_mm)
