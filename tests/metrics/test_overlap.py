import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import segauge
from segauge.errors import InvalidInput, ShapeMismatch
from segauge.geometry.masks import Overlap
from segauge.metrics import overlap as overlaps


def counts(tp, fp, fn, tn=100):
    return Overlap(tp, fp, fn, tn, (), (), None)


@given(st.integers(1, 4), st.integers(0, 2**32))
def test_counts_are_those_of_numpy_in_any_number_of_dimensions(ndim, seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 6, ndim)
    pred, gt = (rng.random(shape) < 0.4 for _ in range(2))
    tp, fp, fn, tn = segauge.confusion(pred, gt)
    assert (tp, fp) == (np.sum(pred & gt), np.sum(pred & ~gt))
    assert (fn, tn) == (np.sum(~pred & gt), np.sum(~pred & ~gt))


def test_known_values():
    pred, gt = np.zeros((2, 10, 10), np.uint8)
    pred[:4], gt[:6] = 1, 1
    assert segauge.dice(pred, gt) == 80 / 100
    assert segauge.iou(pred, gt) == 40 / 60
    assert overlaps.sensitivity(counts(40, 0, 20)) == pytest.approx(2 / 3)
    assert overlaps.precision(counts(40, 10, 20)) == pytest.approx(0.8)
    assert overlaps.specificity(counts(1, 10, 2, 90)) == pytest.approx(0.9)
    assert overlaps.f_beta(counts(40, 10, 20), 2.0) == pytest.approx(5 * 40 / (5 * 40 + 4 * 20 + 10))
    assert overlaps.f_beta(counts(40, 10, 20)) == pytest.approx(80 / 110)
    assert overlaps.relative_volume_difference(counts(40, 10, 10)) == 0
    assert overlaps.relative_volume_difference(counts(0, 0, 10)) == -1
    assert overlaps.volumetric_similarity(counts(10, 20, 0)) == pytest.approx(1 - 20 / 40)


def test_empty_masks():
    empty, full = np.zeros((3, 3), bool), np.ones((3, 3), bool)
    assert segauge.dice(empty, empty) == segauge.iou(empty, empty) == 1.0
    assert segauge.dice(empty, full) == segauge.iou(full, empty) == 0.0
    assert segauge.confusion(np.zeros((0, 3)), np.zeros((0, 3))) == (0, 0, 0, 0)
    for function in (overlaps.overlap_iou, overlaps.f_beta, overlaps.sensitivity, overlaps.precision):
        assert function(counts(0, 0, 0)) is None
    assert overlaps.precision(counts(0, 0, 5)) is None
    assert overlaps.sensitivity(counts(0, 5, 0)) is None


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int16, np.int64, np.float32, np.float64, ">i2"])
@pytest.mark.parametrize("order", "CF")
def test_any_array_like_is_taken_and_left_alone(kind, order):
    pred = np.asarray(np.eye(4), dtype=kind, order=order)
    gt = np.ones((4, 4), dtype=kind, order=order)
    before = pred.copy()
    for array in (pred, gt):
        array.setflags(write=False)
    assert segauge.confusion(pred, gt) == (4, 0, 12, 0)
    assert np.array_equal(pred, before)
    assert segauge.confusion(pred.tolist(), gt.tolist()) == (4, 0, 12, 0)
    assert segauge.confusion(pred[::2, ::-1], gt[::2, ::-1]) == (2, 0, 6, 0)


def test_any_label_but_zero_is_foreground():
    assert segauge.confusion(np.array([[-3, 0, 7]]), np.array([[1, 1, 0]])) == (1, 1, 1, 0)


@pytest.mark.parametrize("kind", ["<u8", ">u8"])
def test_all_bits_set_is_foreground(kind):
    """Not zero is inside of a mask, also where it is larger than any label; lesions were found in such masks."""
    pred, gt = (np.array(mask, dtype=kind) for mask in ([[2**64 - 1, 0, 2**64 - 1]], [[1, 2**63, 0]]))
    assert segauge.confusion(pred, gt) == (1, 1, 1, 0)
    assert segauge.surface_metrics(pred, gt)["hd"] == segauge.surface_metrics(pred > 0, gt > 0)["hd"]


def test_different_shapes_are_refused_even_if_one_is_empty():
    for function in (segauge.dice, segauge.iou, segauge.confusion):
        with pytest.raises(ShapeMismatch, match=r"same shape, got \(2, 3\) and \(3, 2\)"):
            function(np.zeros((2, 3)), np.ones((3, 2)))
    assert issubclass(ShapeMismatch, ValueError)  # code written for plain Python keeps working


def test_what_is_no_mask_is_refused():
    with pytest.raises(InvalidInput, match="Threshold it first"):
        segauge.dice(np.array([0.3, 0.9]), np.array([1, 0]))
    with pytest.raises(InvalidInput, match="dtype complex128"):
        segauge.dice(np.array([1j]), np.array([1]))
    with pytest.raises(InvalidInput, match="beta"):
        overlaps.f_beta(counts(1, 1, 1), 0)
