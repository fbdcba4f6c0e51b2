"""Ctrl-C before a command runs: one line and exit code 130. It was a traceback of imports."""

import subprocess
import sys

import pytest

#: Loads the program, then raises SIGINT when the next module of this name is imported.
_CODE = """
import builtins, os, signal, sys
from {program}.cli import main
load = builtins.__import__
def stopped(name, *more):
    if name.partition(".")[0] == {module!r} or name == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return load(name, *more)
builtins.__import__ = stopped
sys.exit(main({arguments!r}))
"""


@pytest.mark.parametrize(
    ("program", "arguments", "module"),
    [
        ("segauge", ["eval", "--pred", "a", "--gt", "b"], "segauge.evaluation"),
        ("segauge", ["doctor", "a"], "argparse"),
        ("segauge", ["compare", "a", "b"], "json"),
        ("segbench", ["run", "--config", "a"], "segbench.config"),
    ],
)
def test_a_stop_during_start_up_is_one_line(program, arguments, module):
    code = _CODE.format(program=program, arguments=arguments, module=module)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (130, 1), ran.stderr
    assert ran.stderr.startswith(f"{program}: stopped")
