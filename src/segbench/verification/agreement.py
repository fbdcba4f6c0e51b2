"""Whether a record agrees with itself: predictions, failures and scores of a model speak of the same cases."""

from __future__ import annotations

import math
from collections.abc import Iterator

from segauge import ScoreTable, Status
from segbench.records import ModelEntry, RunRecord
from segbench.scoring.scores import suspect_cells
from segbench.verification.differences import Mismatch, mismatches


def disagreements(record: RunRecord) -> Iterator[Mismatch]:
    """Yield every place where the predictions, the failures and the scores of a record contradict each other.

    Each model has a prediction or a failure for each case, and scores of each of its structures; what scores that badly
    is suspect. Scores that were made elsewhere come without any predictions, and contradict nothing.
    """
    if not any(entry.predictions or entry.failures for entry in record.models):
        return
    yield from _of_suspects(record)
    known = set(record.case_ids)
    for entry in record.models:
        table = record.tables[entry.name]
        for place, given in (("predictions", entry.predictions), ("failures", entry.failures)):
            for case in sorted(set(given) - known):
                yield Mismatch(f"{place}.{entry.name}.{case}", given[case], "no such case in the record")
        has = [name for name in record.structures if entry.card.supports(name)]
        yield from mismatches(list(table.structures), has, f"scores.{entry.name} (structures)")
        rows = {case: row for row, case in enumerate(table.cases)}
        for case in record.case_ids:
            yield from _of_prediction(entry, case)
            if case in rows:
                yield from _of_scores(entry, table, rows[case])
            else:
                yield Mismatch(f"scores.{entry.name}.{case}", "nothing", "scores of every case")


def _of_suspects(record: RunRecord) -> Iterator[Mismatch]:
    """Yield cells that are marked as suspect and should not be, or the other way round."""
    floor = float(record.settings.get("spot_check_dice", 0.1))
    marked = {f"{one.model}.{one.structure}": one.mean_dice for one in record.suspects}
    follow = {
        f"{name}.{structure}": mean
        for name, table in record.tables.items()
        for structure, mean, _ in suspect_cells(table, floor)
    }
    yield from mismatches(marked, follow, "suspects")


def _of_prediction(entry: ModelEntry, case: str) -> Iterator[Mismatch]:
    path = f"predictions.{entry.name}.{case}"
    made = entry.predictions.get(case)
    if made is not None and case in entry.failures:
        yield Mismatch(f"failures.{entry.name}.{case}", entry.failures[case], "no failure, since there is a prediction")
    elif made is None and case not in entry.failures:
        yield Mismatch(path, "nothing", "the hash of a file, or a failure with its reason")
    elif case not in entry.predictions:
        yield Mismatch(path, "nothing", "null, since the model failed")


def _of_scores(entry: ModelEntry, table: ScoreTable, row: int) -> Iterator[Mismatch]:
    """Yield scores without a prediction, and predictions that the scores call missing."""
    case = table.cases[row]
    made = entry.predictions.get(case) is not None
    for j, structure in enumerate(table.structures):
        path, status = f"scores.{entry.name}.{case}.{structure}", table.status[row, j]
        if made and status is Status.PREDICTION_MISSING:
            yield Mismatch(f"{path}.status", str(status), "another one, since there is a prediction")
        elif not made and status not in (Status.PREDICTION_MISSING, Status.ABSENT):
            yield Mismatch(f"{path}.status", str(status), "prediction missing, or absent")
        if made:
            continue
        for metric, value in zip(table.metrics, table.values[row, j].tolist(), strict=True):
            if not math.isnan(value):
                yield Mismatch(f"{path}.{metric}", value, "no value without a prediction")
