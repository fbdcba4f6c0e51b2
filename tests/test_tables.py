"""One table, six formats: the same numbers in each, printed by the rules of digits; names that no format runs."""

import csv
import io
import json
import re

import pytest

from segauge.digits import column_decimals
from segauge.stats import estimate
from segauge.tables import Column, Noted, Table, latex_text, notes_of, table

DICE = estimate([0.91, 0.88, 0.93, 0.70, 0.95, 0.90], bounds=(0.0, 1.0))
SURE = estimate([0.910, 0.912, 0.911, 0.913, 0.909, 0.911], bounds=(0.0, 1.0))
DISTANCE = estimate([3.1, 4.0, 2.7, 12.5, 2.2, 3.3])
NOTHING = estimate([])


@pytest.fixture
def results():
    columns = [
        "structure",
        Column("dice", format="estimate"),
        Column("hd95", "mm", "estimate"),
        Column("n", format="count"),
        Column("p", format="p"),
    ]
    rows = [["liver", DICE, DISTANCE, 6, 0.00004], ["spleen_2", SURE, Noted(NOTHING, "(n = 0)"), 6, 0.25]]
    return table(columns, rows, "Means & intervals.", notes=["A note."])


def test_a_column_of_estimates_has_one_number_of_decimals(results):
    places = column_decimals([DICE, SURE])
    assert [row[1] for row in results.cells] == [DICE.text(places), SURE.text(places)]
    decimals = {len(number.partition(".")[2]) for row in results.cells for number in re.findall(r"[0-9.]+", row[1])}
    assert decimals == {places}
    assert [row[4] for row in results.cells] == ["< 0.001", "0.250"]
    assert results.cells[1][2] == "no value (n = 0)"


def test_csv_and_json_have_every_digit_and_an_estimate_in_three_cells(results):
    rows = list(csv.DictReader(io.StringIO(results.csv())))
    assert list(rows[0]) == [
        "structure", "dice", "dice low", "dice high", "hd95", "hd95 low", "hd95 high", "hd95 note", "n", "p"
    ]  # fmt: skip
    assert [float(rows[0][f"dice{end}"]) for end in ("", " low", " high")] == [DICE.value, DICE.ci_low, DICE.ci_high]
    assert rows[1]["hd95"] == ""
    found = json.loads(json.dumps(results.json(), allow_nan=False))
    assert found["rows"][0]["hd95 high"] == DISTANCE.ci_high
    assert found["rows"][1]["hd95"] is None
    assert found["columns"][2] == {"name": "hd95", "title": "hd95", "unit": "mm"}
    assert found["notes"] == ["A note."]


def test_numbers_that_are_none_do_not_reach_json():
    odd = table([Column("x", format="number")], [[float("nan")], [float("inf")], [1.5]])
    assert [row["x"] for row in odd.json()["rows"]] == [None, None, 1.5]


@pytest.mark.parametrize("width", [30, 60, 100, 160])
def test_a_terminal_gets_every_cell_at_any_width(results, width):
    text = results.text(width)
    assert max(map(len, text.splitlines())) <= max(width, len(results.caption))
    joined = re.sub(r"[^A-Za-z0-9.]", "", text)
    for cell in (cell for row in results.cells for cell in row):
        assert all(word in joined for word in re.findall(r"[A-Za-z0-9.]+", cell)), cell
    assert text.count("Means & intervals.") == 1


def test_ascii_terminals_get_ascii_lines(results):
    assert results.text(plain=True).isascii()
    assert not results.text().isascii()


def test_wide_letters_keep_the_walls_in_line():
    # Counted as letters, the row of the wide name would be two columns too long.
    lines = table(
        ["name", "x"], [["\N{CJK UNIFIED IDEOGRAPH-809D}\N{CJK UNIFIED IDEOGRAPH-810F}", "1"], ["ab", "2"]]
    ).text()
    first, second = (line for line in lines.splitlines() if line.startswith("\N{BOX DRAWINGS LIGHT VERTICAL}"))
    assert len(first) + 2 == len(second)


def test_latex_needs_booktabs_only(results):
    text = results.latex(label="tab:one")
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    assert begun == list(reversed(ended)) == ["table", "tabular"]
    spec = re.search(r"begin{tabular}{([lr]+)}", text)[1]
    assert spec == "lrrrr"
    body = text.partition("\\midrule")[2].partition("\\bottomrule")[0]
    assert all(len(re.split(r"(?<!\\)&", line)) == len(spec) for line in body.strip().splitlines())
    # \textquotedbl and \textquotesingle stop LaTeX in the default encoding without further packages.
    assert latex_text("\"'`") == r"{\char34}{\char39}{\char96}"
    assert latex_text("a \N{MINUS SIGN} b \N{GREATER-THAN OR EQUAL TO} c").isascii()
    negative = table([Column("gap", format="number")], [[-0.25]]).latex()
    assert "$-$0.250" in negative


def test_notes_of_several_tables_are_given_once(results):
    other = table(["a"], [["b"]], notes=["A note.", "Another."])
    assert notes_of([results, other]) == ("A note.", "Another.")


def test_html_is_text(results):
    hostile = table(["<b>", Column("n", format="count")], [["<script>", 3]] * 5, "a & b")
    text = hostile.html(most=2)
    assert "<script>" not in text
    assert "<b>" not in text
    assert text.count("<tr>") == 3
    assert "and 3 more rows" in text


def test_rows_must_fit_the_columns():
    with pytest.raises(ValueError, match="expected 1 cells"):
        Table((Column("a"),), (("b", "c"),))
