"""What befalls a run while it runs (bad input 50), and cases that no folder can hold (36, 37, 44).

Each scene returns what it saw; the catalog says what that must be.
"""

import csv
import errno
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from segauge import Case, evaluate
from segauge.errors import SegaugeError
from segauge.io import journal as journals
from segauge.io.journal import open_journal
from tests.badinputs.catalog import CATALOG, SQUARE, frame_mask
from tests.badinputs.datasets import box, write
from tests.badinputs.files import even_positions, rtstruct_dataset, save, seg_dataset, write_series

Scene = Callable[[Path, pytest.MonkeyPatch], str]


@dataclass(frozen=True)
class BadRun:
    number: int
    name: str
    play: Scene
    says: str


RUNS: list[BadRun] = []


def bad_run(number: int, *, says: str) -> Callable[[Scene], Scene]:
    def add(play: Scene) -> Scene:
        RUNS.append(BadRun(number, play.__name__, play, says))
        return play

    return add


def folder_of_cases(folder: Path, n: int = 3) -> list[Case]:
    for k in range(n):
        write(folder, f"c{k}", np.roll(box(), k, axis=0), box())
    return [Case(f"c{k}", folder / "pred" / f"c{k}.nii", folder / "gt" / f"c{k}.nii") for k in range(n)]


def result_bytes(cases: list[Case], folder: Path, **options: object) -> bytes:
    return evaluate(cases, n_resamples=100, **options).to_json(folder / "out.json").read_bytes()


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises(SegaugeError) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}"


@bad_run(50, says=r"CacheUnusable: .*No space left on device.*cases done so far are kept")
def full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    cases = folder_of_cases(folder)
    whole = result_bytes(cases, folder)

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(journals.os, "fsync", full)
        said = message_of(lambda: evaluate(cases, cache=folder / "cache"))
    assert result_bytes(cases, folder, cache=folder / "cache") == whole
    return said


@bad_run(50, says=r"CacheUnusable: .*cannot be used as cache folder \(Read-only file system\). Choose another")
def read_only_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def read_only(self: Path, *args: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    cases = folder_of_cases(folder, 1)
    with monkeypatch.context() as patch:
        patch.setattr(journals.Path, "mkdir", read_only)
        return message_of(lambda: evaluate(cases, cache=folder / "cache"))


@bad_run(50, says="CacheUnusable: .*another run is using this cache folder")
def two_runs_in_one_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    with open_journal(folder / "cache"):
        return message_of(lambda: evaluate(folder_of_cases(folder, 1), cache=folder / "cache"))


@bad_run(50, says=r"failed: took longer than 0\.05 s")
def worker_that_is_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    # No case takes as little as that: starting the worker's interpreter alone takes longer.
    cases = folder_of_cases(folder, 1)
    found = evaluate(cases, executor="processes", timeout=0.05, cache=folder / "cache")
    assert found.rows[0]["dice"] is None
    again = evaluate(cases, cache=folder / "cache")
    assert again.rows[0]["dice"] == 1.0
    status, reason = found.failures["c0"]
    return f"{status.value}: {reason}"


@bad_run(50, says="^same$")
def clock_that_jumps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A year back between two runs: what was done stays done, and what changed is seen although its time says not."""
    cases = folder_of_cases(folder)
    now = result_bytes(cases, folder, cache=folder / "cache")
    past = time.time() - 365 * 86400
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: past)
        patch.setattr(time, "time_ns", lambda: int(past * 1e9))
        for path in folder.rglob("*.nii"):
            os.utime(path, (past, past))
        size = (folder / "cache" / "cases.jsonl").stat().st_size
        assert result_bytes(cases, folder, cache=folder / "cache") == now
        assert (folder / "cache" / "cases.jsonl").stat().st_size == size
        # Other voxels, but neither another size nor another time.
        write(folder, "c2", box(), box())
        os.utime(cases[2].pred, (past, past))
        assert evaluate(cases, cache=folder / "cache").rows[2]["dice"] == 1.0
        assert (folder / "cache" / "cases.jsonl").stat().st_size > size
    return "same"


AWKWARD = ("../../etc/passwd", "a\0b", "x" * 300, "=cmd()", "<script>alert(1)</script>", "two\nlines", "\N{LUNGS}")


@bad_run(36, says="^'=cmd")
def awkward_ids(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    cases = [Case(name, box(), box(), spacing=1.0, metadata={"note": name}) for name in AWKWARD]
    result = evaluate(cases, cache=folder / "cache" / "deep", metrics=["dice"])
    assert [row["case_id"] for row in result.rows] == list(AWKWARD)
    assert sorted(path.name for path in folder.rglob("*")) == ["cache", "cases.jsonl", "deep"]
    data = json.loads(result.to_json(folder / "r.json").read_text())
    assert [row["case_id"] for row in data["per_case"]] == list(AWKWARD)
    with result.to_csv(folder / "r.csv").open(newline="") as file:
        cells = [row["case_id"] for row in csv.DictReader(file)]
    return cells[AWKWARD.index("=cmd()")]


@bad_run(44, says=r"GridMismatch: .*frame of reference 9\.9\.9.*any_frame_of_reference=True")
def segmentations_in_two_frames_of_reference(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    frames = [(1, place, frame_mask()) for place in even_positions(3)]
    save(seg_dataset(folder / "gt.dcm", frames), folder / "gt.dcm")
    save(seg_dataset(folder / "pred.dcm", frames, FrameOfReferenceUID="9.9.9"), folder / "pred.dcm")
    cases = [Case("a", folder / "pred.dcm", folder / "gt.dcm")]
    forced = evaluate(cases, any_frame_of_reference=True)
    assert forced.rows[0]["dice"] == 1.0
    return message_of(lambda: evaluate(cases, on_error="raise"))


@bad_run(46, says=r"IrregularSeries: .*4 mm between slices 3 and 4.*allow_nonuniform=True")
def contours_on_a_series_with_a_missing_slice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    write_series(folder / "ct", [place for k, place in enumerate(even_positions(6)) if k != 3])
    save(rtstruct_dataset(folder / "rt.dcm", [("organ", [("CLOSED_PLANAR", SQUARE)])]), folder / "rt.dcm")
    cases = [Case("a", folder / "rt.dcm", folder / "rt.dcm")]
    allowed = evaluate(cases, structures=["organ"], allow_nonuniform=True)
    assert allowed.rows[0]["dice"] == 1.0
    assert "each slice from halfway to halfway" in " ".join(allowed.notes["a"])
    return message_of(lambda: evaluate(cases, structures=["organ"], on_error="raise"))


@pytest.mark.parametrize("bad", RUNS, ids=lambda bad: f"{bad.number}-{bad.name}")
def test_bad_run(bad, tmp_path, monkeypatch):
    said = bad.play(tmp_path, monkeypatch)
    assert re.search(bad.says, said, re.DOTALL), said


STATUS = {"GridMismatch": "refused", "InvalidInput": "failed"}


def test_every_refused_file_is_one_row_and_the_others_are_measured(tmp_path):
    """All files of the catalog that no reader takes, as predictions of one dataset."""
    bads = [bad for bad in CATALOG if bad.refused and not bad.series]
    gt = tmp_path / "gt.npy"
    np.save(gt, box())
    cases = []
    for bad in bads:
        folder = tmp_path / bad.name
        folder.mkdir()
        cases.append(Case(bad.name, bad.make(folder), gt, spacing=1.0))
    cases.insert(len(cases) // 2, Case("good", gt, gt, spacing=1.0))
    result = evaluate(cases, metrics=["dice"], cache=tmp_path / "cache")
    rows = {row["case_id"]: row for row in result.rows}
    assert rows["good"]["dice"] == 1.0
    assert len(rows) == len(bads) + 1
    for bad in bads:
        assert rows[bad.name]["dice"] is None
        assert rows[bad.name]["status"] == STATUS.get(bad.error, "unreadable")
        assert re.search(bad.refused, rows[bad.name]["reason"], re.DOTALL)
