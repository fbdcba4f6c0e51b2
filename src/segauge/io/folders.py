"""Read a folder with one mask per structure (TotalSegmentator and many others) as one label map."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from segauge.errors import GridMismatch, UnreadableFile
from segauge.grid import Kinship
from segauge.io.formats import identify, image_stem
from segauge.io.layers import Block, foreground_box, stack_layers
from segauge.io.reading import DEFAULT_OPTIONS, Reading, ReadOptions
from segauge.io.streams import list_folder
from segauge.labelmap import LabelMap


def read_mask_folder(folder: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Reading:
    """Read `<structure>.<suffix>` files as structures 1, 2, ... in the order of their names.

    Each file is a mask: background and one other value. All must lie on one grid. Masks may overlap and may be
    empty; an empty one keeps its name and label. Files that are no images are left out.
    """
    files = mask_files(folder)
    if not files:
        raise UnreadableFile(f"{folder}: the folder holds no image files (such as liver.nii.gz), one per structure.")
    notes: list[str] = []
    first: list[Reading] = []
    structures = _masks(files, first, notes, options)
    label, blocks = next(structures)
    grid = first[0].labels.grid

    def in_order() -> Iterator[tuple[int, list[Block]]]:
        yield label, blocks
        yield from structures

    layers = stack_layers(in_order(), grid.shape, len(files), str(folder), options.limits)
    head = first[0].labels
    labels = LabelMap(
        layers, grid, dict(enumerate(files, start=1)), str(folder), head.in_space, head.partial, head.frame_of_reference
    )
    return Reading(labels, "folder", tuple(notes), first[0].spacing_source)


def mask_files(folder: Path) -> dict[str, Path]:
    """Return the image files of a folder by structure name, sorted; refuse two files of one name."""
    files: dict[str, Path] = {}
    for path in list_folder(folder):
        name = image_stem(path.name)
        if name is None or path.name.startswith(".") or path.is_dir():
            continue
        if name in files:
            raise UnreadableFile(f"{folder}: {files[name].name} and {path.name} are both called {name!r}. Remove one.")
        files[name] = path
    return files


def _masks(
    files: dict[str, Path], first: list[Reading], notes: list[str], options: ReadOptions
) -> Iterator[tuple[int, list[Block]]]:
    """Yield label and voxels of each file; the first reading is put into `first`, notes into `notes`."""
    told: set[str] = set()
    for label, path in enumerate(files.values(), start=1):
        reading = identify(path).read(path, options)
        if not first:
            first.append(reading)
        relation = reading.labels.grid.relation_to(first[0].labels.grid)
        if relation.kind is not Kinship.SAME:
            raise GridMismatch(
                f"{path}: does not lie on the grid of {first[0].labels.source}: {relation.words}. "
                "The masks of one folder must share one grid."
            )
        fresh = [note for note in reading.notes if note not in told]
        told.update(fresh)
        notes.extend(f"{path.name}: {note}" for note in fresh)
        yield label, [_foreground(reading.labels)]


def _foreground(labels: LabelMap) -> Block:
    """Return the voxels of a mask, cropped to where there are any."""
    array = labels.layers[0]
    box = foreground_box(array)
    inside = array[box]
    mask = inside != 0
    if len(labels.layers) > 1 or (inside.size and np.any(inside[mask] != inside.max())):
        raise UnreadableFile(
            f"{labels.source}: holds several labels, but in a folder of structures each file is one mask. "
            "Give the file itself if it is a label map."
        )
    return Block(box, mask)
