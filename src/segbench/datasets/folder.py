"""Any folder: nnU-Net (imagesTr, labelsTr, dataset.json) or images and labels of the same names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.formats import image_stem
from segauge.io.gate import load_json
from segauge.io.layouts.structure_files import labeling_of_dataset
from segauge.io.tables import read_metadata
from segbench.cards import DatasetCard
from segbench.datasets.listed import ListedDataset, require_folder
from segbench.registry import DatasetCase
from segbench.typed import read_options

#: Pairs of folder names, tried in this order: test before training data.
_PAIRS = (("imagesTs", "labelsTs"), ("imagesTr", "labelsTr"), ("images", "labels"), ("images", "masks"))

#: Keys of a card that a config may give.
_CARD = ("title", "licence", "citation", "source", "modality", "lineage", "cluster_column", "show_images", "note")


def folder(root: Path | None, options: Mapping[str, Any]) -> ListedDataset:
    """Return the dataset in a folder.

    Options: `called` (its name; that of the folder by default), `structures` (name -> label or labels; from
    dataset.json if there is one), `images` and `labels` (names of the two folders), `metadata` (a table with a row per
    case, in that folder or anywhere), and the keys of a card: title, licence, citation, source, modality, lineage,
    cluster_column, show_images, note.
    """
    texts = dict.fromkeys(("called", "images", "labels", "metadata", *_CARD), str)
    given = read_options("folder", options, **{**texts, "structures": dict, "lineage": list, "show_images": bool})
    if root is None:
        raise InvalidInput("folder: expected `root`, the folder with images and labels.")
    return ListedDataset(lambda: _cases(root, given), lambda: _card(root, given))


def _card(root: Path, given: Mapping[str, Any]) -> DatasetCard:
    name = given.get("called", root.resolve().name)
    structures = given.get("structures")
    ignore = None
    if structures is None:
        if not (root / "dataset.json").is_file():
            raise InvalidInput(f"folder: expected `structures`, such as {{liver: 1}}, or a dataset.json in {root}.")
        labeling = labeling_of_dataset(load_json(root / "dataset.json"), "dataset.json")
        structures, ignore = {key: list(value) for key, value in labeling.structures.items()}, labeling.ignore
    columns = list(next(iter(_metadata(root, given).values()), {}))
    return DatasetCard.from_dict(
        {
            **{key: given[key] for key in _CARD if key in given},
            "name": name,
            "structures": structures,
            "ignore": ignore,
            "metadata_columns": columns,
            "n_cases": len(_cases(root, given)),
        }
    )


def _cases(root: Path, given: Mapping[str, Any]) -> dict[str, DatasetCase]:
    require_folder(root, "The dataset", "Check `root`.")
    images, labels = _folders(root, given)
    table = _metadata(root, given)
    gts = _by_name(labels)
    found = {_without_channel(name, gts): path for name, path in _by_name(images).items()}
    cases = {}
    for case_id, gt in gts.items():
        if case_id not in found:
            raise InvalidInput(f"folder: {labels.name} has {gt.name}, but {images.name} has no image of that name.")
        cases[case_id] = DatasetCase(case_id, found[case_id], gt, table.get(case_id, {}))
    if not cases:
        raise InvalidInput(f"folder: {labels} holds no label maps.")
    return cases


def _folders(root: Path, given: Mapping[str, Any]) -> tuple[Path, Path]:
    pairs = [(given.get("images", one), given.get("labels", other)) for one, other in _PAIRS]
    for images, labels in pairs:
        if (root / images).is_dir() and (root / labels).is_dir():
            return root / images, root / labels
    names = " or ".join(f"{images} and {labels}" for images, labels in dict.fromkeys(pairs))
    raise InvalidInput(f"folder: {root} should hold {names}.")


def _by_name(place: Path) -> dict[str, Path]:
    """Return the images of a folder by name; of several channels (_0000, _0001) all of them."""
    found: dict[str, Path] = {}
    for path in sorted(place.iterdir()):
        name = image_stem(path.name)
        if name is None or path.name.startswith("."):
            continue
        if name in found:
            raise InvalidInput(f"folder: {found[name].name} and {path.name} are both called {name!r}. Remove one.")
        found[name] = path
    return found


def _without_channel(name: str, gts: Mapping[str, Path]) -> str:
    """Return the case of an image: nnU-Net's first channel is "case_0000"."""
    return name.removesuffix("_0000") if name not in gts else name


def _metadata(root: Path, given: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the table of cases: in the dataset's folder, or where the config says."""
    if "metadata" not in given:
        return {}
    inside = root / given["metadata"]
    return read_metadata(inside if inside.is_file() else given["metadata"])
