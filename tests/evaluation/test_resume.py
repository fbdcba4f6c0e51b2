"""Cases that are done stay done: through kills, torn lines, changed files and full disks."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from segauge import Case, evaluate
from segauge.errors import CacheUnusable, GridMismatch
from segauge.evaluation import dataset
from segauge.io import journal as journals
from segauge.io.journal import open_journal
from tests.badinputs.files import AFFINE, nifti_bytes


def make_cases(folder, n):
    rng = np.random.default_rng(7)
    cases = []
    for i in range(n):
        for side in ("pred", "gt"):
            array = np.zeros((12, 12, 12), dtype=np.uint8)
            low = rng.integers(1, 5, size=3)
            array[tuple(slice(k, k + 5) for k in low)] = 1
            (folder / side).mkdir(parents=True, exist_ok=True)
            (folder / side / f"c{i:03}.nii").write_bytes(nifti_bytes(array, AFFINE))
        cases.append(Case(f"c{i:03}", folder / "pred" / f"c{i:03}.nii", folder / "gt" / f"c{i:03}.nii"))
    return cases


@pytest.fixture
def measured(monkeypatch):
    """Ids of the cases that were really measured."""
    ids = []
    real = dataset.score_case

    def score(job):
        ids.append(job.case.case_id)
        return real(job)

    monkeypatch.setattr(dataset, "score_case", score)
    return ids


def test_only_what_changed_is_measured_again(tmp_path, measured):
    cases = make_cases(tmp_path, 4)
    first = evaluate(cases, cache=tmp_path / "cache", metrics=["dice"])
    assert measured == ["c000", "c001", "c002", "c003"]
    measured.clear()
    again = evaluate(cases, cache=tmp_path / "cache", metrics=["dice"], n_resamples=500)
    assert measured == []
    assert again.rows == first.rows
    cases[2].pred.write_bytes(cases[1].pred.read_bytes())
    os.utime(cases[0].pred)
    evaluate(cases, cache=tmp_path / "cache", metrics=["dice"])
    assert measured == ["c002"]
    measured.clear()
    evaluate(cases, cache=tmp_path / "cache", metrics=["dice", "iou"])
    assert len(measured) == 4
    measured.clear()
    evaluate([*cases, Case("new", cases[0].pred, cases[0].gt)], cache=tmp_path / "cache", metrics=["dice"])
    assert measured == ["new"]


def test_files_that_were_moved_are_not_measured_again(tmp_path, measured):
    """Paths were part of the key: the same files in another folder were measured again."""
    first = evaluate(make_cases(tmp_path / "here", 2), cache=tmp_path / "cache", metrics=["dice"])
    (tmp_path / "here").rename(tmp_path / "there")
    there = [
        Case(f"c{i:03}", *(tmp_path / "there" / side / f"c{i:03}.nii" for side in ("pred", "gt"))) for i in range(2)
    ]
    measured.clear()
    again = evaluate(there, cache=tmp_path / "cache", metrics=["dice"])
    assert measured == []
    assert again.table.values.tolist() == first.table.values.tolist()


def test_reasons_name_files_and_no_folders_so_that_a_moved_case_is_kept(tmp_path, measured):
    """Reasons and notes named whole paths: a moved case was measured again, and results told where files lay."""
    (case,) = make_cases(tmp_path / "here", 1)
    case.pred.write_bytes(case.pred.read_bytes()[:-10])
    first = evaluate([case], cache=tmp_path / "cache").failures["c000"][1]
    assert first.startswith("pred/c000.nii: ")
    (tmp_path / "here").rename(tmp_path / "there")
    moved = Case("c000", *(tmp_path / "there" / side / "c000.nii" for side in ("pred", "gt")))
    assert evaluate([moved], cache=tmp_path / "cache").failures["c000"][1] == first
    assert measured == ["c000"]
    moved.pred.rename(moved.pred.with_name("other.nii"))
    renamed = Case("c000", moved.pred.with_name("other.nii"), moved.gt)
    assert evaluate([renamed], cache=tmp_path / "cache").failures["c000"][1].startswith("pred/other.nii: ")
    assert measured == ["c000"] * 2


def test_the_order_of_cases_and_the_workers_change_nothing(tmp_path):
    cases = make_cases(tmp_path, 5)
    one = evaluate(cases).to_json(tmp_path / "one.json").read_bytes()
    evaluate(cases[::-1], cache=tmp_path / "cache")
    two = evaluate(cases, cache=tmp_path / "cache").to_json(tmp_path / "two.json").read_bytes()
    three = evaluate(cases, jobs=2).to_json(tmp_path / "three.json").read_bytes()
    assert one == two == three


@pytest.mark.parametrize("cut", [1, 20, 10_000])
def test_a_torn_line_is_as_if_it_were_not_there(tmp_path, measured, cut):
    cases = make_cases(tmp_path, 3)
    whole = evaluate(cases, cache=tmp_path / "cache").to_json(tmp_path / "whole.json").read_bytes()
    path = tmp_path / "cache" / "cases.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1] + lines[2][: -min(cut, len(lines[2]) - 1)])
    measured.clear()
    assert evaluate(cases, cache=tmp_path / "cache").to_json(tmp_path / "again.json").read_bytes() == whole
    assert measured == ["c002"]
    assert path.read_bytes().splitlines(keepends=True) == lines


def test_a_damaged_line_is_measured_again(tmp_path, measured):
    cases = make_cases(tmp_path, 2)
    evaluate(cases, cache=tmp_path / "cache")
    path = tmp_path / "cache" / "cases.jsonl"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(bytes(data))
    measured.clear()
    evaluate(cases, cache=tmp_path / "cache")
    assert measured == ["c000"]


def test_failures_of_files_are_kept_failures_of_the_machine_are_tried_again(tmp_path, measured, monkeypatch):
    cases = make_cases(tmp_path, 2)
    cases[0].pred.write_bytes(b"no image")
    evaluate(cases, cache=tmp_path / "cache")
    measured.clear()
    assert evaluate(cases, cache=tmp_path / "cache").failures["c000"][0] == "unreadable"
    assert measured == []

    def broken(job):
        raise MemoryError

    monkeypatch.setattr(dataset, "score_case", broken)
    result = evaluate(cases, cache=tmp_path / "other")
    assert result.failures["c001"] == ("failed", "ran out of memory")
    monkeypatch.undo()
    assert "c001" not in evaluate(cases, cache=tmp_path / "other").failures


def test_two_runs_in_one_folder_are_refused(tmp_path):
    with open_journal(tmp_path / "cache"), pytest.raises(CacheUnusable, match="another run is using"):
        evaluate(make_cases(tmp_path, 1), cache=tmp_path / "cache")
    evaluate(make_cases(tmp_path, 1), cache=tmp_path / "cache")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheUnusable, match="cannot be used as cache folder"):
        evaluate(make_cases(tmp_path, 1), cache=tmp_path / "file")


def test_a_full_disk_is_said_and_what_was_done_is_kept(tmp_path, measured, monkeypatch):
    cases = make_cases(tmp_path, 3)
    written = []

    def full(number):
        written.append(number)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journals.os, "fsync", full)
    with pytest.raises(CacheUnusable, match=r"No space left on device.*cases done so far are kept"):
        evaluate(cases, cache=tmp_path / "cache")
    monkeypatch.undo()
    with open_journal(tmp_path / "cache") as journal:
        assert len(journal) >= 2


def test_a_raised_error_keeps_what_was_done(tmp_path):
    cases = [*make_cases(tmp_path, 1), Case("bad", np.zeros((2, 2, 2), int), np.ones((3, 3, 3), int))]
    with pytest.raises(GridMismatch):
        evaluate(cases, cache=tmp_path / "cache", on_error="raise")
    with open_journal(tmp_path / "cache") as journal:
        assert len(journal) == 2


SCRIPT = """
import os, signal, sys
from pathlib import Path
from segauge import Case, evaluate
from segauge.io.journal import Journal

folder, out, cache, nth, share = Path(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4]), float(sys.argv[5])
add = Journal.add

class Deadly:
    def __init__(self, file):
        self.file = file
    def __getattr__(self, name):
        return getattr(self.file, name)
    def write(self, line):
        self.file.write(line[:round(share * len(line))])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

def add_or_die(journal, *entry):
    global nth
    nth -= 1
    if nth == 0:
        journal._file = Deadly(journal._file)
    add(journal, *entry)

Journal.add = add_or_die
cases = [Case(p.stem, p, folder / "gt" / p.name) for p in sorted((folder / "pred").glob("*.nii"))]
evaluate(cases, cache=cache or None, jobs=2).to_json(out)
"""


@pytest.mark.slow
def test_killed_again_and_again_ends_with_the_same_bytes(tmp_path):
    """Every kill is a SIGKILL of the parent, while its workers work: before, in the middle of or after a line."""
    make_cases(tmp_path, 40)

    def run(name, cache="", nth=0, share=0.0):
        words = [tmp_path, tmp_path / name, cache, nth, share]
        return subprocess.run([sys.executable, "-c", SCRIPT, *map(str, words)], check=False).returncode

    assert run("whole.json") == 0
    journal, done = tmp_path / "cache" / "cases.jsonl", 0
    for nth, share in ((1, 0.5), (4, 0.0), (8, 1.0), (2, 0.97), (6, 0.02)):
        assert run("killed.json", journal.parent, nth, share) == -signal.SIGKILL
        done += nth - 1 + (share == 1)
        assert journal.read_bytes().count(b"\n") == done
    assert not (tmp_path / "killed.json").exists()
    assert run("killed.json", journal.parent) == 0
    assert (tmp_path / "killed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    keys = [json.loads(line[9:])["key"] for line in journal.read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == 40


@pytest.mark.slow
@pytest.mark.long
def test_killed_ten_times_at_random_ends_with_the_same_bytes(tmp_path):
    """300 phantom cases; every kill is a SIGKILL of the parent, at a moment drawn at random."""
    make_cases(tmp_path, 300)
    rng = random.Random(3)  # noqa: S311 - moments of kills, not secrets

    def command(name, cache):
        return [sys.executable, "-c", SCRIPT, *map(str, (tmp_path, tmp_path / name, cache, 0, 0))]

    subprocess.run(command("whole.json", ""), check=True)
    journal = tmp_path / "cache" / "cases.jsonl"
    for _ in range(10):
        before = _lines(journal)
        process = subprocess.Popen(command("killed.json", journal.parent))
        # Wait until this run has begun to write, then a random moment more: kills fall in the middle of the work.
        while _lines(journal) <= before and process.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.15))
        assert process.poll() is None, "the run ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert _lines(journal) < 300
    subprocess.run(command("killed.json", journal.parent), check=True)
    assert (tmp_path / "killed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    keys = [json.loads(line[9:])["key"] for line in journal.read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == 300


def _lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0
