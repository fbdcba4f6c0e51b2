"""Metrics of surface distances, and noise floors as metrics of their own.

Noise floors are asked for by name, because each takes as long as many measurements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from segauge.geometry.distances import SurfaceDistances
from segauge.metrics import surface as surfaces
from segauge.metrics.conventions import ToolDistances
from segauge.metrics.definitions.counts import OVERLAP
from segauge.metrics.noise import GRIDS
from segauge.metrics.parts import (
    DISTANCE,
    NUMBER,
    SHARE,
    Function,
    MetricFamily,
    Options,
    StructureParts,
    number_above_0,
    when_present,
)
from segauge.scores import MetricInfo


def _of_distances(
    function: Callable[[SurfaceDistances, Options], float],
    of_tool: Callable[[ToolDistances, Options], float | None],
    otherwise: float | None = None,
) -> Function:
    """Return a function of the surface distances: ours, or those of the tool whose convention is followed.

    None where all of a surface lies in ignored voxels, or where that tool has no such number.
    """

    def value(parts: StructureParts) -> float | None:
        if parts.tool_distances is not None:
            return of_tool(parts.tool_distances, parts.options)
        return None if parts.distances is None else function(parts.distances, parts.options)

    return when_present(value, otherwise)


def _boundary_iou(parts: StructureParts, width_mm: float) -> float | None:
    return surfaces.band_iou(*parts.bands(width_mm))


def _hd(percent: float) -> MetricInfo:
    whole = percent == 100
    return MetricInfo(
        key="hd" if whole else f"hd{percent:g}",
        name="Hausdorff distance" if whole else f"{percent:g} % Hausdorff distance",
        unit="mm",
        direction="lower",
        bounds=DISTANCE,
        needs="surface",
        definition=(
            "Largest distance from a point of either surface to the other surface."
            if whole
            else f"The smallest distance within which at least {percent:g} % of a surface's area lies from the other "
            "surface; the larger of the two directions (or, with hd='pooled', of both surfaces together)."
        )
        + " No number where one mask is empty.",
        function=_of_distances(
            lambda sd, options: surfaces.hausdorff_percentile(sd, percent, options.hd), lambda tool, _: tool.hd(percent)
        ),
    )


def _nsd(tolerance_mm: float | None) -> MetricInfo:
    def tolerance(options: Options) -> float:
        return options.tolerance_mm if tolerance_mm is None else tolerance_mm

    return MetricInfo(
        key="nsd" if tolerance_mm is None else f"nsd@{tolerance_mm:g}",
        name="Normalized surface Dice" + ("" if tolerance_mm is None else f" at {tolerance_mm:g} mm"),
        unit="1",
        direction="higher",
        bounds=SHARE,
        needs="surface",
        definition="Share of the area of both surfaces that lies within the tolerance of the other surface (a distance "
        "equal to the tolerance counts). 0 where one mask is empty.",
        function=_of_distances(
            lambda sd, options: surfaces.nsd(sd, tolerance(options)),
            lambda tool, options: tool.nsd(tolerance(options)),
            otherwise=0.0,
        ),
        when_failed=0.0,
        takes_tolerance=tolerance_mm is None,
    )


def _biou(width_mm: float | None) -> MetricInfo:
    return MetricInfo(
        key="biou" if width_mm is None else f"biou@{width_mm:g}",
        name="Boundary IoU" + ("" if width_mm is None else f" at {width_mm:g} mm"),
        unit="1",
        direction="higher",
        bounds=SHARE,
        needs="band",
        definition="Intersection over union of the two boundary bands: the voxels of each mask whose centre lies "
        "within the tolerance of that mask's own surface. 0 where one mask is empty; no number where no voxel centre "
        "of either mask is that near to its surface (thick slices, small tolerance). Where a mask merely ends "
        "at ignored voxels it has no boundary.",
        function=when_present(
            lambda parts: _boundary_iou(parts, parts.options.tolerance_mm if width_mm is None else width_mm),
            otherwise=0.0,
        ),
        when_failed=0.0,
        takes_tolerance=width_mm is None,
    )


SURFACE = (
    _hd(100),
    _hd(95),
    MetricInfo(
        "assd",
        "Average symmetric surface distance",
        "mm",
        "lower",
        DISTANCE,
        "surface",
        "Mean distance to the other surface over the area of both surfaces together. No number where one mask is "
        "empty.",
        _of_distances(lambda sd, _: surfaces.assd(sd), lambda tool, _: tool.assd()),
    ),
    MetricInfo(
        "masd",
        "Mean average surface distance",
        "mm",
        "lower",
        DISTANCE,
        "surface",
        "Mean of the two directions' mean distances, each over the area of its own surface. No number where one mask "
        "is empty.",
        _of_distances(lambda sd, _: surfaces.masd(sd), lambda tool, _: tool.masd()),
    ),
    _nsd(None),
    _biou(None),
)

FAMILIES = (
    MetricFamily(re.compile(rf"hd{NUMBER}"), "hd90", lambda percent: _hd(number_above_0(percent, 100.0))),
    MetricFamily(re.compile(rf"nsd@{NUMBER}"), "nsd@2", lambda tolerance: _nsd(float(tolerance))),
    MetricFamily(re.compile(rf"biou@{NUMBER}"), "biou@2", lambda width: _biou(number_above_0(width))),
)


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
        "changed. Two values that differ by less than 2.8 times this are not distinguishable. No number where one mask "
        "is empty, where an object falls between the voxels of some grid, where there are ignored voxels in or "
        "around them or the axes are not at right angles, or where another tool's convention is followed.",
        function=when_present(value),
    )


def noise_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of the noise floors of some metrics; of those that have one."""
    return tuple(f"{key}{SUFFIX}" for key in keys if key in FLOORED)


NOISE_FLOORS = (MetricFamily(re.compile(rf"({'|'.join(FLOORED)}){SUFFIX}"), "hd95_noise", _noise),)
