"""Families of groups without a declaration: Touchstone's own, and those that suggest themselves from the metadata."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from itertools import pairwise

from segbench.analysis.groups.conditions import Between, Condition, is_label_list, number
from segbench.analysis.groups.declaration import MOST_VALUES, Family, Metadata, column_groups

#: Columns that Touchstone groups by, besides age, and what it calls them.
TOUCHSTONE_COLUMNS = {
    "sex": "gender",
    "pathology": "pathology",
    "manufacturer": "manufacturer",
    "scanner model": "scanner_model",
    "institute": "institute",
}
#: A column suggests groups if at least two of its values, and at most so many, have enough cases.
MOST_SUGGESTED = 12
#: Share of a column's cells that must be numbers for it to be binned.
NUMERIC_SHARE = 0.95


def touchstone_families(metadata: Metadata) -> tuple[Family, ...]:
    """Return Touchstone's families: age 18-29, 30-39, ... 90-99 (both ends in), and the values of five columns."""
    columns = next(iter(metadata.values()), {})
    families = []
    if "age" in columns:
        ranges = [(18, 29), *((low, low + 9) for low in range(30, 91, 10))]
        families.append(Family("age", {f"{low}-{high}": Between("age", low, high) for low, high in ranges}))
    for name, column in TOUCHSTONE_COLUMNS.items():
        if column in columns:
            families.append(Family(name, column_groups(column, metadata)))
    return tuple(families)


def suggested_families(
    metadata: Metadata, cases: Collection[str], minimum: int, without: Collection[str] = ()
) -> tuple[Family, ...]:
    """Return families for columns that lend themselves to it, as far as these cases go.

    A column of numbers with more than 12 values is cut at its quartiles; another one makes a group of every value (or
    label, where its cells are lists) if two to 12 of them have enough cases. Everything else (ids, free text,
    constants, the columns in `without`) makes none.
    """
    rows = {case: metadata[case] for case in cases if case in metadata}
    families = []
    for column in next(iter(rows.values()), {}):
        cells = [row.get(column, "") for row in rows.values() if row.get(column, "")]
        numbers = [value for cell in cells if (value := number(cell)) is not None]
        if column in without:
            continue
        if len(set(numbers)) > MOST_SUGGESTED and len(numbers) >= NUMERIC_SHARE * len(cells):
            families.append(Family(column, dict(_quartiles(column, numbers)), suggested=True))
        elif groups := _frequent(column, rows, cells, minimum):
            families.append(Family(column, groups, suggested=True))
    return tuple(families)


def _frequent(column: str, rows: Metadata, cells: Collection[str], minimum: int) -> dict[str, Condition]:
    """Return a group per value (or label) that enough cases have, if these are two to 12; otherwise none."""
    separator = "," if is_label_list(cells) else None
    parts = [part.strip() for cell in cells for part in (cell.split(separator) if separator else [cell])]
    counts = Counter(parts)
    large = {value for value, count in counts.items() if count >= minimum}
    if not 2 <= len(large) <= MOST_SUGGESTED or len(counts) > MOST_VALUES:
        return {}
    return {name: group for name, group in column_groups(column, rows, separator).items() if name in large}


def _quartiles(column: str, numbers: list[float]) -> dict[str, Between]:
    """Return four groups of about the same size, cut at whole numbers where the column has only such."""
    ordered = sorted(numbers)
    cuts = [ordered[round(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75)]
    edges = sorted(set(cuts))
    whole = all(value == math.floor(value) for value in numbers)
    groups: dict[str, Between] = {f"under {edges[0]:g}": Between(column, high=edges[0], high_in=False)}
    for low, high in pairwise(edges):
        name = f"{low:g}-{high - 1:g}" if whole else f"{low:g} to <{high:g}"
        groups[name] = Between(column, low, high, False)
    groups[f"{edges[-1]:g} and over"] = Between(column, low=edges[-1])
    return groups
