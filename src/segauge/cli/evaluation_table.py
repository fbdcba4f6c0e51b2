"""What `segauge eval` prints: a row per structure, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line
from segauge.digits import column_decimals, fixed, interval
from segauge.errors import InvalidInput
from segauge.evaluation import EvaluationResult
from segauge.plural import counted
from segauge.report.floors import floor_sentences
from segauge.report.naming import tolerance_words
from segauge.report.summary import interval_notes
from segauge.scores import MetricInfo, Status
from segauge.stats.estimation import Estimate

if TYPE_CHECKING:
    from rich.console import Console

#: Metrics that get a column where none were asked for by name.
_SHOWN = ("dice", "hd95", "nsd", "assd", "det_f1")
#: Failed cases that are named one by one, and notes that are printed.
_NAMED = 20
_NOTES = 5


def print_result(result: EvaluationResult, warnings: Iterable[str], asked: Sequence[str] = ()) -> None:
    """Print the table, warnings, and the cases that failed; metrics that were asked for by name have a column each."""
    out = console()
    known = result.metric_names
    shown = list(asked) or [key for key in _SHOWN if key in known] or known[:5]
    summaries = {name: result.summary(name) for name in result.structures}
    cells = _cells(result, summaries, shown)
    tail = len(cells[0]) - cells[0].index("n")
    print_table(out, _title(result), cells, tail=tail, right=("n",), text=("failed",))
    for line in interval_notes(summaries, shown, result.confidence):
        out.print(one_line(line), markup=False)
    for line in floor_sentences([info for info in result.metrics if info.key in shown], result.noise_floors()):
        out.print(one_line(line), markup=False)
    for warning in (*warnings, *result.warnings):
        out.print(f"warning: {one_line(warning)}", markup=False)
    _print_failures(out, result)
    notes = [(case, note) for case, found in result.notes.items() for note in found]
    if len(notes) <= _NOTES:
        for case, note in notes:
            out.print(f"note: {one_line(case)}: {one_line(note)}", markup=False)
    else:
        out.print(f"{len(notes)} notes on {counted(len(result.notes), 'case')}; --json has them", markup=False)


def shown_columns(text: str) -> list[str]:
    """Return the columns of `--show`, or say which there are."""
    keys = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [key for key in keys if key not in SHOWN]
    if unknown or not keys:
        raise InvalidInput(f"expected some of {', '.join(SHOWN)}, got {(unknown or [text])[0]!r}")
    return keys


def print_spread(result: EvaluationResult, columns: Sequence[str], asked: Sequence[str] = ()) -> None:
    """Print a row per structure and metric with what `--show` asks for."""
    known = result.metric_names
    shown = list(asked) or [key for key in _SHOWN if key in known] or known[:5]
    rows = [["structure", "metric", *columns]]
    for name in result.structures:
        found = result.summary(name)
        rows += [[one_line(name), key, *(SHOWN[column](found[key]) for column in columns)] for key in shown]
    print_table(console(), "cases", rows, keys=2, right=columns)


def _of_spread(name: str) -> Callable[[Estimate], str]:
    def text(estimate: Estimate) -> str:
        value = None if estimate.spread is None else getattr(estimate.spread, name)
        return "" if value is None else f"{value:.{estimate.decimals}f}"

    return text


#: What `--show` prints of an estimate, each as text, "" where there is none.
SHOWN: dict[str, Callable[[Estimate], str]] = {
    "mean": lambda estimate: fixed(estimate.value, estimate.decimals),
    "ci": lambda estimate: interval(estimate.ci_low, estimate.ci_high, estimate.decimals),
    **{name: _of_spread(name) for name in ("sd", "median", "q1", "q3", "min", "max")},
    "failures": lambda estimate: "" if estimate.failures is None else str(estimate.failures),
    "tail": lambda estimate: "" if estimate.tail is None else f"{estimate.tail:.{estimate.decimals}f}",
    "n": lambda estimate: str(estimate.n),
}


def _title(result: EvaluationResult) -> str:
    failed = len(result.failures)
    words = counted(len(result.table), "case") + (f", {failed} of them not measured" if failed else "")
    return f"{words}; {result.statistic} [{100 * result.confidence:g} % interval]"


def _cells(
    result: EvaluationResult, summaries: Mapping[str, Mapping[str, Estimate]], shown: Sequence[str]
) -> list[list[str]]:
    """Return the table as text: the header, then a row per structure; the last columns are n and the failures."""
    infos = {info.key: info for info in result.metrics}
    places = {key: column_decimals(found[key] for found in summaries.values()) for key in shown}
    rows = [["structure", *(_head(infos[key], result) for key in shown), "n", "failed"]]
    for name, found in summaries.items():
        first = found[shown[0]]
        values = [
            found[key].text(places[key]) + (f" n={found[key].n}" if 0 < found[key].n != first.n else "")
            for key in shown
        ]
        good = (Status.PRESENT, Status.ABSENT)
        bad = {status: n for status, n in result.table.status_counts(name).items() if status not in good}
        reasons = ", ".join(f"{n} {one.value}" for one, n in bad.items())
        known = next((found[key].failures for key in shown if found[key].failures is not None), None)
        words = ": ".join(part for part in ("" if known is None else str(known), reasons) if part)
        rows.append([one_line(name), *values, str(first.n), words])
    return rows


def _head(info: MetricInfo, result: EvaluationResult) -> str:
    tolerance = tolerance_words(info, result.protocol)
    if tolerance:
        return f"{info.key} {tolerance}"
    return f"{info.key} / {info.scale.unit}" if info.scale.unit else info.key


def _print_failures(out: Console, result: EvaluationResult) -> None:
    """Name the cases that could not be measured; a few without a prediction are named in a warning already."""
    found = [(case, status, reason) for case, (status, reason) in result.failures.items()]
    missing = [one for one in found if one[1] is Status.PREDICTION_MISSING]
    failures = [one for one in found if one not in missing or len(missing) > 3]
    for case, status, reason in failures[:_NAMED]:
        out.print(f"{one_line(case)}: {status.value}: {one_line(reason)}", markup=False)
    if len(failures) > _NAMED:
        out.print(f"and {len(failures) - _NAMED} more; --csv and --json have them all", markup=False)
    if any(status is Status.REFUSED for _, status, _ in failures):
        out.print(
            "`segauge doctor` with the same --pred and --gt looks for the cause (flips, mixed-up axes)", markup=False
        )
