"""Cohort: what a test set consists of: distributions of its metadata, per split, and what is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from segauge.stats.groups import plain_text
from segbench.analysis.groups.conditions import is_label_list, number

Metadata = Mapping[str, Mapping[str, str]]

#: Share of known cells that must be numbers for a column to count as numeric.
NUMERIC_SHARE = 0.95
#: Numeric columns with at most so many values are shown value by value (tube voltage, say).
FEW_VALUES = 15
#: More different values than this make no distribution: an id, or free text.
MOST_VALUES = 60
#: Name of all cases beside the splits.
ALL = "all"


@dataclass(frozen=True)
class Distribution:
    """How one column is distributed.

    Attributes:
        column: its name.
        kind: "number" (binned), "value" or "labels" (a case may have several).
        levels: values, labels or bins, in the order to show.
        counts: per split ("all" first) the number of cases per level.
        missing: per split the cases without a value.
        summary: per split "median [quartiles]" of a numeric column, otherwise "".

    """

    column: str
    kind: str
    levels: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]
    missing: Mapping[str, int]
    summary: Mapping[str, str]


@dataclass(frozen=True)
class Cohort:
    """The metadata of a test set.

    Attributes:
        n_cases: cases of the test set; without_metadata: those of them that the metadata do not have.
        extra: rows of the metadata for cases that are not in the test set.
        splits: per split ("all" first) its number of cases.
        distributions: of the columns that have one.
        skipped: columns without a distribution, and why.

    """

    n_cases: int
    without_metadata: int
    extra: int
    splits: Mapping[str, int]
    distributions: tuple[Distribution, ...]
    skipped: Mapping[str, str]


def describe_cohort(metadata: Metadata, cases: Collection[str], split_column: str | None = None) -> Cohort:
    """Return the distributions of all columns over the cases, for all of them and per split.

    A column whose cells hold commas, and whose parts recur alone, is taken for a list of labels.
    """
    rows = {case: metadata[case] for case in cases if case in metadata}
    splits: dict[str, list[Mapping[str, str]]] = {ALL: list(rows.values())}
    if split_column is not None:
        for value in sorted({row.get(split_column, "") for row in rows.values()} - {""}):
            splits[value] = [row for row in rows.values() if row.get(split_column, "") == value]
    distributions, skipped = [], {}
    for column in next(iter(rows.values()), {}):
        if column == split_column:
            continue
        found = _distribution(column, splits)
        if isinstance(found, str):
            skipped[column] = found
        else:
            distributions.append(found)
    return Cohort(
        len(cases),
        len(cases) - len(rows),
        len(metadata) - len(rows),
        {name: len(found) for name, found in splits.items()},
        tuple(distributions),
        skipped,
    )


def _distribution(column: str, splits: Mapping[str, list[Mapping[str, str]]]) -> Distribution | str:
    cells = {name: [row.get(column, "") for row in found] for name, found in splits.items()}
    known = [cell for cell in cells[ALL] if cell]
    if not known:
        return "no case has a value"
    numbers = [value for cell in known if (value := number(cell)) is not None]
    numeric = len(numbers) >= NUMERIC_SHARE * len(known)
    if numeric and len(set(numbers)) > FEW_VALUES:
        return _binned(column, cells, numbers)
    kind = "labels" if not numeric and is_label_list(known) else "value"
    parts = {name: [_parts(cell, kind) for cell in found if cell] for name, found in cells.items()}
    counts = {name: Counter(part for labels in found for part in labels) for name, found in parts.items()}
    if len(counts[ALL]) > MOST_VALUES:
        return f"{len(counts[ALL])} different values"
    levels = sorted(counts[ALL], key=lambda level: (-counts[ALL][level], level))
    if numeric:
        levels = sorted(levels, key=lambda level: number(level) or 0.0)
    missing = {name: found.count("") for name, found in cells.items()}
    return Distribution(column, kind, tuple(levels), counts, missing, dict.fromkeys(cells, ""))


def _parts(cell: str, kind: str) -> set[str]:
    return {part.strip() for part in cell.split(",")} - {""} if kind == "labels" else {cell}


def _binned(column: str, cells: Mapping[str, list[str]], numbers: list[float]) -> Distribution:
    low, width = _bins(min(numbers), max(numbers))
    whole = width == int(width) and all(value == int(value) for value in numbers)

    def place(value: float) -> int:
        # 0.3 lies in the bin from 0.3 on, although 0.3 / 0.1 is a little less than 3.
        return int((value - low) / width + 1e-9)

    def level(value: float) -> str:
        start = low + width * place(value)
        first, last = (plain_text(round(end, 12)) for end in (start, start + width - (1 if whole else 0)))
        return f"{first}-{last}" if whole else f"{first} to <{last}"

    steps = place(max(numbers)) + 1
    levels = tuple(level(low + width * (i + 0.5)) for i in range(steps))
    values = {name: [v for cell in found if (v := number(cell)) is not None] for name, found in cells.items()}
    counts = {name: Counter(map(level, found)) for name, found in values.items()}
    missing = {name: len(found) - len(values[name]) for name, found in cells.items()}
    return Distribution(column, "number", levels, counts, missing, {k: _summary(v) for k, v in values.items()})


def _bins(low: float, high: float) -> tuple[float, float]:
    """Return start and width of about ten bins with round edges."""
    rough = (high - low) / 10.0
    scale = 10.0 ** len(str(int(rough))) / 10.0 if rough >= 1 else 0.1
    while rough < scale:
        scale /= 10.0
    width = next(scale * step for step in (1, 2, 5, 10) if scale * step >= rough)
    return width * math.floor(low / width + 1e-9), width


def _summary(values: list[float]) -> str:
    if not values:
        return ""
    first, middle, third = np.quantile(values, (0.25, 0.5, 0.75))
    return f"median {middle:g} [{first:g}, {third:g}]"
