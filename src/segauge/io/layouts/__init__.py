"""Layouts: how folders become pairs of prediction and ground truth, and what a layout has of its structures.

`find_pairs` takes two folders in any known layout; LAYOUTS is the catalog.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from segauge.errors import InvalidInput, UnusableOption, option
from segauge.io.contents import companions
from segauge.io.dicom_objects import only_segmentation
from segauge.io.formats import image_stem
from segauge.io.gate import check_links
from segauge.io.layouts import bids, folders, grand_challenge, nnunet
from segauge.io.layouts.pairs import Pair, Pairing, image_files, paired
from segauge.io.layouts.structure_files import read_structures

__all__ = ["LAYOUTS", "Pair", "Pairing", "find_pairs", "read_structures"]


@dataclass(frozen=True)
class Layout:
    """One layout: how it is recognised from the two folders, and how its pairs are found."""

    key: str
    name: str
    recognises: Callable[[Path, Path], bool]
    find: Callable[[Path, Path], Pairing]


def _both_files(pred: Path, gt: Path) -> bool:
    return pred.is_file() and gt.is_file()


def _one_pair(pred: Path, gt: Path) -> Pairing:
    name = image_stem(gt.name) or gt.stem
    return paired("file", {name: pred}, {name: gt})


def _by_name(pred: Path, gt: Path) -> Pairing:
    return paired("files", image_files(pred), image_files(gt))


#: In the order in which they are tried.
LAYOUTS: dict[str, Layout] = {
    layout.key: layout
    for layout in (
        Layout("file", "two files", _both_files, _one_pair),
        Layout(
            "grand-challenge", "Grand Challenge (predictions.json)", grand_challenge.recognises, grand_challenge.find
        ),
        Layout("bids", "BIDS derivatives (_dseg)", bids.recognises, bids.find_dseg),
        Layout("bids-mask", "BIDS derivatives (_mask)", lambda *_: False, bids.find_mask),
        Layout("nnunet", "nnU-Net (dataset.json)", nnunet.recognises, nnunet.find),
        Layout("masks", "one folder of masks, one file per structure", folders.are_masks, folders.find_masks),
        Layout("folders", "one folder per case (TotalSegmentator, KiTS)", folders.recognises, folders.find),
        Layout("files", "one file per case, paired by name", lambda *_: True, _by_name),
    )
}


def find_pairs(
    pred: str | os.PathLike[str], gt: str | os.PathLike[str], *, layout: str = "auto", follow_links: bool = False
) -> Pairing:
    """Return the cases of two folders (or two files).

    Every ground truth is a case; one without a prediction is kept with `pred` None. Extra predictions are warned
    of, two files for one case are refused. A folder of DICOM slices with one SEG or RTSTRUCT among them is that file.
    Predictions that are links out of their folder are refused unless `follow_links`: one could be the ground truth.
    """
    if layout != "auto" and layout not in LAYOUTS:
        raise InvalidInput(f"No layout {layout!r}; there are auto, {', '.join(LAYOUTS)}.")
    places = (Path(pred), Path(gt))
    for name, place in zip(("predictions", "ground truth"), places, strict=True):
        if not place.exists():
            raise InvalidInput(f"{place}: there is no such file or folder (expected the {name}).")
    places = (_flat_export(places[0]), _flat_export(places[1]))
    warnings: tuple[str, ...] = ()
    if layout == "auto":
        _refuse_one_of_many(*places)
        layout = next(known.key for known in LAYOUTS.values() if known.recognises(*places))
        if layout == "masks" and all(place.is_dir() for place in places) and places[1].name != "segmentations":
            warnings = (_said_of_masks(places[1]),)
    found = LAYOUTS[layout].find(*places)
    pairing = replace(found, warnings=(*warnings, *found.warnings))
    if not follow_links:
        _check_predictions(Path(pred), pairing)
    return pairing


def _check_predictions(root: Path, pairing: Pairing) -> None:
    """Refuse predictions, and what is read with them, that are links out of the folder that was named."""
    for pair in pairing.pairs:
        if pair.pred is not None:
            beside = companions(pair.pred) if pair.pred.is_file() else ()
            check_links(root, (pair.pred, *beside))


def _said_of_masks(gt: Path) -> str:
    """Return what was decided from the names of files alone."""
    names = list(image_files(gt))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f"{gt}: {', '.join(names[:3])}{more} lie on one grid and have names of structures, so they were taken for the "
        f"structures of one case. If each is a case, pass {option('layout', 'files')}"
    )


def _flat_export(place: Path) -> Path:
    """Return the segmentation of a folder that holds it among the slices it was drawn on, else the place itself."""
    return (only_segmentation(place) if place.is_dir() else None) or place


def _refuse_one_of_many(pred: Path, gt: Path) -> None:
    """Refuse one case of a folder against the folder, which would be taken for the masks of that case."""
    file, folder = (pred, gt) if pred.is_file() else (gt, pred)
    if file.is_file() and folder.is_dir() and (image_stem(file.name) or file.stem) in image_files(folder):
        raise UnusableOption(
            f"{file} is one file, {folder} a folder that has one of the same name. Give two files, or two folders; "
            f"{option('layout', 'masks')} takes the folder for the masks of one case."
        )
