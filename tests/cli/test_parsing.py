"""A mistake on the command line is answered with what was probably meant; both command lines speak alike."""

from __future__ import annotations

import argparse

import pytest

import segauge.cli
import segbench.cli
from segauge import __version__
from segauge.cli.parsing import Parser

SEGAUGE = tuple(segauge.cli.COMMANDS)
SEGBENCH = tuple(segbench.cli.PROGRAM.commands)
PROGRAMS = {"segauge": segauge.cli.PROGRAM, "segbench": segbench.cli.PROGRAM}
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
        ("segauge", ["eval"], "needs --pred and --gt (or --pairs FILE)."),
        ("segauge", ["init", "protokol"], "did you mean 'protocol'?"),
        ("segbench", ["rnu"], "did you mean 'run'?"),
        ("segbench", ["run", "--confg", "a.yaml"], "there is no option --confg; did you mean --config?"),
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
    said = capsys.readouterr().err
    assert said.count(f"  {program} ") == 3  # the three things that people do
    assert f"{program} --help" in said


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
        MAINS[program]([command, "--help"])
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


def test_a_command_line_fits_in_a_head():
    # There were 13 and 13 commands, eval showed 49 options and compare 45.
    assert len(SEGAUGE) <= 9
    assert len(SEGBENCH) <= 7
    for program in PROGRAMS.values():
        for command in program.commands:
            shown = [one.option_strings[-1] for one in program.parser_of(command).first_options()]
            assert len(shown) <= 15, f"{program.name} {command}: {shown}"


def test_the_first_screen_is_part_of_all_options(capsys):
    texts = {}
    for flag in ("--help", "--help-all"):
        with pytest.raises(SystemExit) as ended:
            segauge.cli.main(["eval", flag])
        assert ended.value.code == 0
        texts[flag] = capsys.readouterr().out
    assert "--noise-floor" in texts["--help-all"]
    assert "--noise-floor" not in texts["--help"]
    assert "--help-all" in texts["--help"]


@pytest.mark.parametrize(
    ("program", "old", "now"),
    [
        *(("segauge", old, now) for old, now in [("info", "doctor"), ("rank", "compare"), ("groups", "compare")]),
        ("segauge", "grand-challenge", "init challenge"),
        *(("segbench", old, f"run {now}") for old, now in [("plan", "--dry-run"), ("score", "--only score")]),
        *(("segbench", old, "cards") for old in ("list", "card")),
    ],
)
def test_old_names_print_what_to_use_now(program, old, now, capsys):
    with pytest.raises(SystemExit) as ended:
        MAINS[program]([old, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr()
    assert f"`{program} {old}` is now `{program} {now}`" in printed.err
    assert f"usage: {program} {now.split()[0]}" in printed.out
