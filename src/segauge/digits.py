"""How numbers are printed: one rule for terminals, tables, pages and papers.

A value and both of its limits have the same number of decimals: as many as show two figures of half the width of the
interval, and at most four. A column of estimates has one number of decimals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

#: No number is printed with more decimals.
MOST_DECIMALS = 4


class HasInterval(Protocol):
    """Anything with a value and its two limits, each of them perhaps unknown."""

    @property
    def value(self) -> float | None:
        """The value."""

    @property
    def ci_low(self) -> float | None:
        """The lower limit."""

    @property
    def ci_high(self) -> float | None:
        """The upper limit."""


def decimals(value: float | None, low: float | None = None, high: float | None = None, *, figures: int = 2) -> int:
    """Return how many decimals show `figures` figures of half the width from `low` to `high`, at most four.

    Without an interval: as many as show three figures of the value.
    """
    if low is not None and high is not None and math.isfinite(high - low) and high > low:
        return _shown((high - low) / 2.0, figures)
    known = [abs(x) for x in (value, low, high) if x is not None and math.isfinite(x)]
    return _shown(max(known, default=0.0), 3) if any(known) else 3


def _shown(size: float, figures: int) -> int:
    # A size is rounded first: 0.0996 is printed as 0.10 and not as 0.100.
    leading = math.floor(math.log10(float(f"{size:.{figures - 1}e}")))
    return min(max(figures - 1 - leading, 0), MOST_DECIMALS)


def column_decimals(estimates: Iterable[HasInterval]) -> int:
    """Return the number of decimals of a column: two figures of the typical half width, one of the smallest."""
    known = [one for one in estimates if one.value is not None]
    two, one = (
        sorted(decimals(each.value, each.ci_low, each.ci_high, figures=figures) for each in known) for figures in (2, 1)
    )
    return max(two[len(two) // 2], one[-1]) if known else 3


def fixed(value: float | None, places: int, *, signed: bool = False, missing: str = "") -> str:
    """Return a number with so many decimals; never "-0"."""
    if value is None or math.isnan(value):
        return missing
    text = f"{value:.{places}f}"
    if not float(text):
        return text.lstrip("-")
    return f"+{text}" if signed and value > 0 else text


def interval(low: float | None, high: float | None, places: int, *, signed: bool = False) -> str:
    """Return "[0.884, 0.921]"; a limit that is not known is "open", and without both of them there is no text."""
    if low is None and high is None:
        return ""
    limits = (fixed(limit, places, signed=signed, missing="open") for limit in (low, high))
    return f"[{', '.join(limits)}]"


def with_interval(
    value: float | None, low: float | None, high: float | None, *, places: int | None = None, signed: bool = False
) -> str:
    """Return "0.904 [0.884, 0.921]"; `places` is the number of decimals of a column."""
    if value is None:
        return ""
    shown = decimals(value, low, high) if places is None else places
    return f"{fixed(value, shown, signed=signed)} {interval(low, high, shown, signed=signed)}".rstrip()


def p_value(p: float | None) -> str:
    """Return a p-value with three decimals; below 0.001 it is "< 0.001"."""
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_equals(p: float) -> str:
    """Return a p-value as it stands in a sentence: "p = 0.012", "p < 0.001"."""
    return f"p {p_value(p)}" if p < 0.001 else f"p = {p_value(p)}"


def unit_word(unit: str) -> str:
    """Return a unit as it is printed: nothing for a share, a count and a plain number."""
    return "" if unit in ("1", "count") else unit


def with_unit(text: str, unit: str) -> str:
    """Return a number with its unit: "6.1 mm"."""
    return f"{text} {unit_word(unit)}".rstrip()


def percent(share: float) -> str:
    """Return a share in whole per cent, with one decimal below 2 and above 98 %: "26 %", "0.6 %"."""
    shown = 100.0 * share
    is_extreme = 0.0 < shown < 2.0 or 98.0 < shown < 100.0
    return f"{shown:.1f} %" if is_extreme and not float(f"{shown:.1f}").is_integer() else f"{shown:.0f} %"


def count_of(count: int, total: int) -> str:
    """Return a count of a total: "39 of 40"."""
    return f"{count} of {total}"


def sample_size(cases: int | None, *, power: float | None = 0.8, unit: str = "case") -> str:
    """Return a planned sample size: "about 84 cases (80 % power)"; without a power where it is for an interval."""
    count = f"no realistic number of {unit}s" if cases is None else f"about {cases:,} {unit}{'' if cases == 1 else 's'}"
    return count if power is None else f"{count} ({percent(power)} power)"
