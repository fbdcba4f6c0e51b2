import json

import numpy as np
import pytest
from benchmarks.inputs import phantom_case
from benchmarks.peers import Timing, Worker
from benchmarks.runner import TURNS, Effort, Runner
from benchmarks.speed import subvoxel
from benchmarks.speed.measure import chosen_loops, main
from benchmarks.speed.requirements import judge
from benchmarks.speed.results import CaseResult, ScalingResult, SpeedRun, StructureResult
from benchmarks.speed.subvoxel import Cost
from benchmarks.tools import Case, Pair

from segauge.phantoms import Ball

TINY = Effort(repeats=2, budget_s=1.0, timeout_s=60.0)


def cubes() -> Pair:
    gt = np.zeros((12, 12, 12), dtype=np.bool_)
    gt[3:8, 3:8, 3:8] = True
    return Pair(np.roll(gt, 1, axis=0), gt, (1.0, 1.0, 2.0), 1.0)


def timing(tool: str, seconds: float, threads: int = 1, **more: int) -> Timing:
    return Timing(tool, threads, "1", (seconds,), (seconds,), **more)


def structure(peer: str, ratio: float) -> StructureResult:
    return StructureResult("case", "organ", "cropped", (3, 3, 3), (timing("segauge", 1.0), timing(peer, ratio)))


def verdicts(run: SpeedRun) -> dict[str, bool]:
    return {verdict.promise: verdict.kept for verdict in judge(run) if verdict.kept is not None}


@pytest.mark.slow
def test_a_run_without_peers_measures_phantoms_and_growth(tmp_path, capsys):
    out = tmp_path / "speed.json"
    run = main(["--quick", "--peers", "none", "--pairs", "phantoms,scaling", "--repeats", "1", "--out", str(out)])
    assert not run.left_out
    assert all(result.timing("segauge").best_s > 0 for result in run.structures)
    assert len(run.structures) == 4
    printed = capsys.readouterr().out
    assert "phantom ball 10 mm" in printed
    assert "SKIP  every structure at least 10x faster than surface-distance" in printed
    assert len(json.loads(out.read_text())["structures"]) == 4


def test_our_worker_answers_with_times_values_and_memory():
    with Runner(TINY) as runner, runner.stored(cubes()) as stored:
        found = runner.time("segauge", stored)
        assert len(found.seconds) == len(found.cpu_seconds) == 2
        # A cube moved by one voxel of 1 mm: exact.
        assert found.values["hd"] == pytest.approx(1.0)
        assert found.peak_rss_bytes > 10e6


def test_short_calls_have_several_turns():
    with Runner(TINY) as runner, runner.stored(cubes()) as stored:
        one, two = runner.time_in_turns([("segauge", 1), ("read-once", 1)], stored)
    assert [found.tool for found in (one, two)] == ["segauge", "read-once"]
    assert len(one.seconds) == len(two.cpu_seconds) == TURNS * TINY.repeats


def test_a_failed_call_has_no_further_turn():
    with Runner(Effort(repeats=10**9, budget_s=1e9, timeout_s=1.0)) as runner, runner.stored(cubes()) as stored:
        assert runner.time_in_turns([("segauge", 1)], stored)[0].error


def test_a_whole_case_is_measured_in_a_fresh_process():
    pair = cubes()
    case = Case(pair.pred.astype(np.uint8), pair.gt.astype(np.uint8), pair.spacing, 1.0, {"cube": (1,)})
    with Runner(TINY) as runner, runner.stored(case) as stored:
        assert runner.time_fresh("segauge", stored, threads=2).best_s > 0


def test_a_failing_tool_is_a_row_with_the_reason():
    request = {
        "pred": "nowhere.npy",
        "gt": "nowhere.npy",
        "spacing": [1],
        "tolerance_mm": 1,
        "repeats": 1,
        "budget_s": 1,
    }
    with Worker("pair", "segauge") as worker:
        found = worker.time(request, timeout_s=60.0)
        assert "FileNotFoundError" in found.error
        assert found.best_s is None


def test_a_tool_that_takes_too_long_is_ended_and_said_so():
    with Runner(Effort(repeats=10**9, budget_s=1e9, timeout_s=1.0)) as runner, runner.stored(cubes()) as stored:
        assert runner.time("segauge", stored).error == "stopped after 1 s"
        runner.effort = TINY
        assert runner.time("segauge", stored).best_s > 0


@pytest.mark.parametrize(("ratio", "kept"), [(10.1, True), (9.9, False)])
def test_the_promise_against_surface_distance_can_be_kept_and_broken(ratio, kept):
    run = SpeedRun("", (structure("surface-distance", ratio),), (), (), ())
    assert verdicts(run) == {
        "every structure at least 10x faster than surface-distance, one thread, cropped arrays": kept
    }


@pytest.mark.parametrize(("reading_s", "peak", "kept"), [(1.1, 299, True), (0.9, 301, False)])
def test_the_promises_about_whole_cases_can_be_kept_and_broken(reading_s, peak, kept):
    case = CaseResult(
        "kits-1",
        3,
        100,
        (timing("segauge", 1.0, threads=2), timing("segauge-all", 1.0, threads=2)),
        (timing("nibabel", reading_s), timing("nibabel+isal", reading_s)),
        timing("segauge", 1.0, peak_rss_bytes=peak),
    )
    found = verdicts(SpeedRun("", (), (case,), (), ()))
    assert len(found) == 5
    assert set(found.values()) == {kept}


def test_what_no_tool_can_do_is_said_with_the_broken_promise():
    """We take 1 s, the peer 5; to read both masks once takes 0.8: nobody can be 10 times faster than the peer."""
    timings = timing("segauge", 1.0), timing("surface-distance", 5.0), timing("read-once", 0.8)
    run = SpeedRun("", (StructureResult("case", "organ", "whole", (3, 3, 3), timings),), (), (), ())
    (broken,) = (verdict for verdict in judge(run) if verdict.kept is False)
    assert "nobody can: to read every byte once, and nothing else, is case organ 6.25x" in broken.evidence


@pytest.mark.parametrize(("peer", "least"), [("surface-distance", 10), ("monai", 40)])
@pytest.mark.parametrize(("share", "kept"), [(1.01, True), (0.99, False)])
def test_the_promise_about_all_structures_of_a_case_can_be_kept_and_broken(peer, least, share, kept):
    timings = timing("segauge", 1.0), timing(peer, share * least)
    run = SpeedRun("", (), (CaseResult("kits-1", 3, 100, timings, (), None),), (), ())
    assert verdicts(run) == {
        f"all structures of a case at least {least}x faster than {peer} looped over them, one thread": kept
    }


def test_tools_that_take_seconds_for_a_structure_are_not_looped_over_many_labels():
    both = ("surface-distance", "monai")
    assert chosen_loops(both, many_labels=False) == ["surface-distance", "surface-distance-cropped", "monai"]
    assert chosen_loops(both, many_labels=True) == ["surface-distance", "surface-distance-cropped"]
    assert chosen_loops(("monai",), many_labels=False) == ["monai"]


def test_the_phantom_case_holds_every_structure_in_both_label_maps():
    case = phantom_case()
    for labels in case.structures.values():
        assert np.isin(case.pred, labels).any()
        assert np.isin(case.gt, labels).any()


@pytest.mark.parametrize(("exponent", "kept"), [(2.0, True), (3.0, False)])
def test_growth_is_the_slope_of_the_logarithms(exponent, kept):
    sizes = (10.0, 20.0, 40.0)
    growth = ScalingResult("ball", "radius", "segauge-again", sizes, tuple(size**exponent for size in sizes), "", 2.5)
    # A power law is fitted exactly, up to rounding.
    assert growth.exponent == pytest.approx(exponent)
    assert set(verdicts(SpeedRun("", (), (), (growth,), ())).values()) == {kept}


def test_the_sub_voxel_surface_is_held_against_marching_cubes_structure_by_structure():
    costs = [Cost("phantoms", "ball", 1.0, 2.0), Cost("kits-66", "kidney", 2.0, 6.2), Cost("kits-66", "cyst", 1.0, 1.5)]
    kept, broken = (str(verdict) for verdict in subvoxel.judge(costs))
    assert kept.startswith("PASS  phantoms, one by one: at most 3 times")
    assert broken.startswith("FAIL  kits-66, one by one: ")
    assert "longest 3.10x (kidney), median 2.30x, n = 2, 1 above" in broken


@pytest.mark.parametrize(("seconds", "word"), [(5.9, "PASS"), (6.1, "FAIL")])
def test_the_sub_voxel_surface_is_held_against_marching_cubes_on_whole_cases(seconds, word):
    costs = [Cost("kits-66", subvoxel.ALL, 2.0, seconds), Cost("tcia-21", subvoxel.ALL, 1.0, 1.5)]
    (verdict,) = subvoxel.judge(costs)
    assert str(verdict).startswith(f"{word}  all structures of a case: at most 3 times")
    assert "(kits-66)" in verdict.evidence


def test_what_has_no_data_is_left_out_of_the_sub_voxel_costs_and_named(monkeypatch, capsys):
    monkeypatch.setattr(subvoxel, "case_folder", lambda: None)
    monkeypatch.setattr(subvoxel, "SOLIDS", {"ball": (Ball((0.0, 0.0, 0.0), 5.0), (1.0, 1.0, 1.0))})
    pair = cubes()
    case = Case(pair.pred.astype(np.uint8), pair.gt.astype(np.uint8), pair.spacing, 1.0, {"cube": (1,)})
    monkeypatch.setattr(subvoxel, "phantom_case", lambda: case)
    subvoxel.main(["--pairs", "phantoms,kits-66", "--rounds", "1"])
    printed = capsys.readouterr().out
    assert "kits-66: left out, needs nibabel and the data in ../shared" in printed
    assert "| phantoms: ball " in printed
    assert "| phantoms: all structures |" in printed
