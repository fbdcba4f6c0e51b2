"""From stored bytes to label arrays: integers as they are, floats checked and made integers piece by piece.

Structures that may share voxels are laid into as few layers as their overlaps allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import FileTooLarge, InvalidInput, UnreadableFile, option
from segauge.io.gate import Limits, check_dimensions
from segauge.io.reading import ReadOptions
from segauge.io.streams import PIECE, ByteStream, pieces
from segauge.labelmap import LabelArray
from segauge.plural import agreeing

#: Labels stored as floats may be off a whole number by this much (resampling and float16 leave such traces).
ROUNDING = 1e-3

#: A whole piece of background.
_NOTHING = bytes(PIECE)

_WIDTHS = (np.uint8, np.int16, np.int32, np.int64)


@dataclass(frozen=True)
class Voxels:
    """Labels of one file in the order of their bytes, and what had to be said about their values."""

    array: LabelArray
    notes: tuple[str, ...] = ()


def read_voxels(
    stream: ByteStream,
    count: int,
    dtype: np.dtype[Any],
    source: str,
    options: ReadOptions,
    *,
    slope: float = 1.0,
    intercept: float = 0.0,
) -> Voxels:
    """Read `count` values and return them as labels, flat.

    Integers keep their type (native byte order). Floats, and integers under a scaling, must be whole numbers within
    1e-3, unless `options.threshold` makes them a mask; they are converted piece by piece, so the float image never
    lies in memory as a whole. The caller has checked that `count` is within the limits; memory is touched only as
    bytes really arrive. With `options.real_values` they are no labels: see `read_reals`.
    """
    if options.real_values:
        return Voxels(read_reals(stream, count, dtype, source, (slope, intercept)).view(np.int32))
    scaled = (slope, intercept) != (1.0, 0.0)
    if dtype.kind not in "iubf":
        raise UnreadableFile(f"{source}: holds values of type {dtype}, expected integer labels.")
    try:
        if dtype.kind in "iub" and not scaled and options.threshold is None:
            return Voxels(_read_integers(stream, count, dtype, source))
        return _read_reals(stream, count, dtype, source, options, slope, intercept)
    except MemoryError as error:
        raise FileTooLarge(f"{source}: its {count} voxels do not fit into the memory that is free.") from error


def read_reals(
    stream: ByteStream, count: int, dtype: np.dtype[Any], source: str, scaling: tuple[float, float] = (1.0, 0.0)
) -> npt.NDArray[np.float32]:
    """Read `count` values as float32, flat, `scaling` (slope, intercept) applied; no other copy lies in memory."""
    if dtype.kind not in "iubf":
        raise UnreadableFile(f"{source}: holds values of type {dtype}, expected real numbers.")
    values = np.empty(count, dtype=np.float32)
    slope, intercept = scaling
    filled, carry = 0, b""
    for piece in pieces(stream, count * dtype.itemsize):
        data = carry + piece
        whole = len(data) - len(data) % dtype.itemsize
        carry = data[whole:]
        part = np.frombuffer(data[:whole], dtype=dtype)
        with np.errstate(over="ignore"):  # beyond float32 is infinite, which every user of an image leaves out
            values[filled : filled + part.size] = part if scaling == (1.0, 0.0) else part * slope + intercept
        filled += part.size
    if filled < count:
        raise UnreadableFile(
            f"{source}: {count} voxels expected by the header, {filled} found. The file is truncated: write it again."
        )
    return values


def labels_from_array(array: npt.NDArray[Any], source: str, options: ReadOptions) -> Voxels:
    """Return an array in memory as labels of the same shape, by the rules of `read_voxels`."""
    if array.dtype.kind == "b" and options.threshold is None:
        return Voxels(array.view(np.uint8))
    if array.dtype.kind in "iu" and options.threshold is None:
        return Voxels(array.astype(array.dtype.newbyteorder("="), copy=False))
    if array.dtype.kind not in "iubf":
        raise UnreadableFile(f"{source}: holds values of type {array.dtype}, expected integer labels.")
    flat = array.reshape(-1, order="A")
    converter = _Converter(flat.size, source, options)
    for start in range(0, flat.size, 1 << 18):
        converter.add(flat[start : start + (1 << 18)])
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    found = converter.finished()
    return Voxels(found.array.reshape(array.shape, order=order), found.notes)  # type: ignore[call-overload]


def _read_integers(stream: ByteStream, count: int, dtype: np.dtype[Any], source: str) -> LabelArray:
    # Most of a label map is background: pieces of zeros are not written, so their memory is never touched.
    values = np.zeros(count, dtype=dtype)
    buffer = values.view(np.uint8).data
    filled = 0
    for piece in pieces(stream, len(buffer)):
        if piece != _NOTHING:
            buffer[filled : filled + len(piece)] = piece
        filled += len(piece)
    _check_complete(filled, len(buffer), source)
    if dtype.kind == "b":
        return values.view(np.uint8)
    if not dtype.isnative:
        values.byteswap(inplace=True)
        return values.view(dtype.newbyteorder("="))
    return values


def _read_reals(
    stream: ByteStream,
    count: int,
    dtype: np.dtype[Any],
    source: str,
    options: ReadOptions,
    slope: float,
    intercept: float,
) -> Voxels:
    converter = _Converter(count, source, options)
    carry = b""
    total = count * dtype.itemsize
    filled = 0
    for piece in pieces(stream, total):
        filled += len(piece)
        data = carry + piece
        whole = len(data) - len(data) % dtype.itemsize
        carry = data[whole:]
        values = np.frombuffer(data[:whole], dtype=dtype)
        if (slope, intercept) != (1.0, 0.0):
            values = values.astype(np.float64) * slope + intercept
        converter.add(values)
    _check_complete(filled, total, source)
    return converter.finished()


def _check_complete(found: int, expected: int, source: str) -> None:
    if found < expected:
        raise UnreadableFile(
            f"{source}: {expected} bytes of voxels expected by the header, {found} found. "
            "The file is truncated: copy or write it again."
        )


class _Converter:
    """Collects real values as integer labels, widening the array when a value does not fit. One use, one image."""

    def __init__(self, count: int, source: str, options: ReadOptions) -> None:
        self.labels: LabelArray = np.zeros(count, dtype=np.uint8)
        self._source = source
        self._options = options
        self._filled = 0
        self._rounded = 0
        self._not_finite = 0
        self._smallest, self._largest = 0.0, 0.0
        self._are_whole = True

    def add(self, values: npt.NDArray[Any]) -> None:
        whole = self._whole_numbers(self._finite(values))
        if whole.size:
            self._widen(whole.min(), whole.max())
        self.labels[self._filled : self._filled + whole.size] = whole
        self._filled += whole.size

    def _finite(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if values.dtype.kind != "f":
            return values
        finite = np.isfinite(values)
        if finite.all():
            return values
        self._not_finite += int(finite.size - np.count_nonzero(finite))
        if self._options.nan == "refuse":
            raise UnreadableFile(
                f"{self._source}: holds voxels that are NaN or infinite, labels are whole numbers. "
                f"Clean the file, or pass {option('nan', 'background')} to count them as background."
            )
        return np.where(finite, values, 0)

    def _whole_numbers(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        threshold = self._options.threshold
        if threshold is not None:
            self._smallest = min(self._smallest, float(values.min(initial=0)))
            self._largest = max(self._largest, float(values.max(initial=0)))
            self._are_whole = self._are_whole and (values.dtype.kind != "f" or bool(np.all(values == np.rint(values))))
            return (values >= threshold).view(np.uint8)
        if values.dtype.kind != "f":
            return values
        rounded = np.rint(values)
        off = np.abs(values - rounded)
        worst = int(np.argmax(off)) if off.size else 0
        if off.size and off[worst] > ROUNDING:
            raise UnreadableFile(
                f"{self._source}: holds the value {float(values[worst]):.6g}, labels are whole numbers. "
                f"If this is a predicted probability map, pass {option('threshold', 0.5)} to take it as a mask; "
                "a ground truth has to hold labels."
            )
        self._rounded += int(np.count_nonzero(off))
        if rounded.size and np.abs(rounded).max() >= 2.0**63:
            raise UnreadableFile(f"{self._source}: holds values beyond 64-bit integers; these are no labels.")
        whole: npt.NDArray[Any] = rounded
        return whole

    def _widen(self, low: Any, high: Any) -> None:
        for width in _WIDTHS[_WIDTHS.index(self.labels.dtype.type) :]:
            limits = np.iinfo(width)
            if limits.min <= int(low) and int(high) <= limits.max:
                break
        self.labels = self.labels.astype(width, copy=False)

    def finished(self) -> Voxels:
        """Return the labels, and what has to be said about them; refuse a label map that was cut at a threshold."""
        if self._are_whole and self._largest > 1 and self._smallest >= 0:
            raise InvalidInput(
                f"{self._source}: holds labels, up to {self._largest:g}, and no probabilities: a threshold would make "
                f"one mask of all of them. Leave out {option('threshold', ...)} for label maps."
            )
        return Voxels(self.labels, self._notes())

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._rounded:
            unlike = agreeing(
                self._rounded, "voxel is not exactly a whole number", "voxels are not exactly whole numbers"
            )
            notes.append(f"{unlike}: rounded (by at most 1e-3)")
        if self._not_finite:
            notes.append(f"{agreeing(self._not_finite, 'voxel is', 'voxels are')} NaN or infinite: taken as background")
        if self._options.threshold is not None:
            notes.append(f"values of at least {self._options.threshold:g} were taken as the mask (label 1)")
        return tuple(notes)


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
