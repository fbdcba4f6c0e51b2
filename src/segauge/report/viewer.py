"""The case viewer of pages: what a browser needs to draw one case, and the NiiVue library that draws it.

A page holds, per case, the image in 256 greys and one bit per voxel for every mask, all cut to the structures shown and
thinned to a budget. `viewer.js` makes the colours of agreement, false negatives and false positives from them.

NiiVue (BSD-2) is never copied into this project: it is read from nilearn, which ships it. Where nilearn is not
installed, pages show fixed slices instead.
"""

from __future__ import annotations

import base64
import gzip
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.report.pairs import Bools, box_of
from segauge.report.slices import error_point, grey_values
from segauge.report.surfaces import Surface

#: Voxels of one case in a page. Six cases with images stay below 8 MB of text.
MOST_VOXELS = 700_000
#: Room around the structures that are shown, in mm.
MARGIN_MM = 15.0


@lru_cache(maxsize=1)
def niivue() -> str | None:
    """Return the text of NiiVue, or None where nilearn is not installed."""
    try:
        shipped = files("nilearn") or []
    except PackageNotFoundError:
        return None
    found = [path for path in shipped if path.name == "niivue.umd.js"]
    try:
        return found[0].read_text(encoding="utf-8") if found else None
    except OSError:
        return None


@dataclass(frozen=True, eq=False)
class MaskPair:
    """One structure of a case: the ground truth, and the prediction of each model (upright, on one grid)."""

    gt: Bools
    preds: Mapping[str, Bools]

    @property
    def either(self) -> Bools:
        """Voxels of any of the masks."""
        found = self.gt.copy()
        for pred in self.preds.values():
            found |= pred
        return found


@dataclass(frozen=True, eq=False)
class ViewedCase:
    """A case as the viewer shows it.

    Attributes:
        case: its id.
        structures: masks by structure; the first is shown first.
        spacing: of the upright grid in mm.
        image: grey values on that grid, None without an image.
        oriented: whether the sides of the patient are known.
        scores: per structure and model what to print, as (name, text).
        surfaces: per structure the surface to turn, as the pair of it and its largest distance in mm.
        facts: further lines about the case, such as metadata.

    """

    case: str
    structures: Mapping[str, MaskPair]
    spacing: tuple[float, float, float]
    image: npt.NDArray[Any] | None = None
    oriented: bool = True
    scores: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]] = field(default_factory=dict)
    surfaces: Mapping[str, tuple[Surface, float]] = field(default_factory=dict)
    facts: Sequence[tuple[str, str]] = ()

    def packed(self, most_voxels: int = MOST_VOXELS) -> dict[str, Any]:
        """Return what a page stores of the case."""
        shown = [pair.either for pair in self.structures.values()]
        box = _grown(_union(shown), self.spacing, self.image)
        step = _steps(tuple(part.stop - part.start for part in box), self.spacing, most_voxels)
        cut = (slice(box[0].start, box[0].stop, step[0]), slice(box[1].start, box[1].stop, step[1]),
               slice(box[2].start, box[2].stop, step[2]))  # fmt: skip
        edges = [edge * jump for edge, jump in zip(self.spacing, step, strict=True)]
        # A voxel that stands for several lies in their middle.
        origin = [
            (part.start + (jump - 1) / 2) * edge for part, jump, edge in zip(box, step, self.spacing, strict=True)
        ]
        grey = None if self.image is None else grey_values(self.image[box], _union(shown)[box])
        return {
            "case": self.case,
            "dims": list(shown[0][cut].shape),
            "spacing": edges,
            "origin": origin,
            "oriented": self.oriented,
            "image": None if grey is None else _gzipped(grey[:: step[0], :: step[1], :: step[2]].ravel("F").tobytes()),
            "structures": {name: self._structure(name, pair, cut) for name, pair in self.structures.items()},
            "facts": [list(fact) for fact in self.facts],
        }

    def _structure(self, name: str, pair: MaskPair, cut: tuple[slice, slice, slice]) -> dict[str, Any]:
        first = next(iter(pair.preds.values()), pair.gt)
        surface, largest = self.surfaces.get(name, (None, 0.0))
        middle = error_point(first, pair.gt)
        return {
            "gt": _bits(pair.gt[cut]),
            "preds": {model: _bits(pred[cut]) for model, pred in pair.preds.items()},
            "start": [place * edge for place, edge in zip(middle, self.spacing, strict=True)],
            "scores": {model: [list(one) for one in found] for model, found in self.scores.get(name, {}).items()},
            "surface": None if surface is None else {**surface.packed(largest), "largest": largest},
        }


def _union(masks: Sequence[Bools]) -> Bools:
    found = masks[0].copy()
    for mask in masks[1:]:
        found |= mask
    return found


def _grown(
    either: Bools, spacing: tuple[float, float, float], image: npt.NDArray[Any] | None
) -> tuple[slice, slice, slice]:
    """Return the box of the masks with room around it; without an image less room is enough."""
    room = MARGIN_MM if image is not None else MARGIN_MM / 3
    margin = [max(1, math.ceil(room / edge)) for edge in spacing]
    return box_of(either, (margin[0], margin[1], margin[2]))


def _steps(shape: tuple[int, ...], spacing: tuple[float, float, float], most: int) -> list[int]:
    """Return by how much each axis is thinned, the finest axis first, until the box keeps the budget."""
    steps = [1, 1, 1]
    while math.prod(-(-size // step) for size, step in zip(shape, steps, strict=True)) > most:
        edges = [
            edge * step if size > step else math.inf for edge, step, size in zip(spacing, steps, shape, strict=True)
        ]
        steps[edges.index(min(edges))] += 1
    return steps


def _bits(mask: Bools) -> str:
    """Return a mask with one bit per voxel, the first axis fastest."""
    return _gzipped(np.packbits(mask.ravel("F"), bitorder="little").tobytes())


def _gzipped(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
