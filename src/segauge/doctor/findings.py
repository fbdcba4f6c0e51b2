"""Finding and Diagnosis: one thing that was found, and all of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

Topic = Literal["pairing", "file", "grid", "orientation", "labels", "presence", "spacing"]


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"  #: the case cannot be measured, or its numbers would be wrong
    WARNING = "warning"  #: look at it before you trust the numbers
    NOTE = "note"  #: taken care of, good to know


@dataclass(frozen=True)
class Finding:
    """One thing that was found: how bad, about what, in which case ("" for the whole dataset), in words."""

    level: Level
    topic: Topic
    case_id: str
    words: str

    def __str__(self) -> str:
        where = f"{self.case_id}: " if self.case_id else ""
        return f"{self.level.value}: {self.topic}: {where}{self.words}"


@dataclass(frozen=True)
class Diagnosis:
    """What was found in a dataset of `n_cases` cases, the worst first."""

    n_cases: int
    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """True if nothing stands in the way of measuring and nothing should be looked at first."""
        return all(finding.level is Level.NOTE for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        rows = [
            {"level": one.level.value, "topic": one.topic, "case": one.case_id, "words": one.words}
            for one in self.findings
        ]
        return {"n_cases": self.n_cases, "healthy": self.is_healthy, "findings": rows}
