"""The curve skeleton of a mask: its centerlines, with the topology of the mask."""

from __future__ import annotations

from typing import Any

from segauge.geometry import reference
from segauge.geometry.engine import engine, thread_count
from segauge.geometry.masks import PackedMask
from segauge.geometry.reference import ReferenceMask


def skeletonize(mask: PackedMask) -> PackedMask:
    """Return the curve skeleton of a mask as a mask of the same box.

    Voxels are removed in the order of their depth (distance to the background in voxels; the spacing plays no role)
    as long as the number of components, tunnels and cavities stays what it was: foreground by 26 neighbours,
    background by 6 (8 and 4 in 2-D). The ends of curves are kept, so a tube becomes a line along its axis, a ring a
    loop, a ball a dot, a plate a line or a dot; only a hollow shell stays a surface. What lies outside the box counts
    as background.

    Deterministic, and nearly blind to how the image is stored: depth does not depend on the direction of the axes,
    only ties are settled by it. Over the 48 ways to store noisy vessel trees (branches 1 to 4 voxels in radius) the
    clDice of a pair varies by 0.005 (standard deviation; scikit-image's thinning: 0.013). The line of a straight
    tube stays within a voxel of its axis, and loses 0.4 to 1.1 voxels of an end in the mean, 5 at worst.
    """
    skeleton: PackedMask = _engine_of(mask).skeletonize(mask)
    return skeleton


def skeletonize_pair(a: PackedMask, b: PackedMask, threads: int | None = None) -> tuple[PackedMask, PackedMask]:
    """Return the skeletons of two masks, at the same time where there is more than one thread."""
    skeletons: tuple[PackedMask, PackedMask] = _engine_of(a).skeletonize_pair(a, b, thread_count(threads))
    return skeletons


def _engine_of(mask: PackedMask) -> Any:
    """Return the module that made a mask: only it can read it."""
    return reference if isinstance(mask, ReferenceMask) else engine()
