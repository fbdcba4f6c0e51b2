"""Lesion-wise scores: each rule by a pair made for it, and the rules followed literally, lesion by lesion."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import segauge
from segauge import Case, Status, evaluate, measure
from segauge.errors import InvalidInput, ShapeMismatch
from segauge.geometry.components import pack_mask
from segauge.metrics import lesions
from segauge.metrics.lesions import (
    LESIONWISE_PRESETS,
    FalseVolumes,
    LesionwiseRules,
    false_volumes,
    lesionwise_scores,
    mean_lesionwise,
    measure_false_volumes,
    score_lesionwise,
)

BoolArray = npt.NDArray[np.bool_]


def volume(*boxes: tuple[slice, slice, slice]) -> BoolArray:
    mask = np.zeros((16, 16, 60), dtype=bool)
    for box in boxes:
        mask[box] = True
    return mask


CUBE = np.s_[5:11, 5:11, 5:11]  # 216 voxels
FAR_CUBE = np.s_[5:11, 5:11, 40:46]
DOT = np.s_[8:9, 8:9, 30:31]


# BraTS 2023, rule by rule.


def test_perfect() -> None:
    scores = lesionwise_scores(volume(CUBE, FAR_CUBE), volume(CUBE, FAR_CUBE), 1.0)
    assert (scores.dice, scores.hd95_mm, scores.tp, scores.fp, scores.fn) == (1.0, 0.0, 2, 0, 0)
    assert (scores.region.dice, scores.region.hd95_mm, scores.region.sensitivity) == (1.0, 0.0, 1.0)


@pytest.mark.parametrize(("gap", "lesions"), [(5, 1), (6, 1), (7, 2)])
def test_three_dilations_join_what_is_up_to_six_voxels_apart(gap: int, lesions: int) -> None:
    # Each side grows by 3 voxels; the grown zones are 26-connected if they touch.
    gt = volume(np.s_[5:11, 5:11, 5:11], np.s_[5:11, 5:11, 11 + gap : 17 + gap])
    assert len(lesionwise_scores(gt, gt, 1.0, "brats-2023-gli").lesions) == lesions
    assert len(lesionwise_scores(gt, gt, 1.0, "brats-2023-men").lesions) == 2


def test_a_near_miss_is_found_with_dice_0_and_a_distance() -> None:
    gt, pred = volume(CUBE), volume(np.s_[5:11, 5:11, 13:19])  # two voxels behind the cube
    scores = lesionwise_scores(pred, gt, 1.0, "brats-2023-gli")
    assert (scores.tp, scores.fp, scores.fn, scores.dice) == (1, 0, 0, 0.0)
    assert scores.hd95_mm == 8.0
    scores = lesionwise_scores(pred, gt, 1.0, "brats-2023-met")  # one dilation does not reach it
    assert (scores.tp, scores.fp, scores.fn) == (0, 1, 1)
    assert (scores.dice, scores.hd95_mm) == (0.0, 374.0)


def test_a_component_belongs_whole_and_may_belong_to_several_lesions() -> None:
    gt = volume(CUBE, FAR_CUBE)
    bridge = volume(np.s_[5:11, 5:11, 5:46])
    scores = lesionwise_scores(bridge, gt, 1.0)
    assert (scores.tp, scores.fp, scores.fn) == (2, 0, 0)
    assert [lesion.pred_components for lesion in scores.lesions] == [(0,), (0,)]
    assert scores.dice == pytest.approx(2 * 216 / (216 + 36 * 41), rel=1e-15)


def test_all_pieces_of_a_lesion_count_together() -> None:
    pieces = volume(np.s_[5:11, 5:11, 5:7], np.s_[5:11, 5:11, 9:11])
    scores = lesionwise_scores(pieces, volume(CUBE), 1.0)
    assert (scores.tp, scores.fp) == (1, 0)
    assert scores.lesions[0].pred_components == (0, 1)
    assert scores.dice == pytest.approx(2 * 144 / (144 + 216), rel=1e-15)


def test_small_lesions_are_left_out_with_what_met_them() -> None:
    gt = volume(CUBE, DOT)
    scores = lesionwise_scores(volume(CUBE, DOT), gt, 1.0)
    assert (scores.dice, scores.tp, scores.fp, scores.fn) == (1.0, 1, 0, 0)
    assert [lesion.kept for lesion in scores.lesions] == [True, False]
    assert lesionwise_scores(volume(CUBE), gt, 1.0).fn == 0
    assert lesionwise_scores(volume(CUBE), gt, 1.0, LesionwiseRules(3, left_out_mm3=0.5)).fn == 1


def test_a_lesion_of_exactly_the_threshold_is_left_out() -> None:
    gt = volume(CUBE)
    assert lesionwise_scores(gt, gt, 1.0, LesionwiseRules(1, left_out_mm3=216.0)).tp == 0
    assert lesionwise_scores(gt, gt, 1.0, LesionwiseRules(1, left_out_mm3=215.9)).tp == 1
    assert lesionwise_scores(gt, gt, (1.0, 1.0, 2.0), LesionwiseRules(1, left_out_mm3=216.0)).tp == 1


def test_one_invented_voxel_costs_as_much_as_a_missed_lesion() -> None:
    scores = lesionwise_scores(volume(CUBE, DOT), volume(CUBE), 1.0)
    assert (scores.fp, scores.dice, scores.hd95_mm) == (1, 0.5, 187.0)


def test_nothing_to_find_and_only_left_out_lesions() -> None:
    nothing = volume()
    empty = lesionwise_scores(nothing, nothing, 1.0)
    assert (empty.dice, empty.hd95_mm, empty.region.dice, empty.region.hd95_mm) == (1.0, 0.0, 1.0, 0.0)
    only_small = lesionwise_scores(nothing, volume(DOT), 1.0)
    assert (only_small.dice, only_small.hd95_mm, only_small.fn) == (1.0, 0.0, 0)
    assert (only_small.region.dice, only_small.region.hd95_mm) == (0.0, 374.0)
    invented = lesionwise_scores(volume(DOT), nothing, 1.0)
    assert (invented.dice, invented.hd95_mm, invented.region.sensitivity) == (0.0, 374.0, 0.0)
    assert invented.region.specificity == (16 * 16 * 60 - 1) / (16 * 16 * 60)


def test_volume_and_distance_follow_the_spacing() -> None:
    scores = lesionwise_scores(volume(np.s_[5:11, 5:11, 7:13]), volume(CUBE), (1.0, 0.5, 3.0))
    assert scores.lesions[0].volume_mm3 == 216 * 1.5
    assert scores.hd95_mm == 6.0


# The rules followed word by word: one dilation per lesion, whole images.


def literal_lesionwise(pred: BoolArray, gt: BoolArray, rules: LesionwiseRules) -> tuple[int, int, int, float]:
    element, corners = ndimage.generate_binary_structure(3, 2), np.ones((3, 3, 3))

    def grow(mask: BoolArray) -> BoolArray:
        return ndimage.binary_dilation(mask, element, iterations=rules.dilations)

    zones, lesions = ndimage.label(grow(gt), corners)
    pieces, number = ndimage.label(pred, corners)
    met: set[int] = set()
    tp = fn = 0
    dice = 0.0
    for i in range(1, lesions + 1):
        lesion = gt & (zones == i)
        mine = set(np.unique(pieces[grow(lesion)])) - {0}
        met |= mine
        if lesion.sum() <= rules.left_out_mm3:
            continue
        tp, fn = tp + bool(mine), fn + (not mine)
        answer = np.isin(pieces, list(mine))
        dice += 2 * np.sum(lesion & answer) / (lesion.sum() + answer.sum())
    fp = number - len(met)
    return tp, fp, fn, dice / (tp + fn + fp) if tp + fn + fp else 1.0


@given(st.integers(0, 2**32 - 1), st.sampled_from(["gli", "met"]), st.sampled_from([0.002, 0.01, 0.05]))
def test_the_rules_word_by_word(seed: int, task: str, density: float) -> None:
    rng = np.random.default_rng(seed)
    grown = [ndimage.binary_dilation(rng.random((12, 14, 18)) < density, iterations=1) for _ in range(2)]
    pred, gt = grown[0] | (grown[1] & (rng.random(grown[1].shape) < 0.5)), grown[1]
    rules = LesionwiseRules(LESIONWISE_PRESETS[f"brats-2023-{task}"].dilations, left_out_mm3=7.0)
    ours = lesionwise_scores(pred, gt, 1.0, rules)
    tp, fp, fn, dice = literal_lesionwise(pred, gt, rules)
    assert (ours.tp, ours.fp, ours.fn) == (tp, fp, fn)
    assert ours.dice == pytest.approx(dice, rel=1e-12)  # the same fractions, added in another order
    assert all((lesion.hd95_mm is None) == (not lesion.pred_components or not lesion.kept) for lesion in ours.lesions)


@given(st.integers(0, 2**32 - 1))
def test_masks_cut_to_their_box_give_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pred, gt = (ndimage.binary_dilation(rng.random((9, 10, 12)) < 0.01) for _ in range(2))
    roomy = [pack_mask(np.pad(mask, 4)) for mask in (pred, gt)]
    voxels = math.prod(roomy[0].shape)
    tight = score_lesionwise(pack_mask(pred), pack_mask(gt), 1.0, image_voxels=voxels)
    wide = score_lesionwise(roomy[0], roomy[1], 1.0)
    assert (tight.tp, tight.fp, tight.fn, tight.region) == (wide.tp, wide.fp, wide.fn, wide.region)
    assert (tight.dice, tight.hd95_mm) == pytest.approx((wide.dice, wide.hd95_mm), rel=1e-12)  # order of summation


# autoPET.


def test_one_shared_voxel_saves_a_lesion_and_touching_does_not() -> None:
    gt = volume(CUBE, FAR_CUBE)
    touching = volume(np.s_[5:11, 5:11, 11:13], np.s_[10:13, 10:13, 45:48])
    found = false_volumes(touching, gt, (1.0, 1.0, 2.0))
    assert found == FalseVolumes(0.144, 0.432, false_positives=1, false_negatives=1)


def test_edge_contact_joins_and_corner_contact_does_not() -> None:
    gt = volume(np.s_[2:4, 2:4, 2:4], np.s_[4:6, 4:6, 2:4], np.s_[6:8, 6:8, 4:6])
    pred = volume(np.s_[2:3, 2:3, 2:3])
    assert false_volumes(pred, gt, 1.0).false_negatives == 1  # the corner neighbour
    assert false_volumes(pred, gt, 1.0, connectivity=6).false_negatives == 2
    assert false_volumes(pred, gt, 1.0, connectivity=26).false_negatives == 0


def test_false_volumes_of_empty_masks() -> None:
    assert false_volumes(volume(), volume(), 1.0) == FalseVolumes(0.0, 0.0, 0, 0)
    assert false_volumes(volume(CUBE), volume(), 1.0) == FalseVolumes(0.216, 0.0, 1, 0)
    assert false_volumes(volume(), volume(CUBE), 1.0) == FalseVolumes(0.0, 0.216, 0, 1)


@given(st.integers(0, 2**32 - 1))
def test_exchanging_the_masks_exchanges_the_volumes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pred, gt = (pack_mask(rng.random((8, 9, 10)) < 0.1) for _ in range(2))
    one, other = measure_false_volumes(pred, gt, 2.5), measure_false_volumes(gt, pred, 2.5)
    assert (one.false_positive_ml, one.false_positives) == (other.false_negative_ml, other.false_negatives)


# Words for what cannot be done.


def test_bad_arguments_are_named() -> None:
    mask, flat = volume(CUBE), np.ones((4, 4), dtype=bool)
    with pytest.raises(InvalidInput, match="'brats-2023-gli'"):
        lesionwise_scores(mask, mask, 1.0, "BraTS")
    with pytest.raises(InvalidInput, match="dilations"):
        LesionwiseRules(-1, 50.0)
    with pytest.raises(InvalidInput, match=r"dilations: expected a whole number, got 1\.5"):
        LesionwiseRules(1.5, 50.0)
    with pytest.raises(InvalidInput, match="penalty_mm"):
        LesionwiseRules(1, 50.0, penalty_mm=math.inf)
    with pytest.raises(InvalidInput, match="3-D"):
        lesionwise_scores(flat, flat, 1.0)
    with pytest.raises(InvalidInput, match="3-D"):
        false_volumes(flat, flat, 1.0)
    with pytest.raises(ShapeMismatch):
        lesionwise_scores(mask, mask[1:], 1.0)
    with pytest.raises(ShapeMismatch):
        false_volumes(mask, mask[1:], 1.0)
    with pytest.raises(InvalidInput, match="spacing"):
        lesionwise_scores(mask, mask, (1.0, -1.0, 1.0))


def test_arrays_without_voxels() -> None:
    nothing = np.zeros((0, 3, 4), dtype=bool)
    assert lesionwise_scores(nothing, nothing, 1.0).dice == 1.0
    assert false_volumes(nothing, nothing, 1.0) == FalseVolumes(0.0, 0.0, 0, 0)


# What measure() asks for.


@pytest.mark.parametrize("rules", LESIONWISE_PRESETS)
@pytest.mark.parametrize("parts", [(CUBE,), (CUBE, FAR_CUBE), (FAR_CUBE, DOT), (DOT,), ()])
def test_means_are_those_of_the_whole_scores(parts: tuple[tuple[slice, slice, slice], ...], rules: str) -> None:
    pred, gt = pack_mask(np.roll(volume(*parts), 2, axis=2)), pack_mask(volume(CUBE, FAR_CUBE, DOT))
    for a, b in ((pred, gt), (gt, pred)):
        scores, means = score_lesionwise(a, b, (1.0, 0.7, 2.0), rules), mean_lesionwise(a, b, (1.0, 0.7, 2.0), rules)
        assert (means.dice, means.hd95_mm) == (scores.dice, scores.hd95_mm)


def test_the_region_is_measured_as_its_only_lesion_or_as_a_whole() -> None:
    """Where one lesion with all components is the region, its distance is taken; else the region has its own."""
    alone = lesionwise_scores(np.roll(volume(CUBE), 2, axis=2), volume(CUBE), (1.0, 0.7, 2.0))
    assert alone.region.hd95_mm == alone.lesions[0].hd95_mm == 4.0
    several = lesionwise_scores(volume(CUBE, FAR_CUBE), volume(CUBE), (1.0, 0.7, 2.0))
    assert several.lesions[0].hd95_mm == 0.0
    assert several.region.hd95_mm > 50.0  # the invented cube is 29 voxels of 2 mm away
    other = lesionwise_scores(volume(CUBE), volume(CUBE, FAR_CUBE), (1.0, 0.7, 2.0))
    assert other.region.hd95_mm > 50.0


def test_lesionwise_distances_keep_to_the_threads_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    measured = lesions.cell_distances

    def noted(*arguments: object) -> object:
        asked.append(arguments[-1])
        return measured(*arguments)

    monkeypatch.setattr(lesions, "cell_distances", noted)
    label_map = volume(CUBE).astype(np.uint8)
    segauge.measure(label_map, label_map, [1], ["lesionwise_hd95@brats-2023-gli"], threads=1)
    assert asked == [1]


# autoPET by year.


def autopet(kind: str) -> tuple[np.ndarray, np.ndarray]:
    pred, gt = np.zeros((2, 8, 8, 8), dtype=np.uint8)
    if kind != "spurious":
        gt[1:3, 1:3, 1:3] = 1
    if kind != "missed":
        pred[5:7, 5:7, 5:7] = 1
    return pred, gt


@pytest.mark.parametrize(
    ("kind", "rules", "expected"),
    [
        ("present", "autopet-2022", (0.0, 0.008, 0.008)),
        ("present", "autopet-2024", (0.0, 0.008, 0.008)),
        ("missed", "autopet-2022", (0.0, 0.0, 0.008)),
        ("missed", "autopet-2024", (0.0, 0.0, 0.008)),
        ("spurious", "autopet-2022", (0.0, 0.008, 0.0)),
        ("spurious", "autopet-2024", (None, 0.008, None)),
    ],
)
def test_autopet_by_year(kind: str, rules: str, expected: tuple[float | None, ...]) -> None:
    """Without lesions in the ground truth, Dice and the false negative volume were 0 whatever the year."""
    keys = [f"{name}@{rules}" for name in ("dice", "false_positive_volume", "false_negative_volume")]
    found = measure(*autopet(kind), {"lesion": 1}, keys)
    assert tuple(found["lesion", key].value for key in keys) == pytest.approx(expected)
    volumes = false_volumes(*autopet(kind), 1.0, rules=rules)
    assert (volumes.false_positive_ml, volumes.false_negative_ml) == pytest.approx(expected[1:])


def test_what_autopet_does_not_define_counts_neither_way() -> None:
    cases = [Case(kind, *autopet(kind)) for kind in ("present", "missed", "spurious")]
    keys = ["dice", "dice@autopet-2022", "dice@autopet-2024"]
    result = evaluate(cases, metrics=keys, detection=False)
    missing = result.table["spurious", "foreground", "dice@autopet-2024"].missing
    assert (missing.status, missing.counts_as) == (Status.SPURIOUS, "nothing")
    assert [result.summary()[key].n for key in keys] == [3, 3, 2]
    assert result.summary()["dice@autopet-2024"].excluded == {"spurious": 1}


def test_rules_of_no_year_are_refused() -> None:
    with pytest.raises(InvalidInput, match="autopet-2022"):
        false_volumes(*autopet("present"), 1.0, rules="autopet")
