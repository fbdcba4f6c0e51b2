"""Distributions of scores: raincloud (density, box and every case) and boxes by group."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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
    wrapped_legend,
)
from segauge.report.figures.themes import COLOURS, SERIES, series_colours

if TYPE_CHECKING:
    import altair

Floats = npt.NDArray[np.float64]
_INK = COLOURS["light"]

#: More points of one group than this would be a smear: then only those outside the middle 98 % are drawn.
MOST_POINTS = 400
#: More series than this make a group's boxes narrower, so that many groups stay on one page.
FEW_SERIES = 4
#: Points of a whole figure, likewise.
MOST_POINTS_IN_ALL = 3000


@dataclass(frozen=True)
class Point:
    """One case: its group (row of the figure), its value, the name that pointing at it shows, and a series.

    A point of a failed case (`failed=True`) is drawn as a cross.
    """

    group: str
    value: float
    name: str
    series: str = ""
    failed: bool = False


@dataclass(frozen=True, eq=False)
class Cases:
    """The cases of one group as arrays: for thousands of them, of which a figure names a few."""

    values: Floats
    names: Sequence[str]
    failed: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, points: Sequence[Point]) -> Cases:
        """Return points as arrays."""
        values, failed = [point.value for point in points], [point.failed for point in points]
        return cls(np.array(values, dtype=np.float64), [point.name for point in points], np.array(failed, dtype=bool))


@dataclass(frozen=True)
class _Box:
    """Quartiles, and whiskers to the last value within 1.5 times the quartiles' distance (Tukey)."""

    low: float
    first: float
    median: float
    third: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> _Box:
        first, median, third = (float(x) for x in np.quantile(values, [0.25, 0.5, 0.75]))
        reach = 1.5 * (third - first)
        inside = values[(values >= first - reach) & (values <= third + reach)]
        return cls(float(inside.min()), first, median, third, float(inside.max()))


def raincloud(
    points: Iterable[Point] | Mapping[str, Cases],
    *,
    axis: str,
    bounds: tuple[float, float] | None = None,
    domain: tuple[float, float] | None = None,
    zero_line: bool = False,
    title: str = "",
    width: int = WIDTH,
    row_height: int = 46,
) -> altair.LayerChart:
    """Return density, box and points of each group, one row per group in the order of their first point.

    Failed cases are in the box, and drawn as crosses; the density is that of the cases that have a score of their own.
    Density and box are those of all cases; of too many points only the outermost are drawn (`MOST_POINTS`).

    Args:
        points: the cases, one by one or as arrays by group; those without a finite value are left out (say elsewhere
            how many).
        axis: title of the axis of values, with its unit.
        bounds: ends of the scale: no density is drawn beyond them, and what would be is reflected.
        domain: ends of the axis, if not those of the data.
        zero_line: draw a line at 0, for differences.
        title: of the figure.
        width: of the plot area in pixels.
        row_height: height of one group in pixels.

    """
    alt = altair_module()
    members = _members(points)
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[len(members) - 0.45, -0.55], nice=False))
    ends = [end for found in members.values() for end in (float(found.values.min()), float(found.values.max()))]
    domain = domain or fitted(ends, bounds)
    x = alt.X("value:Q", axis=value_axis(axis, grid=True, tickCount=8), scale=value_scale(domain))
    layers = [
        _cloud(members, y, x, bounds, domain),
        *_box_layers(members, y, x),
        _rain(members, y, x),
        _labels(members, y),
    ]
    if zero_line:
        rule = chart_of([{"value": 0.0}]).mark_rule(color=_INK["quiet"], strokeDash=[4, 3]).encode(x=x)
        layers.insert(0, rule)
    height = max(row_height * len(members), 60)
    chart: altair.LayerChart = alt.layer(*layers).properties(width=width, height=height)
    return chart.properties(title=title) if title else chart


def _members(points: Iterable[Point] | Mapping[str, Cases]) -> dict[str, Cases]:
    """Return the cases with a finite value by group, in the order of their first."""
    if isinstance(points, Mapping):
        every = dict(points)
    else:
        grouped: dict[str, list[Point]] = {}
        for point in points:
            grouped.setdefault(point.group, []).append(point)
        every = {group: Cases.of(found) for group, found in grouped.items()}
    kept = {}
    for group, found in every.items():
        known = np.flatnonzero(np.isfinite(found.values))
        if known.size:
            kept[group] = Cases(found.values[known], [found.names[i] for i in known], found.failed[known])
    return kept


def density(values: Floats, bounds: tuple[float, float] | None = None, count: int = 64) -> tuple[Floats, Floats]:
    """Return places and heights (the highest is 1) of a Gaussian kernel density, reflected at the bounds.

    The width of the kernel is Silverman's rule on the smaller of standard deviation and quartile distance; none is
    given for fewer than 4 values or values that are all the same.
    """
    if values.size < 4:
        return np.empty(0), np.empty(0)
    spread = min(float(values.std()), float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.349 or math.inf)
    if spread <= 0:
        return np.empty(0), np.empty(0)
    width = 0.9 * spread * values.size**-0.2
    low, high = bounds or (-math.inf, math.inf)
    places = np.linspace(max(values.min() - 2 * width, low), min(values.max() + 2 * width, high), count)
    mirrored = [values, *(2 * end - values for end in (low, high) if math.isfinite(end))]
    heights = np.zeros(count)
    for sources in mirrored:
        # Beyond seven widths a kernel adds less than 1e-10 of its height: most mirrored values lie there.
        sources = sources[(sources > places[0] - 7 * width) & (sources < places[-1] + 7 * width)]
        heights += np.exp(-0.5 * ((places[:, None] - sources[None, :]) / width) ** 2).sum(axis=1)
    return places, heights / heights.max()


def _cloud(
    members: dict[str, Cases],
    y: Any,
    x: Any,
    bounds: tuple[float, float] | None,
    domain: tuple[float, float] | None,
) -> Any:
    alt = altair_module()
    rows = []
    for i, found in enumerate(members.values()):
        places, heights = density(found.values[~found.failed], bounds)
        rows += [
            {"row": i, "value": place, "y": i - 0.08, "top": i - 0.08 - 0.38 * height}
            for place, height in zip(places, heights, strict=True)
            if domain is None or domain[0] <= place <= domain[1]
        ]
    return (
        chart_of(rows)
        .mark_area(color=_INK["series 1"], opacity=0.25, line=False)
        .encode(x=x, y=y, y2=alt.Y2("top:Q"), detail=alt.Detail("row:N"))
    )


def _box_layers(members: dict[str, Cases], y: Any, x: Any) -> list[Any]:
    rows = []
    for i, (group, found) in enumerate(members.items()):
        box = _Box.of(found.values)
        label = (
            f"{group}: median {number_text(box.median)}, middle half {number_text(box.first)} to "
            f"{number_text(box.third)}, n = {found.values.size}"
        )
        rows.append({**vars(box), "value": box.median, "y": i, "above": i - 0.055, "below": i + 0.055, "label": label})
    alt = altair_module()
    base, below = chart_of(rows), alt.Y2("below:Q")
    thin = base.mark_rule(color=_INK["series 1"], strokeWidth=1)
    middle = base.mark_rect(color=_INK["series 1"], cornerRadius=1)
    return [
        thin.encode(x=_at(x, "low"), x2=alt.X2("high:Q"), y=y),
        middle.encode(
            x=_at(x, "first"),
            x2=alt.X2("third:Q"),
            y=_at(y, "above"),
            y2=below,
            description=alt.Description("label:N"),
        ),
        base.mark_rule(color=_INK["ground"], strokeWidth=2).encode(x=x, y=_at(y, "above"), y2=below),
    ]


def _at(channel: Any, field: str) -> Any:
    """Return the same channel of another field."""
    made = channel.copy()
    made["shorthand"] = f"{field}:Q"
    return made


def _rain(members: dict[str, Cases], y: Any, x: Any) -> Any:
    alt = altair_module()
    most = min(MOST_POINTS, max(20, MOST_POINTS_IN_ALL // max(len(members), 1)))
    rows = []
    for i, found in enumerate(members.values()):
        for k in outermost(found.values, most):
            name, value, failed = found.names[k], float(found.values[k]), bool(found.failed[k])
            shift = 0.16 + 0.26 * _jitter(name)
            label = f"{name}: {number_text(value)}{', failed' if failed else ''}"
            rows.append({"value": value, "y": i + shift, "label": label, "failed": failed})
    return (
        chart_of(rows)
        .mark_point(filled=True, size=16, opacity=0.75)
        .encode(
            x=x,
            y=y,
            description=alt.Description("label:N"),
            color=either("datum.failed", _INK["series 2"], _INK["series 1"]),
            shape=alt.ShapeValue("circle", condition={"test": "datum.failed", "value": "cross"}),
            size=alt.SizeValue(16, condition={"test": "datum.failed", "value": 44}),
        )
    )


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Return all points, or of too many only the outermost at either end."""
    return [points[k] for k in outermost(np.array([point.value for point in points]), most)]


def outermost(values: Floats, most: int) -> list[int]:
    """Return the places of all values, or of more than `most` those of the lowest and the highest, half of each."""
    if values.size <= most:
        return list(range(values.size))
    order, half = np.argsort(values, kind="stable").tolist(), max(most // 2, 1)
    return list(dict.fromkeys([*order[:half], *order[-half:]]))


def _jitter(name: str) -> float:
    """Return a number from 0 to 1 that depends on the name alone: a case lies at the same height in every figure."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=2).digest()) / 65535.0


def _labels(members: dict[str, Cases], y: Any) -> Any:
    alt = altair_module()
    rows = [{"y": i - 0.02, "text": text} for i, text in enumerate(unique_labels(list(members)))]
    return (
        chart_of(rows)
        .mark_text(align="right", baseline="middle", fontSize=12, color=_INK["ink"])
        .encode(x=alt.XValue(-10), y=y, text=alt.Text("text:N"))
    )


def boxes(
    points: Iterable[Point],
    *,
    axis: str,
    bounds: tuple[float, float] | None = None,
    domain: tuple[float, float] | None = None,
    title: str = "",
    width: int = WIDTH,
    show_points: bool = True,
    most_outer: int = MOST_POINTS,
) -> altair.LayerChart:
    """Return a box per group and series (models side by side in each group), with points beyond the whiskers.

    Groups and series stand in the order of their first points; `bounds` are the ends of the scale, which the axis does
    not pass, `domain` those of the axis if not the data's. With `show_points` every case is drawn where a box has
    at most 60 of them; of the points beyond its whiskers at most `most_outer`, the outermost. A legend says whose
    box has which colour; where there are more series than colours, the name stands beside each box instead.
    """
    alt = altair_module()
    kept = [point for point in points if math.isfinite(point.value)]
    groups = list(dict.fromkeys(point.group for point in kept))
    series = list(dict.fromkeys(point.series for point in kept))
    named = dict(zip(series, unique_labels(series), strict=True))
    boxed, outer = _boxed(kept, groups, series, named, show_points, most_outer)
    domain = domain or fitted((point.value for point in kept), bounds)
    x = alt.X("median:Q", axis=value_axis(axis), scale=value_scale(domain))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[len(groups) - 0.5, -0.5], nice=False))
    colour = alt.Color(
        "series:N",
        sort=list(named.values()),
        scale=alt.Scale(domain=list(named.values()), range=series_colours(len(named))),
        legend=wrapped_legend(list(named.values()), width + 200) if 1 < len(series) <= len(SERIES) else None,
    )
    below, label = alt.Y2("below:Q"), alt.Description("label:N")
    base = chart_of(boxed).encode(color=colour)
    names = [{"y": i, "text": text} for i, text in enumerate(unique_labels(groups))]
    layers = [
        base.mark_rule().encode(x=_at(x, "low"), x2=alt.X2("high:Q"), y=y),
        base.mark_rect(opacity=1).encode(
            x=_at(x, "first"), x2=alt.X2("third:Q"), y=_at(y, "above"), y2=below, description=label
        ),
        base.mark_rule(strokeWidth=2).encode(x=x, y=_at(y, "above"), y2=below, color=alt.ColorValue(_INK["ground"])),
        chart_of(outer)
        .mark_point(filled=True, size=12, opacity=0.6)
        .encode(x=_at(x, "value"), y=y, color=colour, description=label),
        chart_of(names)
        .mark_text(align="right", baseline="middle", fontSize=12, color=_INK["ink"])
        .encode(x=alt.XValue(-10), y=y, text=alt.Text("text:N")),
    ]
    if len(series) > len(SERIES):
        layers.append(_series_labels(boxed, y, width))
    height = len(groups) * ((14 if len(series) <= FEW_SERIES else 10) * len(series) + 12)
    chart: altair.LayerChart = alt.layer(*layers).properties(width=width, height=max(height, 50))
    return chart.properties(title=title) if title else chart


def _series_labels(boxed: list[dict[str, Any]], y: Any, width: int) -> Any:
    """Return the name of its series beside each box: more series than there are colours cannot be told by a legend."""
    alt = altair_module()
    return (
        chart_of([{"y": row["y"], "text": row["series"]} for row in boxed])
        .mark_text(align="left", baseline="middle", fontSize=9, color=_INK["quiet"])
        .encode(x=alt.XValue(width + 8), y=y, text=alt.Text("text:N"))
    )


def _boxed(
    points: Sequence[Point],
    groups: Sequence[str],
    series: Sequence[str],
    named: dict[str, str],
    show_points: bool,
    most_outer: int,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row per box, and a row per point that is drawn; the boxes of a group share its unit of height."""
    cells: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        cells.setdefault((point.group, point.series), []).append(point)
    step = 0.84 / len(series)
    rows: list[dict[str, Any]] = []
    outer: list[dict[str, Any]] = []
    for (group, one), found in cells.items():
        box = _Box.of(np.array([point.value for point in found]))
        who = f"{group}, {one}" if one else group
        y = groups.index(group) - 0.42 + (series.index(one) + 0.5) * step
        where = {"series": named[one], "y": y, "above": y - 0.3 * step, "below": y + 0.3 * step}
        rows.append({**vars(box), **where, "label": f"{who}: median {number_text(box.median)}, n = {len(found)}"})
        everyone = show_points and len(found) <= 60
        drawn = [point for point in found if everyone or not box.low <= point.value <= box.high]
        outer += [
            {
                "series": named[one],
                "y": y + (_jitter(point.name) - 0.5) * 0.8 * step,
                "value": point.value,
                "label": f"{point.name}, {who}: {number_text(point.value)}",
            }
            for point in thinned(drawn, most_outer)
        ]
    return rows, outer
