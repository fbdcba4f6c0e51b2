"""What a speed run found: plain values that go to JSON, and the ratios between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from benchmarks.peers import Timing

#: Every call with a spacing of its own, as for a case that comes for the first time: what is judged.
OURS = "segauge"
#: The same arrays at the same spacing again, with all that was remembered of them.
OURS_AGAIN = "segauge-again"
#: measure() with every metric of the catalog.
OURS_ALL = "segauge-all"
#: Not a peer: what nobody who is given whole arrays can do without.
READ_ONCE = "read-once"


@dataclass(frozen=True)
class StructureResult:
    """All tools on the two masks of one structure. `arrays`: "cropped", "whole" or "phantom"."""

    case: str
    structure: str
    arrays: str
    shape: tuple[int, ...]
    timings: tuple[Timing, ...]

    def timing(self, tool: str, threads: int = 1) -> Timing | None:
        """Return a tool's timing, or None where it was not asked."""
        return find_timing(self.timings, tool, threads)

    def ratio(self, tool: str, ours: str = OURS) -> float | None:
        """Return how many times longer a tool took than we, both on one thread."""
        return ratio_of(self.timing(tool), self.timing(ours))


@dataclass(frozen=True)
class CaseResult:
    """All structures of a case at once, reading its two files, and our peak memory in a process of its own."""

    case: str
    structures: int
    label_map_bytes: int
    timings: tuple[Timing, ...]
    reading: tuple[Timing, ...]
    memory: Timing | None

    def timing(self, tool: str, threads: int = 1) -> Timing | None:
        """Return a tool's timing, or None where it was not asked."""
        return find_timing(self.timings, tool, threads)

    @property
    def peak_share(self) -> float | None:
        """Peak memory as a multiple of the two label maps (which it includes)."""
        if self.memory is None or not self.memory.peak_rss_bytes:
            return None
        return self.memory.peak_rss_bytes / self.label_map_bytes


@dataclass(frozen=True)
class ScalingResult:
    """Times over a growing size, and the exponent of time ~ size ** exponent that fits; judged where it has a limit."""

    what: str
    size: str
    tool: str
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    expected: str
    limit: float | None = None

    @property
    def exponent(self) -> float | None:
        """Slope of the least-squares line through the logarithms; None for fewer than three sizes."""
        if len(self.sizes) < 3:
            return None
        x, y = [log(size) for size in self.sizes], [log(second) for second in self.seconds]
        mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
        spread = sum((a - mean_x) ** 2 for a in x)
        return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


@dataclass(frozen=True)
class SpeedRun:
    """One run of the benchmark: what was measured, on what machine, and what was left out with the reason."""

    machine: str
    structures: tuple[StructureResult, ...]
    cases: tuple[CaseResult, ...]
    scaling: tuple[ScalingResult, ...]
    left_out: tuple[str, ...]


def find_timing(timings: Sequence[Timing], tool: str, threads: int) -> Timing | None:
    """Return the timing of a tool with so many threads, or None."""
    return next((timing for timing in timings if timing.tool == tool and timing.threads == threads), None)


def ratio_of(numerator: Timing | None, denominator: Timing | None) -> float | None:
    """Return the ratio of the two best times, or None where either is missing."""
    if numerator is None or denominator is None or not numerator.best_s or not denominator.best_s:
        return None
    return numerator.best_s / denominator.best_s
