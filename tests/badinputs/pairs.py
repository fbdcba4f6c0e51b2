"""The bad inputs that are two files which do not fit, by number: each writes a prediction and a ground truth."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.badinputs.files import AFFINE, labels, nifti_bytes


@dataclass(frozen=True)
class BadPair:
    number: int
    name: str
    make: Callable[[Path], None]
    refused: str = ""
    noted: str = ""
    options: dict[str, Any] = field(default_factory=dict)


PAIRS: list[BadPair] = []


def bad_pair(number: int, **facts: Any) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    def add(make: Callable[[Path], None]) -> Callable[[Path], None]:
        PAIRS.append(BadPair(number, make.__name__, make, **facts))
        return make

    return add


def _write(folder: Path, pred: np.ndarray, affine: np.ndarray) -> None:
    (folder / "gt.nii").write_bytes(nifti_bytes(labels()))
    (folder / "pred.nii").write_bytes(nifti_bytes(pred, affine))


def _moved(*millimetres: float) -> np.ndarray:
    affine = AFFINE.copy()
    affine[:3, 3] += millimetres
    return affine


@bad_pair(16, noted="is stored as SRA, the ground truth as LPS; reoriented")
def flipped_and_permuted(folder: Path) -> None:
    affine = AFFINE @ np.array([[0, -1, 0, 4], [0, 0, -1, 5], [1, 0, 0, 0], [0, 0, 0, 1]])
    _write(folder, labels()[::-1, ::-1].transpose(2, 0, 1), affine)


@bad_pair(17, refused=r"centres 50 mm apart.*trust_array=True")
def same_shape_elsewhere(folder: Path) -> None:
    _write(folder, labels(), _moved(30, 0, 40))


@bad_pair(17, refused=r"centres 8 mm apart.*trust_array=True")
def same_shape_whole_voxels_away(folder: Path) -> None:
    _write(folder, labels(), _moved(8, 0, 0))


@bad_pair(17, refused=r"turned by 10 degrees")
def same_shape_turned(folder: Path) -> None:
    c, s = np.cos(np.radians(10)), np.sin(np.radians(10))
    _write(folder, labels(), np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]) @ AFFINE)


@bad_pair(17, refused=r"orientation RPS against LPS")
def mirrored(folder: Path) -> None:
    _write(folder, labels(), np.diag([-1.0, 1, 1, 1]) @ AFFINE)


@bad_pair(17, options={"trust_array": True}, noted=r"compared voxel by voxel.*50 mm apart")
def same_shape_elsewhere_but_trusted(folder: Path) -> None:
    same_shape_elsewhere(folder)


@bad_pair(18)
def float_noise_in_the_affine(folder: Path) -> None:
    _write(folder, labels(), AFFINE + 1e-5)


def _finer(folder: Path) -> None:
    step = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, -0.25], [0, 0, 0, 1]])
    _write(folder, np.repeat(labels(), 2, axis=2), AFFINE @ step)


@bad_pair(19, refused=r"spacing 0\.8 x 0\.9 x 1\.25 against 0\.8 x 0\.9 x 2\.5 mm.*resample='nearest'")
def another_grid(folder: Path) -> None:
    _finer(folder)


@bad_pair(19, options={"resample": "nearest"}, noted=r"pred\.nii was resampled \(nearest neighbour\)")
def another_grid_resampled(folder: Path) -> None:
    _finer(folder)
