"""Noise floors as metrics of their own: asked for by name, because each takes as long as many measurements."""

from __future__ import annotations

import re

from segauge.metrics.definitions.forms import DISTANCE, MetricFamily, when_present
from segauge.metrics.noise import GRIDS
from segauge.metrics.parts import StructureParts
from segauge.scores import MetricInfo

_UNITS = {"dice": "1", "hd": "mm", "hd95": "mm", "assd": "mm", "masd": "mm", "nsd": "1"}


def _noise(key: str) -> MetricInfo:
    def value(parts: StructureParts) -> float | None:
        return parts.noise.sd[key]

    return MetricInfo(
        key=f"{key}_noise",
        name=f"Noise floor of {key}",
        unit=_UNITS[key],
        direction="none",
        bounds=DISTANCE,
        needs="surface",
        definition=f"Standard deviation of {key} over {GRIDS} places of the voxel grid, both objects being what their "
        "sub-voxel surfaces say: what the number moves although nothing changed. Two values that differ by less than "
        "2.8 times this cannot be told apart. No number where one mask is empty.",
        function=when_present(value),
    )


FAMILIES = (MetricFamily(re.compile(rf"({'|'.join(_UNITS)})_noise"), "hd95_noise", _noise),)
