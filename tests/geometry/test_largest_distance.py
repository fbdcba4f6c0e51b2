"""The largest distance is that of any point of a surface, not only of the samples that means and percentiles use."""

import numpy as np
import pytest

from segauge.geometry import reference
from segauge.geometry.components import pack_mask
from segauge.geometry.distances import measure_surface_distances
from segauge.geometry.engine import _kernel as kernel
from segauge.geometry.patterns import SURFACES, cell_patterns
from segauge.geometry.reference.distances import distances_to
from segauge.geometry.reference.subvoxel import subvoxel_surface
from segauge.geometry.reference.surfaces import find_cells, targets_of
from segauge.geometry.subvoxel import subvoxel_rule
from segauge.metrics.surface import compute_surface_distances, hausdorff, hausdorff_percentile

#: Exact to a millionth of the shortest edge; the edges here are at most 5 mm.
EXACT = 5e-6


def block_and_voxel(ndim):
    gt = np.zeros((8, 12, 12)[-ndim:] if ndim == 3 else (8, 12), dtype=bool)
    gt[(slice(2, 5), *(slice(1, 11),) * (ndim - 1))] = True
    pred = gt.copy()
    pred[(5, *(6,) * (ndim - 1))] = True
    return pred, gt


def random_pair(rng, ndim):
    shape = rng.integers(1, 8, ndim)
    pair = [rng.random(shape) < rng.choice([0.1, 0.5, 0.9]) for _ in range(2)]
    for mask in pair:
        mask.flat[rng.integers(mask.size)] = True
    return pair


def pieces_of(mask, linear, surface, ignore=None):
    """Return the pieces that are sampled, and all."""
    if surface == "subvoxel":
        found = subvoxel_surface(mask, ignore, subvoxel_rule(linear))
        return found.sampled, found.targets
    patterns, cells = cell_patterns(surface, linear), find_cells(mask, ignore, surface)
    sampled = type(cells)(cells.position, cells.sample_code, cells.sample_code)
    return targets_of(sampled, patterns), targets_of(cells, patterns)


def densely(pieces, steps):
    """Return points all over the pieces, and how far any point of a piece may be from the nearest of them."""
    s, t = (grid.ravel() for grid in np.meshgrid(*[np.linspace(0, 1, steps + 1)] * 2, indexing="ij"))
    points = []
    for corner, u, v, is_rectangle in zip(pieces.corner, pieces.u, pieces.v, pieces.is_rectangle, strict=True):
        keep = np.full(len(s), True) if is_rectangle else s + t <= 1 + 1e-9
        points.append(corner + s[keep, None] * u + t[keep, None] * v)
    gap = (np.linalg.norm(pieces.u, axis=1) + np.linalg.norm(pieces.v, axis=1)).max() / (2 * steps)
    return np.concatenate(points), gap


@pytest.mark.parametrize(
    ("surface", "expected", "of_samples"),
    # of the sub-voxel surface: where a class is one voxel thick along an edge it passes the middle; the spike does not
    # end there, but almost at its voxel's centre, since all its neighbours say so
    [("marching-cubes", 5.0, 10 / 3), ("voxel", 5.0, 5.0), ("subvoxel", 2.517871, 2.505957)],
)
def test_a_voxel_on_the_next_slice_is_as_far_as_its_tip(surface, expected, of_samples):
    """HD was 3.333 mm: the middle of the triangles at the tip, where every other tool answers 5 mm."""
    pred, gt = block_and_voxel(3)
    sd = compute_surface_distances(pred, gt, (5.0, 0.8, 0.8), surface=surface)
    assert hausdorff(sd) == pytest.approx(expected, abs=EXACT)
    assert max(sd.d_pg.max(), sd.d_gp.max()) == pytest.approx(of_samples, abs=2e-3)
    assert hausdorff_percentile(sd, 100, "pooled") == hausdorff(sd)


@pytest.mark.parametrize(("surface", "expected"), [("marching-cubes", 5.0), ("voxel", 5.0)])
def test_in_2d_it_is_that_of_the_tip_too(surface, expected):
    pred, gt = block_and_voxel(2)  # the middles of the segments said 2.5 mm on the marching-cubes surface
    assert hausdorff(compute_surface_distances(pred, gt, (5.0, 0.8), surface=surface)) == pytest.approx(expected)


@pytest.mark.slow
def test_it_may_lie_inside_of_a_piece_away_from_all_corners():
    """A plate over a gap between two others: the points in the middle of the gap are furthest, and nowhere a vertex."""
    pred, gt = np.zeros((2, 3, 16, 17), dtype=bool)
    pred[1], gt[1, :, :8], gt[1, :, 9:] = True, True, True
    for surface in ("marching-cubes", "voxel"):
        sd = compute_surface_distances(pred, gt, (1.0, 1.0, 3.0), surface=surface)
        sampled, _ = pieces_of(pred, np.diag([1.0, 1.0, 3.0]), surface)
        dense = distances_to(densely(sampled, 24)[0], pieces_of(gt, np.diag([1.0, 1.0, 3.0]), surface)[1])
        assert hausdorff(sd) == pytest.approx(dense.max(), abs=EXACT)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_points_all_over_the_surface_are_no_further_and_come_as_near_as_they_are_dense(surface, seed):
    rng = np.random.default_rng(seed)
    ndim = 2 + seed % 2
    pred, gt = random_pair(rng, ndim)
    linear = np.diag(rng.uniform(0.4, 3, ndim))
    if seed % 4 == 3:
        linear[0, 1:] += rng.uniform(-0.4, 0.4, ndim - 1)
    ignore = (rng.random(pred.shape) < 0.05) & ~pred & ~gt if seed % 3 == 0 else None
    hidden = None if ignore is None else pack_mask(ignore)
    found = measure_surface_distances(pack_mask(pred), pack_mask(gt), linear, surface=surface, ignore=hidden)
    for own, other, largest in ((pred, gt, found.max_pg), (gt, pred, found.max_gp)):
        sampled, _ = pieces_of(own, linear, surface, ignore)
        _, others = pieces_of(other, linear, surface)
        if not len(sampled.corner):
            assert largest == 0
            continue
        points, gap = densely(sampled, 12)
        dense = distances_to(points, others).max()
        assert dense - EXACT <= largest <= dense + gap


@pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("seed", range(8))
def test_kernel_and_reference_agree(surface, seed, monkeypatch):
    rng = np.random.default_rng([1, seed])
    ndim = 2 + seed % 2
    pair = random_pair(rng, ndim)
    linear = np.diag(rng.choice([0.5, 0.8, 1.0, 2.5], ndim))
    found = []
    for engine in ("kernel", "reference"):
        monkeypatch.setenv("SEGAUGE_ENGINE", engine)
        sd = measure_surface_distances(*map(pack_mask, pair), linear, surface=surface)
        found.append((sd.max_pg, sd.max_gp))
        assert found[-1] == tuple(np.maximum(found[-1], (sd.d_pg.max(), sd.d_gp.max())))
    assert found[0] == pytest.approx(found[1], abs=2e-6)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("ndim", [2, 3])
def test_identity_exchange_and_flips(surface, ndim):
    rng = np.random.default_rng(ndim)
    spacing = (2.5, 0.8, 0.9)[:ndim]
    pred, gt = random_pair(rng, ndim)
    assert hausdorff(compute_surface_distances(gt, gt, spacing, surface=surface)) == pytest.approx(0, abs=EXACT)
    first = compute_surface_distances(pred, gt, spacing, surface=surface)
    swapped = compute_surface_distances(gt, pred, spacing, surface=surface)
    assert (first.max_pg, first.max_gp) == (swapped.max_gp, swapped.max_pg)
    for axis in range(ndim):
        flipped = compute_surface_distances(np.flip(pred, axis), np.flip(gt, axis), spacing, surface=surface)
        assert hausdorff(flipped) == pytest.approx(hausdorff(first), abs=EXACT)


def test_threads_change_nothing():
    pred, gt = random_pair(np.random.default_rng(5), 3)
    found = [compute_surface_distances(pred, gt, (2.5, 0.8, 0.8), threads=threads) for threads in (1, 3)]
    assert found[0].max_pg == found[1].max_pg
    assert found[0].max_gp == found[1].max_gp


def test_nothing_sampled_is_no_distance():
    none = pieces_of(np.zeros((2, 2), dtype=bool), np.eye(2), "voxel")[0]
    some = pieces_of(np.ones((2, 2), dtype=bool), np.eye(2), "voxel")[1]
    assert reference.distances.largest_distance(none, some, np.eye(2)) == 0
