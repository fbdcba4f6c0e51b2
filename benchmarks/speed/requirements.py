"""What the measuring core promises about its speed, and whether a run kept it. Only ratios are judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.peers import Timing
from benchmarks.speed.results import OURS, OURS_AGAIN, OURS_ALL, READ_ONCE, CaseResult, SpeedRun, find_timing, ratio_of
from benchmarks.tables import three_digits, times
from benchmarks.verdicts import Verdict

#: surface-distance looped over the structures of a case, as one writes it first, and with their boxes found beforehand.
SURFACE_DISTANCE_LOOPS = ("surface-distance", "surface-distance-cropped")


def judge(run: SpeedRun) -> list[Verdict]:
    """Return the verdict on every promise."""
    return [
        *(_per_structure(run, "surface-distance", 10.0, arrays) for arrays in ("whole", "cropped", "phantom")),
        *(_per_structure(run, "monai", 40.0, arrays) for arrays in ("whole", "cropped", "phantom")),
        *(_against_reading(run, tool, reader) for reader in ("nibabel", "nibabel+isal") for tool in (OURS, OURS_ALL)),
        *(_whole_cases(run, tool, 10.0) for tool in SURFACE_DISTANCE_LOOPS),
        _whole_cases(run, "monai", 40.0),
        *(_many_labels(run, tool) for tool in SURFACE_DISTANCE_LOOPS),
        _peak_memory(run),
        *_growth(run),
    ]


def _per_structure(run: SpeedRun, peer: str, least: float, arrays: str) -> Verdict:
    promise = f"every structure at least {least:.0f}x faster than {peer}, one thread, {arrays} arrays"
    ratios = [
        (ratio, f"{result.case} {result.structure}")
        for result in run.structures
        if result.arrays == arrays and (ratio := result.ratio(peer)) is not None
    ]
    verdict = _judge_lowest(promise, ratios, least)
    evidence = verdict.evidence
    again = [ratio for r in run.structures if r.arrays == arrays and (ratio := r.ratio(peer, OURS_AGAIN)) is not None]
    if again:
        evidence += f"; the same pairs met again: lowest {times(min(again))}"
    bounds = [f"{name} {times(most)}" for most, name in _most_possible(run, peer, arrays) if most < least]
    if bounds:
        evidence += f"; nobody can: to read every byte once, and nothing else, is {', '.join(bounds)}"
    return replace(verdict, evidence=evidence)


def _most_possible(run: SpeedRun, peer: str, arrays: str) -> list[tuple[float, str]]:
    """Return how many times faster than the peer it is to read every byte of both masks once."""
    found = []
    for result in run.structures:
        ratios = result.ratio(peer), result.ratio(READ_ONCE)
        if result.arrays == arrays and ratios[0] is not None and ratios[1] is not None:
            found.append((ratios[0] / ratios[1], f"{result.case} {result.structure}"))
    return sorted(found)


def _judge_lowest(promise: str, ratios: Sequence[tuple[float, str]], least: float) -> Verdict:
    if not ratios:
        return Verdict(promise, None, "not measured")
    ordered = sorted(ratios)
    below = [f"{name} {times(ratio)}" for ratio, name in ordered if ratio < least]
    middle = ordered[len(ordered) // 2][0]
    evidence = f"lowest {times(ordered[0][0])} ({ordered[0][1]}), median {times(middle)}, n = {len(ordered)}"
    if below:
        evidence += f"; {len(below)} below: {', '.join(below[:8])}{' ...' if len(below) > 8 else ''}"
    return Verdict(promise, not below, evidence)


def _against_reading(run: SpeedRun, tool: str, reader: str) -> Verdict:
    metrics = "all" if tool == OURS_ALL else "the default"
    promise = f"{metrics} metrics of the kidney structures within reading the two files ({reader}), two threads"
    # "reading / ours": at least 1 is kept.
    ratios = _case_ratios(
        [case for case in run.cases if case.case.startswith("kits")],
        lambda case: find_timing(case.reading, reader, 1),
        tool,
    )
    return _judge_lowest(promise, ratios, 1.0)


def _whole_cases(run: SpeedRun, tool: str, least: float) -> Verdict:
    promise = f"all structures of a case at least {least:.0f}x faster than {tool} looped over them, one thread"
    return _judge_lowest(promise, _case_ratios(run.cases, lambda case: case.timing(tool), OURS, threads=1), least)


def _many_labels(run: SpeedRun, tool: str) -> Verdict:
    promise = f"120 labels at least 25x faster than {tool} looped over the labels, two threads"
    ratios = _case_ratios([case for case in run.cases if case.structures == 120], lambda case: case.timing(tool), OURS)
    return _judge_lowest(promise, ratios, 25.0)


def _case_ratios(
    cases: Sequence[CaseResult], other: Callable[[CaseResult], Timing | None], tool: str, threads: int = 2
) -> list[tuple[float, str]]:
    ratios = []
    for case in cases:
        ours = case.timing(tool, threads=threads)
        ratio = ratio_of(other(case), ours)
        if ours is not None and ratio is not None:
            ratios.append((ratio, f"{case.case}, which did not get two cores" if ours.disturbed else case.case))
    return ratios


def _peak_memory(run: SpeedRun) -> Verdict:
    promise = "peak memory under three times the two label maps"
    shares = [(share, case.case) for case in run.cases if (share := case.peak_share) is not None]
    if not shares:
        return Verdict(promise, None, "not measured")
    highest = max(shares)
    return Verdict(
        promise, highest[0] < 3.0, f"highest {three_digits(highest[0])} times ({highest[1]}), n = {len(shares)}"
    )


def _growth(run: SpeedRun) -> list[Verdict]:
    verdicts = []
    for scaling in run.scaling:
        exponent = scaling.exponent
        if scaling.tool != OURS_AGAIN or exponent is None or scaling.limit is None:
            continue
        evidence = f"{scaling.what}: time ~ {scaling.size} ^ {exponent:.2f} ({scaling.expected}; limit {scaling.limit})"
        verdicts.append(Verdict("time per structure grows with its surface", exponent < scaling.limit, evidence))
    return verdicts or [Verdict("time per structure grows with its surface", None, "not measured")]
