"""Tables of a result as plain rows of text, which Markdown, LaTeX, CSV and notebooks write each in their own way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from segauge.digits import column_decimals
from segauge.errors import UnknownMetric
from segauge.plural import counted
from segauge.report.floors import HINT, amount
from segauge.report.summary import EstimateRow, Summary, interval_name, interval_notes, policy_words
from segauge.scores import MetricInfo, Status
from segauge.stats import METHODS


@dataclass(frozen=True)
class Column:
    """Title of a column, and whether it holds numbers (which are set to the right)."""

    title: str
    is_number: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table of texts, with the words that belong below it."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


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


def result_table(summary: Summary, metrics: Iterable[str] | None = None) -> TextTable:
    """Return one row per structure: mean and interval of each metric, n, and how many were missed and spurious."""
    chosen = chosen_metrics(summary, metrics)
    result = summary.result
    columns = [Column("structure"), *(Column(info.heading, True) for info in chosen), Column("n", True)]
    extra = _statuses(summary)
    columns += [Column(status.value, True) for status in extra]
    rows = []
    places = {info.key: column_decimals(found[info.key] for found in summary.by_structure.values()) for info in chosen}
    for name in result.structures:
        found = summary.by_structure[name]
        counts = result.table.status_counts(name)
        first = found[chosen[0].key].n
        cells = [
            _cell(found[info.key].text(places[info.key]), found[info.key].n, first) + _floor_words(summary, name, info)
            for info in chosen
        ]
        rows.append((name, *cells, str(first), *(str(counts.get(status, 0)) for status in extra)))
    return TextTable(tuple(columns), tuple(rows), _caption(summary, chosen))


def _cell(text: str, n: int, usual: int) -> str:
    """Return the estimate (the title has its unit), with its own n where that is not the column's."""
    return text if n == usual else f"{text} (n = {n})"


def _floor_words(summary: Summary, structure: str, info: MetricInfo) -> str:
    floor = summary.floors.get(structure, {}).get(info.key)
    if floor is None:
        return ""
    return ", floor unknown" if floor.one_case is None else f", floor {amount(floor.one_case, '1')}"


def _statuses(summary: Summary) -> list[Status]:
    """Return the statuses that deserve a column: missed and spurious always, the others where they occur."""
    table = summary.result.table
    found = {status for name in table.structures for status in table.status_counts(name)}
    always = {Status.MISSED, Status.SPURIOUS}
    return [status for status in Status if status in always | (found - {Status.PRESENT})]


def _caption(summary: Summary, metrics: Sequence[MetricInfo]) -> str:
    """Return over how many cases, which intervals, what failures count as, and what a noise floor is."""
    level = f"{100 * summary.result.confidence:g} %"
    used = summary.methods_of(metrics)
    names = "; ".join(f"{METHODS[key].name}: {', '.join(keys)}" for key, keys in used.items())
    intervals = f" with {level} intervals ({names})" if used else ""
    keys = [info.key for info in metrics]
    notes = "".join(f" {line}" for line in interval_notes(summary.by_structure, keys, summary.result.confidence))
    words = policy_words(summary.result.policy)
    floors = f" Floor: {HINT[0].lower()}{HINT[1:]}" if any(summary.floor_range(info) for info in metrics) else ""
    return f"Means over {counted(summary.n_cases, 'case')}{intervals}. {words[0].upper()}{words[1:]}{notes}{floors}"


def estimate_table(summary: Summary) -> TextTable:
    """Return one row per structure and metric, every number in a cell of its own."""
    floors = ("noise floor", "noise floor of means") if summary.floors else ()
    spreads = ("sd", "median", "q1", "q3", "min", "max")
    titles = ("structure", "metric", "mean", "low", "high", *spreads, "low with unseen failures", *floors, "unit", "n",
              "failed", "missed", "spurious", "not measured", "method")  # fmt: skip
    numbers = {*titles} - {"structure", "metric", "unit", "failed", "method"}
    rows = tuple(
        (
            row.structure,
            row.metric.key,
            _number(row.estimate.value),
            _number(row.estimate.ci_low),
            _number(row.estimate.ci_high),
            *(_number(None if row.estimate.spread is None else getattr(row.estimate.spread, key)) for key in spreads),
            _number(row.estimate.tail),
            *(_number(value) for value in _floors_of(row)[: len(floors)]),
            row.metric.unit,
            str(row.estimate.n),
            "" if row.estimate.failures is None else str(row.estimate.failures),
            str(row.missed),
            str(row.count(Status.SPURIOUS)),
            str(row.unmeasured),
            interval_name(row.estimate),
        )
        for row in summary.rows
    )
    return TextTable(
        tuple(Column(title, title in numbers) for title in titles), rows, _caption(summary, summary.metrics)
    )


def _floors_of(row: EstimateRow) -> tuple[float | None, float | None]:
    """Return the noise floor of one case and that of means; None where it is not known."""
    return (None, None) if row.floor is None else (row.floor.one_case, row.floor.of_mean)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def flat(text: str) -> str:
    """Return text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() or c == " " else " " for c in text).split())
