"""BTCV abdomen: 13 organs in CT; `img0001.nii.gz` and `label0001.nii.gz`, in `averaged-training-*` or plain folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards.exposure import dataset_card
from segbench.datasets.listed import ListedDataset, data_folder, image_name, require_folder
from segbench.registry import DatasetCase
from segbench.typed import read_options

#: Where the images and the labels lie: as Synapse packs them, or side by side.
_FOLDERS = (
    ("img", "label"),
    ("averaged-training-images", "averaged-training-labels"),
    ("imagesTr", "labelsTr"),
    ("", ""),
)


def btcv(root: Path | None, options: Mapping[str, Any]) -> ListedDataset:
    """Return BTCV; no options. It cannot be fetched without an account."""
    read_options("btcv", options)
    folder = data_folder("btcv", root)
    return ListedDataset(lambda: _cases(folder), lambda: dataset_card("btcv"))


def _cases(folder: Path) -> dict[str, DatasetCase]:
    require_folder(
        folder,
        "BTCV",
        "Register at synapse.org, take RawData.zip of syn3193805, and extract its Training folder there.",
    )
    top = next((place for place in (folder / "RawData" / "Training", folder / "Training") if place.is_dir()), folder)
    for images, labels in _FOLDERS:
        cases = {}
        for path in sorted((top / labels).iterdir()) if (top / labels).is_dir() else ():
            name = image_name(path)
            if name is None or not name.startswith("label"):
                continue
            image = top / images / f"img{name.removeprefix('label')}.nii.gz"
            cases[image_name(image) or name] = DatasetCase(image_name(image) or name, image, path)
        if cases:
            return cases
    raise InvalidInput(f"BTCV: {top} holds no label0001.nii.gz and so on, neither in `label` nor side by side.")
