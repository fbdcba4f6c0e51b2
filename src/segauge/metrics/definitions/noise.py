"""Noise floors as metrics of their own: asked for by name, because each takes as long as many measurements."""

from __future__ import annotations

import re
from collections.abc import Iterable

from segauge.metrics.definitions.counts import OVERLAP
from segauge.metrics.definitions.surfaces import SURFACE
from segauge.metrics.noise import GRIDS
from segauge.metrics.parts import DISTANCE, MetricFamily, StructureParts, when_present
from segauge.scores import MetricInfo

#: What the key of a noise floor has behind that of its metric.
SUFFIX = "_noise"

#: Metrics that have a noise floor.
FLOORED = ("dice", "hd", "hd95", "assd", "masd", "nsd")
_UNITS = {info.key: info.unit for info in (*OVERLAP, *SURFACE)}


def _noise(key: str) -> MetricInfo:
    def value(parts: StructureParts) -> float | None:
        # Another tool's distances on other grids are not measured: ours would be the floor of another number.
        followed = parts.options.convention is not None and key != "dice"
        return None if followed or parts.noise is None else parts.noise.sd[key]

    return MetricInfo(
        key=f"{key}{SUFFIX}",
        name=f"Noise floor of {key}",
        unit=_UNITS[key],
        direction="none",
        bounds=DISTANCE,
        needs="surface",
        definition=f"Standard deviation of a metric over {GRIDS} places of the voxel grid, both objects having the "
        "boundary that a Gaussian neighbourhood of their masks suggests: what the number moves although nothing "
        "changed. Two values that differ by less than 2.8 times this cannot be told apart. No number where one mask "
        "is empty, where an object falls between the voxels of some grid, where there are ignored voxels in or "
        "around them or the axes are not at right angles, or where another tool's convention is followed.",
        function=when_present(value),
    )


def noise_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of the noise floors of some metrics; of those that have one."""
    return tuple(f"{key}{SUFFIX}" for key in keys if key in FLOORED)


FAMILIES = (MetricFamily(re.compile(rf"({'|'.join(FLOORED)}){SUFFIX}"), "hd95_noise", _noise),)
