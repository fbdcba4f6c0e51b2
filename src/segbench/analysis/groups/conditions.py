"""Conditions on a case: value, range, label of a multi-label column, list of ids, and their combinations.

A condition is True, False, or None where the metadata do not say. Unknown is not false: "not Siemens" leaves a case of
an unknown scanner out instead of taking it in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

Row = Mapping[str, str]

#: Of each unit of an age in DICOM, how many make a year.
_PER_YEAR = {"D": 365.25, "W": 52.18, "M": 12.0, "Y": 1.0}


class Condition(Protocol):
    """Something that a case fulfils, does not fulfil, or that is not known of it."""

    def holds(self, case: str, row: Row) -> bool | None:
        """Return whether the case fulfils it; None if its metadata do not say."""

    @property
    def columns(self) -> frozenset[str]:
        """Columns of the metadata that it needs."""


def number(text: str) -> float | None:
    """Return a cell as a finite number, None if it is not one; ages as DICOM writes them (063Y, 018M) in years."""
    try:
        value = float(text)
    except ValueError:
        age = re.fullmatch(r"\s*(\d{3})([DWMY])\s*", text)
        return None if age is None else int(age[1]) / _PER_YEAR[age[2]]
    return value if math.isfinite(value) else None


@lru_cache(maxsize=100_000)
def folded(text: str) -> str:
    """Return text as values are compared: without case, outer blanks and leading zeros of whole numbers."""
    plain = text.strip().casefold()
    if plain.isdecimal():
        return str(int(plain))  # all of its digits: two codes that differ in the last one are two codes
    value = number(plain)
    return plain if value is None else f"{value:.17g}"


def is_label_list(cells: Collection[str]) -> bool:
    """Return whether cells look like lists of labels: some have commas, and each has a part that stands alone."""
    joined = [cell for cell in cells if "," in cell]
    alone = {cell.strip() for cell in cells if "," not in cell}
    return bool(joined) and all(any(part.strip() in alone for part in cell.split(",")) for cell in joined)


@dataclass(frozen=True)
class Equals:
    """The column has one of these values; upper and lower case, and 50 and 50.00, are the same."""

    column: str
    values: tuple[str, ...]

    def holds(self, case: str, row: Row) -> bool | None:  # noqa: ARG002 - all conditions take the same
        """Return whether the cell is one of the values."""
        cell = row.get(self.column, "")
        return folded(cell) in self._folded if cell else None

    @cached_property
    def _folded(self) -> frozenset[str]:
        return frozenset(map(folded, self.values))

    @property
    def columns(self) -> frozenset[str]:
        """The column."""
        return frozenset({self.column})

    def __str__(self) -> str:
        return f"{self.column} is {' or '.join(self.values)}"


@dataclass(frozen=True)
class HasLabel:
    """The cell, a list such as "thorax,abdomen", has one of these labels."""

    column: str
    labels: tuple[str, ...]
    separator: str = ","

    def holds(self, case: str, row: Row) -> bool | None:  # noqa: ARG002
        """Return whether one of the cell's labels is among them."""
        cell = row.get(self.column, "")
        if not cell:
            return None
        given = {folded(label) for label in cell.split(self.separator)}
        return any(folded(label) in given for label in self.labels)

    @property
    def columns(self) -> frozenset[str]:
        """The column."""
        return frozenset({self.column})

    def __str__(self) -> str:
        return f"{self.column} has {' or '.join(self.labels)}"


@dataclass(frozen=True)
class Between:
    """The column is a number from `low` to `high`; the lower end is in, the upper one if `high_in`."""

    column: str
    low: float = -math.inf
    high: float = math.inf
    high_in: bool = True

    def holds(self, case: str, row: Row) -> bool | None:  # noqa: ARG002
        """Return whether the number is within; None where the cell is no number."""
        value = number(row.get(self.column, ""))
        if value is None:
            return None
        return self.low <= value and (value <= self.high if self.high_in else value < self.high)

    @property
    def columns(self) -> frozenset[str]:
        """The column."""
        return frozenset({self.column})

    def __str__(self) -> str:
        above = "" if self.low == -math.inf else f"{self.low:g} <= "
        below = "" if self.high == math.inf else f" {'<=' if self.high_in else '<'} {self.high:g}"
        return f"{above}{self.column}{below}"


@dataclass(frozen=True)
class Listed:
    """The case id stands in a list."""

    ids: frozenset[str]

    def holds(self, case: str, row: Row) -> bool | None:  # noqa: ARG002
        """Return whether the id is in the list."""
        return case in self.ids

    @property
    def columns(self) -> frozenset[str]:
        """None."""
        return frozenset()

    def __str__(self) -> str:
        return f"one of {len(self.ids)} listed ids"


@dataclass(frozen=True)
class AllOf:
    """All parts hold: False as soon as one does not, None if that is open."""

    parts: tuple[Condition, ...]

    def holds(self, case: str, row: Row) -> bool | None:
        """Return the and of the parts."""
        answers = [part.holds(case, row) for part in self.parts]
        return False if False in answers else None if None in answers else True

    @property
    def columns(self) -> frozenset[str]:
        """Those of the parts."""
        return frozenset().union(*(part.columns for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(_bracketed(part) for part in self.parts)


@dataclass(frozen=True)
class AnyOf:
    """One part holds: True as soon as one does, None if that is open."""

    parts: tuple[Condition, ...]

    def holds(self, case: str, row: Row) -> bool | None:
        """Return the or of the parts."""
        answers = [part.holds(case, row) for part in self.parts]
        return True if True in answers else None if None in answers else False

    @property
    def columns(self) -> frozenset[str]:
        """Those of the parts."""
        return frozenset().union(*(part.columns for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(_bracketed(part) for part in self.parts)


@dataclass(frozen=True)
class Not:
    """The part does not hold; unknown stays unknown."""

    part: Condition

    def holds(self, case: str, row: Row) -> bool | None:
        """Return the opposite of the part."""
        answer = self.part.holds(case, row)
        return None if answer is None else not answer

    @property
    def columns(self) -> frozenset[str]:
        """Those of the part."""
        return self.part.columns

    def __str__(self) -> str:
        return f"not {_bracketed(self.part)}"


def _bracketed(part: Condition) -> str:
    return f"({part})" if isinstance(part, (AllOf, AnyOf)) else str(part)
