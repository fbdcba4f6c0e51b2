"""How much longer the sub-voxel surface takes than marching cubes: phantoms, in turns, processor time of one thread.

`python -m benchmarks.speed.subvoxel [--repeats 5]`
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from benchmarks.phantom_pairs import phantom_pair
from benchmarks.tables import markdown_table
from benchmarks.tools import Pair
from segauge import surface_metrics
from segauge.geometry.patterns import SurfaceKind
from segauge.phantoms import Ball, Ellipsoid, Tube

_SHIFT = (0.7, -0.4, 0.9)
SOLIDS = {
    "ball of 20 mm": (Ball((0.0, 0.0, 0.0), 20.0), (1.0, 1.0, 1.0)),
    "ball of 60 mm": (Ball((0.0, 0.0, 0.0), 60.0), (1.0, 1.0, 1.0)),
    "ellipsoid, thick slices": (Ellipsoid((0.0, 0.0, 0.0), (40.0, 30.0, 50.0)), (0.8, 0.8, 5.0)),
    "tube of 4 mm": (Tube(((0.0, 0.0, 0.0), (60.0, 40.0, 50.0)), 4.0), (0.7, 0.7, 1.25)),
}


def _seconds(pair: Pair, surface: SurfaceKind) -> float:
    start = time.process_time()
    surface_metrics(pair.pred, pair.gt, pair.spacing, surface=surface, threads=1)
    return time.process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure in turns, print the best times and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.subvoxel", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args(arguments).repeats
    rows = []
    for name, (solid, spacing) in SOLIDS.items():
        pair = phantom_pair(solid.shifted(_SHIFT), solid, spacing)
        times = [(_seconds(pair, "marching-cubes"), _seconds(pair, "subvoxel")) for _ in range(repeats)]
        cubes, ours = (min(column) for column in zip(*times, strict=True))
        rows.append([name, f"{1e3 * cubes:.1f}", f"{1e3 * ours:.1f}", f"{ours / cubes:.1f}x"])
    print(markdown_table(["phantom", "marching cubes, ms", "sub-voxel, ms", "ratio"], rows))


if __name__ == "__main__":
    main()
