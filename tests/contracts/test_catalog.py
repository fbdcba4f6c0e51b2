"""Promises over every metric of the catalog, and a proof that each promise can be broken."""

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest

import segauge
from segauge import CATALOG, DEFAULT_METRICS, Status, measure, metric
from segauge.errors import UnknownMetric
from segauge.metrics.catalog import ALIASES, FAMILIES, FOREIGN, FORMER_NAMES, described, resolve_metrics
from segauge.scores import MetricInfo, ScoreTable
from segauge.stats.missing import estimate_resolved, resolve, scale_of

UNITS = {"1", "mm", "ml", "count"}
KEYS = [*CATALOG, *[family.example for family in FAMILIES]]


def labels_of(kind):
    """A pair of label maps in one of the four states, or a perfect one."""
    pred, gt = np.zeros((2, 14, 15, 16), np.uint8)
    if kind in ("present", "missed", "perfect"):
        gt[3:10, 4:11, 5:12] = 1
    if kind in ("present", "spurious"):
        pred[4:11, 4:11, 5:11] = 1
    return (gt if kind == "perfect" else pred), gt


def values_in(kind, key):
    return measure(*labels_of(kind), {"organ": 1}, [key], spacing=(1.0, 1.5, 2.5))["organ", key]


def complaints_about_facts(info):
    """Return what is wrong with the facts of a metric."""
    wrong = []
    if not (info.name and info.definition.endswith(".")):
        wrong.append("no name, or a definition that is no sentence")
    if info.unit not in UNITS:
        wrong.append(f"unit {info.unit}")
    if info.direction not in ("higher", "lower", "none"):
        wrong.append(f"direction {info.direction}")
    if not info.bounds[0] < info.bounds[1]:
        wrong.append(f"bounds {info.bounds}")
    if info.when_failed is not None and not info.bounds[0] <= info.when_failed <= info.bounds[1]:
        wrong.append("value of a failure out of bounds")
    return wrong


def complaints_about_values(info, value_in):
    """Return what is wrong with the values of a metric; `value_in(state)` gives its Score."""
    wrong = []
    for kind in ("present", "missed", "spurious", "absent", "perfect"):
        value = value_in(kind).value
        if value is not None and not info.bounds[0] <= value <= info.bounds[1]:
            wrong.append(f"{kind}: {value} out of bounds")
        if value is not None and not math.isfinite(value):
            wrong.append(f"{kind}: not finite")
    if value_in("present").value is None:
        wrong.append("no value where both masks are there")
    if info.when_failed is not None:
        wrong += [kind for kind in ("missed", "spurious") if value_in(kind).value != info.when_failed]
    if value_in("absent").value != info.when_absent:
        wrong.append("absent")
    best = {"higher": info.bounds[1], "lower": info.bounds[0], "none": None}[info.direction]
    perfect = value_in("perfect").value
    if best is not None and math.isfinite(best) and perfect != pytest.approx(best, abs=1e-12):
        wrong.append(f"identical masks get {perfect} instead of {best}")
    return wrong


@pytest.mark.parametrize("key", KEYS)
def test_facts_are_complete(key):
    assert not complaints_about_facts(metric(key))
    assert metric(key).key == key


@pytest.mark.parametrize("key", KEYS)
def test_values_keep_to_the_facts_in_every_state(key):
    assert not complaints_about_values(metric(key), lambda kind: values_in(kind, key))


@pytest.mark.parametrize("key", KEYS)
def test_the_state_is_right_in_every_state(key):
    for kind in ("present", "missed", "spurious", "absent"):
        assert values_in(kind, key).status is Status(kind)


def test_these_promises_can_be_broken():
    info = metric("dice")
    assert complaints_about_facts(dataclasses.replace(info, definition="", unit="px", bounds=(1, 0), direction="up"))
    too_large = dataclasses.replace(info, function=lambda _: 2.0)
    wrong = complaints_about_values(too_large, lambda _: dataclasses.replace(values_in("present", "dice"), value=2.0))
    assert any("out of bounds" in each for each in wrong)
    assert "missed" in wrong
    assert any("identical masks" in each for each in wrong)


def test_keys_are_unique_and_defaults_exist():
    assert all(isinstance(info, MetricInfo) and info.key == key for key, info in CATALOG.items())
    assert set(DEFAULT_METRICS) <= set(CATALOG)
    assert [info.key for info in resolve_metrics(None)] == list(DEFAULT_METRICS)
    assert len(resolve_metrics("all")) == len(CATALOG)
    assert [info.key for info in resolve_metrics(["dice", "dice"])] == ["dice"]


def test_hd95_of_the_family_is_hd95_of_the_catalog():
    assert metric("hd95.0").name == metric("hd95").name


@pytest.mark.parametrize("key", ["", "hd", "dice ", "nsd@", "hd-5", "nsd@x"])
def test_only_what_exists_is_found(key):
    if key in CATALOG:
        assert metric(key) is CATALOG[key]
    else:
        with pytest.raises(UnknownMetric, match="There are dice"):
            metric(key)


def test_every_metric_that_is_a_score_has_its_scale_from_the_catalog():
    for info in CATALOG.values():
        if info.direction == "none":
            with pytest.raises(UnknownMetric, match="a measurement, not a score"):
                scale_of(info.key)
        else:
            assert scale_of(info.key).bounds == info.bounds
            assert scale_of(info.key).higher_is_better == (info.direction == "higher")


def test_other_names_lead_to_the_catalog_and_hide_none_of_its_keys():
    assert all(metric(key) for key in ALIASES.values())
    assert not (set(ALIASES) | set(FOREIGN)) & (set(CATALOG) | set(FORMER_NAMES))
    assert not set(ALIASES) & set(FOREIGN)
    assert described(" DSC ").key == "dice"
    assert described("NSD@2").key == "nsd@2"
    assert described("dsc@0.5").key == "dice"
    assert described("mcc").bounds == (-1.0, 1.0)
    assert described("beauty") is None


def test_counts_and_shares_have_no_unit_wherever_they_are_printed():
    """A mean number of lesions was printed as "1.0 [...] count", and its figure had an axis "in count"."""
    info, distance = metric("lesion_fp"), metric("hd95")
    table = ScoreTable(("a", "b"), ("tumour",), ("lesion_fp",), [[[1.0]], [[3.0]]], [["present"], ["present"]])
    found = estimate_resolved(resolve(table, "tumour", "lesion_fp"), info.scale)
    assert "count" not in f"{found} {info.title} {info.heading} {info.text(2.0)}"
    assert (distance.title, distance.heading) == ("95 % Hausdorff distance in mm", "95 % Hausdorff distance (mm)")
    assert distance.text(12.34) == "12.3 mm"
    assert distance.facts == "In mm, from 0 upwards; lower is better."
    assert info.scale == scale_of("lesion_fp")


def test_units_are_compared_in_one_place():
    """Thirteen places decided which units are printed, and two of them forgot the counts."""
    copies = re.compile(r"""unit (not )?in \(""")
    source = Path(segauge.__file__).parents[1]
    found = {path.relative_to(source).as_posix() for path in source.rglob("*.py") if copies.search(path.read_text())}
    assert found <= {"segauge/digits.py", "segauge/metrics/catalog.py"}, found
