"""AMOS22: 15 abdominal organs in CT and MR; `imagesTr`, `labelsTr`, `imagesVa`, `labelsVa`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.tables import read_metadata
from segbench.cards import DatasetCard
from segbench.cards.exposure import dataset_card
from segbench.datasets.listed import ListedDataset, data_folder, image_name, require_folder
from segbench.downloads import extract, fetch
from segbench.registry import DatasetCase
from segbench.typed import read_options

ARCHIVE = "https://zenodo.org/records/7262581/files/amos22.zip"
CHECKSUM = "md5:67717b2a483ac0744c89c3016b7aaef7"
_TABLE = "labeled_data_meta_0000_0599.csv"
_COLUMNS = {
    "sex": "Patient's Sex",
    "age": "Patient's Age",
    "scanner": "Manufacturer's Model Name",
    "site": "Site",
}


def amos22(root: Path | None, options: Mapping[str, Any]) -> ListedDataset:
    """Return AMOS22; options `modality` ("CT", the default, "MR" or "all") and `download` (fetch 24 GB if missing)."""
    given = read_options("amos22", options, modality=str, download=bool)
    modality = given.get("modality", "CT")
    if modality not in ("CT", "MR", "all"):
        raise InvalidInput(f'amos22: modality should be "CT", "MR" or "all", got {modality!r}.')
    folder = data_folder("amos22", root)

    def listing() -> dict[str, DatasetCase]:
        if given.get("download") and not folder.is_dir():
            archive = fetch(ARCHIVE, folder.with_name("amos22.zip"), checksum=CHECKSUM)
            extract(archive, folder)
        return _cases(folder, modality)

    return ListedDataset(listing, lambda: _card(modality))


def _card(modality: str) -> DatasetCard:
    card = dataset_card("amos22")
    counts = {"CT": 300, "MR": 60, "all": 360}
    kind = card.modality if modality == "all" else modality
    return DatasetCard.from_dict({**card.to_dict(), "modality": kind, "n_cases": counts[modality]})


def _cases(folder: Path, modality: str) -> dict[str, DatasetCase]:
    require_folder(
        folder, "AMOS22", f"Fetch {ARCHIVE} and extract it there, or add `download: true` to the dataset (24 GB)."
    )
    top = folder / "amos22" if (folder / "amos22").is_dir() else folder
    table = _metadata(top)
    cases = {}
    for part in ("Tr", "Va"):
        labels = top / f"labels{part}"
        for path in sorted(labels.iterdir()) if labels.is_dir() else ():
            case_id = image_name(path)
            if case_id is None or modality not in ("all", modality_of(case_id)):
                continue
            metadata = {**table.get(case_id, {}), "modality": modality_of(case_id), "split": part}
            cases[case_id] = DatasetCase(case_id, top / f"images{part}" / path.name, path, metadata)
    if not cases:
        raise InvalidInput(f"AMOS22: {top} has no labelled {modality} cases (labelsTr, labelsVa).")
    return cases


def modality_of(case_id: str) -> str:
    """Return the modality of a case by its number, as the dataset's readme has it: below 500 is CT."""
    number = case_id.rpartition("_")[2]
    if not number.isdigit():
        raise InvalidInput(f"AMOS22: expected a case such as amos_0001, got {case_id!r}.")
    return "CT" if int(number) < 500 else "MR"


def _metadata(folder: Path) -> dict[str, dict[str, object]]:
    """Return sex, age, scanner and site per case, where the makers' table lies in the folder."""
    path = folder / _TABLE
    if not path.is_file():
        return {}
    found: dict[str, dict[str, object]] = {}
    for number, row in read_metadata(path, key="amos_id").items():
        case_id = f"amos_{int(number):04}" if number.isdigit() else number
        found[case_id] = {name: row[column] for name, column in _COLUMNS.items() if row.get(column)}
    return found
