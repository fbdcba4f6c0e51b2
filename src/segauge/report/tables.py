"""The tables of a result: one row per structure, one row per structure and metric, one row per case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from segauge.digits import interval
from segauge.errors import InvalidInput, UnknownMetric
from segauge.evaluation import EvaluationResult
from segauge.plural import counted
from segauge.report.floors import HINT, amount, unknown_text
from segauge.report.summary import EstimateRow, Summary, interval_name, interval_notes, policy_words, tolerance_words
from segauge.scores import MetricInfo, Status
from segauge.stats import METHODS, Estimate
from segauge.tables import Column, Noted, Table


def _spread(name: str) -> Callable[[Estimate], Any]:
    return lambda estimate: None if estimate.spread is None else getattr(estimate.spread, name)


def _iqr(estimate: Estimate) -> str:
    spread = estimate.spread
    return "" if spread is None else interval(spread.q1, spread.q3, estimate.decimals)


#: What a table can show of an estimate, by the name that `--show` takes: the format, and the value.
STATISTICS: dict[str, tuple[Column, Callable[[Estimate], Any]]] = {
    "mean": (Column("mean", format="mixed"), lambda estimate: estimate.value),
    "ci": (Column("ci", format="mixed"), lambda e: interval(e.ci_low, e.ci_high, e.decimals)),
    "low": (Column("low", format="mixed"), lambda estimate: estimate.ci_low),
    "high": (Column("high", format="mixed"), lambda estimate: estimate.ci_high),
    **{key: (Column(key, format="mixed"), _spread(key)) for key in ("sd", "median")},
    "iqr": (Column("iqr", format="mixed"), _iqr),
    **{key: (Column(key, format="mixed"), _spread(key)) for key in ("q1", "q3", "min", "max")},
    "n": (Column("n", format="count"), lambda estimate: estimate.n),
    "failures": (Column("failures"), lambda e: "" if e.failures is None else str(e.failures)),
    "tail": (Column("tail", format="mixed"), lambda estimate: estimate.tail),
}
#: What the table of estimates shows of each.
EVERYTHING = ("mean", "low", "high", "sd", "median", "q1", "q3", "min", "max", "tail", "n", "failures")


def chosen_statistics(text: str) -> list[str]:
    """Return the columns that `--show` names, or say which there are."""
    keys = [part.strip().lower() for part in text.split(",") if part.strip()]
    unknown = [key for key in keys if key not in STATISTICS]
    if unknown or not keys:
        raise InvalidInput(f"expected some of {', '.join(STATISTICS)}, got {(unknown or [text])[0]!r}")
    return keys


def chosen_metrics(summary: Summary, metrics: Iterable[str] | None) -> tuple[MetricInfo, ...]:
    """Return the metrics of a table: those named, or the leading ones."""
    if metrics is None:
        return summary.leading
    known = {info.key: info for info in summary.known}
    keys = [metrics] if isinstance(metrics, str) else list(metrics)
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise UnknownMetric(f"The result has no metric {unknown[0]!r}; it has {', '.join(known)}.")
    return tuple(known[key] for key in keys)


def metric_column(info: MetricInfo, protocol: Mapping[str, Any], format_: str = "number") -> Column:
    """Return the column of a metric by its key: "hd95 (mm)", "nsd at 2 mm"."""
    title = f"{info.key} {tolerance_words(info, protocol)}".strip()
    return Column(title, info.scale.unit, format_, info.key)  # type: ignore[arg-type]


def result_table(summary: Summary, metrics: Iterable[str] | None = None, *, by_key: bool = False) -> Table:
    """Return one row per structure: mean and interval of each metric, n, and the failures with their limits.

    Columns of metrics are headed by their names and show noise floors; or by their keys, as a terminal has less room.
    """
    chosen = chosen_metrics(summary, metrics)
    result = summary.result
    heads = [
        metric_column(info, result.protocol, "estimate")
        if by_key
        else Column(info.name, info.scale.unit, "estimate", info.key)
        for info in chosen
    ]
    columns = (Column("structure"), *heads, Column("n", format="count"), Column("failed"))
    rows = []
    for name in result.structures:
        found = summary.by_structure[name]
        first = found[chosen[0].key].n
        cells = [
            Noted(found[info.key], _note(found[info.key], first, "" if by_key else _floor_words(summary, name, info)))
            for info in chosen
        ]
        rows.append((name, *cells, first, failure_words(summary, name, [info.key for info in chosen])))
    return Table(columns, tuple(rows), _caption(summary), _notes(summary, chosen))


def _note(estimate: Estimate, usual: int, floor: str) -> str:
    """Return what stands after an estimate: its own n where that is not the column's, and its noise floor."""
    own = "" if estimate.n in (0, usual) else f"(n = {estimate.n})"
    return ", ".join(part for part in (own, floor) if part)


def _floor_words(summary: Summary, structure: str, info: MetricInfo) -> str:
    floor = summary.floors.get(structure, {}).get(info.key)
    if floor is None:
        return ""
    return "floor unknown" if floor.one_case is None else f"floor {amount(floor.one_case, '1')}"


def failure_words(summary: Summary, structure: str, metrics: Iterable[str]) -> str:
    """Return how many cases failed, with the limits of their share, and why: "1 of 20 (0.1 to 25 %): 1 missed"."""
    good = (Status.PRESENT, Status.ABSENT)
    counts = summary.result.table.status_counts(structure)
    reasons = ", ".join(f"{count} {status.value}" for status, count in counts.items() if status not in good)
    found = summary.by_structure[structure]
    known = next((found[key].failures for key in metrics if found[key].failures is not None), None)
    return ": ".join(part for part in ("" if known is None else str(known), reasons) if part)


def _caption(summary: Summary) -> str:
    """Return what is in the cells, and over how many cases."""
    level = f"{100 * summary.result.confidence:g} %"
    statistic = summary.result.statistic.capitalize()
    intervals = f" [{level} confidence interval]" if summary.interval_methods else ""
    return f"{statistic}{intervals} per structure; {counted(summary.n_cases, 'case')}."


def _notes(summary: Summary, metrics: Sequence[MetricInfo]) -> tuple[str, ...]:
    """Return how intervals were made, what failures count as, and what a noise floor is."""
    used = summary.methods_of(metrics)
    names = "; ".join(f"{METHODS[key].name} ({', '.join(keys)})" for key, keys in used.items())
    keys = [info.key for info in metrics]
    floors = any(summary.floor_range(info) for info in metrics)
    return (
        *([f"Interval methods: {names}."] if used else []),
        *interval_notes(summary.by_structure, keys, summary.result.confidence),
        policy_words(summary.result.policy),
        *([f"Floor: {HINT[0].lower()}{HINT[1:]}"] if floors else []),
    )


def statistics_table(summary: Summary, show: Sequence[str] = EVERYTHING, metrics: Iterable[str] | None = None) -> Table:
    """Return one row per structure and metric with the statistics that are asked for, each in a column of its own."""
    wanted = None if metrics is None else {info.key for info in chosen_metrics(summary, metrics)}
    rows = [row for row in summary.rows if wanted is None or row.metric.key in wanted]
    columns = [Column("structure"), Column("metric"), *(STATISTICS[key][0] for key in show)]
    cells = [
        (row.structure, row.metric.key, *(_with_decimals(STATISTICS[key][1](row.estimate), row) for key in show))
        for row in rows
    ]
    return Table(tuple(columns), tuple(cells), _caption(summary), _notes(summary, summary.metrics))


def _with_decimals(value: Any, row: EstimateRow) -> Any:
    """Return a number with the decimals of its row: a value, its limits and its spread agree."""
    return Noted(value, decimals=row.estimate.decimals) if isinstance(value, float) else value


def estimate_table(summary: Summary) -> Table:
    """Return everything that is known of each structure and metric."""
    base, rows = statistics_table(summary), summary.rows
    further: dict[Column, list[Any]] = {
        Column("missed", format="count"): [row.missed for row in rows],
        Column("spurious", format="count"): [row.count(Status.SPURIOUS) for row in rows],
        Column("not measured", format="count"): [row.unmeasured for row in rows],
        Column("unit"): [row.metric.scale.unit for row in rows],
        Column("method"): [interval_name(row.estimate) for row in rows],
    }
    if summary.floors:
        floors = [row.floor for row in rows]
        further[Column("noise floor", format="mixed")] = [floor and floor.one_case for floor in floors]
        further[Column("noise floor of means", format="mixed")] = [floor and floor.of_mean for floor in floors]
        unknown = [unknown_text(floor) if floor is not None and floor.n_unknown else "" for floor in floors]
        if any(unknown):
            further[Column("noise floor unknown")] = unknown
    cells = (tuple(row) for row in zip(*further.values(), strict=True))
    joined = tuple((*row, *more) for row, more in zip(base.rows, cells, strict=True))
    return Table((*base.columns, *further), joined, base.caption, base.notes)


def case_table(result: EvaluationResult) -> Table:
    """Return one row per case and structure: status, every score, metadata, and why a score is missing."""
    table = result.table
    several = len(table.structures) > 1
    columns = [Column("case"), *([Column("structure")] if several else []), Column("status")]
    columns += [metric_column(info, result.protocol) for info in result.metrics]
    columns += [Column(key) for key in result.metadata_keys]
    with_reasons = any(table.reasons.values())
    columns += [Column("reason")] if with_reasons else []
    rows = []
    for i, case in enumerate(table.cases):
        known = result.metadata.get(case, {})
        facts = [known.get(key) for key in result.metadata_keys]
        for j, name in enumerate(table.structures):
            scores = table.values[i, j].tolist()
            reason = [table.reasons.get((case, name), "")] if with_reasons else []
            row = [case, *([name] if several else []), table.status[i, j].value, *scores, *facts, *reason]
            rows.append(tuple(row))
    return Table(tuple(columns), tuple(rows), "Scores of every case.")
