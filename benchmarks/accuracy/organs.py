"""How far each tool is from the truth on organs: two readers' kidneys, tumours and cysts, seen through coarse voxels.

`python -m benchmarks.accuracy.organs [--offsets 3] [--organs N] [--peers all|none|a,b] [--out file.json]`

**What is true.** The readers drew on slices of 0.5 to 1 mm. Their masks are staircases themselves, so distances
between those would favour the surface they were measured with. The true objects are therefore made from the masks,
and smooth: the blur of a mask by a Gaussian of 1 mm, cut at one half (`benchmarks.accuracy.smooth_objects`). Every
tool gets the same: for each centre of a coarse voxel, whether it lies inside. The truth is measured between the
objects' own surfaces, extracted on a grid of 0.5 mm with vertices where the field is zero; no candidate has a part in
it. (On a kidney, a grid of 0.4 mm changes ASSD and MASD by 0.0003 mm, HD95 by 0.002 mm, NSD by less than 0.0001, and
HD, where it is the tip of a thin fold, by 0.09 mm.) The blur is that of the fine mask: the Gaussians of our sub-voxel
surface see only the coarse one, and know as little of it as the other tools.

**What else is shown.** How far each tool's coarse number is from its own number on a grid of 0.5 mm: its dependence on
the voxels, whatever it takes for the surface.

For work on a surface: `for organ in reader_organs(shared_data()): for pair in organ.coarse_pairs((0.8, 0.8, 5.0)): ...`
gives masks with their spacing, `organ.truth()` the values; those are kept in benchmarks/.cache.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from benchmarks.accuracy import smooth_objects
from benchmarks.accuracy.smooth_objects import SmoothObject, distances_between, grid_lines, surface_of
from benchmarks.accuracy.surfaces import TOLERANCE_MM, Answer, describe, error_table, tools_asked_for
from benchmarks.inputs import PROJECT
from benchmarks.runner import CACHE_FILE, Effort, Runner
from benchmarks.tools import Pair
from segauge.geometry.distances import SurfaceDistances
from segauge.metrics.surface import assd, hausdorff, hausdorff95, masd, nsd

#: Slices of 2.5 and 5 mm, and cubes of 2 mm; first axis across the slices, as in the readers' files.
SPACINGS = ((2.0, 2.0, 2.0), (2.5, 0.8, 0.8), (5.0, 0.8, 0.8))
FINE_MM = 0.5
WIDTH_MM = 1.0
#: What both readers must have drawn of an organ: a cyst of 8 mm across.
LEAST_MM3 = 250.0

#: Cases with slices of at most 1 mm, and where their files lie below ../shared/data.
CASES: Mapping[str, str] = {
    "case_00002": "kits23_readers",
    "case_00003": "kits23_readers",
    "case_00254": "kits23_readers",
    "case_00116": "perf/kits23",
}
READERS = ("reader1", "reader2")
#: A kidney with its masses is one smooth body; without them it has holes where they were.
KINDS: Mapping[str, tuple[int, ...]] = {"kidney": (1, 2, 3), "tumour": (2,), "cyst": (3,)}

_CACHE = CACHE_FILE.with_name("organ_truth.json")


@dataclass(frozen=True, eq=False)
class Organ:
    """One organ as two readers drew it, as smooth objects."""

    name: str
    kind: str
    pred: SmoothObject
    gt: SmoothObject

    def truth(self) -> dict[str, float]:
        """Return every metric of the two smooth objects, from their surfaces on a fine grid."""
        return _cached(self, lambda: true_values(self.pred, self.gt, FINE_MM))

    def sampled(self, spacing: tuple[float, ...], offset: Sequence[float] = (0.0, 0.0, 0.0)) -> Pair:
        """Return the masks on a grid: which voxel centres lie inside. `offset`: place of the grid, in voxels."""
        lines = grid_lines([self.pred, self.gt], spacing, offset)
        pred, gt = (item.depths(lines) > 0 for item in (self.pred, self.gt))
        return Pair(pred, gt, spacing, TOLERANCE_MM)

    def coarse_pairs(self, spacing: tuple[float, ...], offsets: int = 3) -> Iterator[Pair]:
        """Yield the masks at several places of the grid, always the same ones; not those that miss an object."""
        for number in range(offsets):
            place = np.random.default_rng([*self.name.encode(), number]).uniform(size=3)
            pair = self.sampled(spacing, place.tolist())
            if pair.pred.any() and pair.gt.any():
                yield pair


def true_values(pred: SmoothObject, gt: SmoothObject, step_mm: float) -> dict[str, float]:
    """Return every metric of two smooth objects, from surfaces on a grid of a step."""
    lines = grid_lines([pred, gt], (step_mm,) * 3, (0.0, 0.0, 0.0))
    found = distances_between(*(surface_of(item.depths(lines), lines) for item in (pred, gt)))
    return values_of(found)


def values_of(found: SurfaceDistances) -> dict[str, float]:
    """Return every metric of some distances."""
    return {
        "hd": hausdorff(found),
        "hd95": hausdorff95(found),
        "hd95_pooled": hausdorff95(found, "pooled"),
        "assd": assd(found),
        "masd": masd(found),
        "nsd": nsd(found, TOLERANCE_MM),
    }


def shared_data() -> Path | None:
    """Return the folder of the readers' masks in `../shared` (or in the folder that SEGAUGE_SHARED names), or None."""
    folder = Path(os.environ.get("SEGAUGE_SHARED", PROJECT.parent / "shared")) / "data"
    found = all((folder / place / READERS[0] / f"{case}.nii.gz").is_file() for case, place in CASES.items())
    return folder if found else None


def reader_organs(folder: Path) -> Iterator[Organ]:
    """Yield every organ that two readers drew on thin slices, below the folder of the reference data."""
    import nibabel

    for case, place in CASES.items():
        images = [nibabel.load(folder / place / reader / f"{case}.nii.gz") for reader in READERS]
        pred, gt = (np.asarray(image.dataobj) for image in images)  # type: ignore[attr-defined]
        spacing = tuple(float(edge) for edge in images[0].header.get_zooms())  # type: ignore[attr-defined]
        for kind, labels in KINDS.items():
            yield from _organs(f"{case} {kind}", kind, np.isin(pred, labels), np.isin(gt, labels), spacing)


def _organs(
    name: str, kind: str, pred: npt.NDArray[np.bool_], gt: npt.NDArray[np.bool_], spacing: tuple[float, ...]
) -> Iterator[Organ]:
    """Yield each connected piece of what either reader drew, where both drew enough of it."""
    numbers, _ = ndimage.label(pred | gt)
    for number, box in enumerate(ndimage.find_objects(numbers), start=1):
        here = numbers[box] == number
        masks = [mask[box] & here for mask in (pred, gt)]
        if min(mask.sum() for mask in masks) * np.prod(spacing) >= LEAST_MM3:
            objects = (SmoothObject(mask, spacing, WIDTH_MM) for mask in masks)
            yield Organ(f"{name} {number}", kind, *objects)


def _cached(organ: Organ, compute: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Return kept values of an organ; computed where its masks or the way to the truth are others than before."""
    sources = [Path(module).read_bytes() for module in (__file__, smooth_objects.__file__)]
    masks = [np.packbits(item.mask).tobytes() for item in (organ.pred, organ.gt)]
    key = hashlib.sha256(b"\0".join([*sources, *masks, str(organ.gt.mask.shape).encode()])).hexdigest()
    kept: dict[str, dict[str, float]] = json.loads(_CACHE.read_text(encoding="utf-8")) if _CACHE.exists() else {}
    if key not in kept:
        kept[key] = compute()
        _CACHE.parent.mkdir(parents=True, exist_ok=True)
        _CACHE.write_text(json.dumps(kept), encoding="utf-8")
    return kept[key]


def ask(runner: Runner, tools: Sequence[str], organs: Sequence[Organ], offsets: int) -> Iterator[tuple[Answer, Answer]]:
    """Let every tool measure the same pairs; yield each answer beside the truth, and beside its own on fine voxels."""
    for number, organ in enumerate(organs, start=1):
        print(f"... {organ.name}, {number} of {len(organs)}", flush=True)
        truth = organ.truth()
        with runner.stored(organ.sampled((FINE_MM,) * 3)) as stored:
            fine = {tool: runner.time(tool, stored) for tool in tools}
        for spacing in SPACINGS:
            for pair in organ.coarse_pairs(spacing, offsets):
                with runner.stored(pair) as stored:
                    for tool in tools:
                        found = runner.time(tool, stored)
                        against_truth = Answer(organ.kind, spacing, tool, found.values, truth, found.error)
                        own = dict(fine[tool].values)
                        values = {key: value for key, value in found.values.items() if key in own}
                        yield (
                            against_truth,
                            Answer(organ.kind, spacing, tool, values, own, found.error or fine[tool].error),
                        )


def report(answers: Sequence[tuple[Answer, Answer]]) -> str:
    """Return the two tables of all organs, and what failed, as Markdown."""
    from_truth, from_own = ([pair[side] for pair in answers] for side in (0, 1))
    failures = dict.fromkeys(f"- {answer.tool}: {answer.error}" for answer in from_own if answer.error)
    kinds = [answer.shape for answer in from_truth if answer.tool == from_truth[0].tool]
    counts = ", ".join(f"{kinds.count(kind)} of a {kind}" for kind in dict.fromkeys(kinds))
    parts = [
        "# Readers' organs",
        f"Two readers' organs as smooth objects, drawn on coarse voxels: {len(kinds)} pairs of masks ({counts}). Mean "
        "absolute error ± standard deviation over the pairs; the first voxel edge is the thickness of the slices.",
        error_table(from_truth),
        f"The same pairs: distance of each tool's number from its own on voxels of {FINE_MM:g} mm.",
        error_table(from_own),
    ]
    return "\n\n".join([*parts, *(["Failed:\n\n" + "\n".join(failures)] if failures else [])])


def main(arguments: Sequence[str] | None = None) -> list[Answer]:
    """Parse the command line, ask all tools, print and write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.organs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--offsets", type=int, default=3, help="places of the grid, for each organ at every spacing")
    parser.add_argument("--organs", type=int, help="only the smallest so many (default: all)")
    parser.add_argument("--peers", default="all", help="comma-separated; all, none")
    parser.add_argument("--out", type=Path, help="write answers to this JSON file and tables by organ beside it as .md")
    given = parser.parse_args(arguments)
    folder = shared_data()
    if folder is None:
        print("# Readers' organs\n\nLeft out: needs the readers' masks in ../shared/data (or below SEGAUGE_SHARED).")
        return []
    organs = sorted(reader_organs(folder), key=lambda organ: int(organ.gt.mask.sum()))[: given.organs]
    with Runner(Effort(repeats=1)) as runner:
        answers = list(ask(runner, tools_asked_for(given.peers), organs, given.offsets))
    print(report(answers))
    from_truth = [pair[0] for pair in answers]
    if given.out is not None:
        content = [dataclasses.asdict(answer) for answer in from_truth]
        given.out.write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
        given.out.with_suffix(".md").write_text(describe(from_truth) + "\n", encoding="utf-8")
    return from_truth


if __name__ == "__main__":
    main()
