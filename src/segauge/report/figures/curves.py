"""Lines with bands: a score against the tolerance, a score against the number of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from segauge.report.figures.charting import (
    WIDTH,
    altair_module,
    chart_of,
    number_text,
    unique_labels,
    value_axis,
    value_scale,
)
from segauge.report.figures.themes import COLOURS, SERIES, series_colours

if TYPE_CHECKING:
    import altair

_INK = COLOURS["light"]
#: Lines of the first round of colours are solid; those of the next ones are not.
_DASHES = ([1, 0], [6, 3], [2, 2])


@dataclass(frozen=True)
class Curve:
    """Values along an axis, with the limits of their intervals where there are any."""

    x: Sequence[float]
    value: Sequence[float]
    low: Sequence[float] = field(default=())
    high: Sequence[float] = field(default=())


def curves(
    series: Mapping[str, Curve],
    *,
    x_axis: str,
    y_axis: str,
    domain: tuple[float, float] | None = None,
    marked: float | None = None,
    x_values: Sequence[float] | None = None,
    points: bool = False,
    title: str = "",
    width: int = WIDTH,
    height: int = 260,
) -> altair.LayerChart:
    """Return one line with its band per series: NSD against the tolerance, for instance.

    Args:
        series: by name, in the order of the legend.
        x_axis: title of the horizontal axis, with its unit.
        y_axis: title of the vertical one.
        domain: ends of the vertical axis, if not those of the data.
        marked: a place on the horizontal axis to mark with a line (the tolerance that was used).
        x_values: whole numbers that the horizontal axis shows, and no others (numbers of records, say).
        points: show the points that lines connect; otherwise they only answer the pointer.
        title: of the figure.
        width: of the plot area in pixels.
        height: likewise.

    """
    alt = altair_module()
    labels = unique_labels(list(series))
    rows = _rows(series, labels)
    symbol = {"symbolType": "stroke", "symbolSize": 300} if len(labels) > len(SERIES) else {}
    legend = alt.Legend(title=None, columns=4, symbolOpacity=1, **symbol) if len(labels) > 1 else None
    colour = alt.Color(
        "series:N", sort=labels, scale=alt.Scale(domain=labels, range=series_colours(len(labels))), legend=legend
    )
    ticks = {} if x_values is None else {"values": list(x_values), "format": "d"}
    ends = {} if x_values is None else {"domain": [min(x_values), max(x_values)], "padding": 24}
    x = alt.X("x:Q", axis=value_axis(x_axis, grid=False, **ticks), scale=alt.Scale(nice=False, zero=False, **ends))
    scale = value_scale(domain)
    y = alt.Y("value:Q", axis=value_axis(y_axis), scale=scale)
    base = chart_of(rows).encode(x=x, color=colour)
    banded = chart_of([row for row in rows if row["low"] is not None]).encode(x=x, color=colour)
    layers = [
        banded.mark_area(opacity=0.16).encode(y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")),
        _dashed(base.mark_line(strokeWidth=2).encode(y=y), labels, legend),
        base.mark_point(size=50, filled=True, opacity=1 if points else 0).encode(
            y=y, description=alt.Description("label:N")
        ),
    ]
    if marked is not None:
        rule = chart_of([{"x": marked}]).mark_rule(color=_INK["quiet"], strokeDash=[4, 3])
        layers.insert(0, rule.encode(x=alt.X("x:Q")))
    chart: altair.LayerChart = alt.layer(*layers).properties(width=width, height=height)
    return chart.properties(title=title) if title else chart


def _dashed(line: Any, labels: Sequence[str], legend: Any) -> Any:
    """Return a line with a dash for each round of colours, where there are more series than colours."""
    if len(labels) <= len(SERIES):
        return line
    alt = altair_module()
    dashes = [_DASHES[i // len(SERIES) % len(_DASHES)] for i in range(len(labels))]
    return line.encode(
        strokeDash=alt.StrokeDash("series:N", sort=labels, scale=alt.Scale(domain=labels, range=dashes), legend=legend)
    )


def _rows(series: Mapping[str, Curve], labels: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for (name, curve), label in zip(series.items(), labels, strict=True):
        limits: list[tuple[float | None, float | None]] = [(None, None)] * len(curve.x)
        if len(curve.low):
            limits = list(zip(curve.low, curve.high, strict=True))
        for x, value, (low, high) in zip(curve.x, curve.value, limits, strict=True):
            span = "" if low is None else f" [{number_text(low)}, {number_text(high)}]"
            words = f"{name} at {x:g}: {number_text(value)}{span}"
            rows.append({"series": label, "x": x, "value": value, "low": low, "high": high, "label": words})
    return rows


def stability(
    series: Mapping[str, Curve],
    *,
    y_axis: str,
    x_axis: str = "number of cases",
    domain: tuple[float, float] | None = None,
    title: str = "",
    width: int = WIDTH,
) -> altair.LayerChart:
    """Return how a value settles as cases are added: `x` is the number of cases, the band its interval there."""
    return curves(series, x_axis=x_axis, y_axis=y_axis, domain=domain, title=title, width=width)
