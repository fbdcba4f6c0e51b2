"""Whether a record agrees with itself, and which number differs: two trees of plain values, compared leaf by leaf.

Predictions, failures and scores of a model speak of the same cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from segauge import ScoreTable, Status
from segbench.records import ModelEntry, RunRecord
from segbench.scoring.scores import suspect_cells

#: Other machines add numbers in another order: the last digits of a sum may differ, and nothing more.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Mismatch:
    """A place where what was published does not follow: its path, what is written there, and what follows."""

    path: str
    published: Any
    recomputed: Any
    is_rounding: bool = False

    def __str__(self) -> str:
        return f"{self.path}: published {_shown(self.published)}, follows {_shown(self.recomputed)}"


def mismatches(published: Any, recomputed: Any, path: str = "") -> Iterator[Mismatch]:
    """Yield every leaf that differs, with the path to it; a key that only one side has counts, too."""
    if isinstance(published, Mapping) and isinstance(recomputed, Mapping):
        for key in sorted({*published, *recomputed}, key=str):
            yield from mismatches(
                published.get(key, _NOTHING), recomputed.get(key, _NOTHING), f"{path}.{key}".strip(".")
            )
    elif isinstance(published, (list, tuple)) and isinstance(recomputed, (list, tuple)):
        if len(published) != len(recomputed):
            yield Mismatch(f"{path} (how many)", len(published), len(recomputed))
        for i, (one, other) in enumerate(zip(published, recomputed, strict=False)):
            yield from mismatches(one, other, f"{path}[{_name_of(one, i)}]")
    elif not _same(published, recomputed):
        yield Mismatch(path, published, recomputed, _is_close(published, recomputed))


def is_lacking(one: Mismatch) -> bool:
    """Say whether a place is there on one side only."""
    return _NOTHING in (one.published, one.recomputed)


def count_numbers(tree: Any) -> int:
    """Return how many numbers a tree of plain values has."""
    if isinstance(tree, Mapping):
        return sum(count_numbers(part) for part in tree.values())
    if isinstance(tree, (list, tuple)):
        return sum(count_numbers(part) for part in tree)
    return int(isinstance(tree, (int, float)) and not isinstance(tree, bool))


class _Nothing:
    """Stands where one side has no such key."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


def _name_of(item: Any, position: int) -> str:
    """Return what a reader calls an item of a list: the model it speaks of, or the board, or its position."""
    if isinstance(item, Mapping):
        for keys in (("structure", "metric"), ("a", "b"), ("model",), ("name",)):
            if all(isinstance(item.get(key), str) for key in keys):
                return " ".join(item[key] for key in keys)
    return str(position)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _is_close(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other))
    return numbers and math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


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
