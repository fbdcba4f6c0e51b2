"""Scores that contradict themselves: a status that says one thing and a number that says another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from segauge import ScoreTable, Status
from segauge.errors import InvalidInput, UnknownMetric
from segauge.metrics.catalog import metric
from segauge.scores import NOT_IN_GROUND_TRUTH, MetricInfo

#: There was nothing that could have been measured.
_UNMEASURED = (Status.PREDICTION_MISSING, Status.UNREADABLE, Status.REFUSED)


def require_consistent(tables: Mapping[str, ScoreTable], *, measured_here: bool) -> None:
    """Refuse scores whose statuses and values exclude each other.

    Args:
        tables: scores by model.
        measured_here: whether segbench measured them. Then a status says exactly which numbers there are, and a
            structure is in the ground truth of a case for all models or for none; tables of other tools say less.

    Raises:
        InvalidInput: with the first place that contradicts itself.

    """
    for model, table in tables.items():
        for k, key in enumerate(table.metrics):
            _require_values(model, table, k, _known(key), measured_here=measured_here)
    if measured_here:
        _require_one_ground_truth(tables)


def _known(key: str) -> MetricInfo | None:
    try:
        return metric(key)
    except UnknownMetric:
        return None


def _require_values(model: str, table: ScoreTable, k: int, info: MetricInfo | None, *, measured_here: bool) -> None:
    has_value = ~np.isnan(table.values[:, :, k])
    unmeasured = _is_any(table, (*_UNMEASURED, *((Status.FAILED,) if measured_here else ())))
    _refuse(model, table, k, has_value & unmeasured, "no value")
    if not measured_here or info is None or info.needs not in ("counts", "surface"):
        return
    present = _is_any(table, (Status.PRESENT,))
    if info.when_failed is not None:
        in_one = _is_any(table, (Status.MISSED, Status.SPURIOUS))
        _refuse(model, table, k, present & ~has_value, "a value")
        _refuse(model, table, k, in_one & (table.values[:, :, k] != info.when_failed), f"{info.when_failed:g}")
        _refuse(model, table, k, has_value & _is_any(table, (Status.ABSENT,)), "no value")
    elif info.unit == "mm" and info.direction == "lower":  # a noise floor is no distance of the pair
        _refuse(model, table, k, present & ~has_value, "a value")
        _refuse(model, table, k, has_value & ~present, "no value")


def _require_one_ground_truth(tables: Mapping[str, ScoreTable]) -> None:
    """Refuse a structure that one model has in the ground truth of a case and another one has not."""
    said: dict[tuple[str, str], tuple[bool, str]] = {}
    for model, table in tables.items():
        lacks = _is_any(table, NOT_IN_GROUND_TRUTH).tolist()
        for case, row in zip(table.cases, lacks, strict=True):
            for structure, is_lacking in zip(table.structures, row, strict=True):
                before, other = said.setdefault((case, structure), (is_lacking, model))
                if before != is_lacking:
                    has, has_not = (other, model) if is_lacking else (model, other)
                    raise InvalidInput(
                        f"The ground truth of {case} has {structure} in the scores of {has}, and not in those of "
                        f"{has_not}. The scores contradict themselves: score the predictions again."
                    )


def _is_any(table: ScoreTable, statuses: Sequence[Status]) -> npt.NDArray[np.bool_]:
    found = np.zeros(table.status.shape, dtype=bool)
    for status in statuses:
        found |= table.status == status
    return found


def _refuse(model: str, table: ScoreTable, k: int, wrong: npt.NDArray[np.bool_], expected: str) -> None:
    if not wrong.any():
        return
    i, j = np.argwhere(wrong)[0]
    value = table.values[i, j, k]
    got = "none" if np.isnan(value) else f"{value:g}"
    raise InvalidInput(
        f"The scores of {model} contradict themselves: {table.structures[j]} of {table.cases[i]} is "
        f"{str(table.status[i, j])!r}, so {table.metrics[k]} should have {expected}, got {got}. Score it again."
    )
