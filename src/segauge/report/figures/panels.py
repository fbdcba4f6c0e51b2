"""Several charts in one figure, notes beside the rows of a chart, and one rendering for several files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segauge.errors import InvalidInput
from segauge.io.outputs import write_whole
from segauge.report.figures.charting import altair_module, chart_of
from segauge.report.figures.rendering import svg
from segauge.report.figures.themes import COLOURS

if TYPE_CHECKING:
    import altair

_INK = COLOURS["light"]


def panels(charts: Sequence[Any], *, columns: int = 3, title: str = "") -> altair.ConcatChart:
    """Return charts side by side, so many in a row, each with scales of its own."""
    if not charts:
        raise InvalidInput("A figure needs at least one chart, got none.")
    alt = altair_module()
    joined: altair.ConcatChart = alt.concat(*charts, columns=columns, spacing=28)
    joined = joined.resolve_scale(color="independent", x="independent", y="independent", size="independent")
    return joined.properties(title=title) if title else joined


def with_row_notes(
    chart: altair.LayerChart, groups: Sequence[str], notes: Mapping[str, str], *, width: int
) -> altair.LayerChart:
    """Return a chart of `boxes` with a note to the right of each group that has one; `groups` in the chart's order."""
    alt = altair_module()
    rows = [{"y": i, "text": notes.get(name, "")} for i, name in enumerate(groups)]
    scale = alt.Scale(domain=[len(groups) - 0.5, -0.5], nice=False)
    texts = (
        chart_of([row for row in rows if row["text"]])
        .mark_text(align="left", baseline="middle", fontSize=10, color=_INK["quiet"])
        .encode(x=alt.value(width + 10), y=alt.Y("y:Q", axis=None, scale=scale), text="text:N")
    )
    layered: altair.LayerChart = alt.layer(*chart.layer, texts).properties(width=chart.width, height=chart.height)
    return layered.properties(title=chart.title) if isinstance(chart.title, str) else layered


def save_as(chart: Any, stem: str | os.PathLike[str], endings: Sequence[str] = (".svg", ".pdf")) -> str:
    """Write a chart in several formats from one rendering, and return its SVG; `stem` is the path without an ending."""
    import vl_convert

    text = svg(chart)
    for ending in endings:
        path = Path(f"{os.fspath(stem)}{ending}")
        if ending == ".svg":
            write_whole(path, text)
        elif ending == ".pdf":
            write_whole(path, vl_convert.svg_to_pdf(text))
        elif ending == ".png":
            write_whole(path, vl_convert.svg_to_png(text, scale=2.0))
        else:
            raise InvalidInput(f"A figure is saved as .svg, .pdf or .png, not {ending!r}.")
    return text
