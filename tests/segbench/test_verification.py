"""Verification can fail: every kind of difference is found and named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from segauge.errors import InvalidInput
from segbench.boards import make_leaderboard
from segbench.cli import main
from segbench.records import load_record, save_record
from segbench.verification import mismatches, verify_statistics
from tests.segbench.made_up import record, three_models


@pytest.fixture
def analysed():
    made = three_models()
    return made.with_analysis(json.loads(json.dumps(make_leaderboard(made).to_dict())))


def test_an_honest_record_holds(analysed):
    found = verify_statistics(analysed)
    assert found.holds
    assert found.rounding == 0
    assert "all of it follows" in str(found)


def leaves(tree, path=()):
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield from leaves(part, (*path, key))
    elif isinstance(tree, list):
        for i, part in enumerate(tree):
            yield from leaves(part, (*path, i))
    else:
        yield path, tree


def changed(tree, path, value):
    copy = json.loads(json.dumps(tree))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


def test_every_single_value_of_an_analysis_is_checked(analysed):
    """Change each leaf in turn: each change must be found. (The comparison itself, without computing it anew.)"""
    analysis = analysed.analysis
    count = 0
    for path, value in leaves(analysis):
        other = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, (int, float)) else "x"
        assert len(list(mismatches(changed(analysis, path, other), analysis))) == 1, path
        count += 1
    assert count == len(list(leaves(analysis))) > 100


def test_a_number_that_was_made_nicer_is_named(analysed):
    nicer = changed(analysed.analysis, ("boards", 0, "rows", 0, "win_probability"), 0.9999)
    (found,) = verify_statistics(analysed.with_analysis(nicer)).mismatches
    assert found.path == "analysis.boards[organ dice].rows[best].win_probability"
    assert "published 0.9999" in str(found)


def test_last_digits_are_rounding_and_said_to_be(analysed):
    value = analysed.analysis["boards"][0]["rows"][0]["value"]
    rounded = changed(analysed.analysis, ("boards", 0, "rows", 0, "value"), value * (1 + 1e-13))
    found = verify_statistics(analysed.with_analysis(rounded))
    assert found.holds
    assert found.rounding == 1
    assert "but for rounding" in str(found)


def test_a_model_that_was_let_into_the_ranking_by_hand_is_named(analysed):
    made = record(dict(analysed.tables), levels={"best": "labels"})
    cheated = replace(made, models=tuple(replace(entry, ranked=True) for entry in made.models))
    cheated = cheated.with_analysis(make_leaderboard(cheated).to_dict())
    assert [one.path for one in verify_statistics(cheated).mismatches] == ["models.best.ranked"]


def test_an_exposure_that_was_made_cleaner_is_named(analysed):
    made = record(dict(analysed.tables), levels={"best": "labels"})
    clean = analysed.models[0].exposure
    entries = tuple(replace(one, exposure=clean, ranked=True) if one.name == "best" else one for one in made.models)
    cheated = replace(made, models=entries)
    cheated = cheated.with_analysis(make_leaderboard(cheated).to_dict())
    found = {one.path for one in verify_statistics(cheated).mismatches}
    assert {"models.best.exposure.level", "models.best.ranked"} <= found


def test_missing_and_additional_keys_count():
    assert [m.path for m in mismatches({"a": 1, "b": 2}, {"a": 1})] == ["b"]
    assert [m.path for m in mismatches({"a": 1}, {"a": 1, "b": None})] == ["b"]
    assert [m.path for m in mismatches({"a": [1, 2]}, {"a": [1]})] == ["a (how many)"]
    assert [m.path for m in mismatches({"a": True}, {"a": 1})] == ["a"]


def test_rules_that_nobody_knows_are_refused(analysed):
    other = changed(analysed.analysis, ("rules",), "segbench-99")
    with pytest.raises(InvalidInput, match="segbench-99"):
        verify_statistics(analysed.with_analysis(other))
    with pytest.raises(InvalidInput, match="has no statistics yet"):
        verify_statistics(three_models())


def test_an_older_record_says_how_it_is_made_again(analysed, tmp_path, capsys):
    older = changed(analysed.analysis, ("rules",), "segbench-1")
    path = save_record(analysed.with_analysis(older), tmp_path / "run.json")
    assert main(["verify", str(path)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "made by older rules, 'segbench-1'" in said
    assert "`segbench verify FILE --write` makes it again" in said
    assert main(["reanalyze", str(path), "--write"]) == 0
    assert load_record(path).analysis == analysed.analysis
    assert main(["verify", str(path)]) == 0


def test_a_record_without_prediction_files_says_so(analysed, tmp_path, capsys):
    path = save_record(analysed, tmp_path / "run.json")
    assert main(["verify", str(path), "--predictions", str(tmp_path)]) == 1
    assert "pass --config of the run" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["patients", "penalty", "ranks"])
def test_a_record_of_earlier_rules_is_checked_by_these(name):
    """Records of segbench-4, made before there were other rules, were refused."""
    made = load_record(Path(__file__).parent / "records_of_rules" / f"segbench-4-{name}.json")
    assert verify_statistics(made).holds
    nicer = changed(made.analysis, ("boards", 0, "standings", 0, "estimate", "ci_low"), 0.99)
    (found,) = verify_statistics(made.with_analysis(nicer)).mismatches
    assert found.path.endswith("estimate.ci_low")
