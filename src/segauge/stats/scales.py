"""Scale: which way is better, and the ends of the scale: all that a comparison needs to know of a metric."""

from __future__ import annotations

import math
from dataclasses import dataclass

from segauge.errors import UnknownMetric
from segauge.metrics.catalog import CATALOG, described


@dataclass(frozen=True)
class Scale:
    """Which way a metric is better, and its smallest and largest value (infinite where there is none)."""

    higher_is_better: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    unit: str = ""

    @property
    def is_bounded(self) -> bool:
        """True if both ends are finite."""
        return all(map(math.isfinite, self.bounds))

    @property
    def worst(self) -> float:
        """The worst possible value; infinite where there is none."""
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def best(self) -> float:
        """The best possible value; infinite where there is none."""
        return self.bounds[1] if self.higher_is_better else self.bounds[0]


def is_measurement(metric: str) -> bool:
    """Return True for a metric that is known to be a plain measurement (a volume), of which none is better."""
    info = described(metric)
    return info is not None and info.direction == "none"


def scale_of(metric: str) -> Scale:
    """Return the scale of a metric known by name; an unknown one, or one that is no score, is refused."""
    info = described(metric)
    if info is None or info.direction == "none":
        what = "is not known" if info is None else "makes no sense to ask: it is a measurement, not a score"
        raise UnknownMetric(
            f"Whether a higher {metric!r} is better {what}. Say it (higher_is_better=True or False, and the bounds of "
            f"its scale), or use a known name: {', '.join(list(CATALOG)[:12])}, ..."
        )
    return Scale(info.direction == "higher", info.bounds, info.unit if info.unit in ("mm", "ml") else "")
