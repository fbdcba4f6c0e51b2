"""What a benchmark says of a promise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """One promise: kept, broken, or (None) not measured in this run; with the numbers that say so."""

    promise: str
    kept: bool | None
    evidence: str

    def __str__(self) -> str:
        word = {True: "PASS", False: "FAIL", None: "SKIP"}[self.kept]
        return f"{word}  {self.promise}: {self.evidence}"
