import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from segauge.errors import GridMismatch, InvalidInput, ShapeMismatch
from segauge.grid import Grid, Kinship, normalize_spacing
from segauge.labelmap import LabelMap, Mask, as_mask_array
from segauge.measurement import measure
from segauge.metrics.overlap import dice


def oblique(shape=(6, 5, 4), spacing=(1.0, 2.0, 3.0), degrees=20.0):
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag(spacing)
    affine[:3, 3] = (-30.0, 12.5, 7.0)
    return Grid(shape, affine)


class TestGrid:
    def test_spacing_volume_and_orientation(self):
        grid = oblique()
        assert grid.spacing == pytest.approx((1, 2, 3))
        assert grid.voxel_volume_mm3 == pytest.approx(6)
        assert grid.orientation == "RAS"
        assert grid.reoriented((2, 0, 1), (True, False, True)).orientation == "IRP"

    def test_diagonal_counts_whole_voxels(self):
        assert Grid.from_spacing((3, 4), (1.0, 1.0)).diagonal_mm == pytest.approx(5.0)

    def test_is_frozen_and_hashable(self):
        grid = oblique()
        with pytest.raises(ValueError, match="read-only"):
            grid.affine[0, 0] = 5
        assert grid == oblique()
        assert hash(grid) == hash(oblique())
        assert grid != oblique(degrees=21)

    def test_shear_is_reported_in_degrees(self):
        affine = np.eye(4)
        affine[0, 1] = np.tan(np.radians(10))
        assert Grid((4, 4, 4), affine).shear_degrees == pytest.approx(10)

    @pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
    @pytest.mark.parametrize("flips", list(itertools.product((False, True), repeat=3)))
    def test_every_reorientation_is_recognised(self, axes, flips):
        grid = oblique()
        relation = grid.relation_to(grid.reoriented(axes, flips))
        same = axes == (0, 1, 2) and not any(flips)
        assert relation.kind is (Kinship.SAME if same else Kinship.REORIENTABLE)

    def test_reorienting_moves_no_voxel_in_space(self):
        grid = oblique()
        turned = grid.reoriented((2, 0, 1), (True, False, True))
        index = np.array([1, 2, 3, 1])  # voxel (1, 2, 3); in the turned array at (flip 3, 1, flip 2)
        there = np.array([grid.shape[2] - 1 - 3, 1, grid.shape[1] - 1 - 2, 1])
        assert turned.affine @ there == pytest.approx(grid.affine @ index)

    def test_float_noise_is_the_same_grid(self):
        grid = oblique()
        noisy = Grid(grid.shape, grid.affine + 1e-5)
        assert grid.relation_to(noisy).kind is Kinship.SAME

    @pytest.mark.parametrize("spacing", [(1.0, 2.0, 3.0), (3.0, 0.5, 1.0)])
    @pytest.mark.parametrize("axis", range(3))
    def test_the_same_place_is_a_hundredth_of_the_shortest_edge(self, spacing, axis):
        """Ten times as much, or the longest edge, would hide a shift that moves a surface distance."""
        grid = Grid.from_spacing((6, 5, 4), spacing)
        kinds = {}
        for share in (0.009, 0.011):
            shift = np.zeros(3)
            shift[axis] = share * min(spacing)
            kinds[share] = [
                first.relation_to(second).kind
                for other in (Grid.from_spacing((6, 5, 4), spacing, shift),)
                for first, second in ((grid, other), (other, grid))
            ]
        assert kinds == {0.009: [Kinship.SAME] * 2, 0.011: [Kinship.DIFFERENT] * 2}

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_an_affine_holds_finite_numbers(self, value):
        affine = np.eye(4)
        affine[0, 3] = value
        with pytest.raises(InvalidInput, match="expected finite numbers"):
            Grid((3, 3, 3), affine)

    def test_small_differences_are_told_and_smaller_ones_are_not(self):
        """A spacing counts from a thousandth on, an angle from a hundredth of a degree."""
        grid = oblique(shape=(200, 200, 200))
        for other, told in (
            (oblique(shape=(200, 200, 200), spacing=(1.0, 2.0, 3.006)), {"spacing"}),
            (oblique(shape=(200, 200, 200), spacing=(1.0, 2.0, 3.002)), set()),
            (oblique(shape=(200, 200, 200), degrees=20.05), {"turned by"}),
            (oblique(shape=(200, 200, 200), degrees=20.008), set()),
        ):
            relation = grid.relation_to(other)
            assert relation.kind is Kinship.DIFFERENT
            assert {word for word in ("spacing", "turned by") if word in relation.words} == told

    def test_the_same_place_is_asked_of_the_corner_that_lies_furthest_off(self):
        """A spacing that is wrong by 0.2 % adds up over the image: 0.008 mm after 5 voxels, 0.4 mm after 200."""
        for count, kind in ((5, Kinship.SAME), (200, Kinship.DIFFERENT)):
            grid = Grid.from_spacing((count, 5, 4), (1, 1, 1))
            assert grid.relation_to(Grid.from_spacing((count, 5, 4), (1.002, 1, 1))).kind is kind

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (Grid.from_spacing((6, 5, 4), (1, 2, 3), (100, 0, 0)), "centres 100 mm apart"),
            (Grid.from_spacing((6, 5, 4), (1, 2, 2.5)), "spacing"),
            (Grid.from_spacing((6, 5, 5), (1, 2, 3)), "shape (6, 5, 4) against (6, 5, 5)"),
            (Grid.from_spacing((6, 5), (1, 2)), "3-D against 2-D"),
        ],
    )
    def test_a_difference_is_said_in_words(self, other, words):
        relation = Grid.from_spacing((6, 5, 4), (1, 2, 3)).relation_to(other)
        assert relation.kind is Kinship.DIFFERENT
        assert words in relation.words

    def test_a_turned_grid_is_said_in_degrees(self):
        assert "turned by 20 degrees" in oblique().relation_to(oblique(degrees=0)).words

    @pytest.mark.parametrize("shape", [(3,), (0, 3), (2, 2, 2, 2)])
    def test_refuses_shapes_that_are_no_image(self, shape):
        with pytest.raises(InvalidInput):
            Grid(shape, np.eye(len(shape) + 1))

    @pytest.mark.parametrize("affine", [np.zeros((4, 4)), np.full((4, 4), np.nan), np.eye(3), np.ones((4, 4))])
    def test_refuses_affines_that_span_no_space(self, affine):
        with pytest.raises(InvalidInput, match="affine"):
            Grid((2, 2, 2), affine)

    @pytest.mark.parametrize("spacing", [0, -1, np.nan, np.inf, (1, 2), (1, 2, 0)])
    def test_refuses_spacings_that_are_no_lengths(self, spacing):
        with pytest.raises(InvalidInput, match="spacing"):
            normalize_spacing(spacing, 3)

    @pytest.mark.parametrize(
        ("shape", "affine", "words"),
        [
            ((2.5, 3, 4), np.eye(4), r"whole numbers of voxels, got \(2.5, 3, 4\)"),
            ((2, 3, 4), oblique().affine.T, r"expected \[0, 0, 0, 1\] as its last row, got .*transpose"),
            ((2, 3, 4), np.diag([1.0, 1, 1, 2]), r"as its last row, got \[0.0, 0.0, 0.0, 2.0\]\.$"),
            ((2, 3), "oblique", "affine: expected numbers in mm, got 'oblique'"),
        ],
    )
    def test_refuses_what_is_no_grid(self, shape, affine, words):
        """A transposed affine lost its origin, and half a voxel was cut off."""
        with pytest.raises(InvalidInput, match=words):
            Grid(shape, affine)

    def test_an_affine_may_carry_rounding_in_its_last_row(self):
        affine = oblique().affine.copy()
        affine[3, 0] = 1e-5
        assert Grid((2, 3, 4), affine).orientation == "RAS"

    @pytest.mark.parametrize("spacing", ["wide", (1, "wide", 1), [[1], [2, 3]], 1j])
    def test_refuses_a_spacing_that_is_no_number(self, spacing):
        with pytest.raises(InvalidInput, match="spacing: expected numbers in mm, got"):
            normalize_spacing(spacing, 3)


class TestLabelMap:
    def test_refuses_an_array_in_the_place_of_layers(self):
        with pytest.raises(InvalidInput, match=r"scan: expected a tuple of layers, got one array: write LabelMap"):
            LabelMap(np.zeros((2, 3, 4), int), Grid.from_spacing((2, 3, 4)), source="scan")
        with pytest.raises(InvalidInput, match="at least one layer"):
            LabelMap((), Grid.from_spacing((2, 3, 4)))

    def test_keeps_the_arrays_and_locks_them(self):
        array = np.zeros((3, 4, 5), np.int16)
        labels = LabelMap.from_array(array, 1.0)
        assert np.shares_memory(labels.layers[0], array)
        with pytest.raises(ValueError, match="read-only"):
            labels.layers[0][0] = 1
        array[0] = 1  # the caller's own array stays writable

    def test_overlapping_masks_get_layers_and_others_share_one(self):
        liver, lesion, spleen = np.zeros((3, 10, 10), dtype=bool)
        liver[:5], lesion[2:4], spleen[7:] = True, True, True
        labels = LabelMap.from_masks({"liver": liver, "lesion": lesion, "spleen": spleen}, Grid.from_spacing((10, 10)))
        assert len(labels.layers) == 2
        assert labels.names == {1: "liver", 2: "lesion", 3: "spleen"}
        for label, mask in enumerate((liver, lesion, spleen), start=1):
            assert np.array_equal(labels.mask(label).array, mask)
        assert labels.labels() == (1, 2, 3)

    @pytest.mark.parametrize("one", [3, np.int64(3), np.array(3), [3], np.array([3, 7])])
    def test_a_mask_is_asked_for_by_any_whole_numbers(self, one):
        assert LabelMap.from_array([[0, 3], [3, 1]]).mask(one).array.sum() == 2

    @pytest.mark.parametrize("label", ["liver", 1.5, [1, None]])
    def test_a_mask_of_what_is_no_label_is_refused(self, label):
        """A name was looked for letter by letter, in vain, and gave an empty mask."""
        with pytest.raises(InvalidInput, match="scan: expected label values, which are whole numbers"):
            LabelMap.from_array([[0, 3], [3, 1]], source="scan").mask(label)

    @pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
    def test_comes_back_onto_another_grid_without_loss(self, axes):
        rng = np.random.default_rng(0)
        grid = oblique()
        array = rng.integers(0, 4, grid.shape)
        flips = (True, False, True)
        turned = np.flip(array.transpose(axes), [axis for axis, flip in enumerate(flips) if flip])
        original = LabelMap((array,), grid)
        back = LabelMap((turned,), grid.reoriented(axes, flips)).on_grid_of(original)
        assert np.array_equal(back.layers[0], array)
        assert back.grid.relation_to(grid).kind is Kinship.SAME

    def test_refuses_another_place_and_says_where(self):
        here = LabelMap.from_array(np.zeros((4, 4, 4), np.uint8), source="pred.nii")
        there = LabelMap((here.layers[0],), Grid.from_spacing((4, 4, 4), 1, (0, 0, 50)), source="gt.nii")
        with pytest.raises(GridMismatch, match=r"pred.nii does not lie on the grid of gt.nii: centres 50 mm apart"):
            here.on_grid_of(there)

    @pytest.mark.parametrize("array", [np.zeros((2, 2)), np.zeros((2, 2), complex), np.array([["a", "b"]])])
    def test_refuses_what_is_no_label(self, array):
        with pytest.raises(InvalidInput, match="labels are integers"):
            LabelMap.from_array(array)

    @pytest.mark.parametrize("given", ["gt.nii.gz", Path("gt.nii.gz"), Mask([[True]], Grid.from_spacing((1, 1)))])
    def test_a_file_or_a_mask_in_the_place_of_an_array_is_told(self, given):
        """They had "dtype object", and were to be rounded."""
        words = f"expected an array, got {type(given).__name__}. Files are read by"
        functions = LabelMap.from_array, as_mask_array, *(partial(function, gt=[[1]]) for function in (dice, measure))
        for refusing in functions:
            with pytest.raises(InvalidInput, match=words):
                refusing(given)

    def test_refuses_an_array_of_another_shape(self):
        with pytest.raises(ShapeMismatch):
            Mask(np.zeros((2, 3), bool), Grid.from_spacing((3, 2)))

    def test_probabilities_are_no_mask(self):
        with pytest.raises(InvalidInput, match="Threshold it first"):
            as_mask_array(np.array([0.2, 0.9]))
