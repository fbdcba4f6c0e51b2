"""What a stranger meets: wrong folders, names that no file has, places that cannot be written, a pipe that closes."""

import errno
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import segbench.cli
from segauge.cli import COMMANDS, main
from segauge.cli.ending import system_words
from segauge.grid import Grid
from segauge.io import write_nifti
from segauge.labelmap import LabelMap


@pytest.fixture
def folders(tmp_path):
    array = np.zeros((8, 8, 8), np.uint8)
    array[2:6, 2:6, 2:6] = 1
    for side in ("gt", "pred"):
        (tmp_path / side).mkdir()
        write_nifti(tmp_path / side / "a.nii.gz", array, Grid(array.shape, np.eye(4)))
    (tmp_path / "empty").mkdir()
    return tmp_path


def said(capsys, *arguments):
    code = main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_folder_without_any_prediction_is_a_mistake(folders, capsys):
    for command in (("eval", "--pred", folders / "empty"), ("compare", "--pred", folders / "empty")):
        more = ("--pred", folders / "pred") if command[0] == "compare" else ()
        code, out, err = said(capsys, *command, *more, "--gt", folders / "gt")
        assert (code, out) == (1, "")
        assert "No prediction was found for any of the 1 case of the ground truth. Check the folder" in err


def test_a_name_needs_files_with_names(folders, capsys):
    code, out, err = said(
        capsys, "eval", "--pred", folders / "pred", "--gt", folders / "gt", "--structures", "kidney", "--jobs", 1
    )
    assert (code, out) == (1, "")
    assert "its labels have no names, so 'kidney' cannot be found in it; it holds the labels 1." in err
    assert "--structures kidney=1" in err


def test_a_model_is_called_as_its_folder(folders, capsys):
    (folders / "pred").rename(folders / "mine")
    (folders / "yours").symlink_to(folders / "mine")
    arguments = ("compare", "--gt", folders / "gt", "--pred", folders / "mine", "--metrics", "dice", "--jobs", 1)
    code, _, err = said(capsys, *arguments, "--pred", folders / "mine")
    assert code == 1
    assert "Two models are called 'mine': give each a name of its own, --pred NAME=PATH." in err
    code, out, _ = said(capsys, *arguments, "--pred", f"other={folders / 'yours'}", "--executor", "serial")
    assert code == 0
    assert "mine" in out
    assert "other" in out


def test_a_ranking_of_one_says_what_it_needs(tmp_path, capsys):
    path = tmp_path / "alone.csv"
    path.write_text("case,structure,metric,value\n" + "".join(f"c{i},liver,dice,0.9\n" for i in range(3)))
    code, _, err = said(capsys, "rank", path)
    assert code == 1
    assert "Give a file per model: `segauge compare A=a.json B=b.json`." in err


@pytest.mark.parametrize("given", [("result.json",), ("result.json", "a", "--out", "b")])
def test_figures_go_to_one_folder(given, capsys):
    code, _, err = said(capsys, "figures", *given)
    assert code == 1
    assert "segauge figures result.json --out paper" in err


@pytest.mark.parametrize("program", ["segauge", "segbench"])
def test_what_the_system_refuses_is_said_in_one_line(program, monkeypatch, capsys):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "results")

    if program == "segauge":
        monkeypatch.setattr("segauge.cli.explain.run", refuse)
        assert main(["explain", "dice"]) == 1
    else:
        monkeypatch.setattr("segbench.cli.cards.run_list", refuse)
        assert segbench.cli.main(["cards"]) == 1
    assert capsys.readouterr().err == f"{program}: results: Permission denied.\n"
    assert system_words(OSError("odd")) == "odd."


def test_a_stop_is_no_crash(monkeypatch, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("segauge.cli.explain.run", stop)
    assert main(["explain", "dice"]) == 130
    assert capsys.readouterr().err == "segauge: stopped.\n"


def test_every_command_is_known_to_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_two_frames_of_reference_are_explained_if_they_are_said_to_be_one(monkeypatch, capsys):
    array = np.zeros((8, 8, 8), dtype=np.uint8)
    array[2:6, 2:6, 2:6] = 1
    maps = {name: replace(LabelMap.from_array(array, source=name), frame_of_reference=name) for name in ("1.2", "1.3")}
    monkeypatch.setattr("segauge.cli.explain.read_labels", lambda path: SimpleNamespace(labels=maps[path]))
    command = ["explain", "hd95", "--pred", "1.2", "--gt", "1.3"]
    assert main(command) == 1
    assert "--any-frame-of-reference" in capsys.readouterr().err
    assert main([*command, "--any-frame-of-reference"]) == 0
