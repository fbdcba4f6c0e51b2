"""Scenes: organs where they should be, predictions wrong by exactly what was asked for."""

import math
import time

import numpy as np
import pytest

from segauge.errors import InvalidInput, UnknownStructure
from segauge.grid import Grid
from segauge.phantoms import Ball, distance_truth, perturbed, rotation_about, scene

GRID = Grid.from_spacing((72, 72, 72), 1.5)
NAMES = ("liver", "liver lesions", "spleen", "left kidney", "right kidney", "aorta", "bladder wall", "vertebra")


def volumes(label_map) -> dict[str, float]:
    return {
        name: float(label_map.mask(label).array.sum()) * label_map.grid.voxel_volume_mm3
        for label, name in label_map.names.items()
    }


def oblique_grid() -> Grid:
    affine = np.eye(4)
    affine[:3, :3] = np.asarray(rotation_about((1, 2, 0.5), 30)) * np.array([1.5, 1.5, 4.0])
    affine[:3, 3] = (100.0, -50.0, 20.0)
    return Grid((72, 72, 30), affine)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("grid", [GRID, oblique_grid()], ids=["cube", "oblique"])
def test_every_organ_is_there_whole(grid, seed):
    abdomen = scene(grid, seed=seed, overlap=True)
    found = volumes(abdomen.label_map)
    assert tuple(found) == (*NAMES, "target volume")
    assert min(found.values()) > 0
    border = [np.take(abdomen.label_map.layers[0], (0, -1), axis=axis) for axis in range(3)]
    assert not any(side.any() for side in border)


def test_lesions_lie_inside_the_liver_and_replace_it():
    abdomen = scene(GRID, seed=3, lesions=4)
    lesions, liver = abdomen.organ("liver lesions"), abdomen.organ("liver")
    assert len(lesions.solids) == 4
    for ball in lesions.solids:
        assert liver.solids[0].signed_distance(ball.center_mm) <= -ball.radius_mm
    assert abdomen.labeling.labels_of("liver") == (1, 2)
    whole = abdomen.label_map.mask(abdomen.labeling.labels_of("liver")).array
    drawn = np.logical_or.reduce([lobe.rasterize(GRID).array for lobe in liver.solids])
    assert np.array_equal(whole, drawn)


def test_hollow_organs_are_hollow():
    abdomen = scene(GRID, seed=1)
    kidney, bladder = abdomen.organ("left kidney"), abdomen.organ("bladder wall")
    mask = abdomen.label_map.mask(kidney.label).array
    hole = kidney.holes[0].rasterize(GRID).array
    assert not np.any(mask & hole)
    assert np.any(kidney.solids[0].rasterize(GRID).array & hole)
    wall = bladder.solids[0]
    # The count of some 2000 border voxels of 3.4 mm³ each scatters by their root: 1 % of the wall.
    assert volumes(abdomen.label_map)["bladder wall"] == pytest.approx(wall.volume_mm3, rel=0.03)


def test_target_volume_overlaps_on_a_second_layer():
    assert len(scene(GRID).label_map.layers) == 1
    abdomen = scene(GRID, overlap=True)
    first, second = abdomen.label_map.layers
    assert np.any((first > 0) & (second > 0))
    assert set(np.unique(second)) == {0, 9}
    target, lesion = abdomen.organ("target volume").solids[0], abdomen.organ("liver lesions").solids[0]
    assert target.center_mm == lesion.center_mm
    assert target.radius_mm > lesion.radius_mm


def test_scenes_follow_their_seed_alone():
    one, again, other = scene(GRID, seed=1), scene(GRID, seed=1), scene(GRID, seed=2)
    assert one.organs == again.organs
    assert all(mine != its for mine, its in zip(one.organs, other.organs, strict=True))
    more = scene(GRID, seed=1, lesions=5)
    assert [organ for organ in one.organs if organ.name != "liver lesions"] == [
        organ for organ in more.organs if organ.name != "liver lesions"
    ]
    assert more.organ("liver lesions").solids[:3] == one.organ("liver lesions").solids


def test_prediction_is_off_by_the_asked_shift():
    truth = scene(GRID, seed=4)
    prediction = perturbed(truth, shift_mm=2.5, seed=1)
    for mine, its in zip(prediction.organs, truth.organs, strict=True):
        for pred, gt in zip(mine.solids, its.solids, strict=True):
            centers = [np.mean(solid.bounds_mm(), axis=0) for solid in (pred, gt)]
            assert math.dist(*centers) == pytest.approx(2.5)
            if isinstance(gt, Ball):
                assert distance_truth(pred, gt).hd() == pytest.approx(2.5)
    assert perturbed(truth, shift_mm=0.0).organs == truth.organs


def test_missed_and_spurious_lesions_are_counted():
    truth = scene(GRID, seed=5, lesions=4)
    prediction = perturbed(truth, shift_mm=0.5, missed=1, spurious=2)
    pred, gt = prediction.organ("liver lesions").solids, truth.organ("liver lesions").solids
    assert len(pred) == 3 + 2
    for new in pred[3:]:
        gaps = [math.dist(new.center_mm, old.center_mm) - new.radius_mm - old.radius_mm for old in gt]
        assert min(gaps) >= 2 * max(GRID.spacing)
    for kept, old in zip(pred[:3], gt, strict=False):
        assert kept.radius_mm == old.radius_mm


def test_organs_can_be_missing():
    truth = scene(GRID, lesions=1)
    prediction = perturbed(truth, without=("spleen",), missed=1)
    assert {organ.name for organ in truth.organs} - {organ.name for organ in prediction.organs} == {
        "spleen",
        "liver lesions",
    }
    assert prediction.label_map.grid == truth.label_map.grid


def test_a_scene_of_128_cubed_is_quick():
    grid = Grid.from_spacing((128, 128, 128))
    times = []
    for _ in range(3):
        start = time.process_time()
        assert perturbed(scene(grid, overlap=True), spurious=1).label_map.layers
        times.append(time.process_time() - start)
    assert min(times) < 0.5


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: scene(Grid.from_spacing((9, 9))), "3-D grid"),
        (lambda: scene(GRID, lesions=-1), "lesions: expected 0 or more"),
        (lambda: scene(GRID, lesions=500), "no room for another one"),
        (lambda: scene(GRID, lesions=0, overlap=True), "overlap"),
        (lambda: perturbed(scene(GRID), shift_mm=math.nan), "shift_mm: expected 0 or more"),
        (lambda: perturbed(scene(GRID), missed=4), "missed: expected 0 to 3"),
        (lambda: perturbed(scene(GRID), spurious=-1), "spurious: expected 0 or more"),
        (lambda: perturbed(scene(GRID, lesions=0), missed=1), "has no lesions"),
    ],
)
def test_bad_arguments_are_named(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


def test_unknown_organs_are_named():
    with pytest.raises(UnknownStructure, match=r"No organ 'heart'; there are 'liver'"):
        perturbed(scene(GRID), without=("heart",))
