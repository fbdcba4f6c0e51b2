"""Cases where there is nothing to find: which models rightly found nothing there, by the statuses of their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from segauge.scores import NOT_IN_GROUND_TRUTH, Scale, ScoreTable, Status
from segauge.stats.resampling import Floats


def found_nothing(
    tables: Mapping[str, ScoreTable],
    told: Collection[str],
    structure: str,
    metric: str,
    scale: Scale,
    cases: tuple[str, ...],
    values: Floats,
) -> npt.NDArray[np.bool_] | None:
    """Return (cases, models) where models rightly found nothing, and so have no score; None if nowhere.

    Asked of the tables that were told as such: a plain value that is not there may have any reason, and a case that a
    table lacks was not predicted at all. Nor where no one knows what was found (a file without the case, a prediction
    that could not be read), nor where another table has the structure in its ground truth: which of the two is right
    is not known here.
    """
    absent = {name: _absent(tables[name], structure) for name in told}
    if not any(absent.values()):
        return None
    having = _having(tables.values(), structure, metric, scale)
    flags = [[case in absent.get(name, ()) and case not in having for case in cases] for name in tables]
    return np.array(flags, dtype=bool).T & np.isnan(values)


def _absent(table: ScoreTable, structure: str) -> set[str]:
    found = _with(table, _states(table, structure) == Status.ABSENT)
    unsure = {
        place[0]
        for place, missing in table.missing.items()
        if place[1] == structure and missing.counts_as in ("nothing", "unknown")
    }
    return found - unsure


def _having(tables: Iterable[ScoreTable], structure: str, metric: str, scale: Scale) -> set[str]:
    """Return the cases whose ground truth has the structure, as far as any table says so.

    The worst value does not: files that have no statuses write it for a false finding as well.
    """
    having: set[str] = set()
    for table in tables:
        states = _states(table, structure)
        is_worst = table.column(structure, metric) == scale.worst
        having |= _with(table, (states == Status.MISSED) | ((states == Status.PRESENT) & ~is_worst))
    return having


def _states(table: ScoreTable, structure: str) -> npt.NDArray[np.object_]:
    return table.status[:, table.structures.index(structure)]


def _with(table: ScoreTable, chosen: npt.NDArray[np.bool_]) -> set[str]:
    return {table.cases[i] for i in np.flatnonzero(chosen)}


def cases_without(tables: Iterable[ScoreTable], structure: str) -> frozenset[str]:
    """Return the cases whose ground truth lacks the structure, as far as any table says so."""
    lacking: set[str] = set()
    for table in tables:
        states = _states(table, structure)
        lacking |= _with(table, np.logical_or.reduce([states == status for status in NOT_IN_GROUND_TRUTH]))
    return frozenset(lacking)
