"""Surfaces that are far from each other: bad predictions, islands, objects within others. Kernel against reference."""

import numpy as np
import pytest

from segauge.geometry import reference
from segauge.geometry.engine import _kernel as kernel
from segauge.geometry.patterns import cell_shapes
from segauge.geometry.subvoxel import subvoxel_rule

pytestmark = pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")

#: The promise of the kernel against its reference, in mm; that of the sub-voxel surface in smallest voxel edges.
AGREEMENT = 1e-9
SUBVOXEL_AGREEMENT = 1e-8

LATTICES = {
    "cubes": np.eye(3),
    "thick slices": np.diag([4.0, 0.8, 0.8]),
    "sheared": np.array([[1.0, 0.3, -0.2], [0.0, 1.2, 0.4], [0.0, 0.0, 0.9]]),
}


def distances(module, pred, gt, linear, surface, threads=1):
    packed = [module.pack(mask.astype(np.uint8), [1], [0] * 3, list(mask.shape), 1) for mask in (pred, gt)]
    if surface == "subvoxel":
        return module.subvoxel_distances(*packed, None, module.prepare_subvoxel(subvoxel_rule(linear)), threads)[:4]
    prepared = module.prepare(module.read_shapes(cell_shapes(surface, linear)), linear)
    return module.surface_distances(*packed, None, surface, prepared, threads)[:4]


def ball(shape, center, radius):
    place = np.indices(shape) - np.reshape(center, (3, 1, 1, 1))
    return (place**2).sum(axis=0) <= radius**2


def an_island_far_away():
    shape = (60, 14, 16)
    return ball(shape, (6, 6, 7), 4.3) | ball(shape, (56, 3, 12), 1.5), ball(shape, (7, 7, 7), 4.6)


def at_the_other_end():
    shape = (12, 56, 18)
    return ball(shape, (6, 6, 6), 4.4), ball(shape, (5, 48, 12), 4.1)


def a_speck_inside():
    """From the middle of a ball all of it is equally far: nothing can be excluded."""
    shape = (25, 25, 25)
    return ball(shape, (12, 12, 12), 1.5), ball(shape, (12.2, 12.4, 11.9), 10.5)


SCENES = (an_island_far_away, at_the_other_end, a_speck_inside)


@pytest.mark.parametrize("surface", ["marching-cubes", "voxel", "subvoxel"])
@pytest.mark.parametrize("lattice", LATTICES)
@pytest.mark.parametrize("scene", SCENES)
def test_kernel_and_reference_agree(scene, lattice, surface):
    pred, gt = scene()
    linear = LATTICES[lattice]
    ours = distances(kernel, pred, gt, linear, surface)
    theirs = distances(reference, pred, gt, linear, surface)
    assert max(ours[0].max(), ours[2].max()) > 6 * np.linalg.norm(linear, axis=0).min()  # far, in voxels
    limit = SUBVOXEL_AGREEMENT * np.linalg.norm(linear, axis=0).min() if surface == "subvoxel" else AGREEMENT
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max() <= limit


def test_walls_that_are_nearly_parallel_to_the_axes():
    """Bounds are worked out in floats, in which the normal of such a wall may be the axis itself."""
    tilt = 3e-4
    linear = np.array([[1.0, tilt, -0.7 * tilt], [0.0, 1.0, 0.4 * tilt], [0.0, 0.0, 1.0]])
    pred, gt = np.zeros((2, 30, 13, 13), dtype=bool)
    pred[2:5, 2:11, 2:11], gt[23:28, 3:10, 4:12] = True, True
    for surface in ("marching-cubes", "voxel", "subvoxel"):
        ours, theirs = (distances(module, pred, gt, linear, surface) for module in (kernel, reference))
        for a, b in zip(ours, theirs, strict=True):
            assert np.abs(a - b).max() <= SUBVOXEL_AGREEMENT


@pytest.mark.parametrize("surface", ["marching-cubes", "subvoxel"])
def test_any_number_of_threads_gives_the_same_bits(surface):
    """What a query begins with depends on the queries before it; what it finds does not."""
    pred, gt = an_island_far_away()
    one, three = (distances(kernel, pred, gt, LATTICES["thick slices"], surface, threads) for threads in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))


@pytest.mark.parametrize("surface", ["marching-cubes", "voxel", "subvoxel"])
@pytest.mark.parametrize("spacing", [(0.8, 0.9, 1.0), (2.5, 0.7, 0.7)])
def test_surfaces_a_few_voxels_apart_give_the_same_bits_for_any_number_of_threads(spacing, surface):
    """Some samples are settled by the cells around them, others look further from there: no cell counts in two ways."""
    shape = (68, 68, 68)
    pred, gt = ball(shape, (34, 33, 32), 24), ball(shape, (33.3, 33.6, 32.2), 20)
    one, *others = (distances(kernel, pred, gt, np.diag(spacing), surface, threads) for threads in (1, 2, 3, 5, 8))
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
