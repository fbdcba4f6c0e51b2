"""The progress bar: how many cases are done, how many failed, how fast, and how long it will take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Progress(Protocol):
    """What is told about each case that is done."""

    def advance(self, *, failed: bool) -> None:
        """Count one more case."""


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task, self._failed = bar, task, 0

    def advance(self, *, failed: bool) -> None:
        """Count one more case."""
        self._failed += failed
        speed = self._bar.tasks[0].speed
        self._bar.update(self._task, advance=1, failed=self._failed, rate="" if speed is None else f"{speed:.1f}/s")


@contextmanager
def watched(total: int | None, doing: str = "measuring") -> Iterator[Progress]:
    """Show a progress bar on standard error while cases are measured, or whatever is being done with them."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(), TextColumn("{task.fields[failed]} failed"),
    )  # fmt: skip
    with RichProgress(*columns, console=Console(stderr=True)) as bar:
        yield _Bar(bar, bar.add_task(doing, total=total, failed=0, rate=""))
