"""Detection: hand-counted pairs, the definition written out densely, and every option."""

import itertools
import math
from dataclasses import FrozenInstanceError

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from segauge import measure
from segauge.errors import InvalidInput, ShapeMismatch
from segauge.geometry.components import pack_mask
from segauge.metrics.detection import DetectionScores, SizeBin, detect_lesions, detection_scores
from segauge.metrics.matching import DetectionRules

BoolArray = npt.NDArray[np.bool_]


def row(text: str) -> BoolArray:
    """One row of voxels: `#` is inside."""
    return np.array([[sign == "#" for sign in text]])


@st.composite
def mask_pairs(draw: st.DrawFn) -> tuple[BoolArray, BoolArray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.sampled_from([(40,), (12, 15), (5, 6, 8), (3, 3, 4, 4)]))
    gt = rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.4, 0.6]))
    noise = rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    return np.logical_xor(gt, noise & (rng.random(shape) < 0.4)), gt


@st.composite
def chains(draw: st.DrawFn) -> tuple[BoolArray, BoolArray]:
    """Two rows of bars of random length, one voxel apart, so that each lesion meets several of the other mask."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    masks = []
    for _ in range(2):
        mask = np.ones((1, 90), dtype=bool)
        mask[0, np.cumsum(rng.integers(2, 14, size=40)) % 90] = False
        masks.append(mask)
    return masks[0], masks[1]


def dense_ious(pred: BoolArray, gt: BoolArray, rank: int) -> npt.NDArray[np.float64]:
    """IoU of every predicted with every ground-truth component, one by one: the definition, not fast."""
    structure = ndimage.generate_binary_structure(pred.ndim, rank)
    (pred_labels, n_pred), (gt_labels, n_gt) = (ndimage.label(mask, structure) for mask in (pred, gt))
    table = np.zeros((n_pred, n_gt))
    for p in range(n_pred):
        for g in range(n_gt):
            one, other = pred_labels == p + 1, gt_labels == g + 1
            table[p, g] = np.sum(one & other) / np.sum(one | other)
    return table


def dense_greedy(table: npt.NDArray[np.float64], threshold: float) -> tuple[int, int, int]:
    table = table.copy()
    n_pred, n_gt = table.shape
    tp = 0
    while table.size and table.max() >= threshold:
        g, p = np.unravel_index(np.argmax(table.T), table.T.shape)  # the first in raster order of equals
        table[p, :] = table[:, g] = -1.0
        tp += 1
    return tp, n_pred - tp, n_gt - tp


# As released before: counts of a hand-made pair, 0/0, arrays as they come.


def test_one_found_one_missed_one_invented() -> None:
    gt = row("####....####..........")
    pred = row(".####.............##..")
    scores = detection_scores(pred, gt)
    assert scores == DetectionScores(tp=1, fp=1, fn=1)
    assert (scores.precision, scores.recall, scores.f1) == (0.5, 0.5, 0.5)


def test_nothing_at_all_is_perfect() -> None:
    scores = detection_scores(np.zeros((4, 4, 4)), np.zeros((4, 4, 4)))
    assert scores == DetectionScores(0, 0, 0)
    assert (scores.precision, scores.recall, scores.f1, scores.sq, scores.rq, scores.pq) == (1.0,) * 6


def test_missed_and_spurious() -> None:
    something, nothing = row("##..##"), row("......")
    assert detection_scores(nothing, something) == DetectionScores(0, 0, 2)
    assert detection_scores(something, nothing) == DetectionScores(0, 2, 0)
    assert detection_scores(nothing, something).precision == 1.0
    assert detection_scores(nothing, something).recall == 0.0
    assert detection_scores(nothing, something).pq == 0.0


def test_threshold_itself_counts() -> None:
    pred, gt = row("##..."), row(".####")  # IoU 1 / 5
    assert detection_scores(pred, gt, iou_threshold=0.2).tp == 1
    assert detection_scores(pred, gt, iou_threshold=0.2000001).tp == 0


def test_connectivity_by_rank_and_by_neighbours() -> None:
    gt = np.zeros((4, 4, 4), dtype=bool)
    gt[0, 0, 0] = gt[1, 1, 1] = True
    for faces, corners in ((None, 3), (1, 26), (6, 3)):
        assert detection_scores(gt, gt, connectivity=faces).tp == 2
        assert detection_scores(gt, gt, connectivity=corners).tp == 1


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.int64, np.uint32, np.float32])
def test_any_type_order_and_read_only(dtype: type) -> None:
    rng = np.random.default_rng(1)
    pred, gt = ((rng.random((6, 7, 8)) < 0.4).astype(dtype) for _ in range(2))
    expected = detection_scores(pred.astype(bool), gt.astype(bool))
    reordered = np.asfortranarray(pred), gt[::-1].copy()[::-1]
    for array in reordered:
        array.setflags(write=False)
    assert detection_scores(*reordered) == expected
    assert detection_scores(pred.tolist(), gt.tolist()) == expected


def test_integers_above_one_are_inside() -> None:
    assert detection_scores(row("##..") * 7, row("##..") * 3) == DetectionScores(1, 0, 0)


def test_shapes_must_agree() -> None:
    with pytest.raises(ShapeMismatch, match=r"\(2, 3\).*\(3, 2\)"):
        detection_scores(np.zeros((2, 3)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="same shape"):
        detection_scores(np.zeros((2, 3)), np.zeros((3, 2)))


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0, 2)])
def test_arrays_without_voxels(shape: tuple[int, ...]) -> None:
    assert detection_scores(np.zeros(shape), np.zeros(shape)) == DetectionScores(0, 0, 0)


@given(mask_pairs() | chains(), st.sampled_from([0.05, 0.1, 0.25, 0.5, 1.0]), st.integers(1, 3))
def test_greedy_is_what_its_definition_says(pair: tuple[BoolArray, BoolArray], threshold: float, rank: int) -> None:
    scores = detection_scores(*pair, threshold, rank)
    assert (scores.tp, scores.fp, scores.fn) == dense_greedy(dense_ious(*pair, rank), threshold)


# Rules.


def test_overlap_needs_one_voxel() -> None:
    pred, gt = row("#########.##"), row("........##..")
    assert detection_scores(pred, gt).tp == 1  # IoU 1 / 10
    assert detection_scores(pred, gt, 0.5).tp == 0
    assert detection_scores(pred, gt, 0.5, match="overlap") == DetectionScores(1, 1, 0)


def test_centroid_inside_without_overlap_and_overlap_without_centroid() -> None:
    gt = np.zeros((7, 7), dtype=bool)
    gt[3, 3] = True
    ring = np.zeros_like(gt)
    ring[2:5, 2:5] = True
    ring[3, 3] = False
    assert detection_scores(ring, gt, match="overlap").tp == 0
    found = detection_scores(ring, gt, match="centroid")
    assert found == DetectionScores(1, 0, 0)
    assert (found.sq, found.gt_lesions()[0].iou) == (0.0, 0.0)
    wide = np.zeros_like(gt)
    wide[3, 3:] = True  # centroid at 4.5
    assert detection_scores(wide, gt, match="overlap").tp == 1
    assert detection_scores(wide, gt, match="centroid") == DetectionScores(0, 1, 1)


# Assignments.


def test_optimal_gives_up_the_best_pair_for_a_better_sum() -> None:
    gt = np.zeros((3, 30), dtype=bool)
    pred = np.zeros((3, 30), dtype=bool)
    gt[0, 0:10], gt[2, 0:10] = True, True
    pred[0, 0:6] = pred[1, 5] = pred[2, 0:6] = True  # one piece over both: IoU 6 / 17 with each
    pred[0, 7:10] = True  # a second piece on the first bar: IoU 3 / 10
    greedy, optimal = (detection_scores(pred, gt, assign=assign) for assign in ("greedy", "optimal"))
    assert greedy == DetectionScores(1, 1, 1)  # of the equal IoUs the first bar's comes first
    assert optimal == DetectionScores(2, 0, 0)
    assert [lesion.iou for lesion in optimal.gt_lesions()] == pytest.approx([3 / 10, 6 / 17], rel=1e-15)
    assert detection_scores(pred, gt, assign="optimal", pq_threshold=0.1).sq == pytest.approx((6 / 17 + 3 / 10) / 2)


@given(mask_pairs() | chains(), st.sampled_from([0.05, 0.1, 0.25]), st.sampled_from(["iou", "overlap"]))
def test_optimal_sum_is_that_of_the_hungarian_method(
    pair: tuple[BoolArray, BoolArray], threshold: float, match: str
) -> None:
    table = dense_ious(*pair, 1)
    eligible = np.where(table >= threshold, table, 0.0) if match == "iou" else table
    best = eligible[linear_sum_assignment(eligible, maximize=True)].sum()
    scores = detection_scores(*pair, threshold, 1, match=match, assign="optimal")
    lesions = scores.gt_lesions()
    assert sum(lesion.iou or 0.0 for lesion in lesions) == pytest.approx(best, rel=1e-12)  # added in another order
    partners = [lesion.partners for lesion in lesions if lesion.partners]
    assert all(len(one) == 1 for one in partners)
    assert len(set(partners)) == len(partners) == scores.tp


def test_optimal_on_a_long_chain_stays_sparse() -> None:
    # 4,000 lesions, each meeting the next: as a dense table 128 MB, by pairs nothing.
    gt, pred = np.zeros((2, 1, 80_000), dtype=bool)
    for start in range(0, 80_000, 20):
        gt[0, start : start + 15] = True
        pred[0, start + 10 : start + 25] = True
    scores = detection_scores(pred, gt, assign="optimal")
    assert (scores.tp, scores.fp, scores.fn) == (4000, 0, 0)


def test_pieces_together_find_what_none_finds_alone() -> None:
    gt = row("##########......")
    pred = row("###.###.##....##")
    assert detection_scores(pred, gt, 0.5).tp == 0
    together = detection_scores(pred, gt, 0.5, assign="many-to-one")
    assert together == DetectionScores(tp=1, fp=1, fn=0)
    lesion = together.gt_lesions()[0]
    assert (lesion.partners, lesion.iou) == ((0, 1, 2), 0.8)
    assert [one.status for one in together.pred_lesions()] == ["true", "true", "true", "false positive"]


def test_a_piece_serves_the_lesion_that_it_shares_most_with() -> None:
    gt = row("####..######....")
    pred = row("..#########.....")  # 2 voxels of the first, 5 of the second
    scores = detection_scores(pred, gt, assign="many-to-one")
    assert scores == DetectionScores(1, 0, 1)
    assert [one.partners for one in scores.gt_lesions()] == [(), (0,)]


def test_a_lesion_found_one_to_one_is_not_given_up_for_another() -> None:
    gt = row("##.############")
    pred = row("######.........")  # 2 voxels of the first (IoU 2 / 6), 3 of the second (3 / 15)
    for assign in ("greedy", "many-to-one"):  # many-to-one gave [(), (0,)]: the first lesion was lost
        assert [one.partners for one in detection_scores(pred, gt, assign=assign).gt_lesions()] == [(0,), ()]


def test_shared_voxels_decide_where_a_left_over_piece_goes() -> None:
    gt = row("####.############.####")
    pred = row("##.####..#########.###")  # the first piece answers the first lesion, the fourth the last
    scores = detection_scores(pred, gt, 0.1, assign="many-to-one")
    assert [one.partners for one in scores.gt_lesions()] == [(0,), (1, 2), (3,)]


def test_a_merge_only_helps() -> None:
    # A lesion found at IoU 0.8, and a large invention that shares one voxel with it. The answer was (0, 2, 1).
    gt, pred = np.zeros((2, 2, 200), dtype=bool)
    gt[0, 0:20] = True
    pred[0, 0:16] = pred[0, 18] = pred[1, 18:] = True
    for assign in ("greedy", "optimal", "many-to-one"):
        assert detection_scores(pred, gt, assign=assign) == DetectionScores(1, 1, 0), assign


@given(mask_pairs() | chains(), st.sampled_from([0.1, 0.25, 0.5]), st.sampled_from(["iou", "overlap", "centroid"]))
def test_many_to_one_finds_whatever_greedy_finds(
    pair: tuple[BoolArray, BoolArray], threshold: float, match: str
) -> None:
    greedy, merged = (
        detection_scores(*pair, threshold, match=match, assign=assign) for assign in ("greedy", "many-to-one")
    )
    for before, after in zip(greedy.gt_lesions(), merged.gt_lesions(), strict=True):
        if before.status == "found":
            assert after.status == "found"
            assert set(before.partners) <= set(after.partners)
            assert match != "iou" or after.iou >= before.iou
    assert merged.fp <= greedy.fp


@given(chains())
def test_the_union_has_the_highest_iou_of_all_unions(pair: tuple[BoolArray, BoolArray]) -> None:
    scores = detection_scores(*pair, 0.1, 1, assign="many-to-one")
    preds, gts = (ndimage.label(mask)[0] for mask in pair)
    greedy = {one.number: one.partners for one in detection_scores(*pair, 0.1, 1).gt_lesions()}
    seeded = {number for partners in greedy.values() for number in partners}
    for lesion in scores.gt_lesions():
        mask = gts == lesion.number + 1
        own = [
            p
            for p in np.unique(preds[mask & (preds > 0)]) - 1
            if p not in seeded and _shares_most(preds, gts, p) == lesion.number
        ]
        best = 0.0
        for count in range(len(own) + 1):
            for chosen in itertools.combinations(own, count):
                union = np.isin(preds, [p + 1 for p in (*greedy[lesion.number], *chosen)])
                best = max(best, (union & mask).sum() / (union | mask).sum())
        assert (lesion.iou or 0.0) == pytest.approx(best if best >= 0.1 else 0.0, rel=1e-12)


def _shares_most(preds: np.ndarray, gts: np.ndarray, number: int) -> int:
    return int(np.argmax(np.bincount(gts[preds == number + 1])[1:]))


def test_pieces_of_a_lesion_not_found_are_false_positives() -> None:
    gt, pred = row("############"), row("##.......###")
    assert detection_scores(pred, gt, 0.5, assign="many-to-one") == DetectionScores(0, 2, 1)
    assert detection_scores(pred, gt, match="overlap", assign="many-to-one") == DetectionScores(1, 0, 0)
    assert detection_scores(pred, gt, match="centroid", assign="many-to-one") == DetectionScores(1, 0, 0)


@given(mask_pairs() | chains() | chains() | chains())
def test_many_to_one_by_overlap_finds_every_touched_lesion_at_most(pair: tuple[BoolArray, BoolArray]) -> None:
    table = dense_ious(*pair, 1)
    scores = detection_scores(*pair, connectivity=1, match="overlap", assign="many-to-one")
    assert scores.fp == np.sum(~(table > 0).any(axis=1))  # what meets anything is true
    assert scores.tp <= np.sum((table > 0).any(axis=0))
    assert scores.tp + scores.fn == table.shape[1]


# Small lesions.


def volume(*boxes: tuple[slice, slice, slice]) -> BoolArray:
    mask = np.zeros((12, 12, 40), dtype=bool)
    for box in boxes:
        mask[box] = True
    return mask


LARGE = np.s_[0:10, 0:10, 0:10]  # 1 ml at 1 mm
SMALL = np.s_[0:2, 0:2, 15:17]  # 0.008 ml
OTHER = np.s_[5:7, 5:7, 30:32]


def test_small_lesions_are_neither_found_nor_missed_nor_held_against_the_prediction() -> None:
    gt = volume(LARGE, SMALL)
    options = {"spacing": 1.0, "min_volume_ml": 0.1}
    assert detection_scores(volume(LARGE), gt, **options) == DetectionScores(1, 0, 0)
    assert detection_scores(volume(LARGE, SMALL), gt, **options) == DetectionScores(1, 0, 0)
    assert detection_scores(volume(LARGE, SMALL, OTHER), gt, **options) == DetectionScores(1, 1, 0)
    assert detection_scores(volume(LARGE, SMALL, OTHER), gt, spacing=1.0) == DetectionScores(2, 1, 0)
    states = [one.status for one in detection_scores(volume(LARGE, SMALL), gt, **options).pred_lesions()]
    assert states == ["true", "left out"]


def test_a_lesion_of_exactly_the_minimum_counts() -> None:
    gt = volume(SMALL)
    assert detection_scores(gt, gt, spacing=1.0, min_volume_ml=0.008) == DetectionScores(1, 0, 0)
    assert detection_scores(gt, gt, spacing=1.0, min_volume_ml=0.0081) == DetectionScores(0, 0, 0)
    assert detection_scores(gt, gt, spacing=(2, 1, 1), min_volume_ml=0.0081) == DetectionScores(1, 0, 0)


@pytest.mark.parametrize("edge", [0.7, float(np.float32(0.7))])
def test_rounding_makes_no_lesion_smaller(edge: float) -> None:
    """0.7 cubed is 0.3429999999999999 in double precision, and 0.34299998 from a 32-bit header."""
    gt = volume(LARGE)
    scores = detection_scores(gt, gt, spacing=edge, min_volume_ml=0.343)
    assert scores == DetectionScores(1, 0, 0)
    assert [one.lesions for one in scores.recall_by_size([0.343])] == [0, 1]


def test_a_prediction_that_misses_the_rule_with_a_small_lesion_is_false() -> None:
    gt = volume(SMALL)
    pred = volume(np.s_[0:2, 0:2, 16:30])  # IoU 4 / 60 with it
    for assign in ("greedy", "optimal", "many-to-one"):
        options = {"spacing": 1.0, "min_volume_ml": 0.1, "assign": assign}
        assert detection_scores(pred, gt, 0.1, **options) == DetectionScores(0, 1, 0)
        assert detection_scores(pred, gt, match="overlap", **options) == DetectionScores(0, 0, 0)


def test_small_lesions_take_no_prediction_from_large_ones() -> None:
    gt = volume(LARGE, SMALL)
    pred = volume(np.s_[0:2, 0:2, 9:17])  # covers the small lesion (IoU 8 / 32) and 4 voxels of the large one
    options = {"spacing": 1.0, "match": "overlap", "min_volume_ml": 0.1}
    for assign in ("greedy", "optimal", "many-to-one"):
        scores = detection_scores(pred, gt, assign=assign, **options)
        assert scores == DetectionScores(1, 0, 0)
        assert scores.matching.pred_kept.tolist() == [True]  # it met a left-out lesion, but it answers a kept one


def test_recall_by_size() -> None:
    gt = volume(LARGE, SMALL, OTHER)
    scores = detection_scores(volume(LARGE, SMALL), gt, spacing=1.0)
    small, middle, large, huge = scores.recall_by_size()
    assert small == SizeBin(0.0, 0.1, lesions=2, found=1)
    assert (middle, large) == (SizeBin(0.1, 1.0, 0, 0), SizeBin(1.0, 10.0, 1, 1))  # 1 ml is not below 1 ml
    assert huge.upper_ml == math.inf
    assert (small.recall, middle.recall, large.recall) == (0.5, None, 1.0)
    assert sum(one.lesions for one in scores.recall_by_size((0.5,))) == 3
    left_out = detection_scores(volume(LARGE, SMALL), gt, spacing=1.0, min_volume_ml=0.5)
    assert [one.lesions for one in left_out.recall_by_size((0.5,))] == [0, 1]


def test_lesions_say_where_and_how_large_they_are() -> None:
    scores = detection_scores(volume(LARGE), volume(LARGE, SMALL), spacing=(1, 1, 2))
    large, small = scores.gt_lesions()
    assert (large.number, large.voxels, large.volume_ml, large.centroid) == (0, 1000, 2.0, (4.5, 4.5, 4.5))
    assert (large.status, large.partners, large.iou) == ("found", (0,), 1.0)
    assert (small.status, small.partners, small.iou) == ("missed", (), None)
    assert small.volume_ml == pytest.approx(0.016, rel=1e-15)


# Panoptic quality.


@given(
    mask_pairs() | chains() | chains(),
    st.sampled_from(["greedy", "optimal", "many-to-one"]),
    st.sampled_from(["iou", "overlap", "centroid"]),
    st.sampled_from([0.1, 0.5, 0.7]),
)
def test_panoptic_quality_is_the_product(
    pair: tuple[BoolArray, BoolArray], assign: str, match: str, threshold: float
) -> None:
    """Whatever makes a lesion found, panoptic quality counts pairs by their IoU, from a threshold of its own."""
    scores = detection_scores(*pair, match=match, assign=assign, pq_threshold=threshold)
    at_threshold = detection_scores(*pair, threshold, assign=assign)
    ious = [lesion.iou for lesion in at_threshold.gt_lesions() if lesion.iou is not None]
    halves = at_threshold.tp + (at_threshold.fp + at_threshold.fn) / 2
    assert scores.pq == pytest.approx(sum(ious) / halves if halves else 1.0, rel=1e-12)  # the same numbers, regrouped
    assert scores.rq == pytest.approx(at_threshold.tp / halves if halves else 1.0, rel=1e-12)
    assert 0.0 <= scores.pq <= min(scores.sq, scores.rq) <= 1.0
    assert scores.panoptic.iou_threshold == threshold


def test_panoptic_quality_is_at_an_iou_of_one_half() -> None:
    """It was at that of detection, 0.1: PQ 0.8 with SQ 0.8 and RQ 1 for the pair below."""
    gt = row("##########.##########")
    pred = row("##########.######....")  # IoU 1 and 0.6
    assert detection_scores(pred, gt).pq == pytest.approx(0.8)
    pred = row("##########.####......")  # IoU 1 and 0.4
    scores = detection_scores(pred, gt)
    assert (scores.tp, scores.f1) == (2, 1.0)
    assert (scores.sq, scores.rq, scores.pq) == (1.0, 0.5, 0.5)
    assert str(scores.panoptic) == "PQ 0.5000 (SQ 1.0000, RQ 0.5000) at IoU 0.5"
    found = measure(pred, gt, {"lesion": 1}, ["pq", "sq", "rq", "lesion_f1", "pq@0.4", "rq@0.41"])
    assert [found["lesion", key].value for key in found.table.metrics] == [0.5, 1.0, 0.5, 1.0, 0.7, 0.5]
    assert [info.name for info in found.metrics][0::4] == ["Panoptic quality at IoU 0.5", "Panoptic quality at IoU 0.4"]


@given(
    mask_pairs() | chains(),
    st.sampled_from(["greedy", "optimal", "many-to-one"]),
    st.sampled_from(["iou", "overlap", "centroid"]),
)
def test_every_lesion_is_counted_once(pair: tuple[BoolArray, BoolArray], assign: str, match: str) -> None:
    scores = detection_scores(*pair, match=match, assign=assign)
    gt_states = [lesion.status for lesion in scores.gt_lesions()]
    pred_states = [lesion.status for lesion in scores.pred_lesions()]
    assert (gt_states.count("found"), gt_states.count("missed")) == (scores.tp, scores.fn)
    assert pred_states.count("false positive") == scores.fp
    answered = {(p, lesion.number) for lesion in scores.gt_lesions() for p in lesion.partners}
    assert answered == {(lesion.number, g) for lesion in scores.pred_lesions() for g in lesion.partners}


# Packed masks, and words for what cannot be done.


def test_packed_masks_cut_to_a_box_give_the_same() -> None:
    rng = np.random.default_rng(3)
    pred, gt = (np.pad(rng.random((6, 7, 9)) < 0.3, 5) for _ in range(2))
    inner = np.s_[5:-5, 5:-5, 5:-5]
    rules = DetectionRules(match="centroid", min_volume_ml=0.002)
    assert detect_lesions(pack_mask(pred), pack_mask(gt), rules, 1.0) == detect_lesions(
        pack_mask(pred[inner]), pack_mask(gt[inner]), rules, 1.0
    )
    assert detect_lesions(pack_mask(pred), pack_mask(gt)) == detection_scores(pred, gt)


def test_packed_masks_of_different_shape() -> None:
    with pytest.raises(ShapeMismatch):
        detect_lesions(pack_mask(np.ones((2, 3), dtype=bool)), pack_mask(np.ones((3, 2), dtype=bool)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"iou_threshold": 0.0}, "match='overlap'"),
        ({"iou_threshold": 1.1}, "iou_threshold"),
        ({"iou_threshold": math.nan}, "iou_threshold"),
        ({"match": "dice"}, "match: expected one of 'iou'"),
        ({"assign": "best"}, "assign: expected one of 'greedy'"),
        ({"min_volume_ml": 1.0}, "pass spacing="),
        ({"min_volume_ml": -1.0, "spacing": 1.0}, "min_volume_ml"),
        ({"spacing": (1.0, 2.0)}, "spacing"),
        ({"connectivity": 5}, "connectivity"),
    ],
)
def test_bad_arguments_are_named(options: dict, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        detection_scores(volume(SMALL), volume(SMALL), **options)


def test_areas_have_no_millilitres() -> None:
    flat = row("##..")
    with pytest.raises(InvalidInput, match="3-D"):
        detection_scores(flat, flat, spacing=1.0, min_volume_ml=0.1)
    with pytest.raises(InvalidInput, match="3-D"):
        detection_scores(flat, flat, spacing=1.0).recall_by_size()
    assert detection_scores(flat, flat, spacing=1.0).gt_lesions()[0].volume_ml is None


def test_edges_of_sizes_ascend() -> None:
    scores = detection_scores(volume(SMALL), volume(SMALL), spacing=1.0)
    for edges in ((1.0, 0.5), (0.0, 1.0), (math.inf,), ((1.0, 2.0),)):
        with pytest.raises(InvalidInput, match="edges_ml"):
            scores.recall_by_size(edges)


def test_scores_are_frozen_and_made_from_counts_too() -> None:
    scores = DetectionScores(3, 1, 1)
    assert (scores.precision, scores.recall, scores.f1) == (0.75, 0.75, 0.75)
    assert repr(scores) == "DetectionScores(tp=3, fp=1, fn=1)"
    with pytest.raises(FrozenInstanceError):
        scores.tp = 4  # type: ignore[misc]
    with pytest.raises(InvalidInput, match="counts alone"):
        scores.gt_lesions()


def test_tens_of_thousands_of_specks() -> None:
    pred, gt = np.zeros((2, 64, 128, 128), dtype=bool)
    gt[::2, ::2, ::4] = True  # 65,536 lesions of one voxel; a dense table would need 34 GB
    pred[::2, ::2, ::8] = True
    pred[1::2, 1::2, 2::8] = True
    for assign in ("greedy", "optimal", "many-to-one"):
        assert detection_scores(pred, gt, assign=assign) == DetectionScores(32_768, 32_768, 32_768)
