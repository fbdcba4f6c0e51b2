"""What each part of the sub-voxel rule is worth: the same pairs with a part taken away or put elsewhere.

`python -m benchmarks.accuracy.rules [--pairs 6] [--set name] [--shapes ball,torus] [--organs N] [--offsets 3]`

- `the rule`: three Gaussians, chords that end caps, and between thick slices circles through outlines.
- `Gaussians alone`: neither chords nor circles.
- `no chords`: what is said. `no thick slices`: across them neither circles nor diagonal chords, nor a third layer.
- `round caps`: all caps are taken to be round, whatever a third layer says of them.
- `sure chords`: chords are believed, whatever errors of their ends would do.
- `short chords`: they reach half as far.
- `chords on slopes`: also where Gaussians see a slope of more than 45 degrees.
- `even Gaussians`: what Gaussians say of caps counts the same, whatever they see of a slope.
- `no strips`: nothing is known of these.

On solids with closed-form truth and, with `--organs`, on the smallest N of the readers' organs (0: none). All of it in
the kernel; other ways to place the vertices, which the kernel does not know: `benchmarks.accuracy.candidates`.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from benchmarks.accuracy.organs import SPACINGS as ORGAN_SPACINGS
from benchmarks.accuracy.organs import reader_organs, shared_data, values_of
from benchmarks.accuracy.solids import COMPARED, PUBLISHED, drawn_pair
from benchmarks.accuracy.surfaces import SPACINGS, TOLERANCE_MM, Answer, describe, true_values
from benchmarks.phantom_pairs import phantom_pair
from benchmarks.tools import Pair
from segauge.geometry.distances import SurfaceDistances
from segauge.geometry.engine import engine
from segauge.geometry.masks import pack
from segauge.geometry.subvoxel import SubvoxelRule, subvoxel_rule

RULES: Mapping[str, Callable[[SubvoxelRule], SubvoxelRule]] = {
    "the rule": lambda rule: rule,
    "Gaussians alone": lambda rule: dataclasses.replace(rule, cap_axes=(), thick_axes=()),
    "no chords": lambda rule: dataclasses.replace(rule, cap_axes=()),
    "no thick slices": lambda rule: dataclasses.replace(rule, thick_axes=()),
    "round caps": lambda rule: dataclasses.replace(rule, roundness_error=0.0),
    "sure chords": lambda rule: dataclasses.replace(rule, chord_error_mm=0.0),
    "short chords": lambda rule: dataclasses.replace(
        rule, chord_reach_mm=tuple(reach / 2 for reach in rule.chord_reach_mm)
    ),
    "chords on slopes": lambda rule: dataclasses.replace(rule, slope_to_mm=(0.0,) * rule.ndim),
    "even Gaussians": lambda rule: dataclasses.replace(rule, gaussians_variance=1 / 12, flat_variance=0.0),
    "no strips": lambda rule: dataclasses.replace(rule, strip_error=0.0),
}


def measure(pair: Pair, rule: SubvoxelRule) -> dict[str, float]:
    """Return every metric of a pair between the surfaces that a rule makes."""
    whole = ((0,) * pair.pred.ndim, pair.pred.shape)
    masks = [pack(mask.astype(np.uint8), [1], whole, threads=1) for mask in (pair.pred, pair.gt)]
    prepared = engine().prepare_subvoxel(rule)
    return values_of(SurfaceDistances(*engine().subvoxel_distances(*masks, None, prepared, 1)))


def _answers(kind: str, pair: Pair, truth: Mapping[str, float]) -> Iterator[Answer]:
    spacing = tuple(float(edge) for edge in pair.spacing)
    rule = subvoxel_rule(np.diag(spacing))
    for name, changed in RULES.items():
        yield Answer(kind, spacing, name, measure(pair, changed(rule)), truth)


def ask_solids(shapes: Sequence[str], pairs: int, name_of_set: str) -> Iterator[Answer]:
    """Measure the pairs of `benchmarks.accuracy.surfaces` under every rule."""
    for shape in shapes:
        for number in range(pairs):
            pred, gt = drawn_pair(shape, number, name_of_set)
            truth = true_values(pred, gt)
            for spacing in SPACINGS:
                pair = phantom_pair(pred, gt, spacing, tolerance_mm=TOLERANCE_MM)
                if pair.pred.any() and pair.gt.any():
                    yield from _answers(shape, pair, truth)


def ask_organs(organs: int, offsets: int) -> Iterator[Answer]:
    """Measure the pairs of `benchmarks.accuracy.organs` under every rule; none where their data are not there."""
    folder = shared_data()
    if folder is None:
        print("Readers' organs are left out: they need the masks in ../shared/data (or below SEGAUGE_SHARED).")
        return
    for organ in sorted(reader_organs(folder), key=lambda organ: int(organ.gt.mask.sum()))[:organs]:
        truth = organ.truth()
        for spacing in ORGAN_SPACINGS:
            for pair in organ.coarse_pairs(spacing, offsets):
                yield from _answers(organ.kind, pair, truth)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.rules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pairs", type=int, default=6, help="pairs of each solid, drawn at every spacing")
    parser.add_argument("--set", default=PUBLISHED, help="name of the set of pairs; every name draws others")
    parser.add_argument("--shapes", default=",".join(COMPARED), help="comma-separated solids")
    parser.add_argument("--organs", type=int, default=0, help="readers' organs, smallest first (there are 22)")
    parser.add_argument("--offsets", type=int, default=3, help="places of the grid, for each organ at every spacing")
    given = parser.parse_args(arguments)
    shapes = [shape for shape in given.shapes.split(",") if shape]
    answers = [*ask_solids(shapes, given.pairs, given.set), *ask_organs(given.organs, given.offsets)]
    print(describe(answers))


if __name__ == "__main__":
    main()
