"""Boundary bands: what bits, codes and the search say, against the reference, which measures every voxel."""

import numpy as np
import pytest

from segauge.geometry import reference
from segauge.geometry.distances import find_boundary_band, find_boundary_bands
from segauge.geometry.engine import _kernel as kernel
from segauge.geometry.patterns import cell_shapes
from segauge.geometry.reference.distances import distances_to
from segauge.geometry.reference.surfaces import find_cells, targets_of
from segauge.grid import Grid
from segauge.phantoms import Ball, Disk

pytestmark = pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")

LATTICES = {
    "cubes": np.diag([1.0, 1.0, 1.0]),
    "thick slices": np.diag([5.0, 0.7, 0.7]),
    "thin slices": np.diag([0.5, 0.67, 0.84]),
    "very thick slices": np.diag([30.0, 0.1, 0.6]),
    "sheared": np.array([[1.2, 0.3, -0.2], [0.0, 0.9, 0.4], [0.0, 0.0, 0.8]]),
}
#: The same; the reference takes seconds where a band is many voxels wide.
BY_TIME = [pytest.param(name, marks=pytest.mark.slow) if "very" in name else name for name in LATTICES]


def box(shape, *sides):
    mask = np.zeros(shape, dtype=np.bool_)
    mask[tuple(slice(*side) for side in sides)] = True
    return mask


def noise(shape, share):
    return np.random.default_rng(3).random(shape) < share


MASKS = {
    "one voxel": box((1, 1, 1), (0, 1), (0, 1), (0, 1)),
    "a slice": np.ones((1, 9, 70), dtype=np.bool_),
    "a row": np.ones((1, 1, 131), dtype=np.bool_),
    "a thin block": np.ones((2, 60, 14), dtype=np.bool_),
    "a full box": np.ones((6, 7, 66), dtype=np.bool_),
    "a box at the border": box((9, 10, 68), (0, 7), (2, 10), (60, 68)),
    "a ball over two words": Ball((6.2, 6.4, 64.1), 5.8).rasterize(Grid.from_spacing((13, 13, 71))).array,
    "nearly full": noise((11, 10, 12), 0.98),
    "half full": noise((4, 5, 66), 0.5),
    "a disk": Disk((8.3, 62.0), 8.0).rasterize(Grid.from_spacing((17, 71))).array,
    "a full plane": np.ones((12, 66), dtype=np.bool_),
    "a nearly full plane": noise((14, 70), 0.97),
}


def packed(module, mask):
    return module.pack(mask.astype(np.uint8), [1], [0] * mask.ndim, list(mask.shape), 1)


def prepared(module, surface, linear):
    return module.prepare(module.read_shapes(cell_shapes(surface, linear)), linear)


def found(mask, surface, linear, widths):
    patterns = prepared(kernel, surface, linear)
    return [kernel.boundary_band(packed(kernel, mask), surface, patterns, width, 2).unpack() for width in widths]


def expected(mask, surface, linear, widths):
    """The bands by the reference's own distances, which are worked out once for all widths."""
    patterns = prepared(reference, surface, linear)
    voxels = np.argwhere(mask)
    points = np.pad((voxels + (surface == "marching-cubes")) @ linear.T, ((0, 0), (3 - mask.ndim, 0)))
    away = np.full(mask.shape, np.inf)
    away[tuple(voxels.T)] = distances_to(points, targets_of(find_cells(mask, None, surface), patterns))
    middle = widths[len(widths) // 2]
    defined = reference.boundary_band(packed(reference, mask), surface, patterns, middle, 1).unpack()
    assert np.array_equal(defined, away <= middle)
    return [away <= width for width in widths]


@pytest.mark.parametrize("surface", ["marching-cubes", "voxel"])
@pytest.mark.parametrize("lattice", BY_TIME)
@pytest.mark.parametrize("name", MASKS)
def test_bands_are_those_of_the_reference(name, lattice, surface):
    mask = MASKS[name]
    linear = np.ascontiguousarray(LATTICES[lattice][-mask.ndim :, -mask.ndim :])
    # Nothing, parts of a voxel, some voxels, more than a table of cells holds, and more than the whole mask.
    widths = (0.0, 0.21, 0.36, 0.51, 0.77, 1.03, 1.49, 2.6, 6.1, 300.0)
    for width, ours, theirs in zip(
        widths, found(mask, surface, linear, widths), expected(mask, surface, linear, widths), strict=True
    ):
        assert np.array_equal(ours, theirs), width
    assert np.array_equal(ours, mask)


@pytest.mark.parametrize("surface", ["marching-cubes", "voxel", "subvoxel"])
def test_bands_of_a_pair_are_those_of_each(surface):
    pred, gt = (packed(kernel, MASKS["nearly full"] & noise((11, 10, 12), share)) for share in (0.995, 0.9))
    linear = LATTICES["thin slices"]
    alone = [find_boundary_band(mask, linear, 1.2, surface=surface).unpack() for mask in (pred, gt)]
    for threads in (1, 2, 3):
        together = find_boundary_bands(pred, gt, linear, 1.2, surface=surface, threads=threads)
        assert all(np.array_equal(band.unpack(), one) for band, one in zip(together, alone, strict=True))


@pytest.mark.slow
def test_bands_of_real_readers_are_those_of_the_reference(shared):
    nib = pytest.importorskip("nibabel")
    folder = shared / "data" / "kits23_readers"
    case = sorted((folder / "reference").glob("*.nii.gz"))[0].name
    image = nib.load(folder / "reader1" / case)
    mask = np.asarray(image.dataobj) == 2
    middle = np.argwhere(mask).mean(axis=0).astype(int)  # the reference tries every voxel with every piece
    cut = mask[tuple(slice(max(0, at - 12), at + 12) for at in middle)]
    assert 0.1 < cut.mean() < 1
    linear = np.diag(np.linalg.norm(image.affine[:3, :3], axis=0))
    for surface in ("marching-cubes", "voxel"):
        pairs = zip(*(bands(cut, surface, linear, (0.9, 1.7)) for bands in (found, expected)), strict=True)
        assert all(np.array_equal(ours, theirs) for ours, theirs in pairs)
