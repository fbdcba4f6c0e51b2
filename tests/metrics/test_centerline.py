"""clDice: exact on lines, blind to width, sensitive to breaks; edge cases; nearly blind to how an image is stored."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segauge.errors import InvalidInput, ShapeMismatch
from segauge.geometry.components import pack_mask
from segauge.grid import Grid
from segauge.metrics.overlap import CenterlineScores, centerline_dice, centerline_scores, dice, measure_centerlines
from segauge.phantoms import Tube

GRID = Grid.from_spacing((40, 40, 56))


def line(start: int, stop: int, y: int = 10) -> np.ndarray:
    mask = np.zeros((20, 20, 50), dtype=np.bool_)
    mask[10, y, start:stop] = True
    return mask


def vessel(radius: float, *points: tuple[float, float, float]) -> np.ndarray:
    return Tube(points, radius).rasterize(GRID).array


STRAIGHT = ((20.2, 19.9, 6.0), (20.4, 20.1, 50.0))


def test_lines_are_exact():
    # 40 voxels of truth, of which the prediction has 20; all of those are true: P = 1, S = 1/2, clDice = 2/3.
    scores = centerline_scores(line(5, 25), line(5, 45))
    assert scores == CenterlineScores(20, 20, 40, 20)
    assert scores.topology_precision == 1.0
    assert scores.topology_sensitivity == 0.5
    assert scores.cldice == pytest.approx(2 / 3)
    # 30 predicted, 10 of them true; 20 true ones, 10 of them found: P = 1/3, S = 1/2, clDice = 2/5.
    assert centerline_dice(line(0, 30), line(20, 40)) == pytest.approx(0.4)
    assert centerline_dice(line(5, 45), line(5, 45, y=12)) == 0.0


def test_one_empty_mask_is_0_and_two_are_1():
    empty = np.zeros((20, 20, 50), dtype=np.bool_)
    assert centerline_dice(empty, empty) == 1.0
    assert centerline_dice(empty, line(5, 45)) == 0.0
    assert centerline_dice(line(5, 45), empty) == 0.0
    assert centerline_scores(empty, line(5, 45)).topology_precision is None
    assert centerline_scores(empty, line(5, 45)).topology_sensitivity == 0.0
    assert centerline_scores(line(5, 45), empty).topology_precision == 0.0
    assert centerline_scores(line(5, 45), empty).topology_sensitivity is None
    assert centerline_dice(np.zeros((0, 5, 5)), np.zeros((0, 5, 5))) == 1.0


def test_width_plays_no_role():
    thin, thick = vessel(1.5, *STRAIGHT), vessel(6.0, *STRAIGHT)
    assert dice(thin, thick) < 0.2
    # The thin line lies inside the thick vessel, and the thick one's axis inside the thin vessel.
    assert centerline_dice(thin, thick) == 1.0


def test_a_shift_counts_once_the_axis_leaves_the_other_vessel():
    gt = vessel(4.0, *STRAIGHT)
    near, far = (vessel(4.0, *[(z + shift, y, x) for z, y, x in STRAIGHT]) for shift in (2.0, 6.0))
    # The skeleton is within a voxel of the axis: 2 + 1 < 4 and 6 - 1 > 4.
    assert centerline_dice(near, gt) == 1.0
    assert centerline_dice(far, gt) == 0.0


def test_a_break_and_a_false_branch_are_seen():
    gt = vessel(3.0, *STRAIGHT)
    broken = gt.copy()
    broken[:, :, 24:34] = False
    scores = centerline_scores(broken, gt)
    assert scores.topology_precision == 1.0
    # Ten of some 44 voxels of the axis lie in the gap; the skeleton may lose two or so at its ends.
    assert scores.topology_sensitivity == pytest.approx(1 - 10 / 44, abs=0.03)
    branched = gt | vessel(2.0, (20.3, 20.0, 28.0), (20.3, 38.0, 28.0))
    scores = centerline_scores(branched, gt)
    assert scores.topology_sensitivity == 1.0
    # Eighteen voxels of branch, of which three or so lie in the vessel, beside 44 of the vessel.
    assert scores.topology_precision == pytest.approx(44 / (44 + 15), abs=0.06)


def test_swapping_the_masks_swaps_precision_and_sensitivity():
    a, b = vessel(3.0, *STRAIGHT), vessel(2.0, (12, 20, 8), (24, 20, 50))
    one, two = centerline_scores(a, b), centerline_scores(b, a)
    assert (one.topology_precision, one.topology_sensitivity) == (two.topology_sensitivity, two.topology_precision)
    assert one.cldice == two.cldice
    assert 0 < one.cldice < 1


@given(
    hnp.arrays(
        np.bool_, st.tuples(st.just(2), st.integers(1, 7), st.integers(1, 7), st.integers(1, 7)), elements=st.booleans()
    )
)
def test_bounds_and_identity(pair):
    pred, gt = pair
    scores = centerline_scores(pred, gt)
    assert 0 <= scores.cldice <= 1
    assert scores.cldice == centerline_dice(pred, gt)
    assert 0 <= scores.pred_length_in_gt <= scores.pred_length <= pred.sum()
    assert (scores.pred_length > 0) == pred.any()
    assert centerline_dice(gt, gt) == 1.0


def test_the_frame_around_plays_no_role():
    a, b = vessel(3.0, *STRAIGHT), vessel(2.0, (12, 20, 8), (24, 20, 50))
    assert centerline_scores(np.pad(a, 5), np.pad(b, 5)) == centerline_scores(a, b)
    assert measure_centerlines(pack_mask(a), pack_mask(b)) == centerline_scores(a, b)


def test_storing_the_image_differently_changes_little():
    pred = vessel(2.2, (10, 12, 8), (22, 24, 28), (30, 20, 48)) | vessel(1.6, (22, 24, 28), (10, 34, 44))
    gt = vessel(2.6, (11, 12, 8), (23, 25, 28), (28, 22, 48)) | vessel(1.8, (23, 25, 28), (14, 34, 44))
    values = []
    for axes in itertools.permutations(range(3)):
        for flips in itertools.product((1, -1), repeat=3):
            turn = tuple(slice(None, None, flip) for flip in flips)
            values.append(centerline_dice(pred.transpose(axes)[turn], gt.transpose(axes)[turn]))
    # Ties between voxels of the same depth are settled by direction. A voxel of some 70 is 0.015.
    assert 0.5 < np.mean(values) < 0.99
    assert np.std(values) < 0.015


def test_flat_images_have_centerlines_too():
    gt = np.zeros((30, 60), dtype=np.uint8)
    gt[12:17, 5:55] = 255
    pred = np.zeros_like(gt)
    pred[13:16, 5:30] = 1
    scores = centerline_scores(pred, gt)
    assert scores.topology_precision == 1.0
    # The truth's line is 46 pixels long (50 less two at either end), of which those from 7 to 29 are found.
    assert scores.gt_length == 46
    assert scores.topology_sensitivity == 23 / 46


def test_reference_engine_gives_the_same(monkeypatch):
    pred, gt = vessel(2.0, (12, 14, 8), (22, 20, 40)), vessel(2.5, (12, 13, 8), (23, 21, 40))
    fast = centerline_scores(pred, gt)
    monkeypatch.setenv("SEGAUGE_ENGINE", "reference")
    assert centerline_scores(pred, gt) == fast


def test_bad_masks_are_named():
    with pytest.raises(ShapeMismatch, match="same shape"):
        centerline_dice(np.zeros((3, 3, 3)), np.zeros((3, 3, 4)))
    with pytest.raises(InvalidInput, match=r"2-D and 3-D masks, got arrays of shape \(3,\)"):
        centerline_dice(np.zeros(3), np.zeros(3))
    with pytest.raises(InvalidInput, match="Threshold it first"):
        centerline_dice(np.full((3, 3), 0.4), np.zeros((3, 3)))
