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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.report.pairs import Bools, Box, Part, window_of
from segauge.report.slices import error_point, grey_values
from segauge.report.surfaces import surface_of

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

    gt: Part
    preds: Mapping[str, Part]

    @classmethod
    def of(cls, gt: Bools, preds: Mapping[str, Bools]) -> MaskPair:
        """Cut whole masks to what they hold."""
        return cls(Part.of(gt), {model: Part.of(pred) for model, pred in preds.items()})

    @property
    def parts(self) -> list[Part]:
        """All masks, the ground truth first."""
        return [self.gt, *self.preds.values()]


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
        surfaced: structures that get a surface to turn, per model.
        facts: further lines about the case, such as metadata.

    """

    case: str
    structures: Mapping[str, MaskPair]
    spacing: tuple[float, float, float]
    image: npt.NDArray[Any] | None = None
    oriented: bool = True
    scores: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]] = field(default_factory=dict)
    surfaced: Collection[str] = ()
    facts: Sequence[tuple[str, str]] = ()

    def packed(self, most_voxels: int = MOST_VOXELS) -> dict[str, Any]:
        """Return what a page stores of the case."""
        parts = [part for pair in self.structures.values() for part in pair.parts]
        # Without an image less room is enough.
        room = MARGIN_MM if self.image is not None else MARGIN_MM / 3
        margin = [max(1, math.ceil(room / edge)) for edge in self.spacing]
        box = window_of(parts, (margin[0], margin[1], margin[2]))
        sizes = tuple(part.stop - part.start for part in box)
        step = _steps(sizes, self.spacing, most_voxels)
        edges = [edge * jump for edge, jump in zip(self.spacing, step, strict=True)]
        # A voxel that stands for several lies in their middle.
        origin = [
            (part.start + (jump - 1) / 2) * edge for part, jump, edge in zip(box, step, self.spacing, strict=True)
        ]
        thin = (slice(None, None, step[0]), slice(None, None, step[1]), slice(None, None, step[2]))
        return {
            "case": self.case,
            "dims": [-(-size // jump) for size, jump in zip(sizes, step, strict=True)],
            "spacing": edges,
            "origin": origin,
            "oriented": self.oriented,
            "image": None if self.image is None else _gzipped(_greys(self.image, parts, box)[thin].tobytes("F")),
            "structures": {name: self._structure(name, pair, box, thin) for name, pair in self.structures.items()},
            "facts": [list(fact) for fact in self.facts],
        }

    def _structure(self, name: str, pair: MaskPair, box: Box, thin: Box) -> dict[str, Any]:
        first = next(iter(pair.preds.values()), pair.gt)
        own = window_of([first, pair.gt])
        middle = error_point(first.inside(own), pair.gt.inside(own))
        has_surface = name in self.surfaced and pair.gt.shape[2] > 1
        return {
            "gt": _bits(pair.gt.inside(box)[thin]),
            "preds": {model: _bits(pred.inside(box)[thin]) for model, pred in pair.preds.items()},
            "start": [(at + side.start) * edge for at, side, edge in zip(middle, own, self.spacing, strict=True)],
            "scores": {model: [list(one) for one in found] for model, found in self.scores.get(name, {}).items()},
            "surfaces": {
                model: self._surface(pred, pair.gt)
                for model, pred in pair.preds.items()
                if has_surface and not (pred.is_empty and pair.gt.is_empty)
            },
        }

    def _surface(self, pred: Part, gt: Part) -> dict[str, Any]:
        """Return the surface of a prediction, or of the ground truth where nothing was predicted."""
        own = window_of([pred, gt], (1, 1, 1))
        mask, other = (gt, pred) if pred.is_empty else (pred, gt)
        surface = surface_of(mask.inside(own), other.inside(own), self.spacing)
        start = np.array([side.start for side in own], dtype=np.float64) * np.asarray(self.spacing)
        largest = float(surface.distances.max())
        return {**replace(surface, origin=surface.origin + start).packed(largest), "largest": largest}


def _greys(image: npt.NDArray[Any], parts: Sequence[Part], box: Box) -> npt.NDArray[np.uint8]:
    inside = parts[0].inside(box)
    for part in parts[1:]:
        inside |= part.inside(box)
    return grey_values(image[box], inside)


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
