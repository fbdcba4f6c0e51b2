"""Missing values in files of earlier versions, where a sentence was all there was."""

import json

import numpy as np
import pytest

from segauge import Case, evaluate, read_result, read_scores
from segauge.io.compat import causes_of
from segauge.scores import Missing, Status

LACKING = "prediction missing: no file; the ground truth lacks the structure, so it counts neither way"


@pytest.mark.parametrize(
    ("status", "sentence", "expected"),
    [
        (Status.ABSENT, LACKING, Missing(Status.PREDICTION_MISSING, "no file", "nothing")),
        (Status.ABSENT, "the file does not have it", Missing(Status.ABSENT, "the file does not have it", "unknown")),
        (Status.ABSENT, LACKING.replace("prediction missing", "odd"), None),
        (Status.ABSENT, "unreadable: torn", Missing(Status.ABSENT, "unreadable: torn", "unknown")),
        (Status.MISSED, LACKING, Missing(Status.MISSED, LACKING, "failure")),
        (Status.UNREADABLE, "torn", Missing(Status.UNREADABLE, "torn", "failure")),
        (Status.PRESENT, "no hd: too thin", Missing(Status.PRESENT, "no hd: too thin", "nothing")),
    ],
)
def test_sentences_of_earlier_versions(status, sentence, expected):
    found = causes_of(status, sentence)[""]
    assert found == (expected or Missing(Status.ABSENT, LACKING.replace("prediction missing", "odd"), "unknown"))
    assert causes_of(status, {"": found.to_dict()}) == {"": found}


def test_no_sentence_is_no_cause():
    assert causes_of(Status.ABSENT, "") == {}


@pytest.mark.parametrize("reader", ["result", "scores"])
@pytest.mark.parametrize("written", ["today", "earlier"])
def test_a_result_of_an_earlier_version_says_the_same(tmp_path, reader, written):
    empty, box = np.zeros((2, 8, 8, 8), dtype=np.uint8)
    box[2:5, 2:5, 2:5] = 1
    result = evaluate([Case("a", box, box), Case("b", None, empty)], metrics=["dice", "hd95"])
    path = result.to_json(tmp_path / "r.json")
    if written == "earlier":
        data = json.loads(path.read_text())
        assert any("missing" in row for row in data["per_case"])
        for row in data["per_case"]:
            row.pop("missing", None)
        path.write_text(json.dumps(data))
    table = read_result(path).table if reader == "result" else read_scores(path).tables["r"]
    assert (
        table.missing
        == result.table.missing
        == {("b", "foreground"): Missing.lacking(Status.PREDICTION_MISSING, "there is no prediction for this case")}
    )
    assert table.case_failure("b") == result.failures["b"]
