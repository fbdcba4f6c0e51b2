"""Colours and type of all figures: one palette that colour-blind readers can tell apart, light and dark."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from segauge.errors import InvalidInput

ThemeName = Literal["light", "dark"]

#: Names of colours; a figure says "ink" or "series 1", never a number.
#: The series are those of Okabe and Ito, chosen to differ for every common kind of colour blindness; on the dark
#: ground they are lightened so that each keeps a contrast of at least 3 against it.
_LIGHT = {
    "ground": "#ffffff",
    "ink": "#1d2329",
    "quiet": "#5a646e",
    "line": "#d5dae0",
    "faint": "#eef1f4",
    "series 1": "#0072b2",
    "series 2": "#d55e00",
    "series 3": "#009e73",
    "series 4": "#b8579a",
    "series 5": "#b07a00",
    "series 6": "#2f93cf",
    "series 7": "#756f0a",
    "series 8": "#444b53",
    "rest": "#89929b",
    "better": "#0071b1",
    "worse": "#d45d00",
    "undecided": "#e3e7eb",
    "equivalent": "#a7c9b9",
    "on better": "#fefefe",
    "on worse": "#fdfdfd",
}
_DARK = {
    "ground": "#14181c",
    "ink": "#e6e9ec",
    "quiet": "#a0a9b2",
    "line": "#3a424a",
    "faint": "#20262c",
    "series 1": "#4da9e0",
    "series 2": "#f0823c",
    "series 3": "#2dc296",
    "series 4": "#dd8cc0",
    "series 5": "#e0a92e",
    "series 6": "#8ccbf0",
    "series 7": "#cfc745",
    "series 8": "#b9c0c7",
    "rest": "#717b85",
    "better": "#4ca8df",
    "worse": "#ef813b",
    "undecided": "#2c333a",
    "equivalent": "#3f6b59",
    "on better": "#0b0d0f",
    "on worse": "#0c0e10",
}
COLOURS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"light": MappingProxyType(_LIGHT), "dark": MappingProxyType(_DARK)}
)

#: Names of the colours of a series, in the order of their use.
SERIES = tuple(name for name in _LIGHT if name.startswith("series"))

#: All as wide as Liberation Sans, which figures are laid out with; `lettering` makes any other font as wide.
FONT = '"Liberation Sans", Arial, Helvetica, sans-serif'


def colour(name: str, theme: ThemeName = "light") -> str:
    """Return a colour by its name."""
    return colours(theme)[name]


def series_colours(count: int, theme: ThemeName = "light") -> list[str]:
    """Return the colours of so many series; beyond the palette they repeat, so a figure must label them as well."""
    return [colours(theme)[SERIES[i % len(SERIES)]] for i in range(count)]


def leaders(count: int) -> int:
    """Return how many of so many series have a colour of their own: all, or one fewer than there are colours."""
    return count if count <= len(SERIES) else len(SERIES) - 1


def leader_colours(count: int, theme: ThemeName = "light") -> list[str]:
    """Return a colour per series of which none stands for two: those beyond the leaders share a grey."""
    first = leaders(count)
    return [*series_colours(first, theme), *[colours(theme)["rest"]] * (count - first)]


def colours(theme: ThemeName) -> Mapping[str, str]:
    """Return all colours of a theme by name."""
    if theme not in COLOURS:
        raise InvalidInput(f"No theme {theme!r}; there are {', '.join(COLOURS)}.")
    return COLOURS[theme]


def variable(name: str) -> str:
    """Return the CSS variable that stands for a colour where a figure is part of a page."""
    return f"--figure-{name.replace(' ', '-')}"


def style_rules() -> str:
    """Return CSS that sets the variables of all colours, light and dark, for pages that hold figures."""
    light, dark = (
        "".join(f"{variable(name)}:{value};" for name, value in COLOURS[theme].items()) for theme in ("light", "dark")
    )
    return (
        f":root{{{light}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
        f":root[data-theme=dark]{{{dark}}}"
        f"@media print{{:root,:root[data-theme=dark],:root:not([data-theme=light]){{{light}}}}}"
    )


def config(theme: ThemeName = "light") -> dict[str, Any]:
    """Return the Vega-Lite configuration of a theme."""
    named = colours(theme)
    axis = {
        "labelColor": named["quiet"],
        "titleColor": named["ink"],
        "gridColor": named["faint"],
        "domainColor": named["line"],
        "tickColor": named["line"],
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelLimit": 220,
    }
    return {
        "background": named["ground"],
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {
            "labelColor": named["ink"],
            "titleColor": named["quiet"],
            "titleFontWeight": "normal",
            "labelFontSize": 11,
            "titleFontSize": 11,
            "labelLimit": 260,
            "orient": "top",
            "symbolStrokeWidth": 2,
        },
        "header": {"labelColor": named["ink"], "titleColor": named["quiet"], "labelFontSize": 12},
        "title": {"color": named["ink"], "fontSize": 13, "anchor": "start", "fontWeight": "bold", "offset": 8},
        "text": {"color": named["ink"], "fontSize": 11},
        "range": {"category": series_colours(len(SERIES), theme)},
    }
