"""explain(): a metric in words, and the answers of all conventions on one pair."""

import json

import numpy as np
import pytest

import segauge
from segauge.cli import main
from segauge.errors import InvalidInput, UnknownMetric
from segauge.explanation import explain
from segauge.metrics.conventions import CONVENTIONS

ALL = ["truth", "segauge", *CONVENTIONS]


@pytest.mark.parametrize("key", ["hd", "hd95", "hd90", "assd", "masd", "nsd", "nsd@2"])
def test_the_built_in_pair_has_an_answer_of_everybody_and_the_truth(key):
    explanation = explain(key)
    assert [answer.convention for answer in explanation.answers] == ALL
    values = {answer.convention: answer.value for answer in explanation.answers}
    # thick slices: nobody is further from the truth than a slice, and no share by more than a half
    assert values["segauge"] == pytest.approx(values["truth"], abs=0.5 if key.startswith("nsd") else 2.5)


def test_the_conventions_do_not_agree():
    """What the command is for: the same pair, five different numbers."""
    values = [answer.value for answer in explain("hd95").answers]
    assert len({round(value, 3) for value in values}) >= 5


def test_only_percentiles_are_said_to_be_the_larger_of_two_directions(capsys):
    assert all(answer.percentile for answer in explain("hd95").answers)
    for key in ("assd", "masd", "nsd@2"):
        assert {answer.percentile for answer in explain(key).answers} == {""}
        assert main(["explain", key]) == 0
        assert "two directions," not in capsys.readouterr().out


def test_own_pair_is_measured_on_the_label_asked_for():
    pred, gt = np.zeros((2, 12, 12, 12), dtype=np.uint8)
    pred[2:8, 2:8, 2:8], gt[2:8, 2:8, 4:10] = 7, 7
    maps = (segauge.LabelMap.from_array(array, 2.0, source=name) for array, name in ((pred, "a"), (gt, "b")))
    explanation = explain("hd", *maps, label=7)
    assert explanation.pair == "a and b, label 7"
    assert {answer.convention: answer.value for answer in explanation.answers} == dict.fromkeys(ALL[1:], 4.0)


def test_a_metric_without_surfaces_is_explained_in_words():
    explanation = explain("dice")
    assert explanation.answers == ()
    assert "2 TP" in explanation.metric.definition


def test_half_a_pair_and_unknown_metrics_are_refused():
    with pytest.raises(InvalidInput, match="both, or neither"):
        explain("hd", gt=segauge.LabelMap.from_array(np.ones((3, 3, 3), dtype=np.uint8)))
    with pytest.raises(UnknownMetric, match="hd95"):
        explain("hd_95")


def test_command(capsys, tmp_path):
    assert main(["explain", "hd95"]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("95 % Hausdorff distance", "MONAI 1.6.1", "closed form"))
    mask = np.zeros((6, 6, 6), dtype=np.uint8)
    mask[2:4, 2:4, 2:4] = 1
    np.save(tmp_path / "mask.npy", mask)
    files = ["--pred", str(tmp_path / "mask.npy"), "--gt", str(tmp_path / "mask.npy")]
    assert main(["explain", "assd", *files, "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [answer["value"] for answer in answers] == [0.0, 0.0, 0.0, None, 0.0]
