"""What the README shows is what the package does."""

import doctest
import re

import pytest

import segauge
import segauge.phantoms
from tests.conftest import PROJECT

BLOCKS = re.findall(r"```python\n(.*?)```", (PROJECT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_python_blocks_run(block, capsys):
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - our own text
    assert "organ" in capsys.readouterr().out


def test_there_are_blocks():
    assert BLOCKS


@pytest.mark.parametrize("module", [segauge, segauge.phantoms])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed
