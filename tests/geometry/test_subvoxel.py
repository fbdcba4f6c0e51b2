"""The sub-voxel surface: kernel against reference, closed forms, invariances, and what it must never do."""

import itertools
from math import pi

import numpy as np
import pytest
from scipy import ndimage

from segauge import surface_metrics
from segauge.geometry import reference
from segauge.geometry.distances import find_boundary_band, measure_surface_distances
from segauge.geometry.engine import engine
from segauge.geometry.reference.subvoxel import depths, edge_positions, subvoxel_surface, surface_through
from segauge.geometry.subvoxel import MARGIN, subvoxel_rule
from segauge.grid import Grid
from segauge.phantoms import Ball, distance_truth
from tests.geometry.test_distances import printed_with_wide_and_narrow_registers

#: The kernel takes normal quantiles from a table that is right to 1e-9; noise has the steepest positions.
AGREEMENT = 1e-8


def packed(mask, chosen=None):
    box = [0] * mask.ndim, list(mask.shape)
    return (chosen or engine()).pack(mask.astype(np.uint8), [1], *box, 1)


def blob(rng, shape, share=0.3):
    field = ndimage.gaussian_filter(rng.normal(size=shape), 1.5)
    return field > np.quantile(field, 1 - share)


def distances(pred, gt, spacing, **options):
    return measure_surface_distances(packed(pred), packed(gt), np.diag(spacing), surface="subvoxel", **options)


def ball_mask(radius, spacing, center=(0.0, 0.0, 0.0)):
    edges = np.array(spacing)
    first = np.floor((np.array(center) - radius) / edges) - 2
    shape = (np.ceil((np.array(center) + radius) / edges) + 3 - first).astype(int)
    grid = Grid.from_spacing(shape.tolist(), spacing, (first * edges).tolist())
    return Ball(center, radius).rasterize(grid).array != 0, first * edges


@pytest.mark.parametrize(
    ("shape", "spacing"),
    [
        ((9, 8, 10), (1.0, 1.0, 1.0)),
        ((8, 9, 8), (0.8, 0.8, 5.0)),
        ((6, 6, 10), (0.5, 10.0, 0.5)),
        ((3, 4, 70), (1.0, 2.0, 1.5)),
        ((20, 26), (0.7, 1.2)),
    ],
)
@pytest.mark.parametrize("kind", ["blob", "noise"])
def test_kernel_equals_reference(shape, spacing, kind):
    rng = np.random.default_rng([len(shape), len(kind)])
    pred, gt = (blob(rng, shape) if kind == "blob" else rng.random(shape) < 0.3 for _ in range(2))
    ignore = rng.random(shape) < 0.05
    rule = subvoxel_rule(np.diag(spacing))
    pred, gt = pred & ~ignore, gt & ~ignore
    prepared = engine().prepare_subvoxel(rule)
    found = engine().subvoxel_distances(packed(pred), packed(gt), packed(ignore), prepared, 2)
    masks = [packed(mask, reference) for mask in (pred, gt, ignore)]
    expected = reference.subvoxel_distances(*masks, rule, 1)
    for ours, theirs in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * max(spacing))


def test_sheared_lattices_agree_too():
    rng = np.random.default_rng(3)
    linear = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 1.5]])
    pred, gt = blob(rng, (10, 11, 9)), blob(rng, (10, 11, 9))
    rule = subvoxel_rule(linear)
    found = engine().subvoxel_distances(packed(pred), packed(gt), None, engine().prepare_subvoxel(rule), 1)
    expected = reference.subvoxel_distances(packed(pred, reference), packed(gt, reference), None, rule, 1)
    for ours, theirs in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (3.0, 0.7, 0.7)])
def test_what_is_far_away_or_the_same_in_both_agrees_too(spacing):
    """Bounds on distances are worked out in floats: they must hold over a distance of hundreds of voxels."""
    rng = np.random.default_rng(12)
    pred, gt = (np.zeros((8, 9, 300), dtype=bool) for _ in range(2))
    pred[1:7, 1:8, 1:12] = gt[1:7, 1:8, 1:12] = blob(rng, (6, 7, 11), 0.5)
    gt[1:7, 1:8, 9:15] = blob(rng, (6, 7, 6), 0.5)
    pred[1:7, 1:8, 285:297] = blob(rng, (6, 7, 12), 0.5)
    rule = subvoxel_rule(np.diag(spacing))
    found = engine().subvoxel_distances(packed(pred), packed(gt), None, engine().prepare_subvoxel(rule), 1)
    expected = reference.subvoxel_distances(packed(pred, reference), packed(gt, reference), None, rule, 1)
    for ours, theirs in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * max(spacing))
    assert found[0].max() > 200 * spacing[2]
    assert np.count_nonzero(found[0] == 0) > 20


_BYTES = """
import hashlib, numpy as np, segauge
rng = np.random.default_rng(4)
found = hashlib.sha256()
for spacing in ((1.0, 1.0, 1.0), (0.7, 0.7, 5.0), (1.1, 0.6, 3.0)):
    pred, gt = (rng.random((20, 22, 24)) < share for share in (0.05, 0.4))
    sd = segauge.compute_surface_distances(pred, gt, spacing, surface="subvoxel", threads=1)
    for array in (sd.d_pg, sd.w_pg, sd.d_gp, sd.w_gp):
        found.update(array.tobytes())
print(found.hexdigest())
"""


def test_narrow_and_wide_registers_give_the_same_bits():
    wide, narrow = printed_with_wide_and_narrow_registers(_BYTES)
    assert wide == narrow


def test_threads_change_no_bit():
    rng = np.random.default_rng(4)
    pred, gt = blob(rng, (25, 26, 27)), blob(rng, (25, 26, 27))
    one, three = (distances(pred, gt, (1.0, 1.0, 2.0), threads=threads) for threads in (1, 3))
    for name in ("d_pg", "w_pg", "d_gp", "w_gp"):
        assert np.array_equal(getattr(one, name), getattr(three, name))


def test_every_voxel_centre_stays_on_its_side():
    """The surface cuts exactly the edges between the two classes, and never at or beyond a centre."""
    rng = np.random.default_rng(5)
    for spacing in ((1.0, 1.0, 1.0), (0.8, 0.8, 5.0)):
        mask = np.pad(blob(rng, (12, 13, 14)) | (rng.random((12, 13, 14)) < 0.05), 1)
        for axis, cuts in enumerate(edge_positions(mask, subvoxel_rule(np.diag(spacing)))):
            assert np.array_equal(np.isfinite(cuts), np.diff(mask.astype(int), axis=axis) != 0)
            assert np.nanmin(cuts) >= MARGIN
            assert np.nanmax(cuts) <= 1 - MARGIN


def test_flips_and_permutations_change_nothing():
    rng = np.random.default_rng(6)
    pred, gt, spacing = blob(rng, (14, 15, 16)), blob(rng, (14, 15, 16)), (0.9, 1.1, 2.5)
    expected = surface_metrics(pred, gt, spacing, surface="subvoxel")
    for order in itertools.permutations(range(3)):
        for flipped in ((), (0,), (0, 1, 2)):
            turned = [np.flip(mask.transpose(order), flipped) for mask in (pred, gt)]
            found = surface_metrics(*turned, [spacing[axis] for axis in order], surface="subvoxel")
            assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 2, 0)])
def test_ignored_voxels_follow_the_axes(order):
    """The surface is found with thick slices first, whatever the order of the axes that it is asked in."""
    rng = np.random.default_rng(13)
    pred, gt = blob(rng, (12, 13, 9)), blob(rng, (12, 13, 9))
    ignore, spacing = rng.random((12, 13, 9)) < 0.05, (0.9, 1.1, 2.5)
    one, other = (
        distances(
            *((mask & ~ignore).transpose(axes) for mask in (pred, gt)),
            [spacing[axis] for axis in axes],
            ignore=packed(ignore.transpose(axes)),
        )
        for axes in ((0, 1, 2), order)
    )
    assert other.area_gt == pytest.approx(one.area_gt, abs=1e-8)
    np.testing.assert_allclose(np.sort(other.d_pg), np.sort(one.d_pg), rtol=0, atol=1e-7)


def test_scaling_the_spacing_scales_the_distances():
    rng = np.random.default_rng(7)
    pred, gt = blob(rng, (12, 12, 12)), blob(rng, (12, 12, 12))
    one = distances(pred, gt, (1.0, 1.5, 2.0))
    ten = distances(pred, gt, (10.0, 15.0, 20.0))
    np.testing.assert_allclose(ten.d_pg, 10 * one.d_pg, rtol=0, atol=1e-7)


@pytest.mark.parametrize("mask", [np.ones((1, 1, 1)), np.ones((1, 4, 5)), np.ones((1, 1, 6)), np.ones((1, 3))])
def test_what_is_one_voxel_thick_keeps_its_thickness(mask):
    """Across its thin direction nothing is known: there it is as thick as that of marching cubes, not collapsed."""
    rule = subvoxel_rule(np.eye(mask.ndim))
    cuts = edge_positions(np.pad(mask, 2).astype(bool), rule)[0]
    assert np.all(cuts[np.isfinite(cuts)] == 0.5)


def test_a_single_voxel_has_the_surface_of_marching_cubes():
    voxel = np.zeros((3, 3, 3), dtype=bool)
    voxel[1, 1, 1] = True
    other = np.zeros((3, 3, 3), dtype=bool)
    other[1, 1, 2] = True
    found, expected = (surface_metrics(voxel, other, surface=name) for name in ("subvoxel", "marching-cubes"))
    assert found == pytest.approx(expected, abs=1e-12)


def test_flat_faces_stay_where_they_are():
    """Far from edges a face between two layers of voxels says nothing about where between them it lies."""
    mask = np.zeros((14, 30, 30), dtype=bool)
    mask[:7] = True
    cuts = edge_positions(mask, subvoxel_rule(np.diag([2.0, 1.0, 1.0])))[0]
    np.testing.assert_allclose(cuts[6, 10:20, 10:20], 0.5, atol=1e-12)


@pytest.mark.parametrize("direction", [(1, 2**0.5, 3**0.5), (1, 5, 0.3), (1, 0.618, 0.1), (0.7, 1, 0.9)])
def test_oblique_planes_are_found(direction):
    """Vertices of marching cubes lie 0.15 to 0.2 voxels from such a plane on average and up to half a voxel."""
    normal = np.array(direction) / np.linalg.norm(direction)
    index = np.indices((33, 33, 33)).reshape(3, -1).T
    mask = ((index - 16.2) @ normal <= 0).reshape(33, 33, 33)
    error = []
    for axis, cuts in enumerate(edge_positions(mask, subvoxel_rule(np.eye(3)))):
        at = np.argwhere(np.isfinite(cuts)).astype(float)
        at[:, axis] += cuts[np.isfinite(cuts)]
        inner = np.all((at > 8) & (at < 24), axis=1)
        error.append((at[inner] - 16.2) @ normal)
    error = np.abs(np.concatenate(error))
    assert error.max() < 0.15
    assert error.mean() < 0.07


def test_planes_between_layers_of_the_lattice_are_halfway():
    """Between two layers of lattice points nothing tells where the plane is: the middle, exactly."""
    index = np.indices((33, 33, 33)).sum(axis=0)
    cuts = edge_positions(index <= 48, subvoxel_rule(np.eye(3)))
    for cut in cuts:
        inner = cut[8:24, 8:24, 8:24]
        np.testing.assert_allclose(inner[np.isfinite(inner)], 0.5, atol=1e-9)


def test_balls_are_found():
    """A ball of 20 voxels across, beside marching cubes: 0.11 voxels off on average, and 7 % too large an area."""
    center = (0.3, 0.2, 0.4)
    mask, origin = ball_mask(10.0, (1.0, 1.0, 1.0), center)
    rule = subvoxel_rule(np.eye(3))
    cuts = edge_positions(np.pad(mask, 1), rule)
    halfway = [np.where(np.isfinite(cut), 0.5, np.nan) for cut in cuts]
    found = {}
    for name, places in (("subvoxel", cuts), ("marching cubes", halfway)):
        surface = surface_through(mask, None, places, rule)
        away = np.linalg.norm(surface.points - 1 + origin - center, axis=1) - 10
        found[name] = np.average(np.abs(away), weights=surface.areas), surface.areas.sum() / (4 * pi * 100)
    assert found["subvoxel"] == (pytest.approx(0.045, abs=0.005), pytest.approx(1, abs=0.005))
    assert found["marching cubes"] == (pytest.approx(0.11, abs=0.01), pytest.approx(1.07, abs=0.01))


def test_distances_between_balls_are_a_fifth_of_marching_cubes_error():
    """ASSD of two balls in closed form, over places between the voxels."""
    errors = {"subvoxel": [], "marching-cubes": []}
    rng = np.random.default_rng(9)
    for _ in range(4):
        gt = Ball(tuple(rng.uniform(-1, 1, 3)), 12.0)
        pred = Ball(tuple(np.add(gt.center_mm, rng.uniform(-1, 1, 3))), 12.7)
        grid = Grid.from_spacing([34, 34, 34], (1.0, 1.0, 1.0), (-17.0, -17.0, -17.0))
        masks = [ball.rasterize(grid).array for ball in (pred, gt)]
        truth = distance_truth(pred, gt).assd()
        for name, found in errors.items():
            found.append(abs(surface_metrics(*masks, surface=name)["assd"] - truth))
    assert np.mean(errors["subvoxel"]) < 0.2 * np.mean(errors["marching-cubes"])


def test_circles_are_found_in_2d():
    """Marching squares: 0.16 pixels off on average, and 5 % too long."""
    y, x = np.mgrid[:41, :41]
    disc = (y - 20.3) ** 2 + (x - 19.8) ** 2 <= 15**2
    surface = subvoxel_surface(disc, None, subvoxel_rule(np.eye(2)))
    away = np.linalg.norm(surface.points[:, 1:] - 1 - (20.3, 19.8), axis=1) - 15
    assert np.average(np.abs(away), weights=surface.areas) < 0.12
    assert surface.areas.sum() == pytest.approx(2 * pi * 15, rel=0.01)


def test_depths_are_distances_near_a_plane():
    mask = np.indices((16, 24, 24))[0] < 8
    depth = depths(mask, subvoxel_rule(np.eye(3)))
    np.testing.assert_allclose(depth[6:10, 12, 12], [1.5, 0.5, 0.5, 1.5], atol=0.06)


def test_boundary_band_is_that_of_the_reference():
    rng = np.random.default_rng(10)
    mask, linear = blob(rng, (14, 15, 16)), np.diag([1.0, 1.0, 2.0])
    found = find_boundary_band(packed(mask), linear, 1.2, surface="subvoxel").unpack()
    width = 1.2 + 1e-6
    expected = reference.subvoxel_band(packed(mask, reference), subvoxel_rule(linear), width, 1).unpack()
    assert np.array_equal(found, expected)
    assert 0 < found.sum() < mask.sum()


def test_noise_of_specks_is_legal():
    mask = np.random.default_rng(11).random((30, 30, 30)) < 0.02
    found = surface_metrics(mask, np.roll(mask, 1, axis=0), surface="subvoxel")
    assert 0 < found["hd"] < 40
