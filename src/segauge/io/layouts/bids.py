"""BIDS derivatives: sub-*/.../*_dseg.nii.gz (or _mask), names of labels from dseg.tsv."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.formats import image_stem
from segauge.io.layouts.pairs import Pairing, once_each, paired
from segauge.io.streams import list_folder
from segauge.io.tables.delimited import read_delimited
from segauge.labeling import Labeling

#: Entities that say who made a segmentation, not what it is of.
_MAKERS = ("desc-", "atlas-")


def recognises(pred: Path, gt: Path) -> bool:
    """Return True where both sides describe themselves as a BIDS dataset."""
    return all((folder / "dataset_description.json").is_file() for folder in (pred, gt))


def find_dseg(pred: Path, gt: Path) -> Pairing:
    """Pair discrete segmentations."""
    names, warnings = _label_names(gt)
    parts: dict[str, tuple[int, ...]] = {}
    for label, name in names.items():
        parts[name] = (*parts.get(name, ()), label)
    warnings += [
        f"the labels {', '.join(map(str, labels))} are all called {name!r}: taken as one structure"
        for name, labels in parts.items()
        if len(labels) > 1
    ]
    structures = Labeling(parts) if parts else None
    if _segmentations(gt, "_mask"):
        warnings.append('the _mask files are not measured here; layout "bids-mask" measures them')
    return paired(
        "bids", _segmentations(pred, "_dseg"), _segmentations(gt, "_dseg"), structures=structures, warnings=warnings
    )


def find_mask(pred: Path, gt: Path) -> Pairing:
    """Pair binary masks."""
    return paired("bids-mask", _segmentations(pred, "_mask"), _segmentations(gt, "_mask"))


def _segmentations(root: Path, suffix: str) -> dict[str, Path]:
    """Return the files of one suffix by their entities, without those that name the maker."""
    entries = []
    for path in _files_of_subjects(root):
        stem = image_stem(path.name)
        if stem is not None and stem.endswith(suffix):
            entities = [part for part in stem.split("_") if not part.startswith(_MAKERS)]
            entries.append(("_".join(entities), path))
    return once_each(entries)


def _files_of_subjects(root: Path) -> Iterator[Path]:
    """Yield what lies in the folders of subjects, their sessions and kinds of data: BIDS goes no deeper."""
    folders = [path for path in list_folder(root) if path.name.startswith("sub-") and path.is_dir()]
    for _ in range(3):
        entries = [entry for folder in folders for entry in list_folder(folder)]
        yield from (entry for entry in entries if entry.is_file())
        folders = [entry for entry in entries if entry.is_dir()]


def _label_names(root: Path) -> tuple[dict[int, str], list[str]]:
    """Return the names of labels in the dataset's table; a subject's own table that differs is warned of."""
    tables = [root / "dseg.tsv"] if (root / "dseg.tsv").is_file() else []
    tables += [path for path in _files_of_subjects(root) if path.name.endswith("_dseg.tsv")]
    names: dict[int, str] = {}
    warnings: list[str] = []
    for path in tables:
        for label, name in _table(path).items():
            known = names.setdefault(label, name)
            if known != name:
                warnings.append(f"{path.name} calls label {label} {name!r}; taken as {known!r}")
    return names, warnings


def _table(path: Path) -> dict[int, str]:
    table = read_delimited(path)
    index, name = table.column("index"), table.column("name")
    if index is None or name is None:
        raise InvalidInput(f"{path.name}: a BIDS label table needs the columns index and name.")
    found = {}
    for i, row in enumerate(table.rows):
        if not row[index].lstrip("-").isdigit():
            raise InvalidInput(f"{table.where(i)}: index should be a whole number, found {row[index]!r}.")
        if int(row[index]) != 0:
            found[int(row[index])] = row[name]
    return found
