"""Executors: every item has an outcome, whatever becomes of its worker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from segauge.errors import InvalidInput, MissingExtra
from segauge.executors import Crash, run
from segauge.executors.processes import _START
from segauge.executors.worker import write_frame
from tests.executors.work import do

KILLED = "its worker process was killed (SIGKILL); most often the machine ran out of memory"
TWICE = "it was tried twice, the second time alone"


def results(items, **how):
    return {outcome.index: outcome.result for outcome in run(do, items, **how)}


@pytest.mark.parametrize("how", [{}, {"jobs": 2}, {"executor": "processes"}])
def test_every_item_has_its_result(how):
    assert results(range(7), **how) == {i: i * i for i in range(7)}


def test_errors_are_outcomes_in_this_process():
    assert results([2, "raise", "memory", 3]) == {
        0: 4,
        1: Crash("ValueError: not today"),
        2: Crash("ran out of memory (10 GB)", lacked_memory=True),
        3: 9,
    }


def test_whatever_becomes_of_a_worker_the_others_go_on():
    found = results(["exit", 2, "kill", "segfault", "raise", "allocate", "print", 3], jobs=2)
    assert found == {
        0: Crash(f"its worker process ended with exit code 7; {TWICE}", died=True),
        1: 4,
        2: Crash(f"{KILLED}; {TWICE}", lacked_memory=True, died=True),
        3: Crash(f"its worker process crashed (SIGSEGV); {TWICE}", died=True),
        4: Crash("ValueError: not today"),
        5: Crash(f"ran out of memory; {TWICE}", lacked_memory=True),
        6: "printed",
        7: 9,
    }


@pytest.mark.parametrize("word", ["killed once", "crashed once", "ended once", "out of memory once"])
def test_a_worker_that_died_or_lacked_memory_is_tried_once_more_alone(word, tmp_path):
    """The system kills the worker that is largest just then: next to three others, a case that fits by itself."""
    items = [(word, tmp_path), *[("busy", tmp_path)] * 5]
    found = results(items, jobs=3)
    assert found == {0: [], **dict.fromkeys(range(1, 6), "busy")}


@pytest.mark.parametrize("word", ["killed once", "crashed once"])
def test_a_worker_that_dies_alone_has_one_more_try_as_well(word, tmp_path):
    assert results([(word, tmp_path), 3], executor="processes") == {0: [], 1: 9}


@pytest.mark.slow
def test_a_timeout_ends_one_item_only():
    # Waiting costs nobody anything, and leaves room for the start of an interpreter on a busy machine.
    assert results(["sleep", 3], jobs=2, timeout=15) == {0: Crash("took longer than 15 s"), 1: 9}


def test_a_worker_serves_many_items():
    (pid,) = set(results(["pid"] * 3, executor="processes").values())
    assert pid != os.getpid()


def test_items_are_taken_as_workers_become_free():
    taken = []

    def items():
        for i in range(20):
            taken.append(i)
            yield i

    for done, outcome in enumerate(run(do, items(), jobs=2), start=1):
        assert outcome.result == outcome.index**2
        # Those that are done (two may end at once, one of them waits to be told), and two in work.
        assert len(taken) <= done + 3


def test_stopping_in_the_middle_ends_the_workers():
    outcomes = run(do, ["pid", "sleep", "sleep"], jobs=2)
    pid = next(outcomes).result
    outcomes.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from segauge.executors import run\nfrom os.path import basename\n"
                      "print([o.result for o in run(basename, ['a/b'], jobs=2)])\n")  # fmt: skip
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "['b']\n"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"jobs": 0}, "at least 1, got 0"),
        ({"timeout": -1}, "seconds above 0"),
        ({"executor": "slurm"}, 'there are "serial", "processes", "dask"'),
        ({"executor": "serial", "timeout": 1}, "needs the executor 'processes'"),
    ],
)
def test_words_for_what_cannot_be(how, message):
    with pytest.raises(InvalidInput, match=message):
        results([1], **how)


def test_without_dask_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"segauge\[dask\]"):
        results([1], executor="dask")


def test_a_worker_whose_parent_was_killed_ends_without_a_word(tmp_path):
    """Its answer has no reader any more; the traceback came up in the terminal long after the command had ended."""
    worker = subprocess.Popen(
        [sys.executable, "-P", "-c", _START, "tests.executors.work", "do"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
    )
    write_frame(worker.stdin, ("busy", tmp_path))
    worker.stdout.close()
    worker.stdin.close()
    assert worker.stderr.read() == b""
    worker.stderr.close()
    assert worker.wait(timeout=60) == 1
