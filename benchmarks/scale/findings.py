"""What a run showed: whether time grows in proportion to the cases, and whether memory stays flat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

#: The second half of a run may take this much longer than the first: machines are shared, and their caches with them.
#: Time that grows with the square of the cases makes it 3.
HALVES_LIMIT = 1.3
#: MB that a thousand cases may leave in the memory of the process that collects them: scores, notes and hashes, some
#: 10 kB a case. An image that is kept would be 70 kB, the parsed files of a case several hundred.
PARENT_LIMIT_MB = 50.0
#: MB that all workers together may grow by in a thousand cases; they keep nothing.
WORKERS_LIMIT_MB = 50.0
#: Fewer cases say nothing about memory: a few MB that an allocator keeps would look like a leak.
FEWEST_FOR_GROWTH = 200
_MB = 1e6


@dataclass(frozen=True)
class Findings:
    """One run.

    Attributes:
        name: how it was run.
        cases: how many.
        seconds: for all, start and end of workers included.
        per_second: cases.
        halves: time per case of the second half over that of the first, in seconds of the processor: by the clock, what
            else the machine does would be in it.
        clock_halves: the same by the clock; shown, not judged.
        parent_mb, workers_mb: largest resident memory seen, of the workers all together.
        parent_growth_mb, workers_growth_mb: growth in a thousand cases, from the second quarter of the cases to the
            last: what a process loads at first is not growth. None for a short run.
        failed: cases that could not be measured.

    """

    name: str
    cases: int
    seconds: float
    per_second: float
    halves: float
    clock_halves: float
    parent_mb: float
    workers_mb: float
    parent_growth_mb: float | None
    workers_growth_mb: float | None
    failed: int

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is not as promised."""
        parent, workers = self.parent_growth_mb or 0.0, self.workers_growth_mb or 0.0
        found = (
            (f"time per case grows {self.halves:.2f}x from the first half to the second", self.halves > HALVES_LIMIT),
            (f"the process grows by {parent:.0f} MB in a thousand cases", parent > PARENT_LIMIT_MB),
            (f"the workers grow by {workers:.0f} MB in a thousand cases", workers > WORKERS_LIMIT_MB),
            (f"{self.failed} cases failed", self.failed > 0),
        )
        return tuple(words for words, is_so in found if is_so)


def findings(name: str, seen: Mapping[str, Any]) -> Findings:
    """Return what the times and samples of a run (`benchmarks.scale.run`) show."""
    taken, samples = seen["taken"], seen["memory"]
    return Findings(
        name,
        len(taken),
        seen["seconds"],
        len(taken) / seen["seconds"],
        _halves(seen["processor"]),
        _halves(taken),
        max((sample[1] for sample in samples), default=0) / _MB,
        max((sample[2] for sample in samples), default=0) / _MB,
        _growth(samples, 1, taken),
        _growth(samples, 2, taken),
        seen["failed"],
    )


def _halves(taken: Sequence[float]) -> float:
    """Return the pace of the second half over that of the first, without the first cases, which start the workers."""
    steady = taken[min(len(taken) // 10, 20) :]
    middle = len(steady) // 2
    first = (steady[middle] - steady[0]) / max(1, middle)
    second = (steady[-1] - steady[middle]) / max(1, len(steady) - 1 - middle)
    return second / first if first > 0 else float("nan")


def _growth(samples: Sequence[Sequence[float]], column: int, taken: Sequence[float]) -> float | None:
    """Return the growth in MB in a thousand cases: median over the last quarter of the cases less that of the second.

    None for a run that is too short to say anything of a thousand cases.
    """
    count = len(taken)
    if count < FEWEST_FOR_GROWTH:
        return None
    quarters = [taken[count * k // 4] for k in range(4)] + [samples[-1][0]]
    early, late = (
        [sample[column] for sample in samples if quarters[k] <= sample[0] <= quarters[k + 1]] for k in (1, 3)
    )
    if not early or not late:
        return None
    # The middles of the two quarters lie half of the cases apart.
    return (median(late) - median(early)) / _MB / (0.5 * count) * 1000.0
