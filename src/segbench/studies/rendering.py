"""Rendering many figures: drawn and written as SVG and PDF by a few processes beside each other."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from segauge.report.figures import inline_svg, joined_svg, save_as
from segbench.studies.charts import StudyFigure

#: More processes than this do not pay: each takes a second to start.
MOST_PROCESSES = 4


def render_figures(
    figures: Sequence[StudyFigure],
    folder: Path,
    *,
    endings: tuple[str, ...] = (".svg", ".pdf"),
    processes: int | None = None,
) -> dict[str, str]:
    """Write all figures below a folder and return, per name, the SVG of those that stand in the page.

    `processes` is the number of rendering processes: as many as there are processors if None; 1 renders here.
    """
    count = min(processes or os.cpu_count() or 1, MOST_PROCESSES)
    # What is put together of others comes last: it takes their SVG files.
    drawn = [figure for figure in figures if not figure.parts]
    joined = [figure for figure in figures if figure.parts]
    if count <= 1 or len(drawn) < 2:
        done = (_rendered(figure, folder, endings) for figure in (*drawn, *joined))
        return {figure.name: text for figure, text in zip((*drawn, *joined), done, strict=True) if text}
    # Spawned, not forked: a fork of a process with threads (BLAS) may never come back.
    context = multiprocessing.get_context("spawn")
    rendered: dict[str, str] = {}
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        for part in (drawn, joined):
            pending = [pool.submit(_rendered, figure, folder, endings) for figure in part]
            rendered |= {figure.name: future.result() for figure, future in zip(part, pending, strict=True)}
    return {name: text for name, text in rendered.items() if text}


def _rendered(figure: StudyFigure, folder: Path, endings: tuple[str, ...]) -> str:
    """Draw and write one figure; return it for the page if it stands there."""
    stem = folder / figure.name
    stem.parent.mkdir(parents=True, exist_ok=True)
    text = save_as(_chart(figure, folder), stem, endings[:1] if figure.detail else endings)
    return inline_svg(text, label=f"{figure.title}. {figure.caption}") if figure.inline else ""


def _chart(figure: StudyFigure, folder: Path) -> Any:
    if figure.make is None:
        return joined_svg([(folder / f"{part}.svg").read_text(encoding="utf-8") for part in figure.parts])
    return figure.make().to_dict(validate=False)
