"""What a reader must know of a metric stands in its name: a surface Dice without its tolerance says nothing."""

from dataclasses import replace

import pytest

from segauge.report.comparison import ModelComparison
from segauge.report.methods import paragraph
from segauge.report.summary import Summary
from segauge.report.tables import result_table

from .examples import synthetic


@pytest.fixture(scope="module")
def result():
    return synthetic()


def with_tolerance(result, tolerance):
    options = {**result.protocol["options"], "nsd_tolerance_mm": tolerance}
    return replace(result, protocol={**result.protocol, "options": options})


def test_the_surface_dice_is_named_with_its_tolerance(result):
    summary = Summary(with_tolerance(result, 2.0))
    name = "Normalized surface Dice at 2 mm"
    assert name in [column.title for column in result_table(summary, ["dice", "nsd"]).columns]
    assert {row.metric.name for row in summary.rows if row.metric.key == "nsd"} == {name}
    assert any(name in sentence for sentence in summary.sentences())
    assert "normalized surface Dice at 2 mm" in paragraph(summary)
    # What has its tolerance in its key keeps it, and what has none gets none.
    assert "Normalized surface Dice at 5 mm" in {info.name for info in summary.known}
    assert {info.name for info in summary.known if info.key == "dice"} == {"Dice coefficient"}


def test_the_page_has_the_tolerance_wherever_the_surface_dice_stands(result):
    for module in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(module, reason="the report needs segauge[report]")
    from segauge.report.html import report_text

    text = report_text(with_tolerance(result, 2.0))
    name = "Normalized surface Dice at 2 mm"
    for shown in (f">{name}</th>", f"<h3>{name}</h3>", '"nsd at 2 mm"', f'"{name}"'):
        assert shown in text


def test_tolerances_that_differ_are_said_per_structure(result):
    summary = Summary(with_tolerance(result, {"liver": 3.0, "pancreas": 2.0, "left kidney": 2.0}))
    rows = {row.structure: row.metric.name for row in summary.rows if row.metric.key == "nsd"}
    assert rows["liver"] == "Normalized surface Dice at 3 mm"
    assert rows["pancreas"] == "Normalized surface Dice at 2 mm"
    assert "Normalized surface Dice (tolerance per structure)" in {info.name for info in summary.leading}
    assert "was liver 3 mm, pancreas 2 mm, left kidney 2 mm." in paragraph(summary)
    same = Summary(with_tolerance(result, {"liver": 2.0, "pancreas": 2.0, "left kidney": 2.0}))
    assert "Normalized surface Dice at 2 mm" in {info.name for info in same.leading}
    assert "The tolerance" not in paragraph(same)


def test_the_methods_say_when_a_lesion_is_found(result):
    rule = (
        "share a face; predicted and ground-truth lesions match from an IoU of 0.25, one to one, the highest IoU first."
    )
    options = {**result.protocol["options"], "detection_iou": 0.25}
    found = replace(result, protocol={**result.protocol, "options": options})
    assert rule in paragraph(Summary(found))
    kept = [i for i, info in enumerate(result.metrics) if info.key != "lesion_f1"]
    table = replace(
        result.table,
        metrics=tuple(result.table.metrics[i] for i in kept),
        values=result.table.values[:, :, kept],
    )
    without = replace(found, table=table, metrics=tuple(result.metrics[i] for i in kept))
    assert "match from" not in paragraph(Summary(without))


def test_models_measured_with_different_tolerances_are_not_named_by_one(result):
    def name(*tolerances):
        models = {f"model {i}": with_tolerance(result, mm) for i, mm in enumerate(tolerances)}
        return next(info.name for info in ModelComparison(models).metrics if info.key == "nsd")

    assert name(2.0, 2.0) == "Normalized surface Dice at 2 mm"
    assert name(1.0, 2.0) == "Normalized surface Dice (tolerances differ between the models)"
