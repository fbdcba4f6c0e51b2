"""Caps: how wide an object is in its last two layers says where it ends above them."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from segauge.geometry import reference
from segauge.geometry.engine import engine
from segauge.geometry.reference.caps import _diagonal_arms, _ends_of_caps, _mean_end
from segauge.geometry.reference.subvoxel import depths, edge_positions
from segauge.geometry.subvoxel import (
    CHORD_ERROR,
    CHORD_REACH,
    FLAT_STEPS,
    REACH,
    ROUNDNESS_ERROR,
    SLOPE,
    STRIP_ERROR,
    WIDTHS,
    subvoxel_rule,
)
from segauge.grid import Grid
from segauge.phantoms import Ball, Torus
from tests.geometry.test_subvoxel import AGREEMENT

UNKNOWN = (np.nan, np.nan)


def ends(near, far, third=UNKNOWN, *, step=1.0):
    """Return where chords end a cap, and how much that counts."""
    chords = (np.array(chord)[:, np.newaxis] / step for chord in (near, far, third))
    found = _ends_of_caps(*chords, CHORD_ERROR, ROUNDNESS_ERROR)
    return found.place[0], found.weight[0]


@pytest.mark.parametrize("step", [0.5, 1.0, 3.0])
def test_two_chords_of_a_circle_tell_where_it_ends(step):
    """Exactly, for any radius, for any column between the ends of the chords, above its middle or not."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        radius, end = step * rng.uniform(3, 60), rng.uniform(0.05, 0.95)
        half = [np.sqrt(radius**2 - (radius - (end + k) * step) ** 2) for k in (0, 1)]
        # the column stands somewhere above the last chord; its own end is lower than the top of the circle
        column = rng.uniform(-1, 1) * half[0]
        below_top = radius - np.sqrt(radius**2 - column**2)
        place, weight = ends(*([h - column, h + column] for h in half), step=step)
        assert place == pytest.approx(end - below_top / step, abs=1e-9)
        assert weight > 0


def test_a_third_chord_tells_how_round_a_cap_is():
    """Of an ellipse, four times as wide as deep, seen in slices so thick that its outlines are well known."""
    depth, width, end = 4.0, 16.0, 0.4
    chords = [[width * np.sqrt(1 - (1 - (end + k) / depth) ** 2)] * 2 for k in range(3)]
    third = [np.array(chord)[:, np.newaxis] for chord in chords]
    known = _ends_of_caps(*third, 0.001, ROUNDNESS_ERROR).place[0]
    guessed = _ends_of_caps(*third[:2], np.full((2, 1), np.nan), 0.001, ROUNDNESS_ERROR).place[0]
    assert known == pytest.approx(end, abs=0.005)
    assert abs(guessed - end) > 0.05


def test_a_chord_counts_the_less_the_less_it_grows():
    """A wall says nothing about where it ends; what it would say lies beyond the layer outside."""
    weights = [ends([3.0, 3.0], [3.0 + grown, 3.0 + grown])[1] for grown in (2.0, 1.0, 0.5, 0.1, 0.0)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 10 * weights[2] > 0
    assert weights[-1] == 0


def test_chords_out_of_reach_count_nothing():
    assert ends([3.0, 3.0], UNKNOWN)[1] == 0
    assert ends(UNKNOWN, [3.0, 3.0])[1] == 0


def test_of_two_chords_the_longer_counts_less():
    """A chord that runs along a ring is long, and would end the cap at 0.8 of a step where the one across says 0.3."""
    alone, both = (mean_end(chords, strip_error=0.0) for chords in ([ACROSS], [ACROSS, ALONG]))
    assert ends(*([arm] * 2 for arm in ACROSS))[0] == pytest.approx(0.3, abs=0.02)
    assert ends(*([arm] * 2 for arm in ALONG))[0] == pytest.approx(0.85, abs=0.05)
    assert alone < both < alone + 0.05


def test_a_strip_ends_lower_than_its_chords_say():
    """Across a ring; not where the chords along both axes are as long as each other, nor without a second one."""
    for chords, is_strip in (([ACROSS, ALONG], True), ([ACROSS, ACROSS], False), ([ACROSS], False)):
        plain, lowered = (mean_end(chords, strip_error=error) for error in (0.0, STRIP_ERROR))
        assert (lowered < plain) == is_strip
        assert lowered > plain - STRIP_ERROR


#: Arms across a ring and along it, in the last layer and in the one before, in steps.
ACROSS, ALONG = (2.0, 4.1), (8.5, 12.5)


def mean_end(chords, **changed):
    """Return what Gaussians that say the middle, and chords of two equal arms, say together."""
    rule = dataclasses.replace(subvoxel_rule(np.eye(3)), **changed)
    nowhere = np.full((2, 1), np.nan)
    arms = [(*(np.full((2, 1), arm) for arm in chord), nowhere) for chord in chords]
    return _mean_end(np.array([0.5]), arms, 0, rule)[0]


def cut_by_line(normal, through):
    """Return which pixels lie on one side of a line, where it cuts the edges along both axes, and all pixels."""
    pixels = np.stack(np.indices((11, 12)), axis=-1)
    beyond = pixels @ normal - through
    cuts = []
    for axis in range(2):
        low, high = np.delete(beyond, -1, axis), np.delete(beyond, 0, axis)
        cuts.append(np.where((low <= 0) != (high <= 0), low / (low - high), np.nan))
    return beyond <= 0, cuts, pixels


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_diagonals_reach_as_far_as_a_line(axis):
    """Whatever its direction, and whichever corners of cells it cuts off on the way."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        normal = rng.uniform(-1, 1, size=2)
        through = normal @ rng.uniform(3, 8, size=2)
        inside, cuts, pixels = cut_by_line(normal, through)
        along = [np.expand_dims(cut, axis) for cut in cuts]
        along.insert(axis, np.empty(0))
        found = _diagonal_arms(axis, np.expand_dims(inside, axis), along)
        for arms, step in zip(found, ((1, 1), (1, -1)), strict=True):
            far = (through - pixels @ normal) / (normal @ step)
            beyond = pixels + (np.sign(far) * np.ceil(np.abs(far)))[..., np.newaxis] * step
            is_there = np.all((beyond >= 0) & (beyond < inside.shape), axis=-1)
            for way, both in zip((-1, 1), arms, strict=True):
                expected = np.where(is_there & (way * far > 0), np.abs(far), np.inf)
                np.testing.assert_allclose(both[0], expected, rtol=0, atol=1e-9)


def test_rings_are_found_where_they_run_along_a_diagonal(monkeypatch):
    """The chords along both axes are long there."""
    rng = np.random.default_rng(7)
    spacing = (0.8, 0.8, 5.0)
    rule = subvoxel_rule(np.diag(spacing))
    tori = [Torus((*rng.uniform(-1, 1, size=2).tolist(), float(rng.uniform(0, spacing[2]))), 19.0, 9.0) for _ in "123"]

    def error_between_axes():
        found = (top_errors(torus, spacing, rule) for torus in tori)
        return np.mean([np.abs(errors[np.abs(turned - 45) < 10]).mean() for errors, turned in found]) / spacing[2]

    found = error_between_axes()
    monkeypatch.setattr("segauge.geometry.reference.caps._diagonal_arms", lambda *_: [])
    without = error_between_axes()
    # measured: 0.08 of a slice, without the diagonals 0.38
    assert found < 0.5 * without


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.7, 0.7, 0.9)])
def test_gaussians_alone_count_on_steep_slopes(spacing):
    """Of a ball: where an edge crosses its surface at less than 45 degrees, chords change nothing."""
    grid = Grid.from_spacing((34, 34, 34), spacing, (-16.2, -16.1, -16.4))
    mask = Ball((0.0, 0.0, 0.0), 10.0).rasterize(grid).array != 0
    rule = subvoxel_rule(np.diag(spacing))
    deep = depths(mask, rule)
    for axis, (cuts, gaussians) in enumerate(
        zip(edge_positions(mask, rule), edge_positions(mask, dataclasses.replace(rule, cap_axes=())), strict=True)
    ):
        both = np.delete(deep, -1, axis) + np.delete(deep, 0, axis)
        is_steep = np.isfinite(cuts) & (both < SLOPE * spacing[axis])
        is_cap = np.isfinite(cuts) & ~is_steep
        np.testing.assert_array_equal(cuts[is_steep], gaussians[is_steep])
        assert np.mean(cuts[is_cap] != gaussians[is_cap]) > 0.5
        assert is_steep.sum() > 100


def top_errors(torus, spacing, rule):
    """Return by column, within a sixth of the tube, how far in mm the surface lies from the top of a ring.

    And how far in degrees it is around the ring from the nearest multiple of a quarter turn before it.
    """
    edges = np.array(spacing)
    half = np.ceil((torus.ring_radius_mm + torus.tube_radius_mm + 3) / edges).astype(int)
    mask = torus.rasterize(Grid.from_spacing((2 * half + 1).tolist(), spacing, (-half * edges).tolist())).array != 0
    cuts = edge_positions(mask, rule)[2]
    at = np.argwhere(np.isfinite(cuts))
    x, y = ((at[:, k] - half[k]) * edges[k] - torus.center_mm[k] for k in (0, 1))
    z = (at[:, 2] + cuts[np.isfinite(cuts)] - half[2]) * edges[2] - torus.center_mm[2]
    across = np.hypot(x, y) - torus.ring_radius_mm
    is_top = (np.abs(across) < torus.tube_radius_mm / 6) & (z > 0)
    error = z[is_top] - np.sqrt(torus.tube_radius_mm**2 - across[is_top] ** 2)
    return error, np.degrees(np.arctan2(y[is_top], x[is_top])) % 90


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.8, 0.8, 2.5)])
def test_rings_that_lie_between_two_layers_are_found(spacing):
    """Gaussians see no slope at the top of a ring: they are a fifth of a slice off, chords far less."""
    rng = np.random.default_rng(2)
    rule = subvoxel_rule(np.diag(spacing))
    gaussians = dataclasses.replace(rule, cap_axes=(), thick_axes=())
    errors = {"chords": [], "Gaussians": []}
    for _ in range(4):
        torus = Torus(tuple(rng.uniform(-1, 1, size=3).tolist()), float(rng.uniform(14, 18)), float(rng.uniform(6, 8)))
        errors["chords"].append(abs(top_errors(torus, spacing, rule)[0].mean()) / spacing[2])
        errors["Gaussians"].append(abs(top_errors(torus, spacing, gaussians)[0].mean()) / spacing[2])
    # measured: Gaussians 0.16 and 0.20; chords 0.02 and 0.01
    assert np.mean(errors["Gaussians"]) > 0.08
    assert np.mean(errors["chords"]) < np.mean(errors["Gaussians"]) / 5


def test_what_is_beyond_the_ends_of_chords_changes_nothing():
    reach = int(CHORD_REACH + np.ceil(REACH * WIDTHS[0]))
    rng = np.random.default_rng(3)
    mask = np.zeros((16 + reach + 20, 14, 14), dtype=bool)
    mask[4:16, 2:12, 2:12] = rng.random((12, 10, 10)) < 0.8
    mask[6:40, 4:8, 4:8] = True
    changed = mask.copy()
    changed[16 + reach :] = rng.random((20, 14, 14)) < 0.4
    rule = subvoxel_rule(np.eye(3))
    for before, after in zip(edge_positions(mask, rule), edge_positions(changed, rule), strict=True):
        np.testing.assert_array_equal(before[:15], after[:15])


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (0.7, 0.7, 1.25), (0.8, 0.8, 5.0), (1.0, 0.7)])
def test_boxes_keep_their_edges(spacing):
    """Their surface is that of marching cubes: nothing says where between two layers a flat face lies."""
    rng = np.random.default_rng(4)
    rule = subvoxel_rule(np.diag(spacing))
    for _ in range(5):
        size = rng.integers(2, 30, size=len(spacing))
        mask = np.pad(np.ones(size, dtype=bool), int(FLAT_STEPS) + 1)
        for cuts in edge_positions(mask, rule):
            assert np.all(cuts[np.isfinite(cuts)] == 0.5)


def test_a_third_layer_tells_a_tilted_box_from_a_ball():
    """Its top, a little inclined, is no flat top; a round cap would end up to a slice of 5 mm away."""
    rng = np.random.default_rng(1)
    spacing, half_sizes = np.array([0.8, 0.8, 5.0]), np.array([14.0, 12.0, 15.0])
    rule = subvoxel_rule(np.diag(spacing))
    errors = {"the rule": [], "round caps": []}
    for _ in range(3):
        turned = Rotation.from_euler("xyz", [*rng.uniform(-2, 2, size=2), rng.uniform(0, 90)], degrees=True)
        first = -np.ceil(24 / spacing) - rng.uniform(0, 1, size=3)
        places = np.moveaxis(np.indices((62, 62, 12)), 0, -1)
        mask = box_distance((places + first) * spacing, turned, half_sizes) <= 0
        for name, changed in (("the rule", rule), ("round caps", dataclasses.replace(rule, roundness_error=0.0))):
            cuts = edge_positions(mask, changed)[2]
            at = np.argwhere(np.isfinite(cuts)).astype(float)
            at[:, 2] += cuts[np.isfinite(cuts)]
            errors[name].append(np.abs(box_distance((at + first) * spacing, turned, half_sizes)).mean())
    # measured: 0.4 and 1.2 mm
    assert np.mean(errors["the rule"]) < 0.6 * np.mean(errors["round caps"])


def box_distance(points, turned, half_sizes):
    """Return signed distances from the surface of a box around the origin, negative inside."""
    beyond = np.abs(turned.apply(points.reshape(-1, 3))) - half_sizes
    outside = np.linalg.norm(np.maximum(beyond, 0), axis=1)
    return (outside + np.minimum(beyond.max(axis=1), 0)).reshape(points.shape[:-1])


@pytest.mark.parametrize("far", [1, 4, int(FLAT_STEPS)])
def test_a_step_within_reach_is_no_flat_top(far):
    """Beside it Gaussians and chords say where a slope passes."""
    mask = np.zeros((12, 40, 40), dtype=bool)
    mask[:6] = True
    mask[6, : 20 - far] = True
    rule = subvoxel_rule(np.eye(3))
    cuts = edge_positions(mask, rule)[0][5, 20, 20]
    gaussians = edge_positions(mask, dataclasses.replace(rule, cap_axes=()))[0][5, 20, 20]
    assert cuts == pytest.approx(gaussians, abs=1e-12)
    assert (cuts != 0.5) == (far <= np.ceil(REACH * WIDTHS[0]))


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.8, 2.5, 0.8), (0.7, 1.1)])
def test_kernel_knows_flat_tops_too(spacing):
    """On heaps of boxes: flat, with steps within reach and beyond it, one, two and more layers thick."""
    rng = np.random.default_rng(5)
    rule = subvoxel_rule(np.diag(spacing))
    masks = []
    for _ in range(2):
        mask = np.zeros((26,) * len(spacing), dtype=bool)
        for _ in range(3):
            low, size = rng.integers(0, 14, size=mask.ndim), rng.integers(2, 16, size=mask.ndim)
            mask[tuple(slice(*ends) for ends in zip(low, low + size, strict=True))] = True
        masks.append(mask)
    kernel = [engine().pack(mask.astype(np.uint8), [1], [0] * mask.ndim, list(mask.shape), 1) for mask in masks]
    slow = [reference.pack(mask.astype(np.uint8), [1], [0] * mask.ndim, list(mask.shape), 1) for mask in masks]
    found = engine().subvoxel_distances(*kernel, None, engine().prepare_subvoxel(rule), 1)
    expected = reference.subvoxel_distances(*slow, None, rule, 1)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * max(spacing))


def test_oblique_lattices_have_no_chords():
    assert subvoxel_rule(np.eye(3)).cap_axes == (0, 1, 2)
    assert subvoxel_rule(np.eye(2)).cap_axes == (0, 1)
    assert subvoxel_rule(np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 4.0]])).cap_axes == ()
