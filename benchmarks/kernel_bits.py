"""One hash over what every function of the kernel answers for 2,000 random cases.

A change of the kernel that promises the same results must keep it: run it before and after, with the Python of either
installation (`.venv/bin/python benchmarks/kernel_bits.py`). It is not a constant of the project: the random masks come
from NumPy, and the Gaussian weights from the system's `exp`.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from segauge.geometry.cell_distances import cell_areas
from segauge.geometry.components import pack_mask
from segauge.geometry.distances import find_boundary_band, find_boundary_bands, measure_surface_distances
from segauge.geometry.engine import engine

CASES = 2000
STEPS = (1.0, 0.7, 0.8, 2.5, 5.0)
TYPES = (np.uint8, np.int16, np.int32, np.uint64)


def main() -> None:
    """Print the hash; the number of cases may be given."""
    digest = hashlib.sha256()
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else CASES):
        for answer in answers(np.random.default_rng([7, number]), threads=1 + number % 3):
            digest.update(np.ascontiguousarray(answer).tobytes())
    print(digest.hexdigest())


def answers(rng: np.random.Generator, threads: int) -> Iterator[npt.NDArray[Any]]:
    """Yield what the kernel's functions answer for one random pair."""
    ndim = 3 if rng.random() < 0.8 else 2
    shape = tuple(rng.integers(1, 30 if ndim == 3 else 70, ndim))
    linear = random_lattice(rng, ndim)
    pred, gt = random_labels(rng, shape), random_labels(rng, shape)
    yield from label_answers(pred, gt, threads)
    masks = [pack_mask(labels == 1) for labels in (pred, gt)]
    yield from component_answers(*masks)
    ignore = np.asarray(rng.random(shape) < 0.01) if rng.random() < 0.3 else None
    if ignore is not None:
        masks = [pack_mask((labels == 1) & ~ignore) for labels in (pred, gt)]
    kernel = engine()
    edges = np.linalg.norm(linear, axis=0)
    yield from kernel.cell_distances(*masks, edges.tolist(), cell_areas(tuple(edges.tolist())), threads)
    if not all(mask.count() for mask in masks):
        return
    ignored = None if ignore is None else pack_mask(ignore)
    width = float(rng.uniform(0.3, 4))
    for surface in ("marching-cubes", "voxel", "subvoxel"):
        found = measure_surface_distances(*masks, linear, surface=surface, ignore=ignored, threads=threads)
        yield from (found.d_pg, found.w_pg, found.d_gp, found.w_gp)
        yield find_boundary_band(masks[0], linear, width, surface=surface, threads=threads).unpack()
        yield from (band.unpack() for band in find_boundary_bands(*masks, linear, width, surface=surface))
    d, w = found.both
    yield np.array([*kernel.totals(d, w), kernel.largest(d), kernel.weight_within(d, w, width)])
    yield np.array([kernel.weighted_quantile(d, w, share) for share in (0.05, 0.5, 0.95, 1.0)])


def label_answers(pred: npt.NDArray[Any], gt: npt.NDArray[Any], threads: int) -> Iterator[npt.NDArray[Any]]:
    """Yield what counting and packing answer."""
    kernel = engine()
    yield from kernel.pair_table(pred, gt, threads)
    yield kernel.pack(pred, [1, 3], [0] * pred.ndim, list(pred.shape), threads).unpack()
    cut = kernel.cut_out(pred, gt, threads)
    if cut is not None:
        yield from (cut[0].unpack(), cut[1].unpack(), cut[0].without(cut[1]).unpack(), np.array(cut[2:]))
        yield cut[0].transposed(list(range(pred.ndim))[::-1]).unpack()
        yield np.array(kernel.count_common(cut[0], cut[1]))


def component_answers(a: Any, b: Any) -> Iterator[npt.NDArray[Any]]:
    """Yield what components and skeletons answer."""
    kernel = engine()
    ndim = len(a.shape)
    for rank in range(1, ndim + 1):
        found = [kernel.label_components(mask, rank) for mask in (a, b)]
        yield from kernel.component_table(found[0])
        yield kernel.component_labels(found[0])
        yield from kernel.shared_voxels(*found)
        yield kernel.centroid_pairs(*found)
        yield kernel.component_labels(kernel.restrict_components(found[0], b))
        yield kernel.select_components(found[0], [0, 2][: len(found[0])], [0] * ndim, list(a.shape)).unpack()
        yield kernel.dilate(a, rank, 2).unpack()
    yield kernel.skeletonize(a).unpack()
    yield from (skeleton.unpack() for skeleton in kernel.skeletonize_pair(a, b, 2))


def random_lattice(rng: np.random.Generator, ndim: int) -> npt.NDArray[np.float64]:
    """Return the voxel steps in mm: cubes, slices of any thickness, sometimes without right angles."""
    linear = np.diag(np.full(ndim, 1.0) if rng.random() < 0.3 else rng.choice(STEPS, ndim))
    if rng.random() < 0.15:
        linear[0, 1:] += rng.uniform(-0.3, 0.3, ndim - 1)
    return linear


def random_labels(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return labels 0 to 3 as smooth or rough objects, in any type, memory order and direction."""
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), rng.choice([0.0, 1.0, 2.5, 5.0]), mode="nearest")
    limits = np.quantile(noise, [rng.uniform(0.3, 0.99), 0.992, 0.996])
    labels = np.searchsorted(np.sort(limits), noise).astype(rng.choice(TYPES))
    order = rng.choice(list(itertools.permutations(range(len(shape)))))
    kept = np.ascontiguousarray(labels.transpose(order)).transpose(np.argsort(order))
    return kept if rng.random() < 0.7 else np.ascontiguousarray(labels[::-1])[::-1]


if __name__ == "__main__":
    main()
