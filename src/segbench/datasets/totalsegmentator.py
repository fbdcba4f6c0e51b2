"""TotalSegmentator v2: 117 structures in CT; `s0000/ct.nii.gz`, `s0000/segmentations/liver.nii.gz`, `meta.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.tables import read_metadata
from segbench.cards import DatasetCard
from segbench.cards.exposure import dataset_card
from segbench.datasets.listed import ListedDataset, data_folder, require_folder
from segbench.label_orders import TOTALSEGMENTATOR_V2
from segbench.registry import DatasetCase
from segbench.typed import read_options

_SPLITS = ("train", "val", "test", "all")


def totalsegmentator(root: Path | None, options: Mapping[str, Any]) -> ListedDataset:
    """Return the TotalSegmentator dataset; option `split` ("test", the default, "train", "val" or "all")."""
    given = read_options("totalsegmentator", options, split=str)
    split = given.get("split", "test")
    if split not in _SPLITS:
        raise InvalidInput(f"totalsegmentator: split should be one of {', '.join(_SPLITS)}, got {split!r}.")
    folder = data_folder("totalsegmentator", root)
    return ListedDataset(lambda: _cases(folder, split), _card)


def _card() -> DatasetCard:
    structures = {name: [label] for name, label in TOTALSEGMENTATOR_V2.items()}
    return DatasetCard.from_dict({**dataset_card("totalsegmentator-v2").to_dict(), "structures": structures})


def _cases(folder: Path, split: str) -> dict[str, DatasetCase]:
    require_folder(
        folder, "The TotalSegmentator dataset", "Fetch it from https://zenodo.org/records/8367088 and extract it there."
    )
    table = _metadata(folder)
    if split != "all" and not any("split" in row for row in table.values()):
        raise InvalidInput(f"totalsegmentator: {folder} has no meta.csv, which defines {split}; or split: all.")
    cases = {}
    for place in sorted(folder.iterdir()):
        masks = place / "segmentations"
        if place.name.startswith(".") or not masks.is_dir():
            continue
        metadata = table.get(place.name, {})
        if split in ("all", metadata.get("split")):
            cases[place.name] = DatasetCase(place.name, place / "ct.nii.gz", masks, metadata)
    if not cases:
        raise InvalidInput(f"totalsegmentator: {folder} has no cases of the split {split!r}.")
    return cases


def _metadata(folder: Path) -> dict[str, dict[str, object]]:
    path = folder / "meta.csv"
    if not path.is_file():
        return {}
    other_names = {"gender": "sex"}
    return {
        case_id: {other_names.get(name, name): value for name, value in row.items() if value}
        for case_id, row in read_metadata(path, key="image_id").items()
    }
