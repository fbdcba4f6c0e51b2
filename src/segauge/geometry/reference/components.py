"""Reference: connected components, what they share with those of another mask, and dilation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.geometry.reference.masks import Int64Array, ReferenceMask


@dataclass(frozen=True, eq=False)
class ReferenceComponents:
    """The voxels of a mask, numbered by component: 0 is background, component `i` carries `i + 1`."""

    labels: npt.NDArray[np.int32]
    number: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent along each axis."""
        return self.labels.shape

    def __len__(self) -> int:
        return self.number


def label_components(mask: ReferenceMask, rank: int) -> ReferenceComponents:
    """Return the components of a mask, numbered in raster order of their first voxel.

    Two voxels are neighbours if they differ by at most one along each axis, and along at most `rank` axes.
    """
    from scipy import ndimage

    labels = np.zeros(mask.shape, dtype=np.int32)
    if mask.array.size == 0:
        return ReferenceComponents(labels, 0)
    number = ndimage.label(mask.array, ndimage.generate_binary_structure(mask.array.ndim, rank), output=labels)
    found, first = np.unique(labels, return_index=True)
    renumber = np.zeros(int(number) + 1, dtype=np.int32)
    in_order = found[np.argsort(first)]
    renumber[in_order[in_order > 0]] = np.arange(1, int(number) + 1)
    return ReferenceComponents(renumber[labels], int(number))


def component_table(components: ReferenceComponents) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return voxels (n), index sums (n, d) and boxes (n, 2, d) of each component; without voxels the box is [0, 0)."""
    ndim, n = components.labels.ndim, len(components)
    index = np.nonzero(components.labels)
    codes = components.labels[index].astype(np.int64) - 1
    voxels = np.bincount(codes, minlength=n).astype(np.int64)
    sums = np.zeros((n, ndim), dtype=np.int64)
    boxes = np.zeros((n, 2, ndim), dtype=np.int64)
    for axis, position in enumerate(index):
        np.add.at(sums[:, axis], codes, position)
        boxes[:, 0, axis] = np.where(voxels > 0, components.shape[axis], 0)
        np.minimum.at(boxes[:, 0, axis], codes, position)
        np.maximum.at(boxes[:, 1, axis], codes, position + 1)
    return voxels, sums, boxes


def component_labels(components: ReferenceComponents) -> npt.NDArray[np.int32]:
    """Return an array with `i + 1` in the voxels of component `i`, and 0 elsewhere."""
    return components.labels.copy()


def shared_voxels(a: ReferenceComponents, b: ReferenceComponents) -> tuple[Int64Array, Int64Array]:
    """Return the pairs (n, 2) of components that share voxels, sorted, and how many (n) they share."""
    both = (a.labels > 0) & (b.labels > 0)
    pairs = np.stack([a.labels[both], b.labels[both]], axis=1).astype(np.int64) - 1
    found, voxels = np.unique(pairs, axis=0, return_counts=True)
    return found.reshape(-1, 2), voxels.astype(np.int64)


def centroid_pairs(a: ReferenceComponents, b: ReferenceComponents) -> Int64Array:
    """Return the pairs (n, 2) where the centroid of `a`'s component lies in a voxel of `b`'s, borders included."""
    voxels, sums, _ = component_table(a)
    pairs = set()
    for i in np.flatnonzero(voxels):
        whole, twice_rest = sums[i] // voxels[i], 2 * (sums[i] % voxels[i])
        first, last = whole + (twice_rest > voxels[i]), whole + (twice_rest >= voxels[i])
        for voxel in itertools.product(*[range(int(p), int(q) + 1) for p, q in zip(first, last, strict=True)]):
            if b.labels[voxel] > 0:
                pairs.add((int(i), int(b.labels[voxel]) - 1))
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def restrict_components(zones: ReferenceComponents, mask: ReferenceMask) -> ReferenceComponents:
    """Return the voxels of a mask that lie in `zones`, under the zones' numbers."""
    return ReferenceComponents(np.where(mask.array, zones.labels, 0).astype(np.int32), len(zones))


def select_components(
    components: ReferenceComponents, chosen: Sequence[int], start: Sequence[int], stop: Sequence[int]
) -> ReferenceMask:
    """Return the voxels of the chosen components inside the box [start, stop)."""
    box = tuple(slice(first, last) for first, last in zip(start, stop, strict=True))
    return ReferenceMask(np.isin(components.labels[box], np.asarray(chosen, dtype=np.int64) + 1))


def dilate(mask: ReferenceMask, rank: int, iterations: int) -> ReferenceMask:
    """Add all neighbours of the given rank, `iterations` times; what would leave the volume is cut off."""
    from scipy import ndimage

    if iterations == 0 or mask.array.size == 0:  # scipy takes 0 for "until nothing changes"
        return mask
    structure = ndimage.generate_binary_structure(mask.array.ndim, rank)
    return ReferenceMask(ndimage.binary_dilation(mask.array, structure, iterations=iterations))
