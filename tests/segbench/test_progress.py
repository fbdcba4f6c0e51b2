"""Progress on the terminal, and the number of jobs that reaches the statistics."""

import json
import sys

import pytest

from segbench import pipeline
from segbench.cli import main
from segbench.cli.printing import progress_bar
from segbench.records import load_record, save_record
from tests.segbench.conftest import tiny_config
from tests.segbench.made_up import three_models


def test_a_bar_only_where_somebody_sits(capsys, monkeypatch):
    with progress_bar("counting") as told:
        told("one", 1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar("counting") as told:
        told("one\x1b[2J[b]", 1, 2)
        told("two", 2, 2)
    said = capsys.readouterr().err
    assert "counting" in said
    assert "2/2" in said
    assert "\x1b[2J" not in said
    with progress_bar("counting"):
        pass
    assert "counting" not in capsys.readouterr().err.splitlines()[-1]


def test_results_stay_alone_on_the_output(tmp_path, capsys, monkeypatch):
    path = save_record(three_models(), tmp_path / "run.json")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["reanalyze", str(path)]) == 0
    said = capsys.readouterr()
    assert "statistics " in said.err
    assert "1/1" in said.err
    assert "1/1" not in said.out


@pytest.mark.parametrize(("cells", "most", "expected"), [(10, 4, 1), (10, None, 1), (40_000, 3, 3), (40_000, None, 8)])
def test_workers_for_what_is_worth_them(cells, most, expected, monkeypatch):
    class Table:
        class status:  # noqa: N801 - stands for an array
            size = cells

    monkeypatch.setattr(pipeline.os, "cpu_count", lambda: 8)
    assert pipeline.worker_count([Table()], most=most) == expected


def test_a_run_hands_its_jobs_to_the_statistics(finished, tmp_path, monkeypatch, capsys):
    asked = {}

    def noted(record, *, jobs, progress):
        asked.update(jobs=jobs, progress=progress)
        return made(record)

    made, record = pipeline.make_leaderboard, load_record(finished.results_path)
    monkeypatch.setattr(pipeline, "make_leaderboard", noted)
    monkeypatch.setattr(pipeline, "WORTH_WORKERS", 1)
    # Predictions and scores are not what is asked here, and would start three processes.
    monkeypatch.setattr("segbench.cli.run.make_predictions", lambda *_, **__: None)
    monkeypatch.setattr("segbench.cli.run.score_predictions", lambda *_, **__: record)
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(tiny_config(tmp_path)))
    assert main(["run", "--config", str(config), "--jobs", "3"]) == 0
    assert asked["jobs"] == 3
    assert callable(asked["progress"])
    with pytest.raises(SystemExit):
        main(["run", "--config", str(config), "--jobs", "0"])
    assert "1 or more" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_told_first(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    record = save_record(three_models(), tmp_path / "run.json")
    for command in ("analyze", "render"):
        assert main([command, str(record), "--out", str(tmp_path / "file" / "site")]) == 1
        assert "file: is a file, expected a folder to write into." in capsys.readouterr().err


def test_numbers_of_cases_begin_at_one(capsys):
    with pytest.raises(SystemExit):
        main(["plan", "--config", "x.yaml", "--n-cases", "0"])
    assert "--n-cases: expected a number of cases of 1 or more, got '0'" in capsys.readouterr().err


def test_list_without_a_word_lists_both(capsys):
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert "datasets that can be used" in said
    assert "models that can be used" in said
