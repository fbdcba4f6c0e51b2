"""Names of files and cases cannot command a terminal, a spreadsheet or the log of whoever runs the job."""

import sys

import pytest
from tests.badinputs.files import labels, nifti_bytes

from segauge.cli import main
from segauge.cli.ending import harmless_output, visible
from segauge.tables import csv_text

NAMES = ["::stop-commands::x", "::error::bad", "##[error]x", "##vso[task.complete]", "a\x1b[31mred\x1b]0;t\x07"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["eval", "doctor", "info", "missing"])
def test_no_name_is_a_command_in_a_log(tmp_path, capsys, name, command):
    """Such an id stood at the start of a line, and `info` printed an ESC as it was."""
    for side in ("pred", "gt"):
        (tmp_path / side).mkdir()
        if side == "gt" or command != "missing":
            (tmp_path / side / f"{name}.nii").write_bytes(nifti_bytes(labels()))
    paths = ["--pred", str(tmp_path / "pred"), "--gt", str(tmp_path / "gt")]
    main(["info", str(tmp_path / "gt" / f"{name}.nii")] if command == "info" else ["eval", *paths]
         if command == "missing" else [command, *paths])  # fmt: skip
    told = capsys.readouterr()
    for line in (told.out + told.err).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
        assert "##vso[" not in line
        assert "\x1b" not in line


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["::error::x"], ": :error::x"),
        (["  ", ":", ":stop"], "  : :stop"),
        (["a ::b\n", " ::c"], "a ::b\n : :c"),
        (["x #", "#[e]"], "x # #[e]"),
        (["a\x1b[31m", "\tb\n"], "a\\x1b[31m\tb\n"),
    ],
)
def test_pieces_of_a_line_make_no_command(capsys, pieces, expected):
    with harmless_output():
        for piece in pieces:
            sys.stdout.write(piece)
    assert capsys.readouterr().out == expected


def test_control_characters_are_written_out():
    assert visible("a\x1b[0m\n\tb\x9b\r") == "a\\x1b[0m\n\tb\\x9b\\x0d"
    assert csv_text(["case"], [["a\x1b[2J"], ["b"]]) == "case\na\\x1b[2J\nb\n"
