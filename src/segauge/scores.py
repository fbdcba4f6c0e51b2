"""Status, MetricInfo, Score, ScoreTable: the numbers that come out, and why one is not there.

This is the waist of the house: whatever measures writes it, whatever analyses reads it, and neither knows the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from segauge import words
from segauge.digits import unit_word, with_unit
from segauge.errors import InvalidInput, UnknownMetric, UnknownStructure
from segauge.notebook import NotebookTable, Shown


class Status(StrEnum):
    """What there was to measure for one structure of one case."""

    PRESENT = "present"  #: in the ground truth and in the prediction
    MISSED = "missed"  #: in the ground truth only
    SPURIOUS = "spurious"  #: in the prediction only
    ABSENT = "absent"  #: in neither
    PREDICTION_MISSING = "prediction missing"  #: there is no prediction for this case
    UNREADABLE = "unreadable"  #: the prediction could not be read
    GROUND_TRUTH_UNREADABLE = "ground truth unreadable"  #: the ground truth could not be read, or not used by itself
    REGION_NOT_FOUND = "region not found"  #: predicted; the ground truth has regions, and none of that name
    REFUSED = "refused"  #: prediction and ground truth cannot be compared (their grids differ, say)
    FAILED = "failed"  #: measuring stopped with an error, ran out of time or out of memory

    @property
    def is_failure(self) -> bool:
        """True where the case counts against the model: not where it is present, absent, or without a ground truth."""
        return self not in (Status.PRESENT, Status.ABSENT, *NO_GROUND_TRUTH)

    @classmethod
    def of(cls, *, in_pred: bool, in_gt: bool) -> Status:
        """Return the status of a pair that was measured."""
        if in_gt:
            return cls.PRESENT if in_pred else cls.MISSED
        return cls.SPURIOUS if in_pred else cls.ABSENT


#: Statuses of a whole case, as opposed to those of a structure that was measured.
CASE_FAILURES = (
    Status.PREDICTION_MISSING,
    Status.UNREADABLE,
    Status.GROUND_TRUTH_UNREADABLE,
    Status.REFUSED,
    Status.FAILED,
)

#: Statuses without a ground truth to measure against: they count neither for nor against the model.
NO_GROUND_TRUTH = (Status.GROUND_TRUTH_UNREADABLE, Status.REGION_NOT_FOUND)

#: Statuses that say that the ground truth does not have the structure, by the name that was asked for.
NOT_IN_GROUND_TRUTH = (Status.ABSENT, Status.SPURIOUS, Status.REGION_NOT_FOUND)

#: How a cell without a value enters a summary. "failure": it counts against the model, as the policy for failed cases
#: says. "absent": there was nothing to find and nothing was found; the policy for absent structures decides. "unknown":
#: as "absent", but no one knows what was found. "nothing": it counts neither for nor against the model.
CountsAs = Literal["failure", "absent", "unknown", "nothing"]


@dataclass(frozen=True)
class Missing:
    """Why a cell has no value.

    Attributes:
        status: what there was to measure; of a case that could not be measured, what went wrong with the case, also
            where its ground truth lacks the structure.
        because: the cause in words, "" where the status says all.
        counts_as: how the cell enters a summary.

    >>> Missing.of(Status.MISSED)
    Missing(status=<Status.MISSED: 'missed'>, because='', counts_as='failure')

    """

    status: Status
    because: str
    counts_as: CountsAs

    @classmethod
    def of(cls, status: Status, because: str = "") -> Missing:
        """Return what a status means by itself."""
        usual: CountsAs = "failure" if status.is_failure else "absent" if status is Status.ABSENT else "nothing"
        return cls(status, because, usual)

    @classmethod
    def lacking(cls, status: Status, because: str) -> Missing:
        """Return what a structure is in a case that could not be measured and whose ground truth lacks it.

        No one knows whether it would have been predicted. The cases whose ground truth has a structure are the
        denominator, so this one counts neither for nor against the model.
        """
        return cls(status, because, "nothing")

    @classmethod
    def from_dict(cls, given: Mapping[str, str]) -> Missing:
        """Return what `to_dict` wrote.

        Raises:
            InvalidInput: if it is something else.

        """
        try:
            found = cls(Status(given["status"]), given["because"], given["counts_as"])  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"Expected status, because and counts_as of a missing value, got {given!r}.") from error
        if found.counts_as not in get_args(CountsAs) or not isinstance(found.because, str):
            raise InvalidInput(f"counts_as: expected one of {', '.join(get_args(CountsAs))}, got {found.counts_as!r}.")
        return found

    def to_dict(self) -> dict[str, str]:
        """Return plain values for JSON."""
        return {"status": self.status.value, "because": self.because, "counts_as": self.counts_as}


#: (case, structure) for all metrics of a structure, or (case, structure, metric) for one.
Place = tuple[str, str] | tuple[str, str, str]

Direction = Literal["higher", "lower", "none"]


@dataclass(frozen=True)
class Scale:
    """Which way a metric is better, and its smallest and largest value (infinite where there is none)."""

    higher_is_better: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    unit: str = ""

    @property
    def is_bounded(self) -> bool:
        """True if both ends are finite."""
        return all(map(math.isfinite, self.bounds))

    @property
    def finite_bounds(self) -> tuple[float, float] | None:
        """The ends, None where one of them is open."""
        return self.bounds if self.is_bounded else None

    @property
    def worst(self) -> float:
        """The worst possible value; infinite where there is none."""
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def best(self) -> float:
        """The best possible value; infinite where there is none."""
        return self.bounds[1] if self.higher_is_better else self.bounds[0]


@dataclass(frozen=True)
class MetricInfo:
    """The facts of one metric, written once; tables, documentation, command line and tests iterate them.

    Attributes:
        key: what the user types and the table's column is called: "dice", "hd95", "nsd@2".
        name: what a figure's axis says.
        unit: "mm", "ml", "1" for a share, "count".
        direction: whether higher or lower is better; "none" for a plain measurement such as a volume.
        bounds: smallest and largest possible value; infinite where there is none.
        needs: what must be computed for it: "counts", "surface", "band", "lesions" or "centerline".
        definition: formula, range and edge cases, as the glossary prints them.
        function: computes the value of one structure from its measured parts; None where there is none.
        when_failed: the value where the structure is in one mask only; None where that has no number (a distance to
            nothing), or depends on which of the two it is.
        when_absent: the value where the structure is in neither mask and nothing was predicted rightly: 0 lesions
            invented. It counts like any other. None where such a case says nothing, as of the overlap.
        needs_gt: True if the metric is not defined where the ground truth lacks the structure: a spurious structure
            has no value then, and counts neither way.
        takes_tolerance: True if the tolerance of the protocol changes its value.

    """

    key: str
    name: str
    unit: str
    direction: Direction
    bounds: tuple[float, float]
    needs: str
    definition: str
    function: Callable[..., float | None]
    when_failed: float | None = None
    when_absent: float | None = None
    needs_gt: bool = False
    takes_tolerance: bool = False

    @property
    def scale(self) -> Scale:
        """Which way is better, the bounds, and the unit as it is printed; a measurement counts as "lower is better"."""
        return Scale(self.direction == "higher", self.bounds, unit_word(self.unit))

    @property
    def worst(self) -> float | None:
        """The worst possible value; None where there is none, or none is better."""
        return self._end(self.scale.worst)

    @property
    def best(self) -> float | None:
        """The best possible value; None where there is none, or none is better."""
        return self._end(self.scale.best)

    def _end(self, bound: float) -> float | None:
        return bound if self.direction != "none" and math.isfinite(bound) else None

    @property
    def title(self) -> str:
        """The title of an axis: the name with its unit, "95 % Hausdorff distance in mm"."""
        return f"{self.name} in {self.scale.unit}" if self.scale.unit else self.name

    @property
    def heading(self) -> str:
        """The head of a column: the name with its unit, "95 % Hausdorff distance (mm)"."""
        return f"{self.name} ({self.scale.unit})" if self.scale.unit else self.name

    @property
    def facts(self) -> str:
        """Unit, range and direction in words: "In mm, from 0 upwards; lower is better."."""
        unit = {"1": "a share", "count": "a count", "": "a number"}.get(self.unit, f"in {self.unit}")
        low, high = self.bounds
        ends = "" if math.isinf(low) and math.isinf(high) else f", from {low:g}"
        ends += "" if not ends else " upwards" if math.isinf(high) else f" to {high:g}"
        better = {"higher": "; higher is better", "lower": "; lower is better", "none": ""}[self.direction]
        return f"{unit[0].upper()}{unit[1:]}{ends}{better}."

    def text(self, value: float) -> str:
        """Return a value with three figures and its unit: "12.4 mm"."""
        return with_unit(f"{value:.3g}", self.unit)


@dataclass(frozen=True)
class Score:
    """One number for one structure of one case, or the status (and reason) saying why there is none."""

    value: float | None
    status: Status
    reason: str = ""
    missing: Missing | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.value is not None:
            return f"{self.value:.4g}"
        return self.reason or self.status.value


@dataclass(frozen=True, eq=False)
class ScoreTable(NotebookTable):
    """Scores of several cases, structures and metrics; every cell has a value or a reason.

    `values[case, structure, metric]` is NaN where there is no number; `status[case, structure]` says what there was to
    measure. `missing` has what the status alone does not tell, by (case, structure) for all metrics or by (case,
    structure, metric) for one; a plain text there is the cause of the cell's own status. Frozen; the arrays are
    read-only.
    """

    cases: tuple[str, ...]
    structures: tuple[str, ...]
    metrics: tuple[str, ...]
    values: npt.NDArray[np.float64]
    status: npt.NDArray[np.object_]
    missing: Mapping[Place, Missing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for axis in ("cases", "structures", "metrics"):
            names = tuple(getattr(self, axis))
            if len(set(names)) != len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise InvalidInput(f"{twice!r} appears twice among the {axis} of a score table.")
            object.__setattr__(self, axis, names)
        values = np.array(self.values, dtype=np.float64)
        status = _statuses(self.status)
        shape = (len(self.cases), len(self.structures), len(self.metrics))
        if values.shape != shape or status.shape != shape[:2]:
            raise InvalidInput(f"A score table of {shape} cells got values {values.shape}, status {status.shape}.")
        if np.isinf(values).any():
            raise InvalidInput(
                "A score is a finite number or has a status: infinity cannot be stored in a score table."
            )
        values.setflags(write=False)
        status.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "missing", self._causes(self.missing))

    @classmethod
    def of_case(
        cls,
        case_id: str,
        metrics: Sequence[str],
        scores: Mapping[str, tuple[Status, Mapping[str, float | None]]],
        causes: Mapping[str, Mapping[str, Missing]] | None = None,
    ) -> ScoreTable:
        """Return the table of one case from its structures' status and values.

        `causes` has per structure and metric why there is no value.
        """
        cells = [[_finite(values.get(metric)) for metric in metrics] for _, values in scores.values()]
        status = np.empty((1, len(scores)), dtype=object)
        status[0, :] = [state for state, _ in scores.values()]
        return cls(
            (case_id,),
            tuple(scores),
            tuple(metrics),
            np.array(cells, dtype=np.float64).reshape(1, len(scores), len(metrics)),
            status,
            {
                (case_id, structure, metric): missing
                for structure, found in (causes or {}).items()
                for metric, missing in found.items()
            },
        )

    @classmethod
    def concatenate(cls, tables: Sequence[ScoreTable]) -> ScoreTable:
        """Return one table with the cases of all; structures and metrics must be the same everywhere."""
        if not tables:
            raise InvalidInput("Expected at least one score table to concatenate.")
        first = tables[0]
        for table in tables[1:]:
            if table.structures != first.structures or table.metrics != first.metrics:
                raise InvalidInput("Score tables can be joined only if they have the same structures and metrics.")
        return cls(
            tuple(case for table in tables for case in table.cases),
            first.structures,
            first.metrics,
            np.concatenate([table.values for table in tables]),
            np.concatenate([table.status for table in tables]),
            {place: missing for table in tables for place, missing in table.missing.items()},
        )

    def select(
        self,
        cases: Iterable[str] | None = None,
        structures: Iterable[str] | None = None,
        metrics: Iterable[str] | None = None,
    ) -> ScoreTable:
        """Return the table with only these cases, structures and metrics, in the order given; all where None.

        >>> table = ScoreTable(("a", "b"), ("liver",), ("dice",), [[[0.9]], [[0.8]]], [["present"], ["present"]])
        >>> table.select(cases=["b"])["b", "liver", "dice"].value
        0.8
        """
        rows, columns, depth = (
            list(range(len(names))) if chosen is None else [_position(names, name, what, error) for name in chosen]
            for names, chosen, what, error in (
                (self.cases, cases, "case", InvalidInput),
                (self.structures, structures, "structure", UnknownStructure),
                (self.metrics, metrics, "metric", UnknownMetric),
            )
        )
        kept = tuple(self.cases[i] for i in rows)
        names = tuple(self.structures[j] for j in columns)
        keys = tuple(self.metrics[k] for k in depth)
        has_case, has_structure, has_metric = set(kept), set(names), set(keys)
        return ScoreTable(
            kept,
            names,
            keys,
            self.values[np.ix_(rows, columns, depth)],
            self.status[np.ix_(rows, columns)],
            {
                place: missing
                for place, missing in self.missing.items()
                if place[0] in has_case and place[1] in has_structure and (len(place) == 2 or place[2] in has_metric)
            },
        )

    def __getitem__(self, key: tuple[str, str, str]) -> Score:
        """Return the score of (case, structure, metric)."""
        case, structure, metric = key
        row = _position(self.cases, case, "case", InvalidInput)
        column = _position(self.structures, structure, "structure", UnknownStructure)
        value = float(self.values[row, column, _position(self.metrics, metric, "metric", UnknownMetric)])
        status: Status = self.status[row, column]
        whole, single = self.missing.get((case, structure)), self.missing.get((case, structure, metric))
        sentence = _sentence(status, whole)
        if not math.isnan(value):
            return Score(value, status, sentence)
        if single is not None:
            sentence = words.without_value([metric], single.because)
        return Score(None, status, sentence, single or whole or Missing.of(status))

    @property
    def reasons(self) -> dict[tuple[str, str], str]:
        """Why values are missing, one sentence per case and structure; without cells whose status tells everything."""
        by_metric: dict[tuple[str, str], dict[str, str]] = {}
        for place, missing in self.missing.items():
            of_cell = by_metric.setdefault((place[0], place[1]), {})
            if len(place) == 3:
                of_cell[place[2]] = missing.because
        found = {
            cell: words.of_structure(_sentence(self._status(*cell), self.missing.get(cell)), causes)
            for cell, causes in by_metric.items()
        }
        return {cell: sentence for cell, sentence in found.items() if sentence}

    def details(self, case: str, structure: str) -> dict[str, dict[str, str]]:
        """Return what files have to keep of a cell's missing values, by metric and "" for all metrics.

        {} where the status and the reason tell everything.
        """
        whole = self.missing.get((case, structure))
        single = {metric: self.missing.get((case, structure, metric)) for metric in self.metrics}
        found = {metric: cause.to_dict() for metric, cause in {"": whole, **single}.items() if cause is not None}
        if list(found) == [""] and whole == Missing.of(self._status(case, structure), found[""]["because"]):
            return {}
        return found

    @cached_property
    def _positions(self) -> tuple[dict[str, int], dict[str, int]]:
        rows, columns = ({name: i for i, name in enumerate(names)} for names in (self.cases, self.structures))
        return rows, columns

    def _status(self, case: str, structure: str) -> Status:
        rows, columns = self._positions
        found: Status = self.status[rows[case], columns[structure]]
        return found

    def _causes(self, given: Mapping[Place, Missing | str]) -> dict[Place, Missing]:
        """Return what is known of missing values; a text is the cause of the status that its cell has."""
        if not given:
            return {}
        found = {}
        for place, missing in given.items():
            try:
                of_cell = self._status(place[0], place[1])
            except KeyError as error:
                raise InvalidInput(
                    f"missing: {place!r} is not in the score table; it has no {error.args[0]!r}."
                ) from None
            if len(place) == 3 and place[2] not in self.metrics:
                raise InvalidInput(f"missing: {place!r} is not in the score table; it has no {place[2]!r}.")
            found[place] = Missing.of(of_cell, missing) if isinstance(missing, str) else missing
        return found

    def column(self, structure: str, metric: str) -> npt.NDArray[np.float64]:
        """Return one value per case, NaN where there is none."""
        values: npt.NDArray[np.float64] = self.values[
            :,
            _position(self.structures, structure, "structure", UnknownStructure),
            _position(self.metrics, metric, "metric", UnknownMetric),
        ]
        return values

    def status_counts(self, structure: str) -> dict[Status, int]:
        """Return how many cases have each status for a structure."""
        states = list(self.status[:, _position(self.structures, structure, "structure", UnknownStructure)])
        return {status: states.count(status) for status in Status if status in states}

    def case_failure(self, case: str) -> tuple[Status, str] | None:
        """Return status and reason of a case that could not be measured, None for one that was."""
        row = _position(self.cases, case, "case", InvalidInput)
        found = None
        for status, structure in zip(self.status[row].tolist(), self.structures, strict=True):
            missing = self.missing.get((case, structure))
            if status in CASE_FAILURES:
                return status, "" if missing is None else missing.because
            if missing is not None and missing.status in CASE_FAILURES:
                found = missing.status, missing.because
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one plain dictionary per case and structure: ids, status, reason, and each metric's value or None."""
        reasons = self.reasons
        for i, case in enumerate(self.cases):
            for j, structure in enumerate(self.structures):
                cells = [None if math.isnan(value) else float(value) for value in self.values[i, j]]
                yield {
                    "case": case,
                    "structure": structure,
                    "status": self.status[i, j].value,
                    "reason": reasons.get((case, structure), ""),
                    **dict(zip(self.metrics, cells, strict=True)),
                }

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        columns = ("case", "structure", "status", *self.metrics)
        counted = f"{len(self.cases)} cases, {len(self.structures)} structures"
        return Shown(counted, columns, [[row[name] for name in columns] for row in self.rows()])

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        header = ("case", "structure", "status", *self.metrics)
        lines = [
            (row["case"], row["structure"], row["status"], *[_cell(row[metric]) for metric in self.metrics])
            for row in self.rows()
        ]
        widths = [max(len(line[i]) for line in (header, *lines)) for i in range(len(header))]
        return "\n".join(_aligned(line, widths) for line in (header, *lines))


def _sentence(status: Status, missing: Missing | None) -> str:
    if missing is None:
        return ""
    if status is Status.ABSENT and missing.status in CASE_FAILURES:
        return words.lacking(missing.status.value, missing.because)
    return missing.because


def _statuses(given: npt.ArrayLike) -> npt.NDArray[np.object_]:
    """Return statuses, of which some may be given by their words ("missed")."""
    states = np.array(given, dtype=object)
    # Nearly always they are statuses already, and looking each up again would take longer than all else here.
    if {type(state) for state in states.ravel().tolist()} <= {Status}:
        return states
    try:
        for place, state in np.ndenumerate(states):
            states[place] = Status(state)
    except ValueError as error:
        known = ", ".join(repr(status.value) for status in Status)
        raise InvalidInput(f"A status is one of {known}: {error}.") from None
    return states


def _finite(value: float | None) -> float:
    return math.nan if value is None or not math.isfinite(value) else float(value)


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    left = [text.ljust(width) for text, width in zip(line[:3], widths[:3], strict=True)]
    right = [text.rjust(width) for text, width in zip(line[3:], widths[3:], strict=True)]
    return "  ".join([*left, *right]).rstrip()


def _position(names: tuple[str, ...], name: str, what: str, error: type[InvalidInput]) -> int:
    if name not in names:
        shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
        raise error(f"No {what} {name!r} in this table; there are {shown}.")
    return names.index(name)
