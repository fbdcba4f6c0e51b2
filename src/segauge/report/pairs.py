"""The files of a case read again for its pictures: both masks and the image on one grid, upright, as measured."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, SegaugeError
from segauge.evaluation import Case
from segauge.evaluation.structures import LabelPair, Side, StructureSpec, label_pair
from segauge.io import Limits, read_labels
from segauge.io.images import image_of, labels_of, read_any_image
from segauge.io.outputs import without_folders
from segauge.labelmap import LabelMap
from segauge.placement import place

Bools = npt.NDArray[np.bool_]
Box = tuple[slice, slice, slice]

_POSITIVE = {"R": 0, "A": 1, "S": 2}
_NEGATIVE = {"L": 0, "P": 1, "I": 2}


@dataclass(frozen=True)
class Upright:
    """How an array is turned so that its axes point right, front and up; 2-D images get a third axis of one slice."""

    axes: tuple[int, ...]
    flips: tuple[bool, ...]
    spacing: tuple[float, float, float]

    @classmethod
    def of(cls, labels: LabelMap) -> Upright:
        """Return the turn for the grid of a label map."""
        grid = labels.grid
        world = [_POSITIVE.get(letter, _NEGATIVE.get(letter, 0)) for letter in grid.orientation]
        axes = tuple(sorted(range(grid.ndim), key=lambda axis: world[axis]))
        flips = tuple(grid.orientation[axis] in _NEGATIVE for axis in axes)
        edges = [grid.spacing[axis] for axis in axes] + [1.0] * (3 - grid.ndim)
        return cls(axes, flips, (edges[0], edges[1], edges[2]))

    def turned(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the array so turned, without a copy."""
        moved = array.transpose(self.axes)[tuple(slice(None, None, -1 if flip else 1) for flip in self.flips)]
        return moved if moved.ndim == 3 else moved[..., None]


@dataclass(frozen=True, eq=False)
class CasePair:
    """Both label maps of a case on one grid, and which labels make which structure in each."""

    case_id: str
    pred: LabelMap
    gt: LabelMap
    labels: LabelPair

    @cached_property
    def upright(self) -> Upright:
        """The turn that makes both stand upright."""
        return Upright.of(self.gt)

    @property
    def structures(self) -> tuple[str, ...]:
        """Names of the structures of either file."""
        return tuple(self.labels.gt)

    def masks(self, structure: str) -> tuple[Bools, Bools]:
        """Return the predicted and the ground-truth mask of a structure, upright."""
        pred = _inside(self.pred, self.labels.pred[structure])
        gt = _inside(self.gt, self.labels.gt[structure])
        return self.upright.turned(pred), self.upright.turned(gt)

    def shares_inside(self, where: Bools, side: str) -> dict[str, float]:
        """Return, of the upright voxels `where`, the share that each structure of one side ("pred", "gt") covers."""
        labels, found = (self.pred, self.labels.pred) if side == "pred" else (self.gt, self.labels.gt)
        total = int(np.count_nonzero(where))
        if not total:
            return {}
        box = box_of(where)
        inside = [self.upright.turned(layer)[box][where[box]] for layer in labels.layers]
        shares = {}
        for name, values in found.items():
            covered = np.zeros(total, dtype=bool)
            for layer in inside:
                covered |= np.isin(layer, values)
            shares[name] = float(np.count_nonzero(covered)) / total
        return shares


def _inside(labels: LabelMap, values: tuple[int, ...]) -> Bools:
    """Return the voxels of some labels; comparing label by label is many times as fast as looking each voxel up."""
    array = np.zeros(labels.grid.shape, dtype=np.bool_)
    for layer in labels.layers:
        if len(values) > 8:
            array |= np.isin(layer, values)
            continue
        for value in values:
            array |= layer == value
    return array


def read_pair(case: Case, options: Mapping[str, Any]) -> CasePair:
    """Read a case as it was measured; `options` are those of the result's protocol.

    Raises:
        SegaugeError: if a file cannot be read any more, or the grids cannot be compared.

    """
    if case.pred is None:
        raise InvalidInput("There is no prediction for this case.")
    reading: dict[str, Any] = {
        "frame": options.get("frame"),
        "nan": options.get("nan", "refuse"),
        "any_frame_of_reference": bool(options.get("any_frame_of_reference", False)),
        "allow_nonuniform": bool(options.get("allow_nonuniform", False)),
        "limits": Limits(max_voxels=options.get("max_voxels", Limits().max_voxels)),
    }
    spacing = {side: None if isinstance(getattr(case, side), LabelMap) else case.spacing for side in ("pred", "gt")}
    gt = read_labels(case.gt, spacing=spacing["gt"], **reading)
    reference = gt.reference
    threshold = options.get("threshold")  # of predictions alone, as they were measured
    pred = read_labels(case.pred, spacing=spacing["pred"], reference=reference, threshold=threshold, **reading)
    placed = place(
        pred.labels,
        gt.labels,
        resample=options.get("resample"),
        trust_array=bool(options.get("trust_array", False)),
        any_frame_of_reference=reading["any_frame_of_reference"],
    )
    labels = label_pair(
        spec_from(options),
        Side(gt, gt.labels.labels()),
        Side(pred, pred.labels.labels()),
        options.get("segment_number", 1),
    )
    return CasePair(case.case_id, placed.pred, placed.gt, labels)


def spec_from(options: Mapping[str, Any]) -> StructureSpec:
    """Return which structures were measured, from the options of a protocol."""
    named, ignore = options.get("structures", "foreground"), options.get("ignore")
    if not isinstance(named, Mapping):
        return StructureSpec("all" if named == "all" else "foreground", ignore=ignore)
    pred = options.get("pred_structures")
    return StructureSpec("named", _parts(named), ignore, None if pred is None else _parts(pred))


def _parts(named: Mapping[str, Any]) -> dict[str, tuple[int | str, ...]]:
    return {name: tuple(parts) for name, parts in named.items()}


def box_of(mask: Bools, margin: tuple[int, int, int] = (0, 0, 0)) -> Box:
    """Return the smallest box that holds a mask, with a margin in voxels; the whole array for an empty mask."""
    slices = []
    for axis in range(3):
        hit = np.flatnonzero(mask.any(axis=tuple(other for other in range(3) if other != axis)))
        if not hit.size:
            return (slice(0, mask.shape[0]), slice(0, mask.shape[1]), slice(0, mask.shape[2]))
        slices.append(slice(max(int(hit[0]) - margin[axis], 0), min(int(hit[-1]) + 1 + margin[axis], mask.shape[axis])))
    return (slices[0], slices[1], slices[2])


@dataclass(frozen=True, eq=False)
class Part:
    """A mask cut to the box that holds it: a whole volume per model and structure would fill the memory."""

    box: Box
    array: Bools
    shape: tuple[int, int, int]

    @classmethod
    def of(cls, mask: Bools) -> Part:
        """Return the part of a mask that holds it."""
        box = box_of(mask) if mask.any() else (slice(0, 0),) * 3
        return cls(box, mask[box].copy(), (mask.shape[0], mask.shape[1], mask.shape[2]))

    @property
    def is_empty(self) -> bool:
        """Whether no voxel is set."""
        return self.array.size == 0

    def inside(self, window: Box) -> Bools:
        """Return the mask within a window, in the window's own indices."""
        found = np.zeros(tuple(part.stop - part.start for part in window), dtype=np.bool_)
        low = [max(own.start, w.start) for own, w in zip(self.box, window, strict=True)]
        high = [min(own.stop, w.stop) for own, w in zip(self.box, window, strict=True)]
        if all(a < b for a, b in zip(low, high, strict=True)):
            there = tuple(slice(a - w.start, b - w.start) for a, b, w in zip(low, high, window, strict=True))
            here = tuple(slice(a - own.start, b - own.start) for a, b, own in zip(low, high, self.box, strict=True))
            found[there] = self.array[here]
        return found


def window_of(parts: Sequence[Part], room: tuple[int, int, int] = (0, 0, 0)) -> Box:
    """Return the smallest box that holds all parts, with room in voxels; the whole array where all are empty."""
    found = [part.box for part in parts if not part.is_empty]
    shape = parts[0].shape
    low = [max(min((box[axis].start for box in found), default=0) - room[axis], 0) for axis in range(3)]
    high = [max((box[axis].stop for box in found), default=shape[axis]) + room[axis] for axis in range(3)]
    slices = [slice(a, min(b, size)) for a, b, size in zip(low, high, shape, strict=True)]
    return (slices[0], slices[1], slices[2])


#: A file of any format that label maps can have, the folder of a DICOM series, or an array on the masks' own grid.
ImageSource = str | os.PathLike[str] | npt.NDArray[Any]


def background(source: ImageSource | None, gt: LabelMap) -> tuple[npt.NDArray[Any] | None, str]:
    """Return the image of a case, upright on the grid of its ground truth, or None and why it cannot be drawn.

    An image on another grid is sampled at the voxels of the ground truth; where it does not reach it is NaN.
    """
    if source is None:
        return None, ""
    if isinstance(source, np.ndarray):
        if source.shape != gt.grid.shape:
            return None, f"the image has the shape {source.shape}, the masks {gt.grid.shape}; it is not drawn"
        return Upright.of(gt).turned(source), ""
    try:
        target = replace(gt, partial=False)  # the masks' grid shall not grow to hold all of the image
        placed = place(labels_of(read_any_image(source)), target, resample="nearest", any_frame_of_reference=True)
        image = image_of(placed.pred, outside=math.nan).array
    except (SegaugeError, MemoryError) as error:
        return None, f"the image is not drawn: {without_folders(str(error), [('images', Path(source).parent)])}"
    if image.shape != gt.grid.shape:
        return None, f"the image has the shape {image.shape}, the masks {gt.grid.shape}; it is not drawn"
    if np.isnan(image).all():
        return None, "the image is not drawn: it holds no value where the masks are"
    if np.nanmin(image) == np.nanmax(image):
        return None, "the image is not drawn: it has the same value everywhere"
    return Upright.of(gt).turned(image), ""
