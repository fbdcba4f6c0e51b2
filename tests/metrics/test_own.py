"""Metrics of one's own: in a measurement, in an evaluation, in statistics, and from an installed package."""

import math
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import segauge
from segauge import Case, evaluate, measure
from segauge.errors import InvalidInput, UnknownMetric
from segauge.metrics import catalog
from segauge.stats import rank, scale_of


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(catalog, "_REGISTERED", {})


def defined(key="volume_error", **facts):
    @segauge.define_metric(
        key,
        **{"unit": "ml", "direction": "lower", "bounds": (0.0, math.inf), **facts},
        definition="Absolute difference of the two volumes.",
    )
    def function(pred, gt, spacing):
        return abs(int(pred.sum()) - int(gt.sum())) * math.prod(spacing) / 1000

    return function


def pair():
    pred, gt = np.zeros((2, 8, 8, 8), dtype=np.uint8)
    pred[1:3, 1:3, 1:3], gt[1:3, 1:3, 1:5], gt[6, 6, 6] = 1, 1, 2
    return pred, gt


def test_it_is_measured_like_any_other():
    found = measure(*pair(), metrics=["dice", defined()], spacing=(1.0, 2.0, 5.0))
    assert found["label 1", "volume_error"].value == pytest.approx(8 * 10 / 1000)
    missed = found["label 2", "volume_error"]
    assert (missed.value, missed.status) == (None, segauge.Status.MISSED)
    assert measure(*pair(), metrics=defined(when_failed=1.0))["label 2", "volume_error"].value == 1.0


def test_its_key_works_in_evaluations_and_rankings():
    defined()
    result = evaluate([Case("a", *pair()), Case("b", *pair()[::-1])], metrics=["dice", "volume_error"])
    assert result.summary()["volume_error"].value > 0
    assert not scale_of("volume_error").higher_is_better
    order = rank({"A": [1.0, 2.0, 1.0], "B": [3.0, 3.0, 4.0]}, metric="volume_error", n_resamples=200)
    assert [model.name for model in order.models] == ["A", "B"]


def test_one_without_a_value_tells_so():
    @segauge.define_metric("never", definition="Never defined.")
    def never(pred, gt, spacing):
        return None

    assert measure(*pair(), metrics=[never])["label 1", "never"].reason == "no never: it is not defined for these masks"


def test_an_installed_package_offers_it(monkeypatch):
    made = defined("offered")
    catalog._REGISTERED.clear()
    module = type("module", (), {"offered": made, "other": 3})
    monkeypatch.setitem(__import__("sys").modules, "offering", module)
    points = [
        EntryPoint("offered", "offering:offered", catalog.GROUP),
        EntryPoint("other", "offering:other", catalog.GROUP),
    ]
    monkeypatch.setattr(catalog, "entry_points", lambda **_: points)
    assert measure(*pair(), metrics=["offered"])["label 1", "offered"].value == pytest.approx(0.008)
    with pytest.raises(InvalidInput, match="should lead to a metric of that key"):
        measure(*pair(), metrics=["other"])
    catalog._REGISTERED.clear()
    points.append(EntryPoint("offered", "elsewhere:offered", catalog.GROUP))
    with pytest.raises(InvalidInput, match="offered twice"):
        measure(*pair(), metrics=["offered"])


def test_what_cannot_be_one_is_refused():
    with pytest.raises(UnknownMetric, match="another key"):
        measure(*pair(), metrics=[defined("dice")])
    with pytest.raises(InvalidInput, match="direction"):
        segauge.define_metric("x", definition="x.", direction="up")
    with pytest.raises(InvalidInput, match="bounds"):
        segauge.define_metric("x", definition="x.", bounds=(1.0, 0.0))
    with pytest.raises(UnknownMetric, match="No metric 'volume_eror'"):
        measure(*pair(), metrics=["volume_eror"])


def test_surface_metrics_of_two_masks():
    pred, gt = (mask == 1 for mask in pair())
    spacing = (1.0, 2.0, 2.5)
    found = segauge.surface_metrics(pred, gt, spacing)
    for name in ("hd", "hd95", "assd", "masd"):
        assert getattr(segauge, name)(pred, gt, spacing) == found[name]
    with pytest.raises(segauge.errors.EmptyMask):
        segauge.hd95(pred, np.zeros_like(gt), spacing)
    with pytest.raises(InvalidInput, match="two masks"):
        segauge.assd(pred)
