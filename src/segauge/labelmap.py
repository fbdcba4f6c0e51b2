"""LabelMap and Mask: voxel arrays on a Grid, read-only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from segauge.errors import GridMismatch, InvalidInput, ShapeMismatch
from segauge.grid import Grid, Kinship

LabelArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Mask:
    """One structure: a boolean array on its grid."""

    array: npt.NDArray[np.bool_]
    grid: Grid

    def __post_init__(self) -> None:
        object.__setattr__(self, "array", _read_only(as_mask_array(self.array), self.grid))


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Integer labels on a grid: one layer, or several where structures share voxels.

    A voxel carries a label if any layer holds it there. `names` gives the names that the file itself has for its
    labels, `source` says where the map came from (for messages). Frozen; the arrays are read-only views of what
    was given, never copies.

    Three facts say how far its grid can be trusted when it meets another one. `in_space` is False where the voxel
    edges are known but not the place (a NumPy file, an ANALYZE header): such a map pairs by shape alone. `partial`
    is True where the extent says only where something was stored, not how large the image was (DICOM-SEG leaves out
    empty frames): outside of it lies background. `frame_of_reference` is the identifier of the patient's coordinate
    system, where the file has one; coordinates under two different identifiers cannot be compared.
    """

    layers: tuple[LabelArray, ...]
    grid: Grid
    names: Mapping[int, str] = field(default_factory=dict)
    source: str = "label map"
    in_space: bool = True
    partial: bool = False
    frame_of_reference: str = ""

    def __post_init__(self) -> None:
        _check_layers(self.layers, self.source)
        layers = tuple(_read_only(as_label_array(layer, self.source), self.grid) for layer in self.layers)
        object.__setattr__(self, "layers", layers)
        object.__setattr__(self, "names", MappingProxyType(dict(self.names)))

    @classmethod
    def from_array(
        cls,
        array: npt.ArrayLike,
        spacing: float | Sequence[float] = 1.0,
        *,
        names: Mapping[int, str] | None = None,
        source: str = "label map",
    ) -> LabelMap:
        """Return a one-layer map of an array in memory, axis-aligned, with the given voxel edges in mm."""
        labels = as_label_array(array, source)
        return cls((labels,), Grid.from_spacing(labels.shape, spacing), names or {}, source)

    @classmethod
    def from_masks(cls, masks: Mapping[str, npt.ArrayLike], grid: Grid, *, source: str = "label map") -> LabelMap:
        """Return a map of named masks that may overlap, labelled 1, 2, ... in the given order.

        Masks that do not touch each other's voxels share a layer.
        """
        if not masks:
            raise InvalidInput(f"{source}: expected at least one mask.")
        dtype = np.uint8 if len(masks) < 256 else np.uint16 if len(masks) < 65536 else np.int32
        layers: list[LabelArray] = []
        for label, mask in enumerate(masks.values(), start=1):
            array = _read_only(as_mask_array(mask), grid)
            layer = next((layer for layer in layers if not np.any(layer[array])), None)
            if layer is None:
                layer = np.zeros(grid.shape, dtype=dtype)
                layers.append(layer)
            layer[array] = label
        return cls(tuple(layers), grid, dict(enumerate(masks, start=1)), source)

    def labels(self) -> tuple[int, ...]:
        """Return every label that occurs, ascending, without background (0)."""
        found = {int(label) for layer in self.layers for label in np.unique(layer)}
        return tuple(sorted(found - {0}))

    def mask(self, labels: int | Iterable[int]) -> Mask:
        """Return the voxels that carry any of the labels."""
        values = as_labels(labels, self.source)
        array = np.zeros(self.grid.shape, dtype=np.bool_)
        for layer in self.layers:
            array |= where_any_of(layer, values)
        return Mask(array, self.grid)

    def on_grid_of(self, other: LabelMap) -> LabelMap:
        """Return this map in the axis order of `other`, without interpolation.

        Raises:
            GridMismatch: if the two do not cover the same voxels in space.

        """
        relation = self.grid.relation_to(other.grid)
        if relation.kind is Kinship.SAME:
            return self
        if relation.kind is Kinship.DIFFERENT:
            raise GridMismatch(
                f"{self.source} does not lie on the grid of {other.source}: {relation.words}. "
                "Fix the affine, or resample one of them onto the other's grid."
            )
        flips = tuple(slice(None, None, -1) if flip else slice(None) for flip in relation.flips)
        layers = tuple(layer.transpose(relation.axes)[flips] for layer in self.layers)
        return replace(self, layers=layers, grid=self.grid.reoriented(relation.axes, relation.flips))


def as_mask_array(mask: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return an array-like as booleans: bool as it is, integers by being non-zero, floats if they are all 0 or 1."""
    array = np.asarray(mask)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind in "iu":
        return np.asarray(array != 0, dtype=np.bool_)
    if array.dtype.kind == "f":
        if not np.all((array == 0) | (array == 1)):
            raise InvalidInput(
                "A mask of floating-point numbers must hold only 0 and 1, other values came (probabilities?). "
                "Threshold it first, for example `pred >= 0.5`."
            )
        return np.asarray(array == 1, dtype=np.bool_)
    _refuse_what_is_no_array(mask, array, "mask")
    raise InvalidInput(f"A mask is an array of bool or integers, got dtype {array.dtype}.")


def as_label_array(labels: npt.ArrayLike, source: str = "label map") -> LabelArray:
    """Return an array-like of bool or integers as integers, without a copy."""
    array = np.asarray(labels)
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype.kind in "iu":
        if array.dtype.itemsize == 8 and array.dtype.kind == "u" and array.size and array.max() >= 2**63:
            raise InvalidInput(f"{source}: holds the label {array.max()}; labels are below 2^63.")
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    _refuse_what_is_no_array(labels, array, source)
    raise InvalidInput(
        f"{source}: labels are integers, got dtype {array.dtype}. Round them, or threshold a probability map, first."
    )


def _refuse_what_is_no_array(given: object, array: npt.NDArray[Any], owner: str) -> None:
    """Refuse a path, and an object that has its voxels inside: of these NumPy makes an array without axes."""
    if array.ndim == 0 and array.dtype.kind in "OSU":
        raise InvalidInput(
            f"{owner}: expected an array, got {type(given).__name__}. Files are read by "
            "segauge.read_labels(path).labels; the voxels of a Mask are its .array, those of a LabelMap its .layers."
        )


def is_several(values: object) -> TypeGuard[Iterable[Any]]:
    """Return whether these are several values: not a text, nor an array without axes, which claims to be."""
    return isinstance(values, Iterable) and not isinstance(values, str) and getattr(values, "ndim", 1) != 0


def as_label(label: object, owner: str) -> int:
    """Return a label as an integer, of NumPy's or Python's; a float is none, for it would be cut."""
    try:
        value = index(label)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidInput(f"{owner}: expected label values, which are whole numbers, got {label!r}.") from None
    if not -(2**63) <= value < 2**63:
        raise InvalidInput(f"{owner}: expected labels of at least -2^63 and below 2^63, got {value}.")
    return value


def as_labels(labels: int | Iterable[int], owner: str) -> tuple[int, ...]:
    """Return a label, or several, as integers."""
    if not is_several(labels):
        return (as_label(labels, owner),)
    return tuple(as_label(label, owner) for label in labels)


def where_any_of(array: LabelArray, labels: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return where an array holds any of the labels, all of which are below 2^63."""
    # Beside signed integers NumPy takes unsigned ones of 64 bits for floats, which cannot tell large labels apart.
    signed = array.view(np.int64) if array.dtype == np.uint64 else array
    return np.isin(signed, labels)


def check_same_shape(pred: npt.NDArray[Any], gt: npt.NDArray[Any]) -> None:
    """Raise ShapeMismatch unless both arrays have the same shape."""
    if pred.shape != gt.shape:
        raise ShapeMismatch(
            f"pred and gt must have the same shape, got {pred.shape} and {gt.shape}. "
            "Bring the prediction onto the ground truth's grid first."
        )


def _check_layers(layers: object, source: str) -> None:
    """Refuse no layers, and an array in their place, whose slices would be taken for them."""
    if isinstance(layers, np.ndarray):
        raise InvalidInput(f"{source}: expected a tuple of layers, got one array: write LabelMap((array,), grid).")
    if not layers:
        raise InvalidInput(f"{source}: a label map needs at least one layer of voxels.")


def _read_only(array: npt.NDArray[Any], grid: Grid) -> npt.NDArray[Any]:
    if array.shape != grid.shape:
        raise ShapeMismatch(f"The array has shape {array.shape}, its grid {grid.shape}.")
    view = array.view()
    view.setflags(write=False)
    return view
