"""What changed between two evaluations of the same cases: a gate for the next version of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from segauge.errors import InvalidInput
from segauge.notebook import NotebookTable, Shown
from segauge.scores import ScoreTable
from segauge.stats.comparison import FEWEST_FOR_VERDICT, Verdict, compare
from segauge.stats.matrix import CasePolicy, score_matrix
from segauge.stats.missing import AUTO, MissingPolicy
from segauge.stats.multiplicity import holm
from segauge.stats.noise_floors import floor_of_difference, is_floor, noise_floor_of
from segauge.stats.scales import Scale, is_measurement, scale_of


@dataclass(frozen=True)
class Change:
    """One structure and metric, after against before, paired by case.

    Attributes:
        structure, metric: what changed.
        n: cases that both have a score for.
        before, after: means over these cases.
        delta: after - before, with the limits of its interval (symmetric bootstrap-t); None below 2 cases.
        p_value: Holm's over all changes looked at.
        verdict: of after: "better", "worse", "equivalent" (within the margin) or "undecided".
        new_failures, recovered: cases that failed only after, and only before.
        noise_floor: below which change the means of these cases mean nothing, where both tables have the noise of the
            metric (`hd95_noise` beside `hd95`); None where not.

    """

    structure: str
    metric: str
    n: int
    before: float
    after: float
    delta: float
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    verdict: Verdict
    new_failures: tuple[str, ...]
    recovered: tuple[str, ...]
    noise_floor: float | None = None

    @property
    def is_below_floor(self) -> bool:
        """Whether moving the voxel grids alone could have made this change."""
        return self.noise_floor is not None and abs(self.delta) < self.noise_floor


@dataclass(frozen=True)
class Difference(NotebookTable):
    """All changes, and whether any of them is a regression."""

    changes: tuple[Change, ...]
    allowed_failures: int
    level: float
    notes: tuple[str, ...] = ()

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes for the worse: significantly and not within the margin, or more new failures than allowed."""
        return tuple(
            change
            for change in self.changes
            if change.verdict == "worse" or len(change.new_failures) > self.allowed_failures
        )

    def shown(self) -> Shown:
        """Return what a notebook shows."""
        header = ("structure", "metric", "n", "before", "after", "change", "low", "high", "verdict", "new failures")
        rows = [
            (
                c.structure,
                c.metric,
                c.n,
                c.before,
                c.after,
                c.delta,
                c.ci_low,
                c.ci_high,
                c.verdict,
                len(c.new_failures),
            )
            for c in self.changes
        ]
        worse = len(self.regressions)
        return Shown(f"regression in {worse} of {len(rows)}" if worse else "no regression", header, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        rows = [{**vars(c), "new_failures": list(c.new_failures), "recovered": list(c.recovered)} for c in self.changes]
        return {
            "level": self.level,
            "allowed_failures": self.allowed_failures,
            "notes": list(self.notes),
            "is_regression": bool(self.regressions),
            "changes": rows,
        }


def difference(
    before: ScoreTable,
    after: ScoreTable,
    *,
    margins: Mapping[str, float] | None = None,
    scales: Mapping[str, Scale] | None = None,
    policy: MissingPolicy = AUTO,
    cases: CasePolicy = "failed",
    allowed_failures: int = 0,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Difference:
    """Compare two evaluations of the same cases, structure by structure and metric by metric.

    Plain measurements, such as volumes, are left out and named in the notes, unless `scales` says which way is better.

    Args:
        before: scores of the version to beat.
        after: scores of the new version.
        margins: per metric the change that does not matter in practice.
        scales: per metric which way is better, where its name does not say.
        policy: what failed and absent cases count as.
        cases: if they were not scored on the same cases; a case that one of them lacks counts as its failure.
        allowed_failures: new failures per structure that are no regression.
        level: of intervals and verdicts, the latter over all changes together (Holm).
        n_resamples: of the intervals.
        seed: of the intervals.

    """
    structures = [name for name in before.structures if name in after.structures]
    common = [name for name in before.metrics if name in after.metrics]
    floors = [name for name in common if is_floor(name, common)]
    plain = [name for name in common if is_measurement(name) and name not in (*floors, *(scales or {}))]
    metrics = [name for name in common if name not in (*plain, *floors)]
    if not structures or not metrics:
        besides = f" (but for {', '.join(plain)}, of which no value is better than another)" if plain else ""
        raise InvalidInput(f"The two tables have no structure and metric in common{besides}, so nothing to compare.")
    changes = [
        _change(before, after, structure, metric, (margins or {}).get(metric), (scales or {}).get(metric), policy,
                cases, level, n_resamples, seed)
        for structure in structures
        for metric in metrics
    ]  # fmt: skip
    adjusted = holm([1.0 if change.p_value is None else change.p_value for change in changes])
    final = tuple(_adjusted(change, float(p), level) for change, p in zip(changes, adjusted, strict=True))
    few = [change for change in final if change.n < FEWEST_FOR_VERDICT]
    notes = [f"{len(few)} of {len(final)} changes rest on fewer than 10 cases: no verdict"] if few else []
    below = [f"{change.structure} {change.metric}" for change in final if change.is_below_floor]
    notes += (
        [f"below the noise floor (moving the voxel grid alone can make such a change): {', '.join(below)}"]
        if below
        else []
    )
    notes += [f"not compared, because no value of these is better than another: {', '.join(plain)}"] if plain else []
    for name, other in (("before", after), ("after", before)):
        mine = before if name == "before" else after
        only = sorted((set(mine.structures) - set(other.structures)) | (set(mine.metrics) - set(other.metrics)))
        notes += [f"only {name}: {', '.join(only)}"] if only else []
    return Difference(final, allowed_failures, level, tuple(notes))


def _change(
    before: ScoreTable,
    after: ScoreTable,
    structure: str,
    metric: str,
    margin: float | None,
    scale: Scale | None,
    policy: MissingPolicy,
    cases: CasePolicy,
    level: float,
    n_resamples: int,
    seed: int,
) -> Change:
    scale = scale or scale_of(metric)
    matrix = score_matrix(
        {"after": after, "before": before}, structure=structure, metric=metric, scale=scale, policy=policy, cases=cases
    )
    failed = _failed_cases(matrix.cases, after, structure), _failed_cases(matrix.cases, before, structure)
    # A distance has no mean over failures: the change is over the cases found in both, failures are listed beside.
    values = np.where(np.isinf(matrix.values), np.nan, matrix.values)
    found = replace(matrix, values=values).complete_cases()
    new, old = tuple(sorted(failed[0] - failed[1])), tuple(sorted(failed[1] - failed[0]))
    if not found.cases:
        return Change(structure, metric, 0, 0.0, 0.0, 0.0, None, None, None, "undecided", new, old)
    pair = compare(
        found, method="bootstrap-t", correction="none", level=level, margin=margin, n_resamples=n_resamples, seed=seed
    ).pairs[0]
    means = found.values.mean(axis=0)
    return Change(
        structure, metric, pair.n, float(means[1]), float(means[0]), pair.delta, pair.ci_low, pair.ci_high,
        pair.p_value, pair.verdict, new, old,
        floor_of_difference([[noise_floor_of(table, structure, metric, found.cases) for table in (before, after)]]),
    )  # fmt: skip


def _failed_cases(cases: tuple[str, ...], table: ScoreTable, structure: str) -> set[str]:
    states = dict(zip(table.cases, table.status[:, table.structures.index(structure)], strict=True))
    return {case for case in cases if case not in states or states[case].is_failure}


def _adjusted(change: Change, p_value: float, level: float) -> Change:
    verdict: Verdict = change.verdict
    if verdict in ("better", "worse") and p_value >= 1.0 - level:
        verdict = "undecided"
    return replace(change, p_value=None if change.p_value is None else p_value, verdict=verdict)
