"""The cases of a board: every score, which cases decide the order, and where the models disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from segauge.report.html import packed_column, rounded
from segbench.leaderboard import AVERAGE, Board, board_scores
from segbench.records import RunRecord

#: Metadata columns that stand beside the scores.
MOST_COLUMNS = 8
#: Cases in the short lists.
MOST_LISTED = 10


@dataclass(frozen=True)
class HardCase:
    """A case with the mean over the models, the best and the worst of them."""

    case: str
    mean: float
    best: str
    best_value: float
    worst: str
    worst_value: float


@dataclass(frozen=True)
class CaseTable:
    """All cases of a board: the table as columns, the hardest cases, those of the largest disagreement."""

    packed: dict[str, Any]
    hardest: list[HardCase]
    disagreeing: list[HardCase]


def case_table(record: RunRecord, board: Board) -> CaseTable | None:
    """Return the cases of a board; None for the average over structures, which no case has."""
    scores = None if board.structure == AVERAGE else board_scores(record, board.structure, board.metric)
    if scores is None:
        return None
    matrix = scores.scored_cases()
    if not matrix.cases:
        return None
    order = [standing.model for standing in board.standings if standing.model in matrix.models]
    columns: list[dict[str, Any]] = [{"name": "case", "values": list(matrix.cases)}]
    for name in order:
        values = [rounded(float(x)) for x in matrix.values[:, matrix.models.index(name)]]
        columns.append({"name": name, "number": True, "values": values})
    columns.append({"name": "failed", "values": _failures(record, board.structure, matrix.cases, order)})
    columns += _metadata(record, matrix.cases)
    packed = {"columns": [packed_column(column) for column in columns], "rows": len(matrix.cases)}
    found = _hard_cases(matrix.cases, order, matrix.values[:, [matrix.models.index(name) for name in order]], board)
    sign = 1.0 if board.higher_is_better else -1.0
    return CaseTable(
        packed,
        sorted(found, key=lambda one: (sign * one.mean, one.case))[:MOST_LISTED],
        sorted(found, key=lambda one: (-abs(one.best_value - one.worst_value), one.case))[:MOST_LISTED],
    )


def _failures(record: RunRecord, structure: str, cases: tuple[str, ...], models: list[str]) -> list[str]:
    """Return per case which models failed on it, and how."""
    found: dict[str, list[str]] = {}
    for name in models:
        table = record.tables[name]
        column = table.structures.index(structure)
        for case, status in zip(table.cases, table.status[:, column], strict=True):
            if status.is_failure:
                found.setdefault(case, []).append(f"{name} ({status.value})")
    return [", ".join(found.get(case, ())) for case in cases]


def _metadata(record: RunRecord, cases: tuple[str, ...]) -> list[dict[str, Any]]:
    known = {case.case_id: case.metadata for case in record.cases}
    names = list(dict.fromkeys(str(name) for case in record.cases for name in case.metadata))[:MOST_COLUMNS]
    return [{"name": name, "values": [_text(known.get(case, {}).get(name)) for case in cases]} for name in names]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _hard_cases(cases: tuple[str, ...], models: list[str], values: Any, board: Board) -> list[HardCase]:
    """Return the cases that all models have a number for."""
    found = []
    for case, row in zip(cases, values, strict=True):
        if np.isnan(row).any():
            continue
        best, worst = (int(row.argmax()), int(row.argmin())) if board.higher_is_better else (
            int(row.argmin()), int(row.argmax()),
        )  # fmt: skip
        mean = float(row.mean())
        found.append(HardCase(case, mean, models[best], float(row[best]), models[worst], float(row[worst])))
    return found
