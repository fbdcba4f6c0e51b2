"""A common axis for all rows of a board: where a value stands, and which ticks it has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: Width of the axis in its own units; the page draws it as wide as it likes.
WIDTH = 240.0
#: Room on either side, so that a mark at the end is whole.
MARGIN = 8.0


@dataclass(frozen=True)
class Axis:
    """Ends of the axis in the unit of the metric, and its ticks with their labels."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> str:
        """Return where a value stands; what lies beyond an end stands at the end."""
        share = (value - self.low) / (self.high - self.low)
        return f"{MARGIN + min(max(share, 0.0), 1.0) * (WIDTH - 2 * MARGIN):.1f}"

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies beyond an end, and is drawn there with a mark."""
        return not self.low <= value <= self.high


def axis_for(values: Iterable[float | None], bounds: tuple[float, float] = (-math.inf, math.inf)) -> Axis | None:
    """Return the axis that holds all values, within the bounds of the scale; None where there is no value."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    low, high = max(low - room, min(bounds[0], low)), min(high + room, max(bounds[1], high))
    step = tick_step(high - low)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Adding zero turns the minus zero of a rounded tick into zero.
    ticks = tuple((k * step + 0.0, f"{k * step + 0.0:.{digits}f}") for k in range(first, last + 1))
    return Axis(low, high, ticks)


def tick_step(span: float, wanted: int = 4) -> float:
    """Return the step of 1, 2 or 5 times a power of ten whose number of ticks is nearest to the wanted one."""
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    return min((factor * power for factor in (1.0, 2.0, 5.0, 10.0)), key=lambda step: abs(math.log(step / rough)))
