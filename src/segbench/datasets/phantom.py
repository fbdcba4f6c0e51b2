"""The built-in phantom benchmark: CT-like scans whose truth is known in closed form; made, not fetched.

A patient's scene fills a body of fat and soft tissue; the scan averages it over voxels (partial volume: each voxel is
sampled eight times), blurs it and adds noise. What is drawn depends on the seed and the patient's number alone: a
larger benchmark has the patients of a smaller one. Scanners differ in noise, sharpness and slice thickness, women are
smaller, and bone fades with age.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge import Grid
from segauge.errors import InvalidInput
from segauge.io import write_nifti
from segauge.phantoms import Ball, Scene, Shell, scene
from segbench.cards import DatasetCard
from segbench.cards.exposure import dataset_card
from segbench.datasets.listed import ListedDataset, data_folder
from segbench.locks import held
from segbench.registry import DatasetCase, Progress
from segbench.typed import read_options

FloatArray = npt.NDArray[np.float64]

AIR_HU, FAT_HU, TISSUE_HU, URINE_HU = -1000.0, -100.0, 45.0, 5.0

#: Mean attenuation of each organ in HU and its spread between patients, by the name it has in a scene.
ORGAN_HU = {
    "liver": (110.0, 8.0),
    "liver lesions": (25.0, 6.0),
    "spleen": (135.0, 8.0),
    "left kidney": (180.0, 10.0),
    "right kidney": (180.0, 10.0),
    "aorta": (230.0, 20.0),
    "bladder wall": (95.0, 6.0),
    "vertebra": (340.0, 15.0),
}

#: Share of the body's half width at which fat turns into the tissue inside.
_FAT_FROM = 0.92


@dataclass(frozen=True)
class Scanner:
    """How a scanner sees: noise in HU, blur (standard deviation in mm), voxel edges in mm."""

    noise_hu: float
    blur_mm: float
    spacing: tuple[float, float, float]


SCANNERS = {
    "A": Scanner(noise_hu=28.0, blur_mm=1.5, spacing=(5.0, 5.0, 5.0)),
    "B": Scanner(noise_hu=45.0, blur_mm=2.0, spacing=(5.0, 5.0, 5.0)),
    "C": Scanner(noise_hu=36.0, blur_mm=2.5, spacing=(5.0, 5.0, 7.0)),
}


@dataclass(frozen=True)
class PhantomPatient:
    """One patient of the phantom benchmark, drawn from a seed and a number."""

    number: int
    seed: int = 0

    def stream(self, name: str) -> np.random.Generator:
        """Return the random numbers for one purpose; no purpose disturbs another."""
        return np.random.default_rng([self.seed, self.number, *name.encode()])

    @cached_property
    def sex(self) -> str:
        """Return "F" or "M"."""
        return str(self.stream("sex").choice(["F", "M"]))

    @cached_property
    def age(self) -> int:
        """Age in years, 25 to 85."""
        return int(self.stream("age").integers(25, 86))

    @cached_property
    def scanner(self) -> str:
        """Return the name of the scanner."""
        return str(self.stream("scanner").choice(list(SCANNERS)))

    @property
    def metadata(self) -> dict[str, object]:
        """What is known about the patient."""
        return {"sex": self.sex, "age": self.age, "scanner": self.scanner}


@dataclass(frozen=True, eq=False)
class Scan:
    """An image in HU and its true labels, on one grid."""

    image: npt.NDArray[np.int16]
    labels: npt.NDArray[np.uint8]
    grid: Grid


def scan(patient: PhantomPatient) -> Scan:
    """Return what the patient's scanner makes of the patient, and the truth about each voxel's centre."""
    scanner = SCANNERS[patient.scanner]
    room, margins = _room(patient, scanner)
    truth = scene(room, seed=int(patient.stream("anatomy").integers(2**31)), lesions=_lesions(patient))
    grid = _with_margins(room, margins)
    labels = Scene(grid, truth.organs).label_map.layers[0].astype(np.uint8)
    fine = _attenuation(patient, Scene(_doubled(grid), truth.organs), room)
    halves = fine.reshape(grid.shape[0], 2, grid.shape[1], 2, grid.shape[2], 2).mean(axis=(1, 3, 5))
    seen = _seen_through(halves, patient, scanner)
    return _stored(patient, Scan(np.clip(np.rint(seen), -1024, 3071).astype(np.int16), labels, grid))


def _lesions(patient: PhantomPatient) -> int:
    return int(patient.stream("number of lesions").integers(1, 5))


def _room(patient: PhantomPatient, scanner: Scanner) -> tuple[Grid, npt.NDArray[np.int64]]:
    """Return the box of the body on the scanner's voxels, and how many voxels of air lie before and behind it."""
    size = np.array([290.0, 250.0, 270.0]) * (0.92 if patient.sex == "F" else 1.0)
    size *= patient.stream("size").uniform(0.95, 1.05, 3)
    shape = np.rint(size / scanner.spacing).astype(int)
    affine = np.diag([-scanner.spacing[0], -scanner.spacing[1], scanner.spacing[2], 1.0])
    affine[:3, 3] = patient.stream("table").uniform(-80.0, 80.0, 3)
    return Grid(tuple(shape.tolist()), affine), patient.stream("margins").integers(1, 5, (2, 3))


def _with_margins(room: Grid, margins: npt.NDArray[np.int64]) -> Grid:
    affine = room.affine.copy()
    affine[:3, 3] -= affine[:3, :3] @ margins[0]
    return Grid(tuple((np.asarray(room.shape) + margins.sum(axis=0)).tolist()), affine)


def _doubled(grid: Grid) -> Grid:
    """Return the grid that has each voxel eight times."""
    affine = grid.affine.copy()
    affine[:3, :3] /= 2
    affine[:3, 3] -= affine[:3, :3].sum(axis=1) / 2
    return Grid(tuple(2 * n for n in grid.shape), affine)


def _attenuation(patient: PhantomPatient, fine: Scene, room: Grid) -> FloatArray:
    """Return the attenuation of the body in HU, without any scanner."""
    level = _body_level(fine.grid, room)
    values = np.where(level > 1.0, AIR_HU, np.where(level > _FAT_FROM, FAT_HU, TISSUE_HU))
    values += np.where(level <= _FAT_FROM, _texture(patient, fine.grid.shape), 0.0)
    labels = fine.label_map.layers[0]
    for organ in fine.organs:
        mean, spread = ORGAN_HU[organ.name]
        mean += spread * float(patient.stream(f"attenuation of {organ.name}").normal())
        if organ.name == "vertebra":
            mean -= 2.5 * (patient.age - 25)
        values[labels == organ.label] = mean
        for solid in organ.solids:
            if isinstance(solid, Shell):
                inside = Ball(solid.center_mm, solid.inner_radius_mm).rasterize(fine.grid).array
                values[inside & (labels == 0)] = URINE_HU
    return values


def _body_level(grid: Grid, room: Grid) -> FloatArray:
    """Return below 1 where the body is: a rounded box in each slice, as high as the room."""
    to_share = np.linalg.inv(room.affine) @ grid.affine
    steps = [np.arange(n) * to_share[axis, axis] + to_share[axis, 3] for axis, n in enumerate(grid.shape)]
    shares = [np.abs((step + 0.5) / n - 0.5) * 2.0 for step, n in zip(steps, room.shape, strict=True)]
    across = shares[0][:, None] ** 2.5 + shares[1][None, :] ** 2.5
    level = np.broadcast_to((across ** (1 / 2.5))[:, :, None], grid.shape).copy()
    level[:, :, shares[2] > 1.0] = np.inf
    return level


def _texture(patient: PhantomPatient, shape: tuple[int, ...]) -> FloatArray:
    """Return slow changes of the soft tissue between the organs, some 10 HU."""
    from scipy import ndimage

    coarse = patient.stream("texture").normal(0.0, 10.0, (7, 7, 7))
    smooth = ndimage.zoom(coarse, [n / 7 for n in shape], order=1)
    return np.asarray(smooth, dtype=np.float64)


def _seen_through(values: FloatArray, patient: PhantomPatient, scanner: Scanner) -> FloatArray:
    """Return the image after the scanner's blur, with its noise, which neighbouring voxels share a little."""
    from scipy import ndimage

    blurred = ndimage.gaussian_filter(values, [scanner.blur_mm / edge for edge in scanner.spacing])
    noise = ndimage.gaussian_filter(patient.stream("noise").normal(size=values.shape), 0.5)
    noisy: FloatArray = blurred + noise * (scanner.noise_hu / float(noise.std()))
    return noisy


def _stored(patient: PhantomPatient, found: Scan) -> Scan:
    """Return the scan with its axes as files have them: some systems write LPS, others RAS."""
    if patient.stream("orientation").uniform() < 0.5:
        return found
    grid = found.grid.reoriented((0, 1, 2), (True, True, False))
    image, labels = found.image[::-1, ::-1], found.labels[::-1, ::-1]
    return Scan(np.ascontiguousarray(image), np.ascontiguousarray(labels), grid)


#: Raised when the scans change, so that no benchmark mixes scans of two makes.
VERSION = 1


def phantom(root: Path | None, options: Mapping[str, Any]) -> ListedDataset:
    """Return the phantom benchmark; options `size` (number of patients, 12) and `seed` (0)."""
    given = read_options("phantom", options, size=int, seed=int)
    size, seed = given.get("size", 12), given.get("seed", 0)
    if size < 1 or seed < 0:
        raise InvalidInput(f"phantom: expected a size from 1 and a seed from 0 on, got {size} and {seed}.")
    folder = data_folder("phantom", root) / f"version{VERSION}-seed{seed}"
    patients = {f"phantom_{number:04}": PhantomPatient(number, seed) for number in range(size)}
    cases = {
        case_id: DatasetCase(
            case_id,
            folder / "images" / f"{case_id}.nii.gz",
            folder / "labels" / f"{case_id}.nii.gz",
            patient.metadata,
        )
        for case_id, patient in patients.items()
    }

    def make(wanted: Sequence[DatasetCase], progress: Progress | None) -> None:
        for done, case in enumerate(wanted, start=1):
            _make(case, patients[case.case_id])
            if progress is not None:
                progress("making phantom scans", done, len(wanted))

    return ListedDataset(lambda: cases, lambda: _card(size), make)


def _card(size: int) -> DatasetCard:
    return DatasetCard.from_dict({**dataset_card("phantom").to_dict(), "n_cases": size})


def _make(case: DatasetCase, patient: PhantomPatient) -> None:
    """Write a patient's scan unless it is there; the labels last, so that a pair is whole."""
    with held(case.image.parent.parent / f".{case.case_id}.lock"):
        if case.gt.is_file() and case.image.is_file():
            return
        found = scan(patient)
        for path, array in ((case.image, found.image), (case.gt, found.labels)):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_nifti(path, array, found.grid)
