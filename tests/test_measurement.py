"""measure(): every structure of a pair, with a value or a reason in every cell."""

import math

import numpy as np
import pytest

import segauge
from segauge import Grid, LabelMap, Status, measure
from segauge.errors import GridMismatch, InvalidInput, ShapeMismatch, UnknownMetric, UnknownStructure
from segauge.geometry.distances import find_boundary_band
from segauge.geometry.masks import pack
from segauge.geometry.patterns import SURFACES


def pair():
    """Three labels: 1 in both, 2 missed, 3 spurious; 4 is in neither."""
    pred, gt = np.zeros((2, 24, 24, 24), np.uint8)
    gt[4:14, 4:14, 4:14] = 1
    pred[5:15, 4:14, 4:14] = 1
    gt[18:20, 18:20, 18:20] = 2
    pred[20:22, 2:4, 2:4] = 3
    return pred, gt


STRUCTURES = {"organ": 1, "lesion": 2, "ghost": 3, "nothing": 4, "organ+lesion": (1, 2)}


def test_each_structure_has_its_state():
    result = measure(*pair(), STRUCTURES)
    states = {name: result.status(name) for name in STRUCTURES}
    assert states == {
        "organ": Status.PRESENT,
        "lesion": Status.MISSED,
        "ghost": Status.SPURIOUS,
        "nothing": Status.ABSENT,
        "organ+lesion": Status.PRESENT,
    }


def test_scores_are_those_of_the_single_functions():
    pred, gt = pair()
    spacing = (2.0, 1.0, 1.5)
    result = measure(pred, gt, STRUCTURES, "all", spacing=spacing, nsd_tolerance=1.2)
    for name, labels in (("organ", [1]), ("organ+lesion", [1, 2])):
        masks = np.isin(pred, labels), np.isin(gt, labels)
        assert result[name, "dice"].value == segauge.dice(*masks)
        assert result[name, "iou"].value == segauge.iou(*masks)
        for key, value in segauge.surface_metrics(*masks, spacing, 1.2).items():
            assert result[name, key].value == value
        assert result[name, "biou"].value == segauge.boundary_iou(*masks, spacing, 1.2)
    assert result["organ", "gt_volume"].value == pytest.approx(1000 * 3 / 1000)
    assert result["organ", "volume_difference"].value == 0
    assert result["organ", "centroid_distance"].value == pytest.approx(2.0)


def test_no_number_without_a_reason():
    result = measure(*pair(), STRUCTURES, "all")
    assert result["lesion", "dice"].value == 0.0
    assert result["lesion", "nsd"].value == 0.0
    assert result["lesion", "hd"].value is None
    assert result["lesion", "hd"].status is Status.MISSED
    assert result["lesion", "precision"].value is None
    assert result["ghost", "sensitivity"].value is None
    assert result["ghost", "precision"].value == 0.0
    assert result["ghost", "pred_volume"].value == pytest.approx(0.008)
    assert result["nothing", "dice"].value is None
    assert result["nothing", "dice"].status is Status.ABSENT
    assert np.isfinite(result.table.values[~np.isnan(result.table.values)]).all()


def test_a_structure_in_both_masks_without_a_number_has_words_for_it():
    pred, gt = pair()
    thick = measure(pred, gt, {"organ": 1}, ["dice", "biou"], spacing=5.0)["organ", "biou"]
    assert (thick.value, thick.reason) == (None, "no biou: no voxel centre of either mask is that near to its surface")
    large = segauge.DetectionRules(min_volume_ml=1e3)
    small = measure(pred, gt, {"organ": 1}, ["lesion_recall", "dice", "lesion_precision"], detection=large)
    assert small["organ", "lesion_recall"].value is None
    assert small["organ", "lesion_recall"].reason.startswith("no lesion_recall")
    assert small["organ", "lesion_recall"].reason.endswith(": no lesion is large enough to count")
    flat = measure(pred[5], gt[5], {"organ": 1}, ["false_positive_volume", "hd", "false_negative_volume"])
    assert flat["organ", "false_positive_volume"].value is None
    assert flat["organ", "hd"].reason == ""
    assert flat["organ", "false_positive_volume"].reason == "no false_positive_volume: a slice has no volume"
    assert list(flat.table.reasons.values()) == [
        "no false_positive_volume, false_negative_volume: a slice has no volume"
    ]
    full = measure(np.ones((3, 3, 3), int), np.ones((3, 3, 3), int), {"organ": 1}, "all")
    for info in full.metrics:
        score = full["organ", info.key]
        assert score.value is not None or f" {info.key}" in score.reason, info.key


@pytest.mark.parametrize(
    "tolerance", [-1, math.nan, math.inf, None, "2", {"organ": -1}, {"organ": 1, "other": math.nan}]
)
@pytest.mark.parametrize("metric", ["biou", "nsd", "dice"])
def test_a_tolerance_that_is_no_distance_is_refused_whatever_is_measured(metric, tolerance):
    with pytest.raises(InvalidInput, match="0 mm or more"):
        measure(*pair(), {"organ": 1}, [metric], nsd_tolerance=tolerance)


def test_an_unknown_hausdorff_mode_is_refused_also_where_no_distance_is_asked_for():
    with pytest.raises(InvalidInput, match="'pooled'"):
        measure(*pair(), {"organ": 1}, ["dice"], hd="x")


def test_parameters_in_the_key():
    pred, gt = pair()
    result = measure(pred, gt, {"organ": 1}, ["hd90", "nsd@0.5", "nsd@2", "biou@2", "fbeta@0.5"])
    sd = segauge.compute_surface_distances(pred == 1, gt == 1)
    assert result["organ", "hd90"].value == segauge.hausdorff_percentile(sd, 90)
    assert result["organ", "nsd@0.5"].value == segauge.nsd(sd, 0.5)
    assert result["organ", "nsd@2"].value == 1.0
    assert [info.key for info in result.metrics] == ["hd90", "nsd@0.5", "nsd@2", "biou@2", "fbeta@0.5"]


def test_tolerance_per_structure_curve_and_pooled_percentiles():
    pred, gt = pair()
    result = measure(
        pred,
        gt,
        {"a": 1, "b": (1, 2)},
        ["nsd", "hd95"],
        nsd_tolerance={"a": 0.5, "b": 3.0},
        nsd_curve_mm=(0.5, 3.0),
        hd="pooled",
    )
    assert result["a", "nsd"].value == pytest.approx(result.nsd_curves["a"][0], rel=1e-14)
    assert result["b", "nsd"].value == pytest.approx(result.nsd_curves["b"][1], rel=1e-14)
    sd = segauge.compute_surface_distances(pred == 1, gt == 1)
    assert result["a", "hd95"].value == segauge.hausdorff95(sd, "pooled")
    with pytest.raises(InvalidInput, match="no entry for structure 'b'"):
        measure(pred, gt, {"b": 1}, nsd_tolerance={"a": 1.0})


@pytest.mark.parametrize("kind", [list, np.array, iter])
@pytest.mark.parametrize("metrics", [["nsd"], ["dice"]])
def test_a_curve_is_measured_for_every_structure_however_it_is_asked_for(kind, metrics):
    """An iterator was empty after the first structure, and without a metric of surfaces there was no curve."""
    result = measure(*pair(), {"a": 1, "b": (1, 2)}, metrics, nsd_curve_mm=kind([0.0, 0.5]))
    assert {name: curve.shape for name, curve in result.nsd_curves.items()} == {"a": (2,), "b": (2,)}
    assert result.curve_tolerances_mm == (0.0, 0.5)
    assert list(measure(*pair(), {"a": 1}, metrics, nsd_curve_mm=kind([0.0])).nsd_curves) == ["a"]


@pytest.mark.parametrize(
    ("curve", "more", "words"),
    [
        ([1.0, -1.0], {}, "0 mm or more, got -1.0"),
        (2.0, {}, r"nsd_curve_mm: expected several distances in mm, such as \(0, 1, 2\), got 2.0"),
        (np.array(2.0), {}, r"nsd_curve_mm: expected several distances in mm"),
        ([1.0], {"convention": "monai"}, "not as MONAI .* does; leave it out, or ask for metrics such as 'nsd@1'"),
    ],
)
def test_a_curve_that_cannot_be_is_refused_also_where_nothing_is_measured(curve, more, words):
    with pytest.raises(InvalidInput, match=words):
        measure(*pair(), {"nothing": 4}, nsd_curve_mm=curve, **more)


def test_all_labels_of_the_ground_truth_if_nobody_names_them():
    pred, gt = pair()
    grid = Grid.from_spacing(gt.shape)
    result = measure(LabelMap((pred,), grid), LabelMap((gt,), grid, {1: "liver"}))
    assert result.table.structures == ("liver", "label 2")
    with pytest.raises(InvalidInput, match="no label"):
        measure(pred, np.zeros_like(gt))


def test_the_prediction_may_number_its_labels_differently():
    pred, gt = pair()
    renumbered = np.where(pred == 1, 40, 0).astype(np.int32)
    result = measure(renumbered, gt, {"organ": 1}, ["dice"], pred_structures={"organ": 40})
    assert result["organ", "dice"].value == segauge.dice(pred == 1, gt == 1)
    with pytest.raises(UnknownStructure, match="'organ'"):
        measure(pred, gt, {"organ": 1}, pred_structures={"liver": 40})


def boundary_of(mask, width, surface):
    packed = pack(mask.astype(np.uint8), (1,), ((0,) * mask.ndim, mask.shape))
    return find_boundary_band(packed, np.eye(mask.ndim), width, surface=surface).unpack()


class TestIgnore:
    def test_ignored_voxels_count_for_nothing_in_overlap(self):
        pred, gt = pair()
        gt[14:, :, :] = 9  # where pred goes beyond gt
        result = measure(pred, gt, {"organ": 1}, ["dice", "pred_volume", "specificity"], ignore=9)
        assert result["organ", "dice"].value == 2 * 900 / (900 + 1000)
        assert result["organ", "pred_volume"].value == pytest.approx(0.9)
        assert result["organ", "specificity"].value == 1.0

    def test_surface_in_ignored_voxels_is_not_sampled(self):
        """The only disagreement is where nobody knows: the surfaces agree everywhere else."""
        pred, gt = np.zeros((2, 20, 20, 20), np.uint8)
        gt[5:15, 5:15, 5:15] = 1
        pred[5:17, 5:15, 5:15] = 1
        assert measure(pred, gt, {"organ": 1}, ["hd"])["organ", "hd"].value == pytest.approx(2.0)
        gt[15:18] = 9
        assert measure(pred, gt, {"organ": 1}, ["hd"], ignore=9)["organ", "hd"].value == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize("surface", SURFACES)
    def test_a_cut_through_a_mask_is_no_boundary(self, surface):
        """Half of two balls was never annotated: bands in the other half are those of whole balls, but at the rim."""
        at = np.mgrid[:16, :16, :16]
        pred, gt = (sum((at[k] - middle[k]) ** 2 for k in range(3)) <= 38 for middle in ((9, 8, 8), (8, 8, 8)))
        bands = [boundary_of(mask, 1.0, surface)[:, :8] for mask in (pred, gt)]
        expected = (bands[0] & bands[1]).sum() / (bands[0] | bands[1]).sum()
        halved = gt.astype(np.uint8)
        halved[:, 8:] = 9
        score = measure(pred.astype(np.uint8), halved, {"x": 1}, ["biou@1"], ignore=9, surface=surface)["x", "biou@1"]
        assert score.value == pytest.approx(expected, abs=0.02)

    def test_ignored_voxels_far_away_change_no_band(self):
        pred, gt = pair()
        whole = measure(pred, gt, {"organ": 1}, ["biou@2"])["organ", "biou@2"].value
        gt[0, 0, :] = 9
        assert measure(pred, gt, {"organ": 1}, ["biou@2"], ignore=9)["organ", "biou@2"].value == whole

    def test_no_surface_outside_ignored_voxels_has_a_reason(self):
        pred, gt = np.zeros((2, 9, 9, 9), np.uint8)
        gt[:] = 9
        gt[4, 4, 4] = pred[4, 4, 4] = 1
        score = measure(pred, gt, {"organ": 1}, ["dice", "hd"], ignore=9)["organ", "hd"]
        assert (score.value, score.status) == (None, Status.PRESENT)
        assert score.reason == "no hd: there is no surface outside the ignored voxels"


def test_overlapping_structures_in_layers():
    liver, lesion, shifted = np.zeros((3, 16, 16, 16), bool)
    liver[2:12, 2:12, 2:12], lesion[5:8, 5:8, 5:8], shifted[5:8, 5:8, 6:9] = True, True, True
    grid = Grid.from_spacing((16, 16, 16))
    gt = LabelMap.from_masks({"liver": liver, "lesion": lesion}, grid)
    pred = LabelMap.from_masks({"liver": liver, "lesion": shifted}, grid)
    result = measure(pred, gt, metrics=["dice", "hd"])
    assert result["liver", "dice"].value == 1.0
    assert result["lesion", "dice"].value == segauge.dice(shifted, lesion)
    assert result["lesion", "hd"].value == segauge.surface_metrics(shifted, lesion)["hd"]


@pytest.mark.parametrize(
    ("first", "second", "large"), [(np.uint64, np.int8, 2), (np.uint8, np.int64, 2**40), (np.int8, np.int8, 2**62)]
)
def test_a_region_across_layers_of_any_integers(first, second, large):
    """NumPy has no integer type that holds all of uint64 and of signed ones: it takes floats, which are no labels."""
    organ, lesion = np.zeros((2, 8, 8, 8), bool)
    organ[1:5, 1:5, 1:5], lesion[3:7, 3:7, 3:7] = True, True
    grid = Grid.from_spacing((8, 8, 8))
    pred = LabelMap((organ.astype(first), 2 * lesion.astype(second)), grid)
    gt = LabelMap(((organ | lesion).astype(np.uint8),), grid)
    result = measure(pred, gt, {"region": (1, 2, large) if large > 2 else (1, 2)}, ["dice", "hd"])
    assert result["region", "dice"].value == 1.0
    assert result["region", "hd"].value == pytest.approx(0.0, abs=1e-9)  # what the reference may differ by


class TestGrids:
    def test_a_flipped_prediction_is_compared_in_space(self):
        pred, gt = pair()
        grid = Grid.from_spacing(gt.shape, (1, 2, 3))
        turned = LabelMap((pred.transpose(2, 0, 1)[:, ::-1],), grid.reoriented((2, 0, 1), (False, True, False)))
        straight = measure(LabelMap((pred,), grid), LabelMap((gt,), grid), {"organ": 1})
        assert (
            measure(turned, LabelMap((gt,), grid), {"organ": 1}).table.values.tobytes()
            == straight.table.values.tobytes()
        )

    def test_another_place_is_refused(self):
        pred, gt = pair()
        maps = [LabelMap((array,), Grid.from_spacing(gt.shape, 1, (x, 0, 0))) for array, x in ((pred, 0), (gt, 40))]
        with pytest.raises(GridMismatch, match="40 mm apart"):
            measure(*maps)

    def test_another_frame_of_reference_is_refused_unless_it_was_said_to_be_the_same(self):
        arrays, grid = pair(), Grid.from_spacing((24, 24, 24))
        pred, gt = (LabelMap((a,), grid, frame_of_reference=f) for a, f in zip(arrays, ("1.2", "1.3"), strict=True))
        with pytest.raises(GridMismatch, match=r"frame of reference 1\.2, .*for measure\(\), to place\(\) before it"):
            measure(pred, gt, {"organ": 1})
        for said in ({"any_frame_of_reference": True}, {"trust_array": True}):
            placed = segauge.place(pred, gt, **said)
            found = measure(placed.pred, placed.gt, {"organ": 1})
            assert found["organ", "dice"].value == segauge.dice(arrays[0] == 1, arrays[1] == 1)

    def test_arrays_and_maps_do_not_mix(self):
        pred, gt = pair()
        with pytest.raises(InvalidInput, match="both as LabelMap or both as arrays"):
            measure(pred, LabelMap.from_array(gt))
        with pytest.raises(InvalidInput, match="knows its spacing"):
            measure(LabelMap.from_array(pred), LabelMap.from_array(gt), spacing=2.0)
        with pytest.raises(ShapeMismatch):
            measure(pred, gt[:-1])


def test_memory_order_type_and_threads_change_no_bit():
    pred, gt = pair()
    tables = [
        measure(change(pred), change(gt), STRUCTURES, "all", threads=threads).table.values.tobytes()
        for threads, change in ((1, np.asarray), (2, np.asfortranarray), (3, lambda a: a.astype(np.int64)))
    ]
    assert len(set(tables)) == 1


def test_two_dimensional_images():
    pred, gt = (array[8] for array in pair())
    result = measure(pred, gt, {"organ": 1}, spacing=(0.5, 2.0))
    assert result["organ", "dice"].value == 1.0
    assert result["organ", "gt_volume"].value == pytest.approx(0.1)  # 100 pixels of 1 mm²: 100 mm² in units of 1000 mm²


def test_unknown_metrics_are_refused_with_a_suggestion():
    with pytest.raises(UnknownMetric, match="Did you mean 'dice'"):
        measure(*pair(), STRUCTURES, ["dcie"])


@pytest.mark.parametrize("key", ["dice", ("liver",), 1])
def test_a_score_is_asked_for_by_structure_and_metric(key):
    """The text "dice" was taken for the structure "d" and the metric "i"."""
    mask = np.ones((3, 3, 3), dtype=np.uint8)
    with pytest.raises(InvalidInput, match=r'measurement\["liver", "dice"\], got .*; the structures are .liver.'):
        measure(mask, mask, {"liver": 1}, ["dice"])[key]


def test_masks_of_zero_and_one_may_be_floats():
    """`dice` took them, and `measure` refused them."""
    gt = np.zeros((6, 6, 6))
    gt[1:4, 1:4, 1:4] = 1.0
    pred = np.roll(gt, 1, axis=0).astype(np.float32)
    found = measure(pred, gt)
    assert found["label 1", "dice"].value == segauge.dice(pred, gt) == pytest.approx(2 / 3)
    with pytest.raises(InvalidInput, match="gt: labels are integers"):
        measure(pred, gt * 0.5)
    with pytest.raises(InvalidInput, match="pred: labels are integers"):
        measure(np.full(gt.shape, np.nan), gt)
