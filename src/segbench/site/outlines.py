"""One structure of one case, as every model drew it: the same slice, through the largest error of any of them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from segauge.report.failures import Diagnosis, diagnose
from segauge.report.pairs import Bools, CasePair, Part, window_of
from segauge.report.slices import MARGIN_MM, SMALLEST_MM, Plane, grey_values, middle_of_largest, plane_at, window_around

#: Pixels of a side: a panel is small, and so shall be its page.
MOST_PIXELS = 160
_AXIAL = 2


@dataclass(frozen=True, eq=False)
class Drawn:
    """One model's mask of a structure beside the ground truth's, and what kind of failure it is."""

    pred: Part
    gt: Part
    diagnosis: Diagnosis

    @classmethod
    def of(cls, pair: CasePair, structure: str) -> Drawn:
        """Cut both masks of a pair to what they hold."""
        pred, gt = pair.masks(structure)
        return cls(Part.of(pred), Part.of(gt), diagnose(pair, structure))


@dataclass(frozen=True, eq=False)
class Outlines:
    """The same slice for every model, where it lies, and the image below it as PNG (empty without one)."""

    planes: Mapping[str, Plane]
    place: str
    image: bytes


def outlines(
    drawn: Mapping[str, Drawn],
    spacing: tuple[float, float, float],
    image: npt.NDArray[np.float32] | None,
    *,
    oriented: bool = True,
) -> Outlines:
    """Return the axial slice through the largest connected error of any model, with each model's outline.

    All masks are upright and of one shape, and some model or the ground truth has the structure.
    """
    room = [int(np.ceil((SMALLEST_MM + MARGIN_MM) / edge)) for edge in spacing]
    window = window_of([part for one in drawn.values() for part in (one.pred, one.gt)], (room[0], room[1], room[2]))
    masks = {name: (one.pred.inside(window), one.gt.inside(window)) for name, one in drawn.items()}
    either = np.logical_or.reduce([mask for pair in masks.values() for mask in pair])
    point = _worst_point(masks, either)
    x, y, z = point
    # As wide as what the slice shows: a long vessel would otherwise be a dot in the middle of its length.
    across, along, _ = window_around((x, y, 0), either[:, :, z : z + 1], spacing)
    box = (across, along, slice(z, z + 1))
    grey = None
    if image is not None:
        grey = np.zeros(either.shape, dtype=np.uint8)
        grey[box] = grey_values(image[window][box], either[box])
    planes = {
        name: plane_at(_AXIAL, point[_AXIAL], pred, gt, spacing, box, grey, oriented=oriented, most_pixels=MOST_PIXELS)
        for name, (pred, gt) in masks.items()
    }
    first = next(iter(planes.values()))
    count = next(iter(drawn.values())).gt.shape[_AXIAL]
    number = point[_AXIAL] + window[_AXIAL].start + 1
    bare = {name: replace(plane, image="") for name, plane in planes.items()}
    return Outlines(bare, f"{first.name}, slice {number} of {count}", base64.b64decode(first.image))


def _worst_point(masks: Mapping[str, tuple[Bools, Bools]], either: Bools) -> tuple[int, int, int]:
    """Return the middle of the largest connected error of any model; of what there is, where nobody errs."""
    found = [middle_of_largest(pred ^ gt) for pred, gt in masks.values()]
    point, size = max(found, key=lambda one: one[1])
    return point if size else middle_of_largest(either)[0]
