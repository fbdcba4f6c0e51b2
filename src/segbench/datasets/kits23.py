"""KiTS23: kidneys, tumors and cysts in CT; `case_00000/imaging.nii.gz` and `segmentation.nii.gz`, fetched per case."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.gate import load_json
from segbench.cards.exposure import dataset_card
from segbench.datasets.listed import ListedDataset, data_folder
from segbench.downloads import DownloadFailed, fetch
from segbench.registry import DatasetCase, Progress
from segbench.typed import read_options

IMAGES = "https://huggingface.co/datasets/neheller/KiTS-Challenge-Imaging/resolve/main/images"
LABELS = "https://raw.githubusercontent.com/neheller/kits23/main/dataset"

#: The cases whose labels are public: 489.
NUMBERS = (*range(300), *range(400, 589))


def kits23(root: Path | None, options: Mapping[str, Any]) -> ListedDataset:
    """Return KiTS23; options `case_numbers` (those to draw from), `images` and `labels` (other addresses, a mirror)."""
    given = read_options("kits23", options, case_numbers=list, images=str, labels=str)
    numbers = given.get("case_numbers", NUMBERS)
    for number in numbers:
        if number not in NUMBERS:
            raise InvalidInput(f"kits23: no case {number!r} with public labels; there are 0 to 299 and 400 to 588.")
    folder = data_folder("kits23", root)
    if (folder / "dataset").is_dir():
        folder = folder / "dataset"  # a clone of the repository
    images, labels = given.get("images", IMAGES), given.get("labels", LABELS)

    def obtain(wanted: Sequence[DatasetCase], progress: Progress | None) -> None:
        if all(case.image.is_file() and case.gt.is_file() for case in wanted):
            return
        # Without the table there are fewer facts about the patients, and that is all.
        with contextlib.suppress(DownloadFailed):
            fetch(f"{labels}/kits23.json", folder / "kits23.json", attempts=2)
        for case in wanted:
            fetch(
                f"{images}/{case.case_id}.nii.gz", case.image, progress=progress, by_hand=_by_hand(folder, case.case_id)
            )
            fetch(
                f"{labels}/{case.case_id}/segmentation.nii.gz",
                case.gt,
                progress=progress,
                by_hand=_by_hand(folder, case.case_id),
            )

    return ListedDataset(lambda: _cases(folder, numbers), lambda: dataset_card("kits23"), obtain)


def _by_hand(folder: Path, case_id: str) -> str:
    return (
        "Or clone github.com/neheller/kits23, run its download script, and point `root` there; this case belongs "
        f"into {folder / case_id}."
    )


def _cases(folder: Path, numbers: Sequence[int]) -> dict[str, DatasetCase]:
    known = _metadata(folder)
    cases = {}
    for number in numbers:
        case_id = f"case_{number:05}"
        place = folder / case_id
        # Phase by number, by the word of the dataset's maintainer (kits23 issue 19).
        metadata = {**known.get(case_id, {}), "phase": "arterial" if number < 500 else "nephrogenic"}
        cases[case_id] = DatasetCase(case_id, place / "imaging.nii.gz", place / "segmentation.nii.gz", metadata)
    return cases


def _metadata(folder: Path) -> dict[str, dict[str, object]]:
    """Return sex, age, body mass index and histology per case, where kits23.json lies in the folder."""
    path = folder / "kits23.json"
    if not path.is_file():
        return {}
    columns = {"sex": "gender", "age": "age_at_nephrectomy", "bmi": "bmi", "histology": "tumor_histologic_subtype"}
    found = {}
    for entry in load_json(path):
        values = {name: entry.get(key) for name, key in columns.items()}
        found[str(entry["case_id"])] = {name: value for name, value in values.items() if value is not None}
    return found
