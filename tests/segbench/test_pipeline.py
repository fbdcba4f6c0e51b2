"""The whole walk on a dataset and models of somebody else: config, plan, predictions, scores, record, leaderboard."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from segauge import evaluate
from segauge.errors import InvalidInput
from segbench.boards import make_leaderboard
from segbench.cli import main
from segbench.config import RunConfig
from segbench.pipeline import make_predictions, make_record, open_benchmark, run, score_predictions
from segbench.records import load_record
from segbench.verification import verify_scores, verify_statistics
from tests.segbench.conftest import tiny_config


def test_a_run_from_config_to_record(finished):
    record = load_record(finished.results_path)
    board = {(b["structure"], b["metric"]): b for b in record.analysis["boards"]}
    assert [s["model"] for s in board["organ", "dice"]["rows"]] == ["exact", "shifted"]
    assert board["organ", "dice"]["rows"][0]["estimate"]["value"] == 1.0
    # A box of 7 to 9 voxels moved by one along x: 2 (n - 1) / 2n at n = 7, 8, 9, 7 (the lesion inside counts, too).
    expected = sum((n - 1) / n for n in (7, 8, 9, 7)) / 4
    assert board["organ", "dice"]["rows"][1]["estimate"]["value"] == pytest.approx(expected, abs=1e-12)
    # The lesion is in every other case: the others are left out, and counted.
    lesion = board["lesion", "dice"]["rows"][0]["estimate"]
    assert (lesion["n"], lesion["excluded"]) == (2, {"absent": 2})
    # The shift is one voxel of 1.5 mm.
    assert board["organ", "hd95"]["rows"][1]["estimate"]["value"] == pytest.approx(1.5, abs=0.2)


def test_the_record_knows_nothing_about_the_machine(finished, tmp_path):
    text = finished.results_path.read_text()
    assert str(tmp_path.parent.parent) not in text
    assert "/home" not in text
    assert "results_path" not in text


@pytest.mark.slow
def test_the_same_run_again_gives_the_same_record(finished, tmp_path):
    record = load_record(finished.results_path)
    assert run(finished).fingerprint() == record.fingerprint()
    elsewhere = RunConfig.from_dict(tiny_config(tmp_path / "elsewhere"))
    assert run(elsewhere).fingerprint() == record.fingerprint()


def test_scores_follow_from_the_prediction_files(finished, tmp_path):
    config, record = finished, load_record(finished.results_path)
    cases = open_benchmark(config).dataset.cases(record.case_ids)
    found = verify_scores(record, cases, config.cache_dir)
    assert found.holds
    assert found.rounding == 0
    assert "8 of 8 predictions" in found.checked
    assert "3 of 8 predictions" in verify_scores(record, cases, config.cache_dir, sample=3).checked
    assert verify_statistics(record).holds


def test_a_swapped_prediction_file_is_noticed(finished, tmp_path):
    config, record = finished, load_record(finished.results_path)
    cases = open_benchmark(config).dataset.cases(record.case_ids)
    victim = next(path for path in config.cache_dir.rglob("*.nii.gz"))
    victim.unlink()
    found = verify_scores(record, cases, config.cache_dir)
    assert not found.holds
    assert "no file with this hash" in str(found.mismatches[0])


def test_an_edited_score_is_noticed_by_its_file(finished, tmp_path):
    config, record = finished, load_record(finished.results_path)
    text = json.loads(config.results_path.read_text())
    text["scores"]["shifted"]["structures"]["organ"]["dice"][0] = 0.999
    config.results_path.write_text(json.dumps(text))
    edited = load_record(config.results_path)
    cases = open_benchmark(config).dataset.cases(record.case_ids)
    (found,) = verify_scores(edited, cases, config.cache_dir).mismatches
    assert found.path == "scores.shifted.tiny_00.organ.dice"
    assert not verify_statistics(edited).holds


def test_two_runs_at_once_wait_for_each_other(finished, monkeypatch):
    """Each has the folder of finished cases for a while; the second one takes what the first one measured."""

    def slowly(cases, **options):
        def paused():
            for case in cases:
                time.sleep(0.05)
                yield case

        return evaluate(paused(), **options)

    monkeypatch.setattr("segbench.scoring.scores.evaluate", slowly)
    benchmark = open_benchmark(finished)
    cases = benchmark.dataset.cases(benchmark.plan.case_ids)
    made = make_predictions(benchmark, cases, only_cached=True)
    with ThreadPoolExecutor(2) as both:
        found = [both.submit(score_predictions, benchmark, cases, made) for _ in range(2)]
        one, other = (each.result() for each in found)
    assert one.fingerprint() == other.fingerprint()


def test_a_failed_case_is_that_models_failure_alone(third_party, tmp_path):
    models = [
        {"type": "tiny-threshold", "name": "exact"},
        {"type": "tiny-threshold", "name": "frail", "fail_on": "tiny_01"},
    ]
    record = run(RunConfig.from_dict(tiny_config(tmp_path, models=models, case_ids=["tiny_00", "tiny_01"])))
    assert set(record["frail"].failures) == {"tiny_01"}
    assert str(tmp_path) not in record["frail"].failures["tiny_01"]
    board = {(b["structure"], b["metric"]): b for b in record.analysis["boards"]}
    exact, frail = board["organ", "dice"]["rows"]
    assert (exact["estimate"]["n"], frail["estimate"]["n"]) == (2, 2)
    assert frail["estimate"]["value"] == 0.5
    assert frail["estimate"]["failed"] == {"prediction missing": 1}
    # The grid is 20 x 18 x 16 voxels of 1.5 x 1 x 2 mm.
    assert [case.diagonal_mm for case in record.cases] == [None, pytest.approx((30**2 + 18**2 + 32**2) ** 0.5)]
    diagonal = replace(record, config={"resolved": {**record.settings, "failed": "diagonal"}})
    distance = make_leaderboard(diagonal).board("organ", "hd95")["frail"].estimate
    assert distance.value == pytest.approx((30**2 + 18**2 + 32**2) ** 0.5 / 2, abs=0.1)
    # Without a lesion in the ground truth of that case, there was nothing to fail on.
    lesion = {s["model"]: s for s in board["lesion", "dice"]["rows"]}
    assert lesion["frail"]["estimate"]["n"] == lesion["exact"]["estimate"]["n"] == 1
    assert lesion["frail"]["estimate"]["failed"] == {}


def test_what_the_ground_truth_lacks_does_not_depend_on_who_else_is_measured(third_party, tmp_path):
    """A model alone has nobody beside it who shows that the lesion of a failed case is not there."""
    config = tiny_config(
        tmp_path, models=[{"type": "tiny-threshold", "name": "frail", "fail_on": "tiny_01"}], organs=["organ", "lesion"]
    )
    table = run(RunConfig.from_dict(config)).tables["frail"]
    row = table.cases.index("tiny_01")
    assert dict(zip(table.structures, table.status[row], strict=True)) == {
        "organ": "prediction missing",
        "lesion": "absent",
    }
    assert table.reasons["tiny_01", "lesion"].startswith("prediction missing: ")


def test_a_ground_truth_that_cannot_be_read_is_nobodys_failure(finished):
    benchmark = open_benchmark(finished)
    cases = benchmark.dataset.cases(benchmark.plan.case_ids)
    cases[0].gt.write_bytes(cases[0].gt.read_bytes()[:60])
    made = make_predictions(benchmark, cases, only_cached=True)
    record = make_record(benchmark, cases, made)
    assert record.case_ids == ("tiny_01", "tiny_02", "tiny_03")
    assert "tiny_00 is left out for all" in record.exclusions[-1]["reason"]
    assert record.analysis["boards"][0]["rows"][0]["estimate"]["value"] == 1.0


def test_a_structure_that_no_case_has_is_left_out_with_the_reason(third_party, tmp_path):
    record = run(
        RunConfig.from_dict(
            tiny_config(tmp_path, models=[{"type": "tiny-threshold"}], n_cases=1, organs=["organ", "never"])
        )
    )
    assert record.structures == ("organ",)
    assert {"model": "", "structure": "never", "reason": "occurs in no ground truth of the chosen cases"} in list(
        record.exclusions
    )


def test_where_no_case_has_any_structure_the_run_says_so(finished):
    benchmark = open_benchmark(replace(finished, structures=("never",)))
    cases = benchmark.dataset.cases(benchmark.plan.case_ids)
    made = make_predictions(benchmark, cases, only_cached=True)
    with pytest.raises(InvalidInput, match="No chosen case has any of the structures"):
        make_record(benchmark, cases, made)


def test_a_model_that_was_trained_on_the_dataset_is_shown_and_not_ranked(third_party, tmp_path):
    models = [
        {"type": "tiny-threshold", "name": "exact", "trained_on": ["tiny"]},
        {"type": "tiny-threshold", "name": "shifted", "shift": 1},
        {"type": "tiny-threshold", "name": "worse", "shift": 2},
    ]
    record = run(
        RunConfig.from_dict(tiny_config(tmp_path, models=models, n_cases=1, organs=["organ"], metrics=["dice"]))
    )
    (board,) = record.analysis["boards"]
    assert [(row["model"], row["place"]) for row in board["rows"]] == [("shifted", 1), ("worse", 1), ("exact", None)]
    assert [entry.exposure.level.value for entry in record.models] == ["labels", "none", "none"]
    assert "trained on Tiny boxes" in record.exclusions[0]["reason"]


@pytest.mark.parametrize(
    ("labels", "structure", "words"),
    [
        ([13, 12, 11, 14], "left", "wrong ids: label 13 of its output fits (Dice 1.00), which its card calls"),
        ([11, 12, 14, 13], "left", "left and right are swapped"),
        ([21, 22, 23, 24], "left", "wrong ids: label 13 of its output fits (Dice 1.00)"),
    ],
)
def test_a_cell_that_cannot_be_believed_comes_with_a_diagnosis(third_party, tmp_path, labels, structure, words):
    models = [{"type": "tiny-threshold", "name": "odd", "labels": labels}]
    record = run(RunConfig.from_dict(tiny_config(tmp_path, models=models, n_cases=1, organs=[structure])))
    (suspect,) = record.suspects
    assert (suspect.model, suspect.structure) == ("odd", structure)
    assert words in suspect.diagnosis


def test_the_commands(third_party, tmp_path, capsys):
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps(tiny_config(tmp_path, n_cases=1)))
    assert main(["plan", "--config", str(path)]) == 0
    assert "not known before a first run" in capsys.readouterr().out
    assert main(["run", "--config", str(path)]) == 0
    assert "exact" in capsys.readouterr().out
    results = str(tmp_path / "results" / "run.json")
    assert main(["plan", "--config", str(path)]) == 0
    assert "not known before a first run" not in capsys.readouterr().out
    before = (tmp_path / "results" / "run.json").read_bytes()
    assert main(["score", "--config", str(path)]) == 0
    assert (tmp_path / "results" / "run.json").read_bytes() == before
    assert main(["reanalyze", "--results", results, "--write"]) == 0
    assert (tmp_path / "results" / "run.json").read_bytes() == before
    arguments = ["verify", results, "--config", str(path), "--predictions", str(tmp_path / "cache"), "--again"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert [f"level {level}" in said for level in (1, 2, 3)] == [True, True, True]


def test_predictions_that_cannot_be_compared_are_failures_of_a_run(third_party, tmp_path, capsys):
    program = tmp_path / "elsewhere.py"
    program.write_text(
        "import sys\nimport numpy as np\nfrom segauge.io import write_nifti\nfrom segauge import Grid\n"
        "write_nifti(sys.argv[1], np.ones((4, 4, 4), dtype=np.uint8), Grid.from_spacing((4, 4, 4), 1.0))\n"
    )
    model = {
        "type": "command", "name": "elsewhere", "command": f"{{python}} {program} {{output}} {{image}}",
        "structures": {"organ": 1}, "trained_on": [], "pretrained_on": [],
    }  # fmt: skip
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps(tiny_config(tmp_path, models=[model], organs=["organ"], n_cases=2)))
    assert main(["run", "--config", str(path)]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "elsewhere failed on 2 of 2 cases; tiny_" in out
    assert "does not lie on the grid of" in out


def test_scoring_alone_runs_no_model(third_party, tmp_path, capsys):
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps(tiny_config(tmp_path, n_cases=1)))
    assert main(["score", "--config", str(path)]) == 3
    assert "has not been predicted yet" in capsys.readouterr().out
    assert main(["predict", "--config", str(path)]) == 0
    assert "2 predictions, 0 failed" in capsys.readouterr().out
    assert main(["score", "--config", str(path)]) == 0


def test_an_edited_number_is_named_and_ends_with_5(finished, tmp_path, capsys):
    path = finished.results_path
    text = path.read_text()
    changed = json.loads(text)
    changed["analysis"]["boards"][0]["rows"][1]["estimate"]["ci_low"] = 0.99
    path.write_text(json.dumps(changed))
    assert main(["verify", str(path)]) == 5
    assert "analysis.boards[organ dice].rows[shifted].estimate.ci_low: published 0.99" in capsys.readouterr().out
    assert main(["reanalyze", "--results", str(path), "--write"]) == 5
    assert path.read_text() == text


def test_two_models_of_one_name_are_refused(third_party, tmp_path):
    models = [{"type": "tiny-threshold"}, {"type": "tiny-threshold", "shift": 1}]
    with pytest.raises(InvalidInput, match="Two models are called 'tiny-threshold'"):
        open_benchmark(RunConfig.from_dict(tiny_config(tmp_path, models=models)))
