"""What is said about a result, in plain words and plain values: the same for page, terminal, notebook and paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from segauge.digits import fixed, percent
from segauge.evaluation import EvaluationResult
from segauge.report.floors import floor_range, floor_sentences
from segauge.scores import CASE_FAILURES, MetricInfo, Status
from segauge.stats import METHODS, Estimate, Floor, MissingPolicy
from segauge.stats.changes import PRIMARY
from segauge.stats.intervals import share_limits
from segauge.stats.noise_floors import is_floor

#: Metrics that a summary leads with, in this order, as far as a result has them.
LEADING = (*PRIMARY, "assd", "lesion_f1", "det_f1")


def tolerance_words(info: MetricInfo, protocol: Mapping[str, Any], structure: str | None = None) -> str:
    """Return the tolerance of a metric, "at 2 mm"; "" where it has none or the protocol does not say.

    Where structures have different ones it is that of the structure, "(tolerance per structure)" for all.
    """
    given = protocol.get("options", {}).get("nsd_tolerance_mm")
    if not info.takes_tolerance or given is None:
        return ""
    if not isinstance(given, Mapping):
        return f"at {given:g} mm"
    if structure in given:
        return f"at {given[structure]:g} mm"
    different = sorted(set(given.values()))
    return f"at {different[0]:g} mm" if len(different) == 1 else "(tolerance per structure)"


def named(info: MetricInfo, protocol: Mapping[str, Any], structure: str | None = None) -> MetricInfo:
    """Return a metric with its tolerance in its name: "Normalized surface Dice at 2 mm"."""
    words = tolerance_words(info, protocol, structure)
    return replace(info, name=f"{info.name} {words}") if words else info


def named_metrics(result: EvaluationResult) -> tuple[MetricInfo, ...]:
    """Return the metrics of a result by the names that a reader sees."""
    return tuple(named(info, result.protocol) for info in result.metrics)


@dataclass(frozen=True)
class EstimateRow:
    """One structure and metric: the estimate, how many cases were missed or not measured, and perhaps a noise floor."""

    structure: str
    metric: MetricInfo
    estimate: Estimate
    statuses: Mapping[Status, int]
    floor: Floor | None = None

    def count(self, *wanted: Status) -> int:
        """Return how many cases have one of these statuses."""
        return sum(self.statuses.get(status, 0) for status in wanted)

    @property
    def missed(self) -> int:
        """Cases whose ground truth has the structure but whose prediction has not."""
        return self.count(Status.MISSED)

    @property
    def unmeasured(self) -> int:
        """Cases that could not be measured: one file is not there, cannot be read, or cannot be compared."""
        return self.count(*CASE_FAILURES)


@dataclass(frozen=True, eq=False)
class Summary:
    """Everything that pages and tables say about a result, computed once."""

    result: EvaluationResult

    @cached_property
    def by_structure(self) -> dict[str, dict[str, Estimate]]:
        """Estimates by structure and metric."""
        return self.result.by_structure()

    @cached_property
    def overall(self) -> dict[str, Estimate]:
        """Estimates over all structures; those of the only one, where there is one."""
        if len(self.result.structures) == 1:
            return self.by_structure[self.result.structures[0]]
        return self.result.summary()

    @property
    def n_cases(self) -> int:
        """How many cases there are, measured or not."""
        return len(self.result.table)

    @cached_property
    def known(self) -> tuple[MetricInfo, ...]:
        """All metrics of the result, by the names that a reader sees."""
        return named_metrics(self.result)

    @cached_property
    def leading(self) -> tuple[MetricInfo, ...]:
        """The metrics that the summary leads with."""
        known = {info.key: info for info in self.known}
        found = [known[key] for key in LEADING if key in known]
        scored = [info for info in self.known if info.direction != "none"]
        return tuple(found or scored[:4] or self.known[:4])

    @cached_property
    def metrics(self) -> tuple[MetricInfo, ...]:
        """The metrics that stand for themselves; a noise floor is shown with its metric."""
        keys = self.result.metric_names
        return tuple(info for info in self.known if not is_floor(info.key, keys))

    @cached_property
    def floors(self) -> dict[str, dict[str, Floor]]:
        """Noise floors by structure and metric; {} where none was measured."""
        return self.result.noise_floors()

    def floor_range(self, info: MetricInfo) -> str:
        """Return the noise floor of a metric over the structures, "0.08 to 0.21 mm"; "" where there is none."""
        return floor_range(info, self.floors)

    @cached_property
    def rows(self) -> tuple[EstimateRow, ...]:
        """One row per structure and metric."""
        counts = {name: self.result.table.status_counts(name) for name in self.result.structures}
        bare = {info.key: info for info in self.result.metrics}
        return tuple(
            EstimateRow(
                name,
                named(bare[info.key], self.result.protocol, name),
                self.by_structure[name][info.key],
                counts[name],
                self.floors.get(name, {}).get(info.key),
            )
            for name in self.result.structures
            for info in self.metrics
        )

    @cached_property
    def interval_methods(self) -> tuple[str, ...]:
        """Keys of the interval methods that were used."""
        used = [row.estimate.method for row in self.rows if row.estimate.ci_low is not None]
        return tuple(dict.fromkeys(used))

    def sentences(self) -> list[str]:
        """Return the summary in plain words, the most important first."""
        return [self.scope, self.verdict, *self.findings, *self._remarks()]

    @property
    def scope(self) -> str:
        """How many cases, structures and metrics there are."""
        structures = self.result.structures
        what = f"one structure ({structures[0]})" if len(structures) == 1 else f"{len(structures)} structures"
        return f"{_counted(self.n_cases, 'case')}, {what}, {_counted(len(self.metrics), 'metric')}."

    @property
    def verdict(self) -> str:
        """The mean of the first leading metric, and the weakest and the strongest structure."""
        info = self.leading[0]
        estimate = self.overall[info.key]
        if estimate.value is None:
            return f"{info.name}: no case has a value."
        several = len(self.result.structures) > 1
        over = f" over {_counted(len(self.result.structures), 'structure')}" if several else ""
        words = f"{self.result.statistic.capitalize()} {info.name}{over}: {estimate}."
        return " ".join([words, *self._weakest()])

    @property
    def findings(self) -> list[str]:
        """What else must be known: the other leading metrics, failures, what was not measured, noise floors."""
        others = [
            f"{info.name} {self.overall[info.key]}"
            if self.overall[info.key].value is not None
            else f"{info.name}: no case has a value"
            for info in self.leading[1:4]
        ]
        first = self.overall[self.leading[0].key]
        return [
            *([f"{'; '.join(others)}."] if others else []),
            *([f"Over {count_text(first)}; {100 * first.level:g} % intervals."] if first.value is not None else []),
            *self._structure_failures(),
            *self._case_failures(),
            *floor_sentences(self.leading, self.floors),
        ]

    def by_value(self, info: MetricInfo) -> list[str]:
        """Return the structures from the best to the worst by a metric; those without a value last."""
        sign = -1.0 if info.direction == "higher" else 1.0
        values = {name: found[info.key].value for name, found in self.by_structure.items()}
        without = [name for name in values if values[name] is None]
        known = sorted((name for name in values if name not in without), key=lambda name: sign * (values[name] or 0.0))
        return [*known, *without]

    def _weakest(self) -> list[str]:
        """Return which structures do worst and best, where there are several."""
        info = self.leading[0]
        found = {name: self.by_structure[name][info.key] for name in self.by_value(info)}
        known = [name for name, one in found.items() if one.value is not None]
        if len(known) < 2 or info.direction == "none" or found[known[0]].value == found[known[-1]].value:
            return []
        return [f"Weakest: {known[-1]}, {found[known[-1]]}. Strongest: {known[0]}, {found[known[0]]}."]

    def _structure_failures(self) -> list[str]:
        table = self.result.table
        missed = {name: count for name in table.structures if (count := self._count(name, Status.MISSED))}
        spurious = {name: count for name in table.structures if (count := self._count(name, Status.SPURIOUS))}
        lines = []
        for words, found in (("Missed", missed), ("False positives", spurious)):
            if found:
                shown = sorted(found.items(), key=lambda item: -item[1])
                named = ", ".join(f"{name} ({_counted(count, 'case')})" for name, count in shown[:6])
                more = f" and {len(shown) - 6} more structures" if len(shown) > 6 else ""
                lines.append(f"{words}: {named}{more}.")
        if not missed and not self.result.failures:
            lines.append(self._no_failure())
        return lines

    def _count(self, structure: str, status: Status) -> int:
        return self.result.table.status_counts(structure).get(status, 0)

    def _no_failure(self) -> str:
        if self.n_cases < 2:
            return "No structure was missed in this one case."
        limit = percent(float(share_limits(0, self.n_cases, self.result.confidence)[1]))
        words = f"None of the {_counted(self.n_cases, 'case')} failed"
        key = self.leading[0].key
        drops = [(_drop(found[key]), name, found[key]) for name, found in self.by_structure.items()]
        drop, name, one = max(drops, key=lambda one: one[0])
        if drop <= 0:
            return f"{words}; that alone does not exclude up to {limit} failures."
        return (
            f"{words}; that alone does not exclude up to {limit} failures, and the mean {self.leading[0].name} of "
            f"{name} could then be {fixed(one.tail, one.decimals)}."
        )

    def _case_failures(self) -> list[str]:
        failed = self.result.failures
        if not failed:
            return []
        kinds: dict[str, int] = {}
        for status, _ in failed.values():
            kinds[status.value] = kinds.get(status.value, 0) + 1
        words = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        without_truth = Status.GROUND_TRUTH_UNREADABLE.value in kinds
        excluded = " Cases with an unreadable ground truth were excluded." if without_truth else ""
        return [f"{len(failed)} of {_counted(self.n_cases, 'case')} could not be measured ({words}).{excluded}"]

    def _remarks(self) -> list[str]:
        notes = self.result.notes
        return [f"File or geometry warnings in {_counted(len(notes), 'case')}."] if notes else []

    def methods_of(self, metrics: Iterable[MetricInfo]) -> dict[str, list[str]]:
        """Return the interval methods of some metrics, each with the keys of the metrics that it was used for."""
        wanted = {info.key for info in metrics}
        used: dict[str, list[str]] = {}
        for row in self.rows:
            keys = used.setdefault(row.estimate.method, [])
            if row.estimate.ci_low is not None and row.metric.key in wanted and row.metric.key not in keys:
                keys.append(row.metric.key)
        return {method: keys for method, keys in used.items() if keys}


def interval_notes(summaries: Mapping[str, Mapping[str, Estimate]], metrics: Iterable[str], level: float) -> list[str]:
    """Return what has to be said once below all tables of means: what the intervals allow for, and what they do not.

    `summaries` are estimates by structure and metric. Named is the mean that unseen failures could change most.
    """
    known = [(name, key, found[key]) for key in metrics for name, found in summaries.items()]
    if all(one.ci_low is None for _, _, one in known):
        return []
    head = f"Intervals: {100 * level:g} %"
    if not any(one.method == "half-case" for _, _, one in known):
        return [f"{head}."]
    note = f"{head}, for failures no more frequent than seen here."
    drops = [(_drop(one), name, key, one) for name, key, one in known if _drop(one) > 0]
    if not drops:
        return [note]
    _, name, key, one = max(drops, key=lambda drop: drop[0])
    share, tail = percent(one.failures.high if one.failures else 0.0), fixed(one.tail, one.decimals)
    return [f"{note} With {share} failures the mean {key} of {name} would be {tail}."]


def _drop(one: Estimate) -> float:
    """Return how far the tail reaches beyond the interval; 0 without one."""
    if one.tail is None or one.ci_low is None or one.ci_high is None or one.failures is None:
        return 0.0
    return max(one.ci_low - one.tail, one.tail - one.ci_high, 0.0)


def policy_words(policy: MissingPolicy) -> str:
    """Return what was done with cases without a value, in sentences that can be published."""
    failed = {
        "auto": "Failed cases were assigned the worst value of the scale (0 for Dice). Distances of failed cases are "
        "undefined; they were excluded and counted.",
        "worst": "Failed cases were assigned the worst value of the scale.",
        "penalty": "Failed cases were assigned the worst value of the scale, or a penalty where the scale has none.",
        "last": "Failed cases have no value; they were counted and rank last.",
        "exclude": "Failed cases were excluded and counted.",
    }[policy.failed]
    absent = {
        "exclude": "Structures absent from both masks were excluded (counts and volumes: 0).",
        "perfect": "Structures absent from both masks were scored as perfect.",
    }[policy.absent]
    missing = " Cases without a prediction were excluded and counted." if policy.missing == "exclude" else ""
    return f"{failed} {absent}{missing}"


def interval_name(estimate: Estimate) -> str:
    """Return by which method the interval was made, as a reader knows it; "none" where there is no interval."""
    if estimate.ci_low is None and estimate.ci_high is None:
        return "none"
    return METHODS[estimate.method].name if estimate.method in METHODS else estimate.method


def count_text(estimate: Estimate) -> str:
    """Return over how many the value is, and what is not in it: "39 of 40 structures (1 missed, excluded)"."""
    failed = {reason: count for reason, count in estimate.failed.items() if count}
    left_out = {reason: count for reason, count in estimate.excluded.items() if count}
    noun = "case" if estimate.n_clusters is None else "structure"
    total = estimate.n + sum(left_out.values())
    counted = f"{estimate.n} of {_counted(total, noun)}" if left_out else _counted(estimate.n, noun)
    worth = "a penalty" if "failed=penalty" in estimate.policy else "the worst value"
    reasons = [f"{_by_reason(failed)}, counted as {worth}"] if failed else []
    reasons += [f"{_by_reason(left_out)}, excluded"] if left_out else []
    more = f" ({'; '.join(reasons)})" if reasons else ""
    together = "" if estimate.n_clusters is None else f" in {_counted(estimate.n_clusters, 'case')}"
    return f"{counted}{together}{more}"


def _by_reason(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s".replace(",", "\N{NARROW NO-BREAK SPACE}")
