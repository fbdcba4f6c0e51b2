"""What a test set consists of: counts of the values of each metadata column, for all cases and per split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from segauge.plural import counted
from segauge.report.figures.charting import altair_module, chart_of, shortened, unique_labels, value_axis
from segauge.report.figures.panels import panels
from segauge.report.figures.themes import COLOURS, series_colours

if TYPE_CHECKING:
    import altair

_INK = COLOURS["light"]

#: Levels of one column that get a bar; the others are counted in one.
MOST_BARS = 16
#: Name of the bar of what is not known.
UNKNOWN = "not known"


@dataclass(frozen=True)
class ColumnCounts:
    """One column: its levels in order, per series (split) how many cases each has, and how many have no value."""

    name: str
    levels: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]
    missing: Mapping[str, int]
    note: str = ""


def cohort(
    columns: Sequence[ColumnCounts], *, title: str = "", per_row: int = 3, width: int = 240
) -> altair.ConcatChart:
    """Return a bar chart per column; the series (splits) are stacked, what is not known has a bar of its own."""
    return panels([_bars(one, width) for one in columns], columns=per_row, title=title)


def _bars(column: ColumnCounts, width: int) -> Any:
    alt = altair_module()
    shown = list(column.levels[:MOST_BARS])
    others = column.levels[MOST_BARS:]
    names = dict(zip(shown, unique_labels(shown), strict=True))
    order = list(names.values())
    rows: list[dict[str, Any]] = []
    for series, counts in column.counts.items():
        rows += [_bar(names[level], series, counts.get(level, 0), column.name) for level in shown]
        if others:
            rest = sum(counts.get(level, 0) for level in others)
            rows.append(_bar(counted(len(others), "other"), series, rest, column.name))
        rows.append(_bar(UNKNOWN, series, column.missing.get(series, 0), column.name))
    order += [counted(len(others), "other")] if others else []
    order.append(UNKNOWN)
    parts = list(column.counts)
    colour = alt.Color(
        "series:N",
        sort=parts,
        scale=alt.Scale(domain=parts, range=series_colours(len(parts))),
        legend=alt.Legend(title=None) if len(parts) > 1 else None,
    )
    y = alt.Y("level:N", sort=order, axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=170))
    x = alt.X("count:Q", axis=value_axis("cases", tickMinStep=1))
    bars = chart_of([row for row in rows if row["count"]]).mark_bar(height=alt.RelativeBandSize(band=0.75))
    heading = f"{column.name}: {column.note}" if column.note else column.name
    title = alt.TitleParams(shortened(heading, 48), anchor="start")
    return bars.encode(x=x, y=y, color=colour, description=alt.Description("label:N")).properties(
        width=width, height=alt.Step(15), title=title
    )


def _bar(level: str, series: str, count: int, column: str) -> dict[str, Any]:
    return {
        "level": level,
        "series": series,
        "count": count,
        "label": f"{column} {level}, {series}: {counted(count, 'case')}",
    }
