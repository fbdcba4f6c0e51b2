"""What `segauge eval` prints: a row per structure, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from segauge.cli.tables import print_tables
from segauge.cli.terminal import console, show, tell
from segauge.evaluation import EvaluationResult
from segauge.plural import counted
from segauge.report.floors import floor_sentences
from segauge.report.summary import Summary, interval_notes
from segauge.report.tables import result_table, statistics_table
from segauge.scores import Status

#: Metrics that get a column where none were asked for by name.
_SHOWN = ("dice", "hd95", "nsd", "assd", "det_f1")
#: Failed cases that are named one by one, and notes that are printed.
_NAMED = 20
_NOTES = 5


def print_result(result: EvaluationResult, warnings: Iterable[str], asked: Sequence[str] = ()) -> None:
    """Print the table, warnings, and the cases that failed; metrics that were asked for by name have a column each."""
    known = result.metric_names
    shown = list(asked) or [key for key in _SHOWN if key in known] or known[:5]
    summary = Summary(result)
    table = replace(result_table(summary, shown, by_key=True), caption=_title(result), notes=())
    print_tables(console(), [table], tail=2, wrapped=("failed",))
    show(*interval_notes(summary.by_structure, shown, result.confidence))
    show(*floor_sentences([info for info in result.metrics if info.key in shown], result.noise_floors()))
    tell(*(f"warning: {warning}" for warning in (*warnings, *result.warnings)))
    _print_failures(result)
    notes = [f"note: {_named(result, case)}: {note}" for case, found in result.notes.items() for note in found]
    if len(notes) > _NOTES:
        notes = [f"note: {len(notes)} notes on {counted(len(result.notes), 'case')}; --json FILE lists them"]
    tell(*notes)


def print_statistics(result: EvaluationResult, columns: Sequence[str], asked: Sequence[str] = ()) -> None:
    """Print a row per structure and metric with the statistics that `--show` asks for."""
    known = result.metric_names
    shown = list(asked) or [key for key in _SHOWN if key in known] or known[:5]
    table = replace(statistics_table(Summary(result), columns, shown), caption="cases", notes=())
    print_tables(console(), [table], keys=2)


def _title(result: EvaluationResult) -> str:
    failed = len(result.failures)
    words = counted(len(result.table), "case") + (f", {failed} of them not measured" if failed else "")
    return f"{words}; {result.statistic} [{100 * result.confidence:g} % interval]"


def _named(result: EvaluationResult, case: str) -> str:
    """Return how a line calls a case: in quotes where its files come from a stranger."""
    return repr(case) if result.protocol.get("options", {}).get("untrusted") else case


def _print_failures(result: EvaluationResult) -> None:
    """Name the cases that could not be measured; a few without a prediction are named in a warning already."""
    found = [(case, status, reason) for case, (status, reason) in result.failures.items()]
    missing = [one for one in found if one[1] is Status.PREDICTION_MISSING]
    failures = [one for one in found if one not in missing or len(missing) > 3]
    lines = [f"{_named(result, case)}: {status.value}: {reason}" for case, status, reason in failures[:_NAMED]]
    if len(failures) > _NAMED:
        lines.append(f"and {len(failures) - _NAMED} more; --csv FILE and --json FILE list all")
    if any(status is Status.REFUSED for _, status, _ in failures):
        lines.append("`segauge doctor` with the same --pred and --gt looks for the cause (flips, mixed-up axes)")
    tell(*lines, is_error=True)
