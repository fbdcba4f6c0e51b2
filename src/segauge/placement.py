"""Placement: bring a prediction onto the grid of its ground truth, in space, and say how.

It sits just above `labelmap`, because it knows label maps and grids but neither files nor metrics: whoever compares
two maps, from files or from memory, places them first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import GridMismatch, InvalidInput, ShapeMismatch, option
from segauge.grid import SAME_PLACE, Grid, Kinship
from segauge.labelmap import LabelArray, LabelMap
from segauge.plural import agreeing

#: A grid that grows to hold both maps may not have more voxels than this.
_MAX_VOXELS = 2**31


class Method(StrEnum):
    """How a prediction came onto the grid of its ground truth."""

    SAME = "same grid"
    REORIENTED = "reoriented"
    PLACED = "placed"
    RESAMPLED = "resampled"
    BY_SHAPE = "by shape"
    TRUSTED = "trusted array"


@dataclass(frozen=True, eq=False)
class Placement:
    """Prediction and ground truth on one grid, how they came there, and what has to be said about it.

    The grid is that of the ground truth. It grows only where the ground truth is `partial` (a DICOM-SEG without its
    empty frames) and the prediction reaches further: what was predicted there is false, and must not be cut away.
    `outside` counts the foreground voxels of the prediction that lie outside of that grid, and so count for nothing.
    """

    pred: LabelMap
    gt: LabelMap
    method: Method
    notes: tuple[str, ...] = ()
    outside: int = 0


def place(
    pred: LabelMap,
    gt: LabelMap,
    *,
    resample: Literal["nearest"] | None = None,
    trust_array: bool = False,
    any_frame_of_reference: bool = False,
) -> Placement:
    """Return both label maps on one grid.

    Same grid: as they are. Axes flipped or permuted: reoriented without loss. Lattices that coincide under another
    extent: placed without interpolation. Another grid: resampled, only if `resample="nearest"`. A map without a
    place in the world (`in_space` False) pairs by shape. `trust_array=True` compares voxel by voxel whatever the
    headers say. The ground truth's spacing always wins. Where one map is 2-D and the other a volume of one slice, both
    are taken as 2-D.

    Raises:
        GridMismatch: if they do not meet, with the offset in mm and the angle.

    """
    if resample not in (None, "nearest"):
        raise InvalidInput(f"resample: expected 'nearest' or None, got {resample!r}.")
    if any_frame_of_reference or trust_array:  # so that what measures the two afterwards need not be told again
        pred = replace(pred, frame_of_reference=gt.frame_of_reference)
    if pred.grid.ndim != gt.grid.ndim:
        flat_pred, flat_gt = _in_one_plane(pred, gt)
        options = {"trust_array": trust_array, "any_frame_of_reference": any_frame_of_reference}
        flat = place(flat_pred, flat_gt, resample=resample, **options)
        volume = pred if pred.grid.ndim > gt.grid.ndim else gt
        note = f"{volume.source} has one slice, the other side is 2-D: compared in 2-D"
        return replace(flat, notes=(note, *flat.notes))
    if trust_array:
        return _trusted(pred, gt)
    if not (pred.in_space and gt.in_space):
        return _by_shape(pred, gt)
    check_frames_of_reference(pred, gt)
    relation = pred.grid.relation_to(gt.grid)
    if relation.kind is Kinship.SAME:
        return Placement(_on(gt.grid, pred), gt, Method.SAME)
    if relation.kind is Kinship.REORIENTABLE:
        note = (
            f"{pred.source} is stored as {pred.grid.orientation}, the ground truth as {gt.grid.orientation}; reoriented"
        )
        return Placement(_on(gt.grid, pred.on_grid_of(gt)), gt, Method.REORIENTED, (note,))
    placed = _on_lattice(pred, gt)
    if placed is not None:
        return placed
    if resample == "nearest":
        return _resampled(pred, gt)
    trust = f", or {option('trust_array')} to compare voxel by voxel" if pred.grid.shape == gt.grid.shape else ""
    raise GridMismatch(
        f"{pred.source} does not lie on the grid of {gt.source}: {relation.words}. Fix the affine, or pass "
        f"{option('resample', 'nearest')} if both show the same space{trust}."
    )


def _in_one_plane(pred: LabelMap, gt: LabelMap) -> tuple[LabelMap, LabelMap]:
    """Return a 2-D map and a volume of one slice both as 2-D maps; refuse a volume of more."""
    volume, plane = (pred, gt) if pred.grid.ndim > gt.grid.ndim else (gt, pred)
    single = [axis for axis in (2, 1, 0) if volume.grid.shape[axis] == 1]
    if not single:
        raise GridMismatch(
            f"{plane.source} is a 2-D image, {volume.source} a volume of {_size(volume.grid.shape)} voxels: they "
            "cannot be compared. Give both as 2-D images, or both as volumes."
        )
    shapes = {axis: volume.grid.shape[:axis] + volume.grid.shape[axis + 1 :] for axis in single}
    flat = _without_axis(volume, next((axis for axis in single if shapes[axis] == plane.grid.shape), single[0]))
    return (flat, gt) if volume is pred else (pred, flat)


def _without_axis(volume: LabelMap, axis: int) -> LabelMap:
    """Return a volume of one slice as a 2-D map; it has a place in space where it is an axial one."""
    kept = [k for k in range(3) if k != axis]
    layers = tuple(layer.squeeze(axis) for layer in volume.layers)
    if not np.allclose(volume.grid.affine[2, kept], 0.0):
        edges = [volume.grid.spacing[k] for k in kept]
        return replace(volume, layers=layers, grid=Grid.from_spacing(layers[0].shape, edges), in_space=False)
    affine = volume.grid.affine[np.ix_([0, 1, 3], [*kept, 3])]
    return replace(volume, layers=layers, grid=Grid(layers[0].shape, affine))


def _on(grid: Grid, labels: LabelMap) -> LabelMap:
    """Return the map on a grid that equals its own up to rounding, so that both maps have one and the same."""
    return labels if labels.grid == grid else replace(labels, grid=grid)


def _trusted(pred: LabelMap, gt: LabelMap) -> Placement:
    if pred.grid.shape != gt.grid.shape:
        raise ShapeMismatch(
            f"{pred.source} has the shape {pred.grid.shape}, {gt.source} {gt.grid.shape}: "
            f"{option('trust_array')} needs equal shapes."
        )
    relation = pred.grid.relation_to(gt.grid)
    if relation.kind is Kinship.SAME:
        return Placement(_on(gt.grid, pred), gt, Method.SAME)
    note = f"trust_array: compared voxel by voxel, although {pred.source} lies elsewhere ({relation.words})"
    return Placement(replace(pred, grid=gt.grid, in_space=gt.in_space), gt, Method.TRUSTED, (note,))


def _by_shape(pred: LabelMap, gt: LabelMap) -> Placement:
    lost = pred if not pred.in_space else gt
    if pred.grid.shape != gt.grid.shape:
        hint = ""
        if sorted(pred.grid.shape) == sorted(gt.grid.shape):
            hint = " The same lengths in another order: an axis-order mix-up (x, y, z against z, y, x)?"
        raise GridMismatch(
            f"{lost.source} has no world space, so both must have one shape, but {pred.source} has "
            f"{pred.grid.shape} and {gt.source} {gt.grid.shape}.{hint}"
        )
    note = f"{lost.source} has no world space: compared voxel by voxel, with the ground truth's spacing"
    return Placement(replace(pred, grid=gt.grid, in_space=gt.in_space), gt, Method.BY_SHAPE, (note,))


def check_frames_of_reference(pred: LabelMap, gt: LabelMap) -> None:
    """Refuse two maps that are known to lie in different coordinate systems of a patient."""
    one, other = pred.frame_of_reference, gt.frame_of_reference
    if one and other and one != other:
        raise GridMismatch(
            f"{pred.source} lies in the frame of reference {one}, {gt.source} in {other}: their coordinates cannot be "
            f"compared. If both are one space, pass {option('any_frame_of_reference')}; for measure(), to place() "
            "before it."
        )


@dataclass(frozen=True)
class _Lattice:
    """How a grid sits on the lattice of another: `flip(transpose(array, axes), flips)` starts at `offset` there."""

    axes: tuple[int, ...]
    flips: tuple[bool, ...]
    offset: tuple[int, ...]
    shape: tuple[int, ...]


def _coincidence(grid: Grid, other: Grid) -> _Lattice | None:
    """Return how `grid` sits on the lattice of `other`, None if voxel centres do not meet."""
    step = np.linalg.inv(other.affine) @ grid.affine
    whole = np.rint(step[:-1, :-1])
    if not (np.all(np.abs(whole).sum(axis=0) == 1) and np.all(np.abs(whole).sum(axis=1) == 1)):
        return None
    axes = tuple(int(np.flatnonzero(row)[0]) for row in whole)
    flips = tuple(bool(whole[k, axis] < 0) for k, axis in enumerate(axes))
    moved = grid.reoriented(axes, flips)
    index = np.linalg.inv(other.affine) @ moved.affine[:, -1]
    offset = np.rint(index[:-1])
    aligned = np.array(other.affine)
    aligned[:, -1] = other.affine @ np.append(offset, 1.0)
    gap = np.linalg.norm(Grid(moved.shape, aligned).corners() - moved.corners(), axis=1).max()
    if gap > SAME_PLACE * min(other.spacing):
        return None
    return _Lattice(axes, flips, tuple(int(n) for n in offset), moved.shape)


def _on_lattice(pred: LabelMap, gt: LabelMap) -> Placement | None:
    """Place without interpolation where the lattices coincide; None where they do not, or where it would hide an error.

    Two whole images of one size at two places are an error in an affine, not two parts of one image.
    """
    lattice = _coincidence(pred.grid, gt.grid)
    if lattice is None or (lattice.shape == gt.grid.shape and not (pred.partial or gt.partial)):
        return None
    low = [min(0, start) if gt.partial else 0 for start in lattice.offset]
    ends = [start + n for start, n in zip(lattice.offset, lattice.shape, strict=True)]
    high = [max(n, end) if gt.partial else n for n, end in zip(gt.grid.shape, ends, strict=True)]
    _refuse_another_shape(pred, gt, lattice)
    meets = all(start < n and end > 0 for start, end, n in zip(lattice.offset, ends, gt.grid.shape, strict=True))
    if not meets and not (pred.partial and gt.partial):
        return None
    offset = tuple(start - first for start, first in zip(lattice.offset, low, strict=True))
    notes = [f"{pred.source} covers {_size(lattice.shape)} of the same lattice; placed without interpolation"]
    gt = _extended(gt, low, high, notes)
    flips = tuple(slice(None, None, -1) if flip else slice(None) for flip in lattice.flips)
    moved = tuple(layer.transpose(lattice.axes)[flips] for layer in pred.layers)
    layers = tuple(_embedded(layer, offset, gt.grid.shape) for layer in moved)
    outside = sum(int(np.count_nonzero(layer)) for layer in moved) - sum(map(int, map(np.count_nonzero, layers)))
    placed = replace(pred, layers=layers, grid=gt.grid, partial=False)
    return Placement(placed, gt, Method.PLACED, (*notes, *_cut_away(outside, pred)), outside)


def _refuse_another_shape(pred: LabelMap, gt: LabelMap, lattice: _Lattice) -> None:
    """Refuse an image that begins where the ground truth does, but has other lengths: no part of it was cut out.

    A part begins elsewhere, and a series that was cut short differs along one axis.
    """
    differing = sum(n != m for n, m in zip(lattice.shape, gt.grid.shape, strict=True))
    if differing > 1 and not any(lattice.offset) and not (pred.partial or gt.partial):
        raise ShapeMismatch(
            f"{pred.source} has {_size(lattice.shape)} voxels, {gt.source} {_size(gt.grid.shape)}, and both begin at "
            "one place with the same voxel edges: this is no part of the image, whose place would differ. Write the "
            "prediction with the shape and the affine of its image."
        )


def _grown(grid: Grid, low: list[int], high: list[int], source: str) -> Grid:
    """Return the grid of the index range `low` to `high` on the same lattice."""
    shape = tuple(end - start for start, end in zip(low, high, strict=True))
    if math.prod(shape) > _MAX_VOXELS:
        raise GridMismatch(f"{source}: holding both images would take {_size(shape)} voxels; they lie too far apart.")
    affine = np.array(grid.affine)
    affine[:, -1] = grid.affine @ np.append(np.array(low, dtype=np.float64), 1.0)
    return Grid(shape, affine)


def _embedded(layer: LabelArray, offset: tuple[int, ...], shape: tuple[int, ...]) -> LabelArray:
    """Return an array of zeros with the layer put at `offset`, cut where it sticks out."""
    result = np.zeros(shape, dtype=layer.dtype)
    here = tuple(slice(max(0, o), max(0, min(n, o + m))) for o, n, m in zip(offset, shape, layer.shape, strict=True))
    there = tuple(slice(part.start - o, part.stop - o) for part, o in zip(here, offset, strict=True))
    if all(part.stop > part.start for part in here):
        result[here] = layer[there]
    return result


def _resampled(pred: LabelMap, gt: LabelMap) -> Placement:
    if not _boxes_meet(np.linalg.inv(pred.grid.affine) @ gt.grid.affine, gt.grid.shape, pred.grid.shape):
        words = pred.grid.relation_to(gt.grid).words
        raise GridMismatch(f"{pred.source} and {gt.source} share no voxel in space: {words}. Fix the affine.")
    notes = [
        f"{pred.source} was resampled (nearest neighbour) from {pred.grid} to the ground truth's {gt.grid}; "
        "scores carry the error of that"
    ]
    if gt.partial:
        gt = _extended_over(gt, pred.grid, notes)
    to_pred = np.linalg.inv(pred.grid.affine) @ gt.grid.affine
    layers = tuple(_nearest(layer, to_pred, gt.grid.shape) for layer in pred.layers)
    outside = _outside(pred, gt.grid)
    placed = replace(pred, layers=layers, grid=gt.grid, partial=False)
    return Placement(placed, gt, Method.RESAMPLED, (*notes, *_cut_away(outside, pred)), outside)


def _outside(labels: LabelMap, grid: Grid) -> int:
    """Return how many foreground voxels of a map have their centre outside of the voxels of another grid."""
    index_of = np.linalg.inv(grid.affine) @ labels.grid.affine
    last = np.asarray(grid.shape) - 0.5

    def count(places: npt.NDArray[np.float64]) -> int:
        return int(np.count_nonzero(np.any((places < -0.5) | (places > last), axis=1)))

    if not count(Grid(labels.grid.shape, index_of).corners()):
        return 0
    found = 0
    for layer in labels.layers:
        for k, slab in enumerate(layer):  # one slab at a time keeps the coordinates small
            here = np.argwhere(slab)
            indices = np.column_stack([np.full(len(here), k), here])
            found += count(indices @ index_of[:-1, :-1].T + index_of[:-1, -1])
    return found


def _cut_away(outside: int, pred: LabelMap) -> tuple[str, ...]:
    """Return what has to be said of a prediction that reaches further than its ground truth, if it does."""
    lie = agreeing(outside, f"foreground voxel of {pred.source} lies", f"foreground voxels of {pred.source} lie")
    return (f"{lie} outside of the ground truth's image; not counted",) if outside else ()


def _extended_over(gt: LabelMap, other: Grid, notes: list[str]) -> LabelMap:
    """Return a partial ground truth on its own lattice, extended over every voxel centre of another grid."""
    corners = Grid(other.shape, np.linalg.inv(gt.grid.affine) @ other.affine).corners()
    low = [min(0, math.floor(n)) for n in corners.min(axis=0)]
    high = [max(n, math.ceil(end) + 1) for n, end in zip(gt.grid.shape, corners.max(axis=0), strict=True)]
    return _extended(gt, low, high, notes)


def _extended(gt: LabelMap, low: list[int], high: list[int], notes: list[str]) -> LabelMap:
    grid = _grown(gt.grid, low, high, gt.source)
    if grid.shape == gt.grid.shape:
        return gt
    notes.append(f"{gt.source} stores a part of its image; extended to {_size(grid.shape)} to hold the prediction")
    start = tuple(-first for first in low)
    return replace(gt, layers=tuple(_embedded(layer, start, grid.shape) for layer in gt.layers), grid=grid)


def _boxes_meet(to_pred: npt.NDArray[np.float64], shape: tuple[int, ...], pred_shape: tuple[int, ...]) -> bool:
    """Say whether the box around the ground truth's voxels, in the prediction's indices, touches the prediction."""
    corners = Grid(shape, to_pred).corners()
    low, high = corners.min(axis=0), corners.max(axis=0)
    return bool(np.all(high >= -0.5) and np.all(low <= np.asarray(pred_shape) - 0.5))


def _nearest(layer: LabelArray, to_pred: npt.NDArray[np.float64], shape: tuple[int, ...]) -> LabelArray:
    """Return for each voxel the value at the nearest voxel of `layer`, 0 outside; ties go to the lower index."""
    matrix, start = to_pred[:-1, :-1], to_pred[:-1, -1]
    result = np.zeros(shape, dtype=layer.dtype)
    rest = np.indices(shape[1:]).reshape(len(shape) - 1, -1)
    rest_place = matrix[:, 1:] @ rest + start[:, None]
    limits = np.asarray(layer.shape)[:, None]
    for k in range(shape[0]):  # one slab at a time keeps the coordinates small
        index = np.ceil(rest_place + matrix[:, :1] * k - 0.5 - 1e-9).astype(np.int64)
        inside = np.all((index >= 0) & (index < limits), axis=0)
        slab = np.zeros(rest.shape[1], dtype=layer.dtype)
        slab[inside] = layer[tuple(index[:, inside])]
        result[k] = slab.reshape(shape[1:])
    return result


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(str(n) for n in shape)
