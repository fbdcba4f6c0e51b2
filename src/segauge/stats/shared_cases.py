"""score_matrix(): the scores of several models, brought together by their cases."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, option
from segauge.scores import NOT_IN_GROUND_TRUTH, Scale, ScoreTable, Status
from segauge.stats.estimation import one_column
from segauge.stats.matrix import ScoreMatrix
from segauge.stats.missing import (
    AUTO,
    MissingPolicy,
    counting_neither_way,
    counts_where_absent,
    failures_of,
    largest_penalty,
    resolve_column,
    scale_of,
)
from segauge.stats.resampling import Floats

CasePolicy = Literal["same", "common", "failed"]


def score_matrix(
    scores: Mapping[str, ScoreTable] | Mapping[str, Mapping[str, float]] | Mapping[str, npt.ArrayLike] | ScoreMatrix,
    *,
    structure: str | None = None,
    metric: str | None = None,
    scale: Scale | None = None,
    policy: MissingPolicy = AUTO,
    cases: CasePolicy = "same",
    cluster: Mapping[str, str] | None = None,
) -> ScoreMatrix:
    """Return the scores of several models, paired by case.

    Args:
        scores: per model a score table (then `structure` and `metric` choose the column), a mapping of case id to
            value, or plain values in the same order of cases for every model.
        structure: of a score table; may be left out where the tables have only one.
        metric: of a score table; may be left out where the tables have only one.
        scale: which way is better and the bounds; known for the usual metrics.
        policy: what failed and absent cases count as.
        cases: if the models were not scored on the same cases: "same" refuses, "common" keeps the cases that all
            have, "failed" keeps all and counts a missing one as a failure of that model.
        cluster: patient of each case id.

    """
    if isinstance(scores, ScoreMatrix):
        return scores
    if not scores:
        raise InvalidInput("Expected the scores of at least one model, got none.")
    tables = {str(name): _as_table(given, metric) for name, given in scores.items()}
    told = {str(name) for name, given in scores.items() if isinstance(given, ScoreTable)}
    structure = _only(structure, [t.structures for t in tables.values()], "structure")
    metric = _only(metric, [t.metrics for t in tables.values()], "metric")
    scale = scale or scale_of(metric)
    ids, note = _agreed_cases(tables, cases)
    is_complete = all(len(table.cases) >= len(ids) for table in tables.values())
    lacking = frozenset() if is_complete else cases_without(tables.values(), structure)
    counts = counts_where_absent(metric)
    columns = {
        name: resolve_column(
            *_on(table, ids, structure, metric, lacking),
            ids,
            scale,
            policy,
            counts=counts,
            neither=counting_neither_way(table, structure, metric) | lacking.difference(table.cases),
        )
        for name, table in tables.items()
    }
    values = np.column_stack([column.values for column in columns.values()])
    return ScoreMatrix(
        ids,
        tuple(tables),
        values,
        scale,
        columns,
        None if cluster is None else tuple(cluster.get(case, case) for case in ids),
        np.column_stack([failures_of(column, scale) for column in columns.values()]),
        f"{structure} {metric}".strip(),
        (policy.for_scale(scale).sentence, note) if note else (policy.for_scale(scale).sentence,),
        absent=found_nothing(tables, told, structure, metric, scale, ids, values),
        most=largest_penalty(policy, scale),
    )


def _as_table(given: Any, metric: str | None) -> ScoreTable:
    """Turn values into a table with one structure; NaN is then absent, infinity a failure."""
    if isinstance(given, ScoreTable):
        return given
    if isinstance(given, Mapping):
        ids, values = [str(case) for case in given], one_column(list(given.values()))
    else:
        values = one_column(given)
        ids = [f"{i + 1:0{len(str(values.size))}d}" for i in range(values.size)]
    states = np.empty((values.size, 1), dtype=object)
    states[:, 0] = [_state(value) for value in values]
    cells = np.where(np.isfinite(values), values, np.nan).reshape(-1, 1, 1)
    return ScoreTable(tuple(ids), ("",), (metric or "",), cells, states)


def _state(value: float) -> Status:
    return Status.FAILED if math.isinf(value) else Status.ABSENT if math.isnan(value) else Status.PRESENT


def selected_metric(scores: Mapping[str, Any], metric: str | None) -> str:
    """Return the metric that scores are of: the named one, or the only one of the tables; "" of plain values."""
    return _only(metric, [_as_table(given, metric).metrics for given in scores.values()], "metric") if scores else ""


def _only(name: str | None, choices: Sequence[tuple[str, ...]], what: str) -> str:
    if all(names == ("",) for names in choices):
        return ""
    if name is not None:
        return name
    names = set(choices[0]).intersection(*choices[1:])
    if len(names) != 1:
        raise InvalidInput(f"Choose a {what}: the tables have {', '.join(sorted(names)) or 'none in common'}.")
    return names.pop()


def _agreed_cases(tables: Mapping[str, ScoreTable], cases: CasePolicy) -> tuple[tuple[str, ...], str]:
    first = next(iter(tables.values())).cases
    if all(table.cases == first for table in tables.values()):
        return tuple(sorted(first)), ""
    sets = {name: set(table.cases) for name, table in tables.items()}
    union, common = set().union(*sets.values()), set.intersection(*sets.values())
    if union == common:
        return tuple(sorted(union)), ""
    short = {name: len(union - have) for name, have in sets.items() if union - have}
    words = ", ".join(f"{count} missing for {name}" for name, count in short.items())
    if cases == "common":
        return tuple(sorted(common)), f"on the {len(common)} of {len(union)} cases that every model has"
    if cases == "failed":
        return tuple(sorted(union)), f"a case missing for a model counts as its failure ({words})"
    raise InvalidInput(
        f"The models were not scored on the same cases: of {len(union)}, {words}. Pass {option('cases', 'common')} to "
        f"compare them on the cases that all have, or {option('cases', 'failed')} to count a missing case as a failure "
        "of that model."
    )


def _on(
    table: ScoreTable, ids: tuple[str, ...], structure: str, metric: str, lacking: frozenset[str]
) -> tuple[Floats, npt.NDArray[np.object_]]:
    """Return values and statuses of one column on exactly these cases.

    A case that the table lacks is a missing prediction, or absent where the ground truth has nothing to predict.
    """
    values = table.column(structure, metric)
    status = table.status[:, table.structures.index(structure)]
    if ids == table.cases:
        return values, status
    rows = {case: i for i, case in enumerate(table.cases)}
    places = np.array([rows.get(case, -1) for case in ids], dtype=np.intp)
    values, status = values[places], status[places]
    for k in np.flatnonzero(places < 0):
        values[k], status[k] = np.nan, Status.ABSENT if ids[k] in lacking else Status.PREDICTION_MISSING
    return values, status


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
