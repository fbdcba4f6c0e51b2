"""Scores that contradict themselves are refused when a record is read, with the place."""

import json
from dataclasses import replace

import numpy as np
import pytest

from segauge import CATALOG, Case, evaluate
from segauge.errors import InvalidInput
from segbench.records import load_record, save_record
from segbench.records.tables import require_consistent
from tests.segbench.made_up import record, table

SCORES = [[0.9, 1.0], [0.0, np.nan], [np.nan, np.nan]]


@pytest.fixture
def written(tmp_path):
    """Return how a changed record of two models is written: present, missed and absent, with a prediction of each."""
    made = record({name: table(SCORES, metrics=("dice", "hd95"), missed=[(1, 0)]) for name in ("a", "b")})
    hashes = dict.fromkeys(made.case_ids, "0" * 64)
    path = save_record(
        replace(made, models=tuple(replace(entry, predictions=hashes) for entry in made.models)), tmp_path / "run.json"
    )

    def write(case, status, dice, hd95, *, with_predictions=True):
        plain = json.loads(path.read_text())
        columns = plain["scores"]["a"]["structures"]["organ"]
        columns["status"][case], columns["dice"][case], columns["hd95"][case] = status, dice, hd95
        if not with_predictions:
            for entry in plain["models"]:
                entry["predictions"] = {}
        path.write_text(json.dumps(plain))
        return path

    return write


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ((0, "prediction missing", 0.9, None), "is 'prediction missing', so dice should have no value, got 0.9"),
        ((0, "failed", None, 2.0), "is 'failed', so hd95 should have no value, got 2"),
        ((0, "present", None, 1.0), "is 'present', so dice should have a value, got none"),
        ((0, "present", 0.9, None), "is 'present', so hd95 should have a value, got none"),
        ((1, "missed", 0.9, None), "is 'missed', so dice should have 0, got 0.9"),
        ((1, "missed", 0.0, 3.0), "is 'missed', so hd95 should have no value, got 3"),
        ((2, "absent", 1.0, None), "is 'absent', so dice should have no value, got 1"),
        ((0, "absent", None, None), "has organ in the scores of b, and not in those of a"),
        ((2, "spurious", 0.0, None), None),
        ((2, "missed", 0.0, None), "has organ in the scores of a, and not in those of b"),
        ((1, "prediction missing", None, None), None),
    ],
)
def test_a_status_and_a_number_that_exclude_each_other(written, cell, words):
    path = written(*cell)
    if words is None:
        assert load_record(path)
    else:
        with pytest.raises(InvalidInput, match=words) as caught:
            load_record(path)
        assert str(caught.value).startswith("run.json: ")


def test_of_scores_that_were_made_elsewhere_less_is_known(written):
    assert load_record(written(0, "present", 0.9, None, with_predictions=False))
    assert load_record(written(1, "failed", 0.0, None, with_predictions=False))
    with pytest.raises(InvalidInput, match="dice should have no value"):
        load_record(written(0, "prediction missing", 0.9, None, with_predictions=False))


def test_whatever_is_measured_is_consistent():
    """Every metric of every kind of pair: in both masks, in one, in none, and without a prediction."""
    nothing = np.zeros((10, 9, 8), dtype=np.uint8)
    box, voxel, whole = nothing.copy(), nothing.copy(), nothing + np.uint8(1)
    box[2:6, 2:7, 1:5] = 1
    voxel[8, 8, 7] = 1
    masks = (nothing, box, voxel, whole)
    cases = [Case(f"{i} {j}", masks[i], masks[j]) for i in range(4) for j in range(4)]
    cases += [Case("lost", None, box), Case("lost, and nothing there", None, nothing)]
    metrics = [*CATALOG, "hd97.5", "nsd@2", "fbeta@0.5", "hd95_noise"]
    found = evaluate(
        [replace(case, spacing=(1.0, 1.5, 2.0)) for case in cases], structures={"organ": 1}, metrics=metrics
    ).table
    require_consistent({"a": found}, measured_here=True)
