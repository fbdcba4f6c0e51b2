"""Score tables as columns of plain values: per structure the status of each case and one column per metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from segauge import ScoreTable, Status
from segauge.io.compat import missing_of
from segauge.scores import Missing, Place


def columns_of(table: ScoreTable) -> dict[str, Any]:
    """Return a table as plain values; a number that is not there is None, and the status says why."""
    structures = {}
    for j, structure in enumerate(table.structures):
        columns: dict[str, Any] = {"status": [str(status) for status in table.status[:, j]]}
        for k, metric in enumerate(table.metrics):
            columns[metric] = [None if value != value else value for value in table.values[:, j, k].tolist()]
        structures[structure] = columns
    reasons: dict[str, dict[str, str]] = {}
    reasons_of = dict(sorted(table.reasons.items()))
    for (case, structure), words in reasons_of.items():
        reasons.setdefault(structure, {})[case] = words
    missing: dict[str, dict[str, Any]] = {}
    for case, structure in reasons_of:
        if details := table.details(case, structure):
            missing.setdefault(structure, {})[case] = details
    found = {"cases": list(table.cases), "structures": structures, "reasons": reasons}
    return {**found, "missing": missing} if missing else found


def table_of(given: Mapping[str, Any], order: Iterable[str], metrics: Sequence[str]) -> ScoreTable:
    """Return the table that was written, its structures in the given order."""
    structures = tuple(name for name in order if name in given["structures"])
    cases = tuple(given["cases"])
    values = np.full((len(cases), len(structures), len(metrics)), np.nan)
    status = np.empty((len(cases), len(structures)), dtype=object)
    members = {member.value: member for member in Status}
    for j, structure in enumerate(structures):
        columns = given["structures"][structure]
        status[:, j] = [members[word] for word in columns["status"]]
        for k, metric in enumerate(metrics):
            # None becomes NaN.
            values[:, j, k] = np.array(columns[metric], dtype=np.float64)
    missing: dict[Place, Missing] = {}
    rows, details = {case: i for i, case in enumerate(cases)}, given.get("missing", {})
    for structure, told in given["reasons"].items():
        for case, words in told.items():
            state = status[rows[case], structures.index(structure)]
            missing |= missing_of(case, structure, state, details.get(structure, {}).get(case), words)
    return ScoreTable(cases, structures, tuple(metrics), values, status, missing)
