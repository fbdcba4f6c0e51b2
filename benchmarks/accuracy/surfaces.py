"""How far each tool is from the truth: pairs of solids whose distances are known, over spacings and anisotropies.

`python -m benchmarks.accuracy.surfaces [--pairs 6[,shape=12]] [--set name] [--peers all|none|a,b] [--out file.json]`

A set of pairs is drawn from its name. Constants of our surfaces were tuned on the published one: what they are worth is
judged (`benchmarks.accuracy.promises`) on a set of another name.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.solids import COMPARED, PUBLISHED, SHAPES, drawn_pair, voxels_across
from benchmarks.phantom_pairs import phantom_pair
from benchmarks.runner import Effort, Runner
from benchmarks.tables import MISSING, markdown_table
from benchmarks.tools import PAIR_TOOLS
from segauge.errors import InvalidInput
from segauge.phantoms import DistanceTruth, Phantom, distance_truth, sampled_truth

TOLERANCE_MM = 1.5
SPACINGS = ((1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (0.7, 0.7, 1.25), (0.8, 0.8, 2.5), (0.8, 0.8, 5.0))
#: Points on each surface where there is no closed form; the next metric digit shown is 0.001.
SAMPLES = 200_000

#: Our surfaces.
MARCHING_CUBES, SUBVOXEL = "segauge", "segauge-subvoxel"
OURS = (MARCHING_CUBES, "segauge-voxel", SUBVOXEL)
#: Columns of the table, and the values of a tool that stand in them: a pooled HD95 is held against a pooled truth.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "HD, mm": ("hd",),
    "HD95, mm": ("hd95", "hd95_pooled"),
    "ASSD, mm": ("assd",),
    "MASD, mm": ("masd",),
    f"NSD({TOLERANCE_MM:g} mm)": ("nsd",),
}


@dataclass(frozen=True)
class Answer:
    """What one tool said of one pair, by metric, and the truth; or the reason why it said nothing.

    `voxels_across`: the smallest diameter of the solids, where it is known.
    """

    shape: str
    spacing: tuple[float, ...]
    tool: str
    values: Mapping[str, float]
    truth: Mapping[str, float]
    error: str = ""
    voxels_across: float | None = None

    def errors(self, column: str) -> list[float]:
        """Return the absolute error in a column of the table: one number, or none."""
        return [abs(self.values[key] - self.truth[key]) for key in COLUMNS[column] if key in self.values]


def true_values(pred: Phantom, gt: Phantom) -> dict[str, float]:
    """Return every metric of two solids, in closed form where there is one, else from dense exact samples."""
    truth = _truth(pred, gt)
    return {
        "hd": truth.hd(),
        "hd95": truth.hd_percentile(95.0),
        "hd95_pooled": truth.hd_percentile(95.0, pooled=True),
        "assd": truth.assd(),
        "masd": truth.masd(),
        "nsd": truth.nsd(TOLERANCE_MM),
    }


def _truth(pred: Phantom, gt: Phantom) -> DistanceTruth:
    try:
        return distance_truth(pred, gt)
    except InvalidInput:
        return sampled_truth(pred, gt, SAMPLES)


def pairs_asked_for(text: str, shapes: Sequence[str]) -> dict[str, int]:
    """Return how many pairs of each shape a command line asks for: `30`, or `30,lesion=200`."""
    words = text.split(",")
    try:
        counts = dict.fromkeys(shapes, int(words[0]))
        others = {name: int(count) for name, count in (word.split("=") for word in words[1:])}
    except ValueError:
        raise SystemExit(f"--pairs should be a number, or as 30,lesion=200; it is {text}.") from None
    if unknown := sorted(set(others) - set(shapes)):
        raise SystemExit(f"--pairs names {', '.join(unknown)}, which is not among the shapes: {', '.join(shapes)}.")
    return {**counts, **others}


def ask(
    runner: Runner, tools: Sequence[str], pairs_of: Mapping[str, int], name_of_set: str = PUBLISHED
) -> Iterator[Answer]:
    """Let every tool measure the same pairs of each shape, each of them drawn at every spacing."""
    for shape, pairs in pairs_of.items():
        for number in range(pairs):
            pred, gt = drawn_pair(shape, number, name_of_set)
            truth = true_values(pred, gt)
            print(f"... {shape} {number + 1} of {pairs}", flush=True)
            for spacing in SPACINGS:
                pair = phantom_pair(pred, gt, spacing, tolerance_mm=TOLERANCE_MM)
                if not (pair.pred.any() and pair.gt.any()):
                    continue
                across = voxels_across((pred, gt), spacing)
                with runner.stored(pair) as stored:
                    for tool in tools:
                        timing = runner.time(tool, stored)
                        yield Answer(shape, spacing, tool, timing.values, truth, timing.error, across)


def describe(answers: Sequence[Answer]) -> str:
    """Return the tables as Markdown: mean absolute error and its standard deviation over the pairs."""
    parts = [
        "# Distance from the truth\n\nMean absolute error ± standard deviation over the pairs; the truth is that of "
        "the solids themselves. A pooled HD95 is held against the pooled truth."
    ]
    for shape in dict.fromkeys(answer.shape for answer in answers):
        chosen = [answer for answer in answers if answer.shape == shape]
        parts.append(f"## {shape}\n\n{error_table(chosen)}")
    failures = dict.fromkeys(f"- {answer.tool}: {answer.error}" for answer in answers if answer.error)
    if failures:
        parts.append("## Failures\n\n" + "\n".join(failures))
    return "\n\n".join(parts)


def error_table(answers: Sequence[Answer]) -> str:
    """Return mean absolute error ± standard deviation by spacing, tool and metric, as Markdown."""
    rows = []
    for spacing in dict.fromkeys(answer.spacing for answer in answers):
        for tool in dict.fromkeys(answer.tool for answer in answers):
            chosen = [answer for answer in answers if answer.spacing == spacing and answer.tool == tool]
            name = f"{' x '.join(f'{edge:g}' for edge in spacing)}: {tool}"
            rows.append([name, str(len(chosen)), *(_cell(chosen, column) for column in COLUMNS)])
    return markdown_table(["spacing, mm: tool", "pairs", *COLUMNS], rows)


def _cell(answers: Sequence[Answer], column: str) -> str:
    errors = [error for answer in answers for error in answer.errors(column)]
    if not errors:
        return MISSING
    return f"{statistics.fmean(errors):.3f} ± {statistics.pstdev(errors):.3f}"


def main(arguments: Sequence[str] | None = None) -> list[Answer]:
    """Parse the command line, ask all tools, print and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.surfaces", description=__doc__)
    parser.add_argument("--pairs", default="6", help="pairs of each shape, drawn at every spacing; 30,lesion=200")
    parser.add_argument("--set", default=PUBLISHED, help="name of the set of pairs; every name draws others")
    parser.add_argument(
        "--shapes",
        default=",".join(COMPARED),
        help=f"comma-separated, among {', '.join(SHAPES)} (default: %(default)s)",
    )
    parser.add_argument("--peers", default="all", help="comma-separated; all, none")
    parser.add_argument("--out", type=Path, help="write answers to this JSON file and the tables beside it as .md")
    given = parser.parse_args(arguments)
    pairs_of = pairs_asked_for(given.pairs, given.shapes.split(","))
    with Runner(Effort(repeats=1)) as runner:
        answers = list(ask(runner, tools_asked_for(given.peers), pairs_of, given.set))
    text = describe(answers)
    print(text)
    if given.out is not None:
        content = [dataclasses.asdict(answer) for answer in answers]
        given.out.write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
        given.out.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    return answers


def tools_asked_for(peers: str) -> list[str]:
    """Return our surfaces and the peers that a command line names."""
    known = [name for name, tool in PAIR_TOOLS.items() if tool.environment != "own"]
    wanted = {"all": known, "none": []}.get(peers, peers.split(","))
    if unknown := sorted(set(wanted) - set(known)):
        raise SystemExit(f"Unknown: {', '.join(unknown)}. There are {', '.join(known)}, or all, or none.")
    return [*OURS, *wanted]


if __name__ == "__main__":
    main()
