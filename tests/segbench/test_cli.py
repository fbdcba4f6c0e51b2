"""The command line: what it prints, and how it ends."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from segbench.boards import make_leaderboard
from segbench.cli import main
from segbench.cli.printing import print_progress
from segbench.records import Suspect, load_record, save_record
from tests.badinputs.files import nifti_bytes
from tests.segbench.made_up import record, table, three_models


def test_lists_and_cards(third_party, capsys):
    assert main(["list", "datasets"]) == 0
    said = capsys.readouterr().out
    assert "tiny" in said
    assert "kits23" in said
    assert main(["list", "models"]) == 0
    assert "TotalSegmentator" in capsys.readouterr().out
    assert main(["card", "KITS23"]) == 0
    said = capsys.readouterr().out
    assert "images   CT-FM: pre-trained on" in said
    assert "labels   MedNeXt: trained on AbdomenAtlas 1.0 Mini, which contains KiTS23" in said
    assert main(["card", "moose", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "MOOSE"
    assert main(["card", "kits32"]) == 1
    assert "did you mean 'kits23'" in capsys.readouterr().err


def test_reanalyze_writes_what_a_record_lacks(tmp_path, capsys):
    path = save_record(three_models(), tmp_path / "run.json")
    assert main(["reanalyze", "--results", str(path)]) == 0
    assert "had no statistics" in capsys.readouterr().out
    assert load_record(path).analysis is None
    assert main(["reanalyze", "--results", str(path), "--write"]) == 0
    assert load_record(path).analysis is not None
    assert main(["verify", str(path)]) == 0


def test_import_of_a_plain_table(tmp_path, capsys):
    source = tmp_path / "scores.csv"
    rows = [f"{model},c{i},kidney,dice,{0.5 + 0.01 * i + 0.1 * j}" for j, model in enumerate("ab") for i in range(12)]
    source.write_text("\n".join(["model,case,structure,metric,value", *rows]) + "\n")
    output = tmp_path / "run.json"
    arguments = ["import", str(source), "--dataset", "kits23", "-o", str(output), "--n-resamples", "200"]
    assert main(arguments) == 0
    assert "what it was trained on is not known" in capsys.readouterr().out
    assert not any(entry.ranked for entry in load_record(output).models)
    assert main([*arguments, "--exposure-policy", "allow-unknown"]) == 0
    record = load_record(output)
    assert make_leaderboard(record).board("kidney", "dice").winners == ("b",)
    assert record.analysis == json.loads(json.dumps(make_leaderboard(record).to_dict()))


def test_errors_are_words_and_exit_1(tmp_path, capsys):
    assert main(["verify", str(tmp_path / "nothing.json")]) == 1
    assert main(["run", "--config", str(tmp_path / "nothing.yaml")]) == 1
    config = tmp_path / "config.yaml"
    config.write_text("dataset: kits23\nmodels: [x]\norgan: [kidney]\n")
    assert main(["plan", "--config", str(config)]) == 1
    said = capsys.readouterr().err
    assert said.count("no such file") == 2
    assert "did you mean 'organs'" in said


def test_every_command_explains_itself(capsys):
    for command in ("list", "card", "import", "reanalyze", "render", "run", "plan", "predict", "score", "verify"):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
    assert "Exit codes" in capsys.readouterr().out


def test_progress_is_a_line_per_step_in_a_file_and_one_line_on_a_terminal(capsys, monkeypatch):
    print_progress("scan\x1b[2J", 1, 2)
    print_progress("scan", 2, 2)
    assert capsys.readouterr().err == "[1/2] scan\\x1b[2J\n[2/2] scan\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    print_progress("scan", 1, 2)
    print_progress("scan", 2, 2)
    assert capsys.readouterr().err == "\r\x1b[K[1/2] scan\r\x1b[K[2/2] scan\n"


def test_the_mean_of_a_model_that_is_only_shown_is_printed(tmp_path, capsys):
    """In an average it had no interval; now it has its own."""
    scores = {name: table([[0.8, 0.6]] * 12, structures=("x", "y")) for name in ("a", "b", "seen")}
    path = save_record(record(scores, levels={"seen": "labels"}), tmp_path / "run.json")
    main(["reanalyze", str(path)])
    average = capsys.readouterr().out.partition("average dice")[2]
    assert "no value" not in average
    assert any("seen" in line and "0.700" in line for line in average.splitlines())


def test_a_board_without_a_model_is_a_sentence_and_no_empty_table(tmp_path, capsys):
    values = np.full((12, 2, 1), 3.0)
    values[0, 0] = np.nan
    missed = table(values, structures=("x", "y"), metrics=("hd95",), missed=[(0, 0)])
    path = save_record(record({"a": missed, "b": missed}), tmp_path / "run.json")
    main(["reanalyze", str(path)])
    said = capsys.readouterr().out.partition("average hd95 in mm")[2]
    assert said.splitlines()[:2] == [
        "",
        "Failed cases have no hd95, so there is no mean over structures; give a penalty.",
    ]


def test_the_mean_of_a_suspect_is_that_of_the_cases_that_were_measured(tmp_path, capsys):
    made = three_models()
    suspect = Suspect("best", "organ", 0.056, "mirrored")
    path = save_record(replace(made, suspects=(suspect,)), tmp_path / "run.json")
    main(["reanalyze", "--results", str(path)])
    assert "suspect: best on organ, mean Dice 0.056 where it was measured: mirrored" in capsys.readouterr().out


def test_init_writes_a_config_that_a_run_takes(tmp_path, capsys):
    path = tmp_path / "config.yaml"
    assert main(["init", str(path)]) == 0
    assert main(["run", "--config", str(path), "--dry-run"]) == 0
    assert "12 cases, 2 models" in capsys.readouterr().out
    assert main(["init", str(path)]) == 1
    assert "is not overwritten" in capsys.readouterr().err


def test_init_writes_a_config_of_predictions_that_are_there(tmp_path, capsys, monkeypatch):
    """Three folders needed a config written by hand: `import` refuses a dataset without a card."""
    monkeypatch.chdir(tmp_path)
    for side, shift in (("labels", 0), ("A", 1), ("B", 2)):
        (tmp_path / side).mkdir()
        for case in ("a", "b"):
            mask = np.zeros((12, 12, 12), dtype=np.uint8)
            mask[1 + shift : 9 + shift, 1:9, 1:9] = 2
            (tmp_path / side / f"{case}.nii").write_bytes(nifti_bytes(mask))
    assert main(["init", "b.yaml", "--gt", "labels", "--pred", "A", "--pred", "B=B"]) == 0
    assert main(["run", "--config", "b.yaml", "--only", "score"]) == 3  # nothing is predicted yet
    assert main(["run", "--config", "b.yaml"]) == 0
    assert "label 2 dice, 2 cases" in capsys.readouterr().out
    assert main(["init", "c.yaml", "--pred", "A"]) == 2
    assert "needs --gt FOLDER and --pred" in capsys.readouterr().err
