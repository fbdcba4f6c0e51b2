"""Values with their intervals: forest plots, and the recall of lesions by their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from segauge.report.figures.charting import (
    WIDTH,
    altair_module,
    chart_of,
    either,
    fitted,
    number_text,
    unique_labels,
    value_axis,
    value_scale,
)
from segauge.report.figures.themes import COLOURS

if TYPE_CHECKING:
    import altair

_INK = COLOURS["light"]


@dataclass(frozen=True)
class Interval:
    """One row of a forest plot.

    Attributes:
        name: what the row says on its left.
        value: the estimate; None for a heading, or where there is none.
        low, high: limits of its interval; None where there is none.
        note: what the row says on its right, such as "0.904 [0.861, 0.936]  n = 20".
        emphasis: draw it in the second colour (the worst group, a gap that is significant).
        band: ends of a faint bar behind the row (differences below the noise floor); None for none.
        tail: where a thin line from the interval ends (the mean with failures that were not seen); None for none.

    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    emphasis: bool = False
    band: tuple[float, float] | None = None
    tail: float | None = None


def forest(
    rows: Sequence[Interval],
    *,
    axis: str,
    reference: float | None = None,
    bounds: tuple[float, float] | None = None,
    domain: tuple[float, float] | None = None,
    title: str = "",
    width: int = WIDTH - 180,
    row_height: int = 24,
) -> altair.LayerChart:
    """Return estimates with their intervals below one another.

    Args:
        rows: from top to bottom; a row without a value is a heading.
        axis: title of the axis, with its unit.
        reference: where to draw a line (0 for differences, the overall value for groups).
        bounds: ends of the scale, which the axis does not pass.
        domain: ends of the axis, if not those of the data.
        title: of the figure.
        width: of the plot area in pixels; names and notes stand beside it.
        row_height: in pixels.

    """
    alt = altair_module()
    data = _drawn(rows)
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[len(rows) - 0.4, -0.6], nice=False))
    known = [limit for row in rows for limit in (row.value, row.low, row.high, row.tail, *(row.band or ()))]
    scale = value_scale(domain or fitted([*known, reference], bounds))
    tails = [
        {"y": i, "from": row.tail, "to": row.low if row.tail < row.low else row.high, "emphasis": row.emphasis}
        for i, row in enumerate(rows)
        if row.tail is not None and row.low is not None
    ]
    colour = either("datum.emphasis", _INK["series 2"], _INK["series 1"])
    valued = chart_of([row for row in data if row["value"] is not None])
    spanned = chart_of([row for row in data if row["low"] is not None and row["high"] is not None])
    x = alt.X("value:Q", axis=value_axis(axis), scale=scale)
    left = chart_of(data).mark_text(align="right", baseline="middle", fontSize=12, color=_INK["ink"])
    notes = chart_of(data).mark_text(align="left", baseline="middle", color=_INK["quiet"])
    layers = [
        spanned.mark_rule(strokeWidth=2 if not tails else 6).encode(
            x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=y, color=colour
        ),
        valued.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, y=y, color=colour, description=alt.Description("label:N")
        ),
        left.encode(
            x=alt.XValue(-10),
            y=y,
            text=alt.Text("text:N"),
            color=either("datum.heading", _INK["quiet"], _INK["ink"]),
        ),
        notes.encode(x=alt.XValue(width + 12), y=y, text=alt.Text("note:N")),
    ]
    if tails:
        layers.insert(
            0,
            chart_of(tails)
            .mark_rule(strokeWidth=1.2)
            .encode(x=alt.X("from:Q", scale=scale), x2=alt.X2("to:Q"), y=y, color=colour),
        )
    bands = [{"y": i, "from": row.band[0], "to": row.band[1]} for i, row in enumerate(rows) if row.band is not None]
    if bands:
        bar = chart_of(bands).mark_rule(strokeWidth=row_height - 8, color=_INK["quiet"], opacity=0.22)
        layers.insert(0, bar.encode(x=alt.X("from:Q", scale=scale), x2=alt.X2("to:Q"), y=y))
    if reference is not None:
        line = chart_of([{"value": reference}]).mark_rule(color=_INK["quiet"], strokeDash=[4, 3])
        layers.insert(0, line.encode(x=x))
    chart: altair.LayerChart = alt.layer(*layers).properties(width=width, height=max(row_height * len(rows), 40))
    return chart.properties(title=title) if title else chart


def _drawn(rows: Sequence[Interval]) -> list[dict[str, Any]]:
    """Return what is drawn of each row, from top to bottom."""
    labels = _labels(rows)
    return [
        {
            "y": i, "value": row.value, "low": row.low, "high": row.high, "text": labels[row.name], "note": row.note,
            "label": f"{row.name}: {row.note or number_text(row.value)}", "emphasis": row.emphasis,
            "heading": row.value is None and not row.note,
        }
        for i, row in enumerate(rows)
    ]  # fmt: skip


def _labels(rows: Sequence[Interval]) -> dict[str, str]:
    """Return the label of each name: different names stay different, one name below two headings is the same twice."""
    names = list(dict.fromkeys(row.name for row in rows))
    return dict(zip(names, unique_labels(names), strict=True))


@dataclass(frozen=True)
class Recall:
    """Lesions of one class of sizes: how many there are, how many were found, and the interval of that share."""

    size: str
    found: int
    total: int
    low: float | None = None
    high: float | None = None


def recall_by_size(
    classes: Sequence[Recall], *, axis: str = "lesions found", size_axis: str = "volume in ml", width: int = 420
) -> altair.LayerChart:
    """Return the share of lesions found per class of size, with intervals and counts; classes in their order."""
    alt = altair_module()
    data = [
        {
            "size": one.size, "share": one.found / one.total if one.total else None, "low": one.low, "high": one.high,
            "count": f"{one.found} of {one.total}", "label": f"{one.size}: {one.found} of {one.total} found",
        }
        for one in classes
    ]  # fmt: skip
    x = alt.X("size:N", sort=[one.size for one in classes], axis=alt.Axis(title=size_axis, labelAngle=0, ticks=False))
    scale = alt.Scale(domain=[0, 1.16], nice=False)
    y = alt.Y("share:Q", scale=scale, axis=value_axis(axis, format="%", values=[0, 0.25, 0.5, 0.75, 1]))
    base = chart_of(data).encode(x=x, description="label:N")
    layers = [
        base.mark_bar(width=alt.RelativeBandSize(band=0.55), color=_INK["series 1"], opacity=0.28).encode(y=y),
        base.mark_rule(color=_INK["series 1"], strokeWidth=2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(color=_INK["series 1"], filled=True, size=60, opacity=1).encode(y=y),
        base.mark_text(baseline="top", dy=4, color=_INK["quiet"]).encode(y=alt.value(0), text="count:N"),
    ]
    return alt.layer(*layers).properties(width=width, height=220)  # type: ignore[no-any-return]
