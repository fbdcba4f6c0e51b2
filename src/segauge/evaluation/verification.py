"""verify(): a result file against what its own rows, and the images that were measured, give."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from segauge.errors import InvalidInput, SegaugeError
from segauge.evaluation.cases import Case
from segauge.evaluation.dataset import evaluate
from segauge.evaluation.result import META_PREFIX, SCHEMA, EvaluationResult
from segauge.io.compat import missing_of
from segauge.io.gate import load_json
from segauge.metrics.catalog import resolve_metrics
from segauge.notebook import NotebookTable, Shown
from segauge.options import recorded_names
from segauge.plural import agreeing, counted
from segauge.scores import MetricInfo, Missing, Place, ScoreTable, Status
from segauge.stats.estimation import FORMER_AUTO
from segauge.stats.missing import MissingPolicy

#: Numbers this close are the same: another processor or NumPy may round the last digits of a sum differently.
_SAME = 1e-9

#: A file may not ask for more work than this.
_MOST_RESAMPLES = 1_000_000

#: Options that a file may record, by their keys there, with their names; those of structures and metrics are resolved.
_OPTIONS = {
    **recorded_names(),
    **{name: name for name in ("structures", "pred_structures", "allow_absent", "ignore", "metrics")},
}

#: Parts of a result file that follow from its rows and its protocol.
_DERIVED = ("n_cases", "config", "summary", "structures", "subgroups")

#: What is not compared, without the images and with them.
_ONLY_FROM_IMAGES = ("scores and statuses against the images", "hashes of the files", "notes", "warnings")
_NEVER = ("reasons", "metadata")

Row = dict[str, Any]


@dataclass(frozen=True)
class Discrepancy:
    """One place where a result file does not say what comes out when it is computed again."""

    where: str
    stated: object
    found: object

    def __str__(self) -> str:
        return f"{self.where}: the file has {self.stated!r}, expected {self.found!r}"


@dataclass(frozen=True)
class Verification(NotebookTable):
    """What was compared, every number that differs, and what of the file was not compared with anything."""

    source: str
    n_compared: int
    discrepancies: tuple[Discrepancy, ...]
    remeasured: bool
    unchecked: tuple[str, ...] = ()

    @property
    def is_confirmed(self) -> bool:
        """True where nothing differs."""
        return not self.discrepancies

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        again = "computed again, from the images" if self.remeasured else "computed again from the rows"
        differing = agreeing(len(self.discrepancies), "differs", "differ")
        said = f"{self.source}: {counted(self.n_compared, 'number')} {again}, {differing}"
        return Shown(
            said, ("where", "in the file", "expected"), [(d.where, d.stated, d.found) for d in self.discrepancies]
        )


def verify(
    path: str | os.PathLike[str], cases: Iterable[Case] | None = None, *, jobs: int | None = None
) -> Verification:
    """Compute a result file of `EvaluationResult.to_json` again and say which of its numbers differ.

    From its rows alone: every score within its metric's bounds, every mean, interval and count, and the settings of
    the intervals. With `cases`, every score is measured again from the images, with the options that the file names,
    and their hashes, notes and warnings are compared; only this finds numbers that were changed in the rows and in the
    summaries alike.

    Raises:
        InvalidInput: if the file is no such result, or names a case and structure twice.

    """
    name = Path(path).name
    data = _loaded(path)
    try:
        stated = _rebuilt(data, name)
        compared = [_within_bounds(row, info) for row in stated.rows for info in stated.metrics]
        # No mean is made of impossible values. What the images show comes first: it says which case was changed.
        derived = _derived(data, stated) if all(_same(one.stated, one.found) for one in compared) else ()
        if cases is not None:
            compared += _against_images(data, stated, cases, jobs)
        compared += derived
    except SegaugeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InvalidInput(f"{name}: is not built as a result of segauge is: {error!r}.") from error
    wrong = tuple(one for one in compared if not _same(one.stated, one.found))
    return Verification(name, len(compared), wrong, cases is not None, _unchecked(data, cases is not None))


def _unchecked(data: Mapping[str, Any], remeasured: bool) -> tuple[str, ...]:
    if not remeasured:
        return (*_ONLY_FROM_IMAGES, *_NEVER)
    return _NEVER if _is_of_this_version(data) else ("notes", "warnings", *_NEVER)


def _is_of_this_version(data: Mapping[str, Any]) -> bool:
    """Say whether notes and warnings would be written in the same words today."""
    return bool(data["protocol"].get("versions", {}).get("segauge") == version("segauge"))


def read_result(path: str | os.PathLike[str]) -> EvaluationResult:
    """Return the result that `EvaluationResult.to_json` wrote, for tables, figures and reports; without voxel counts.

    Raises:
        InvalidInput: if the file is no such result.

    """
    name = Path(path).name
    data = _loaded(path)
    try:
        found = _rebuilt(data, name)
        return replace(
            found,
            notes={case: tuple(map(str, lines)) for case, lines in data.get("notes", {}).items()},
            warnings=tuple(map(str, data.get("warnings", ()))),
            protocol=data["protocol"],
        )
    except SegaugeError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"{name}: is not built as a result of segauge is: {error!r}.") from error


def _loaded(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    data = load_json(Path(path))
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        raise InvalidInput(f"{Path(path).name}: expected a result that `segauge eval --json` wrote ({SCHEMA}).")
    return data


def _rebuilt(data: Mapping[str, Any], name: str) -> EvaluationResult:
    """Return the result that the rows of a file stand for."""
    metrics = resolve_metrics(data["protocol"]["options"]["metrics"])
    rows = _rows_by_place(data["per_case"], name)
    cases = tuple(dict.fromkeys(case for case, _ in rows))
    structures = tuple(dict.fromkeys(structure for _, structure in rows))
    values = np.full((len(cases), len(structures), len(metrics)), np.nan)
    status = np.empty(values.shape[:2], dtype=object)
    metadata: dict[str, Row] = {}
    missing: dict[Place, Missing] = {}
    for (case, structure), row in rows.items():
        i, j = cases.index(case), structures.index(structure)
        status[i, j] = Status(row["status"])
        missing |= missing_of(case, structure, status[i, j], row.get("missing"), str(row.get("reason") or ""))
        values[i, j] = [np.nan if row[info.key] is None else float(row[info.key]) for info in metrics]
        metadata[case] = {key.removeprefix(META_PREFIX): row[key] for key in row if key.startswith(META_PREFIX)}
    if len(rows) != status.size:
        raise InvalidInput(f"{name}: has {len(rows)} rows, expected one for each of {status.size} cases x structures.")
    statistics = data["protocol"]["statistics"]
    n_resamples = int(statistics["n_resamples"])
    if not 1 <= n_resamples <= _MOST_RESAMPLES:
        raise InvalidInput(f"{name}: n_resamples is {n_resamples}, expected 1 to {_MOST_RESAMPLES}.")
    table = ScoreTable(cases, structures, tuple(info.key for info in metrics), values, status, missing)
    return EvaluationResult(
        table,
        metrics,
        metadata,
        confidence=float(statistics["confidence"]),
        n_resamples=n_resamples,
        seed=int(statistics["seed"]),
        policy=MissingPolicy(**statistics["policy"]),
        ci=str(statistics.get("ci", FORMER_AUTO)),
        statistic=str(statistics.get("statistic", "mean")),
        diagonal_mm=statistics.get("diagonal_mm"),
    )


def _rows_by_place(rows: Iterable[Row], name: str) -> dict[tuple[str, str], Row]:
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        place = (str(row["case_id"]), str(row["structure"]))
        if place in found:
            raise InvalidInput(f"{name}: {place[1]!r} of case {place[0]!r} appears in it twice.")
        found[place] = row
    return found


def _derived(data: Mapping[str, Any], stated: EvaluationResult) -> Iterator[Discrepancy]:
    """Yield what follows from the rows, as it stands in the file and as it comes out."""
    again = stated.to_dict()
    for part in _DERIVED:
        yield from _leaves(part, data.get(part), again[part])
    if "noise_floors" in data:  # files have them where they were measured
        yield from _leaves("noise_floors", data["noise_floors"], again.get("noise_floors"))


def _within_bounds(row: Row, info: MetricInfo) -> Discrepancy:
    value, (low, high) = row[info.key], info.bounds
    fits = value is None or low <= value <= high
    expected = value if fits else f"a value from {low:g} to {high:g}"
    return Discrepancy(f"{row['case_id']} / {row['structure']} / {info.key}", value, expected)


def _leaves(where: str, stated: object, found: object) -> Iterator[Discrepancy]:
    """Yield each pair of plain values of two trees; a branch that one of them lacks is None there."""
    if isinstance(stated, Mapping) and isinstance(found, Mapping):
        for key in dict.fromkeys((*stated, *found)):
            yield from _leaves(f"{where} / {key}", stated.get(key), found.get(key))
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for i, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _leaves(f"{where} / {i}", one, other)
    else:
        yield Discrepancy(where, stated, found)


def _against_images(
    data: Mapping[str, Any], stated: EvaluationResult, cases: Iterable[Case], jobs: int | None
) -> Iterator[Discrepancy]:
    """Yield the scores and the hashes of the images, as they stand in the file and as they are measured now."""
    files = data["protocol"]["files"]
    spaced = (replace(case, spacing=files.get(case.case_id, {}).get("spacing", case.spacing)) for case in cases)
    again = evaluate(spaced, jobs=jobs, **_options(data["protocol"]["options"]))
    rows, now = ({(row["case_id"], row["structure"]): row for row in one.rows} for one in (stated, again))
    for case, structure in dict.fromkeys((*rows, *now)):
        one, other = rows.get((case, structure), {}), now.get((case, structure), {})
        for key in ("status", *stated.table.metrics):
            yield Discrepancy(f"{case} / {structure} / {key}", one.get(key), other.get(key))
    hashes = again.protocol["files"]
    for case in files:
        for side in ("pred", "gt"):
            found = hashes.get(case, {}).get(side, {}).get("sha256")
            yield Discrepancy(f"{case} / {side} / sha256", files[case][side]["sha256"], found)
    if _is_of_this_version(data):
        yield from _remarks(data, again)


def _remarks(data: Mapping[str, Any], again: EvaluationResult) -> Iterator[Discrepancy]:
    """Yield notes and warnings, as they stand in the file and as they come out now."""
    for case in again.table.cases:
        names = [again.protocol["files"][case][side]["name"] for side in ("pred", "gt")]
        stated, found = (
            [_without_folders(note, names) for note in notes.get(case, ())]
            for notes in (data.get("notes", {}), again.notes)
        )
        yield from _leaves(f"notes / {case}", stated, found)
    yield from _leaves("warnings", data.get("warnings", []), list(again.warnings))


def _without_folders(note: str, names: Iterable[str]) -> str:
    """Return a note with the bare names of its files: they may lie elsewhere now."""
    for name in filter(None, names):
        folders = rf"(?:(?:[A-Za-z]:)?[\\/][^:]*?[\\/]|\S*[\\/])(?={re.escape(name)})"
        note = re.sub(folders, "", note)
    return note


def _options(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a file as arguments of evaluate: those that numbers depend on, and no others.

    A file that comes from elsewhere must not choose where work is done or what is written.
    """
    unknown = [key for key in stated if key not in _OPTIONS]
    if unknown:
        raise InvalidInput(f"The result was made with an option that is not known here: {unknown[0]!r}.")
    options = {_OPTIONS[key]: value for key, value in stated.items()}
    chosen = options.pop("structures")
    if isinstance(chosen, str) and chosen not in ("foreground", "all"):
        raise InvalidInput(f"The result names no structures, but {chosen!r}; expected names with their labels.")
    return {**options, "structures": None if chosen == "foreground" else chosen}


def _same(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)
    return one == other
