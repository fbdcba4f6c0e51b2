"""Cases worth looking at: the worst ones, and those unlike the others of their structure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from segauge.evaluation import EvaluationResult
from segauge.scores import MetricInfo, Status
from segauge.stats.matrix import average_ranks


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

    `among` are the statuses that count.
    """
    table = result.table
    column = table.metrics.index(info.key)
    sign = -1.0 if info.direction == "lower" else 1.0
    ranked: list[tuple[float, int, int]] = []
    for i in range(len(table.cases)):
        for j in range(len(table.structures)):
            status, value = table.status[i, j], float(table.values[i, j, column])
            nothing = status == Status.ABSENT or (not status.is_failure and math.isnan(value))
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


def once_per_case(found: Iterable[NotableCase]) -> list[NotableCase]:
    """Return the first entry of each case."""
    kept: dict[str, NotableCase] = {}
    for one in found:
        kept.setdefault(one.case, one)
    return list(kept.values())


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
    sign = 1.0 if info.scale.higher_is_better else -1.0
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
            words = f"good {good.name} ({columns[good.key][i]:.3g}), poor {bad.name} ({columns[bad.key][i]:.3g})"
            # Beside distances in robust standard deviations, a disagreement counts as much as a moderate outlier.
            yield 4.0 * abs(a - b), NotableCase(result.table.cases[i], structure, float(first[i]), words)


def _percentiles(column: npt.NDArray[np.float64], usable: Sequence[int], info: MetricInfo) -> dict[int, float]:
    """Return per case the share of cases that are worse, ties counting half: of equal ones none is the worst."""
    sign = 1.0 if info.scale.higher_is_better else -1.0
    places = len(usable) - average_ranks(sign * column[list(usable)])
    return dict(zip(usable, (places / (len(usable) - 1)).tolist(), strict=True))


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
