"""Connected components of masks, what the components of two masks share, and the curve skeleton: a mask's centerlines.

Masks are packed bits (`pack_mask`, or the masks that measuring has already cut out), components are numbered from 0
in raster order of their first voxel. Everything costs time and memory in proportion to the runs of voxels, so a
hundred thousand specks are no special case. Two- and three-dimensional masks run on the compiled kernel, others on
the NumPy reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, ShapeMismatch
from segauge.geometry import reference
from segauge.geometry.engine import engine, thread_count
from segauge.geometry.masks import PackedMask
from segauge.geometry.reference import ReferenceComponents, ReferenceMask
from segauge.labelmap import as_mask_array

Int64Array = npt.NDArray[np.int64]

#: Neighbours of a voxel -> along how many axes a neighbour may differ, by number of dimensions.
_RANKS = {2: {4: 1, 8: 2}, 3: {6: 1, 18: 2, 26: 3}}


class Components(Protocol):
    """The voxels of a mask, each in one numbered component; `len()` says how many components there are."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class ComponentTable:
    """One row per component.

    Attributes:
        voxels: number of voxels.
        centroids: mean voxel index along each axis, (n, d).
        boxes: first index and last index + 1 along each axis, (n, 2, d).

    """

    voxels: Int64Array
    centroids: npt.NDArray[np.float64]
    boxes: Int64Array

    def __len__(self) -> int:
        return len(self.voxels)


@dataclass(frozen=True, eq=False)
class SharedVoxels:
    """Every pair of components, one of mask `a` and one of mask `b`, that have voxels in common.

    Attributes:
        pairs: component of `a` and component of `b`, (n, 2), sorted.
        voxels: how many voxels the two share, at least 1.

    """

    pairs: Int64Array
    voxels: Int64Array

    def __len__(self) -> int:
        return len(self.voxels)


def connectivity_rank(connectivity: int | None, ndim: int) -> int:
    """Return along how many axes two neighbouring voxels may differ: 1 for faces only, up to `ndim` for corners.

    Takes the number of neighbours (6, 18 or 26 in 3-D; 4 or 8 in 2-D), scipy's ranks 1, 2, 3, or None for faces only
    (scipy's default). A rank above `ndim` means corners, as in scipy.
    """
    if connectivity is None:
        return 1
    neighbours = _RANKS.get(ndim, {})
    if connectivity in neighbours:
        return neighbours[connectivity]
    if isinstance(connectivity, (int, np.integer)) and 1 <= connectivity <= max(3, ndim):
        return min(int(connectivity), ndim)
    known = ", ".join(str(number) for number in neighbours)
    raise InvalidInput(
        f"connectivity: expected {known + ' neighbours, ' if known else ''}a rank from 1 (faces) to {max(ndim, 1)} "
        f"(corners), or None for faces, got {connectivity!r} for a {ndim}-D mask."
    )


def pack_mask(mask: npt.ArrayLike, threads: int | None = None) -> PackedMask:
    """Return an array of bool or integers (non-zero is inside) as a packed mask, whatever its memory order."""
    array = as_mask_array(mask)
    box = [0] * array.ndim, list(array.shape)
    chosen = engine() if array.ndim in (2, 3) and array.size else reference
    packed: PackedMask = chosen.pack(array.view(np.uint8), [1], *box, thread_count(threads))
    return packed


def label_components(mask: PackedMask, connectivity: int | None = None) -> Components:
    """Return the connected components of a mask; `connectivity` as in `connectivity_rank`."""
    rank = connectivity_rank(connectivity, len(mask.shape))
    components: Components = _engine_of(mask).label_components(mask, rank)
    return components


def component_table(components: Components) -> ComponentTable:
    """Return voxel counts, centroids and bounding boxes of all components (NaN centroid for one without voxels)."""
    voxels, sums, boxes = _engine_of(components).component_table(components)
    with np.errstate(invalid="ignore"):
        centroids = sums / voxels[:, None]
    return ComponentTable(voxels, centroids, boxes)


def component_labels(components: Components) -> npt.NDArray[np.int32]:
    """Return an array with 1, 2, ... in the voxels of component 0, 1, ..., and 0 in the background."""
    labels: npt.NDArray[np.int32] = _engine_of(components).component_labels(components)
    return labels


def shared_voxels(a: Components, b: Components) -> SharedVoxels:
    """Return which components of two masks of the same shape overlap, and by how many voxels; nothing dense."""
    check_same_extent(a, b)
    return SharedVoxels(*_engine_of(a).shared_voxels(a, b))


def centroid_pairs(a: Components, b: Components) -> Int64Array:
    """Return the pairs (n, 2) such that the centroid of the component of `a` lies in the component of `b`.

    A voxel counts with its borders, so a centroid on the face between two voxels lies in both, and flipping the
    image changes nothing. The centroid of a curved component may lie outside the component itself.
    """
    check_same_extent(a, b)
    pairs: Int64Array = _engine_of(a).centroid_pairs(a, b)
    return pairs


def restrict_components(zones: Components, mask: PackedMask) -> Components:
    """Return the voxels of `mask` that lie in `zones`, numbered as the zones are; a component may become empty."""
    check_same_extent(zones, mask)
    components: Components = _engine_of(zones).restrict_components(zones, mask)
    return components


def select_components(components: Components, chosen: Sequence[int], box: Int64Array | None = None) -> PackedMask:
    """Return the mask of the chosen components, cut to a box ((first, last + 1) along each axis) if one is given."""
    extent = np.array([[0] * len(components.shape), components.shape]) if box is None else box
    start, stop = extent.tolist()
    numbers = [int(number) for number in chosen]
    mask: PackedMask = _engine_of(components).select_components(components, numbers, start, stop)
    return mask


def dilate(mask: PackedMask, connectivity: int | None, iterations: int = 1) -> PackedMask:
    """Return the mask with all neighbours added, `iterations` times; what would leave the image is cut off."""
    if iterations < 0:
        raise InvalidInput(f"iterations: expected 0 or more, got {iterations}.")
    rank = connectivity_rank(connectivity, len(mask.shape))
    dilated: PackedMask = _engine_of(mask).dilate(mask, rank, iterations)
    return dilated


def check_same_extent(a: PackedMask | Components, b: PackedMask | Components) -> None:
    """Raise ShapeMismatch unless two masks, or their components, cover the same box."""
    if tuple(a.shape) != tuple(b.shape):
        raise ShapeMismatch(f"Two masks of the same shape are needed, got {tuple(a.shape)} and {tuple(b.shape)}.")


def _engine_of(value: PackedMask | Components) -> Any:
    """Return the module that made a mask or components: only it can read them."""
    return reference if isinstance(value, (ReferenceMask, ReferenceComponents)) else engine()


def skeletonize(mask: PackedMask) -> PackedMask:
    """Return the curve skeleton of a mask as a mask of the same box.

    Voxels are removed in the order of their depth (distance to the background in voxels; the spacing plays no role)
    as long as the number of components, tunnels and cavities stays what it was: foreground by 26 neighbours,
    background by 6 (8 and 4 in 2-D). The ends of curves are kept, so a tube becomes a line along its axis, a ring a
    loop, a ball a dot, a plate a line or a dot; only a hollow shell stays a surface. What lies outside the box counts
    as background.

    Deterministic, and nearly blind to how the image is stored: depth does not depend on the direction of the axes,
    only ties are settled by it. Over the 48 ways to store noisy vessel trees (branches 1 to 4 voxels in radius) the
    clDice of a pair varies by 0.005 (standard deviation; scikit-image's thinning: 0.013). The line of a straight
    tube stays within a voxel of its axis, and loses 0.4 to 1.1 voxels of an end in the mean, 5 at worst.
    """
    skeleton: PackedMask = _engine_of(mask).skeletonize(mask)
    return skeleton


def skeletonize_pair(a: PackedMask, b: PackedMask, threads: int | None = None) -> tuple[PackedMask, PackedMask]:
    """Return the skeletons of two masks, at the same time where there is more than one thread."""
    skeletons: tuple[PackedMask, PackedMask] = _engine_of(a).skeletonize_pair(a, b, thread_count(threads))
    return skeletons
