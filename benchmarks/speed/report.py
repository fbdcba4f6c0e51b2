"""A speed run in words: tables of ratios, then the promises with PASS or FAIL."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers import Timing
from benchmarks.speed.requirements import judge
from benchmarks.speed.results import (
    OURS,
    OURS_AGAIN,
    OURS_ALL,
    CaseResult,
    SpeedRun,
    StructureResult,
    find_timing,
    ratio_of,
)
from benchmarks.tables import MISSING, markdown_table, milliseconds, three_digits, times
from benchmarks.tools import CASE_TOOLS, PAIR_TOOLS

#: Whether a tool cuts a whole image down to the structure by itself.
_ARRAYS = {
    "cropped": "masks cut to the box of both plus one voxel, contiguous: what a careful user passes, to every tool",
    "whole": "masks as large as the image, in the file's axis order, to tools that crop by themselves",
    "phantom": "masks of phantoms in an image that just holds them",
}


def describe(run: SpeedRun) -> str:
    """Return the whole run as Markdown."""
    parts = [f"# Speed\n\n{run.machine}\n", _legend(run)]
    parts += [_structure_section(run, arrays) for arrays in _ARRAYS]
    parts += [_case_section(run.cases), _scaling_section(run), _left_out(run)]
    parts.append("## Promises\n\n" + "\n".join(f"- {verdict}" for verdict in judge(run)))
    return "\n\n".join(part for part in parts if part)


def _legend(run: SpeedRun) -> str:
    timings = [timing for result in run.structures for timing in result.timings]
    lines = ["Ratios are a tool's best time over ours on one thread: 12x means that we are twelve times faster."]
    lines.append("`*`: taken from an earlier run. `~`: did not have its two cores to itself, or did not use them.")
    for name in dict.fromkeys(timing.tool for timing in timings):
        version = next((timing.version for timing in timings if timing.tool == name and timing.version), "not running")
        pinned = ", held to one core" if PAIR_TOOLS[name].pinned else ""
        lines.append(f"- {name} {version}: {PAIR_TOOLS[name].called}{pinned}")
    return "\n".join(lines)


def _structure_section(run: SpeedRun, arrays: str) -> str:
    results = [result for result in run.structures if result.arrays == arrays]
    if not results:
        return ""
    tools = dict.fromkeys(timing.tool for result in results for timing in result.timings)
    peers = [tool for tool in tools if tool not in (OURS, OURS_AGAIN)]
    header = ["structure", "box", "ours, ms", "2 threads, ms", "again, ms", *peers]
    rows = [_structure_row(result, peers) for result in results]
    return f"## One structure, {arrays} arrays\n\n{_ARRAYS[arrays]}\n\n{markdown_table(header, rows)}"


def _structure_row(result: StructureResult, peers: Sequence[str]) -> list[str]:
    ours, two = result.timing(OURS), result.timing(OURS, threads=2)
    cells = [f"{result.case} {result.structure}", "x".join(map(str, result.shape))]
    cells += [_time_cell(ours), _time_cell(two), _time_cell(result.timing(OURS_AGAIN))]
    return cells + [_ratio_cell(result.timing(peer), ours) for peer in peers]


def _time_cell(timing: Timing | None) -> str:
    return MISSING if timing is None else milliseconds(timing.best_s) + _marks(timing)


def _ratio_cell(timing: Timing | None, ours: Timing | None) -> str:
    if timing is None:
        return MISSING
    if timing.error:
        return "failed"
    ratio = ratio_of(timing, ours)
    return (f"{milliseconds(timing.best_s)} ms" if ratio is None else times(ratio)) + _marks(timing)


def _marks(timing: Timing) -> str:
    return ("*" if timing.cached else "") + ("~" if timing.disturbed else "")


def _case_section(cases: Sequence[CaseResult]) -> str:
    if not cases:
        return ""
    header = ["case", "structures", "ours, ms", "2 threads, ms", "again, 2 threads, ms", "all metrics, 2 threads, ms"]
    header += ["read: nibabel", "read: isal", "peak memory"]
    others = [name for name in CASE_TOOLS if name not in (OURS, OURS_AGAIN, OURS_ALL)]
    loops = [name for name in others if any(case.timing(name) for case in cases)]
    rows = [_case_row(case, loops) for case in cases]
    text = (
        "All structures of a case at once. Reading the two files and the peers' loops over the structures are "
        "multiples of our time on two threads, peak memory one of the two label maps' size."
    )
    called = "\n".join(f"- {name}: {CASE_TOOLS[name].called}" for name in (OURS, OURS_AGAIN, OURS_ALL, *loops))
    return f"## Whole cases\n\n{text}\n{called}\n\n{markdown_table([*header, *loops], rows)}"


def _case_row(case: CaseResult, loops: Sequence[str]) -> list[str]:
    one, two = case.timing(OURS), case.timing(OURS, threads=2)
    reading = [find_timing(case.reading, reader, 1) for reader in ("nibabel", "nibabel+isal")]
    share = case.peak_share
    return [
        case.case,
        str(case.structures),
        _time_cell(one),
        _time_cell(two),
        *(_time_cell(case.timing(tool, threads=2)) for tool in (OURS_AGAIN, OURS_ALL)),
        *(_ratio_cell(timing, two) for timing in reading),
        MISSING if share is None else f"{three_digits(share)}x",
        *(_ratio_cell(case.timing(loop), two) for loop in loops),
    ]


def _scaling_section(run: SpeedRun) -> str:
    rows = [
        [
            f"{scaling.tool}: {scaling.what}",
            ", ".join(
                f"{three_digits(size)}: {milliseconds(t)}"
                for size, t in zip(scaling.sizes, scaling.seconds, strict=True)
            ),
            MISSING if scaling.exponent is None else f"{scaling.exponent:.2f}",
            scaling.expected,
        ]
        for scaling in run.scaling
    ]
    return "## Growth\n\n" + markdown_table(["what", "size: ms", "exponent", "means"], rows) if rows else ""


def _left_out(run: SpeedRun) -> str:
    return "## Left out\n\n" + "\n".join(f"- {reason}" for reason in run.left_out) if run.left_out else ""
