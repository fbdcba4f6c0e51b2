"""A disk that fails at the n-th fsync or rename, for every n: one line, exit code 1, the old file or the new one."""

import errno
import json
import os

import pytest
from tests.badinputs.files import labels, nifti_bytes

from segauge.cli import main

COMMANDS = ("eval", "compare", "diff", "import")


@pytest.fixture
def commands(tmp_path):
    for side in ("pred", "gt"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "c0.nii").write_bytes(nifti_bytes(labels()))
    old = tmp_path / "o.json"
    found = {
        "eval": ["eval", "--pred", f"{tmp_path}/pred", "--gt", f"{tmp_path}/gt", "--structures", "1",
                 "--metrics", "dice", "--executor", "serial", "--no-progress", "--json", f"{old}",
                 "--csv", f"{tmp_path}/o.csv"],
        "compare": ["compare", f"A={old}", f"B={old}", "--json", f"{tmp_path}/c.json"],
        "diff": ["diff", f"{old}", f"{old}", "--json", f"{tmp_path}/d.json"],
        "import": ["import", f"{old}", "-o", f"{tmp_path}/i.json"],
    }  # fmt: skip
    assert main(found["eval"]) == 0
    return found


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_failing_disk_leaves_whole_files(tmp_path, commands, monkeypatch, capsys, name, call):
    right = getattr(os, call)
    for n in range(1, 10):
        calls = []

        def failing(*args, n=n, calls=calls, **more):
            calls.append(args)
            if len(calls) == n:
                raise OSError(errno.ENOSPC, "No space left on device")
            return right(*args, **more)

        monkeypatch.setattr(os, call, failing)
        capsys.readouterr()
        code = main(commands[name])
        monkeypatch.setattr(os, call, right)
        json.loads((tmp_path / "o.json").read_bytes())
        assert not list(tmp_path.rglob("*.part"))
        if len(calls) < n:
            break
        assert code == 1
        assert capsys.readouterr().err.splitlines()[-1].endswith("cannot be written (No space left on device).")
    assert n > 1  # at least one fault was injected
