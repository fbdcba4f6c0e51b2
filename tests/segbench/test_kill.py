"""A run that is killed again and again ends with the record of a run that was left alone."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from segbench.records import load_record
from tests.segbench.conftest import tiny_config


def start(config, third_party):
    command = [sys.executable, "-c", "from segbench.cli import main; raise SystemExit(main())", "run", "--config"]
    return subprocess.Popen(
        [*command, str(config)],
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(third_party)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="kills a process group")
def test_killed_ten_times_at_random_same_record(finished_once, third_party, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(tiny_config(tmp_path)))
    moments = np.random.default_rng(20261115)
    killed = 0
    for _ in range(10):
        process = start(config, third_party)
        time.sleep(moments.uniform(0.3, 3.0))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        torn = [path for path in tmp_path.rglob("*.json") if not path.name.startswith(".") and not readable(path)]
        assert not torn
    assert killed >= 3  # the last rounds may find nothing left to do
    process = start(config, third_party)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    undisturbed = load_record(finished_once / "results" / "run.json")
    assert load_record(tmp_path / "results" / "run.json").fingerprint() == undisturbed.fingerprint()


def readable(path):
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True
