"""Exact distances between surfaces: kernel against reference, reference against brute force, and the symmetries."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from segauge.geometry import reference
from segauge.geometry.distances import voxel_steps
from segauge.geometry.engine import _kernel as kernel
from segauge.geometry.patterns import SURFACES, cell_patterns, cell_shapes
from segauge.geometry.reference.distances import distances_to
from segauge.geometry.reference.surfaces import find_cells, sample_points, targets_of
from segauge.metrics.surface import assd, boundary_iou, compute_surface_distances, hausdorff, hausdorff95, masd, nsd

needs_kernel = pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")

#: The promise of the kernel against its reference, in mm.
AGREEMENT = 1e-9
#: Surfaces whose pieces the code of a cell decides; the sub-voxel surface has tests of its own.
BY_CODE = ("marching-cubes", "voxel")


def prepared(module, surface, linear):
    return module.prepare(module.read_shapes(cell_shapes(surface, linear)), linear)


def distances(module, pred, gt, linear, surface, *, ignore=None, threads=1):
    whole = ([0] * pred.ndim, list(pred.shape))
    packed = [module.pack(mask.astype(np.uint8), [1], *whole, 1) for mask in (pred, gt)]
    hidden = None
    if ignore is not None:
        hidden = module.pack(ignore.astype(np.uint8), [1], *whole, 1)
        packed = [mask.without(hidden) for mask in packed]
    return module.surface_distances(*packed, hidden, surface, prepared(module, surface, linear), threads)[:4]


def random_pair(rng, ndim):
    shape = rng.integers(1, 12, ndim)
    if rng.random() < 0.25:  # a row of several words of bits; a thin one, for the reference tries every pair of cells
        shape = rng.integers(1, 5, ndim)
        shape[rng.integers(ndim)] = rng.integers(20, 140)
    pair = [rng.random(shape) < rng.choice([0.02, 0.1, 0.5, 0.9]) for _ in range(2)]
    for mask in pair:
        mask.flat[rng.integers(mask.size)] = True
    return pair


def random_lattice(rng, ndim):
    """Return a lattice of boxes, of cubes or with two equal edges (which have more mirrors), or a sheared one."""
    edges = np.diag(rng.choice(rng.uniform(0.3, 5, rng.integers(1, ndim + 1)), ndim))
    return edges if rng.random() < 0.7 else edges + np.triu(rng.normal(size=(ndim, ndim)), 1)


@needs_kernel
@pytest.mark.parametrize("surface", BY_CODE)
@pytest.mark.parametrize("ndim", [2, 3])
def test_cubes_agree_with_the_reference_on_their_own_lattice(surface, ndim):
    pred, gt = random_pair(np.random.default_rng(ndim), ndim)
    sd = compute_surface_distances(pred, gt, 0.7, surface=surface)
    theirs = distances(reference, pred, gt, np.diag([0.7] * ndim), surface)
    for ours, other in zip((sd.d_pg, sd.w_pg, sd.d_gp, sd.w_gp), theirs, strict=True):
        assert np.abs(ours - other).max() <= AGREEMENT


@needs_kernel
@pytest.mark.parametrize("surface", BY_CODE)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), ndim=st.sampled_from((2, 3)), hide=st.booleans())
def test_kernel_and_reference_agree_on_noise(surface, seed, ndim, hide):
    rng = np.random.default_rng(seed)
    pred, gt = random_pair(rng, ndim)
    ignore = rng.random(pred.shape) < 0.1 if hide else None
    if ignore is not None and not ((pred & ~ignore).any() and (gt & ~ignore).any()):
        ignore = None
    linear = random_lattice(rng, ndim)
    ours = distances(kernel, pred, gt, linear, surface, ignore=ignore)
    theirs = distances(reference, pred, gt, linear, surface, ignore=ignore)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max(initial=0) <= AGREEMENT


@needs_kernel
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), ndim=st.sampled_from((2, 3)), surface=st.sampled_from(BY_CODE))
def test_bands_agree(seed, ndim, surface):
    rng = np.random.default_rng(seed)
    mask = rng.random(rng.integers(1, 16, ndim)) < rng.choice([0.5, 0.97, 1.1])
    mask.flat[0] = True
    linear, width = random_lattice(rng, ndim), rng.uniform(0.2, 6)
    bands = []
    for module in (kernel, reference):
        packed = module.pack(mask.astype(np.uint8), [1], [0] * ndim, list(mask.shape), 1)
        patterns = prepared(module, surface, linear)
        bands.append(module.boundary_band(packed, surface, patterns, width, 2).unpack())
    assert np.array_equal(*bands)


@pytest.mark.parametrize("surface", BY_CODE)
@pytest.mark.parametrize("ndim", [2, 3])
def test_reference_agrees_with_brute_force(surface, ndim):
    """Against a dense sampling of every piece: never nearer than the exact distance, and hardly ever further."""
    rng = np.random.default_rng(7)
    pred, gt = (rng.random((4,) * ndim) < 0.3 for _ in range(2))
    pred.flat[0] = gt.flat[-1] = True
    patterns = cell_patterns(surface, random_lattice(rng, ndim))
    points = sample_points(find_cells(pred, None, surface), patterns)
    targets = targets_of(find_cells(gt, None, surface), patterns)
    s, t = (grid.ravel() for grid in np.meshgrid(*[np.linspace(0, 1, 41)] * 2))
    inside = targets.is_rectangle[:, None] | (s + t <= 1 + 1e-12)
    dense = (targets.corner[:, None] + s[:, None] * targets.u[:, None] + t[:, None] * targets.v[:, None])[inside]
    exact = distances_to(points, targets)
    sampled, _ = cKDTree(dense).query(points)
    assert np.all(exact <= sampled + 1e-12)
    step = max(np.linalg.norm(side, axis=1).max() for side in (targets.u, targets.v)) / 40
    assert np.all(sampled - exact <= step)  # no point of a piece is further than a step from a dense sample


@needs_kernel
@pytest.mark.parametrize("surface", BY_CODE)
def test_any_number_of_threads_gives_the_same_bits(surface):
    rng = np.random.default_rng(3)
    pred, gt = (rng.random((24, 40, 50)) < 0.3 for _ in range(2))
    one = distances(kernel, pred, gt, np.diag([1.0, 0.7, 2.5]), surface, threads=1)
    for threads in (2, 3, 7):
        several = distances(kernel, pred, gt, np.diag([1.0, 0.7, 2.5]), surface, threads=threads)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one, several, strict=True))


@needs_kernel
@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_worked_out_again():
    """Noise on a sheared lattice, which has no mirrors, meets more combinations of cells than are kept.

    With several threads each keeps others: the answers may not depend on which.
    """
    rng = np.random.default_rng(8)
    pred, gt = (rng.random((48, 48, 48)) < share for share in (0.1, 0.5))
    sheared = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 2.0]])
    one, several = (distances(kernel, pred, gt, sheared, "marching-cubes", threads=threads) for threads in (1, 3))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, several, strict=True))


_BYTES = """
import hashlib, numpy as np, segauge
rng = np.random.default_rng(4)
found = hashlib.sha256()
for spacing in ((1.0, 1.0, 1.0), (0.7, 0.7, 2.5), (1.1, 0.6, 3.0)):
    for surface in ("marching-cubes", "voxel"):
        pred, gt = (rng.random((20, 22, 24)) < share for share in (0.05, 0.4))
        sd = segauge.compute_surface_distances(pred, gt, spacing, surface=surface, threads=1)
        for array in (sd.d_pg, sd.d_gp):
            found.update(array.tobytes())
print(found.hexdigest())
"""


def printed_with_wide_and_narrow_registers(script):
    """Run a script twice. On a processor without AVX2 both runs take the same way, and nothing is shown."""
    return [
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, **extra}, capture_output=True, text=True, check=True
        ).stdout
        for extra in ({}, {"SEGAUGE_NO_AVX2": "1"})
    ]


@needs_kernel
def test_narrow_and_wide_registers_give_the_same_bits():
    wide, narrow = printed_with_wide_and_narrow_registers(_BYTES)
    assert wide == narrow


def blobs(seed=5, shape=(24, 30, 27)):
    """Two different lumpy objects."""
    rng = np.random.default_rng(seed)
    axes = np.meshgrid(*[np.arange(n) for n in shape], indexing="ij")
    masks = []
    for _ in range(2):
        mask = np.zeros(shape, bool)
        for _ in range(4):
            centre, radii = [rng.uniform(0.35, 0.65) * n for n in shape], rng.uniform(3, 7, len(shape))
            mask |= sum(((a - c) / r) ** 2 for a, c, r in zip(axes, centre, radii, strict=True)) < 1
        masks.append(mask)
    return masks


def summary(pred, gt, spacing, surface):
    sd = compute_surface_distances(pred, gt, spacing, surface=surface)
    return np.array([hausdorff(sd), hausdorff95(sd), assd(sd), masd(sd), nsd(sd, 1.3), sd.area_pred, sd.area_gt])


@pytest.mark.parametrize("surface", SURFACES)
class TestInvariance:
    spacing = (0.8, 1.1, 2.5)

    @pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
    def test_permuting_the_axes_changes_nothing(self, surface, axes):
        pred, gt = blobs()
        turned = summary(pred.transpose(axes), gt.transpose(axes), [self.spacing[axis] for axis in axes], surface)
        assert turned == pytest.approx(summary(pred, gt, self.spacing, surface), rel=1e-12)

    @pytest.mark.parametrize("flipped", [(0,), (1,), (2,), (0, 1, 2)])
    def test_flipping_changes_nothing(self, surface, flipped):
        pred, gt = blobs()
        turned = summary(np.flip(pred, flipped), np.flip(gt, flipped), self.spacing, surface)
        assert turned == pytest.approx(summary(pred, gt, self.spacing, surface), rel=1e-12)

    def test_scaling_the_voxels_scales_the_distances(self, surface):
        pred, gt = blobs()
        small = summary(pred, gt, self.spacing, surface)
        sd = compute_surface_distances(pred, gt, [7 * edge for edge in self.spacing], surface=surface)
        large = [hausdorff(sd), hausdorff95(sd), assd(sd), masd(sd), nsd(sd, 7 * 1.3), sd.area_pred, sd.area_gt]
        assert large == pytest.approx(small * [7, 7, 7, 7, 1, 49, 49], rel=1e-12)

    @pytest.mark.parametrize("edge", [0.7, 1.0, 3.0])
    def test_cubes_of_any_size_are_those_of_one(self, surface, edge):
        pred, gt = blobs()
        sd = compute_surface_distances(pred, gt, edge, surface=surface)
        unit = compute_surface_distances(pred, gt, 1.0, surface=surface)
        for found, of_one, power in ((sd.d_pg, unit.d_pg, 1), (sd.w_gp, unit.w_gp, 2)):
            # half a unit in the last place for the product; the sub-voxel surface is measured on its own lattice
            tolerance = 1e-15 if surface in BY_CODE else 1e-9
            assert np.allclose(found, of_one * edge**power, rtol=tolerance, atol=1e-12 * edge)
        bands = [boundary_iou(pred, gt, one, 2 * one, surface=surface) for one in (edge, 1.0)]
        assert bands[0] == bands[1]

    def test_swapping_pred_and_gt_swaps_the_directions(self, surface):
        pred, gt = blobs()
        there, back = (
            compute_surface_distances(*pair, self.spacing, surface=surface) for pair in ((pred, gt), (gt, pred))
        )
        assert there.d_pg.tobytes() == back.d_gp.tobytes()
        assert there.w_gp.tobytes() == back.w_pg.tobytes()

    def test_more_background_changes_no_bit(self, surface):
        pred, gt = blobs()
        padded = [np.pad(mask, ((3, 0), (11, 5), (70, 2))) for mask in (pred, gt)]
        here, there = (compute_surface_distances(*pair, self.spacing, surface=surface) for pair in ((pred, gt), padded))
        assert here.d_pg.tobytes() == there.d_pg.tobytes()

    def test_memory_order_and_type_change_no_bit(self, surface):
        pred, gt = blobs()
        here = compute_surface_distances(pred, gt, self.spacing, surface=surface)
        for change in (
            np.asfortranarray,
            lambda a: a.astype(np.int64),
            lambda a: a[::-1][::-1],
            lambda a: a * np.uint8(200),
        ):
            there = compute_surface_distances(change(pred), change(gt), self.spacing, surface=surface)
            assert here.d_pg.tobytes() == there.d_pg.tobytes()

    def test_two_dimensions_behave_alike(self, surface):
        pred, gt = blobs(shape=(40, 50))
        straight = summary(pred, gt, (0.8, 2.5), surface)
        assert summary(pred.T[::-1], gt.T[::-1], (2.5, 0.8), surface) == pytest.approx(straight, rel=1e-12)


@pytest.mark.parametrize("surface", BY_CODE)
def test_a_rotated_grid_has_the_same_distances_and_a_sheared_one_the_true_ones(surface):
    """A slab between two planes: their distance is the spacing along the normal, whatever the shear."""
    edges = np.diag([2.0, 1.0, 1.5])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    affine = np.eye(4)
    affine[:3, :3] = turn @ edges
    assert voxel_steps(affine) == pytest.approx(edges)

    affine[:3, :3] = turn @ (edges + np.array([[0, 0.4, 0.9], [0, 0, 0.6], [0, 0, 0]]))
    linear = voxel_steps(affine)
    normal = abs(np.linalg.det(linear)) / np.linalg.norm(np.cross(linear[:, 1], linear[:, 2]))
    pred, gt = np.zeros((2, 12, 41, 41), bool)
    pred[2:6], gt[2:9] = True, True
    d_pg, _, _, _ = distances(reference if kernel is None else kernel, pred, gt, linear, surface)
    # the top plane of pred lies inside gt, three steps below its top; away from the rim nothing else is nearer
    assert np.median(d_pg[d_pg > 2]) == pytest.approx(3 * normal, rel=1e-12)


@pytest.mark.shared
@needs_kernel
@pytest.mark.slow
def test_kernel_and_reference_agree_on_real_readers(shared):
    nib = pytest.importorskip("nibabel")
    folder = shared / "data" / "kits23_readers"
    case = sorted((folder / "reference").glob("*.nii.gz"))[0].name
    gt, pred = (nib.load(folder / reader / case) for reader in ("reference", "reader1"))
    spacing = np.linalg.norm(gt.affine[:3, :3], axis=0)
    masks = [np.asarray(image.dataobj) == 2 for image in (pred, gt)]
    where = np.argwhere(masks[0] | masks[1])
    box = tuple(slice(first, last + 1) for first, last in zip(where.min(axis=0), where.max(axis=0), strict=True))
    pair = [mask[box] for mask in masks]
    ours = distances(kernel, *pair, np.diag(spacing), "marching-cubes")
    theirs = distances(reference, *pair, np.diag(spacing), "marching-cubes")
    assert max(np.abs(a - b).max() for a, b in zip(ours, theirs, strict=True)) <= AGREEMENT


@needs_kernel
def test_memory_of_another_lattice_changes_no_bit():
    """The kernel hands the memory of known distances from one lattice to the next: nothing of the last may stay."""
    rng = np.random.default_rng(11)
    pred, gt = (rng.random((7, 8, 9)) < 0.4 for _ in range(2))
    lattices = [np.diag(edges) for edges in ((1.0, 0.8, 2.5), (0.7, 1.9, 0.6), (3.0, 1.1, 0.9))]
    first = [distances(kernel, pred, gt, linear, "marching-cubes") for linear in lattices]
    again = [distances(kernel, pred, gt, linear, "marching-cubes") for linear in reversed(lattices)][::-1]
    for one, other in zip(first, again, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    agreed = [distances(reference, pred, gt, linear, "marching-cubes") for linear in lattices]
    for one, other in zip(first, agreed, strict=True):
        assert max(np.abs(a - b).max() for a, b in zip(one, other, strict=True)) <= AGREEMENT
