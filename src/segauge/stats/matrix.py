"""ScoreMatrix: the scores of several models on the same cases, for one structure and one metric.

The one form that comparisons and rankings work on. Cases are paired by their id, never by their position in a list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput
from segauge.plural import counted
from segauge.scores import Scale, Status
from segauge.stats.missing import Resolved
from segauge.stats.resampling import Floats

#: Rows that are ranked at once.
_ROWS_AT_ONCE = 256


def levelled(values: Floats) -> Floats:
    """Round to 12 figures of the largest value, so that means that differ by rounding only are ties."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max(initial=0.0))
    if largest == 0.0:
        return values
    unit = 10.0 ** (math.ceil(math.log10(largest)) - 12)
    return np.asarray(np.rint(values / unit))


def average_ranks(better: Floats) -> Floats:
    """Return the ranks along the last axis: 1 for the highest, ties share the mean of their ranks."""
    rows = better.reshape(-1, better.shape[-1])
    ranks = np.ones_like(rows)
    # Rows by the block: what a block is compared with then stays in the processor's cache.
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block, found = rows[start : start + _ROWS_AT_ONCE], ranks[start : start + _ROWS_AT_ONCE]
        for j in range(block.shape[-1]):
            column = block[:, j : j + 1]
            found += column > block
            found += 0.5 * (column == block)
    return (ranks - 0.5).reshape(better.shape)


#: Note of a matrix whose scores are ranks.
RANKED_WITHIN_CASES = "scores are ranks within each case, failures last"
#: In every note on cases where one model found something although there is nothing.
NOTHING_TO_FIND = "there is nothing to find"


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores of models on cases.

    Attributes:
        cases, models: names of rows and columns.
        values: (cases, models); NaN is left out, infinity is a failure without a value.
        scale: which way is better, and the ends of the scale.
        columns: per model what was left out and what failed.
        clusters: per case the patient it belongs to, or None.
        failures: (cases, models), True where the model failed; without it, what has no value or the scale's worst.
        title: what was scored: "liver dice".
        notes: rules that made these values, for the result to print.
        absent: (cases, models), True where a model found nothing and there is nothing to find, which has no score; None
            where that is not known of any.
        linearised: True if a value is what a case adds to an average of task means: their mean and its error are those
            of the average, but no single value is a score, so none can be said to be better than another.
        parts: what a linearised matrix is the average of: per task its scores, and the places of its cases among these.
        most: largest score that these cases can have where it is known, such as the diagonal of an image in mm.
        is_ranks: True if the values are ranks within each case.

    """

    cases: tuple[str, ...]
    models: tuple[str, ...]
    values: Floats
    scale: Scale = field(default_factory=Scale)
    columns: Mapping[str, Resolved] = field(default_factory=dict)
    clusters: tuple[str, ...] | None = None
    failures: npt.NDArray[np.bool_] | None = None
    title: str = ""
    notes: tuple[str, ...] = ()
    linearised: bool = False
    absent: npt.NDArray[np.bool_] | None = None
    parts: tuple[tuple[ScoreMatrix, npt.NDArray[np.intp]], ...] = ()
    most: float = math.inf
    is_ranks: bool = False

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.shape != (len(self.cases), len(self.models)):
            raise InvalidInput(
                f"Scores of {len(self.cases)} cases and {len(self.models)} models cannot have the shape {values.shape}."
            )
        for names, what in ((self.cases, "case"), (self.models, "model")):
            _require_unique(names, what)
        if self.clusters is not None and len(self.clusters) != len(self.cases):
            raise InvalidInput(f"{len(self.cases)} cases, but {len(self.clusters)} cluster labels.")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def has_failures_without_value(self) -> bool:
        """True if some failure has no value, so that no mean exists."""
        return bool(np.isinf(self.values).any())

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """(cases, models): True where the model failed: by its status, without a value, or at the scale's worst."""
        told = np.zeros(self.values.shape, dtype=bool) if self.failures is None else self.failures
        return told | np.isinf(self.values) | ((self.values == self.scale.worst) if self.failures is None else False)

    @property
    def failure_shares(self) -> Floats:
        """(models,): the share of each model's cases that failed."""
        scored = ~np.isnan(self.values)
        return np.asarray((self.failed & scored).sum(axis=0) / np.maximum(scored.sum(axis=0), 1))

    @property
    def better(self) -> Floats:
        """The values with the sign that makes higher better."""
        return self.values if self.scale.higher_is_better else -self.values

    def scored_cases(self) -> ScoreMatrix:
        """Return the matrix without the cases where no model has a score."""
        return self.select(np.asarray(~np.isnan(self.values).all(axis=1)))

    def complete_cases(self) -> ScoreMatrix:
        """Return the matrix with only the cases where every model has a score."""
        return self.select(np.asarray(~np.isnan(self.values).any(axis=1)))

    def select(self, rows: npt.NDArray[np.bool_]) -> ScoreMatrix:
        """Return the matrix with the chosen cases."""
        if rows.all():
            return self
        positions = np.flatnonzero(rows)
        return replace(
            self,
            cases=tuple(self.cases[i] for i in positions),
            values=self.values[positions],
            clusters=None if self.clusters is None else tuple(self.clusters[i] for i in positions),
            failures=None if self.failures is None else self.failures[positions],
            absent=None if self.absent is None else self.absent[positions],
            parts=(),  # of all cases
        )

    def with_models(self, names: Sequence[str]) -> ScoreMatrix:
        """Return the scores of these models, in this order."""
        for name in names:
            if name not in self.models:
                raise InvalidInput(f"No model {name!r} among the scores; there are {', '.join(self.models)}.")
        keep = [self.models.index(name) for name in names]
        return replace(
            self,
            models=tuple(names),
            # In one order of memory: another one would be summed in another order.
            values=np.ascontiguousarray(self.values[:, keep]),
            columns={name: self.columns[name] for name in names if name in self.columns},
            failures=None if self.failures is None else self.failures[:, keep],
            absent=None if self.absent is None else self.absent[:, keep],
            parts=tuple((part.with_models(names), rows) for part, rows in self.parts),
        )

    @property
    def means(self) -> Floats:
        """The mean of each model; NaN without a value."""
        if self.parts:
            return np.asarray(np.mean([part.means for part, _ in self.parts], axis=0))
        return _divided(np.nan_to_num(self.values).sum(axis=0), (~np.isnan(self.values)).sum(axis=0))

    @property
    def mean_bounds(self) -> tuple[float, float]:
        """The ends of the scale of a mean: of an average those of its tasks, which what a case adds may pass."""
        if not self.parts:
            return self.scale.bounds
        low, high = np.mean([part.mean_bounds for part, _ in self.parts], axis=0)
        return float(low), float(high)

    def means_without(self) -> Floats:
        """Return (cases, models): the means without each case in turn; NaN where nothing is left.

        Of an average it is the average of the tasks' means without the case: what a case adds to the average was
        written for the numbers of cases that the tasks have with it.
        """
        if self.parts:
            found = np.zeros(self.values.shape)
            for part, rows in self.parts:
                task = np.tile(part.means, (len(self.cases), 1))
                task[rows] = part.means_without()
                found += task
            return found / len(self.parts)
        known = ~np.isnan(self.values)
        filled = np.nan_to_num(self.values)
        return _divided(filled.sum(axis=0) - filled, known.sum(axis=0) - known)

    def differences(self, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> Floats:
        """Return (cases, pairs): what the first model of each pair has more than the second; NaN is left out.

        Where there is nothing to find, a model that finds nothing has no score, and one that finds something failed.
        The former then counts with the scale's best value: left out, false findings would cost nothing. Two that find
        nothing are left out.
        """
        differences = np.asarray(self.values[:, first] - self.values[:, second])
        if self.absent is None:
            return differences
        if math.isfinite(self.scale.best):
            for sign, one, other in ((1.0, first, second), (-1.0, second, first)):
                ahead = (self.absent & np.isnan(self.values))[:, one] & self._scored_failures[:, other]
                differences[ahead] = sign * (self.scale.best - self.values[:, other][ahead])
        differences[self.absent[:, first] & self.absent[:, second]] = np.nan
        return differences

    @property
    def _scored_failures(self) -> npt.NDArray[np.bool_]:
        return self.failed & ~np.isnan(self.values)

    @property
    def false_findings(self) -> npt.NDArray[np.bool_]:
        """(cases,): True where one model rightly found nothing and another one did not."""
        if self.absent is None:
            return np.zeros(len(self.cases), dtype=bool)
        return np.asarray(self.absent.any(axis=1) & self._scored_failures.any(axis=1))

    @property
    def notes_on_pairs(self) -> tuple[str, ...]:
        """What has to be said about comparisons of two models on these cases, beside the notes."""
        if self.has_failures_without_value:
            return self.as_ranks().notes_on_pairs
        count = int(self.false_findings.sum())
        if not count:
            return ()
        if self.is_ranks:
            how = "a model that finds nothing there ranks before one that failed"
        elif not math.isfinite(self.scale.best):
            how = "left out of comparisons, because the scale has no best value for the model that finds nothing"
        else:
            against = "" if self.scale.is_bounded else ", the other with what a failure counts"
            how = (
                "compared with one that failed there, a model that finds nothing counts with "
                f"{self.scale.best:g}{against}; no model's own mean changes"
            )
        return (f"{counted(count, 'case')} where {NOTHING_TO_FIND}: {how}",)

    def as_ranks(self) -> ScoreMatrix:
        """Return each case's ranks among the models (1 is best, ties share the mean rank); failures rank last.

        Only of the cases where every model has a score or a failure: a rank among fewer models is another thing. Where
        a model found something although there is nothing, those that found nothing are first.
        """
        kept = self.select(self.is_rankable)
        better = np.where(np.isinf(kept.values), -np.inf, kept.better)
        ranks = average_ranks(better if kept.absent is None else np.where(kept.absent, np.inf, better))
        return replace(
            kept,
            values=ranks,
            columns={name: _with_ranked(kept, name) for name in kept.columns},
            failures=kept.failed,
            scale=Scale(False, (1.0, float(len(self.models)))),
            most=math.inf,
            notes=(*self.notes, RANKED_WITHIN_CASES),
            is_ranks=True,
        )

    @property
    def is_rankable(self) -> npt.NDArray[np.bool_]:
        """(cases,): True where every model has a score or a failure, or rightly found nothing where another did not."""
        known = ~np.isnan(self.values)
        if self.absent is not None:
            known |= self.absent & self.false_findings[:, None]
        return np.asarray(known.all(axis=1))

    def cluster_numbers(self) -> npt.NDArray[np.intp] | None:
        """Return the number of each case's cluster, counted from 0, or None."""
        return None if self.clusters is None else np.unique(self.clusters, return_inverse=True)[1]


def _with_ranked(matrix: ScoreMatrix, name: str) -> Resolved:
    """Return what was left out of a model's scores, without the cases where it found nothing that have a rank."""
    column, reason = matrix.columns[name], Status.ABSENT.value
    ranked = 0 if matrix.absent is None else int(matrix.absent[:, matrix.models.index(name)].sum())
    excluded = {**column.excluded, reason: column.excluded.get(reason, 0) - ranked}
    return replace(column, excluded={key: count for key, count in excluded.items() if count})


def _divided(totals: Floats, counts: npt.NDArray[np.intp]) -> Floats:
    return np.asarray(np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0))


def _require_unique(names: Sequence[str], what: str) -> None:
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InvalidInput(f"The {what} {twice!r} appears twice; every {what} needs a name of its own.")
