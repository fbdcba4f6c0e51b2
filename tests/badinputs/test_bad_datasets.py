"""Each dataset that is wrong as a whole comes to what the catalog says, through the command line."""

import json
import re

import pytest

from segauge.cli import main
from segauge.io.tables import read_scores
from tests.badinputs.catalog import CATALOG
from tests.badinputs.datasets import DATASETS, missing_prediction
from tests.badinputs.pairs import PAIRS
from tests.badinputs.results import RESULTS, nan_and_infinity
from tests.badinputs.test_bad_runs import RUNS


@pytest.mark.parametrize("bad", DATASETS, ids=lambda bad: f"{bad.number}-{bad.name}")
def test_bad_dataset(bad, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "220")
    more = bad.make(tmp_path)
    out = tmp_path / "result.json"
    command = ["eval", "--pred", str(tmp_path / "pred"), "--gt", str(tmp_path / "gt"), "--executor", "serial"]
    code = main([*command, "--resamples", "100", "--json", str(out), *more])
    printed = capsys.readouterr()
    assert code == bad.code, printed
    assert re.search(bad.says, printed.out + printed.err), printed
    if code in (0, 3):
        data = json.loads(out.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        rows = {row["case_id"]: row for row in data["per_case"]}
        assert re.search(bad.noted, json.dumps(data["notes"]))
        for case, facts in bad.rows.items():
            assert {key: rows[case][key] for key in facts} == facts
    if bad.csv:
        assert re.search(bad.csv, (tmp_path / "out.csv").read_text(), re.DOTALL)


@pytest.mark.parametrize("bad", RESULTS, ids=lambda bad: f"{bad.number}-{bad.name}")
def test_bad_results(bad, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "220")
    code = main([bad.command, str(bad.make(tmp_path))])
    printed = capsys.readouterr()
    assert code == bad.code, printed
    assert re.search(bad.says, printed.out + printed.err), printed


def test_infinite_distances_are_failures_and_no_scores(tmp_path):
    (table,) = read_scores(nan_and_infinity(tmp_path)).tables.values()
    assert table["a", "structure", "hd95"].value is None
    assert table["a", "structure", "hd95"].status == "missed"
    assert table["b", "structure", "hd95"].value == 3.0


def test_missing_predictions_stay_out_of_the_mean_only_if_allowed(tmp_path):
    missing_prediction(tmp_path)
    for flags, mean, n in (([], 0.5, 2), (["--allow-missing"], 1.0, 1)):
        command = ["eval", "--pred", str(tmp_path / "pred"), "--gt", str(tmp_path / "gt"), "--executor", "serial"]
        main([*command, "--resamples", "100", "--json", str(tmp_path / "r.json"), *flags])
        dice = json.loads((tmp_path / "r.json").read_text())["summary"]["dice"]
        assert (dice["value"], dice["n"]) == (mean, n)


def test_the_catalogs_cover_all_fifty():
    numbers = {bad.number for bad in (*CATALOG, *PAIRS, *DATASETS, *RESULTS, *RUNS)}
    assert numbers == set(range(1, 51))
