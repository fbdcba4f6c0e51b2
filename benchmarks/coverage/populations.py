"""Populations of real and made per-case scores, to draw test sets from whose true mean is known.

Real ones lie in `../shared` or the folder that `SEGAUGE_SHARED` names: the Touchstone tables (Dice and NSD of many
models and organs) and per-case Dice and HD of nnU-Net on two tasks of the Medical Segmentation Decathlon. Made ones are
always there.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from segauge.io.tables import Repairs, read_scores
from segauge.stats import ScoreMatrix, score_matrix
from segauge.stats.resampling import Sample

Floats = npt.NDArray[np.float64]
PROJECT = Path(__file__).resolve().parents[2]
UNIT = (0.0, 1.0)
DISTANCE = (0.0, math.inf)
#: Below this score nothing was found.
FOUND = 0.05


@dataclass(frozen=True, eq=False)
class Population:
    """Values that test sets are drawn from, one per case; or per patient the sum, number and squares of several."""

    sums: Floats
    sizes: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats) -> Population:
        """Return the population of independent cases."""
        return cls(values, np.ones_like(values), values**2)

    @property
    def mean(self) -> float:
        """The true mean."""
        return float(self.sums.sum() / self.sizes.sum())

    def draw(self, n: int, replicates: int, rng: np.random.Generator) -> Sample:
        """Return test sets of n cases (patients), one per column."""
        drawn = rng.integers(0, self.sums.size, (n, replicates))
        sizes = self.sizes[drawn]
        return Sample(
            self.sums[drawn], np.ones((n, 1)) if (sizes == 1).all() else sizes, self.squares[drawn].sum(axis=0)
        )


@dataclass(frozen=True)
class Family:
    """Populations of one kind on one scale, where 0 is the worst value if it is bounded and higher is better."""

    name: str
    populations: tuple[Population, ...]
    bounds: tuple[float, float]

    @property
    def is_bounded(self) -> bool:
        """True if the scale has two ends."""
        return math.isfinite(self.bounds[1])


def shared_data() -> Path:
    """Return the folder of the real data, which need not be there."""
    return Path(os.environ.get("SEGAUGE_SHARED", PROJECT.parent / "shared")) / "data"


def touchstone_folder(dataset: str = "totalsegmentator") -> Path | None:
    """Return the folder of the Touchstone tables of one dataset, or None."""
    folder = shared_data() / "touchstone" / f"{dataset}_results"
    return folder if folder.is_dir() else None


def real_matrices() -> dict[str, ScoreMatrix]:
    """Return the scores of all models per organ and metric, on the cases that every model has; empty without data."""
    folder = touchstone_folder()
    if folder is None:
        return {}
    tables = read_scores(folder, repairs=Repairs(cases="common")).tables
    first = next(iter(tables.values()))
    return {
        f"{organ} {metric}": score_matrix(tables, structure=organ, metric=metric).complete_cases()
        for organ in first.structures
        for metric in first.metrics
    }


def touchstone(dataset: str) -> list[Floats]:
    """Return every model's own scores per organ and metric; empty without data."""
    folder = touchstone_folder(dataset)
    if folder is None:
        return []
    tables = read_scores(folder, repairs=Repairs(cases="keep", duplicates="first", empty="own")).tables
    found = [
        table.column(organ, metric)
        for table in tables.values()
        for organ in table.structures
        for metric in table.metrics
    ]
    return [kept for values in found if (kept := values[np.isfinite(values)]).size >= 50]


def decathlon(metric: str) -> list[Floats]:
    """Return the per-case Dice (as a share) or HD (mm) of nnU-Net on brain tumours and the hippocampus."""
    found = []
    for path in sorted((shared_data() / "msd_scores").glob(f"*_{metric}.csv")):
        with path.open(newline="") as file:
            values = np.array([float(row["metric"]) for row in csv.DictReader(file)])
        values = values[np.isfinite(values)]
        found.append(values / 100.0 if metric == "dice" else values)
    return found


def made_scores(size: int = 2000) -> list[Floats]:
    """Return bounded scores with a mean of 0.5 to 0.97 and 0 to 30 % failures."""
    rng = np.random.default_rng(2024)
    found = []
    for mean, spread in ((0.97, 60.0), (0.92, 25.0), (0.85, 12.0), (0.7, 6.0), (0.5, 3.0)):
        for failures in (0.0, 0.02, 0.1, 0.3):
            values = rng.beta(mean * spread, (1 - mean) * spread, size)
            values[: round(failures * size)] = 0.0
            found.append(values)
    return found


def lesion_f1(size: int = 4000) -> list[Floats]:
    """Return F1 scores of cases with a few lesions each, of detectors from poor to good."""
    rng = np.random.default_rng(7)
    found = []
    for recall, false_positives in ((0.5, 2.0), (0.7, 1.0), (0.8, 0.5), (0.9, 0.3), (0.95, 0.1)):
        lesions = 1 + rng.poisson(2.5, size)
        hits = rng.binomial(lesions, rng.beta(8 * recall, 8 * (1 - recall), size))
        wrong = rng.poisson(false_positives, size)
        found.append(2.0 * hits / (lesions + hits + wrong))
    return found


def patients(size: int = 1000) -> list[Population]:
    """Return patients with one to six scores each that are alike within a patient."""
    rng = np.random.default_rng(8)
    found = []
    for mean, within in ((0.9, 0.02), (0.8, 0.05), (0.6, 0.1)):
        sizes = rng.integers(1, 7, size).astype(float)
        own = rng.beta(12 * mean, 12 * (1 - mean), size)
        scores = [np.clip(own[i] + rng.normal(0, within, int(sizes[i])), 0, 1) for i in range(size)]
        found.append(
            Population(
                np.array([one.sum() for one in scores]), sizes, np.array([float((one**2).sum()) for one in scores])
            )
        )
    return found


def families(every: int = 1) -> list[Family]:
    """Return the families that have data here; of the many Touchstone populations every so-manyth."""
    rng = np.random.default_rng(9)
    steps = (np.arange(20_000) + 0.5) / 20_000
    ts, dap = touchstone("totalsegmentator")[::every], touchstone("dapatlas")[::every]
    shapes = [np.exp(1.0 + ndtri(steps))]
    shares = [np.repeat([1.0, 0.0], [round(1000 * p), 1000 - round(1000 * p)]) for p in (0.5, 0.7, 0.8, 0.9, 0.95)]
    counts = [
        rng.negative_binomial(size, size / (size + mean), 4000).astype(float)
        for size, mean in ((1, 1), (2, 4), (5, 10))
    ]
    made = [
        ("Touchstone, TotalSegmentator", ts, UNIT),
        ("Touchstone, TotalSegmentator, found", _found(ts), UNIT),
        ("Touchstone, DAP Atlas", dap, UNIT),
        ("Touchstone, DAP Atlas, found", _found(dap), UNIT),
        ("Decathlon Dice", decathlon("dice"), UNIT),
        ("Decathlon HD", decathlon("hd"), DISTANCE),
        ("made scores with failures", made_scores(), UNIT),
        ("lognormal distances, sigma 1", shapes, DISTANCE),
        ("lesion F1", lesion_f1(), UNIT),
        ("lesion counts", counts, DISTANCE),
        ("found or not", shares, UNIT),
    ]
    found = [Family(name, tuple(map(Population.of, values)), bounds) for name, values, bounds in made if values]
    return [*found, Family("patients with 1 to 6 cases", tuple(patients()), UNIT)]


def _found(populations: Iterable[Floats]) -> list[Floats]:
    return [kept for values in populations if (kept := values[values > FOUND]).size >= 50]
