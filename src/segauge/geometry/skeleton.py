"""The curve skeleton of a mask: its centerlines, with the topology of the mask."""

from __future__ import annotations

from segauge.geometry import reference
from segauge.geometry.engine import engine
from segauge.geometry.masks import PackedMask
from segauge.geometry.reference import ReferenceMask


def skeletonize(mask: PackedMask) -> PackedMask:
    """Return the curve skeleton of a mask as a mask of the same box.

    Voxels are removed in the order of their depth (distance to the background in voxels; the spacing plays no role)
    as long as the number of components, tunnels and cavities stays what it was: foreground by 26 neighbours,
    background by 6 (8 and 4 in 2-D). The ends of curves are kept, so a tube becomes a line along its axis, a ring a
    loop, a ball a dot, a plate a line or a dot; only a hollow shell stays a surface. What lies outside the box counts
    as background.

    Deterministic. Depth does not depend on the direction of the axes, so a flipped or permuted image has nearly the
    same skeleton: only where two voxels are alike in depth does the order of the axes decide, by one voxel.
    """
    chosen = reference if isinstance(mask, ReferenceMask) else engine()
    skeleton: PackedMask = chosen.skeletonize(mask)
    return skeleton
