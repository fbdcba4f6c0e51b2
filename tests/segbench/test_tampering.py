"""Records that somebody made nicer: each way of doing it is found by the level that can know."""

import json
import shutil

import pytest

from segbench.cli import main
from segbench.config import RunConfig
from segbench.pipeline import fetch_cases, make_predictions, make_record, open_benchmark, run, with_leaderboard
from segbench.prediction import PredictionSettings
from segbench.records import load_record, save_record
from segbench.verification import (
    failed_again,
    verify_config,
    verify_predictions,
    verify_scores,
    verify_statistics,
)
from tests.segbench.conftest import tiny_config


def tampered(config, change):
    """Return the record after a change to its JSON, with the statistics that follow from it."""
    plain = json.loads(config.results_path.read_text())
    change(plain)
    path = config.results_path.with_name("tampered.json")
    path.write_text(json.dumps(plain))
    return with_leaderboard(load_record(path))


def model(plain, name):
    return next(one for one in plain["models"] if one["card"]["name"] == name)


def perfect(plain, name="shifted"):
    """Give a model the best scores on all structures that are there."""
    for columns in plain["scores"][name]["structures"].values():
        for row, status in enumerate(columns["status"]):
            if status == "present":
                columns["dice"][row], columns["hd95"][row] = 1.0, 0.0


def without_hashes(plain):
    perfect(plain)
    model(plain, "shifted")["predictions"] = dict.fromkeys(model(plain, "shifted")["predictions"])


def without_predictions(plain):
    perfect(plain)
    model(plain, "shifted")["predictions"] = {}


def failure_with_scores(plain):
    perfect(plain)
    model(plain, "shifted")["predictions"]["tiny_00"] = None
    model(plain, "shifted")["failures"]["tiny_00"] = "crashed"


def structure_of_a_model_dropped(plain):
    del plain["scores"]["shifted"]["structures"]["lesion"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (without_hashes, "predictions.shifted.tiny_00"),
        (without_predictions, "predictions.shifted.tiny_03"),
        (failure_with_scores, "scores.shifted.tiny_00.organ.dice"),
        (structure_of_a_model_dropped, "scores.shifted (structures) (how many)"),
    ],
)
def test_scores_without_a_prediction_are_found_on_every_level(finished, change, path):
    record = tampered(finished, change)
    benchmark = open_benchmark(finished)
    cases = fetch_cases(benchmark)
    made = make_predictions(benchmark, cases, only_cached=True).predictions
    for found in (
        verify_statistics(record),
        verify_scores(record, cases, finished.cache_dir),
        verify_predictions(record, cases, made),
    ):
        assert path in [one.path for one in found.mismatches]


def test_changed_scores_of_predictions_that_are_the_same_are_found_when_these_are_made_again(finished):
    benchmark = open_benchmark(finished)
    cases = fetch_cases(benchmark)
    made = make_predictions(benchmark, cases, only_cached=True).predictions
    honest = verify_predictions(load_record(finished.results_path), cases, made)
    assert honest.holds
    assert honest.checked == "8 predictions, made and scored again"
    found = verify_predictions(tampered(finished, perfect), cases, made)
    assert "scores.shifted.tiny_00.organ.dice" in [one.path for one in found.mismatches]
    missing = verify_predictions(load_record(finished.results_path), cases, made[1:])
    assert [(one.path, one.recomputed) for one in missing.mismatches] == [
        ("predictions.exact.tiny_00", "not made again")
    ]


def test_marks_of_suspects_follow_from_the_scores(finished):
    def marked(plain):
        plain["suspects"].append({"model": "exact", "structure": "organ", "mean_dice": 0.01, "diagnosis": "swapped"})

    def unmarked(plain):
        for columns in plain["scores"]["shifted"]["structures"].values():
            columns["dice"] = [0.01 if status == "present" else None for status in columns["status"]]

    for change, path in ((marked, "suspects.exact.organ"), (unmarked, "suspects.shifted.organ")):
        assert path in [one.path for one in verify_statistics(tampered(finished, change)).mismatches]


def test_a_structure_said_to_be_absent_is_found_by_its_ground_truth(finished):
    def absent_for_all(plain):
        for scores in plain["scores"].values():
            columns = scores["structures"]["organ"]
            columns["status"][3], columns["dice"][3], columns["hd95"][3] = "absent", None, None

    record = tampered(finished, absent_for_all)
    cases = fetch_cases(open_benchmark(finished))
    found = [one.path for one in verify_scores(record, cases, finished.cache_dir).mismatches]
    assert "scores.exact.tiny_03.organ.status" in found


@pytest.mark.slow
def test_a_failure_that_is_none_is_found_in_the_folder_of_predictions(finished, tmp_path):
    """The best model is said to have crashed; its files are there for anyone to see."""
    ready = tmp_path / "ready"
    ready.mkdir()
    for path in sorted((tmp_path / "data").glob("*_labels.nii.gz")):
        shutil.copyfile(path, ready / path.name.replace("_labels", ""))
    (ready / "tiny_02.nii.gz").unlink()
    structures = {"organ": [1, 2], "lesion": 2, "left": 3}
    described = {"type": "predictions", "name": "ready", "folder": str(ready), "structures": structures}
    config = RunConfig.from_dict(tiny_config(tmp_path, models=[described]))
    run(config)

    def crashed(plain):
        entry = model(plain, "ready")
        entry["predictions"]["tiny_00"], entry["failures"]["tiny_00"] = None, "crashed"
        for columns in plain["scores"]["ready"]["structures"].values():
            columns["status"][0], columns["dice"][0], columns["hd95"][0] = "prediction missing", None, None

    benchmark = open_benchmark(config)
    cases = fetch_cases(benchmark)
    for record, expected in (
        (load_record(config.results_path), []),
        (tampered(config, crashed), ["failures.ready.tiny_00"]),
    ):
        tried = failed_again(record, benchmark, cases, PredictionSettings(tmp_path / "again", device="cpu"))
        found = verify_scores(record, cases, config.cache_dir, failed_again=tried)
        assert [one.path for one in found.mismatches] == expected
        assert found.notes == ()
        assert "(--again)" in verify_scores(record, cases, config.cache_dir).notes[0]


def cut(plain):
    """Take a case out of everything."""
    plain["cases"] = plain["cases"][1:]
    for entry in plain["models"]:
        for key in ("predictions", "failures"):
            entry[key].pop("tiny_00", None)
    for scores in plain["scores"].values():
        scores["cases"] = scores["cases"][1:]
        for columns in scores["structures"].values():
            for key in columns:
                columns[key] = columns[key][1:]


def cut_with_an_excuse(plain):
    cut(plain)
    plain["exclusions"].append({"model": "", "structure": "", "reason": "tiny_00 is left out for all: damaged"})


def no_competitor(plain):
    plain["models"] = [one for one in plain["models"] if one["card"]["name"] != "exact"]
    del plain["scores"]["exact"]


def other_card(plain):
    model(plain, "exact")["card"]["trained_on"] = None


def other_image(plain):
    plain["cases"][1]["image_sha256"] = "0" * 64


def other_metadata(plain):
    plain["cases"][1]["metadata"]["sex"] = "X"


def no_structure(plain):
    plain["structures"].remove("left")
    for scores in plain["scores"].values():
        del scores["structures"]["left"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (cut, "cases.tiny_00"),
        (cut_with_an_excuse, "exclusions"),
        (no_competitor, "models.exact"),
        (other_card, "models.exact.card.trained_on"),
        (lambda plain: model(plain, "exact").update(ranked=False), "models.exact.ranked"),
        (lambda plain: model(plain, "shifted")["options"].update(shift=3), "models.shifted.options.shift"),
        (other_image, "cases.tiny_01.image_sha256"),
        (other_metadata, "cases.tiny_01.metadata.sex"),
        (no_structure, "structures (how many)"),
        (lambda plain: plain["exclusions"].append({"model": "x", "structure": "", "reason": "y"}), "exclusions"),
        (lambda plain: plain["notes"].append("nothing odd"), "notes (how many)"),
        (lambda plain: plain["config"]["resolved"].update(seed=7), "config.resolved.seed"),
        (lambda plain: plain["protocol"]["options"].update(nsd_tolerance_mm=9.0), "protocol.options.nsd_tolerance_mm"),
        (lambda plain: plain["dataset"].update(licence="none"), "dataset.licence"),
    ],
)
def test_a_record_that_is_not_that_of_its_config(finished, change, path):
    benchmark = open_benchmark(finished)
    found = verify_config(tampered(finished, change), benchmark, fetch_cases(benchmark))
    assert path in [one.path for one in found.mismatches]


def test_an_honest_record_is_that_of_its_config(finished):
    benchmark = open_benchmark(finished)
    found = verify_config(load_record(finished.results_path), benchmark, fetch_cases(benchmark))
    assert found.holds
    assert "4 cases and 2 models" in found.checked


@pytest.mark.slow
def test_what_was_left_out_for_good_reasons_is_accepted(third_party, tmp_path):
    """A ground truth that cannot be read, and a structure that no case has."""
    config = RunConfig.from_dict(tiny_config(tmp_path, organs=["organ", "never"]))
    benchmark = open_benchmark(config)
    cases = fetch_cases(benchmark)
    cases[0].gt.write_bytes(cases[0].gt.read_bytes()[:60])
    save_record(make_record(benchmark, cases, make_predictions(benchmark, cases)), config.results_path)
    record = load_record(config.results_path)
    assert (len(record.cases), record.structures) == (3, ("organ",))
    assert verify_config(record, benchmark, cases).mismatches == ()


def test_the_command_says_what_it_did_not_check(finished, tmp_path, capsys):
    path = str(finished.results_path)
    assert main(["verify", path]) == 0
    said = capsys.readouterr().out
    assert "not checked: whether these are the cases, models, cards and settings of the config" in said
    (tmp_path / "config.json").write_text(json.dumps(tiny_config(tmp_path)))
    save_record(tampered(finished, cut), finished.results_path)
    assert main(["verify", path, "--config", str(tmp_path / "config.json")]) == 5
    said = capsys.readouterr().out
    assert "cases.tiny_00: published 'nothing', follows 'a case of the config'" in said
    assert "not checked: whether the scores follow from the predictions" in said
