"""Tables for papers: the numbers of the result, and names that no format can take for markup."""

import csv
import io
import json
import re

import numpy as np
import pytest

from segauge.digits import column_decimals
from segauge.errors import InvalidInput, UnknownMetric
from segauge.evaluation import Case, evaluate, read_result
from segauge.report.notable import surprising_cases, worst_cases
from segauge.report.summary import Summary
from segauge.report.tables import estimate_table, result_table
from segauge.scores import Status
from segauge.tables import latex_text, markdown_text

from .examples import HOSTILE, balls, phantom_result, synthetic


@pytest.fixture(scope="module")
def result():
    return synthetic()


def test_a_row_per_structure_with_the_numbers_of_the_result(result):
    table = result_table(Summary(result), ["dice", "hd95"])
    assert [column.head for column in table.columns][:3] == [
        "structure",
        "Dice coefficient",
        "95 % Hausdorff distance (mm)",
    ]
    for row in table.cells:
        found = result.summary(row[0])
        # A column has one number of decimals, whatever each interval asks for.
        places = [column_decimals(result.summary(name)[key] for name in result.structures) for key in ("dice", "hd95")]
        assert row[1] == found["dice"].text(places[0])
        assert row[2].startswith(found["hd95"].text(places[1]))
        assert str(found["hd95"].n) in row[2] or found["hd95"].n == found["dice"].n
    with pytest.raises(UnknownMetric, match="has no metric 'nonsense'"):
        result_table(Summary(result), ["nonsense"])


def test_the_notes_name_the_interval_of_each_metric_shown(result):
    notes = " ".join(result_table(Summary(result), ["dice", "hd95"]).notes)
    assert "half-case (dice, hd95)" in notes
    assert "assigned the worst value" in notes


def test_estimates_have_every_number_in_a_cell_of_its_own(result):
    table = estimate_table(Summary(result))
    assert len(table.rows) == len(result.structures) * len(result.metrics)
    first = dict(zip([column.title for column in table.columns], table.rows[0], strict=True))
    assert first["mean"].value == result.summary("liver")["dice"].value
    assert first["sd"].value == result.summary("liver")["dice"].spread.sd
    assert first["method"] == "half-case"
    assert int(first["missed"]) == result.table.status_counts("liver").get(Status.MISSED, 0)


def test_a_case_without_a_prediction_was_not_measured_and_not_missed():
    gt = np.zeros((8, 8, 8), dtype=np.uint8)
    gt[2:6, 2:6, 2:6] = 1
    cases = [Case("a", gt, gt), Case("b", np.zeros_like(gt), gt), Case("c", None, gt), Case("d", gt[:4], gt)]
    found = Summary(evaluate(cases, metrics=["dice"]))
    assert "2 of 4 cases could not be measured" in " ".join(found.sentences())
    assert "Missed: foreground (1 case)." in " ".join(found.sentences())
    table = estimate_table(found)
    row = dict(zip([column.title for column in table.columns], table.rows[0], strict=True))
    assert (row["n"], row["missed"], row["spurious"], row["not measured"]) == (4, 1, 0, 2)


@pytest.mark.parametrize("name", HOSTILE)
def test_latex_has_no_command_that_is_not_ours(name):
    text = latex_text(name)
    words = "backslash|asciitilde|asciicircum|less|greater|bar"
    known = rf"\\text(?:{words})\{{\}}|\{{\\char(?:34|39|96)\}}|\\[{{}}$&#_%]"
    rest = re.sub(known, "", text)
    assert not set(rest) & set("\\{}$&#%^_~<>\"|`'")
    assert "\n" not in text
    assert "\x00" not in text


def test_a_latex_row_cannot_begin_with_a_bracket():
    table = result_table(Summary(synthetic(12, ("[1cm] odd", "*star"))))
    rows = table.latex().split("\\midrule")[1].splitlines()
    assert not [row for row in rows if row.strip().startswith(("[", "*"))]


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_is_text(name):
    text = markdown_text(name)
    assert not re.search(r"<[a-zA-Z/!]", text)
    assert not re.search(r"(?<!\\)[|`*_]", text)
    assert not re.search(r"https?:", text)
    assert "\n" not in text


def test_markdown_and_latex_of_hostile_structures_keep_their_shape():
    found = synthetic(12, HOSTILE)
    lines = found.to_markdown().splitlines()
    # Bars that are not escaped make the cells: as many in every row as in the header.
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in lines[: 2 + len(HOSTILE)]]
    assert len(set(bars)) == 1
    text = found.to_latex()
    assert text.count("\\\\\n") == len(HOSTILE) + 1
    assert "\\input{" not in text


def test_notebooks_show_text_as_text():
    shown = synthetic(12, HOSTILE[:4])._repr_html_()
    assert "<script>" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown


def test_csv_of_a_table_runs_nothing(tmp_path):
    from segauge.report.exports import write_tables

    pytest.importorskip("altair")
    summary = Summary(synthetic(12, HOSTILE[:4]))
    paths = write_tables({"results": result_table(summary)}, tmp_path)
    assert sorted(path.suffix for path in paths) == [".csv", ".json", ".md", ".tex"]
    rows = list(csv.reader(io.StringIO((tmp_path / "results.csv").read_text())))
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "@")]


def test_the_summary_counts_failures_and_what_cannot_be_excluded():
    _, result = phantom_result()
    words = " ".join(Summary(result).sentences())
    assert "5 cases, one structure (organ)" in words
    assert "Missed: organ (1 case)." in words
    fine = evaluate([Case(f"c{i}", balls(), balls()) for i in range(20)], metrics=["dice"], n_resamples=100)
    # The exact upper limit of 0 of 20 is 1 - 0.025 ** (1 / 20) = 16.8 %; of equal scores the tail is 1 minus that.
    assert (
        "None of the 20 cases failed; that alone does not exclude up to 17 % failures, and the mean Dice coefficient "
        "of foreground could then be 0.832."
    ) in " ".join(Summary(fine).sentences())


def test_a_case_without_a_readable_ground_truth_is_no_worst_case():
    cases = [Case("fine", balls(), balls()), Case("torn", balls(), "gone.nii")]
    result = evaluate(cases, metrics=["dice"], n_resamples=100)
    assert [one.case for one in worst_cases(result, Summary(result).leading[0])] == ["fine"]


def test_worst_cases_begin_with_failures_and_surprises_are_found():
    _, result = phantom_result()
    info = Summary(result).leading[0]
    assert worst_cases(result, info)[0].case == "missed"
    only = worst_cases(result, info, among=(Status.PRESENT,))
    assert "missed" not in [one.case for one in only]
    found = synthetic(40, ("liver",), curve=False)
    values = found.table.values.copy()
    values[7, 0, found.table.metrics.index("dice")] = 0.2
    from dataclasses import replace

    status = found.table.status.copy()
    status[7, 0] = Status.PRESENT
    changed = replace(found, table=replace(found.table, values=values, status=status))
    assert surprising_cases(changed, Summary(changed).leading)[0].case == "case_0007"


def test_a_result_comes_back_from_its_file(tmp_path):
    _, result = phantom_result()
    path = result.to_json(tmp_path / "result.json")
    back = read_result(path)
    np.testing.assert_array_equal(back.table.values, result.table.values)
    assert back.to_markdown() == result.to_markdown()
    assert Summary(back).sentences() == Summary(result).sentences()
    path.write_text(json.dumps({"schema": "something else"}))
    with pytest.raises(InvalidInput, match="expected a result that `segauge eval --json` wrote"):
        read_result(path)


def test_an_estimate_without_a_value_has_no_unit():
    gt = balls()
    result = evaluate([Case(f"case {i}", np.zeros_like(gt), gt) for i in range(3)], structures={"organ": 1})
    distance = result.summary("organ")["hd95"]
    assert (distance.value, distance.unit) == (None, "mm")
    assert str(distance) == "no value"


def test_structures_that_do_equally_well_are_neither_weakest_nor_strongest():
    gt = np.where(balls() > 0, 1, 2 * balls(centre=(6, 6, 6), radius=4)).astype(np.uint8)
    cases = [Case(f"case {i}", gt, gt) for i in range(3)]
    result = evaluate(cases, structures={"organ": 1, "node": 2}, metrics=["dice"])
    assert not [sentence for sentence in Summary(result).sentences() if "Weakest" in sentence]
    assert [sentence for sentence in Summary(synthetic()).sentences() if "Weakest: " in sentence]
