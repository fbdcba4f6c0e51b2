"""Data frames in and out: what goes into a frame comes back with every number and every reason for none."""

import numpy as np
import pytest

import segauge
from segauge.errors import InvalidInput, MissingExtra
from segauge.io.tables import Repairs, metadata_column

KINDS = ("pandas", "polars")


@pytest.fixture(scope="module")
def result():
    gt = np.zeros((10, 10, 8), dtype=np.uint8)
    gt[2:6, 2:6, 2:6] = 1
    gt[7:9, 2:6, 2:6] = 2
    pred = np.roll(gt, 1, axis=1)
    pred[pred == 2] = 0
    cases = [
        segauge.Case("007", pred, gt, metadata={"sex": "F", "age": 61}),
        segauge.Case("008", None, gt, metadata={"sex": "M", "age": None}),
    ]
    return segauge.evaluate(cases, structures={"organ": 1, "lesion": 2}, metrics=["dice", "sensitivity", "hd95"])


def frame_of(kind, rows):
    module = pytest.importorskip(kind, reason=f"{kind} is not installed here")
    return module.DataFrame(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_comes_back_from_its_frame(result, kind):
    pytest.importorskip(kind, reason=f"{kind} is not installed here")
    frame = getattr(result, f"to_{kind}")()
    assert list(frame.columns)[:4] == ["case_id", "structure", "status", "reason"]
    assert len(frame) == 4
    (table,) = segauge.read_scores(frame).tables.values()
    assert table.cases == ("007", "008")
    assert set(table.metrics) == {"dice", "sensitivity", "hd95"}
    for case in table.cases:
        for name in table.structures:
            for key in table.metrics:
                assert table[case, name, key].value == result.table[case, name, key].value
            assert table[case, name, "dice"].status == result.table[case, name, "dice"].status


@pytest.mark.parametrize("kind", KINDS)
def test_missing_numbers_are_null_in_a_frame_and_the_columns_stay_numbers(result, kind):
    pytest.importorskip(kind, reason=f"{kind} is not installed here")
    frame = getattr(result, f"to_{kind}")()
    column = frame["hd95"]
    assert "loat64" in str(column.dtype)
    missing = int(column.isna().sum()) if kind == "pandas" else column.null_count()
    assert missing == 3


def test_the_csv_of_a_result_comes_back_too(result, tmp_path):
    (table,) = segauge.read_scores(result.to_csv(tmp_path / "r.csv")).tables.values()
    assert table["008", "organ", "dice"].status == segauge.Status.PREDICTION_MISSING
    assert table["007", "lesion", "dice"].status == segauge.Status.MISSED
    assert table["007", "organ", "hd95"].value == result.table["007", "organ", "hd95"].value


@pytest.mark.parametrize("kind", KINDS)
def test_plain_frames_are_read_wide_and_long_and_by_model(kind):
    wide = frame_of(kind, {"case": ["01", "02"], "liver": [0.9, 0.8], "spleen": [0.7, 0.6]})
    long = frame_of(kind, {"case": ["01", "02"], "structure": ["liver"] * 2, "metric": ["Dice"] * 2, "value": [0.5, 1]})
    tables = segauge.read_scores({"A": wide}, metric="dice").tables
    assert tables["A"]["02", "spleen", "dice"].value == 0.6
    tables = segauge.read_scores({"B": long, "C": long}).tables
    assert list(tables) == ["B", "C"]
    assert tables["C"]["01", "liver", "dice"].value == 0.5


def test_an_index_with_a_name_is_a_column():
    pd = pytest.importorskip("pandas", reason="pandas is not installed here")
    frame = pd.DataFrame({"dice": [0.25]}, index=pd.Index(["x"], name="case"))
    (table,) = segauge.read_scores(frame).tables.values()
    assert table["x", "structure", "dice"].value == 0.25


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_cell_is_judged_by_the_audit(kind):
    lacking = frame_of(kind, {"case": ["01", "02"], "dice": [0.9, None]})
    whole = frame_of(kind, {"case": ["01", "02"], "dice": [0.9, 0.8]})
    with pytest.raises(InvalidInput, match="1 cell is empty where another model has a score"):
        segauge.read_scores({"A": lacking, "B": whole})
    tables = segauge.read_scores({"A": lacking, "B": whole}, repairs=Repairs(empty="failed")).tables
    assert tables["A"]["02", "structure", "dice"].status.is_failure


@pytest.mark.parametrize("kind", KINDS)
def test_a_mistake_is_said_with_its_row(kind):
    frame = frame_of(kind, {"case": ["01", "02"], "dice": ["0.9", "good"]})
    with pytest.raises(InvalidInput, match=r"data frame row 1, column dice: expected a number"):
        segauge.read_scores(frame)


def test_columns_without_a_name_are_refused():
    pd = pytest.importorskip("pandas", reason="pandas is not installed here")
    with pytest.raises(InvalidInput, match="column's name is text"):
        segauge.read_scores(pd.DataFrame([["a", 0.5]]))


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_comes_from_frames(kind):
    frame = frame_of(kind, {"case_id": ["007", "008"], "sex": ["F", None]})
    found = segauge.read_metadata(frame)
    assert found["007"] == {"sex": "F"}
    assert metadata_column(found, "sex") == {"007": "F"}


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_package_the_extra_is_named(result, kind, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, kind, None)
    with pytest.raises(MissingExtra, match=rf"segauge\[{kind}\]"):
        getattr(result, f"to_{kind}")()
