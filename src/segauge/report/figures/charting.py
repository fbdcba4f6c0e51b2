"""What all figures are built from: Altair, data as plain rows, and labels that a pointer or a screen reader finds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from segauge.errors import MissingExtra

if TYPE_CHECKING:
    import altair

#: Width of a figure's plot area in pixels, unless told otherwise.
WIDTH = 560
#: Longest label of a group in characters; the rest is in the label of its shapes.
LABEL_LENGTH = 34


def altair_module() -> Any:
    """Return altair, or say how to get it."""
    try:
        import altair
    except ImportError as error:
        raise MissingExtra("Figures need altair and vl-convert: install `segauge[report]`.") from error
    return altair


def chart_of(rows: Iterable[Mapping[str, Any]]) -> altair.Chart:
    """Return an empty chart of the rows; a value that is no finite number is null."""
    alt = altair_module()
    # A tuple: Altair copies lists and what is in them again and again while a chart is put together, for seconds.
    values = tuple({key: _plain(value) for key, value in row.items()} for row in rows)
    # A plain dictionary: Altair would check every row of an InlineData against its schema, for seconds.
    chart: altair.Chart = alt.Chart({"values": values})
    return chart


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, str)) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def either(test: str, one: str, other: str) -> Any:
    """Return a colour channel: `one` where the test of a row holds, otherwise `other`."""
    alt = altair_module()
    # As a channel of its class, not as a plain mapping: Altair takes ten milliseconds to find the class of one.
    return alt.ColorValue(other, condition={"test": test, "value": one})


def drawable(text: str) -> str:
    """Return text that XML can hold: control characters and broken surrogates become the replacement character."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(" " if c in "\t\r\n" else c if c >= " " and c not in "\x7f\ufffe\uffff" else "\ufffd" for c in whole)


def shortened(text: str, length: int = LABEL_LENGTH) -> str:
    """Return a label of at most so many characters, cut in the middle: ids often differ at their ends."""
    flat = " ".join(drawable(text).split()) or "(empty)"
    if len(flat) <= length:
        return flat
    head = (length - 1) * 2 // 3
    return f"{flat[:head]}…{flat[-(length - 1 - head) :]}"


def unique_labels(names: Sequence[str]) -> list[str]:
    """Return short labels of names that are all different, whatever was cut."""
    labels: list[str] = []
    for i, name in enumerate(names):
        label = shortened(name)
        labels.append(label if label not in labels else f"{shortened(name, LABEL_LENGTH - 6)} ({i + 1})")
    return labels


def number_text(value: float | None) -> str:
    """Return a number with about three figures: "0.873", "12.4", "1520"."""
    if value is None or not math.isfinite(value):
        return "no value"
    size = abs(value)
    if size >= 1000:
        return f"{value:.0f}"
    return f"{value:.3f}" if size < 10 else f"{value:.1f}"


def value_axis(title: str, **options: Any) -> Any:
    """Return an axis with a title; titles are plain text."""
    return altair_module().Axis(title=title, **options)


def value_scale(domain: tuple[float, float] | None = None) -> Any:
    """Return a scale with these ends; without any, one that holds the data and need not begin at zero."""
    alt = altair_module()
    return alt.Scale(zero=False, nice=True) if domain is None else alt.Scale(domain=list(domain), nice=False)


def fitted(values: Iterable[float | None], bounds: tuple[float, float] | None = None) -> tuple[float, float] | None:
    """Return ends of an axis that hold all values with a little room, but no more than the bounds of the scale."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    room = 0.03 * (high - low) or 0.05 * abs(high) or 0.5
    ends = bounds or (-math.inf, math.inf)
    # A value on a bound keeps its whole mark: half a per cent beyond the bound is enough for that.
    beyond = 0.005 * (high - low)
    return max(low - room, ends[0] - beyond), min(high + room, ends[1] + beyond)
