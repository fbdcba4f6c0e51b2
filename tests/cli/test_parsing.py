"""A mistake on the command line is answered with what was probably meant; both command lines speak alike."""

from __future__ import annotations

import argparse

import pytest

import segauge.cli
import segbench.cli
from segauge import __version__
from segauge.cli.parsing import Parser

SEGAUGE = tuple(segauge.cli.COMMANDS)
SEGBENCH = (
    "run", "plan", "predict", "score", "reanalyze", "render", "verify", "analyze", "claim", "import", "list", "card",
    "overlap",
)  # fmt: skip
MAINS = {"segauge": segauge.cli.main, "segbench": segbench.cli.main}


def refused(main, *words: str, capsys) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "words", "said"),
    [
        ("segauge", ["evl", "--pred", "a"], "there is no command 'evl'; did you mean 'eval'?"),
        ("segauge", ["eval", "--preds", "a", "--gt", "b"], "there is no option --preds; did you mean --pred?"),
        ("segauge", ["eval", "--pred", "a", "--gt", "b", "--surfcae", "voxel"], "did you mean --surface?"),
        ("segauge", ["eval", "--pred", "a", "--gt", "b", "--surface", "voxl"], "did you mean 'voxel'?"),
        (
            "segauge",
            ["eval", "--pred", "a", "--gt", "b", "--jobs", "two"],
            "--jobs: expected a whole number, got 'two'",
        ),
        ("segauge", ["eval"], "needs --pred and --gt."),
        ("segauge", ["grand-challenge", "int"], "did you mean 'init'?"),
        ("segbench", ["rnu"], "did you mean 'run'?"),
        ("segbench", ["run", "--confg", "a.yaml"], "there is no option --confg; did you mean --config?"),
        ("segbench", ["list", "model"], "did you mean 'models'?"),
    ],
)
def test_what_was_probably_meant(program, words, said, capsys):
    answer = refused(MAINS[program], *words, capsys=capsys)
    assert said in answer
    # The help is named, not printed: what is wrong must not scroll away.
    assert "--help` shows" in answer
    assert len(answer.splitlines()) == 2


def test_a_word_like_nothing_gets_the_list(capsys):
    answer = refused(segauge.cli.main, "xyzzy", capsys=capsys)
    assert "did you mean" not in answer
    assert all(command in answer for command in SEGAUGE)


@pytest.mark.parametrize("program", MAINS)
def test_version_and_no_command(program, capsys):
    with pytest.raises(SystemExit) as ended:
        MAINS[program](["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{program} {__version__}\n"
    assert MAINS[program]([]) == 2
    assert "examples:" in capsys.readouterr().err


def test_files_may_stand_after_options():
    parser = Parser(prog="it")
    parser.add_argument("claim")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--metric")
    for words in (["c", "r", "--metric", "m"], ["c", "--metric", "m", "r"], ["--metric", "m", "c", "r"]):
        assert parser.parse_args(words) == argparse.Namespace(claim="c", results="r", metric="m")


@pytest.mark.parametrize(
    ("program", "command"),
    [*(("segauge", one) for one in SEGAUGE), *(("segbench", one) for one in SEGBENCH)],
)
def test_every_option_is_explained_and_every_command_has_an_example(program, command, monkeypatch):
    shown: list[argparse.ArgumentParser] = []
    monkeypatch.setattr(Parser, "print_help", lambda self, *_: shown.append(self))
    with pytest.raises(SystemExit):
        MAINS[program]([command, *(["init"] if command == "grand-challenge" else []), "--help"])
    (parser,) = shown
    assert parser.epilog is not None
    assert f"{program} {command}" in parser.epilog
    assert "Exit codes:" in (parser.description or "")
    for action in parser._actions:
        name = "/".join(action.option_strings) or action.dest
        assert action.help, name
        if action.option_strings and action.default not in (None, False, [], "", argparse.SUPPRESS):
            # An option with a default says it, or the choices say it.
            assert "default" in action.help, name
        # LEVEL or N_RESAMPLES is no explanation of what --level or --n-resamples takes.
        if action.option_strings and action.nargs != 0 and action.choices is None:
            assert action.metavar, name


@pytest.mark.parametrize("choices", ["'voxel', 'subvoxel'", "voxel, subvoxel"])
def test_the_choices_are_understood_as_each_python_quotes_them(choices):
    said = Parser(prog="it")._explained(f"argument --surface: invalid choice: 'voxl' (choose from {choices})")
    assert said == "--surface cannot be 'voxl'; did you mean 'voxel'? There are voxel, subvoxel."
