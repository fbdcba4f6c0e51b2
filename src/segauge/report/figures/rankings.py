"""Several models on the same cases: significance map and critical-difference diagram."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from segauge.digits import p_equals
from segauge.report.figures.charting import (
    WIDTH,
    altair_module,
    chart_of,
    unique_labels,
)
from segauge.report.figures.themes import COLOURS

if TYPE_CHECKING:
    import altair

_INK = COLOURS["light"]


@dataclass(frozen=True)
class PairCell:
    """The row's model against the column's.

    Attributes:
        row, column: the models.
        verdict: of the row: "better", "worse", "equivalent" or "undecided".
        p_value: adjusted; None where there is none.
        effect_size: positive where the row is better; None where there is none.
        note: what pointing at the cell adds, such as "+0.012 [0.004, 0.020], n = 100".

    """

    row: str
    column: str
    verdict: Literal["better", "worse", "equivalent", "undecided"]
    p_value: float | None = None
    effect_size: float | None = None
    note: str = ""


_SIGNS = {"better": "+", "worse": "\N{MINUS SIGN}", "equivalent": "=", "undecided": ""}


def significance_map(
    models: Sequence[str], cells: Sequence[PairCell], *, title: str = "", cell: int = 58
) -> altair.LayerChart:
    """Return the matrix of all pairs: verdict as colour and sign, effect size and p-value in words.

    Rows and columns stand in the order of `models`, best first; a row's cell says how that model does against the
    column's. With more than 12 models cells hold signs only.
    """
    alt = altair_module()
    short = dict(zip(models, unique_labels(models), strict=True))
    small = len(models) > 12
    side = 22 if small else cell
    rows = [_cell_row(one, short) for one in cells]
    order = list(short.values())
    x = alt.X("column:N", sort=order, axis=alt.Axis(title=None, orient="top", labelAngle=-35, **_BARE))
    y = alt.Y("row:N", sort=order, axis=alt.Axis(title=None, **_BARE))
    verdicts = ["better", "worse", "equivalent", "undecided"]
    present = [verdict for verdict in verdicts if any(one.verdict == verdict for one in cells)]
    fill = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=present, range=[_INK[verdict] for verdict in present]),
        legend=alt.Legend(title="row against column", orient="bottom", symbolType="square"),
    )
    ink = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=verdicts, range=[_INK["on better"], _INK["on worse"], _INK["ink"], _INK["ink"]]),
        legend=None,
    )
    base = chart_of(rows).encode(x=x, y=y)
    layers = [
        base.mark_rect(stroke=_INK["ground"], strokeWidth=2).encode(color=fill, description=alt.Description("label:N"))
    ]
    if small:
        layers.append(base.mark_text(fontSize=12).encode(text=alt.Text("sign:N"), color=ink))
    else:
        layers.append(base.mark_text(fontSize=12, dy=-7).encode(text=alt.Text("effect:N"), color=ink))
        layers.append(base.mark_text(fontSize=10, dy=9).encode(text=alt.Text("p:N"), color=ink))
    chart: altair.LayerChart = (
        alt.layer(*layers)
        .resolve_scale(color="independent")
        .properties(width=side * len(models), height=(side if small else round(side * 0.75)) * len(models))
    )
    return chart.properties(title=title) if title else chart


_BARE: dict[str, Any] = {"ticks": False, "domain": False, "grid": False}


def _cell_row(cell: PairCell, short: Mapping[str, str]) -> dict[str, Any]:
    p = "" if cell.p_value is None else p_equals(cell.p_value)
    sign = _SIGNS[cell.verdict]
    effect = sign if cell.effect_size is None else f"{sign} {abs(cell.effect_size):.2f}".strip()
    if cell.verdict == "undecided" and cell.effect_size is not None:
        effect = f"{cell.effect_size:+.2f}".replace("-", "\N{MINUS SIGN}")
    words = [f"{cell.row} against {cell.column}: {cell.verdict}"]
    words += [f"effect size {cell.effect_size:+.2f}"] if cell.effect_size is not None else []
    words += [part for part in (p, cell.note) if part]
    return {
        "row": short[cell.row], "column": short[cell.column], "verdict": cell.verdict, "sign": sign, "effect": effect,
        "p": p, "label": ", ".join(words),
    }  # fmt: skip


def cliques(order: Sequence[str], apart: Collection[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the longest runs of neighbours of which no two were told apart, each of two models or more.

    `order` is that of the mean ranks, `apart` the pairs that differ significantly, either way round.
    """
    told = {frozenset(pair) for pair in apart}
    runs: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and all(
            frozenset((order[k], order[end + 1])) not in told for k in range(start, end + 1)
        ):
            end += 1
        if end > start and not any(low <= start and end <= high for low, high in runs):
            runs.append((start, end))
    return [tuple(order[low : high + 1]) for low, high in runs]


def critical_difference(
    mean_ranks: Mapping[str, float],
    ties: Sequence[Sequence[str]] = (),
    *,
    title: str = "",
    axis: str = "mean rank",
    width: int = WIDTH - 100,
) -> altair.LayerChart:
    """Return the critical-difference diagram: mean ranks on one axis, bars join models that cannot be told apart.

    Args:
        mean_ranks: per model its mean rank over the cases, 1 is best.
        ties: groups of models to join, from `cliques`.
        title: of the figure.
        axis: title of the axis.
        width: of the axis in pixels.

    """
    alt = altair_module()
    low = math.floor(min(mean_ranks.values()))
    high = max(math.ceil(max(mean_ranks.values())), low + 1)
    depth = 0.9 + 0.5 * len(ties)
    stems, texts, marks = _stems(mean_ranks, depth, (low, high))
    bars = [
        {"low": min(ranks) - 0.02, "high": max(ranks) + 0.02, "y": 0.6 + 0.5 * i, "label": _not_apart(tie)}
        for i, tie in enumerate(ties)
        if (ranks := [mean_ranks[name] for name in tie])
    ]
    rows = (len(mean_ranks) + 1) // 2 + depth
    scale = alt.Scale(domain=[low, high], nice=False)
    ticks = list(range(low, high + 1))
    x = alt.X("x:Q", scale=scale, axis=alt.Axis(title=axis, orient="top", grid=False, values=ticks, format="d"))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[rows, 0], nice=False))
    line = chart_of(stems).mark_line(color=_INK["quiet"], strokeWidth=1)
    bar = chart_of(bars).mark_rule(strokeWidth=5, color=_INK["series 1"], strokeCap="round")
    dot = chart_of(marks).mark_point(filled=True, size=36, color=_INK["ink"], opacity=1)
    layers = [
        line.encode(x=x, y=y, detail="id:N", order="k:Q"),
        bar.encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y, description="label:N"),
        dot.encode(x=x, y=y, description="label:N"),
        *(
            chart_of([row for row in texts if row["left"] is left])
            .mark_text(align="right" if left else "left", baseline="middle", fontSize=12, color=_INK["ink"])
            .encode(x=alt.value(-8 if left else width + 8), y=y, text="text:N")
            for left in (True, False)
        ),
    ]
    chart: altair.LayerChart = alt.layer(*layers).properties(width=width, height=round(26 * rows))
    return chart.properties(title=title) if title else chart


def _not_apart(names: Sequence[str]) -> str:
    return f"tied: {', '.join(names)}"


def _stems(
    mean_ranks: Mapping[str, float], depth: float, ends: tuple[float, float]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the elbows (down from the axis, then out to the label), the labels, and the dots on the axis.

    The better half stands on the left, the others on the right, so that no two elbows cross.
    """
    order = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    half = (len(order) + 1) // 2
    stems: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for i, (name, label) in enumerate(zip(order, unique_labels(order), strict=True)):
        left, rank = i < half, mean_ranks[name]
        y = depth + (i if left else len(order) - 1 - i)
        stems += [{"id": name, "x": rank, "y": 0.0, "k": 0}, {"id": name, "x": rank, "y": y, "k": 1}]
        stems.append({"id": name, "x": ends[0] if left else ends[1], "y": y, "k": 2})
        texts.append({"y": y, "left": left, "text": f"{label}  {rank:.2f}" if left else f"{rank:.2f}  {label}"})
        marks.append({"x": rank, "y": 0.0, "label": f"{name}: mean rank {rank:.2f}"})
    return stems, texts, marks
