"""What the README shows is what the package does."""

import doctest
import gzip
import re
import shlex

import numpy as np
import pytest

import segauge
import segauge.phantoms
from segauge.cli import main
from tests.badinputs.files import nifti_bytes
from tests.conftest import PROJECT

BLOCKS = re.findall(r"```python\n(.*?)```", (PROJECT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_python_blocks_run(block, capsys):
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - our own text
    assert "organ" in capsys.readouterr().out


CONSOLE = re.findall(r"```console\n(.*?)```", (PROJECT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)


def commands(block):
    """Yield each command of a console block with the lines it is said to print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *printed = part.rstrip("\n").split("\n")
        yield line, printed


def write_dataset(folder):
    for k in range(1, 4):
        gt = np.zeros((64, 64, 40), dtype=np.uint8)
        gt[10:40, 12:44, 8:30] = 1
        gt[20:26, 20:27, 12:18] = 2
        pred = np.roll(gt, k, axis=k % 3)
        affine = np.diag([-0.8, -0.8, 2.5, 1.0])
        for side, array in (("labels", gt), ("predictions", pred)):
            (folder / side).mkdir(exist_ok=True)
            data = gzip.compress(nifti_bytes(array, affine), mtime=0)
            (folder / side / f"case_{k:02}.nii.gz").write_bytes(data)
    (folder / "cases.csv").write_text("case_id,sex\ncase_01,F\ncase_02,M\ncase_03,F\n")


@pytest.mark.parametrize("block", CONSOLE, ids=range(len(CONSOLE)))
def test_console_blocks_print_what_they_say(block, tmp_path, monkeypatch, capsys):
    write_dataset(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for line, printed in commands(block):
        program, *arguments = shlex.split(line)
        assert program == "segauge"
        assert main(arguments) == 0
        out = capsys.readouterr().out
        wanted = re.escape("\n".join(printed)).replace(re.escape("..."), ".*")
        assert re.fullmatch(wanted + r"\n*", out, flags=re.DOTALL), out


def test_there_are_blocks():
    assert len(BLOCKS) == 2
    assert len(CONSOLE) == 1


@pytest.mark.parametrize("module", [segauge, segauge.phantoms])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed
