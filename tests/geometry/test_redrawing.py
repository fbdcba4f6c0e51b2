"""A mask on a grid that lies elsewhere."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from segauge.geometry import redrawing
from segauge.geometry.redrawing import redrawable
from segauge.geometry.reference.subvoxel import depths
from segauge.geometry.subvoxel import subvoxel_rule

SHIFTS = ((0.3, -0.2, 0.45), (-0.5, 0.5, -0.1), (0.0, 0.0, 0.0), (0.01, -0.49, 0.25))


def blobs(shape, seed=0):
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), 2)
    return noise > noise.mean()


def moved_everywhere(mask, edges, shift):
    """The definition: the whole field of depths, linear between the centres, positive inside."""
    field = depths(np.pad(mask, 2), subvoxel_rule(np.diag(edges)))
    deep = np.maximum(field, 1e-3 * min(edges))
    field = np.where(np.pad(mask, 2), deep, -deep)
    for axis, part in enumerate(shift):
        neighbour = np.roll(field, -1 if part > 0 else 1, axis=axis)
        field = (1 - abs(part)) * field + abs(part) * neighbour
    return field[(slice(1, -1),) * mask.ndim] > 0


@pytest.mark.parametrize(("shape", "edges"), [
    ((20, 17, 23), (1.0, 1.0, 1.0)), ((9, 24, 20), (5.0, 0.8, 0.8)), ((1, 12, 12), (3.0, 1.0, 1.0)),
    ((30, 25), (1.0, 0.5)), ((1, 1, 1), (1.0, 1.0, 1.0)),
])  # fmt: skip
@pytest.mark.parametrize("block", [4, 48])
def test_only_what_is_near_the_boundary_decides(monkeypatch, shape, edges, block):
    monkeypatch.setattr(redrawing, "_BLOCK", block)
    mask = blobs(shape) if max(shape) > 1 else np.ones(shape, dtype=np.bool_)
    item = redrawable(mask, np.diag(edges))
    for shift in SHIFTS:
        np.testing.assert_array_equal(item.drawn(shift[: mask.ndim]), moved_everywhere(mask, edges, shift[: mask.ndim]))


def test_a_grid_that_did_not_move_shows_the_same_mask():
    mask = blobs((10, 12, 14))
    np.testing.assert_array_equal(redrawable(mask, np.eye(3)).drawn((0, 0, 0)), np.pad(mask, 1))


def test_a_grid_moved_by_a_whole_voxel_shows_the_mask_there():
    mask = blobs((10, 12, 14))
    item = redrawable(mask, np.eye(3))
    for whole in itertools.product((-1, 0, 1), repeat=3):
        expected = np.roll(np.pad(mask, 1), [-step for step in whole], (0, 1, 2))
        inner = (slice(1, -1),) * 3  # what was rolled over the border is not the mask's
        np.testing.assert_array_equal(item.drawn(whole)[inner], expected[inner])


def test_an_empty_mask_stays_empty():
    assert not redrawable(np.zeros((4, 5, 6), dtype=np.bool_), np.eye(3)).drawn((0.5, 0.5, 0.5)).any()


def test_memory_goes_with_the_surface():
    box = np.zeros((60, 60, 60), dtype=np.bool_)
    box[5:55, 5:55, 5:55] = True
    item = redrawable(box, np.eye(3))
    # Cells that hold both classes: those that reach over a face, 51³ - 49³ of them.
    assert item.corner_depths.shape == (8, 51**3 - 49**3)
