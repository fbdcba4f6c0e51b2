"""Rendering many figures: drawn and written as SVG and PDF by a few processes beside each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from segauge.errors import SegaugeError
from segauge.executors import Crash, run
from segauge.report.figures import inline_svg, joined_svg, save_as
from segbench.site.figures import StudyFigure

#: More processes than this do not pay: each takes a second to start.
MOST_PROCESSES = 4


def render_figures(
    figures: Sequence[StudyFigure],
    folder: Path,
    *,
    endings: tuple[str, ...] = (".svg", ".pdf"),
    processes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, str]:
    """Write all figures below a folder and return, per name, the SVG of those that stand in the page.

    `processes` is the number of rendering processes: as many as there are processors if None; 1 renders here.
    `progress` is called with the figure that is done, how many are, and of how many.
    """
    count = min(processes or os.cpu_count() or 1, MOST_PROCESSES)
    # What is put together of others comes last: it takes their SVG files.
    drawn = [figure for figure in figures if not figure.parts]
    joined = [figure for figure in figures if figure.parts]
    done: Iterator[tuple[StudyFigure, str]]
    if count <= 1 or len(drawn) < 2:
        done = ((figure, _rendered(figure, folder, endings)) for figure in (*drawn, *joined))
    else:
        done = _in_processes((drawn, joined), folder, endings, count)
    rendered: dict[str, str] = {}
    for figure, text in done:
        rendered[figure.name] = text
        if progress is not None:
            progress(figure.title, len(rendered), len(figures))
    return {name: text for name, text in rendered.items() if text}


def _in_processes(
    parts: Sequence[Sequence[StudyFigure]], folder: Path, endings: tuple[str, ...], count: int
) -> Iterator[tuple[StudyFigure, str]]:
    """Yield figures as they are done; a part begins when the one before it has ended."""
    for part in parts:
        for outcome in run(render_one, [_Drawing(figure, folder, endings) for figure in part], jobs=count):
            figure = part[outcome.index]
            if isinstance(outcome.result, Crash):
                raise SegaugeError(f"The figure {figure.name} could not be drawn: {outcome.result.reason}.")
            yield figure, outcome.result


class _Drawing(NamedTuple):
    """What a worker process is asked for."""

    figure: StudyFigure
    folder: Path
    endings: tuple[str, ...]


def render_one(asked: _Drawing) -> str:
    """Draw and write one figure in a worker process."""
    return _rendered(*asked)


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
