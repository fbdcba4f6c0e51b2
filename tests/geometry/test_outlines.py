"""Thick slices: where the sub-voxel surface passes between them, and how a cap ends above the last one."""

import numpy as np
import pytest

from segauge import surface_metrics
from segauge.geometry.reference.outlines import _circle_zeros
from segauge.geometry.reference.subvoxel import edge_positions
from segauge.geometry.subvoxel import CHORD_REACH, FAR_STEPS, REACH, THICK, WIDTHS, subvoxel_rule
from segauge.grid import Grid
from segauge.phantoms import Ball, Box, distance_truth

THICK_SLICES = (0.8, 0.8, 5.0)


def drawn(solid, spacing, extent_mm):
    edges = np.array(spacing)
    half = np.ceil(extent_mm / edges).astype(int) + 2
    grid = Grid.from_spacing((2 * half + 1).tolist(), spacing, (-half * edges).tolist())
    return solid.rasterize(grid).array != 0, -half * edges


def test_the_circle_through_three_points_of_a_circle_is_that_circle():
    rng = np.random.default_rng(1)
    radius, across, start = rng.uniform(5, 50, 100), rng.uniform(0, 0.9, 100), rng.uniform(-0.9, 0.5, 100)
    step = 0.1 * radius
    heights = radius * start + step * np.array([[-1.0], [0.0], [1.0]])
    profile = np.sqrt(radius**2 - heights**2) - radius * across
    true = radius * np.sqrt(1 - across**2)
    for k in range(100):
        wanted = true[k] - heights[1, k]
        if np.all(profile[:, k] > 0):
            before, middle, after = (np.array([value]) for value in profile[:, k])
            assert _circle_zeros(before, middle, after, step[k], step[k]) == pytest.approx(wanted, rel=1e-6)


def test_a_straight_profile_is_followed():
    """Three points on a line have no circle; their second difference of 0 must not matter."""
    found = _circle_zeros(np.array([4.0]), np.array([2.5]), np.array([1.0]), 2.0, 0.0)
    assert found == pytest.approx(2.5 / 1.5 * 2.0)


@pytest.mark.parametrize("spacing", [(0.8, 0.8, 2.5), THICK_SLICES])
def test_caps_end_where_those_of_balls_do(spacing):
    """Within a fourteenth of a slice on average, over places of the slices and sizes; the middle is a quarter off."""
    rng = np.random.default_rng(2)
    errors, errors_of_middle = [], []
    for _ in range(6):
        radius, center = float(rng.uniform(14, 25)), rng.uniform(-2, 2, size=3)
        mask, origin = drawn(Ball(tuple(center.tolist()), radius), spacing, 28.0)
        cuts = edge_positions(mask, subvoxel_rule(np.diag(spacing)))[2]
        x, y, z = np.nonzero(np.isfinite(cuts))
        from_center = [place * spacing[k] + origin[k] - center[k] for k, place in enumerate((x, y))]
        side = np.where(mask[x, y, z], 1.0, -1.0)
        true = center[2] + side * np.sqrt(radius**2 - from_center[0] ** 2 - from_center[1] ** 2)
        low = z * spacing[2] + origin[2]
        errors.append(np.abs(low + cuts[x, y, z] * spacing[2] - true).mean() / spacing[2])
        errors_of_middle.append(np.abs(low + 0.5 * spacing[2] - true).mean() / spacing[2])
    # measured: 0.055 at 2.5 mm and 0.037 at 5 mm; 0.25 for the middle
    assert np.mean(errors) < 0.07
    assert np.mean(errors_of_middle) > 0.2


def test_a_flat_top_stays_in_the_middle():
    """A box of which all slices are the same says nothing about where between two slices it ends."""
    mask, _ = drawn(Box((0.0, 0.0, 0.0), (20.0, 20.0, 30.0)), THICK_SLICES, 20.0)
    cuts = edge_positions(mask, subvoxel_rule(np.diag(THICK_SLICES)))[2]
    inner = cuts[mask.shape[0] // 2 - 5 : mask.shape[0] // 2 + 5, mask.shape[1] // 2 - 5 : mask.shape[1] // 2 + 5]
    np.testing.assert_allclose(inner[np.isfinite(inner)], 0.5, rtol=0, atol=1e-9)


def test_outlines_out_of_reach_change_nothing():
    rng = np.random.default_rng(3)
    spacing = (1.0, 1.0, 2.0)
    chords = CHORD_REACH * np.sqrt(spacing[2] * min(spacing))
    reach = int(max(FAR_STEPS * spacing[2], chords) + np.ceil(REACH * WIDTHS[0])) + 1
    size = 12 + reach + 20
    mask = np.zeros((size, 12, 12), dtype=bool)
    mask[2:12, 2:10, 2:10] = rng.random((10, 8, 8)) < 0.7
    changed = mask.copy()
    changed[12 + reach + 1 :] = rng.random((19, 12, 12)) < 0.4
    rule = subvoxel_rule(np.diag(spacing))
    for before, after in zip(edge_positions(mask, rule), edge_positions(changed, rule), strict=True):
        np.testing.assert_array_equal(before[:11], after[:11])


@pytest.mark.parametrize(
    ("linear", "axes"),
    [
        (np.diag([1.0, 1.0, 1.0]), ()),
        (np.diag([1.0, 1.0, THICK]), (2,)),
        (np.diag([3.0, 1.0, 3.0]), (0, 2)),
        (np.diag([0.7, 1.2]), (1,)),
        # a turned grid is still at right angles; a sheared one is not
        (np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 4.0]]), (2,)),
        (np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), ()),
    ],
)
def test_which_axes_are_thick(linear, axes):
    assert subvoxel_rule(linear).thick_axes == axes


@pytest.mark.parametrize("spacing", [(0.8, 0.8, 2.5), THICK_SLICES])
def test_balls_in_thick_slices_are_found(spacing):
    """HD95 and NSD errors are a third at most, ASSD a fifth and HD a half of those of marching cubes."""
    rng = np.random.default_rng(4)
    errors = {"marching-cubes": [], "subvoxel": []}
    names = ("hd", "hd95", "assd", "nsd")
    for _ in range(5):
        gt = Ball(tuple(rng.uniform(-2, 2, size=3).tolist()), float(rng.uniform(16, 24)))
        pred = Ball(tuple((np.array(gt.center_mm) + rng.uniform(-1.5, 1.5, size=3)).tolist()), gt.radius_mm + 0.5)
        masks = [drawn(ball, spacing, 30.0)[0] for ball in (pred, gt)]
        truth = distance_truth(pred, gt)
        true = np.array([truth.hd(), truth.hd_percentile(95.0), truth.assd(), truth.nsd(1.0)])
        for surface, found in errors.items():
            values = surface_metrics(*masks, spacing, 1.0, surface=surface)
            found.append(np.abs(np.array([values[name] for name in names]) - true))
    ratios = np.mean(errors["subvoxel"], axis=0) / np.mean(errors["marching-cubes"], axis=0)
    assert np.all(ratios < [0.5, 1 / 3, 0.2, 1 / 3]), dict(zip(names, ratios.tolist(), strict=True))
