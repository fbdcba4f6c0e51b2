"""Scales of metrics by name: which way is better, and the ends, which are all that a comparison needs to know."""

from __future__ import annotations

import math
from dataclasses import replace

from segauge.errors import InvalidInput, UnknownMetric
from segauge.metrics.catalog import CATALOG, described
from segauge.scores import Scale


def is_measurement(metric: str) -> bool:
    """Return True for a metric that is known to be a plain measurement (a volume), of which none is better."""
    info = described(metric)
    return info is not None and info.direction == "none"


def counts_where_absent(metric: str) -> bool:
    """Return True for a metric that has a value where there is nothing to find and nothing was found."""
    info = described(metric)
    return info is not None and info.when_absent is not None


def scale_of(metric: str) -> Scale:
    """Return the scale of a metric known by name; an unknown one, or one that is no score, is refused."""
    info = described(metric)
    if info is None or info.direction == "none":
        what = "is not known" if info is None else "makes no sense to ask: it is a measurement, not a score"
        raise UnknownMetric(
            f"Whether a higher {metric!r} is better {what}. Say it (higher_is_better=True or False, and the bounds of "
            f"its scale), or use a known name: {', '.join(list(CATALOG)[:12])}, ..."
        )
    return info.scale


def told_scale(metric: str, higher_is_better: bool | None, bounds: tuple[float, float] | None) -> Scale:
    """Return the scale of scores: that of their metric where it has a known name, otherwise what was told.

    Without a name and without a word, higher is better. A direction that is not that of the metric is refused.
    """
    if higher_is_better is None and metric:
        known = scale_of(metric)
        return known if bounds is None else replace(known, bounds=bounds)
    info = described(metric) if metric else None
    if info is None or info.direction == "none":
        return Scale(higher_is_better is not False, bounds or (-math.inf, math.inf))
    if higher_is_better != (info.direction == "higher"):
        raise InvalidInput(
            f"higher_is_better={higher_is_better}, but a {info.direction} {metric} is better; leave it out, or pass "
            "scale=Scale(...) if the scores are no such thing."
        )
    return told_scale(metric, None, bounds)
