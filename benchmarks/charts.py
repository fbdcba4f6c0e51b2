"""Two kinds of charts as small SVG files: bars of one value per tool, and lines of a share against a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_BLUE, _GREY, _COLOURS = "#0072B2", "#9A9A9A", ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_WIDTH = 680


def bars(title: str, values: Mapping[str, float], *, ours: str) -> str:
    """Return a bar per tool, those whose name begins with `ours` in colour."""
    largest = max(values.values())
    parts = []
    for row, (name, value) in enumerate(values.items()):
        y = 44 + 24 * row
        colour = _BLUE if name.startswith(ours) else _GREY
        width = 430 * value / largest
        parts.append(_text(150, y + 13, name, "end"))
        parts.append(f'<rect x="158" y="{y}" width="{width:.1f}" height="17" fill="{colour}"/>')
        parts.append(_text(164 + width, y + 13, f"{value:.3f}"))
    return _svg(title, 54 + 24 * len(values), parts)


def lines(
    title: str, sizes: Sequence[str], series: Mapping[str, Sequence[float]], *, low: float, line: float, axis: str
) -> str:
    """Return a line per method over the sizes, from `low` to 100 per cent, with a dashed line at the nominal level."""

    def place(k: int, value: float) -> tuple[float, float]:
        return 60 + 440 * k / (len(sizes) - 1), 250 - 200 * (value - low) / (100 - low)

    x_end, y_line = place(len(sizes) - 1, line)
    parts = [f'<path d="M60 {y_line:.1f}H{x_end:.1f}" stroke="#555" stroke-dasharray="4 3"/>']
    for tick in (low, line, 100.0):
        parts.append(_text(54, place(0, tick)[1] + 4, f"{tick:g}", "end"))
    for k, size in enumerate(sizes):
        parts.append(_text(place(k, low)[0], 270, size, "middle"))
    parts.append(_text(280, 290, axis, "middle"))
    for row, (name, values) in enumerate(series.items()):
        colour = _COLOURS[row % len(_COLOURS)]
        points = " ".join("{:.1f},{:.1f}".format(*place(k, max(value, low))) for k, value in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<rect x="520" y="{50 + 22 * row}" width="14" height="4" fill="{colour}"/>')
        parts.append(_text(540, 56 + 22 * row, name))
    return _svg(title, 300, parts)


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    inner = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" '
        f'font-family="sans-serif" font-size="12">\n<title>{escape(title)}</title>\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>\n'
        f'<text x="12" y="22" font-size="14" font-weight="bold">{escape(title)}</text>\n{inner}\n</svg>\n'
    )
