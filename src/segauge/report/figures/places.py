"""Which place each model has: its ranks over resampled cases, and the podium of single cases.

The palette holds eight colours that everybody can tell apart. Up to eight models have one each; of more, the leading
seven do and the others are grey: a colour that stands for three models stands for none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from segauge.plural import counted
from segauge.report.figures.charting import (
    WIDTH,
    altair_module,
    chart_of,
    number_text,
    unique_labels,
    value_axis,
    value_scale,
    wrapped_legend,
)
from segauge.report.figures.themes import COLOURS, leader_colours, leaders

if TYPE_CHECKING:
    import altair

_INK = COLOURS["light"]
#: How many cases of a podium get a line; more would be a web.
MOST_LINES = 150
#: Places that a podium shows; of more models, the first places only.
MOST_PLACES = 20
#: Models that stand side by side with their names below; more stand in rows, where every name has a line.
MOST_COLUMNS = 20
#: Height of such a row in pixels.
_ROW = 15


def rank_blobs(
    frequencies: Mapping[str, Mapping[float, float]],
    *,
    intervals: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    width: int = WIDTH,
) -> altair.LayerChart:
    """Return how often each model has each rank over resampled cases, as the area of a disc.

    Models stand in columns, more than 20 in rows, where the most frequent rank of all has the largest disc. Their names
    stand at the axis; colours are those of the podium.

    Args:
        frequencies: per model (in the order of the columns) the share of resamples per rank.
        intervals: per model a range of ranks, drawn as a line: the ranks that the data do not exclude.
        title: of the figure.
        width: of the plot area in pixels.

    """
    alt = altair_module()
    short = dict(zip(frequencies, unique_labels(list(frequencies)), strict=True))
    names, count = list(short.values()), len(short)
    rows = [
        {"model": short[name], "rank": rank, "share": share, "label": f"{name}: rank {rank:g} in {share:.1%}"}
        for name, shares in frequencies.items()
        for rank, share in shares.items()
        if share > 0
    ]
    plan = _RankPlan(count, width)
    most = max(share for shares in frequencies.values() for share in shares.values()) if plan.in_rows else 1.0
    colour = alt.Color("model:N", legend=None, scale=alt.Scale(domain=names, range=leader_colours(count)))
    size = alt.Size("share:Q", scale=alt.Scale(domain=[0, most], range=[0, plan.largest]), legend=None)
    discs = chart_of(rows).mark_circle(opacity=0.85)
    layers = [discs.encode(**plan.places(names, "rank"), size=size, color=colour, description="label:N")]
    if intervals:
        spans = [{"model": short[name], "low": low, "high": high} for name, (low, high) in intervals.items()]
        # Discs of many models are small: there the line lies behind them.
        thick, ink = (1.0, "quiet") if plan.in_rows else (1.5, "ink")
        rule = chart_of(spans).mark_rule(strokeWidth=thick, color=_INK[ink])
        layers.insert(0 if plan.in_rows else 1, rule.encode(**plan.places(names, "low", "high")))
    chart: altair.LayerChart = alt.layer(*layers).properties(width=plan.size[0], height=plan.size[1])
    return chart.properties(title=title) if title else chart


@dataclass(frozen=True)
class _RankPlan:
    """Where models and ranks stand: models in columns, or in rows if these are too many for their names."""

    count: int
    width: int

    @property
    def in_rows(self) -> bool:
        return self.count > MOST_COLUMNS

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the plot area."""
        if self.in_rows:
            return self.width, _ROW * self.count
        return min(self.width / self.count, 90) * self.count, min(max(34 * self.count, 140), 560)

    @property
    def largest(self) -> float:
        """Area of the largest disc, which just fills the distance of two rows or columns."""
        return math.pi * (min(self.size) / self.count * 0.46) ** 2

    def places(self, names: Sequence[str], field: str, other: str | None = None) -> dict[str, Any]:
        """Return the channels that place a mark by its model and its rank, or from one rank to another."""
        alt = altair_module()
        bare: dict[str, Any] = {"ticks": False, "domain": False, "grid": False}
        ends = [0.5, self.count + 0.5] if self.in_rows else [self.count + 0.5, 0.5]
        step = 1 if self.count <= MOST_COLUMNS else 5
        ticks = sorted({1, self.count, *range(step, self.count + 1, step)})
        axis = value_axis("rank", values=ticks, format="d", **({"orient": "top"} if self.in_rows else {}))
        ranks = {"scale": alt.Scale(domain=ends, nice=False), "axis": axis}
        if self.in_rows:
            model = alt.Y("model:N", sort=list(names), axis=alt.Axis(title=None, **bare))
            found = {"x": alt.X(f"{field}:Q", **ranks), "y": model}
            return found if other is None else {**found, "x2": alt.X2(f"{other}:Q")}
        model = alt.X("model:N", sort=list(names), axis=alt.Axis(title=None, labelAngle=-35, **bare))
        found = {"x": model, "y": alt.Y(f"{field}:Q", **ranks)}
        return found if other is None else {**found, "y2": alt.Y2(f"{other}:Q")}


def podium(
    scores: Mapping[str, Mapping[str, float]],
    *,
    axis: str,
    higher_is_better: bool = True,
    title: str = "",
    width: int = WIDTH,
) -> altair.VConcatChart:
    """Return the podium plot: per case the models on their places, joined by a line, and how often each has each place.

    Of more than eight models the first seven have a colour and bars; the others are grey points. Of more than twenty
    places the first twenty are drawn.

    Args:
        scores: per model, best first, the value of each case; only cases that all models have are drawn.
        axis: title of the axis of values.
        higher_is_better: which value comes first.
        title: of the figure.
        width: of the plot area in pixels.

    """
    alt = altair_module()
    steps = _Steps(tuple(scores))
    dots, wins = _placed(scores, steps, higher_is_better)
    cut = f", the first {steps.places} of {len(scores)}" if steps.places < len(scores) else ""
    ticks = alt.Axis(title=f"place within a case{cut}", values=list(range(1, steps.places + 1)), format="d", grid=False)
    ends = alt.Scale(domain=[0.5, steps.places + 0.5], nice=False)
    x = alt.X("x:Q", scale=ends, axis=None)
    y = alt.Y("value:Q", axis=value_axis(axis), scale=value_scale())
    colour = alt.Color(
        "model:N",
        sort=steps.labels,
        scale=alt.Scale(domain=steps.labels, range=leader_colours(len(scores))[: len(steps.labels)]),
        legend=wrapped_legend(steps.labels, width + 100),
    )
    edges = chart_of([{"x": place + 0.5} for place in range(1, steps.places)]).mark_rule(color=_INK["line"])
    lined = [row for row in dots if row["order"] < MOST_LINES]
    upper = alt.layer(
        edges.encode(x=x),
        chart_of(lined)
        .mark_line(color=_INK["quiet"], opacity=0.14, strokeWidth=1)
        .encode(x=x, y=y, detail="case:N", order="x:Q"),
        chart_of(dots)
        .mark_point(filled=True, size=22, opacity=0.8)
        .encode(x=x, y=y, color=colour, description="label:N"),
    ).properties(width=width, height=240)
    lower = (
        chart_of(wins)
        .mark_bar(width=max(3, round(0.8 * width / steps.places / (len(steps.labels) + 1))))
        .encode(
            x=alt.X("x:Q", scale=ends, axis=ticks),
            y=alt.Y("share:Q", axis=value_axis("share of cases", format="%", tickCount=3)),
            color=colour,
            description="label:N",
        )
        .properties(width=width, height=70)
    )
    chart: altair.VConcatChart = alt.vconcat(upper, lower, spacing=6)
    return chart.properties(title=title) if title else chart


@dataclass(frozen=True)
class _Steps:
    """The steps of a podium: how many, and who stands where on each."""

    names: tuple[str, ...]

    @property
    def places(self) -> int:
        """How many places are drawn."""
        return min(len(self.names), MOST_PLACES)

    @property
    def labels(self) -> list[str]:
        """What the legend calls the leaders, and all others together."""
        first = leaders(len(self.names))
        others = [f"the other {len(self.names) - first} models"] if first < len(self.names) else []
        return unique_labels([*self.names[:first], *others])

    def label(self, name: str) -> str:
        """Return what the legend calls a model."""
        return self.labels[min(self.names.index(name), len(self.labels) - 1)]

    def slot(self, place: int, label: str) -> float:
        """Return where a model stands within a place: side by side, in the order of the models."""
        return place - 0.5 + (self.labels.index(label) + 1) / (len(self.labels) + 1)


def _placed(
    scores: Mapping[str, Mapping[str, float]], steps: _Steps, higher_is_better: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row per case and model at its place, and a row per place and model with its share of cases."""
    shared = set.intersection(*(set(values) for values in scores.values()))
    cases = [case for case in next(iter(scores.values())) if case in shared]
    labels = {name: steps.label(name) for name in steps.names}
    own = dict(zip(steps.labels, steps.names[: leaders(len(steps.names))], strict=False))
    slots = {(p, label): steps.slot(p, label) for p in range(1, steps.places + 1) for label in steps.labels}
    sign = -1.0 if higher_is_better else 1.0
    taken: dict[tuple[int, str], int] = {}
    dots = []
    for order, case in enumerate(cases):
        # Of equal scores the model that stands first in the order comes first.
        ranked = sorted(steps.names, key=lambda name: sign * scores[name][case])[: steps.places]
        for place, name in enumerate(ranked, start=1):
            label, value = labels[name], scores[name][case]
            taken[place, label] = taken.get((place, label), 0) + 1
            words = f"{case}: {name} is number {place} with {number_text(value)}"
            dots.append(
                {"x": slots[place, label], "value": value, "case": case, "order": order, "model": label, "label": words}
            )
    # What is drawn last lies on top: the leaders.
    dots.sort(key=lambda row: -steps.labels.index(str(row["model"])))
    wins = [
        {
            "x": slots[place, label], "share": times / len(cases), "model": label,
            "label": f"{own[label]} is number {place} in {times} of {counted(len(cases), 'case')}",
        }
        for (place, label), times in taken.items()
        if label in own
    ]  # fmt: skip
    return dots, wins
