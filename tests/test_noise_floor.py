"""The noise floor of a metric: what moving the voxel grid does to it."""

import math

import numpy as np
import pytest

from segauge import LabelMap, dice, measure, noise_floor, surface_metrics
from segauge.errors import EmptyMask, InvalidInput, ShapeMismatch
from segauge.grid import Grid
from segauge.metrics.noise import _shifts, _spread
from segauge.phantoms import Ball


def balls_on_grid(spacing, origin, shape=(28, 28, 28)):
    grid = Grid.from_spacing(shape, spacing, origin)
    pred, gt = Ball((0.4, -0.2, 0.1), 8.5), Ball((0.0, 0.0, 0.0), 8.0)
    return [ball.rasterize(grid).array for ball in (pred, gt)]


@pytest.mark.parametrize(("spacing", "factor"), [((1.0, 1.0, 1.0), 2), ((1.0, 1.0, 2.5), 2), ((0.8, 0.8, 5.0), 3)])
def test_it_is_the_spread_over_grids_that_really_lie_elsewhere(spacing, factor):
    """The same two balls drawn on 40 random grids, and what one of these pairs foretells, within a factor."""
    rng = np.random.default_rng(1)
    low = -np.array([14.0, 14.0, 14.0 * spacing[2]])
    values = []
    for _ in range(40):
        masks = balls_on_grid(spacing, tuple(low + rng.uniform(-0.5, 0.5, 3) * spacing))
        values.append({"dice": dice(*masks), **surface_metrics(*masks, spacing, surface="subvoxel")})
    floor = noise_floor(*balls_on_grid(spacing, tuple(low + 0.2)), spacing, n=32, surface="subvoxel")
    for metric in ("dice", "hd95", "assd", "nsd"):
        real = np.std([value[metric] for value in values], ddof=1)
        assert real / factor < floor.sd[metric] < factor * real, metric


def test_it_is_a_metric_that_can_be_asked_for():
    pred, gt = balls_on_grid((1.0, 1.0, 1.0), (-14.0, -14.0, -14.0))
    expected = noise_floor(pred, gt)
    found = measure(pred.astype(np.uint8), gt.astype(np.uint8), {"ball": 1}, metrics=["assd_noise", "dice_noise"])
    assert found["ball", "assd_noise"].value == expected.sd["assd"]
    assert found["ball", "dice_noise"].value == expected.sd["dice"]
    missed = measure(np.zeros_like(gt, dtype=np.uint8), gt.astype(np.uint8), {"ball": 1}, metrics=["assd_noise"])
    assert missed["ball", "assd_noise"].value is None


def test_where_there_is_no_floor_there_is_a_reason():
    pred, gt = np.zeros((2, 8, 8, 8), dtype=np.uint8)
    pred[3, 3, 3], gt[3, 3, 4] = 1, 1
    speck = measure(pred, gt, {"speck": 1}, metrics=["hd95", "hd95_noise"])["speck", "hd95_noise"]
    assert speck.value is None
    assert speck.reason == "no hd95_noise: on some grid an object falls between the voxels"
    balls = [ball.astype(np.uint8) for ball in balls_on_grid((1.0, 1.0, 1.0), (-14.0, -14.0, -14.0))]
    metrics = ["hd95", "hd95_noise", "dice_noise"]
    followed = measure(*balls, {"ball": 1}, metrics, convention="monai")
    assert followed["ball", "hd95_noise"].value is None
    assert followed["ball", "hd95_noise"].reason == "no hd95_noise: MONAI 1.6.1 does not define it"
    assert followed["ball", "dice_noise"].value == noise_floor(*balls).sd["dice"]


def test_objects_that_cannot_be_drawn_again_have_no_floor():
    """Half of the balls was never annotated; and axes that are not at right angles."""
    pred, gt = (ball.astype(np.uint8) for ball in balls_on_grid((1.0, 1.0, 1.0), (-14.0, -14.0, -14.0)))
    sheared = np.eye(4)
    sheared[0, 1] = 0.4
    leaning = Grid(gt.shape, sheared)
    found = measure(LabelMap((pred,), leaning), LabelMap((gt,), leaning), {"ball": 1}, ["assd", "assd_noise"])
    assert found["ball", "assd"].value is not None
    assert found["ball", "assd_noise"].value is None
    assert found["ball", "assd_noise"].reason == "no assd_noise: the axes of the grid are not at right angles"
    gt[:, 14:] = 9
    found = measure(pred, gt, {"ball": 1}, ["assd", "assd_noise", "dice_noise"], ignore=9)
    assert found["ball", "assd"].value is not None
    for key in ("assd_noise", "dice_noise"):
        assert found["ball", key].value is None
        assert "ignored voxels" in found["ball", key].reason


def test_same_masks_have_no_noise():
    mask = balls_on_grid((1.0, 1.0, 1.0), (-14.0, -14.0, -14.0))[0]
    assert max(noise_floor(mask, mask, n=4).sd.values()) < 1e-12


def test_it_is_always_the_same_and_scales_with_the_spacing():
    masks = balls_on_grid((1.0, 1.0, 1.0), (-14.0, -14.0, -14.0))
    one, again, ten = noise_floor(*masks, n=6), noise_floor(*masks, n=6), noise_floor(*masks, 10.0, 10.0, n=6)
    assert one == again
    assert ten.sd["assd"] == pytest.approx(10 * one.sd["assd"], rel=1e-6)
    assert ten.sd["dice"] == pytest.approx(one.sd["dice"], rel=1e-9)
    assert one.meaningless_below("assd") == pytest.approx(1.96 * math.sqrt(2) * one.sd["assd"])


def test_sixteen_grids_nearly_say_what_many_say_also_of_flipped_masks():
    """The docstring's tenth to a quarter are root mean squares of these ratios over many masks; this is one pair."""
    masks = balls_on_grid((1.0, 1.0, 2.5), (-14.1, -13.8, -35.0))
    many = noise_floor(*masks, (1.0, 1.0, 2.5), n=200).sd
    flipped = [mask[::-1, :, ::-1] for mask in masks]
    for few in (noise_floor(*each, (1.0, 1.0, 2.5)).sd for each in (masks, flipped)):
        for metric in ("dice", "assd", "nsd"):
            assert many[metric] / 1.5 < few[metric] < 1.5 * many[metric], metric


def test_what_vanished_on_some_grid_has_no_finite_noise():
    assert _spread([1.0, math.inf]) == math.inf
    assert _spread([1.0, 3.0]) == pytest.approx(math.sqrt(2))


def test_shifts_fill_the_voxel():
    shifts = _shifts(64, 3)
    assert np.abs(shifts).max() <= 0.5
    assert np.abs(shifts.mean(axis=0)).max() < 0.02
    counts, _ = np.histogramdd(shifts, bins=2, range=[(-0.5, 0.5)] * 3)
    assert counts.min() >= 4  # 8 if they were perfectly even


def test_pooled_percentiles_have_a_floor_of_their_own():
    masks = balls_on_grid((1.0, 1.0, 1.0), (-14.0, -14.0, -14.0))
    directed, pooled = (noise_floor(*masks, n=4, hd=hd) for hd in ("directed", "pooled"))
    assert directed.sd["hd95"] != pooled.sd["hd95"]
    assert directed.sd["assd"] == pooled.sd["assd"]
    found = measure(*(mask.astype(np.uint8) for mask in masks), {"ball": 1}, ["hd95_noise"], hd="pooled")
    assert found["ball", "hd95_noise"].value == noise_floor(*masks, hd="pooled").sd["hd95"]


def test_bad_input_is_refused():
    mask = np.ones((3, 3, 3))
    with pytest.raises(InvalidInput, match="at least 2 grids"):
        noise_floor(mask, mask, n=1)
    with pytest.raises(EmptyMask, match="empty mask"):
        noise_floor(mask, np.zeros((3, 3, 3)))
    with pytest.raises(ShapeMismatch):
        noise_floor(mask, np.ones((3, 3)))
    with pytest.raises(InvalidInput, match="'dice'"):
        noise_floor(mask, mask, n=2).meaningless_below("dise")
