"""What the commands print: boards as tables, and lines that no name can break."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from segauge.cli.boards import print_board
from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line, show, tell
from segauge.errors import InvalidInput
from segauge.plural import counted
from segauge.stats import AVERAGE, Board, BoardRow
from segbench.boards import Leaderboard
from segbench.records import RunRecord
from segbench.site.chapters import curve_points

#: More boards than this are printed only when asked for.
MOST_BOARDS = 6

__all__ = [
    "check_folder", "console", "one_line", "print_boards", "print_progress", "print_table", "progress_bar", "show",
    "tell",
]  # fmt: skip


def check_folder(folder: Path) -> None:
    """Refuse a place where no folder can be written, before anything is computed for it; nothing is made."""
    place = folder.absolute()
    there = next(one for one in (place, *place.parents) if one.exists())
    if not there.is_dir():
        raise InvalidInput(f"{there}: is a file, expected a folder to write into.")
    if not os.access(there, os.W_OK):
        raise InvalidInput(f"{folder}: cannot be written, {there} is read-only.")


def print_progress(what: str, done: int, total: int) -> None:
    """Print on standard error what was done; on a terminal over the last line."""
    words = one_line(f"[{done}/{total}] {what}" if total else what)
    if not sys.stderr.isatty():
        print(words, file=sys.stderr, flush=True)  # noqa: T201 - the command line speaks
        return
    ended = "\n" if done >= total else ""
    width = shutil.get_terminal_size().columns - 1
    print(f"\r\x1b[K{words[:width]}", end=ended, file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def progress_bar(doing: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar on standard error; yield what is told of each step: what is done, how many are, and of how many.

    Nothing is shown where standard error is no terminal: in a log a bar is noise.
    """
    if not sys.stderr.isatty():
        yield _say_nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    # The name of what is done comes last and is cut at the edge: a line that wraps could not be drawn over.
    columns = (
        TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[what]}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(doing, total=None, what="")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, what=one_line(what))

        yield tell
        # What nothing was told of was done at once: an empty bar need not stay.
        bar.update(task, what="", visible=bar.tasks[0].total is not None)


def _say_nothing(_what: str, _done: int, _total: int) -> None:
    pass


def print_boards(record: RunRecord, board: Leaderboard, *, every: bool = False) -> None:
    """Print the boards, or an overview where there are many, and what a reader must know about the models."""
    points: frozenset[str] = frozenset() if every else curve_points(record.metrics)
    boards = [one for one in board.boards if one.metric not in points]
    averages = [one for one in board.averages if one.metric not in points]
    many = len(boards) > MOST_BOARDS and not every
    for one in averages if many else (*boards, *averages):
        _print_board(record, one)
    if many:
        _print_overview(board, [metric for metric in record.metrics if metric not in points])
        tell("--boards prints every board")
    for exclusion in record.exclusions:
        who = " on ".join(part for part in (exclusion["model"], exclusion["structure"]) if part)
        show(f"{who}: {exclusion['reason']}")
    tell(*(f"note: {note}" for note in record.notes))
    for suspect in record.suspects:
        where = f"{suspect.model} on {suspect.structure}, mean Dice {suspect.mean_dice:.3f} where it was measured"
        show(f"suspect: {where}: {suspect.diagnosis}")
    for entry in record.models:
        failed = record.failed_cases(entry.name)
        if failed:
            case, reason = min(failed.items())
            share = f"{len(failed)} of {counted(len(record.cases), 'case')}"
            show(f"{entry.name} failed on {share}; {case}: {reason}")


def _print_board(record: RunRecord, board: Board) -> None:
    def exposure(row: BoardRow) -> str:
        level = record[row.model].exposure.level.value
        suspects = [one for one in record.suspects if one.model == row.model]
        suspect = any(board.structure in (one.structure, AVERAGE) for one in suspects)
        return ", ".join(filter(None, ("" if level == "none" else level, "suspect result" if suspect else "")))

    print_board(console(), board, extra="trained on test data?", further=exposure)


def _print_overview(board: Leaderboard, chosen: Sequence[str]) -> None:
    """Print per structure and metric the model with the best mean, and which are tied with it."""
    metrics = [metric for metric in dict.fromkeys(one.metric for one in board.boards) if metric in chosen]
    rows = [["structure", *metrics]]
    for structure in dict.fromkeys(one.structure for one in board.boards):
        cells = [_leader(board.board(structure, metric)) for metric in metrics]
        rows.append([one_line(cell) for cell in (structure, *cells)])
    print_table(console(), "leader per structure and metric (+1: models tied with it)", rows)


def _leader(board: Board) -> str:
    if not board.winners:
        return "-"
    first = board.rows[0]
    tied = f" (+{len(board.winners) - 1})" if len(board.winners) > 1 else ""
    return f"{first.model} {'' if first.estimate is None else first.estimate}{tied}"
