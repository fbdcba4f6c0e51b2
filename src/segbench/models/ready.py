"""Predictions that are there already: a folder with one label map, or one folder of masks, per case.

The folder is somebody's submission: what a link in it leads to outside of it, such as a ground truth, is not opened.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from segauge import read_labels
from segauge.errors import InvalidInput, SegaugeError, UnreadableFile
from segauge.io import write_nifti
from segauge.io.contents import content_hash
from segauge.io.formats import identify, image_stem
from segbench.cards import ModelCard
from segbench.models.command import card_options, described_card
from segbench.typed import read_options, require


@dataclass(frozen=True)
class ReadyPredictions:
    """A model that is only known by what it predicted."""

    card: ModelCard
    folder: Path
    requirements: tuple[str, ...] = ()
    needs_gpu: bool = False

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """A hash of the files: other files are other predictions, even of the same names."""
        if not self.folder.is_dir():
            raise InvalidInput(f"predictions: {self.folder} is not there; expected the folder of {self.card.name}.")
        there = sorted(predictions_in(self.folder).items())
        files = {name: link_out(path, self.folder) or _hash_of(path) for name, path in there}
        return {"files_sha256": hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()}

    def command(self, image: Path, output: Path, device: str, environment_python: Path | None) -> list[str]:
        """Return the command that copies the prediction of an image to its place."""
        del device, environment_python
        labels = {name: labels[0] for name, labels in self.card.structures.items() if len(labels) == 1}
        start = [sys.executable, "-m", "segbench.models.ready", "--folder", str(self.folder.resolve())]
        return [*start, "--image", str(image), "--out", str(output), "--labels", json.dumps(labels)]


def ready(options: Mapping[str, Any]) -> ReadyPredictions:
    """Return a model by its predictions; options `folder`, and the keys of a card (name and structures are needed)."""
    given = read_options("predictions", options, **{**card_options(), "folder": str})
    folder = Path(require("predictions", given, "folder", "predictions/my-net"))
    return ReadyPredictions(described_card("predictions", given), folder)


def predictions_in(folder: Path) -> dict[str, Path]:
    """Return the predictions of a folder by case: files by their name, folders by theirs."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        name = path.name if path.is_dir() else image_stem(path.name)
        if name is None or path.name.startswith("."):
            continue
        if name in found:
            raise InvalidInput(f"predictions: {found[name].name} and {path.name} are both of the case {name!r}.")
        found[name] = path
    return found


def find_prediction(folder: Path, case_id: str, image: Path) -> Path:
    """Return the prediction of a case: by its id, which a name may follow with nnU-Net's channel as its image does.

    Nothing else counts: images of many cases may have one name, or lie in one folder, and no file serves two cases.

    Raises:
        InvalidInput: if there is none, or if it leads out of the folder.

    """
    there = predictions_in(folder)
    stem = image_stem(image.name)
    names = [case_id, *([stem] if stem == f"{case_id}_0000" else [])]
    for name in names:
        if name in there:
            link = link_out(there[name], folder)
            if link:
                raise InvalidInput(f"{link}. Put the file itself there: what lies elsewhere is not submitted.")
            return there[name]
    raise InvalidInput(f"no prediction called {' or '.join(names)} in {folder.name}; name them after the cases")


def link_out(prediction: Path, folder: Path) -> str:
    """Return in words which file of a prediction is a link out of the folder of predictions; "" if none is.

    The folder itself may be reached through a link, and links may lead from one place in it to another.
    """
    home = folder.resolve()
    for path in _files_of(prediction):
        # By this name also where links lead in a circle.
        if not Path(os.path.realpath(path)).is_relative_to(home):
            return f"{path.relative_to(folder)} is a link that leads out of {folder.name}"
    return ""


def _hash_of(prediction: Path) -> str:
    """Return the hash of what a prediction holds; one that cannot be read fails its own case, later."""
    try:
        return content_hash(prediction)
    except UnreadableFile:
        return "unreadable"


def _files_of(prediction: Path) -> Iterator[Path]:
    """Yield the file or folder, then what it holds or needs, each before anything opens it."""
    yield prediction
    if prediction.is_dir():
        yield from sorted(prediction.rglob("*"))
        return
    with contextlib.suppress(UnreadableFile):  # its reader will say what is wrong
        yield from identify(prediction).companions(prediction)


def write_masks(folder: Path, labels: Mapping[str, int], output: Path) -> None:
    """Write a folder of masks as one label map, with the labels of the card; masks it does not name are left out.

    Raises:
        InvalidInput: if two of them share voxels, of which a label map could give only one its due.

    """
    found = read_labels(folder).labels
    merged = np.zeros(found.grid.shape, dtype=np.uint16)
    for number, name in found.names.items():
        if name not in labels:
            continue
        mask = found.mask(number).array
        shared = merged[mask]
        if shared.any():
            other = next(word for word, label in labels.items() if label == int(shared.max()))
            raise InvalidInput(
                f"{folder.name}: {other} and {name} share {np.count_nonzero(shared)} voxels, and one label map cannot "
                "hold both. Make the masks exclusive, or `segauge eval` the folders, which may overlap."
            )
        merged[mask] = labels[name]
    write_nifti(output, merged, found.grid)


def write_label_map(file: Path, output: Path) -> None:
    """Put a prediction into its place: the file as it is, or what it holds where its voxels lie in another file."""
    if not identify(file).companions(file):
        shutil.copyfile(file, output)
        return
    found = read_labels(file).labels
    if len(found.layers) > 1 or found.grid.ndim != 3 or not found.in_space:
        raise InvalidInput(f"{file.name}: is no single label map with a place in space. Write it as .nii.gz.")
    write_nifti(output, found.layers[0], found.grid)


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy the prediction of one case to its place; the case is named by SEGBENCH_CASE."""
    parser = argparse.ArgumentParser(prog="python -m segbench.models.ready", description=main.__doc__)
    for name in ("folder", "image", "out"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--labels", required=True, type=json.loads)
    given = parser.parse_args(arguments)
    try:
        found = find_prediction(given.folder, os.environ.get("SEGBENCH_CASE", ""), given.image)
        if found.is_dir():
            write_masks(found, given.labels, given.out)
        else:
            write_label_map(found, given.out)
    except SegaugeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
