"""Several charts in one figure, notes beside the rows of a chart, and one rendering for several files."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from segauge.errors import InvalidInput
from segauge.io.outputs import write_whole
from segauge.report.figures.charting import altair_module, chart_of
from segauge.report.figures.rendering import SVG, checked_svg, parsed, svg
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


def joined_svg(texts: Sequence[str], *, columns: int = 3, spacing: int = 28) -> str:
    """Return figures that are SVG already side by side in one, so many in a row, on a grid that holds the largest.

    Where each is a figure of its own as well, this saves drawing it a second time, as `panels` would.
    """
    if not texts:
        raise InvalidInput("A figure needs at least one chart, got none.")
    roots = [parsed(text) for text in texts]
    sizes = [tuple(float(root.get(side, "0").removesuffix("px")) for side in ("width", "height")) for root in roots]
    widest, highest = (max(size[k] for size in sizes) for k in (0, 1))
    across = min(columns, len(roots))
    width = across * widest + (across - 1) * spacing
    height = math.ceil(len(roots) / across) * (highest + spacing) - spacing
    whole = ElementTree.Element(roots[0].tag, {"version": "1.1", "class": "marks"})
    for key, value in (("width", f"{width:g}"), ("height", f"{height:g}"), ("viewBox", f"0 0 {width:g} {height:g}")):
        whole.set(key, value)
    ground = {"width": f"{width:g}", "height": f"{height:g}", "fill": _INK["ground"]}
    ElementTree.SubElement(whole, f"{{{SVG}}}rect", ground)
    for i, root in enumerate(roots):
        x, y = (i % across) * (widest + spacing), (i // across) * (highest + spacing)
        ElementTree.SubElement(whole, f"{{{SVG}}}g", {"transform": f"translate({x:g},{y:g})"}).extend(root)
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(whole, encoding="unicode")


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
        .encode(x=alt.XValue(width + 10), y=alt.Y("y:Q", axis=None, scale=scale), text=alt.Text("text:N"))
    )
    layered: altair.LayerChart = alt.layer(*chart.layer, texts).properties(width=chart.width, height=chart.height)
    return layered.properties(title=chart.title) if isinstance(chart.title, str) else layered


def save_as(chart: Any, stem: str | os.PathLike[str], endings: Sequence[str] = (".svg", ".pdf")) -> str:
    """Write a chart in several formats from one rendering, and return its SVG; `stem` is the path without an ending.

    `chart` may be SVG already.
    """
    import vl_convert

    text = checked_svg(chart) if isinstance(chart, str) else svg(chart)
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
