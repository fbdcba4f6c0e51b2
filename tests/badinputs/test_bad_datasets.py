"""Each dataset that is wrong as a whole comes to what the catalog says, through the command line."""

import json
import re

import pytest

from segauge.cli import main
from segauge.errors import InvalidInput
from segauge.io.tables import read_scores
from tests.badinputs.catalog import CATALOG
from tests.badinputs.datasets import DATASETS
from tests.badinputs.pairs import PAIRS


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


def results(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_text(text)
    return read_scores(path)


def test_results_with_nan_and_infinity_are_read(tmp_path):
    """Bad input 49: both are no numbers; a distance that is infinite is a failure, not a score."""
    rows = '{"case_id": "a", "dice": 0.0, "hd95": Infinity}, {"case_id": "b", "dice": 0.5, "hd95": 3}'
    (table,) = results(tmp_path, f'{{"per_case": [{rows}]}}').tables.values()
    assert table["a", "structure", "hd95"].value is None
    assert table["a", "structure", "hd95"].status == "missed"
    assert table["b", "structure", "hd95"].value == 3.0


def test_results_with_a_case_twice_are_refused(tmp_path):
    """Bad input 49."""
    rows = '{"case_id": "a", "dice": 0.25}, {"case_id": "a", "dice": 0.5}'
    with pytest.raises(InvalidInput, match="1 scores of 1 cases stand twice with different values, such as a of"):
        results(tmp_path, f'{{"per_case": [{rows}]}}')


def test_the_catalogs_cover_all_fifty():
    here = {49}  # the two tests above
    numbers = {bad.number for bad in (*CATALOG, *PAIRS, *DATASETS)} | here
    assert numbers >= set(range(1, 51))
