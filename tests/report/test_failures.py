"""Each kind of failure is recognised on a phantom that has it, and not on one that has none."""

import base64
import io

import numpy as np
import pytest

from segauge.evaluation import Case, evaluate
from segauge.labelmap import LabelMap
from segauge.report.failures import FailureKind, diagnose
from segauge.report.pairs import read_pair
from segauge.report.slices import area, error_point, grey_png, grey_values, outline, planes
from segauge.report.surfaces import surface_of

from .examples import balls


def kind_of(pred, gt, structures=None, structure="organ", *, placed=True):
    """Return the diagnosis of two arrays, which lie in space unless told otherwise."""
    structures = structures or {"organ": 1}
    pred, gt = (LabelMap.from_array(array) if placed else array for array in (pred, gt))
    result = evaluate([Case("case", pred, gt)], structures=structures, n_resamples=100)
    pair = read_pair(Case("case", pred, gt), result.protocol["options"])
    return diagnose(pair, structure)


GT = balls()


def test_missed_and_spurious():
    empty = np.zeros_like(GT)
    assert kind_of(empty, GT).kind is FailureKind.MISSED
    pair = read_pair(Case("case", GT, empty), {"structures": {"organ": [1]}})
    found = diagnose(pair, "organ")
    assert found.kind is FailureKind.SPURIOUS
    # 3071 voxels of 1 mm in a ball of radius 9.
    assert found.words.startswith(f"{np.count_nonzero(GT) / 1000:.3g} ml predicted")


def test_a_large_organ_has_no_power_of_ten():
    pred, gt = (LabelMap.from_array(array, spacing=10.0) for array in (np.zeros_like(GT), GT))
    pair = read_pair(Case("case", pred, gt), {"structures": {"organ": [1]}})
    assert diagnose(pair, "organ").words == f"no prediction; the ground truth has {np.sum(GT)} ml"


def test_a_single_small_voxel_has_no_power_of_ten():
    one = np.zeros_like(GT)
    one[3, 3, 3] = True
    pred, gt = (LabelMap.from_array(array, spacing=0.4) for array in (one, np.zeros_like(GT)))
    pair = read_pair(Case("case", pred, gt), {"structures": {"organ": [1]}})
    assert diagnose(pair, "organ").words == "less than 0.0001 ml predicted, none in the ground truth"


@pytest.mark.parametrize(("axis", "words"), [(0, "to the right"), (1, "to the front"), (2, "towards the head")])
def test_a_shift_is_named_with_its_slices_and_direction(axis, words):
    centre = [20, 22, 18]
    centre[axis] += 6
    found = kind_of(balls(centre=tuple(centre)), GT)
    assert found.kind is FailureKind.SHIFTED
    assert f"shifted by 6 slices (6 mm) {words}" in found.words


def test_two_masks_without_a_common_voxel():
    small, other = balls(centre=(10, 10, 10), radius=3), balls(centre=(10, 30, 10), radius=5)
    found = kind_of(small, other)
    assert found.kind is FailureKind.ELSEWHERE
    assert "20 mm apart" in found.words


def test_left_and_right_swapped():
    left, right = balls(centre=(10, 22, 18), radius=6), balls(centre=(30, 22, 18), radius=6)
    gt, pred = left + 2 * right, 2 * left + right
    found = kind_of(pred, gt, {"left kidney": 1, "right kidney": 2}, "left kidney")
    assert found.kind is FailureKind.SWAPPED
    assert "right kidney" in found.words


def test_mirrored():
    off = balls(centre=(10, 22, 18), radius=6)
    assert kind_of(off[::-1], off).kind is FailureKind.MIRRORED


def test_cut_off_and_cut_at_the_edge():
    cut = GT.copy()
    cut[:, :, 21:] = 0
    found = kind_of(cut, GT)
    assert found.kind is FailureKind.CUT
    assert "upper end" in found.words
    low = balls(centre=(20, 22, 4), radius=9)
    cut = low.copy()
    cut[:, :, :4] = 0
    assert kind_of(cut, low).kind is FailureKind.CUT_AT_EDGE


def test_a_part_without_prediction_is_missed_not_cut_off():
    large, small = balls(centre=(20, 22, 10), radius=7), balls(centre=(20, 22, 28), radius=5)
    found = kind_of(small, large | small)
    assert found.kind is FailureKind.PART_MISSED
    share = np.count_nonzero(large) / np.count_nonzero(large | small)
    assert found.words == f"1 of 2 parts missed, {100 * share:.0f} % of the volume"
    # Most of what is missing belongs to the part that is there in part.
    cut = large.copy()
    cut[:, :, :10] = 0
    speck = balls(centre=(20, 22, 30), radius=2)
    assert kind_of(cut, large | speck).kind is FailureKind.CUT
    assert kind_of(large, large | balls(centre=(20, 22, 30), radius=2)).kind is FailureKind.TOO_SMALL


def test_without_a_place_in_space_no_side_of_a_patient_is_named():
    shifted = kind_of(balls(centre=(26, 22, 18)), GT, placed=False)
    assert shifted.words.startswith("shifted by 6 slices (6 mm) along axis 0 towards its end;")
    off = balls(centre=(10, 22, 18), radius=6)
    assert kind_of(off[::-1], off, placed=False).words.startswith("mirrored along axis 0 it would")
    cut = GT.copy()
    cut[:, :, 21:] = 0
    assert "at its end along axis 2 (" in kind_of(cut, GT, placed=False).words


def test_leak_into_a_neighbour_and_a_false_island():
    neighbour = balls(centre=(32, 22, 18), radius=5)
    gt = np.where(GT > 0, 1, 2 * neighbour).astype(np.uint8)
    leaked = ((gt == 1) | (gt == 2)).astype(np.uint8)
    found = kind_of(leaked, gt, {"organ": 1, "neighbour": 2})
    assert found.kind is FailureKind.LEAK
    assert "neighbour" in found.words
    island = GT | balls(centre=(6, 6, 6), radius=5)
    assert kind_of(island, GT).kind is FailureKind.ISLAND


def test_too_small_too_large_and_neither():
    assert kind_of(balls(radius=7), GT).kind is FailureKind.TOO_SMALL
    assert kind_of(balls(radius=11), GT).kind is FailureKind.TOO_LARGE
    assert kind_of(np.roll(GT, 1, axis=0), GT).kind is FailureKind.OUTLINE
    assert kind_of(GT, GT).kind is FailureKind.NONE


def test_slices_go_through_the_largest_error():
    pred = GT.astype(bool).copy()
    pred[30:33, 20:24, 16:20] = True
    point = error_point(pred, GT > 0)
    assert pred[point] ^ (GT[point] > 0)
    assert 30 <= point[0] < 33
    shown = planes(pred, GT > 0, (1.0, 1.0, 2.5))
    assert [plane.name for plane in shown] == ["axial", "coronal", "sagittal"]
    assert shown[0].left == "R"
    assert shown[1].height_mm == pytest.approx(shown[1].rows * 2.5)


def test_outlines_close_and_areas_fill():
    mask = np.zeros((4, 5), dtype=bool)
    mask[1:3, 1:4] = True
    # A block of 2 x 3 pixels: two horizontal edges of 3 and two vertical ones of 2.
    assert sorted(outline(mask).split("M")[1:]) == ["1 1h3", "1 1v2", "1 3h3", "4 1v2"]
    assert area(mask) == "M1 1h3v1h-3zM1 2h3v1h-3z"


def test_greys_are_those_of_the_structure_not_of_the_air_beside_it():
    image = np.full((20, 20, 20), -1000.0)
    image[5:15] = 40.0
    inside = np.zeros(image.shape, dtype=bool)
    inside[8:12, 8:12, 8:12] = True
    image[inside] = 100.0
    grey = grey_values(image, inside)
    # 100 is the middle; half a window is 15 % of 1040 (99 % of the values are 40 or less), so 40 lies 60 / 156 of it
    # below, and air is black.
    assert grey[10, 10, 10] == 127
    assert grey[6, 0, 0] == int(255 * (1 - 60 / 156) / 2)
    assert grey[0, 0, 0] == 0
    assert not grey_values(np.full((2, 2, 2), np.nan), np.ones((2, 2, 2), dtype=bool)).any()


def test_an_image_is_a_png_that_others_can_read():
    pillow = pytest.importorskip("PIL.Image", reason="reads the PNG back")
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    picture = pillow.open(io.BytesIO(base64.b64decode(grey_png(grey))))
    np.testing.assert_array_equal(np.asarray(picture), grey)


def test_two_dimensional_images_have_one_slice():
    mask = np.zeros((20, 30, 1), dtype=bool)
    mask[5:10, 5:12] = True
    shown = planes(mask, np.roll(mask, 2, axis=0), (1.0, 1.0, 1.0))
    assert len(shown) == 1


def test_the_surface_lies_where_the_mask_is():
    ball = balls() > 0
    moved = np.roll(ball, 4, axis=0)
    surface = surface_of(ball, moved, (1.0, 1.0, 1.0))
    # Every corner of the drawn surface is about the radius away from the centre: half a coarse voxel of slack, and
    # what smoothing takes.
    reach = np.linalg.norm(surface.points - surface.points.mean(axis=0), axis=1)
    assert np.all(np.abs(reach - 9.0) < 1.5)
    # Two balls 4 mm apart are at most 4 mm from one another.
    assert surface.distances.max() <= 4.5
    packed = surface.packed(4.0)
    assert set(packed) == {"points", "faces", "values", "palette", "centre", "reach"}


def test_salt_and_pepper_has_a_surface_that_a_page_can_turn():
    noise = np.random.default_rng(0).random((90, 90, 90)) < 0.5
    surface = surface_of(noise, ~noise, (1.0, 1.0, 1.0))
    # 10 voxels on a side: at most six faces to each of 12^3, corners that 16 bits can number.
    assert len(surface.faces) <= 14_000
    assert len(surface.points) < 65_536
    assert len(planes(noise, ~noise, (1.0, 1.0, 1.0))) == 3
