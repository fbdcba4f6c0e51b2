"""Structures that may share voxels, laid into as few layers as their overlaps allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import FileTooLarge, UnreadableFile, option
from segauge.io.gate import Limits, check_dimensions
from segauge.io.reading import ReadOptions
from segauge.labelmap import LabelArray


@dataclass(frozen=True, eq=False)
class Block:
    """Foreground of one structure in a part of the image: `where` is the part, `mask` its voxels."""

    where: tuple[slice | int, ...]
    mask: npt.NDArray[np.bool_]


def foreground_box(array: npt.NDArray[Any]) -> tuple[slice, ...]:
    """Return the smallest box that holds every non-zero voxel; empty slices if there is none.

    The axes are cut one after the other, the slowest in memory first, so that later passes see little.
    """
    box = [slice(0, n) for n in array.shape]
    for axis in sorted(range(array.ndim), key=lambda k: -abs(array.strides[k])):
        others = tuple(k for k in range(array.ndim) if k != axis)
        used = np.flatnonzero(array[tuple(box)].any(axis=others))
        if not used.size:
            return (slice(0, 0),) * array.ndim
        box[axis] = slice(int(used[0]), int(used[-1]) + 1)
    return tuple(box)


def stack_layers(
    structures: Iterable[tuple[int, Sequence[Block]]], shape: Sequence[int], largest: int, source: str, limits: Limits
) -> tuple[LabelArray, ...]:
    """Return layers that hold each structure under its label; a structure opens a new layer only where it must.

    Blocks of one structure may meet; `largest` is the largest label, so that the integer type is known beforehand.
    Always returns at least one layer.
    """
    voxels = check_dimensions(shape, source, limits)
    width = next(t for t in (np.uint8, np.uint16, np.int32, np.int64) if largest <= np.iinfo(t).max)
    layers: list[npt.NDArray[np.integer]] = [np.zeros(tuple(shape), dtype=width)]
    for label, blocks in structures:
        layer = next((layer for layer in layers if not _touches(layer, blocks)), None)
        if layer is None:
            if (len(layers) + 1) * voxels > limits.max_voxels:
                raise FileTooLarge(
                    f"{source}: its structures overlap so much that they need more than {len(layers)} layers of "
                    f"{voxels} voxels, above the limit of {limits.max_voxels}. "
                    f"If the file is right, raise the limit with {option('max_voxels', ...)}."
                )
            layer = np.zeros(tuple(shape), dtype=width)
            layers.append(layer)
        for block in blocks:
            layer[block.where][block.mask] = label
    return tuple(layers)


def _touches(layer: LabelArray, blocks: Sequence[Block]) -> bool:
    return any(bool(np.any(layer[block.where][block.mask])) for block in blocks)


def choose_volume(
    array: LabelArray, axis: int, source: str, options: ReadOptions, *, is_time: bool = False
) -> tuple[tuple[LabelArray, ...], tuple[str, ...]]:
    """Return the layers and notes of an image whose `axis` counts volumes: one frame, or one-hot channels.

    `options.frame` chooses a frame. A single volume is taken as it is. A declared time axis without a chosen frame is
    refused; otherwise the volumes must be one-hot.
    """
    count = array.shape[axis]
    if options.frame is not None:
        if not 0 <= options.frame < count:
            raise UnreadableFile(f"{source}: has frames 0 to {count - 1}, frame {options.frame} was asked for.")
        return (np.moveaxis(array, axis, 0)[options.frame],), (f"frame {options.frame} of {count} was taken",)
    if count == 1:
        return (np.moveaxis(array, axis, 0)[0],), ("an extra axis of length 1 was dropped",)
    if is_time:
        raise UnreadableFile(
            f"{source}: is a time series of {count} volumes. Pass {option('frame', ...)} (from 0) to choose one."
        )
    if options.one_volume:
        raise UnreadableFile(f"{source}: holds {count} volumes; expected one label map with the axes of its image.")
    return split_channels(array, axis, source, options.limits, threshold=options.threshold)


def refuse_frame(source: str, options: ReadOptions) -> None:
    """Refuse to take a frame other than the first of a file that holds one volume."""
    if options.frame not in (None, 0):
        raise UnreadableFile(f"{source}: frame {options.frame} was asked for, but the file holds one volume only.")


def is_partition(array: LabelArray, axis: int) -> bool:
    """Say whether every voxel is set in exactly one of several channels of 0 and 1."""
    return array.shape[axis] > 1 and bool(np.all(np.sum(array, axis=axis, dtype=np.int64) == 1))


def split_channels(
    array: LabelArray, axis: int, source: str, limits: Limits, *, threshold: float | None = None
) -> tuple[tuple[LabelArray, ...], tuple[str, ...]]:
    """Return the layers and notes of a one-hot image whose `axis` counts structures.

    Every value must be 0 or 1. If each voxel is set in exactly one channel, the first channel is the background and
    channel k has label k; otherwise channel k has label k + 1, and channels may overlap. Channels that a `threshold`
    made must be of the first kind: where none of several probabilities reaches it, nobody can say whether the first
    one is the background, and in the next case it would be.
    """
    count = array.shape[axis]
    if array.size and (array.min() < 0 or array.max() > 1):
        raise UnreadableFile(
            f"{source}: has {count} volumes with values other than 0 and 1, so it is no one-hot image. "
            f"If they are time frames, pass {option('frame', ...)} (from 0) to choose one."
        )
    channels = np.moveaxis(array, axis, 0)
    partition = is_partition(array, axis)
    if threshold is not None and not partition:
        raise UnreadableFile(
            f"{source}: has {count} volumes of probabilities, and voxels in which not exactly one of them reaches "
            f"{threshold:g}. Write the most probable label of each voxel (argmax), or take one volume with "
            f"{option('frame', ...)} (from 0)."
        )
    first = 1 if partition else 0
    structures = ((k + 1 - first, [Block((), channels[k] != 0)]) for k in range(first, count))
    layers = stack_layers(structures, channels.shape[1:], count, source, limits)
    words = "the first is the background" if partition else "labelled from 1 in their order"
    return layers, (f"its {count} volumes hold only 0 and 1: taken as one channel per structure, {words}",)
