"""Rendering many figures: drawn and written as SVG and PDF by a few processes beside each other."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from segauge.report.figures import inline_svg, save_as
from segbench.studies.charts import StudyFigure

Result = TypeVar("Result")

#: More processes than this do not pay: each takes a second to start.
MOST_PROCESSES = 4


def render_figures(
    figures: Iterable[StudyFigure],
    folder: Path,
    *,
    endings: tuple[str, ...] = (".svg", ".pdf"),
    processes: int | None = None,
) -> dict[str, str]:
    """Write all figures below a folder and return, per name, the SVG of those that stand in the page.

    `processes` is the number of rendering processes: as many as there are processors if None; 1 renders here.
    """
    count = min(processes or os.cpu_count() or 1, MOST_PROCESSES)
    listed = list(figures)
    if count <= 1 or len(listed) < 2:
        return {name: text for name, text in _in_turn(listed, folder, endings, _rendered) if text}
    # Spawned, not forked: a fork of a process with threads (BLAS) may never come back.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        pending: list[tuple[str, Future[str]]] = list(
            _in_turn(listed, folder, endings, lambda *arguments: pool.submit(_rendered, *arguments))
        )
        return {name: text for name, future in pending if (text := future.result())}


def _in_turn(
    figures: Iterable[StudyFigure],
    folder: Path,
    endings: tuple[str, ...],
    render: Callable[[Callable[[], Any], str, tuple[str, ...], str], Result],
) -> Iterable[tuple[str, Result]]:
    for figure in figures:
        stem = folder / figure.name
        stem.parent.mkdir(parents=True, exist_ok=True)
        label = f"{figure.title}. {figure.caption}" if figure.inline else ""
        yield figure.name, render(figure.make, os.fspath(stem), endings[:1] if figure.detail else endings, label)


def _rendered(make: Callable[[], Any], stem: str, endings: tuple[str, ...], label: str) -> str:
    """Draw and write one figure; return it for the page if it has a label there."""
    spec = make().to_dict(validate=False)
    text = save_as(spec, stem, endings)
    return inline_svg(text, label=label) if label else ""
