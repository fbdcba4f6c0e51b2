"""The figures of a result: which ones there are, what they show, and the words below them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from segauge.digits import count_of, p_equals
from segauge.evaluation import EvaluationResult
from segauge.metrics.catalog import CATALOG
from segauge.plural import agreeing
from segauge.report import figures
from segauge.report.figures import AgreementLimits, Curve, Interval, Point, Recall
from segauge.report.lesions import SizeCounts
from segauge.report.summary import Summary
from segauge.scores import MetricInfo, Status
from segauge.stats import Estimate, SubgroupReport, estimate_groups, share
from segauge.stats.missing import Resolved, resolve

#: Above so many structures a row of density, box and points each would be a wall: then boxes only.
MOST_RAINCLOUDS = 24
#: Structures that get a curve or a Bland-Altman plot of their own.
MOST_CURVES = 6
MOST_AGREEMENTS = 6
#: A metadata field with more groups than this is not drawn.
MOST_GROUPS = 12
MOST_GAPS = 10
#: Structures in the figure of all structures; of more, the weakest.
MOST_STRUCTURES = 24


@dataclass(frozen=True)
class Illustration:
    """One figure: a key (also the name of its file), its title, the words below it, and how to make the chart.

    `hint` is what a page adds to the caption: what a pointer finds there, and no paper has.
    """

    key: str
    title: str
    caption: str
    make: Callable[[], Any]
    hint: str = ""

    @property
    def section(self) -> str:
        """The part of the report that it belongs to: what stands before the first dash of its key."""
        return self.key.partition("-")[0]


def resolved_column(result: EvaluationResult, structure: str, info: MetricInfo) -> Resolved:
    """Return the values of a structure with the result's policy applied to failures."""
    return resolve(result.table, structure, info.key, scale=info.scale, policy=result.policy)


def illustrations(summary: Summary, lesion_sizes: Mapping[str, SizeCounts] | None = None) -> Iterator[Illustration]:
    """Yield all figures that the scores of a result allow, in the order of the report."""
    yield from _overview(summary)
    for info in summary.leading:
        yield _distribution(summary, info)
    yield from _tolerance_curve(summary)
    yield from _agreements(summary)
    for structure, counts in (lesion_sizes or {}).items():
        yield _recall(structure, counts, summary.result.confidence)
    yield from _subgroups(summary)


def _overview(summary: Summary) -> Iterator[Illustration]:
    if len(summary.result.structures) < 2:
        return
    info = summary.leading[0]
    shown = summary.by_value(info)[-MOST_STRUCTURES:]
    rows = [_structure_row(name, summary.by_structure[name][info.key]) for name in shown]
    overall = summary.overall[info.key].value
    some = f", {len(shown)} weakest of {len(summary.result.structures)}" if len(shown) == MOST_STRUCTURES else ""
    has_tails = any(row.tail is not None for row in rows)
    tails = " Thin tail: the mean with as many failures as these cases cannot exclude." if has_tails else ""
    yield Illustration(
        "overview",
        f"{info.name} by structure{some}",
        f"Dot: {summary.result.statistic}; bar: {100 * summary.result.confidence:g} % interval; dashed line: all "
        f"structures; right: failed cases.{tails}",
        lambda: figures.forest(rows, axis=info.title, reference=overall, bounds=info.scale.finite_bounds),
    )


def _structure_row(name: str, found: Estimate) -> Interval:
    if found.value is None:
        return Interval(name, None, note="no value")
    failures = "" if found.failures is None else f"{count_of(found.failures.count, found.failures.total)} failed"
    low, high, tail = found.ci_low, found.ci_high, found.tail
    is_beyond = tail is not None and low is not None and high is not None and not low <= tail <= high
    return Interval(name, found.value, low, high, note=failures, tail=tail if is_beyond else None)


def _distribution(summary: Summary, info: MetricInfo) -> Illustration:
    result = summary.result
    points = list(_points(result, info))
    many = len(result.structures) > MOST_RAINCLOUDS
    left_out = sum(summary.by_structure[name][info.key].n_excluded for name in result.structures)
    words = "Box: quartiles and median; whiskers to the last value within 1.5 times the box. "
    words += "Every dot is a case" if not many else "Dots are cases beyond the whiskers"
    if len(result.table) > figures.MOST_POINTS:
        words += " (of many, those at the two ends)"
    failures = (
        "; failures count as the worst value. " if many else "; a cross is a failure, counted as the worst value. "
    )
    words += failures if any(point.failed for point in points) else ". "
    if left_out:
        words += f"Not drawn: {agreeing(left_out, 'undefined value', 'undefined values')}. "

    def make() -> Any:
        bounds = info.scale.finite_bounds
        if many:
            return figures.boxes(points, axis=info.title, bounds=bounds, show_points=False)
        return figures.raincloud(points, axis=info.title, bounds=bounds)

    if not points:
        return Illustration(f"distribution-{info.key}", info.name, "No case has a value.", make)
    hint = "Point at a box or a dot to see what it is." if many else "Point at a dot to see the case."
    return Illustration(f"distribution-{info.key}", info.name, words.strip(), make, hint)


def _points(result: EvaluationResult, info: MetricInfo) -> Iterator[Point]:
    for j, structure in enumerate(result.structures):
        column = resolved_column(result, structure, info)
        for i, case in enumerate(result.table.cases):
            value = float(column.values[i])
            if math.isfinite(value):
                status: Status = result.table.status[i, j]
                yield Point(structure, value, case, failed=status.is_failure)


def tolerances(result: EvaluationResult) -> dict[float, str]:
    """Return the tolerances in mm at which a result has the NSD, with the metrics' keys."""
    found = {float(match[1]): key for key in result.metric_names if (match := re.fullmatch(r"nsd@([0-9.]+)", key))}
    return dict(sorted(found.items()))


def _tolerance_curve(summary: Summary) -> Iterator[Illustration]:
    known = tolerances(summary.result)
    if len(known) < 3:
        return
    chosen = summary.result.structures
    if len(chosen) > MOST_CURVES:
        middle = list(known.values())[len(known) // 2]
        chosen = sorted(chosen, key=lambda name: summary.by_structure[name][middle].value or 0.0)[: MOST_CURVES - 1]
    estimates = {name: summary.by_structure[name] for name in chosen}
    if len(chosen) < len(summary.result.structures):
        estimates = {"all structures": summary.overall, **estimates}
    series = {name: curve for name, found in estimates.items() if (curve := _curve(found, known)) is not None}
    tolerance = summary.result.protocol.get("options", {}).get("nsd_tolerance_mm")
    few = "" if len(chosen) == len(summary.result.structures) else " Shown are the weakest structures and the mean."
    yield Illustration(
        "tolerance-curve",
        f"{CATALOG['nsd'].name} against the tolerance",
        f"Share of the two surfaces that lie within the tolerance of each other; band: "
        f"{100 * summary.result.confidence:g} % interval at each tolerance.{few}",
        lambda: figures.curves(
            series,
            x_axis="tolerance in mm",
            y_axis=CATALOG["nsd"].name,
            marked=tolerance if isinstance(tolerance, (int, float)) else None,
        ),
    )


def _curve(found: Mapping[str, Any], known: Mapping[float, str]) -> Curve | None:
    estimates = [found[key] for key in known.values()]
    if any(one.value is None for one in estimates):
        return None
    values = [one.value for one in estimates]
    if any(one.ci_low is None for one in estimates):
        return Curve(list(known), values)
    return Curve(list(known), values, [one.ci_low for one in estimates], [one.ci_high for one in estimates])


def volume_agreement(result: EvaluationResult) -> dict[str, AgreementLimits | None]:
    """Return bias and limits of agreement of the volume in ml, by structure; {} where volumes were not measured."""
    if not {"pred_volume", "gt_volume"} <= set(result.metric_names):
        return {}
    return {name: figures.agreement_limits(np.subtract(*_volumes(result, name)[:2])) for name in result.structures}


def _volumes(result: EvaluationResult, structure: str) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the volumes of the cases that have the structure in both masks."""
    j = result.table.structures.index(structure)
    both = np.array([status == Status.PRESENT for status in result.table.status[:, j]], dtype=bool)
    pred, gt = (result.table.column(structure, key)[both] for key in ("pred_volume", "gt_volume"))
    return pred, gt, tuple(case for case, chosen in zip(result.table.cases, both, strict=True) if chosen)


def _agreements(summary: Summary) -> Iterator[Illustration]:
    result = summary.result
    limits = {name: found for name, found in volume_agreement(result).items() if found is not None}
    info = next((info for info in result.metrics if info.key == "gt_volume"), None)
    unit = info.unit if info else "ml"
    for name in list(limits)[:MOST_AGREEMENTS]:
        pred, gt, cases = _volumes(result, name)
        yield Illustration(
            f"agreement-{_slug(name)}",
            f"Volume of {name}: prediction against ground truth",
            f"Bland-Altman plot of {limits[name].n} cases where both masks hold the structure. Dashed: mean difference "
            "and limits of agreement (1.96 SD) with their 95 % intervals.",
            partial(figures.bland_altman, pred, gt, cases, unit=unit),
        )


def _recall(structure: str, counts: SizeCounts, level: float) -> Illustration:
    rows = []
    for label, found, total in counts.classes():
        interval = share(found, total, level=level) if total > 1 else None
        low, high = (None, None) if interval is None else (interval.ci_low, interval.ci_high)
        rows.append(Recall(label, found, total, low, high))
    return Illustration(
        f"lesions-{_slug(structure)}",
        f"Lesions of {structure} found, by size",
        f"Share of the ground-truth lesions that were found, with {100 * level:g} % intervals (lesions taken as "
        f"independent). {counts.words}",
        lambda: figures.recall_by_size(rows),
    )


def case_means(result: EvaluationResult, info: MetricInfo) -> Any:
    """Return per case the mean of a metric over its structures, failures counted by the policy; NaN without any.

    Infinite where a structure failed and has no value: the case then has no mean, but a failure.
    """
    columns = np.column_stack([resolved_column(result, name, info).values for name in result.structures])
    counts = (~np.isnan(columns)).sum(axis=1)
    return np.where(counts > 0, np.nansum(columns, axis=1) / np.maximum(counts, 1), np.nan)


def grouping_keys(result: EvaluationResult) -> list[str]:
    """Return the metadata fields that make groups worth drawing: 2 to 12 of them, with 2 cases at least somewhere."""
    kept = []
    for key in result.metadata_keys:
        values = [_label(row.get(key)) for row in result.metadata.values()]
        groups = {value for value in values if value is not None}
        if 2 <= len(groups) <= MOST_GROUPS and len(values) > len(groups):
            kept.append(key)
    return kept


def _label(value: object) -> str | None:
    return None if value is None or str(value).strip() == "" else str(value)


def subgroup_report(result: EvaluationResult, key: str, info: MetricInfo) -> SubgroupReport:
    """Return the estimates of the groups of a metadata field, and the gaps between them."""
    labels = [_label(result.metadata.get(case, {}).get(key)) for case in result.table.cases]
    return estimate_groups(
        case_means(result, info),
        labels,
        bounds=info.scale.finite_bounds,
        higher_is_better=info.scale.higher_is_better,
        level=result.confidence,
        n_resamples=result.n_resamples,
        seed=result.seed,
        name=f"{key}/{info.key}",
    )


def _subgroups(summary: Summary) -> Iterator[Illustration]:
    result, info = summary.result, summary.leading[0]
    over = "" if len(result.structures) == 1 else ", mean over the structures of each case"
    for key in grouping_keys(result):
        report = subgroup_report(result, key, info)
        has_worst = sum(group.estimate is not None for group in report.groups) > 1
        rows = [
            Interval(
                f"{key} = {group.name}",
                None if group.estimate is None else group.estimate.value,
                None if group.estimate is None else group.estimate.ci_low,
                None if group.estimate is None else group.estimate.ci_high,
                f"{group.size}, too few (at least {report.minimum})"
                if group.estimate is None
                else f"{group.estimate}  {group.size}",
                emphasis=group.name == report.worst and has_worst,
            )
            for group in report.groups
        ]
        yield Illustration(
            f"subgroups-{_slug(key)}",
            f"{info.name} by {key}",
            f"{100 * report.level:g} % intervals{over}.{f' {_worst_words(report)}' if has_worst else ''}",
            partial(figures.forest, rows, axis=info.title, bounds=info.scale.finite_bounds),
        )
        if report.gaps:
            yield _gaps(key, info, report)


def _worst_words(report: SubgroupReport) -> str:
    if not any(group.failed for group in report.groups):
        return "The group with the worst mean is marked."
    return (
        "Means are over the cases that have a value; the group whose cases rank worst is marked, those that failed "
        "without a value last."
    )


def _gaps(key: str, info: MetricInfo, report: SubgroupReport) -> Illustration:
    shown = sorted(report.gaps, key=lambda gap: -abs(gap.delta))[:MOST_GAPS]
    rows = [
        Interval(
            f"{gap.a} \N{MINUS SIGN} {gap.b}",
            gap.delta,
            gap.ci_low,
            gap.ci_high,
            f"{gap.text}  {p_equals(gap.p_value)}",
            emphasis=gap.p_value < 1 - report.level,
        )
        for gap in shown
    ]
    more = f" The {len(shown)} largest of {len(report.gaps)} are shown." if len(shown) < len(report.gaps) else ""
    return Illustration(
        f"subgroups-{_slug(key)}-gaps",
        f"Gaps between groups of {key}",
        f"Difference of the groups' means; intervals and p-values are corrected for all pairs of groups. Marked: "
        f"significant gaps.{more}",
        lambda: figures.forest(rows, axis=f"difference of {info.title}", reference=0.0),
    )


def _slug(text: str) -> str:
    """Return a name for a file or an id: letters, digits and dashes only, never empty."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:48]
    if plain == text.lower().replace(" ", "-"):
        return plain
    return f"{plain}-{hashlib.blake2b(text.encode('utf-8', 'replace'), digest_size=3).hexdigest()}".strip("-")
