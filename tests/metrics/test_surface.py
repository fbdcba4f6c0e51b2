"""Surface metrics: exact on boxes, right on empty masks, and what existing users' code relies on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import segauge
from segauge.errors import EmptyMask, InvalidInput, ShapeMismatch
from segauge.geometry.distances import SurfaceDistances
from segauge.geometry.patterns import SURFACES
from segauge.metrics.surface import weighted_percentile


def box_mask(shape, start, stop):
    mask = np.zeros(shape, bool)
    mask[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))] = True
    return mask


class TestBoxes:
    """Boxes of whole voxels: with voxel faces everything is known exactly."""

    spacing = (2.0, 0.5, 1.25)
    gt = box_mask((20, 40, 30), (5, 10, 8), (12, 26, 20))

    def test_area_is_that_of_the_box(self):
        sd = segauge.compute_surface_distances(self.gt, self.gt, self.spacing, surface="voxel")
        a, b, c = 7 * 2.0, 16 * 0.5, 12 * 1.25
        assert sd.area_gt == pytest.approx(2 * (a * b + b * c + a * c), rel=1e-14)

    @pytest.mark.parametrize("surface", SURFACES)
    @pytest.mark.parametrize(("axis", "steps"), [(0, 1), (0, 3), (1, 5), (2, 2)])
    def test_a_shifted_box_is_as_far_as_the_shift(self, surface, axis, steps):
        pred = np.roll(self.gt, steps, axis)
        sd = segauge.compute_surface_distances(pred, self.gt, self.spacing, surface=surface)
        assert segauge.hausdorff(sd) == pytest.approx(steps * self.spacing[axis], rel=1e-14)
        assert segauge.nsd(sd, steps * self.spacing[axis]) == 1.0  # a distance equal to the tolerance counts
        assert segauge.nsd(sd, steps * self.spacing[axis] * 0.999) < 1.0

    @pytest.mark.parametrize("surface", SURFACES)
    def test_one_side_moved_gives_the_share_of_its_area(self, surface):
        """A slab over the whole width of the image, thicker by one voxel: half of each surface is one voxel away."""
        shape = (20, 64, 64)
        gt, pred = box_mask(shape, (5, 0, 0), (10, 64, 64)), box_mask(shape, (5, 0, 0), (11, 64, 64))
        sd = segauge.compute_surface_distances(pred, gt, (3.0, 1.0, 1.0), surface=surface)
        bottom_and_rim = segauge.nsd(sd, 0.0)
        face = 64 * 64
        rim = 4 * 64 * 3.0 * np.array([5, 6])
        if surface == "voxel":
            assert bottom_and_rim == pytest.approx((2 * face + 2 * rim[0]) / (4 * face + rim.sum()), rel=1e-12)
        assert segauge.hausdorff(sd) == pytest.approx(3.0, rel=1e-14)
        assert segauge.hausdorff95(sd) == pytest.approx(3.0, rel=1e-14)

    def test_mean_distance_of_a_shifted_rod(self):
        """A rod one voxel wide, shifted along itself by k: its ends are k (or less) away, the overhang 0 to k."""
        k, length = 4, 30
        gt, pred = (
            box_mask((50, 3, 3), (5, 1, 1), (5 + length, 2, 2)),
            box_mask((50, 3, 3), (5 + k, 1, 1), (5 + k + length, 2, 2)),
        )
        sd = segauge.compute_surface_distances(pred, gt, 1.0, surface="voxel")
        # overhang: 4 sides of k x 1 with mean distance k/2; leading end: k; trailing end, inside the other rod:
        # distance to its sides, sampled at 1/6 of the width from the middle, i.e. 1/3 from a side
        expected = (4 * k * k / 2 + k + 1 / 3) / (4 * length + 2)
        assert segauge.masd(sd) == pytest.approx(expected, rel=1e-12)
        assert segauge.assd(sd) == pytest.approx(expected, rel=1e-12)

    def test_two_dimensional_rectangles(self):
        gt, pred = box_mask((30, 30), (5, 5), (15, 25)), box_mask((30, 30), (5, 8), (15, 28))
        sd = segauge.compute_surface_distances(pred, gt, (1.0, 2.0), surface="voxel")
        assert sd.area_gt == pytest.approx(2 * (10 * 1.0 + 20 * 2.0))
        assert segauge.hausdorff(sd) == pytest.approx(6.0)


class TestEdgeCases:
    def test_empty_masks(self):
        empty, full = np.zeros((4, 4, 4)), np.ones((4, 4, 4))
        assert segauge.surface_metrics(empty, empty) == {"hd": 0, "hd95": 0, "assd": 0, "masd": 0, "nsd": 1}
        for pair in ((empty, full), (full, empty)):
            assert segauge.surface_metrics(*pair) == {**dict.fromkeys(("hd", "hd95", "assd", "masd"), np.inf), "nsd": 0}
        for pair, who in (((empty, full), "pred is"), ((full, empty), "gt is"), ((empty, empty), "both masks are")):
            with pytest.raises(EmptyMask, match=f"{who} empty"):
                segauge.compute_surface_distances(*pair)

    def test_different_shapes_are_refused_even_if_one_is_empty(self):
        for function in (segauge.surface_metrics, segauge.compute_surface_distances, segauge.boundary_iou):
            with pytest.raises(ShapeMismatch):
                function(np.zeros((3, 3, 3)), np.ones((3, 3, 4)))

    @pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 9), (1, 9, 1), (5, 1, 7), (1, 1), (1, 8)])
    @pytest.mark.parametrize("surface", SURFACES)
    def test_single_voxels_rows_and_slices_are_legal(self, shape, surface):
        mask = np.ones(shape, bool)
        sd = segauge.compute_surface_distances(mask, mask, 2.0, surface=surface)
        assert segauge.hausdorff(sd) == pytest.approx(0, abs=1e-12)  # the reference measures, with rounding
        assert sd.area_gt > 0
        assert segauge.boundary_iou(mask, mask, 2.0, surface=surface) == 1.0

    @pytest.mark.parametrize("surface", SURFACES)
    def test_objects_at_the_border_are_closed(self, surface):
        full = np.ones((6, 7, 8), bool)
        inner = np.pad(full, 3)
        here = segauge.compute_surface_distances(full, full, surface=surface)
        there = segauge.compute_surface_distances(inner, inner, surface=surface)
        assert here.area_gt == there.area_gt

    def test_two_voxels_far_apart(self):
        pred, gt = np.zeros((2, 300, 4, 4), bool)
        pred[2, 1, 1], gt[297, 1, 1] = True, True
        sd = segauge.compute_surface_distances(pred, gt, surface="voxel")
        assert segauge.hausdorff(sd) == pytest.approx(
            295, abs=1
        )  # nearest side to furthest side: one voxel more or less

    @pytest.mark.parametrize(
        ("argument", "value"), [("nsd_tolerance", -1), ("nsd_tolerance", np.nan), ("spacing", (1, 2)), ("surface", "x")]
    )
    def test_wrong_arguments_are_refused(self, argument, value):
        with pytest.raises(InvalidInput, match=argument.removeprefix("nsd_")):
            segauge.surface_metrics(np.ones((3, 3, 3)), np.ones((3, 3, 3)), **{argument: value})

    def test_a_stack_of_images_is_not_a_mask(self):
        with pytest.raises(InvalidInput, match="2-D and 3-D, got 4-D"):
            segauge.surface_metrics(np.ones((2, 2, 2, 2)), np.ones((2, 2, 2, 2)))

    def test_a_tolerance_that_came_through_a_32_bit_header_counts(self):
        gt = box_mask((20, 20, 20), (5, 5, 5), (15, 15, 15))
        sd = segauge.compute_surface_distances(np.roll(gt, 1, 0), gt, float(np.float32(0.8)), surface="voxel")
        assert segauge.hausdorff(sd) > 0.8
        assert segauge.nsd(sd, 0.8) == 1.0


class TestSummaries:
    sd = SurfaceDistances(
        np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.0, 4.0]), np.array([3.0, 1.0])
    )

    def test_definitions(self):
        assert segauge.hausdorff(self.sd) == 4.0
        assert segauge.hausdorff_percentile(self.sd, 75) == 2.0  # three quarters of pred within 2; of gt within 0
        assert segauge.hausdorff_percentile(self.sd, 75, "pooled") == 2.0
        assert segauge.hausdorff_percentile(self.sd, 50, "pooled") == 0.0
        assert segauge.masd(self.sd) == pytest.approx((6 / 4 + 4 / 4) / 2)
        assert segauge.assd(self.sd) == pytest.approx((6 + 4) / 8)
        assert segauge.nsd(self.sd, 1.0) == pytest.approx(5 / 8)

    def test_the_curve_is_the_nsd_at_each_tolerance_in_any_order(self):
        tolerances = [3.0, 0.0, 1.5, 4.0, 10.0]
        assert segauge.nsd_curve(self.sd, tolerances).tolist() == [segauge.nsd(self.sd, t) for t in tolerances]

    def test_wrong_percentiles_and_modes_are_refused(self):
        for percent in (0, -1, 101):
            with pytest.raises(InvalidInput, match="percent"):
                segauge.hausdorff_percentile(self.sd, percent)
        with pytest.raises(InvalidInput, match="'directed', 'pooled'"):
            segauge.hausdorff95(self.sd, "mean")

    def test_both_directions_together(self):
        values, weights = self.sd.both
        assert values.tolist() == [0, 1, 2, 3, 0, 4]
        assert weights.sum() == 8

    @given(st.integers(1, 20000), st.integers(0, 2**32), st.floats(0.1, 100))
    def test_percentiles_are_those_of_the_sorted_sample(self, n, seed, percent):
        """Large samples are narrowed down in a histogram first: the answer must be that of sorting everything."""
        rng = np.random.default_rng(seed)
        values = np.round(rng.exponential(2.0, n), rng.integers(0, 8))
        weights = rng.choice([0.25, 0.5, 1.0], n)  # sums without rounding
        order = np.argsort(values)
        reached = np.cumsum(weights[order])
        expected = values[order][np.searchsorted(reached, min(weights.sum() * (percent / 100 - 1e-12), reached[-1]))]
        assert weighted_percentile(values, weights, percent) == expected


class TestBoundaryIoU:
    def test_known_bands_of_two_boxes(self):
        """Voxel centres lie half a voxel below a face: a width of one takes the outermost layer."""
        gt, pred = box_mask((20, 20, 20), (4, 4, 4), (14, 14, 14)), box_mask((20, 20, 20), (4, 4, 4), (14, 14, 15))
        layer = 10**3 - 8**3, 10 * 10 * 11 - 8 * 8 * 9
        common = 4 * 10 * 9 - 4 * 9 + 100  # sides below the top layer of gt, and the bottom
        value = segauge.boundary_iou(pred, gt, 1.0, 1.0, surface="voxel")
        both = np.zeros((20, 20, 20), int)
        for mask in (pred, gt):
            inner = mask.copy()
            for axis in range(3):
                inner &= np.roll(mask, 1, axis) & np.roll(mask, -1, axis)
            both += mask & ~inner
        assert (both > 0).sum() == sum(layer) - (both == 2).sum()
        assert value == (both == 2).sum() / (both > 0).sum()
        assert common <= (both == 2).sum()

    def test_edge_cases(self):
        empty, full = np.zeros((5, 5, 5)), np.ones((5, 5, 5))
        assert segauge.boundary_iou(empty, empty) == 1.0
        assert segauge.boundary_iou(empty, full) == 0.0
        # with slices of 50 mm no voxel centre of a one-slice object is within 1 mm of its surface
        plate = box_mask((5, 9, 9), (2, 2, 2), (3, 7, 7))
        assert segauge.boundary_iou(plate, plate, (50.0, 50.0, 50.0), 1.0) == 1.0
        assert segauge.boundary_iou(plate, np.roll(plate, 1, 1), (50.0, 50.0, 50.0), 1.0) == 0.0
