"""The audit: what is wrong with imported scores, and what was done about it. Nothing is repaired without being asked.

Every kind of problem has one switch in `Repairs`; the default of each is to refuse, with the cases named.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, option
from segauge.io.compat import causes_of
from segauge.io.tables.cells import Cell
from segauge.plural import agreeing, counted
from segauge.scores import NOT_IN_GROUND_TRUTH, Missing, ScoreTable, Status
from segauge.scores import Place as TablePlace
from segauge.words import NOT_IN_FILE


@dataclass(frozen=True)
class Repairs:
    """What to do with each kind of problem.

    Attributes:
        duplicates: a case twice with different values. "first", "last" or "mean" of them, or "refuse". The same value
            twice is merged and reported.
        cases: models scored on different cases. "keep" them as they are, "common" cases only, count a missing case as
            "failed", or "refuse".
        empty: an empty cell, or a structure without a row, where another model has a score. Count it as "failed", take
            the structure for "absent" in that case for all models, leave each model its "own" empty cells (absent for
            that model, as published averages often have it), or "refuse". Empty for every model means absent, which
            the audit tells.
        out_of_range: a value outside the metric's scale. "drop" it (the cell then counts as failed), or "refuse".

    """

    duplicates: Literal["refuse", "first", "last", "mean"] = "refuse"
    cases: Literal["refuse", "keep", "common", "failed"] = "refuse"
    empty: Literal["refuse", "failed", "absent", "own"] = "refuse"
    out_of_range: Literal["refuse", "drop"] = "refuse"


#: Metrics that are 0 where a structure was missed, or invented.
_OVERLAPS = ("dice", "iou")

#: What each repair does, in words; the choices are those of `Repairs`.
_CHOICES = {
    "duplicates": {
        "first": "takes the first value",
        "last": "takes the last value",
        "mean": "takes their mean",
    },
    "cases": {
        "keep": "keeps the cases of each model",
        "common": "takes the cases that all models have",
        "failed": "counts a case that is not there as failed",
    },
    "empty": {
        "failed": "counts an empty cell as failed",
        "absent": "takes the structure for absent in that case, for all models",
        "own": "leaves each model its own empty cells, so that models are averaged over different cases",
    },
    "out_of_range": {"drop": "drops the value and counts the case as failed"},
}


@dataclass(frozen=True)
class Finding:
    """One kind of problem: how often, in words with examples, and what was done ("" if it is only a remark)."""

    kind: str
    count: int
    message: str
    repair: str = ""

    def __str__(self) -> str:
        return f"{self.message}{f' ({self.repair})' if self.repair else ''}"


@dataclass(frozen=True)
class Audit:
    """Everything that was found."""

    findings: tuple[Finding, ...] = ()

    @property
    def is_clean(self) -> bool:
        """True if nothing had to be repaired."""
        return not any(finding.repair for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "nothing to remark"


Keyed = dict[tuple[str, str, str, str], Cell]


def assemble(
    cells: Iterable[Cell],
    repairs: Repairs,
    bounds: Mapping[str, tuple[float, float]],
    remarks: Sequence[str] = (),
) -> tuple[dict[str, ScoreTable], Audit]:
    """Return one score table per model, and the audit. A problem that is not to be repaired is refused by name."""
    findings = [Finding("bytes", 1, remark) for remark in remarks]
    keyed = _merge_duplicates(cells, repairs, findings)
    if not keyed:
        raise InvalidInput("The file holds not a single score.")
    _check_range(keyed, bounds, repairs, findings)
    status = _statuses(keyed, repairs, findings)
    models = _per_model(keyed)
    if repairs.cases != "keep":
        _equal_cases(models, status, repairs, findings)
    return _tables(models, keyed, status), Audit(tuple(findings))


def _merge_duplicates(cells: Iterable[Cell], repairs: Repairs, findings: list[Finding]) -> Keyed:
    keyed: Keyed = {}
    twice: dict[tuple[str, str, str, str], list[Cell]] = {}
    for cell in cells:
        key = cell[:4]
        if keyed.setdefault(key, cell) is not cell:
            twice.setdefault(key, [keyed[key]]).append(cell)
    unlike = {key: found for key, found in twice.items() if len({repr(cell.value) for cell in found}) > 1}
    if len(twice) > len(unlike):
        same = agreeing(len(twice) - len(unlike), "score appears", "scores appear")
        words = f"{same} twice with the same value"
        findings.append(Finding("duplicates", len(twice) - len(unlike), words, "merged"))
    if unlike:
        first = next(iter(unlike.values()))
        cases = {key[:2] for key in unlike}
        words = (
            f"{agreeing(len(unlike), 'score appears', 'scores appear')} twice with different values, in "
            f"{counted(len(cases), 'case')}, such as {first[0].case} of "
            f"{first[0].model}: {first[0].value:g} ({first[0].where}) and {first[1].value:g} ({first[1].where})"
        )
        _refuse_or_note("duplicates", repairs.duplicates, len(unlike), words, findings)
    keyed.update({key: _merged(found, repairs.duplicates) for key, found in twice.items()})
    return keyed


def _merged(found: list[Cell], how: str) -> Cell:
    if how == "mean":
        finite = [cell.value for cell in found if math.isfinite(cell.value)]
        return found[0]._replace(value=float(np.mean(finite)) if finite else math.nan)
    return found[0] if how == "first" else found[-1]


def _check_range(
    keyed: Keyed, bounds: Mapping[str, tuple[float, float]], repairs: Repairs, findings: list[Finding]
) -> None:
    outside = []
    for key, cell in keyed.items():
        low, high = bounds.get(cell.metric, (-math.inf, math.inf))
        if cell.value < low - 1e-9 or cell.value > high + 1e-9:
            outside.append(key)
    if not outside:
        return
    first = keyed[outside[0]]
    low, high = bounds[first.metric]
    hint = " Per cent? Divide by 100." if high == 1.0 and 1.01 < first.value <= 100.0 else ""
    words = (
        f"{agreeing(len(outside), 'value lies', 'values lie')} outside the scale, such as {first.metric} "
        f"{first.value:.10g} of {first.case} ({first.where}); {first.metric} lies between {low:g} and {high:g}.{hint}"
    )
    _refuse_or_note("out_of_range", repairs.out_of_range, len(outside), words, findings)
    for key in outside:
        words = f"the file has {keyed[key].value:g}, which {keyed[key].metric} cannot be"
        keyed[key] = keyed[key]._replace(value=math.nan, status=Status.FAILED, reason=words)


Place = tuple[str, str, str]


def _statuses(keyed: Keyed, repairs: Repairs, findings: list[Finding]) -> dict[Place, Status]:
    """Decide the status of every (model, case, structure): what the file says, else what empty cells mean."""
    known: dict[Place, Status] = {}
    silent: set[Place] = set()
    scored: set[tuple[str, str]] = set()
    for model, case, structure, _, value, status, *_ in keyed.values():
        cell = (model, case, structure)
        if status is None and math.isnan(value):
            silent.add(cell)
        else:
            scored.add((case, structure))
            known[cell] = _stronger(known.get(cell), status or Status.PRESENT)
    _judge_partly_empty(keyed, silent & known.keys(), known, findings)
    empty = silent - known.keys()
    unwritten = _unwritten_cells(empty | known.keys(), findings)
    empty |= unwritten
    disagreeing = sorted(cell for cell in empty if cell[1:] in scored)
    if disagreeing:
        model, case, structure = disagreeing[0]
        how = _how_empty(set(disagreeing), unwritten, len(disagreeing))
        words = f"{how} where another model has a score, such as {structure} of {case} for {model}"
        _refuse_or_note("empty", repairs.empty, len(disagreeing), words, findings)
    _note_absent(empty - set(disagreeing), unwritten, findings)
    for cell in empty:
        is_failure = cell[1:] in scored and repairs.empty == "failed"
        known[cell] = Status.PREDICTION_MISSING if is_failure else Status.ABSENT
    if repairs.empty == "absent":
        taken = {cell[1:] for cell in disagreeing}
        known.update({cell: Status.ABSENT for cell in known if cell[1:] in taken})
    return known


def _judge_partly_empty(
    keyed: Keyed, cells: Collection[Place], known: dict[Place, Status], findings: list[Finding]
) -> None:
    """Judge what has some scores and lacks others: a Dice of 0 without a distance is a structure that was missed.

    Left as present it would have no distance that counts, and a model would gain by missing what is hard. Whatever else
    lacks a score is left out of that metric, which is told.
    """
    overlaps = {cell: [keyed[*cell, name].value for name in _OVERLAPS if (*cell, name) in keyed] for cell in cells}
    missed = sorted(cell for cell, found in overlaps.items() if 0.0 in found and known[cell] is Status.PRESENT)
    known.update(dict.fromkeys(missed, Status.MISSED))
    if missed:
        model, case, structure = missed[0]
        words = agreeing(len(missed), "cell has an overlap of 0", "cells have an overlap of 0")
        words += f" and no other score, such as {structure} of {case} for {model}: taken for missed, which is a failure"
        findings.append(Finding("empty", len(missed), words))
    _note_lacking(keyed, sorted(cell for cell in cells if known[cell] is Status.PRESENT), findings)


def _note_lacking(keyed: Keyed, cells: Sequence[Place], findings: list[Finding]) -> None:
    if not cells:
        return
    model, case, structure = cells[0]
    metric = next(key[3] for key, cell in keyed.items() if key[:3] == cells[0] and math.isnan(cell.value))
    words = (
        f"{agreeing(len(cells), 'cell is', 'cells are')} empty although other scores are there, such as {metric} of "
        f"{structure} of {case} for {model}: left out of the means of that metric. If they are failures, write inf (or "
        "a status column) there"
    )
    findings.append(Finding("empty", len(cells), words))


def _unwritten_cells(written: Collection[Place], findings: list[Finding]) -> set[Place]:
    """Return the cells that have no row, of cases and structures that their model has rows of.

    Nobody can tell such a cell from a failure that was dropped. A structure that a model has no row of at all was not
    asked of it: that is told, and counts neither way.
    """
    structures = dict.fromkeys(structure for _, _, structure in written)
    asked = {(model, structure) for model, _, structure in written}
    cases = {(model, case) for model, case, _ in written}
    for model in dict.fromkeys(model for model, _, _ in written):
        never = [structure for structure in structures if (model, structure) not in asked]
        if never:
            words = f"{model} has no score of {', '.join(sorted(never))}, in no case"
            findings.append(Finding("structures", len(never), words))
    all_cells = {(*row, name) for row in cases for name in structures if (row[0], name) in asked}
    return all_cells - set(written)


def _how_empty(cells: Collection[Place], unwritten: Collection[Place], count: int) -> str:
    """Return "2 cells are empty", or have no row, or either of the two."""
    without = sum(cell in unwritten for cell in cells)
    if not without:
        return agreeing(count, "cell is empty", "cells are empty")
    if without == len(cells):
        return agreeing(count, "cell has no row", "cells have no row")
    return agreeing(count, "cell is empty or has no row", "cells are empty or have no row")


def _note_absent(empty: Collection[Place], unwritten: Collection[Place], findings: list[Finding]) -> None:
    """Report that empty cells without any model's score count as absent: the table alone does not tell."""
    if not empty:
        return
    cells = {(case, structure) for _, case, structure in empty}
    case, structure = min(cells)
    models = {model for model, _, _ in empty}
    who = "" if len(models) == 1 else " for every model"
    words = (
        f"{_how_empty(empty, unwritten, len(cells))}{who}, such as {structure} of {case}. Treated as absent structures "
        "and excluded. If they are failures, enter 0 or add a status column"
    )
    findings.append(Finding("empty", len(cells), words))


def _stronger(one: Status | None, other: Status) -> Status:
    """Of two statuses of one cell from two metrics, take the one that says more than "present"."""
    return other if one is None or one == Status.PRESENT else one


Axes = tuple[list[str], list[str], list[str]]


def _per_model(keyed: Keyed) -> dict[str, Axes]:
    """Return cases, structures and metrics of each model, in the order of the file; structures and metrics of all."""
    structures = list(dict.fromkeys(key[2] for key in keyed))
    metrics = list(dict.fromkeys(key[3] for key in keyed))
    cases: dict[str, dict[str, None]] = defaultdict(dict)
    for model, case, _, _ in keyed:
        cases[model][case] = None
    return {model: (list(found), structures, metrics) for model, found in cases.items()}


def _equal_cases(
    models: dict[str, Axes],
    status: dict[Place, Status],
    repairs: Repairs,
    findings: list[Finding],
) -> None:
    union = list(dict.fromkeys(case for axes in models.values() for case in axes[0]))
    short = {model: len(union) - len(axes[0]) for model, axes in models.items() if len(axes[0]) < len(union)}
    if not short:
        return
    lacking = ", ".join(f"{count} missing for {model}" for model, count in short.items())
    words = f"the models were not scored on the same cases: of {len(union)}, {lacking}"
    _refuse_or_note("cases", repairs.cases, len(short), words, findings)
    common = set(union).intersection(*(axes[0] for axes in models.values()))
    absent = {(case, structure) for (_, case, structure), state in status.items() if state in NOT_IN_GROUND_TRUTH}
    for model, (cases, structures, _) in models.items():
        if repairs.cases == "common":
            cases[:] = [case for case in cases if case in common]
            continue
        for case in union:
            for structure in structures:
                lost = Status.ABSENT if (case, structure) in absent else Status.PREDICTION_MISSING
                status.setdefault((model, case, structure), lost)
        cases[:] = union


def _tables(models: Mapping[str, Axes], keyed: Keyed, status: Mapping[Place, Status]) -> dict[str, ScoreTable]:
    """Fill one table per model; a cell that the file does not have is absent, and has that as its reason."""
    places = {
        model: tuple({name: i for i, name in enumerate(names)} for names in axes) for model, axes in models.items()
    }
    shapes = {model: tuple(map(len, axes)) for model, axes in models.items()}
    values = {model: np.full(shape, np.nan) for model, shape in shapes.items()}
    states = {model: np.empty(shape[:2], dtype=object) for model, shape in shapes.items()}
    written = {model: np.zeros(shape[:2], dtype=bool) for model, shape in shapes.items()}
    for found in states.values():
        found.fill(Status.ABSENT)  # np.full would turn the status into plain text
    missing: dict[str, dict[TablePlace, Missing]] = {model: {} for model in models}
    for (model, case, structure, metric), cell in keyed.items():
        cases, structures, metrics = places[model]
        if case not in cases:
            continue
        written[model][cases[case], structures[structure]] = True
        if cell.reason or cell.causes:
            state = status.get((model, case, structure), Status.ABSENT)
            for place, cause in _causes(cell, state).items():
                missing[model].setdefault(place, cause)
        if math.isfinite(cell.value):
            values[model][cases[case], structures[structure], metrics[metric]] = cell.value
    for (model, case, structure), state in status.items():
        cases, structures, _ = places[model]
        if case in cases:
            states[model][cases[case], structures[structure]] = state
    return {
        model: ScoreTable(
            tuple(axes[0]),
            tuple(axes[1]),
            tuple(axes[2]),
            values[model],
            states[model],
            {**_unwritten(axes, (states[model] == Status.ABSENT) & ~written[model]), **missing[model]},
        )
        for model, axes in models.items()
    }


def _causes(cell: Cell, status: Status) -> dict[TablePlace, Missing]:
    """Return by place why values of a cell are missing."""
    causes = cell.causes or causes_of(status, cell.reason)
    here = (cell.case, cell.structure)
    return {
        (*here, metric) if metric else here: cause for metric, cause in causes.items() if metric in ("", cell.metric)
    }


def _unwritten(axes: Axes, chosen: npt.NDArray[np.bool_]) -> dict[TablePlace, Missing]:
    """Return the cause of the absent cells that the file does not have: no one knows what was found there."""
    unknown = Missing(Status.ABSENT, NOT_IN_FILE, "unknown")
    return {(axes[0][i], axes[1][j]): unknown for i, j in np.argwhere(chosen).tolist()}


def _refuse_or_note(kind: str, how: str, count: int, words: str, findings: list[Finding]) -> None:
    if how == "refuse":
        choices = "; ".join(f"{option(kind, choice)} {meaning}" for choice, meaning in _CHOICES[kind].items())
        raise InvalidInput(f"Refused: {words.rstrip('.')}. To continue, choose a repair: {choices}.")
    findings.append(Finding(kind, count, words, f"repaired: {option(kind, how)} {_CHOICES[kind][how]}"))
