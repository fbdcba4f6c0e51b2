"""Noise floors of a score table: below which difference two numbers cannot be told apart, whatever the models.

A table has them where `hd95_noise` stands beside `hd95`: the standard deviation of each case's number over places of
the voxel grid. That of a mean over cases is smaller, because the grids of different cases lie independently.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from segauge.metrics.definitions.surfaces import SUFFIX
from segauge.metrics.noise import REPEATABILITY
from segauge.scores import ScoreTable


@dataclass(frozen=True)
class Floor:
    """The noise floor of one metric of one structure.

    Attributes:
        structure, metric: whose.
        n: cases whose noise is known.
        n_unknown: cases that have a value of the metric, but none of its noise.
        sd: root mean square over these cases of the standard deviation over grids; None where no case has one.
        reasons: why there is none, each reason once, where it is known.

    """

    structure: str
    metric: str
    n: int
    n_unknown: int
    sd: float | None
    reasons: tuple[str, ...] = ()

    @property
    def one_case(self) -> float | None:
        """Difference between two values of one case below which they cannot be told apart (95 %); None if unknown."""
        return None if self.sd is None else REPEATABILITY * self.sd

    @property
    def of_mean(self) -> float | None:
        """The same of two means over these cases."""
        return None if self.sd is None else REPEATABILITY * self.sd / math.sqrt(self.n)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        found = {"sd": self.sd, "one_case": self.one_case, "of_mean": self.of_mean}
        return {**found, "n": self.n, "n_unknown": self.n_unknown, "reasons": list(self.reasons)}


def has_floor(metric: str, among: Collection[str]) -> bool:
    """Return whether a metric's noise was measured, too."""
    return f"{metric}{SUFFIX}" in among


def is_floor(metric: str, among: Collection[str]) -> bool:
    """Return whether a metric is the noise of another that was measured, and so no result of its own."""
    return metric.endswith(SUFFIX) and metric.removesuffix(SUFFIX) in among


def noise_floor_of(
    table: ScoreTable, structure: str, metric: str, cases: Collection[str] | None = None
) -> Floor | None:
    """Return the noise floor of a metric over all cases, or over some; None where its noise was not measured."""
    if metric not in table.metrics or not has_floor(metric, table.metrics):
        return None
    chosen = np.array([cases is None or case in cases for case in table.cases], dtype=np.bool_)
    values, noise = (table.column(structure, key) for key in (metric, f"{metric}{SUFFIX}"))
    known = chosen & ~np.isnan(noise)
    unknown = chosen & ~np.isnan(values) & np.isnan(noise) & ~_failed(table, structure)
    words = [table.reasons.get((table.cases[i], structure), "") for i in np.flatnonzero(unknown)]
    sd = math.sqrt(float(np.mean(noise[known] ** 2))) if known.any() else None
    return Floor(
        structure,
        metric,
        int(known.sum()),
        int(unknown.sum()),
        sd,
        tuple(dict.fromkeys(word for word in words if word)),
    )


def _failed(table: ScoreTable, structure: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which cases are in one mask only: a Dice of 0 has no noise, because there is nothing that could move."""
    states = table.status[:, table.structures.index(structure)]
    return np.array([state.is_failure for state in states], dtype=np.bool_)


def noise_floors(table: ScoreTable) -> dict[str, dict[str, Floor]]:
    """Return the noise floors by structure and metric; {} where none was measured."""
    found: dict[str, dict[str, Floor]] = {}
    for structure in table.structures:
        for metric in table.metrics:
            floor = noise_floor_of(table, structure, metric)
            if floor is not None:
                found.setdefault(structure, {})[metric] = floor
    return found


def floor_of_difference(floors: Iterable[Sequence[Floor | None]]) -> float | None:
    """Return below which difference two means cannot be told apart (95 %); None where a floor is unknown.

    One pair of floors per structure; of several structures the mean of their means is meant. The noise of the two
    models is taken as independent. Since they are measured on the same grids, that errs to the safe side.
    """
    variance, count = 0.0, 0
    for pair in floors:
        for floor in pair:
            if floor is None or floor.sd is None:
                return None
            variance += floor.sd**2 / floor.n
        count += 1
    return REPEATABILITY / math.sqrt(2) * math.sqrt(variance) / count if count else None
