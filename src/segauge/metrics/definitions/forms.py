"""What the definitions share: ranges, families of metrics, and what happens where a mask is empty."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from segauge.metrics.parts import StructureParts
from segauge.scores import MetricInfo, Status

Function = Callable[[StructureParts], float | None]

SHARE = (0.0, 1.0)
DISTANCE = (0.0, math.inf)
NUMBER = r"(\d+(?:\.\d+)?)"


@dataclass(frozen=True)
class MetricFamily:
    """Metrics that differ in one part of their key, such as hd90 and hd95, or nsd@1 and nsd@2.5.

    `make` raises a ValueError, whose words say what was expected, for a part that no metric can have.
    """

    pattern: re.Pattern[str]
    example: str
    make: Callable[[str], MetricInfo]


def number_above_0(text: str, most: float = math.inf) -> float:
    """Return the number in a key; one that no case could be measured by must not become a failure of every case."""
    value = float(text)
    if not 0.0 < value <= most:
        raise ValueError(f"expected a number above 0{'' if math.isinf(most) else f' and at most {most:g}'} in it")
    return value


def when_present(function: Function, otherwise: float | None = None) -> Function:
    """Return a function that is asked only where both masks have voxels; one empty mask gives `otherwise`."""

    def value(parts: StructureParts) -> float | None:
        if parts.status is Status.PRESENT:
            return function(parts)
        return None if parts.status is Status.ABSENT else otherwise

    return value
