"""Records that somebody made nicer: each way of doing it is found by the level that can know."""

import json
import shutil
import sys

import pytest

from segauge.errors import InvalidInput
from segbench.cards import DatasetCard, ModelCard, exposure, known_lineage, model_card
from segbench.cli import main
from segbench.config import RunConfig
from segbench.pipeline import fetch_cases, make_predictions, make_record, open_benchmark, run, with_leaderboard
from segbench.prediction import PredictionSettings
from segbench.records import load_record, save_record
from segbench.scoring.scores import CHANGED
from segbench.verification import (
    failed_again,
    verify_config,
    verify_predictions,
    verify_scores,
    verify_statistics,
)
from segbench.verification.scores import recorded_files
from segbench.verification.statistics import card_mismatches
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


def renamed(plain):
    model(plain, "exact")["card"]["name"] = "better"
    plain["scores"]["better"] = plain["scores"].pop("exact")


def doubled(plain):
    plain["cases"].append(plain["cases"][0])


def test_a_case_that_is_there_twice_is_refused(finished):
    with pytest.raises(InvalidInput, match="names a case twice"):
        tampered(finished, doubled)


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
        (renamed, "models.better"),
        (renamed, "models.exact"),
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


def exchanged(plain):
    """Exchange scores and predictions of the two models: the record agrees with itself."""
    one, other = model(plain, "exact"), model(plain, "shifted")
    one["predictions"], other["predictions"] = other["predictions"], one["predictions"]
    plain["scores"]["exact"], plain["scores"]["shifted"] = plain["scores"]["shifted"], plain["scores"]["exact"]


def exchanged_cases(plain):
    """Exchange two cases of one model, with their scores."""
    made = model(plain, "exact")["predictions"]
    made["tiny_00"], made["tiny_02"] = made["tiny_02"], made["tiny_00"]
    for columns in plain["scores"]["exact"]["structures"].values():
        for values in columns.values():
            values[0], values[2] = values[2], values[0]


def taken_over(plain):
    """Give the weaker model the predictions and scores of the better one."""
    model(plain, "shifted")["predictions"] = dict(model(plain, "exact")["predictions"])
    plain["scores"]["shifted"] = json.loads(json.dumps(plain["scores"]["exact"]))


def one_prediction_taken_over(plain):
    model(plain, "shifted")["predictions"]["tiny_00"] = model(plain, "exact")["predictions"]["tiny_00"]
    for name, columns in plain["scores"]["shifted"]["structures"].items():
        for key, values in columns.items():
            values[0] = plain["scores"]["exact"]["structures"][name][key][0]


def made_up_hash(plain):
    model(plain, "shifted")["predictions"]["tiny_00"] = "0" * 64


def better_case(plain):
    plain["scores"]["shifted"]["structures"]["organ"]["dice"][0] = 0.999


def truth_said_to_be_another(plain):
    plain["cases"][0]["gt_sha256"] = "0" * 64


def metric_changed(plain):
    plain["scores"]["exact"]["structures"]["organ"]["hd95"][0] = 0.25


def scored_by_other_labels(plain):
    model(plain, "exact")["card"]["structures"]["organ"] = [2]


def found_at_level_2(config, change):
    cases = fetch_cases(open_benchmark(config))
    return [one.path for one in verify_scores(tampered(config, change), cases, config.cache_dir).mismatches]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        # The first four: "all of it follows", since files were looked up by their hash anywhere.
        (exchanged, "predictions.exact.tiny_00"),
        (exchanged_cases, "predictions.exact.tiny_02"),
        (taken_over, "predictions.shifted.tiny_02"),
        (one_prediction_taken_over, "predictions.shifted.tiny_00"),
        (made_up_hash, "predictions.shifted.tiny_00"),
        (better_case, "scores.shifted.tiny_00.organ.dice"),
        (truth_said_to_be_another, "cases.tiny_00.gt_sha256"),
        (metric_changed, "scores.exact.tiny_00.organ.hd95"),
        (scored_by_other_labels, "scores.exact.tiny_00.organ.dice"),
    ],
)
def test_scores_and_files_that_do_not_belong_together_are_named_at_level_2(finished, change, path):
    assert path in found_at_level_2(finished, change)


def test_files_that_were_moved_to_another_model_are_named(finished):
    """The folder is exchanged as well as the record: the description beside each file says whose it is."""
    one, other = sorted(path for path in finished.cache_dir.iterdir() if path.name.startswith(("exact-", "shifted-")))
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    assert "predictions.exact.tiny_00" in found_at_level_2(finished, exchanged)


def test_plain_folders_of_predictions_are_told_by_their_names(finished, tmp_path):
    record = load_record(finished.results_path)
    cases = fetch_cases(open_benchmark(finished))
    files, _ = recorded_files(record, cases, finished.cache_dir)
    for (name, case), path in files.items():
        (tmp_path / "sent" / name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tmp_path / "sent" / name / f"{case}.nii.gz")
    assert verify_scores(record, cases, tmp_path / "sent").holds
    (tmp_path / "sent" / "exact").rename(tmp_path / "sent" / "nobody")
    found = verify_scores(record, cases, tmp_path / "sent")
    assert {one.recomputed for one in found.mismatches} == {"a file of another model or case"}


def as_library_model(plain, **changes):
    """Rename a model to one of the library, with its training data but for the changes, and judge it by its card."""
    card = model_card("MedNeXt").to_dict()
    entry = model(plain, "exact")
    entry["card"].update(name="MedNeXt", trained_on=card["trained_on"], pretrained_on=card["pretrained_on"])
    entry["card"].update(changes)
    plain["scores"]["MedNeXt"] = plain["scores"].pop("exact")
    dataset = DatasetCard.from_dict(plain["dataset"])
    seen = exposure(ModelCard.from_dict(entry["card"]), dataset, known_lineage([dataset]))
    entry.update(exposure=seen.to_dict(), ranked=seen.is_clean)


def test_a_card_that_says_less_than_the_library_does_not_follow(finished, capsys):
    """`trained_on: []` for a model that the library convicts passed, and the model was ranked."""
    cleaned = tampered(finished, lambda plain: as_library_model(plain, trained_on=[]))
    assert cleaned["MedNeXt"].ranked
    (found,) = verify_statistics(cleaned).mismatches
    assert found.path == "models.MedNeXt.card.trained_on"
    assert "abdomenatlas-1.0-mini" in str(found.recomputed)
    assert [one.path for one in card_mismatches(tampered(finished, as_library_model))] == []
    noted = verify_statistics(cleaned, strict_cards=False)
    assert noted.holds
    assert any(note.startswith("the library differs: models.MedNeXt.card.trained_on") for note in noted.notes)
    save_record(cleaned, finished.results_path)
    assert main(["verify", str(finished.results_path)]) == 5
    assert main(["verify", str(finished.results_path), "--cards", "record"]) == 0
    assert "models.MedNeXt.card.trained_on" in capsys.readouterr().out


def test_a_dataset_that_lost_its_lineage_does_not_follow(finished):
    def renamed(plain):
        plain["dataset"].update(name="kits23", lineage=[])

    found = [one.path for one in card_mismatches(tampered(finished, renamed))]
    assert found == ["dataset.lineage"]


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["timings"]["exact"].update(tiny_00=0.001),
        lambda plain: plain["platform"].update(machine="abacus"),
        lambda plain: model(plain, "exact")["environment"].update(packages=["torch==9"]),
        lambda plain: plain["protocol"]["versions"].update(segauge="9.9"),
    ],
)
def test_what_nobody_can_check_is_said_to_be_reported_only(finished, change):
    """Changed timings, platforms and packages passed every level without a word."""
    found = verify_statistics(tampered(finished, change))
    assert found.holds
    assert "Reported, not verified: timings, packages, platform, versions." in found.notes


def test_a_model_that_overwrites_a_rival_gains_nothing(tmp_path, third_party):
    """It was scored with what the other one had written over it."""
    victim = tmp_path / "cache"
    overwrite = (
        "import glob, os, shutil, sys; shutil.copyfile(*sys.argv[1:3]); "
        "[(os.chmod(path, 0o644), open(path, 'wb').write(open(sys.argv[2], 'rb').read())) "
        f"for path in glob.glob('{victim}/exact-*/tiny_*.nii.gz')]"
    )
    rogue = {
        "type": "command", "name": "rogue", "structures": {"organ": 1},
        "command": f'{sys.executable} -c "{overwrite}" {{image}} {{output}}',
    }  # fmt: skip
    models = [{"type": "tiny-threshold", "name": "exact"}, rogue]
    record = run(RunConfig.from_dict(tiny_config(tmp_path, models=models)))
    assert record["exact"].failures == dict.fromkeys(record.case_ids, CHANGED)


def test_a_model_is_shown_a_copy_without_the_ground_truth_beside_it(tmp_path, third_party):
    """It was told the place of the image, where the ground truth lay: Dice 1.000, place 1."""
    peek = "import os, sys; sys.exit(' '.join(sorted(os.listdir(os.path.dirname(sys.argv[1])))))"
    nosy = {
        "type": "command", "name": "nosy", "structures": {"organ": 1},
        "command": f'{sys.executable} -c "{peek}" {{image}} {{output}}',
    }  # fmt: skip
    record = run(RunConfig.from_dict(tiny_config(tmp_path, models=[{"type": "tiny-threshold", "name": "exact"}, nosy])))
    for case, failure in record["nosy"].failures.items():
        assert failure.startswith("ended with exit code 1: ")
        assert case in failure
        assert "label" not in failure


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
