"""Search two sets of images for near-duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, SegaugeError
from segauge.io import read_image
from segauge.io.formats import image_stem
from segbench.overlap.fingerprints import Fingerprint, Likeness, compare_fingerprints, fingerprint
from segbench.registry import DATASETS, Progress, dataset, offers

#: Folders that hold images and not labels, by the names that datasets give them.
_IMAGE_FOLDERS = ("images", "imagesTr", "imagesTs", "imagesVa", "img")


@dataclass(frozen=True)
class OverlapPair:
    """Two images that show the same scan."""

    left: str
    right: str
    likeness: Likeness


@dataclass(frozen=True)
class Overlap:
    """What two datasets share: pairs of near-duplicates, how much was compared, and what could not be."""

    pairs: tuple[OverlapPair, ...]
    n_left: int
    n_right: int
    unusable: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            "pairs": [
                {
                    "left": pair.left,
                    "right": pair.right,
                    "votes": pair.likeness.votes,
                    "share": round(pair.likeness.share, 4),
                    "offset_mm": [round(value, 2) for value in pair.likeness.offset_mm],
                }
                for pair in self.pairs
            ],
            "n_left": self.n_left,
            "n_right": self.n_right,
            "unusable": dict(self.unusable),
        }


def find_overlap(left: Mapping[str, Path], right: Mapping[str, Path], progress: Progress | None = None) -> Overlap:
    """Return every pair of images, one of each side, that show the same scan; the surest first.

    An image that cannot be read or shows too little is named, not passed over.
    """
    unusable: dict[str, str] = {}
    total = len(left) + len(right)
    known: list[dict[str, Fingerprint]] = []
    for number, side in enumerate((left, right)):
        found: dict[str, Fingerprint] = {}
        for place, (name, path) in enumerate(side.items(), start=1):
            try:
                found[name] = fingerprint(read_image(path))
            except SegaugeError as error:
                unusable[name] = str(error)
            if progress is not None:
                progress(f"fingerprint of {name}", place + number * len(left), total)
        known.append(found)
    pairs = [
        OverlapPair(one, other, likeness)
        for one, first in known[0].items()
        for other, second in known[1].items()
        if (likeness := compare_fingerprints(first, second)).is_duplicate
    ]
    pairs.sort(key=lambda pair: (-pair.likeness.votes, pair.left, pair.right))
    return Overlap(tuple(pairs), len(known[0]), len(known[1]), unusable)


def images_of(what: str) -> dict[str, Path]:
    """Return the images of a dataset ("kits23=data/kits23", or just its name) or of a folder, by name.

    A folder's images are those in it, or in its image folders (images, imagesTr, ...), or one in each of its folders.
    """
    name, _, root = what.partition("=")
    if name in offers(DATASETS) and not Path(what).is_dir():
        chosen = dataset(name, Path(root) if root else None)
        there = [case for case in chosen.cases(chosen.case_ids()) if case.image.is_file()]
        if not there:
            raise InvalidInput(f"{name}: none of its images is here; fetch some, or say where: {name}=FOLDER.")
        return {case.case_id: case.image for case in there}
    folder = Path(what)
    if not folder.is_dir():
        raise InvalidInput(f"{what}: is neither a dataset nor a folder of images.")
    places = [folder / inner for inner in _IMAGE_FOLDERS if (folder / inner).is_dir()] or [folder]
    found = {_name(path): path for place in places for path in sorted(place.iterdir()) if _is_image(path)}
    if not found:
        deeper = [path for place in sorted(folder.iterdir()) if place.is_dir() for path in sorted(place.iterdir())]
        found = {f"{path.parent.name}/{_name(path)}": path for path in deeper if _is_image(path)}
    if not found:
        raise InvalidInput(f"{folder}: holds no .nii or .nii.gz images.")
    return found


def _is_image(path: Path) -> bool:
    return path.is_file() and path.name.endswith((".nii", ".nii.gz")) and not path.name.startswith(".")


def _name(path: Path) -> str:
    return image_stem(path.name) or path.name
