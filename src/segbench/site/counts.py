"""How often each model missed or invented a structure, or could not be measured: counted once for all pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from segauge import ScoreTable, Status
from segauge.stats import AVERAGE


@dataclass(frozen=True)
class Counts:
    """Cases of one model on one structure, by what there was to measure."""

    missed: int = 0
    spurious: int = 0
    unscored: int = 0

    @property
    def words(self) -> str:
        """What the numbers mean, for who points at them."""
        return (
            f"{self.missed} with the structure in the ground truth only, {self.spurious} with it in the prediction "
            f"only, {self.unscored} without a prediction that could be measured"
        )


def counts_of(table: ScoreTable) -> dict[str, Counts]:
    """Return the counts of a model by structure, and over all of them for the average."""
    found = {name: _counted(table.status[:, j].tolist()) for j, name in enumerate(table.structures)}
    return {**found, AVERAGE: _sum(found.values())}


def _counted(states: list[Status]) -> Counts:
    # Counting in a list compares identities first: many times as fast as to ask each status what it is.
    missed, spurious = states.count(Status.MISSED), states.count(Status.SPURIOUS)
    fine = states.count(Status.PRESENT) + states.count(Status.ABSENT)
    return Counts(missed, spurious, len(states) - fine - missed - spurious)


def _sum(parts: Iterable[Counts]) -> Counts:
    every = list(parts)
    return Counts(*(sum(getattr(one, name) for one in every) for name in ("missed", "spurious", "unscored")))
