"""What is said about a result, in plain words and plain values: the same for page, terminal, notebook and paper."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from segauge.evaluation import EvaluationResult
from segauge.report.floors import floor_range, floor_sentences
from segauge.scores import MetricInfo, Status
from segauge.stats import METHODS, Estimate, Floor, MissingPolicy, share
from segauge.stats.noise_floors import is_floor
from segauge.stats.ranks import average_ranks
from segauge.stats.regression import PRIMARY

#: Metrics that a summary leads with, in this order, as far as a result has them.
LEADING = (*PRIMARY, "assd", "lesion_f1", "det_f1")
#: What a reader may want to know of an interval method beside its name.
METHOD_NOTES = {
    "jeffreys": "The calibrated bootstrap counts half a case more at either end of the scale, since a sample without a "
    "failure does not rule failures out.",
}


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
        """Cases whose ground truth has the structure but whose prediction has not, or is not there."""
        return self.count(Status.MISSED, Status.PREDICTION_MISSING)

    @property
    def unmeasured(self) -> int:
        """Cases that could not be read, compared or measured."""
        return self.count(Status.UNREADABLE, Status.REFUSED, Status.FAILED)


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
    def leading(self) -> tuple[MetricInfo, ...]:
        """The metrics that the summary leads with."""
        known = {info.key: info for info in self.result.metrics}
        found = [known[key] for key in LEADING if key in known]
        scored = [info for info in self.result.metrics if info.direction != "none"]
        return tuple(found or scored[:4] or self.result.metrics[:4])

    @cached_property
    def metrics(self) -> tuple[MetricInfo, ...]:
        """The metrics that stand for themselves; a noise floor is said beside its metric."""
        keys = self.result.metric_names
        return tuple(info for info in self.result.metrics if not is_floor(info.key, keys))

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
        return tuple(
            EstimateRow(
                name,
                info,
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
        return [
            self._scope(),
            *self._numbers(),
            *self._weakest(),
            *self._structure_failures(),
            *self._case_failures(),
            *floor_sentences(self.leading, self.floors),
            *self._remarks(),
        ]

    def _scope(self) -> str:
        structures = self.result.structures
        what = f"one structure ({structures[0]})" if len(structures) == 1 else f"{len(structures)} structures"
        return f"{_counted(self.n_cases, 'case')}, {what}, {_counted(len(self.metrics), 'metric')}."

    def _numbers(self) -> list[str]:
        over = "" if len(self.result.structures) == 1 else " over all structures"
        lines = []
        for info in self.leading[:3]:
            estimate = self.overall[info.key]
            if estimate.value is None:
                lines.append(f"{info.name}: no case has a number.")
                continue
            lines.append(f"Mean {info.name}{over}: {estimate_words(estimate)}.")
        return lines

    def _weakest(self) -> list[str]:
        """Say which structures do best and worst, where there are several."""
        info = self.leading[0]
        known = {
            name: found[info.key] for name, found in self.by_structure.items() if found[info.key].value is not None
        }
        if len(known) < 2 or info.direction == "none":
            return []
        order = sorted(known, key=lambda name: known[name].value or 0.0, reverse=info.direction == "lower")
        worst, best = order[0], order[-1]
        return [f"Weakest by {info.name}: {worst} ({known[worst]}); strongest: {best} ({known[best]})."]

    def _structure_failures(self) -> list[str]:
        table = self.result.table
        missed = {name: count for name in table.structures if (count := self._count(name, Status.MISSED))}
        spurious = {name: count for name in table.structures if (count := self._count(name, Status.SPURIOUS))}
        lines = []
        for words, found in (("Missed entirely", missed), ("Predicted where there is none", spurious)):
            if found:
                shown = sorted(found.items(), key=lambda item: -item[1])
                named = ", ".join(f"{name} in {count}" for name, count in shown[:6])
                more = f" and {len(shown) - 6} more structures" if len(shown) > 6 else ""
                lines.append(f"{words} ({_counted(sum(found.values()), 'time')}): {named}{more}.")
        if not missed and not self.result.failures:
            lines.append(self._no_failure())
        return lines

    def _count(self, structure: str, status: Status) -> int:
        return self.result.table.status_counts(structure).get(status, 0)

    def _no_failure(self) -> str:
        limit = share(0, self.n_cases, level=self.result.confidence).ci_high if self.n_cases > 1 else None
        if limit is None:
            return "No structure was missed; one case says nothing about how often that would happen."
        return (
            f"No structure was missed in {_counted(self.n_cases, 'case')}; that does not exclude failures in up to "
            f"{100 * limit:.0f} % of such cases."
        )

    def _case_failures(self) -> list[str]:
        failed = self.result.failures
        if not failed:
            return []
        kinds: dict[str, int] = {}
        for status, _ in failed.values():
            kinds[status.value] = kinds.get(status.value, 0) + 1
        words = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        return [
            f"{len(failed)} of {_counted(self.n_cases, 'case')} could not be measured ({words}); "
            f"{policy_words(self.result.policy)}"
        ]

    def _remarks(self) -> list[str]:
        notes = self.result.notes
        if not notes:
            return []
        return [f"{_counted(len(notes), 'case')} came with remarks on files or geometry; see Notes."]

    def methods_of(self, metrics: Iterable[MetricInfo]) -> dict[str, list[str]]:
        """Return the interval methods of some metrics, each with the keys of the metrics that it was used for."""
        wanted = {info.key for info in metrics}
        used: dict[str, list[str]] = {}
        for row in self.rows:
            keys = used.setdefault(row.estimate.method, [])
            if row.estimate.ci_low is not None and row.metric.key in wanted and row.metric.key not in keys:
                keys.append(row.metric.key)
        return {method: keys for method, keys in used.items() if keys}

    def methods(self) -> list[str]:
        """Return how the intervals were made, one sentence per method."""
        lines = []
        for key, metrics in self.methods_of(self.metrics).items():
            name = METHODS[key].name if key in METHODS else key
            lines.append(f"{100 * self.result.confidence:g} % {name} intervals: {', '.join(metrics)}.")
            if key in METHOD_NOTES:
                lines.append(METHOD_NOTES[key])
        return lines


def policy_words(policy: MissingPolicy) -> str:
    """Return in words what cases without a number count as."""
    failed = {
        "auto": "a failed case counts as the worst value where the scale has one (0 for Dice); where it has none, as a "
        "distance, it is left out of the mean and counted",
        "worst": "a failed case counts as the worst value of the scale",
        "penalty": "a failed case counts as the worst value of the scale, or as a penalty where it has none",
        "last": "a failed case has no value, is counted, and ranks behind all others",
        "exclude": "failed cases are left out and counted",
    }[policy.failed]
    absent = "left out" if policy.absent == "exclude" else "taken for perfect"
    missing = "; cases without a prediction are left out and counted" if policy.missing == "exclude" else ""
    return f"{failed}; structures that neither mask holds are {absent}{missing}."


def value_text(estimate: Estimate) -> str:
    """Return the value with its unit, as many decimals as its interval warrants: "6.1 mm"."""
    unit = "" if estimate.unit in ("", "1") else f" {estimate.unit}"
    return str(estimate).partition(" [")[0].removesuffix(unit) + unit


def interval_text(estimate: Estimate) -> str:
    """Return the interval as it is printed in tables: "[0.861, 0.936]"; "" where there is none."""
    return "[" + str(estimate).partition("[")[2].partition("]")[0] + "]" if "[" in str(estimate) else ""


def count_text(estimate: Estimate) -> str:
    """Return over how many the value is, what failed and what is left out: "n = 20; without 1 missed"."""
    together = "" if estimate.n_clusters is None else f" in {_counted(estimate.n_clusters, 'case')}"
    parts = [f"n = {estimate.n}{together}"]
    failed = {reason: count for reason, count in estimate.failed.items() if count}
    if failed:
        worth = "a penalty" if "failed=penalty" in estimate.policy else "the worst value"
        parts.append(f"{_by_reason(failed)} counted at {worth}")
    left_out = {reason: count for reason, count in estimate.excluded.items() if count}
    if left_out:
        parts.append(f"without {_by_reason(left_out)}")
    return "; ".join(parts)


def _by_reason(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def estimate_words(estimate: Estimate) -> str:
    """Return an estimate as a person would say it: value, interval, over how many, what failed and what is left out."""
    low_and_high = interval_text(estimate)
    interval = f" ({100 * estimate.level:g} % interval {low_and_high[1:-1].replace(', ', ' to ')})"
    return f"{value_text(estimate)}{interval if low_and_high else ''}; {count_text(estimate)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s".replace(",", "\N{NARROW NO-BREAK SPACE}")


@dataclass(frozen=True)
class NotableCase:
    """A case worth looking at, and why."""

    case: str
    structure: str
    value: float | None
    reason: str


def worst_cases(
    result: EvaluationResult, info: MetricInfo, most: int = 12, *, among: Collection[Status] = tuple(Status)
) -> list[NotableCase]:
    """Return the worst structures of cases by a metric: failures first, then the worst numbers.

    `among` says which statuses count.
    """
    table = result.table
    column = table.metrics.index(info.key)
    sign = -1.0 if info.direction == "lower" else 1.0
    ranked: list[tuple[float, int, int]] = []
    for i in range(len(table.cases)):
        for j in range(len(table.structures)):
            status, value = table.status[i, j], float(table.values[i, j, column])
            nothing = status == Status.ABSENT or (status == Status.PRESENT and math.isnan(value))
            if nothing or status not in among:
                continue
            ranked.append((-math.inf if status.is_failure else sign * value, i, j))
    ranked.sort()
    return [_notable(result, info, i, j) for _, i, j in ranked[:most]]


def _notable(result: EvaluationResult, info: MetricInfo, i: int, j: int) -> NotableCase:
    table = result.table
    case, structure = table.cases[i], table.structures[j]
    status: Status = table.status[i, j]
    value = float(table.values[i, j, table.metrics.index(info.key)])
    words = status.value if status.is_failure else f"{info.name} {value:.3g}"
    reason = table.reasons.get((case, structure), "")
    return NotableCase(case, structure, None if math.isnan(value) else value, f"{words}: {reason}" if reason else words)


def surprising_cases(result: EvaluationResult, leading: Sequence[MetricInfo], most: int = 8) -> list[NotableCase]:
    """Return cases that are unlike the others of their structure.

    Two kinds: the first leading metric lies more than 3.5 robust standard deviations (median absolute deviation) on the
    worse side of the structure's median; or two leading metrics disagree, a case being in the better half by one and
    in the worst twentieth by the other. Structures with fewer than 8 numbers are left out.
    """
    found: list[tuple[float, NotableCase]] = []
    for structure in result.structures:
        found += _outliers(result, structure, leading[0])
        for other in leading[1:3]:
            found += _disagreements(result, structure, leading[0], other)
    found.sort(key=lambda item: -item[0])
    seen: set[tuple[str, str]] = set()
    kept = []
    for _, case in found:
        if (case.case, case.structure) not in seen:
            seen.add((case.case, case.structure))
            kept.append(case)
    return kept[:most]


def _outliers(result: EvaluationResult, structure: str, info: MetricInfo) -> Iterable[tuple[float, NotableCase]]:
    values = result.table.column(structure, info.key)
    known = sorted(float(x) for x in values if not math.isnan(x))
    if len(known) < 8 or info.direction == "none":
        return
    median = _middle(known)
    # 1.4826 turns the median absolute deviation of a normal distribution into its standard deviation.
    spread = 1.4826 * _middle(sorted(abs(x - median) for x in known))
    sign = 1.0 if info.direction == "higher" else -1.0
    for case, value in zip(result.table.cases, values, strict=True):
        distance = sign * (median - float(value)) / spread if spread > 0 and not math.isnan(value) else 0.0
        if distance > 3.5 and value not in (0.0,):
            words = f"{info.name} {value:.3g}, the median of {structure} is {median:.3g}"
            yield distance, NotableCase(case, structure, float(value), words)


def _disagreements(
    result: EvaluationResult, structure: str, one: MetricInfo, other: MetricInfo
) -> Iterable[tuple[float, NotableCase]]:
    if "none" in (one.direction, other.direction):
        return
    first, second = (result.table.column(structure, info.key) for info in (one, other))
    usable = [i for i in range(len(first)) if not math.isnan(first[i]) and not math.isnan(second[i])]
    if len(usable) < 20:
        return
    ranks = [_percentiles(column, usable, info) for column, info in ((first, one), (second, other))]
    for i in usable:
        a, b = ranks[0][i], ranks[1][i]
        if (a > 0.5 and b < 0.05) or (b > 0.5 and a < 0.05):
            good, bad = (one, other) if a > b else (other, one)
            columns = {one.key: first, other.key: second}
            words = f"good by {good.name} ({columns[good.key][i]:.3g}), bad by {bad.name} ({columns[bad.key][i]:.3g})"
            # Beside distances in robust standard deviations, a disagreement counts as much as a moderate outlier.
            yield 4.0 * abs(a - b), NotableCase(result.table.cases[i], structure, float(first[i]), words)


def _percentiles(column: npt.NDArray[np.float64], usable: Sequence[int], info: MetricInfo) -> dict[int, float]:
    """Return per case the share of cases that are worse, ties counting half: of equal ones none is the worst."""
    sign = 1.0 if info.direction == "higher" else -1.0
    places = len(usable) - average_ranks(sign * column[list(usable)])
    return dict(zip(usable, (places / (len(usable) - 1)).tolist(), strict=True))


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
