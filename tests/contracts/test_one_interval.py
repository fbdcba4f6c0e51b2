"""The interval of one mean is the same numbers wherever it is shown: terminal, JSON, CSV, LaTeX, HTML and board."""

import csv
import io
import json

import pytest

from segauge.digits import column_decimals
from segauge.report.comparison import ModelComparison
from segauge.report.summary import Summary
from segauge.report.tables import estimate_table, result_table
from tests.report.examples import synthetic

STRUCTURES = ("liver", "pancreas")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", ["dice", "nsd", "hd95"])
def test_every_page_shows_the_same_interval(seed, metric):
    """LaTeX printed 0.989374 where the terminal printed 0.989; CSV and JSON have every digit of the same numbers."""
    result = synthetic(5 + 7 * seed, STRUCTURES, curve=False, seed=seed)
    table = result_table(Summary(result), [metric])
    places = column_decimals(result.summary(name)[metric] for name in STRUCTURES)
    plain = json.loads(json.dumps(result.to_dict()))["structures"]
    rows = list(csv.DictReader(io.StringIO(estimate_table(Summary(result)).csv())))
    for name in STRUCTURES:
        found = result.summary(name)[metric]
        printed = found.text(places)
        # The pages of text: one function, one rounding.
        for page in (table.text(), table.latex(), table.markdown(), table.html()):
            assert printed in page
        # The files of numbers: every digit.
        expected = (found.value, found.ci_low, found.ci_high)
        assert tuple(plain[name][metric][key] for key in ("value", "ci_low", "ci_high")) == expected
        (row,) = (row for row in rows if row["structure"] == name and row["metric"] == metric)
        assert tuple(float(row[key]) for key in ("mean", "low", "high")) == expected


@pytest.mark.parametrize("seed", range(4))
def test_a_board_shows_the_interval_of_the_result(seed):
    results = {name: synthetic(12, ("liver",), curve=False, seed=10 * seed + k) for k, name in enumerate("abc")}
    comparison = ModelComparison(results)
    rows = [row for row in comparison.board.rows if row.estimate.n == results[row.model].summary("liver")["dice"].n]
    assert rows  # a model whose cases the others share, all of them
    for row in rows:
        own = results[row.model].summary("liver")["dice"]
        assert (row.value, row.estimate.ci_low, row.estimate.ci_high) == (own.value, own.ci_low, own.ci_high)
        assert row.estimate.text() == own.text()
