"""Centerline Dice: what two tubes of known axes must get, and the edge cases."""

import numpy as np
import pytest

import segauge
from segauge.errors import InvalidInput, ShapeMismatch
from segauge.metrics.centerline import centerline_dice, centerline_scores


def tube(radius, centre=(12, 12), shape=(40, 25, 25), length=slice(4, 36)):
    _, y, x = np.indices(shape)
    mask = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 <= radius**2
    mask[: length.start] = mask[length.stop :] = False
    return mask


def test_width_does_not_matter():
    assert centerline_dice(tube(2), tube(4)) == 1.0
    assert segauge.dice(tube(2), tube(4)) < 0.6


def test_a_tube_beside_the_axis_shares_no_centerline():
    assert centerline_dice(tube(2, (12, 6)), tube(2, (12, 18))) == 0.0


def test_half_the_tube_is_half_the_sensitivity():
    scores = centerline_scores(tube(3, length=slice(4, 20)), tube(3))
    assert scores.topology_precision == 1.0
    assert scores.topology_sensitivity == pytest.approx(0.5, abs=2 / 26)  # the ends of a skeleton retreat by the radius
    expected = 2 * scores.topology_sensitivity / (1 + scores.topology_sensitivity)
    assert scores.cldice == pytest.approx(expected)


def test_empty_masks_and_bad_arguments():
    empty, full = np.zeros((5, 5, 5)), tube(2)
    assert centerline_dice(empty, empty) == 1.0
    assert centerline_dice(np.zeros_like(full), full) == centerline_dice(full, np.zeros_like(full)) == 0.0
    with pytest.raises(ShapeMismatch):
        centerline_dice(empty, full)
    with pytest.raises(InvalidInput, match="2-D and 3-D"):
        centerline_dice(np.ones(4), np.ones(4))


def test_measure_gives_the_same():
    pred, gt = tube(2, (13, 12)).astype(np.uint8), tube(3).astype(np.uint8)
    result = segauge.measure(pred, gt, {"vessel": 1}, ["cldice", "topology_precision", "topology_sensitivity"])
    scores = centerline_scores(pred, gt)
    assert result["vessel", "cldice"].value == scores.cldice
    assert result["vessel", "topology_precision"].value == scores.topology_precision
    assert result["vessel", "topology_sensitivity"].value == scores.topology_sensitivity
