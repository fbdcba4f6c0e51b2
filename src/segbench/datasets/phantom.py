"""The built-in phantom benchmark: CT-like scans whose truth is known in closed form; made, not fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io import write_nifti
from segbench.cards import DatasetCard
from segbench.cards.library import dataset_card
from segbench.datasets.listed import ListedDataset, data_folder
from segbench.datasets.phantom_scans import PhantomPatient, scan
from segbench.locks import held
from segbench.registry import DatasetCase, Progress
from segbench.typed import read_options

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
