"""A dataset of many small phantom cases on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from segauge import Case, Grid
from segauge.io.images import write_nifti
from segauge.phantoms import Scene, perturbed, scene

#: Scenes that differ; the cases take turns. Drawing a thousand of them would take longer than measuring them.
DISTINCT = 12
GRID = Grid.from_spacing((48, 48, 32), (2.0, 2.0, 3.0))


def scene_of(number: int) -> Scene:
    """Return one of the scenes."""
    return scene(GRID, seed=number, lesions=2)


def write_cases(folder: Path, count: int) -> None:
    """Write `count` cases into pred/ and gt/ of a folder."""
    made = folder / "made"
    for side in ("pred", "gt", "made"):
        (folder / side).mkdir(parents=True)
    for number in range(min(DISTINCT, count)):
        truth = scene_of(number)
        guess = perturbed(truth, shift_mm=2.0, missed=number % 2, seed=number)
        for side, what in (("gt", truth), ("pred", guess)):
            array = np.asarray(what.label_map.layers[0], dtype=np.uint8)
            write_nifti(made / f"{side}{number}.nii.gz", array, GRID)
    for case in range(count):
        for side in ("pred", "gt"):
            shutil.copy(made / f"{side}{case % DISTINCT}.nii.gz", folder / side / f"case_{case:05d}.nii.gz")


def cases_of(folder: Path) -> list[Case]:
    """Return the cases of such a folder."""
    return [
        Case(path.name.split(".")[0], folder / "pred" / path.name, path) for path in sorted((folder / "gt").iterdir())
    ]
