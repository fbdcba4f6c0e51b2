"""The published KiTS23 results: they load, verify to the last digit, and are analysed anew."""

import json

import pytest

from segbench.boards import make_leaderboard
from segbench.cli import main
from segbench.records import load_record, save_record
from segbench.verification import verify_statistics

pytestmark = pytest.mark.shared

#: How many numbers each file publishes: summaries, rank statistics and pairs.
FILES = {"kits23_modal.json": 156, "kits23_seed.json": 100}


@pytest.fixture(params=FILES)
def path(request, shared):
    return shared / "data" / "segbench_kits23" / request.param


def test_every_published_number_follows_from_the_scores_to_the_last_digit(path):
    found = verify_statistics(load_record(path))
    assert found.mismatches == ()
    assert found.rounding == 0
    assert found.checked.startswith(f"{FILES[path.name]} published numbers")


def test_the_migrated_record_still_verifies(path, tmp_path):
    record = load_record(path)
    record = record.with_analysis(make_leaderboard(record).to_dict())
    back = load_record(save_record(record, tmp_path / "migrated.json"))
    assert back.fingerprint() == record.fingerprint()
    assert verify_statistics(back).holds


def test_one_changed_number_is_named_and_ends_with_5(path, tmp_path, capsys):
    old = json.loads(path.read_text())
    old["models"][0]["per_organ"]["kidney"]["summary"]["dice"]["ci_low"] += 0.01
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(old))
    assert main(["verify", str(changed)]) == 5
    name = old["models"][0]["name"]
    assert f"published.summary.{name}.kidney.dice.ci_low" in capsys.readouterr().out


def test_one_changed_score_is_noticed(path, tmp_path):
    old = json.loads(path.read_text())
    old["models"][0]["per_organ"]["kidney"]["per_case"][0]["dice"] += 0.001
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(old))
    assert not verify_statistics(load_record(changed)).holds


def test_the_kits23_board_of_today(shared):
    """CT-FM saw images of KiTS19 in its pre-training, so it is shown beside the ranking of the other two."""
    record = load_record(shared / "data" / "segbench_kits23" / "kits23_modal.json")
    board = make_leaderboard(record).board("kidney", "dice")
    assert [(row.model, row.place) for row in board.rows] == [("MOOSE", 1), ("TotalSegmentator", 1), ("CT-FM", None)]
    assert record["CT-FM"].exposure.level.value == "images"
    # The page of the reference says 0.904 [0.881, 0.922]; half a case beyond the 20 makes it wider on the low side.
    assert str(board["TotalSegmentator"].estimate) == "0.904 [0.858, 0.925]"
    assert board.sentence.startswith("Tie for first: MOOSE")


@pytest.mark.long
def test_touchstone_scores_become_a_record(shared, tmp_path, capsys):
    source = shared / "data" / "touchstone" / "totalsegmentator_results"
    output = tmp_path / "touchstone.json"
    arguments = ["import", str(source), "--dataset", "totalsegmentator", "--cases", "failed", "--empty", "absent"]
    assert main([*arguments, "--n-resamples", "200", "-o", str(output)]) == 0
    record = load_record(output)
    assert len(record.models) == 19
    assert [entry.name for entry in record.models if not entry.ranked] == ["SegVol"]
    assert len(record.cases) == 743
    assert verify_statistics(record).holds
    board = make_leaderboard(record).board("liver", "dice")
    # As the mean of its column says: 92.99.
    assert round(100 * board["MedNeXt"].estimate.value, 2) == 92.99
