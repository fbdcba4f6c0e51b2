"""Flags, protocol files, standard output and completion: each made from the options, once."""

import argparse
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tests.badinputs.files import nifti_bytes

from segauge.cli import PROGRAM, main
from segauge.cli.completion import SHELLS, install, script
from segauge.cli.flags import POLICIES, policy_of, protocol_text, read_protocol
from segauge.errors import InvalidInput
from segauge.options import OPTIONS, facts_of, options_of
from segauge.stats.missing import MissingPolicy


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for shift, side in enumerate(("gt", "pred")):
        (tmp_path / side).mkdir()
        for case in ("a", "b"):
            mask = np.zeros((12, 12, 12), dtype=np.uint8)
            mask[1 + shift : 9 + shift, 1:9, 1:9] = 1
            (tmp_path / side / f"{case}.nii").write_bytes(nifti_bytes(mask))
    return tmp_path


def test_every_flag_of_the_options_is_in_eval():
    flags = {flag for action in PROGRAM.parser_of("eval")._actions for flag in action.option_strings}
    assert {facts_of(one).flag for one in OPTIONS.values() if facts_of(one).flag} <= flags


def test_the_protocol_that_init_writes_is_taken_back_with_every_option(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(protocol_text())
    with pytest.raises(InvalidInput, match="expected options and their values"):
        read_protocol(path)  # all of it is commented out
    lines = [line.removeprefix("# ") for line in protocol_text().splitlines()]
    written = [line for line in lines if line.partition(":")[0] in OPTIONS]
    path.write_text("\n".join(written))
    found = options_of(read_protocol(path))
    assert len(written) >= len(OPTIONS) - 3
    assert found == options_of({})


def test_a_protocol_gives_what_flags_do_and_flags_win(folders):
    (folders / "p.yaml").write_text("metrics: [dice]\nnsd_tolerance: 2\nsurface: voxel\npolicy: exclude\n")
    common = ["eval", "--pred", "pred", "--gt", "gt", "--executor", "serial"]
    assert main([*common, "--protocol", "p.yaml", "--surface", "subvoxel", "--json", "one.json"]) == 0
    flags = ["--metrics", "dice", "--nsd-tolerance", "2", "--surface", "subvoxel", "--policy", "exclude"]
    assert main([*common, *flags, "--json", "other.json"]) == 0
    one, other = (json.loads((folders / name).read_text())["protocol"] for name in ("one.json", "other.json"))
    assert one == other
    assert one["options"]["surface"] == "subvoxel"
    assert one["statistics"]["policy"]["missing"] == "exclude"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("surfcae: voxel", "p.yaml: surfcae: There is no option 'surfcae'. Did you mean 'surface'?"),
        ("n_resamples: many", "p.yaml: n_resamples: expected a whole number, got 'many'"),
        ("noise_floor: 3", "p.yaml: noise_floor: expected true or false, got 3"),
        ("policy: mild", "p.yaml: policy: expected one of strict"),
    ],
)
def test_a_wrong_protocol_is_refused_by_its_key(folders, capsys, text, said):
    (folders / "p.yaml").write_text(text)
    assert main(["eval", "--pred", "pred", "--gt", "gt", "--protocol", "p.yaml"]) == 1
    assert said in capsys.readouterr().err


def test_a_policy_has_one_name_and_the_older_flags_still_work():
    given = argparse.Namespace(policy=None, failed=None, absent=None, penalty=None, allow_missing=False)
    assert policy_of(given) == MissingPolicy()
    given.policy = "nnunet"
    assert policy_of(given) == POLICIES["nnunet"][0] == MissingPolicy(missing="exclude")
    given.policy, given.failed, given.allow_missing = None, "exclude", True
    assert policy_of(given) == POLICIES["exclude"][0]


def test_a_dash_is_standard_output_and_nothing_else_is_there(folders, capsys):
    assert (
        main(["eval", "--pred", "pred", "--gt", "gt", "--metrics", "dice", "--executor", "serial", "--json", "-"]) == 0
    )
    printed = capsys.readouterr()
    assert json.loads(printed.out)["n_cases"] == 2
    assert "foreground" in printed.err
    assert not list(folders.glob("-*"))


def test_messages_are_on_standard_error_and_quiet_leaves_them_out(folders, capsys):
    common = ["eval", "--pred", "pred", "--gt", "gt", "--metrics", "dice", "--executor", "serial", "--csv", "s.csv"]
    assert main(common) == 0
    printed = capsys.readouterr()
    assert "written: s.csv" in printed.err
    assert "written" not in printed.out
    assert main([*common, "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "foreground" in printed.out


def test_groups_of_a_metadata_column_are_compared_from_predictions(folders, capsys):
    """`--by` was taken and ignored where predictions were given."""
    shutil.copytree("pred", "other")
    (folders / "m.csv").write_text("case,sex\na,f\nb,m\n")
    given = ["compare", "--gt", "gt", "--pred", "A=pred", "--pred", "B=other", "--metrics", "dice", "--by", "sex"]
    with pytest.raises(SystemExit):
        main([*given, "--executor", "serial"])
    assert "--by needs --metadata FILE" in capsys.readouterr().err
    assert main([*given, "--executor", "serial", "--metadata", "m.csv", "--json", "r.json"]) == 0
    printed = capsys.readouterr()
    assert "foreground dice by sex" in printed.out
    assert "too few, n=1" in printed.out
    assert "groups of fewer than 5 cases are not estimated; --minimum N changes that" in printed.err
    groups = json.loads((folders / "r.json").read_text())["groups"]
    assert [one["name"] for one in groups["foreground"]["models"]["A"]["groups"]] == ["f", "m"]


def test_a_command_that_writes_nothing_tells_what_could_be_written(folders, capsys):
    given = ["eval", "--pred", "pred", "--gt", "gt", "--metrics", "dice", "--executor", "serial"]
    assert main(given) == 0
    printed = capsys.readouterr()
    assert "nothing was written: --report FILE makes a report" in printed.err
    assert "note:" not in printed.out
    assert main([*given, "--csv", "s.csv"]) == 0
    assert "nothing was written" not in capsys.readouterr().err


def test_pairs_from_doctor_are_measured_by_eval(folders, capsys):
    for path in list((folders / "pred").iterdir()):
        path.rename(path.with_name(f"{path.stem}_0000.nii"))
    assert main(["doctor", "--pred", "pred", "--gt", "gt", "--pairs-out", "pairs.csv"]) == 0
    printed = capsys.readouterr().out
    assert "a_0000 is a" in printed
    last = printed.splitlines()[-1]
    assert last == "next: segauge eval --pairs pairs.csv --report report.html"
    assert main([*last.split()[2:4], "pairs.csv", "--metrics", "dice", "--executor", "serial"]) == 0
    assert "2 cases" in capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_installed_where_the_shell_finds_it(shell, tmp_path):
    files = install(shell, tmp_path)
    assert [path.name.strip("_").partition(".")[0] for path in files] == ["segauge", "segbench"]
    assert all("help-all" in path.read_text() for path in files)
    assert "eval" in files[0].read_text()
    assert "claim" in files[1].read_text()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [("segauge ev", "eval"), ("segauge eval --surf", "--surface"), ("segauge eval --surface vo", "voxel")],
)
def test_bash_completes_commands_options_and_their_words(tmp_path, words, found):
    path = tmp_path / "completion"
    path.write_text(script(PROGRAM, "bash"))
    typed = words.split()
    line = f"source {path}; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _segauge; echo ${{COMPREPLY[@]}}"
    said = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.split()
    assert said == [found]


def test_show_adds_columns(folders, capsys):
    common = ["eval", "--pred", "pred", "--gt", "gt", "--metrics", "dice", "--executor", "serial"]
    assert main([*common, "--show", "sd,median,min,failures", "--statistic", "median", "--ci", "exact"]) == 0
    printed = capsys.readouterr().out
    # Both cases have 7 of 8 slices in common: Dice 7/8.
    assert "0.88" in printed
    assert "2 cases; median [95 % interval]" in printed
    assert "0 of 2" in printed
    with pytest.raises(SystemExit):
        main([*common, "--show", "kurtosis"])
    assert "expected some of mean, ci, low, high, sd" in capsys.readouterr().err


def test_where_names_are_in_doubt_doctor_begins_the_table(folders, capsys):
    for name, other in (("a", "x7"), ("b", "y8")):
        (folders / "pred" / f"{name}.nii").rename(folders / "pred" / f"{other}.nii")
    measured = ["--metrics", "dice", "--executor", "serial"]
    assert main(["eval", "--pred", "pred", "--gt", "gt", *measured]) == 1
    assert "segauge doctor --pairs-out FILE" in capsys.readouterr().err
    assert main(["doctor", "--pred", "pred", "--gt", "gt", "--pairs-out", "pairs.csv"]) == 3
    assert "pred/x7.nii" in capsys.readouterr().out
    table = (folders / "pairs.csv").read_text()
    assert table.splitlines()[1] == "a,,gt/a.nii,,"
    (folders / "pairs.csv").write_text(table.replace("a,,", "a,pred/x7.nii,").replace("b,,", "b,pred/y8.nii,"))
    assert main(["eval", "--pairs", "pairs.csv", *measured]) == 0


def test_help_of_eval_loads_no_figures():
    """It loaded every figure of a report, and printed its help after half a second."""
    code = "from segauge.cli import PROGRAM; PROGRAM.parser_of('eval'); import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = ("segauge.report.figures", "segauge.report.illustrations", "rich", "scipy", "pydicom", "jinja2")
    assert not {name for name in loaded if name.startswith(heavy)}
