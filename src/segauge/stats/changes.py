"""What changed between two evaluations of the same cases: a gate for the next version of a model.

Only some metrics are judged. Every test that is made takes power from the others, and a file has many metrics that say
nearly the same, or that nobody chose: what decides is said before looking, the rest is shown with its interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from segauge.errors import InvalidInput
from segauge.notebook import NotebookTable, Shown
from segauge.plural import counted
from segauge.scores import Scale, ScoreTable, Status
from segauge.stats.comparison import FEWEST_FOR_VERDICT, Verdict, compare
from segauge.stats.matrix import NOTHING_TO_FIND
from segauge.stats.missing import AUTO, MissingPolicy, is_measurement, scale_of
from segauge.stats.noise_floors import floor_of_difference, is_floor, noise_floor_of
from segauge.stats.shared_cases import CasePolicy, score_matrix
from segauge.stats.significance import holm

#: Metrics that are judged where nobody says otherwise: volume overlap, share of the surface that fits, its outliers.
PRIMARY = ("dice", "nsd", "hd95")
#: Of the judged ones, see `Verdict`; the others have none.
NOT_JUDGED: Literal["not judged"] = "not judged"


@dataclass(frozen=True)
class Change:
    """One structure and metric, after against before, paired by case.

    Attributes:
        structure, metric: what changed.
        n: cases that both have a score for, and those where there is nothing to find and only one finds nothing.
        before, after: means over these cases, as far as a version has a score there.
        delta: mean of after - before, with the limits of its interval (symmetric bootstrap-t); None below 2 cases.
        p_value: Holm's over all changes that are judged; None of those that are not.
        verdict: of after: "better", "worse", "equivalent" (within the margin) or "undecided"; "not judged" where the
            metric is only shown.
        new_failures, recovered: cases that failed only after, and only before.
        noise_floor: below which change the means of these cases mean nothing, where both tables have the noise of the
            metric (`hd95_noise` beside `hd95`); None where not.
        n_clusters: patients that these cases belong to; None where every case stands for itself.
        n_false_findings: of the n cases, those where there is nothing to find and only one version found nothing: it
            counts with the scale's best value against the other.

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
    verdict: Verdict | Literal["not judged"]
    new_failures: tuple[str, ...]
    recovered: tuple[str, ...]
    noise_floor: float | None = None
    n_clusters: int | None = None
    n_false_findings: int = 0

    @property
    def is_judged(self) -> bool:
        """Whether the change has a verdict, and can be a regression."""
        return self.verdict != NOT_JUDGED

    @property
    def is_below_floor(self) -> bool:
        """Whether moving the voxel grids alone could have made this change."""
        return self.noise_floor is not None and abs(self.delta) < self.noise_floor


@dataclass(frozen=True)
class Difference(NotebookTable):
    """All changes, those that are judged first within a structure, and whether any of them is a regression."""

    changes: tuple[Change, ...]
    allowed_failures: int
    level: float
    notes: tuple[str, ...] = ()

    @property
    def judged(self) -> tuple[Change, ...]:
        """The changes that have a verdict, and over which p-values are corrected."""
        return tuple(change for change in self.changes if change.is_judged)

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The judged changes for the worse: significantly and not within the margin, or too many new failures."""
        return tuple(
            change
            for change in self.judged
            if change.verdict == "worse" or len(change.new_failures) > self.allowed_failures
        )

    @property
    def rule(self) -> str:
        """What is judged, how, and what is only shown, in words."""
        metrics = dict.fromkeys(change.metric for change in self.judged)
        shown = dict.fromkeys(change.metric for change in self.changes if not change.is_judged)
        count = len(self.judged)
        how = f"Holm over {count} changes; each interval is of its change alone" if count > 1 else "one change"
        words = f"judged at {100 * self.level:g} %: {', '.join(metrics)} ({how})"
        return f"{words}; only shown: {', '.join(shown)}" if shown else words

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
        return Shown(f"{self.outcome}; {self.rule}", header, rows)

    @property
    def outcome(self) -> str:
        """Whether there is a regression, in words."""
        if not self.regressions:
            return "no regression"
        worse = sum(change.verdict == "worse" for change in self.judged)
        counts = {change.structure: len(change.new_failures) for change in self.judged}
        failing = {name: count for name, count in counts.items() if count > self.allowed_failures}
        words = [f"{worse} of {len(self.judged)} judged changes for the worse"] if worse else []
        words += [f"new failures on {', '.join(f'{name} ({n})' for name, n in failing.items())}"] if failing else []
        return f"regression: {'; '.join(words)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        rows = [{**vars(c), "new_failures": list(c.new_failures), "recovered": list(c.recovered)} for c in self.changes]
        return {
            "level": self.level,
            "rule": self.rule,
            "judged": list(dict.fromkeys(change.metric for change in self.judged)),
            "correction": "holm",
            "allowed_failures": self.allowed_failures,
            "notes": list(self.notes),
            "is_regression": bool(self.regressions),
            "changes": rows,
        }


@dataclass(frozen=True)
class _Comparing:
    """How one change is computed."""

    margins: Mapping[str, float]
    scales: Mapping[str, Scale]
    policy: MissingPolicy
    cases: CasePolicy
    cluster: Mapping[str, str] | None
    level: float
    n_resamples: int
    seed: int


def difference(
    before: ScoreTable,
    after: ScoreTable,
    *,
    judge: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    scales: Mapping[str, Scale] | None = None,
    policy: MissingPolicy = AUTO,
    cases: CasePolicy = "failed",
    cluster: Mapping[str, str] | None = None,
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
        judge: keys of the metrics that are judged, for every structure; those with a margin are, too. The others are
            shown with their intervals, without a verdict, and are no regression. By default Dice, NSD and HD95; all
            metrics where the tables have three or fewer, or none of these.
        margins: per metric the change that does not matter in practice.
        scales: per metric which way is better, where its name does not say.
        policy: what failed and absent cases count as.
        cases: if they were not scored on the same cases; a case that one of them lacks counts as its failure.
        cluster: per case the patient it belongs to, where a patient may have several; resampled together.
        allowed_failures: new failures per structure that are no regression.
        level: of intervals and verdicts, the latter over all judged changes together (Holm).
        n_resamples: of the intervals.
        seed: of the intervals.

    """
    known, plain = _comparable(before, after, scales or {})
    structures = [name for name in before.structures if name in after.structures]
    if not structures or not known:
        besides = f" (but for {', '.join(plain)}, of which no value is better than another)" if plain else ""
        raise InvalidInput(f"The two tables have no structure and metric in common{besides}, so nothing to compare.")
    judged = _judged(known, judge, margins or {})
    how = _Comparing(margins or {}, scales or {}, policy, cases, cluster, level, n_resamples, seed)
    order = sorted(known, key=lambda metric: metric not in judged)
    changes = [_change(before, after, structure, metric, how) for structure in structures for metric in order]
    tested = [change for change in changes if change.metric in judged]
    adjusted = iter(holm([1.0 if change.p_value is None else change.p_value for change in tested]))
    final = tuple(
        _adjusted(change, float(next(adjusted)), level)
        if change.metric in judged
        else replace(change, p_value=None, verdict=NOT_JUDGED)
        for change in changes
    )
    found = Difference(final, allowed_failures, level)
    return replace(found, notes=(*_lacking_cases(before, after, cases), *_notes(found, plain, before, after)))


def _comparable(before: ScoreTable, after: ScoreTable, scales: Mapping[str, Scale]) -> tuple[list[str], list[str]]:
    """Return the metrics that can be compared, and the plain measurements that cannot."""
    common = [name for name in before.metrics if name in after.metrics]
    floors = [name for name in common if is_floor(name, common)]
    plain = [name for name in common if is_measurement(name) and name not in (*floors, *scales)]
    return [name for name in common if name not in (*plain, *floors)], plain


def _judged(known: Sequence[str], asked: Sequence[str] | None, margins: Mapping[str, float]) -> set[str]:
    """Return the metrics that decide."""
    for key in (*(asked or ()), *margins):
        if key not in known:
            close = get_close_matches(key, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}."
            raise InvalidInput(f"Both tables should have the metric {key!r} that is to be judged{hint}")
    if asked is None:
        # Beside the NSD itself, its values at other tolerances are points of a curve (`segauge eval --report`).
        families = [(key, key.split("@", 1)[0]) for key in known]
        primary = [key for key, family in families if family in PRIMARY and (key == family or family not in known)]
        asked = primary if primary and len(known) > len(PRIMARY) else known
    return {*asked, *margins}


def _notes(found: Difference, plain: Sequence[str], before: ScoreTable, after: ScoreTable) -> list[str]:
    few = [c for c in found.judged if (c.n if c.n_clusters is None else c.n_clusters) < FEWEST_FOR_VERDICT]
    units = "patients" if any(change.n_clusters is not None for change in few) else "cases"
    notes = [f"{len(few)} of {len(found.judged)} changes rest on fewer than 10 {units}: no verdict"] if few else []
    below = [f"{change.structure} {change.metric}" for change in found.changes if change.is_below_floor]
    if below:
        notes.append(f"below the noise floor (moving the voxel grid alone can make such a change): {', '.join(below)}")
    found_nothing = {c.structure: c.n_false_findings for c in found.changes if c.n_false_findings}
    if found_nothing:
        notes.append(
            f"cases where {NOTHING_TO_FIND} ({', '.join(f'{name} {count}' for name, count in found_nothing.items())}): "
            "compared with a version that failed there, one that finds nothing counts with the best value of "
            "the scale; the means of the versions leave it out"
        )
    if plain:
        notes.append(f"not compared, because no value of these is better than another: {', '.join(plain)}")
    for name, mine, other in (("before", before, after), ("after", after, before)):
        only = sorted((set(mine.structures) - set(other.structures)) | (set(mine.metrics) - set(other.metrics)))
        notes += [f"only {name}: {', '.join(only)}"] if only else []
    return notes


def _lacking_cases(before: ScoreTable, after: ScoreTable, cases: CasePolicy) -> Iterator[str]:
    """Yield which cases one of the two lacks, and what became of them."""
    for name, mine, other in (("before", before, after), ("after", after, before)):
        only = sorted(set(mine.cases) - set(other.cases))
        if only:
            shown = f"{', '.join(only[:3])}{' ...' * (len(only) > 3)}"
            lacking = "after" if name == "before" else "before"
            what = "left out" if cases == "common" else f"counted as failures of {lacking}"
            yield f"{counted(len(only), 'case')} only {name}, such as {shown}: {what}"


def _change(before: ScoreTable, after: ScoreTable, structure: str, metric: str, how: _Comparing) -> Change:
    matrix = score_matrix(
        {"after": after, "before": before},
        structure=structure,
        metric=metric,
        scale=how.scales.get(metric) or scale_of(metric),
        policy=how.policy,
        cases=how.cases,
        cluster=how.cluster,
    )
    failed = (
        _failed_cases(matrix.cases, after, before, structure),
        _failed_cases(matrix.cases, before, after, structure),
    )
    # A distance has no mean over failures: the change is over the cases found in both, failures are listed beside.
    values = np.where(np.isinf(matrix.values), np.nan, matrix.values)
    compared = replace(matrix, values=values)
    found = compared.select(np.isfinite(compared.differences(np.array([0]), np.array([1]))[:, 0]))
    new, old = tuple(sorted(failed[0] - failed[1])), tuple(sorted(failed[1] - failed[0]))
    if not found.cases or np.isnan(found.values).all(axis=0).any():
        return Change(structure, metric, 0, 0.0, 0.0, 0.0, None, None, None, "undecided", new, old)
    pair = compare(
        found, method="bootstrap-t", correction="none", level=how.level, margin=how.margins.get(metric),
        n_resamples=how.n_resamples, seed=how.seed,
    ).pairs[0]  # fmt: skip
    after_mean, before_mean = (float(column[~np.isnan(column)].mean()) for column in found.values.T)
    return Change(
        structure, metric, pair.n, before_mean, after_mean, pair.delta, pair.ci_low, pair.ci_high,
        pair.p_value, pair.verdict, new, old,
        floor_of_difference([[noise_floor_of(table, structure, metric, found.cases) for table in (before, after)]]),
        None if found.clusters is None else len(set(found.clusters)),
        int(found.false_findings.sum()),
    )  # fmt: skip


def _failed_cases(cases: tuple[str, ...], table: ScoreTable, other: ScoreTable, structure: str) -> set[str]:
    """Return the cases that a version failed on; one that it lacks is a failure if there was something to find."""
    states, others = (
        dict(zip(one.cases, one.status[:, one.structures.index(structure)], strict=True)) for one in (table, other)
    )
    empty = {case for case in cases if others.get(case) in (Status.ABSENT, Status.SPURIOUS)}
    return {case for case in cases if (states[case].is_failure if case in states else case not in empty)}


def _adjusted(change: Change, p_value: float, level: float) -> Change:
    verdict = change.verdict
    if verdict in ("better", "worse") and p_value >= 1.0 - level:
        verdict = "undecided"
    return replace(change, p_value=None if change.p_value is None else p_value, verdict=verdict)
