"""Medical Segmentation Decathlon, all ten tasks: `TaskXX_Name/dataset.json`, `imagesTr`, `labelsTr`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.gate import load_json
from segauge.io.layouts.structure_files import labeling_of_dataset
from segbench.cards import DatasetCard
from segbench.cards.exposure import dataset_card
from segbench.datasets.listed import ListedDataset, data_folder, image_name, require_folder
from segbench.downloads import extract, fetch
from segbench.registry import DatasetCase
from segbench.suggestions import unknown
from segbench.typed import read_options, require

_MIRROR = "https://msd-for-monai.s3-us-west-2.amazonaws.com"


@dataclass(frozen=True)
class Task:
    """One task: its folder, its card, and the MD5 of its archive as MONAI publishes it."""

    folder: str
    card: str
    md5: str


TASKS = {
    task.folder: task
    for task in (
        Task("Task01_BrainTumour", "msd-brain-tumour", "240a19d752f0d9e9101544901065d872"),
        Task("Task02_Heart", "msd-heart", "06ee59366e1e5124267b774dbd654057"),
        Task("Task03_Liver", "msd-liver", "a90ec6c4aa7f6a3d087205e23d4e6397"),
        Task("Task04_Hippocampus", "msd-hippocampus", "9d24dba78a72977dbd1d2e110310f31b"),
        Task("Task05_Prostate", "msd-prostate", "35138f08b1efaef89d7424d2bcc928db"),
        Task("Task06_Lung", "msd-lung", "8afd997733c7fc0432f71255ba4e52dc"),
        Task("Task07_Pancreas", "msd-pancreas", "4f7080cfca169fa8066d17ce6eb061e4"),
        Task("Task08_HepaticVessel", "msd-hepatic-vessel", "641d79e80ec66453921d997fbf12a29c"),
        Task("Task09_Spleen", "msd-spleen", "410d4a301da4e5b2f6f86ec3ddba524e"),
        Task("Task10_Colon", "msd-colon", "bad7a188931dc2f6acf72b08eb6202d0"),
    )
}


def msd(root: Path | None, options: Mapping[str, Any]) -> ListedDataset:
    """Return one task; options `task` ("Task09_Spleen") and `download` (fetch its archive if it is missing)."""
    given = read_options("msd", options, task=str, download=bool)
    name = require("msd", given, "task", "Task09_Spleen")
    if name not in TASKS:
        raise InvalidInput(f"msd: {unknown('task', name, TASKS)}")
    task = TASKS[name]
    top = data_folder("msd", root)
    folder = top if top.name == name else top / name

    def listing() -> dict[str, DatasetCase]:
        if given.get("download") and not folder.is_dir():
            _download(task, folder)
        return _cases(task, folder)

    return ListedDataset(listing, lambda: _card(task, folder))


def _download(task: Task, folder: Path) -> None:
    archive = folder.with_name(f"{task.folder}.tar")
    fetch(f"{_MIRROR}/{task.folder}.tar", archive, checksum=f"md5:{task.md5}")
    # The archive holds a folder of the task's name; it is put in our folder's place as a whole.
    beside = extract(archive, folder.with_name(f"{task.folder}.extracted"))
    (beside / task.folder).rename(folder)
    beside.rmdir()


def _card(task: Task, folder: Path) -> DatasetCard:
    """Return the task's card; structures from its dataset.json where the card leaves them open."""
    card = dataset_card(task.card)
    if card.structures or not (folder / "dataset.json").is_file():
        return card
    structures = labeling_of_dataset(load_json(folder / "dataset.json"), "dataset.json").structures
    return DatasetCard.from_dict({**card.to_dict(), "structures": {k: list(v) for k, v in structures.items()}})


def _cases(task: Task, folder: Path) -> dict[str, DatasetCase]:
    require_folder(
        folder,
        f"MSD {task.folder}",
        f"Fetch {task.folder}.tar from medicaldecathlon.com and extract it there, or add `download: true`.",
    )
    described = load_json(folder / "dataset.json") if (folder / "dataset.json").is_file() else {}
    cases = {}
    for entry in described.get("training", ()):
        # Only the names: the paths of the file are "./imagesTr/...", and nothing else is taken from it.
        image, label = (folder / place / Path(entry[key]).name for place, key in _PLACES)
        case_id = image_name(label)
        if case_id is not None:
            cases[case_id] = DatasetCase(case_id, image, label)
    if not cases:
        raise InvalidInput(f"MSD {task.folder}: {folder}/dataset.json lists no training cases. Extract it again.")
    return cases


_PLACES = (("imagesTr", "image"), ("labelsTr", "label"))
