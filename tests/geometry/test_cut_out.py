"""Cutting the foreground out of two arrays: the kernel finds what the reference defines."""

import numpy as np
import pytest

from segauge.geometry import reference
from segauge.geometry.engine import _kernel as kernel

needs_kernel = pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")


def sparse(rng, shape, dtype):
    """Return an array with foreground of any label in a random part of it, negative ones included."""
    array = np.zeros(shape, dtype=dtype)
    box = tuple(slice(*sorted(rng.integers(0, side + 1, 2))) for side in shape)
    values = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, array[box].shape, dtype=dtype, endpoint=True)
    array[box] = np.where(rng.random(array[box].shape) < 0.2, values, 0)
    return array


def arranged(array, order):
    return {"C": np.ascontiguousarray, "F": np.asfortranarray, "view": lambda a: np.repeat(a, 2, -1)[..., ::2]}[order](
        array
    )


@needs_kernel
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize("order", ["C", "F", "view"])
@pytest.mark.parametrize("shape", [(5, 9), (1, 1), (4, 3, 130), (70, 2, 3), (2, 66, 5)])
def test_kernel_and_reference_cut_out_the_same(dtype, order, shape):
    rng = np.random.default_rng(5)
    for _ in range(8):
        pair = [arranged(sparse(rng, shape, dtype), order) for _ in range(2)]
        ours, theirs = (module.cut_out(*pair, 2) for module in (kernel, reference))
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours[2:] == theirs[2:]
            for a, b in zip(ours[:2], theirs[:2], strict=True):
                assert np.array_equal(a.unpack(), b.unpack())


@needs_kernel
def test_one_voxel_at_the_far_end_is_found():
    pred, gt = np.zeros((3, 40, 65), dtype=np.uint8), np.zeros((3, 40, 65), dtype=np.uint8)
    gt[2, 39, 64] = 255
    pred_mask, gt_mask, *counts = kernel.cut_out(pred, gt, 1)
    assert gt_mask.shape == (1, 1, 1)
    assert gt_mask.unpack().all()
    assert not pred_mask.unpack().any()
    assert counts == [0, 1]
    assert kernel.cut_out(pred, pred, 1) is None
