"""Lesions by size: how many there were and how many were found, counted over the cases of a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from segauge.metrics.detection import SIZE_EDGES_ML, SizeBin


@dataclass(frozen=True)
class SizeCounts:
    """Ground-truth lesions of one structure by size, over all cases that could be read again."""

    bins: tuple[SizeBin, ...]
    words: str = ""

    @classmethod
    def of(cls, parts: Sequence[Sequence[SizeBin]], words: str = "") -> SizeCounts:
        """Return the sum over cases; every case has the same bins."""
        summed = tuple(
            SizeBin(
                column[0].lower_ml, column[0].upper_ml, sum(b.lesions for b in column), sum(b.found for b in column)
            )
            for column in zip(*parts, strict=True)
        )
        return cls(summed, words)

    @property
    def total(self) -> int:
        """All lesions."""
        return sum(one.lesions for one in self.bins)

    def classes(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name of each class of sizes in ml, how many were found, and how many there are."""
        for one in self.bins:
            if one.upper_ml == float("inf"):
                name = f"\N{GREATER-THAN OR EQUAL TO} {one.lower_ml:g}"
            else:
                name = f"< {one.upper_ml:g}" if one.lower_ml == 0 else f"{one.lower_ml:g} to {one.upper_ml:g}"
            yield name, one.found, one.lesions


__all__ = ["SIZE_EDGES_ML", "SizeCounts"]
