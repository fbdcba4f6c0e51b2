"""Two label maps on one grid: without loss where that is possible, with words where it is not."""

import itertools

import numpy as np
import pytest

from segauge.errors import GridMismatch, InvalidInput, ShapeMismatch
from segauge.grid import Grid
from segauge.labelmap import LabelMap
from segauge.placement import Method, place


def tilted_affine() -> np.ndarray:
    angle = np.radians(20)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3] = turn * np.array([0.8, 0.9, 2.5])
    affine[:3, 3] = [-30, 12, 100]
    return affine


@pytest.fixture
def image() -> LabelMap:
    rng = np.random.default_rng(3)
    return LabelMap(
        (rng.integers(0, 4, size=(6, 7, 8), dtype=np.uint8),), Grid((6, 7, 8), tilted_affine()), source="gt"
    )


def part_of(image: LabelMap, box: tuple[slice, ...], **facts) -> LabelMap:
    affine = image.grid.affine.copy()
    affine[:, -1] = image.grid.affine @ [*(part.start for part in box), 1]
    layers = tuple(layer[box] for layer in image.layers)
    return LabelMap(layers, Grid(layers[0].shape, affine), source="pred", **facts)


def test_same_grid_is_left_alone(image):
    placed = place(image, image)
    assert placed.method is Method.SAME
    assert placed.pred is image
    assert placed.notes == ()


def test_float_noise_in_the_affine_is_the_same_grid(image):
    noisy = LabelMap(image.layers, Grid(image.grid.shape, image.grid.affine + 1e-5), source="pred")
    assert place(noisy, image).method is Method.SAME


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("flips", list(itertools.product((False, True), repeat=3)))
def test_every_flip_and_permutation_comes_back_exactly(image, axes, flips):
    turns = tuple(slice(None, None, -1) if flip else slice(None) for flip in flips)
    pred = LabelMap((image.layers[0].transpose(axes)[turns],), image.grid.reoriented(axes, flips), source="pred")
    placed = place(pred, image)
    assert np.array_equal(placed.pred.layers[0], image.layers[0])
    assert placed.pred.grid == image.grid
    assert placed.method is (Method.SAME if axes == (0, 1, 2) and not any(flips) else Method.REORIENTED)


@pytest.mark.parametrize("flips", list(itertools.product((False, True), repeat=3)))
def test_a_part_is_placed_without_interpolation(image, flips):
    part = part_of(image, (slice(1, 5), slice(2, 7), slice(3, 6)))
    turns = tuple(slice(None, None, -1) if flip else slice(None) for flip in flips)
    axes = (2, 0, 1)
    stored = LabelMap((part.layers[0].transpose(axes)[turns],), part.grid.reoriented(axes, flips), source="pred")
    placed = place(stored, image)
    expected = np.zeros(image.grid.shape, dtype=np.uint8)
    expected[1:5, 2:7, 3:6] = image.layers[0][1:5, 2:7, 3:6]
    assert placed.method is Method.PLACED
    assert np.array_equal(placed.pred.layers[0], expected)
    assert placed.pred.grid == image.grid
    assert "without interpolation" in placed.notes[0]


def test_voxels_outside_of_a_whole_ground_truth_are_told(image):
    small = part_of(image, (slice(0, 6), slice(0, 7), slice(2, 6)))
    placed = place(image, small)
    lost = np.count_nonzero(image.layers[0]) - np.count_nonzero(image.layers[0][:, :, 2:6])
    assert any(note.startswith(f"{lost} foreground voxels") for note in placed.notes)
    assert placed.gt is small


def test_a_partial_ground_truth_grows_so_that_false_voxels_count(image):
    stored = part_of(image, (slice(0, 6), slice(0, 7), slice(2, 6)), partial=True)
    placed = place(image, stored)
    assert placed.pred.grid.shape == placed.gt.grid.shape == image.grid.shape
    assert np.array_equal(placed.pred.layers[0], image.layers[0])
    assert np.array_equal(placed.gt.layers[0][:, :, 2:6], image.layers[0][:, :, 2:6])
    assert not placed.gt.layers[0][:, :, :2].any()


def test_partial_maps_that_do_not_meet_are_both_kept(image):
    low = part_of(image, (slice(0, 6), slice(0, 7), slice(0, 2)), partial=True)
    high = part_of(image, (slice(0, 6), slice(0, 7), slice(5, 8)), partial=True)
    placed = place(low, high)
    assert placed.gt.grid.shape == (6, 7, 8)
    assert np.count_nonzero(placed.pred.layers[0]) == np.count_nonzero(low.layers[0])
    assert not np.any(np.logical_and(placed.pred.layers[0], placed.gt.layers[0]))


def test_a_part_that_lies_outside_of_the_whole_image_is_refused(image):
    part = part_of(image, (slice(0, 6), slice(0, 7), slice(0, 2)), partial=True)
    affine = part.grid.affine.copy()
    affine[2, 3] += 2.5 * 20
    with pytest.raises(GridMismatch, match="mm apart"):
        place(LabelMap(part.layers, Grid(part.grid.shape, affine), partial=True), image)


@pytest.mark.parametrize("resample", [None, "nearest"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (6, 4, 5), (9, 9, 8), (8, 7, 6)])
def test_another_shape_at_the_same_place_is_a_failure_of_shape(image, shape, resample):
    """It was taken for a part of the image, and all of the ground truth beyond it for missed."""
    pred = LabelMap((np.ones(shape, dtype=np.uint8),), Grid(shape, image.grid.affine), source="pred")
    with pytest.raises(ShapeMismatch, match=f"pred has {' x '.join(map(str, shape))} voxels, gt 6 x 7 x 8"):
        place(pred, image, resample=resample)


@pytest.mark.parametrize("box", [(slice(0, 6), slice(0, 7), slice(0, 5)), (slice(1, 4), slice(0, 4), slice(0, 5))])
def test_a_series_cut_short_and_a_part_from_within_are_placed(image, box):
    assert place(part_of(image, box), image).method is Method.PLACED


@pytest.mark.parametrize("shift", [3, 40, 0.4])
def test_same_shape_elsewhere_is_refused_with_the_offset(image, shift):
    affine = image.grid.affine.copy()
    affine[0, 3] += 0.8 * shift * np.cos(np.radians(20))
    affine[1, 3] += 0.8 * shift * np.sin(np.radians(20))
    moved = LabelMap(image.layers, Grid(image.grid.shape, affine), source="pred.nii.gz")
    with pytest.raises(GridMismatch, match=rf"centres {0.8 * shift:.4g} mm apart.*trust_array=True"):
        place(moved, image)
    trusted = place(moved, image, trust_array=True)
    assert np.array_equal(trusted.pred.layers[0], image.layers[0])
    assert trusted.pred.grid == image.grid
    assert "mm apart" in trusted.notes[0]


def test_a_rotation_is_refused_with_the_angle(image):
    straight = LabelMap(image.layers, Grid.from_spacing((6, 7, 8), (0.8, 0.9, 2.5)), source="pred")
    with pytest.raises(GridMismatch, match="turned by 20 degrees"):
        place(straight, image)


def test_a_mirrored_affine_is_refused_with_the_orientation(image):
    affine = np.diag([-1.0, 1.0, 1.0, 1.0]) @ image.grid.affine
    with pytest.raises(GridMismatch, match=r"orientation L.. against R.."):
        place(LabelMap(image.layers, Grid(image.grid.shape, affine), source="pred"), image)


def test_another_grid_is_resampled_only_when_asked(image):
    fine = LabelMap(
        (np.repeat(image.layers[0], 2, axis=2),),
        Grid((6, 7, 16), image.grid.affine @ np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, -0.25], [0, 0, 0, 1]])),
        source="pred",
    )
    with pytest.raises(GridMismatch, match=r"spacing 0\.8 x 0\.9 x 1\.25 against 0\.8 x 0\.9 x 2\.5 mm"):
        place(fine, image)
    placed = place(fine, image, resample="nearest")
    assert placed.method is Method.RESAMPLED
    # Each coarse voxel is two equal fine ones, so the nearest is right whichever is taken.
    assert np.array_equal(placed.pred.layers[0], image.layers[0])
    assert "nearest neighbour" in placed.notes[0]


def test_a_partial_ground_truth_grows_when_resampled_too(image):
    stored = part_of(image, (slice(0, 6), slice(0, 7), slice(2, 6)), partial=True)
    scale = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, -0.25], [0, 0, 0, 1]])
    fine = LabelMap(
        (np.repeat(image.layers[0], 2, axis=2),), Grid((6, 7, 16), image.grid.affine @ scale), source="pred"
    )
    placed = place(fine, stored, resample="nearest")
    found = placed.pred.grid.relation_to(image.grid)
    assert np.count_nonzero(placed.pred.layers[0]) == np.count_nonzero(image.layers[0]), found
    assert np.count_nonzero(placed.gt.layers[0]) == np.count_nonzero(stored.layers[0])
    assert any("extended to" in note for note in placed.notes)


def test_resampling_of_images_apart_is_refused(image):
    affine = image.grid.affine.copy()
    affine[2, 3] += 500
    affine[:3, :3] *= 1.1
    with pytest.raises(GridMismatch, match="share no voxel"):
        place(LabelMap(image.layers, Grid(image.grid.shape, affine)), image, resample="nearest")


def test_resampling_a_ball_keeps_its_volume():
    def ball(spacing: float) -> LabelMap:
        n = round(40 / spacing)
        affine = np.diag([spacing] * 3 + [1.0])
        affine[:3, 3] = spacing / 2
        x = (np.indices((n, n, n)) + 0.5) * spacing - 20
        return LabelMap((((x**2).sum(axis=0) <= 15**2).astype(np.uint8),), Grid((n, n, n), affine))

    placed = place(ball(0.8), ball(1.0), resample="nearest").pred
    # A digitised ball of radius 15 voxels has the volume of the ball within a few per mille.
    assert np.count_nonzero(placed.layers[0]) == pytest.approx(4 / 3 * np.pi * 15**3, rel=0.01)


def test_maps_without_world_space_pair_by_shape(image):
    array = LabelMap(image.layers, Grid.from_spacing((6, 7, 8)), source="pred.npy", in_space=False)
    placed = place(array, image)
    assert placed.method is Method.BY_SHAPE
    assert placed.pred.grid == image.grid
    turned = LabelMap((image.layers[0].T,), Grid.from_spacing((8, 7, 6)), source="pred.npy", in_space=False)
    with pytest.raises(GridMismatch, match="axis-order mix-up"):
        place(turned, image)


def test_trusting_arrays_needs_equal_shapes(image):
    with pytest.raises(ShapeMismatch, match="equal shapes"):
        place(part_of(image, (slice(0, 3), slice(0, 3), slice(0, 3))), image, trust_array=True)


def test_other_frames_of_reference_are_refused_unless_forced(image):
    one = LabelMap(image.layers, image.grid, source="a", frame_of_reference="1.2.3")
    two = LabelMap(image.layers, image.grid, source="b", frame_of_reference="1.2.4")
    with pytest.raises(GridMismatch, match=r"frame of reference 1\.2\.3.*any_frame_of_reference=True"):
        place(one, two)
    assert place(one, two, any_frame_of_reference=True).method is Method.SAME


def test_layers_names_and_facts_travel_along(image):
    layered = LabelMap(
        (image.layers[0], image.layers[0] * 2), image.grid, {1: "liver"}, "pred", frame_of_reference="1.2"
    )
    whole = LabelMap(image.layers, Grid(image.grid.shape, image.grid.affine))
    pred = part_of(layered, (slice(0, 6), slice(0, 7), slice(2, 6)))
    placed = place(pred, whole).pred
    assert len(placed.layers) == 2
    turned = LabelMap(layered.layers, layered.grid, layered.names, frame_of_reference="1.2").on_grid_of(image)
    assert (turned.names, turned.frame_of_reference) == ({1: "liver"}, "1.2")


@pytest.mark.parametrize("resample", [None, "nearest"])
def test_foreground_outside_of_the_ground_truth_is_counted(resample):
    """A whole image against a ground truth of its first half, on the same lattice or on a finer one."""
    edge = 1.0 if resample is None else 0.5
    array = np.zeros((int(8 / edge), 4, 4), dtype=np.uint8)
    array[-2:, 1, 1:3] = 1
    array[0, 0, 0] = 1
    pred = LabelMap((array,), Grid.from_spacing(array.shape, (edge, 1.0, 1.0)), source="pred.nii")
    gt = LabelMap.from_array(np.ones((4, 4, 4), dtype=np.uint8), source="gt.nii")
    placed = place(pred, gt, resample=resample)
    assert placed.outside == 4
    assert "4 foreground voxels of pred.nii lie outside of the ground truth's image; not counted" in placed.notes[-1]
    inside = LabelMap((array[: int(4 / edge)],), Grid.from_spacing((int(4 / edge), 4, 4), (edge, 1.0, 1.0)))
    assert place(inside, gt, resample=resample).outside == 0


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("trust_array", [False, True])
def test_a_volume_of_one_slice_meets_a_2d_image(axis, trust_array):
    array = np.zeros((6, 5), dtype=np.uint8)
    array[1:3, 2:4] = 1
    edges = np.insert([0.5, 2.0], axis, 3.0)
    volume = LabelMap.from_array(np.expand_dims(array, axis), tuple(edges), source="volume")
    plane = LabelMap.from_array(array, (0.5, 2.0), source="plane")
    for pred, gt in ((volume, plane), (plane, volume)):
        placed = place(pred, gt, trust_array=trust_array)
        assert placed.gt.grid.spacing == placed.pred.grid.spacing == (0.5, 2.0)
        assert np.array_equal(placed.pred.layers[0], array)
        assert "volume has one slice, the other side is 2-D: compared in 2-D" in placed.notes[0]


def test_a_volume_of_several_slices_meets_no_2d_image():
    volume = LabelMap.from_array(np.ones((6, 5, 2), dtype=np.uint8), source="volume")
    plane = LabelMap.from_array(np.ones((6, 5), dtype=np.uint8), source="plane")
    for resample in (None, "nearest"):
        with pytest.raises(GridMismatch, match="plane is a 2-D image, volume a volume of 6 x 5 x 2 voxels"):
            place(plane, volume, resample=resample)


def test_an_unknown_resampling_is_refused(image):
    with pytest.raises(InvalidInput, match="resample: expected 'nearest' or None, got 'linear'"):
        place(image, image, resample="linear")


def test_trusting_arrays_on_one_grid_changes_and_tells_nothing(image):
    placed = place(image, image, trust_array=True)
    assert (placed.method, placed.notes) == (Method.SAME, ())
