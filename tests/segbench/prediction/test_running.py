"""run_command(): a command stays within its time and memory, is quoted when it fails, and leaves nobody behind."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from segbench.prediction import running
from segbench.prediction.running import run_command


def python(program, *arguments):
    return [sys.executable, "-c", program, *arguments]


def stopped_after_it_spoke(program, log):
    """Run a program out of its time; where it was stopped before it said anything (a busy machine), give it more."""
    for seconds in (0.7, 4, 30):
        ended = run_command(python(program), log, timeout_s=seconds)
        assert ended.failure.startswith(f"took longer than {seconds:g} s")
        if ":" in ended.failure:
            break
    return ended.failure.partition(": ")[2]


def is_gone(pid):
    """Say whether a process ends within a minute, or is just waiting to be collected."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_what_a_command_says_is_kept(tmp_path):
    ended = run_command(python("print('hello')"), tmp_path / "log" / "x.log")
    assert ended.failure == ""
    assert 0 < ended.seconds < 60
    assert (tmp_path / "log" / "x.log").read_text().endswith("hello\n")


def test_a_failure_quotes_the_end_of_what_was_said(tmp_path):
    program = "import sys; print('a' * 5000); sys.exit('CUDA\\x1b out of memory')"
    ended = run_command(python(program), tmp_path / "x.log")
    assert ended.failure.startswith("ended with exit code 1: ...")
    assert ended.failure.endswith("aaa | CUDA? out of memory")
    assert len(ended.failure) < 700


def test_a_command_that_is_not_there(tmp_path):
    ended = run_command(["no-such-program", "x"], tmp_path / "x.log")
    assert ended.failure == "ended with exit code 127: no-such-program: cannot be started (No such file or directory)"


def test_no_shell_reads_the_arguments(tmp_path):
    evil = "; touch evil; $(touch evil) `touch evil` > evil"
    ended = run_command(python("import sys; print(sys.argv[1])", evil), tmp_path / "x.log", folder=tmp_path)
    assert ended.failure == ""
    assert evil in (tmp_path / "x.log").read_text()
    assert not (tmp_path / "evil").exists()


def test_the_whole_family_is_ended_when_the_time_is_over(tmp_path):
    program = (
        "import subprocess, sys, time; "
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True); "
        "time.sleep(600)"
    )
    start = time.monotonic()
    child = int(stopped_after_it_spoke(program, tmp_path / "x.log"))
    assert is_gone(child)
    assert time.monotonic() - start < 300  # nobody waited for its sleep


@pytest.mark.slow
def test_one_that_ignores_the_request_is_ended_all_the_same(tmp_path):
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    assert stopped_after_it_spoke(program, tmp_path / "x.log") == "deaf"


def test_children_do_not_survive_a_command_that_ended_well(tmp_path):
    program = (
        "import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"
    )
    assert run_command(python(program), tmp_path / "x.log").failure == ""
    assert is_gone(int((tmp_path / "x.log").read_text().splitlines()[-1]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says what a process inherited")
@pytest.mark.parametrize("ending", ["", "; time.sleep(600)"])
def test_whoever_left_the_group_is_ended_as_well(tmp_path, ending):
    program = (
        "import subprocess, sys, time; stray = [sys.executable, '-c', 'import time; time.sleep(600)']; "
        f"print(subprocess.Popen(stray, start_new_session=True).pid, flush=True){ending}"
    )
    if ending:
        child = int(stopped_after_it_spoke(program, tmp_path / "x.log"))
    else:
        assert run_command(python(program), tmp_path / "x.log").failure == ""
        child = int((tmp_path / "x.log").read_text().splitlines()[-1])
    assert is_gone(child)


def test_of_a_long_log_the_beginning_and_the_end_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "HALF", 100_000)
    program = "import sys; print('first'); [print(f'line {i:06d}') for i in range(60_000)]; sys.exit('last')"
    ended = run_command(python(program), tmp_path / "x.log")
    assert ended.failure.endswith("line 059999 | last")
    command, first, *lines = (tmp_path / "x.log").read_text().splitlines()
    assert (command[0], first, lines[0], lines[-1]) == ("$", "first", "line 000000", "last")
    (said,) = (line for line in lines if line.startswith("["))
    left_out = int(re.search(r"\[(\d+) bytes are left out here\]", said)[1])
    # Nothing else is lost: 12 bytes a line, and one line that was cut in two is two.
    kept = sum(len(line) + 1 for line in lines if line != said)
    assert 0 <= kept + left_out - (60_000 * 12 + len("last\n")) <= 2
    assert kept < 300_000


@pytest.mark.slow
def test_memory_is_limited(tmp_path):
    program = "data = bytearray(800_000_000); print(len(data))"
    assert run_command(python(program), tmp_path / "x.log", memory_gb=2.0).failure == ""
    ended = run_command(python(program), tmp_path / "y.log", memory_gb=0.5)
    assert "MemoryError" in ended.failure


def test_a_killed_command_says_so(tmp_path):
    ended = run_command(python("import os; os.kill(os.getpid(), 9)"), tmp_path / "x.log")
    assert ended.failure == "was killed (SIGKILL); most often the machine ran out of memory"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PR_SET_PDEATHSIG is Linux's")
def test_a_command_does_not_outlive_us(tmp_path):
    inner = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    outer = (
        "import pathlib, sys; from segbench.prediction.running import run_command\n"
        "run_command([sys.executable, '-c', sys.argv[1], sys.argv[2]], pathlib.Path(sys.argv[3]))"
    )
    pid_file = tmp_path / "pid"
    process = subprocess.Popen(python(outer, inner, str(pid_file), str(tmp_path / "log")))
    end = time.monotonic() + 120
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert is_gone(int(pid_file.read_text()))
