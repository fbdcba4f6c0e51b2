"""Noise floors in reports: the numbers of the result, said only where they were measured, names escaped."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("altair", reason="the report needs segauge[report]")
pytest.importorskip("jinja2", reason="the report needs segauge[report]")

from segauge.metrics.catalog import metric
from segauge.report import figures
from segauge.report.comparison import ModelComparison
from segauge.report.comparison_page import comparison_illustrations, comparison_text
from segauge.report.figures import Interval, forest
from segauge.report.floors import amount, floor_sentences
from segauge.report.html import report_text, rounded
from segauge.report.summary import Summary
from segauge.report.tables import estimate_table, result_table
from segauge.scores import Status
from segauge.stats.noise_floors import Floor

from .examples import HOSTILE, synthetic

SPACING = "are within the noise floor at this spacing"


def with_noise(result, sd, keys=("dice", "hd95")):
    """Return a result with the noise of some metrics, the same in every case that has a number."""
    table = result.table
    columns = [np.where(np.isnan(table.values[:, :, table.metrics.index(key)]), np.nan, sd) for key in keys]
    values = np.concatenate([table.values, np.stack(columns, axis=-1)], axis=-1)
    noise = tuple(f"{key}_noise" for key in keys)
    table = replace(table, metrics=(*table.metrics, *noise), values=values)
    return replace(result, table=table, metrics=(*result.metrics, *map(metric, noise)))


def tables_of(page):
    return {name: json.loads(text) for name, text in
            re.findall(r'<script type="application/json" id="data-(\w+)">(.*?)</script>', page, re.DOTALL)}  # fmt: skip


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch):
    """Figures take most of the time of a page, and are drawn in other tests."""
    monkeypatch.setattr(figures, "inline_svg", lambda *_, **__: "<svg></svg>")


@pytest.fixture(scope="module")
def result():
    return with_noise(synthetic(curve=False), 0.02)


def test_the_page_shows_the_floors_of_the_result(result):
    page = report_text(result)
    assert "95 % Hausdorff distance: differences below 0.055 mm" in page  # 1.96 * sqrt(2) * 0.02
    assert page.count(SPACING) == 2
    assert "floor 0.055" in page
    assert "The noise floor of a metric is 1.96 times the square root of 2" in page
    assert page.count("<strong>Noise floor</strong>") == 1
    columns = {one["name"]: one for one in tables_of(page)["estimates"]["columns"]}
    rows = Summary(result).rows
    assert columns["noise floor"]["values"] == [row.floor and rounded(row.floor.one_case) for row in rows]
    assert "95 %" in columns["noise floor"]["hint"]
    assert columns["noise floor of means"]["values"][0] == rounded(rows[0].floor.of_mean)
    assert "noise floor unknown" not in columns
    assert not any("Noise floor" in columns["metric"]["texts"][i] for i in columns["metric"]["values"])


def test_without_measured_noise_nothing_is_said():
    page = report_text(synthetic(curve=False))
    assert SPACING not in page
    assert "noise floor" not in page.lower()
    plain = Summary(synthetic())
    assert not any("loor" in note for note in result_table(plain).notes)
    assert "noise floor" not in [column.title for column in estimate_table(plain).columns]


def test_tables_of_text_have_them_beside_the_interval(result):
    summary = Summary(result)
    table = result_table(summary, ["dice", "hd95", "nsd"])
    assert all("floor 0.055" in row[1] and "floor 0.055" in row[2] for row in table.cells)
    assert not any("floor" in row[3] for row in table.cells)
    assert any("position of the voxel grid alone" in note for note in table.notes)
    rows = estimate_table(summary)
    titles = [column.title for column in rows.columns]
    first = dict(zip(titles, rows.rows[0], strict=True))
    floor = summary.floors["liver"]["dice"]
    assert first["noise floor"] == floor.one_case
    assert first["noise floor of means"] == floor.of_mean
    assert len(rows.rows) == len(result.structures) * (len(result.metrics) - 2)


def test_a_floor_that_is_not_known_has_its_reason():
    found = with_noise(synthetic(6, ("cyst",), curve=False, seed=1), 0.02)
    values = found.table.values.copy()
    values[0, 0, found.table.metrics.index("hd95_noise")] = np.nan
    reason = "no hd95_noise: on some grid an object falls between the voxels"
    table = replace(found.table, values=values, missing={(found.table.cases[0], "cyst"): reason})
    assert table.status[0, 0] is Status.PRESENT
    page = report_text(replace(found, table=table))
    assert f"Without a noise floor of 95 % Hausdorff distance: 1 case of cyst: {reason}." in page
    columns = {one["name"]: one for one in tables_of(page)["estimates"]["columns"]}
    assert f"1 case: {reason}" in columns["noise floor unknown"]["texts"]
    nowhere = Floor("cyst", "hd95", 0, 2, None, ("a <b>reason</b>",))
    assert floor_sentences([metric("hd95")], {"cyst": {"hd95": nowhere}}) == [
        "Without a noise floor of 95 % Hausdorff distance: 2 cases of cyst: a <b>reason</b>."
    ]


def test_names_of_structures_are_escaped():
    page = report_text(with_noise(synthetic(8, HOSTILE[:3], curve=False), 0.02))
    assert SPACING in page
    assert HOSTILE[0] not in page
    assert HOSTILE[1] not in page


def test_sentences_name_few_structures_one_by_one_and_of_many_the_ends():
    hd95 = metric("hd95")
    floors = {
        name: {"hd95": Floor(name, "hd95", 4, 0, sd)} for name, sd in zip("dcba", (0.4, 0.3, 0.2, 0.1), strict=True)
    }
    assert "0.28 mm (a) to 1.1 mm (d) are" in floor_sentences([hd95], floors)[0]
    del floors["d"]
    assert "0.28 mm (a), 0.55 mm (b) and 0.83 mm (c) are" in floor_sentences([hd95], floors)[0]
    assert "below 0.83 mm are" in floor_sentences([hd95], {"c": floors["c"]})[0]
    assert floor_sentences([metric("iou")], floors) == []
    assert floor_sentences([hd95], {}) == []


@pytest.mark.parametrize(("value", "text"), [
    (0.0812, "0.081 mm"), (0.0, "0 mm"), (123.4, "120 mm"), (0.00012, "0.00012 mm"), (0.00002, "0.0001 mm"),
])  # fmt: skip
def test_amounts_have_two_digits_and_no_exponent(value, text):
    assert amount(value, "mm") == text
    assert amount(value, "1") == text.removesuffix(" mm")


def compared(sd, shift):
    first = synthetic(30, ("liver",), curve=False)
    values, status = first.table.values.copy(), first.table.status.copy()
    status[:] = Status.PRESENT
    values[np.isnan(values)] = 0.5
    first = with_noise(replace(first, table=replace(first.table, values=values, status=status)), sd)
    moved = first.table.values.copy()
    moved[:, :, first.table.metrics.index("dice")] -= shift
    second = replace(first, table=replace(first.table, values=moved))
    return ModelComparison({"<b>a</b>": first, "b": second}, "dice", n_resamples=1000)


def test_a_comparison_says_which_differences_lie_below_the_floor():
    comparison = compared(0.05, 0.01)
    dice = comparison.deciding
    floor = comparison.floor(dice, "<b>a</b>", "b")
    assert floor == pytest.approx(1.96 * np.sqrt(2 * 0.05**2 / 30))
    ((pair, known),) = comparison.below_floor(dice)
    assert known == floor
    assert abs(pair.delta) == pytest.approx(0.01)
    page = comparison_text(comparison)
    assert f"&lt;b&gt;a&lt;/b&gt; and b (0.01, floor {floor:.2g})" in page
    assert "<b>a</b>" not in page
    columns = {one["name"]: one for one in tables_of(page)["pairs"]["columns"]}
    assert columns["noise floor"]["values"][0] == rounded(floor)
    assert columns["below it"]["texts"][columns["below it"]["values"][0]] == "yes"
    differences = next(one for one in comparison_illustrations(comparison) if one.key == "differences")
    assert "Grey bars" in differences.caption
    assert f'"to":{floor:.6}'[:12] in json.dumps(differences.make().to_dict(), separators=(",", ":"))


def test_a_comparison_above_the_floor_or_without_one():
    above = compared(0.001, 0.01)
    assert above.below_floor(above.deciding) == []
    first, second = above.results.values()
    bare = [replace(one, table=replace(one.table, values=one.table.values[:, :, :-2], metrics=one.table.metrics[:-2]),
                    metrics=one.metrics[:-2]) for one in (first, second)]  # fmt: skip
    without = ModelComparison(dict(zip("ab", bare, strict=True)), "dice", n_resamples=1000)
    assert without.floor_sentences() == []
    assert "noise floor" not in comparison_text(without)


def test_a_comparison_says_why_a_floor_is_not_known():
    known = compared(0.05, 0.01)
    first, second = known.results.values()
    values = second.table.values.copy()
    values[:, 0, second.table.metrics.index("dice_noise")] = np.nan
    reasons = {(case, "liver"): "a reason" for case in second.table.cases}
    second = replace(second, table=replace(second.table, values=values, missing=reasons))
    comparison = ModelComparison({"a": first, "b": second}, "dice", n_resamples=1000)
    assert comparison.floor(comparison.deciding, "a", "b") is None
    assert "b: Without a noise floor of Dice coefficient: 30 cases of liver: a reason." in comparison.sentences()


def test_a_band_widens_the_axis():
    rows = [Interval("a", 0.1, 0.0, 0.2, band=(-0.5, 0.5))]
    plain = [replace(row, band=None) for row in rows]
    bars = [json.dumps(forest(given, axis="x", reference=0.0).to_dict()) for given in (rows, plain)]
    assert '"to": 0.5' in bars[0]
    assert '"to"' not in bars[1]
