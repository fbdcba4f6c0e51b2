"""Surface cells: areas that can be written down, kernel against reference, and the package whose convention it is."""

import itertools
import math
import warnings

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segauge.errors import InvalidInput, ShapeMismatch
from segauge.geometry import reference
from segauge.geometry.cell_distances import CellDistances, cell_areas, cell_distances
from segauge.geometry.components import pack_mask
from segauge.geometry.engine import _kernel

BoolArray = npt.NDArray[np.bool_]

spacings = st.floats(0.3, 6.0)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[BoolArray, BoolArray, tuple[float, ...]]:
    """Two masks of one shape with a spacing, 2-D or 3-D; empty, full, noise, or with rows longer than a word."""
    ndim = draw(st.sampled_from([2, 3]))
    shape = (*draw(hnp.array_shapes(min_dims=ndim - 1, max_dims=ndim - 1, max_side=8)), draw(st.integers(1, 90)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    densities = [draw(st.sampled_from([0.0, 0.01, 0.1, 0.6, 1.0])) for _ in range(2)]
    pred, gt = (rng.random(shape) < density for density in densities)
    return pred, gt, tuple(draw(spacings) for _ in range(ndim))


def distances_of(pred: BoolArray, gt: BoolArray, spacing: tuple[float, ...]) -> CellDistances:
    return cell_distances(pack_mask(pred), pack_mask(gt), spacing)


# Exact.


def test_a_single_voxel_is_an_octahedron() -> None:
    mask = np.ones((1, 1, 1), dtype=bool)
    cells = distances_of(mask, mask, (1.0, 1.0, 1.0))
    assert len(cells.gt_areas) == 8
    assert cells.gt_areas.sum() == pytest.approx(math.sqrt(3), rel=1e-15)


@pytest.mark.parametrize("n", [1, 2, 5, 70])
def test_surface_of_a_cube_with_cut_edges_and_corners(n: int) -> None:
    mask = np.zeros((n + 2, n + 4, n), dtype=bool)  # also one that fills the image from border to border
    mask[1:-1, 2:-2] = True
    area = distances_of(mask, mask, (1.0, 1.0, 1.0)).gt_areas.sum()
    faces, edges, corners = 6 * (n - 1) ** 2, 12 * (n - 1) * math.sqrt(0.5), math.sqrt(3)
    assert area == pytest.approx(faces + edges + corners, rel=1e-12)  # rounding of up to 30,000 summands


def test_length_of_a_square() -> None:
    mask = np.ones((5, 5), dtype=bool)
    assert distances_of(mask, mask, (2.0, 2.0)).gt_areas.sum() == pytest.approx(
        2 * (4 * 4 + 4 * math.sqrt(0.5)), rel=1e-15
    )


@pytest.mark.parametrize(("axis", "distance"), [(0, 6.0), (1, 1.5), (2, 2.25)])
def test_a_shift_is_the_largest_distance(axis: int, distance: float) -> None:
    mask = np.zeros((20, 20, 90), dtype=bool)
    mask[4:12, 4:12, 60:68] = True
    cells = distances_of(np.roll(mask, 3, axis), mask, (2.0, 0.5, 0.75))
    assert cells.hausdorff() == distance
    assert cells.hausdorff(95) == distance  # an end face is more than a twentieth of the surface
    assert cells.surface_dice(distance) == 1.0


def test_far_and_empty_planes_are_crossed() -> None:
    pred, gt = np.zeros((2, 60, 5, 200), dtype=bool)
    pred[1, 2, 3], gt[58, 2, 190] = True, True
    assert distances_of(pred, gt, (3.0, 1.0, 2.0)).hausdorff() == math.hypot(57 * 3.0, 187 * 2.0)


def test_percentile_is_the_smallest_distance_that_holds_the_share() -> None:
    cells = CellDistances(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([0.5]), np.array([7.0]))
    assert [cells.hausdorff(p) for p in (25, 25.1, 75, 75.1, 100)] == [1.0, 2.0, 2.0, 3.0, 3.0]
    assert cells.mean_distances() == (2.0, 0.5)
    assert cells.surface_dice(1.0) == 8 / 11


def test_empty_masks() -> None:
    nothing, something = np.zeros((2, 4, 4, 4), dtype=bool)
    something[1, 2, 1] = True
    both = distances_of(nothing, nothing, (1.0, 1.0, 1.0))
    assert (both.hausdorff(95), both.surface_dice(1.0), both.mean_distances()) == (0.0, 1.0, (0.0, 0.0))
    for one in (distances_of(nothing, something, (1.0,) * 3), distances_of(something, nothing, (1.0,) * 3)):
        assert (one.hausdorff(95), one.surface_dice(1.0)) == (math.inf, 0.0)


# Invariance.


def test_areas_do_not_know_left_from_right() -> None:
    spacing = (0.7, 1.3, 2.9)
    areas = cell_areas(spacing)
    corners = list(itertools.product((0, 1), repeat=3))
    for flips in itertools.product((0, 1), repeat=3):
        place = [corners.index(tuple(a ^ b for a, b in zip(corner, flips, strict=True))) for corner in corners]
        flipped = [sum((code >> bit & 1) << place[bit] for bit in range(8)) for code in range(256)]
        assert areas[flipped] == pytest.approx(areas, rel=1e-14)  # triangles are added in another order
    assert areas[::-1] == pytest.approx(areas, rel=1e-14)  # inside and outside exchanged


@given(pairs())
def test_flips_and_permutations_change_no_distance(pair: tuple[BoolArray, BoolArray, tuple[float, ...]]) -> None:
    pred, gt, spacing = pair
    turned = [np.flip(mask.transpose(*range(1, mask.ndim), 0), axis=0) for mask in (pred, gt)]
    one, other = distances_of(pred, gt, spacing), distances_of(turned[0], turned[1], (*spacing[1:], spacing[0]))
    for name in ("pred_distances", "gt_distances", "pred_areas", "gt_areas"):
        # 1e-12: three squares are added in another order.
        np.testing.assert_allclose(np.sort(getattr(one, name)), np.sort(getattr(other, name)), rtol=1e-12, atol=1e-12)


# Kernel and reference.


@pytest.mark.skipif(_kernel is None, reason="segauge was installed without its compiled kernel")
@given(pairs(), st.integers(1, 3))
def test_kernel_measures_as_the_reference(pair: tuple[BoolArray, BoolArray, tuple[float, ...]], threads: int) -> None:
    pred, gt, spacing = pair
    answers = []
    for module in (_kernel, reference):
        masks = [module.pack(mask.view(np.uint8), [1], [0] * mask.ndim, list(mask.shape), 1) for mask in (pred, gt)]
        answers.append(module.cell_distances(*masks, list(spacing), cell_areas(spacing), threads))
    for index, (kernel, twin) in enumerate(zip(*answers, strict=True)):
        assert kernel.shape == twin.shape
        if index % 2:
            assert np.array_equal(kernel, twin)  # areas come from one table
        else:
            np.testing.assert_allclose(kernel, twin, rtol=1e-12, atol=0)  # three squares are added in another order


@pytest.mark.skipif(_kernel is None, reason="segauge was installed without its compiled kernel")
@pytest.mark.parametrize("spacing", [(5.0, 4.0, 0.05), (0.05, 4.0, 5.0), (4.0, 0.05, 5.0), (1.0, 1.0, 1.0)])
def test_near_and_far_cells_along_every_axis(spacing: tuple[float, ...]) -> None:
    """Long rows of short steps, in which the nearest cell is many words away, and still nearer than the next row."""
    pred, gt = np.zeros((2, 7, 9, 420), dtype=bool)
    pred[2:5, 3:7, 100:103] = True
    gt[3, 4, 300] = gt[6, 8, 101] = True
    masks = [
        [module.pack(mask.view(np.uint8), [1], [0, 0, 0], list(mask.shape), 1) for mask in (pred, gt)]
        for module in (_kernel, reference)
    ]
    ours = _kernel.cell_distances(*masks[0], list(spacing), cell_areas(spacing), 2)
    theirs = reference.cell_distances(*masks[1], list(spacing), cell_areas(spacing), 2)
    for found, expected in zip(ours[::2], theirs[::2], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


@pytest.mark.skipif(_kernel is None, reason="segauge was installed without its compiled kernel")
def test_percentiles_are_those_of_sorting() -> None:
    """On a grid of distances a percentile often falls between two of them; there the order of adding up decides."""
    rng = np.random.default_rng(8)
    for count in (1, 2, 20, 1000):
        distances, areas = rng.integers(0, 6, count) * 0.7, rng.choice([0.1, 0.2, 1.0], count)
        cells = CellDistances(distances, areas, np.zeros(0), np.zeros(0))
        for percentile in (5.0, 25.0, 50.0, 90.0, 95.0, 100.0):
            order = np.lexsort((areas, distances))
            reached = np.cumsum(areas[order]) / np.sum(areas)
            place = min(int(np.searchsorted(reached, percentile / 100.0)), count - 1)
            assert cells.hausdorff(percentile) == distances[order[place]]


@pytest.mark.skipif(_kernel is None, reason="segauge was installed without its compiled kernel")
def test_threads_change_no_bit() -> None:
    rng = np.random.default_rng(5)
    pred, gt = (pack_mask(rng.random((30, 40, 130)) < density) for density in (0.02, 0.001))
    one, several = (cell_distances(pred, gt, (0.7, 1.1, 2.3), threads) for threads in (1, 4))
    assert np.array_equal(one.pred_distances, several.pred_distances)
    assert np.array_equal(one.gt_distances, several.gt_distances)


# The package whose convention it is.


def oracle() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("surface_distance", reason="compares with the surface-distance package")


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.7, 1.3, 4.1), (5.0, 0.5, 0.6), (1.0, 2.0)])
def test_table_is_that_of_surface_distance(spacing: tuple[float, ...]) -> None:
    tables = pytest.importorskip("surface_distance.lookup_tables", reason="compares with the surface-distance package")
    if len(spacing) == 3:
        theirs = tables.create_table_neighbour_code_to_surface_area(spacing)
        kernel = tables.ENCODE_NEIGHBOURHOOD_3D_KERNEL
    else:
        theirs = tables.create_table_neighbour_code_to_contour_length(spacing)
        kernel = tables.ENCODE_NEIGHBOURHOOD_2D_KERNEL
    corners = list(itertools.product((0, 1), repeat=len(spacing)))
    codes = [sum(int(kernel[c]) for bit, c in enumerate(corners) if code >> bit & 1) for code in range(len(theirs))]
    assert cell_areas(spacing) == pytest.approx(
        theirs[codes], rel=1e-14
    )  # up to four triangles, added in another order


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ndim", [2, 3])
def test_distances_are_those_of_surface_distance(seed: int, ndim: int) -> None:
    package = oracle()
    rng = np.random.default_rng(seed)
    shape, spacing = (14, 17, 21)[:ndim], tuple(rng.uniform(0.5, 4.0, ndim))
    pred, gt = (rng.random(shape) < density for density in (0.03, 0.2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls names that scipy has moved
        theirs = package.compute_surface_distances(gt, pred, spacing)
        hausdorff = [package.compute_robust_hausdorff(theirs, percent) for percent in (50.0, 95.0, 100.0)]
        means = package.compute_average_surface_distance(theirs)
        dice = package.compute_surface_dice_at_tolerance(theirs, 1.7)
    ours = distances_of(pred, gt, spacing)
    # 1e-12: the same cells, their distances and areas added in another order.
    assert np.sort(ours.gt_distances) == pytest.approx(theirs["distances_gt_to_pred"], rel=1e-12)
    assert np.sort(ours.pred_distances) == pytest.approx(theirs["distances_pred_to_gt"], rel=1e-12)
    assert [ours.hausdorff(percent) for percent in (50, 95, 100)] == pytest.approx(hausdorff, rel=1e-12)
    assert ours.mean_distances() == pytest.approx(means[::-1], rel=1e-12)
    assert ours.surface_dice(1.7) == pytest.approx(dice, rel=1e-12)


# Words for what cannot be done.


def test_bad_arguments_are_named() -> None:
    small, large = pack_mask(np.ones((2, 2, 2), dtype=bool)), pack_mask(np.ones((2, 2, 3), dtype=bool))
    with pytest.raises(ShapeMismatch):
        cell_distances(small, large, 1.0)
    with pytest.raises(InvalidInput, match="spacing"):
        cell_distances(small, small, (1.0, 2.0))
    with pytest.raises(InvalidInput, match="percentile"):
        cell_distances(small, small, 1.0).hausdorff(0)
    line = pack_mask(np.ones(4, dtype=bool))
    with pytest.raises(InvalidInput, match="2-D and 3-D"):
        cell_distances(line, line, 1.0)
