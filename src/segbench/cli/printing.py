"""What the commands print: boards as tables, and lines that no name can break."""

from __future__ import annotations

from typing import Any

from segauge.cli.sources import console, one_line
from segbench.leaderboard import Board, Standing
from segbench.records import RunRecord

__all__ = ["console", "one_line", "print_boards", "table"]


def table(title: str, *columns: str) -> Any:
    """Return an empty table."""
    from rich.markup import escape
    from rich.table import Table

    made = Table(title=escape(title), title_justify="left")
    for column in columns:
        made.add_column(escape(column))
    return made


def print_boards(record: RunRecord, boards: tuple[Board, ...]) -> None:
    """Print every board with its sentence, and what a reader must know about the models."""
    from rich.markup import escape

    out = console()
    for board in boards:
        unit = f" in {board.unit}" if board.unit not in ("", "1") else ""
        shown = table(
            f"{board.structure} {board.metric}{unit}, {board.n_cases} cases",
            "place", "model", "mean", "n", "failed", "ranks", "wins again", "has seen it",
        )  # fmt: skip
        for standing in board.standings:
            shown.add_row(*(escape(one_line(cell)) for cell in _cells(standing)))
        out.print(shown)
        out.print(board.sentence, markup=False)
        out.print()
    for exclusion in record.exclusions:
        who = " on ".join(part for part in (exclusion["model"], exclusion["structure"]) if part)
        out.print(one_line(f"{who}: {exclusion['reason']}"), markup=False)
    for suspect in record.suspects:
        words = (
            f"suspect: {suspect.model} on {suspect.structure}, mean Dice {suspect.mean_dice:.3f}: {suspect.diagnosis}"
        )
        out.print(one_line(words), markup=False)
    for entry in record.models:
        if entry.failures:
            case, reason = next(iter(sorted(entry.failures.items())))
            words = f"{entry.name} failed on {len(entry.failures)} of {len(record.cases)} cases; {case}: {reason}"
            out.print(one_line(words), markup=False)


def _cells(standing: Standing) -> tuple[str, ...]:
    estimate = standing.estimate
    failed = f"{100 * standing.failure_share:.0f} %" if standing.failure_share else ""
    ranks = "" if standing.rank_low is None else f"{standing.rank_low}-{standing.rank_high}"
    return (
        str(standing.place or "-"),
        standing.model + (" (suspect)" if standing.suspect else ""),
        "no value" if estimate is None else str(estimate),
        "" if estimate is None else str(estimate.n),
        failed,
        ranks if standing.rank_low != standing.rank_high else str(standing.rank_low or ""),
        "" if standing.win_probability is None else f"{standing.win_probability:.2f}",
        "" if standing.exposure == "none" else standing.exposure,
    )
