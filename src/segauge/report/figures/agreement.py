"""Agreement of two measurements of the same cases (Bland and Altman): bias, limits of agreement, and their plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from segauge.digits import decimals, fixed, interval
from segauge.report.figures.charting import WIDTH, altair_module, chart_of, fitted, number_text, value_axis, value_scale
from segauge.report.figures.themes import COLOURS

if TYPE_CHECKING:
    import altair

_INK = COLOURS["light"]


@dataclass(frozen=True)
class AgreementLimits:
    """Bias (mean difference) and limits of agreement (bias +- 1.96 SD), each with half the width of its interval.

    Attributes:
        bias: mean of pred - gt, in the unit of the differences.
        low, high: between them lie 95 % of the differences, if these are normally distributed.
        bias_margin: half width of the 95 % interval of the bias, t SD / sqrt(n).
        limit_margin: that of each limit, t SD sqrt(1/n + 1.96^2 / (2 (n - 1))) (Bland and Altman 1999).
        n: pairs that both measurements have.

    """

    bias: float
    low: float
    high: float
    bias_margin: float
    limit_margin: float
    n: int


def agreement_limits(differences: npt.ArrayLike) -> AgreementLimits | None:
    """Return the limits of agreement of paired differences; None for fewer than 3 of them."""
    values = np.asarray(differences, dtype=np.float64).ravel()
    values = values[np.isfinite(values)]
    n = values.size
    if n < 3:
        return None
    from scipy.special import stdtrit

    bias, deviation = float(values.mean()), float(values.std(ddof=1))
    t = float(stdtrit(n - 1, 0.975))
    reach = 1.959963984540054 * deviation
    limit_error = deviation * math.sqrt(1 / n + 1.959963984540054**2 / (2 * (n - 1)))
    return AgreementLimits(bias, bias - reach, bias + reach, t * deviation / math.sqrt(n), t * limit_error, n)


def bland_altman(
    pred: Sequence[float],
    gt: Sequence[float],
    names: Sequence[str],
    *,
    unit: str = "ml",
    relative: bool = False,
    title: str = "",
    width: int = WIDTH - 60,
    height: int = 260,
) -> altair.LayerChart:
    """Return the plot of differences against means, with bias and limits of agreement and their 95 % intervals.

    Args:
        pred: measurement of each case; what is not finite in either is left out.
        gt: that of the ground truth.
        names: of the cases, shown when pointed at.
        unit: of both.
        relative: differences in per cent of the mean of the two, for spreads that grow with the size.
        title: of the figure.
        width: of the plot area in pixels.
        height: likewise.

    """
    alt = altair_module()
    one, other = np.asarray(pred, dtype=np.float64), np.asarray(gt, dtype=np.float64)
    mean, difference = (one + other) / 2, one - other
    if relative:
        difference = 100 * np.divide(difference, mean, out=np.full_like(mean, np.nan), where=mean > 0)
    shown = "%" if relative else unit
    rows = [
        {"mean": m, "value": d, "label": f"{name}: {d:+.3g} {shown} at {number_text(m)} {unit}"}
        for m, d, name in zip(mean, difference, names, strict=True)
        if math.isfinite(m) and math.isfinite(d)
    ]
    limits = agreement_limits(difference)
    reach = () if limits is None else (limits.low - limits.limit_margin, limits.high + limits.limit_margin)
    across = value_scale(fitted(row["mean"] for row in rows))
    x = alt.X("mean:Q", axis=value_axis(f"mean of pred and gt in {unit}", grid=False), scale=across)
    up = value_scale(fitted([0.0, *reach, *(row["value"] for row in rows)]))
    y = alt.Y("value:Q", axis=value_axis(f"pred - gt in {shown}"), scale=up)
    dots = chart_of(rows).mark_point(filled=True, size=28, opacity=0.75, color=_INK["series 1"])
    layers = [*_limit_layers(limits, shown, width), dots.encode(x=x, y=y, description=alt.Description("label:N"))]
    chart: altair.LayerChart = alt.layer(*layers).properties(width=width, height=height)
    return chart.properties(title=title) if title else chart


def _limit_layers(limits: AgreementLimits | None, unit: str, width: int) -> list[altair.Chart]:
    alt = altair_module()
    zero = chart_of([{"value": 0.0}]).mark_rule(color=_INK["line"]).encode(y=alt.Y("value:Q"))
    if limits is None:
        return [zero]
    lines: tuple[tuple[str, float, float], ...] = (
        ("bias", limits.bias, limits.bias_margin),
        ("+1.96 SD", limits.high, limits.limit_margin),
        ("-1.96 SD", limits.low, limits.limit_margin),
    )
    if limits.low == limits.high:  # three labels at one place could not be read
        lines = (("bias and limits", limits.bias, limits.bias_margin),)
    places = decimals(limits.bias, limits.bias - limits.bias_margin, limits.bias + limits.bias_margin)
    rows = [
        {
            "value": value, "low": value - margin, "high": value + margin,
            "text": f"{name} {fixed(value, places, signed=True)}",
            "label": f"{name}: {fixed(value, places, signed=True)} {unit}, 95 % interval "
            f"{interval(value - margin, value + margin, places, signed=True)}",
        }
        for name, value, margin in lines
    ]  # fmt: skip
    base = chart_of(rows)
    ends = {"x": alt.value(0), "x2": alt.value(width)}
    return [
        zero,
        base.mark_rect(color=_INK["series 2"], opacity=0.1).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), **ends),
        base.mark_rule(color=_INK["series 2"], strokeDash=[5, 3]).encode(
            y=alt.Y("value:Q"), description=alt.Description("label:N")
        ),
        base.mark_text(align="left", color=_INK["quiet"]).encode(
            x=alt.XValue(width + 6), y=alt.Y("value:Q"), text=alt.Text("text:N")
        ),
    ]
