"""SegaugeMetric in MONAI's hands: batches, lists, MetaTensors, handlers; what it says equals `measure`."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")
monai = pytest.importorskip("monai", reason="MONAI is not installed here")

from monai.data import MetaTensor, decollate_batch  # noqa: E402
from monai.metrics import CumulativeIterationMetric, DiceMetric  # noqa: E402

from segauge import MissingPolicy, measure  # noqa: E402
from segauge.errors import InvalidInput, ShapeMismatch  # noqa: E402
from segauge.integrations.monai import Aggregate, SegaugeMetric  # noqa: E402

EDGES = (0.8, 1.0, 2.5)


def label_maps():
    """Return two cases of labels; the second has no label 2, and its prediction none of label 1."""
    gt = torch.zeros(2, 1, 14, 15, 16, dtype=torch.int64)
    gt[:, 0, 3:9, 3:9, 3:9] = 1
    gt[0, 0, 10:13, 3:7, 3:7] = 2
    pred = torch.roll(gt, 1, dims=3)
    pred[1] = 0
    return pred, gt


def one_hot(labels, classes=3):
    return torch.cat([(labels == number) for number in range(classes)], dim=1).float()


def expected(pred, gt, metrics, spacing=EDGES):
    return [
        measure(p.numpy(), g.numpy(), {"a": 1, "b": 2}, metrics, spacing=spacing).table.values[0]
        for p, g in zip(pred[:, 0], gt[:, 0], strict=True)
    ]


@pytest.mark.parametrize("kinds", [("labels", "labels"), ("hot", "hot"), ("hot", "labels"), ("labels", "hot")])
def test_every_kind_of_tensor_gives_what_measure_gives(kinds):
    sides = [one_hot(side) if kind == "hot" else side for side, kind in zip(label_maps(), kinds, strict=True)]
    metric = SegaugeMetric(["dice", "hd95"], structures=["a", "b"], spacing=EDGES)
    returned = metric(*sides)
    wanted = expected(*label_maps(), ["dice", "hd95"])
    np.testing.assert_array_equal(metric.result().table.values, wanted)
    np.testing.assert_array_equal(returned.numpy(), np.array(wanted)[:, :, 0])
    np.testing.assert_array_equal(metric.get_buffer().numpy(), np.array(wanted)[:, :, 0])


def test_nothing_is_dropped_from_the_mean_in_silence():
    pred, gt = label_maps()
    metric = SegaugeMetric("dice", structures=["a", "b"])
    metric(pred, gt)
    found = metric.aggregate()
    assert isinstance(found, float)
    first = expected(pred, gt, ["dice"])[0][:, 0]
    # The missed structure counts as 0; the one that is in neither mask is left out, and said so.
    assert found.item() == pytest.approx((first.sum() + 0) / 3, rel=1e-15)
    estimate = found.estimates["dice"]
    assert (estimate.n, dict(estimate.failed), dict(estimate.excluded)) == (3, {"missed": 1}, {"absent": 1})
    assert estimate.ci_low < found < estimate.ci_high
    assert "1 missed" in repr(found)
    assert float(str(found)) == found
    lenient = SegaugeMetric("dice", structures=["a", "b"], policy=MissingPolicy(failed="exclude"))
    lenient(pred, gt)
    left = lenient.aggregate().estimates["dice"]
    # Asked to leave failures out, it leaves out the missed structure's Dice of 0 as well, and says so.
    assert (left.n, dict(left.failed), dict(left.excluded)) == (2, {}, {"missed": 1, "absent": 1})


def test_dice_is_that_of_monai():
    pred, gt = (one_hot(side) for side in label_maps())
    theirs = DiceMetric(include_background=False, reduction="none")
    theirs(pred, gt)
    ours = SegaugeMetric("dice")
    ours(pred, gt)
    # MONAI computes in float32. Both give NaN where the ground truth has nothing to find.
    np.testing.assert_allclose(ours.get_buffer().numpy(), theirs.aggregate().numpy(), rtol=1e-6)


def test_voxel_edges_come_from_the_metadata_of_batches_and_of_lists():
    pred, gt = label_maps()
    wanted = expected(pred, gt, ["hd95"])
    affine = torch.diag(torch.tensor([-EDGES[0], EDGES[1], EDGES[2], 1.0], dtype=torch.float64))
    items = [MetaTensor(case, affine=affine) for case in gt]
    for metric, sides in (
        (SegaugeMetric("hd95", structures=["a", "b"]), (list(pred), items)),
        (SegaugeMetric("hd95", structures=["a", "b"]), (pred, MetaTensor(gt, affine=affine))),
        (SegaugeMetric("hd95", structures=["a", "b"]), (pred, collated(items))),
        (SegaugeMetric("hd95", structures=["a", "b"]), (list(pred), decollate_batch(collated(items)))),
    ):
        metric(*sides)
        # The affine of a MetaTensor goes through a norm and back.
        np.testing.assert_allclose(metric.result().table.values, wanted, rtol=1e-12)


def collated(items):
    from monai.data.utils import list_data_collate

    return list_data_collate([{"label": item} for item in items])["label"]


def test_each_case_may_have_voxels_of_its_own():
    pred, gt = label_maps()
    pred[1] = torch.roll(gt[1], 1, dims=2)
    metric = SegaugeMetric("hd95", structures=["a", "b"])
    metric(pred, gt, spacing=[EDGES, (2.0, 2.0, 2.0)])
    metric(list(pred), list(gt), spacing=[EDGES, (2.0, 2.0, 2.0)])
    first, second, third, fourth = metric.result().table.values
    np.testing.assert_array_equal([first, second], [third, fourth])
    assert second[0] == 2.0


def test_distances_without_voxel_edges_are_refused_but_overlap_is_not():
    pred, gt = label_maps()
    for metric in ("hd95", "biou", "lesionwise_dice@brats-2023-gli"):
        with pytest.raises(InvalidInput, match="the size of a voxel is unknown"):
            SegaugeMetric(["dice", metric], structures=["a", "b"])(pred, gt)
    SegaugeMetric("dice", structures=["a", "b"])(pred, gt)


def test_pictures_regions_and_background():
    gt = torch.zeros(1, 1, 8, 8, dtype=torch.int64)
    gt[0, 0, 2:6, 2:6] = 1
    pred = torch.roll(gt, 1, dims=2)
    metric = SegaugeMetric("dice", include_background=True)
    metric(pred, gt)
    assert metric.structures == ("background", "foreground")
    assert metric.get_buffer().tolist() == [[(64 - 20) / (64 - 16), 0.75]]
    both = torch.cat([gt == 0, gt == 1, gt == 1], dim=1)  # channels that overlap
    regions = SegaugeMetric("dice", structures={"whole": (1, 2), "core": 2})
    regions(both, both)
    assert regions.get_buffer().tolist() == [[1.0, 1.0]]


def test_reset_forgets_everything():
    metric = SegaugeMetric("dice")
    metric(*(one_hot(side) for side in label_maps()))
    assert (len(metric), metric.structures) == (2, ("class 1", "class 2"))
    metric.reset()
    assert (len(metric), metric.structures) == (0, ())
    with pytest.raises(InvalidInput, match="No batch has been measured"):
        metric.aggregate()


@pytest.mark.parametrize(
    ("sides", "options", "words"),
    [
        (lambda _, g: (torch.rand(2, 3, 14, 15, 16), one_hot(g)), {}, "probabilities or logits"),
        (lambda p, g: (p, g), {}, "label 2, but only labels below 2"),
        (lambda p, g: (one_hot(p), one_hot(g)), {"structures": ["a"]}, "3 channels, background included"),
        (lambda p, g: (one_hot(p), one_hot(g)), {"structures": {"a": 7}}, "3 channels"),
        (lambda p, g: (one_hot(p, 4), one_hot(g)), {}, "4 channels and y has 3"),
        (lambda p, g: (2 * one_hot(p), one_hot(g)), {}, "should hold 0 and 1"),
        (lambda p, g: (p[:1], g), {}, "same batch"),
        (lambda p, g: (list(p), list(g)[:1]), {}, "as many ground truths"),
        (lambda p, _: (p, None), {}, "got .* none"),
        (lambda p, g: (p, g), {"structures": "ab"}, "list of names"),
        (lambda p, g: (p, g), {"structures": {"all": 0}}, "include_background"),
        (lambda p, g: (p[:, :, 0, 0], g[:, :, 0, 0]), {"structures": ["a", "b"]}, "2 or 3 axes"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(sides, options, words):
    pred, gt = label_maps()
    with pytest.raises((InvalidInput, ShapeMismatch), match=words):
        SegaugeMetric("dice", **options)(*sides(pred, gt))


def test_what_no_batch_could_use_is_refused_at_once():
    with pytest.raises(InvalidInput, match="surface"):
        SegaugeMetric("hd95", surface="round")
    with pytest.raises(InvalidInput, match="convention"):
        SegaugeMetric("hd95", convention="mona")
    with pytest.raises(TypeError, match="nsd_tolerence"):
        SegaugeMetric("nsd", nsd_tolerence=2)


def test_options_reach_the_measurement():
    pred, gt = label_maps()
    pred[1] = gt[1]
    found = {}
    for convention in (None, "monai"):
        metric = SegaugeMetric("assd", structures=["a", "b"], spacing=EDGES, convention=convention)
        metric(pred, gt)
        found[convention] = metric.get_buffer()[0, 0].item()
    wanted = measure(pred[0, 0].numpy(), gt[0, 0].numpy(), {"a": 1}, ["assd"], spacing=EDGES, convention="monai")
    assert found["monai"] == wanted["a", "assd"].value
    assert found["monai"] != found[None]


def test_the_result_answers_as_any_other():
    metric = SegaugeMetric(["dice", "hd95"], structures=["a", "b"], spacing=EDGES)
    metric(*label_maps())
    result = metric.result()
    assert result.summary()["dice"].value == metric.aggregate().item()
    assert "| a |" in result.to_markdown()
    assert result.to_dict()["n_cases"] == 2
    assert math.isnan(Aggregate(absent_result()))


def absent_result():
    nothing = torch.zeros(1, 1, 6, 6, 6, dtype=torch.int64)
    metric = SegaugeMetric("dice")
    metric(nothing, nothing)
    return metric.result()


def test_the_handlers_of_monai_take_it_for_their_own(tmp_path):
    pytest.importorskip("ignite", reason="pytorch-ignite is not installed here")
    from monai.engines import SupervisedEvaluator
    from monai.handlers import IgniteMetricHandler, MetricsSaver, from_engine

    pred, gt = (one_hot(side) for side in label_maps())
    metric = SegaugeMetric(["dice", "hd95"], structures=["a", "b"], spacing=EDGES)
    assert isinstance(metric, CumulativeIterationMetric)
    evaluator = SupervisedEvaluator(
        device=torch.device("cpu"),
        val_data_loader=[{"image": pred, "label": gt}],
        network=torch.nn.Identity(),
        key_val_metric={"dice": IgniteMetricHandler(metric_fn=metric, output_transform=from_engine(["pred", "label"]))},
        val_handlers=[MetricsSaver(save_dir=str(tmp_path), metric_details="*", summary_ops="*")],
    )
    evaluator.run()
    assert evaluator.state.metrics["dice"] == metric.aggregate()
    assert evaluator.state.best_metric == metric.aggregate()
    assert "dice," in (tmp_path / "metrics.csv").read_text().replace("\t", ",")
    assert len((tmp_path / "dice_raw.csv").read_text().splitlines()) == 3
