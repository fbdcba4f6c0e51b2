"""The sub-voxel surface: where, between two voxel centres of different class, the boundary of the object passes.

A mask says only on which side of the boundary each voxel centre lies. The neighbourhood says more: near a smooth
boundary at the signed distance d, the share of a Gaussian of width s around a voxel that falls on the other class
is Phi(-d / s), so -s times the normal quantile of that share tells how deep the voxel lies in its own class. The
boundary divides the edge between two neighbours of different class in the ratio of their depths.

- Curvature pulls that estimate inwards in proportion to s²; two widths with s² in the ratio 2 to 1 cancel it:
  depth = 2 depth(narrower) - depth(wider). The wider the Gaussians, the smoother the surface.
- Where the object (or the gap) is thin for the widest Gaussian, its depth falls short of that of the next by a large
  part of a voxel; there the two narrower Gaussians count instead, and in between a mixture.
- A voxel that its neighbourhood would put on the other side has depth 0: the surface passes (almost) through its
  centre, never beyond it. Every centre stays on its side, and the topology is that of the marching-cubes surface.
- Where either class is a single voxel thick along the edge, nothing is known of its thickness: the middle.
- A flat top lies between two layers of voxels, and Gaussians see no slope there. How wide the object is in the last two
  layers says where it ends (`reference/caps.py`).
- Across thick slices neighbours along the edge are too far away for a Gaussian. Between two slices that both show an
  outline nearby, the circle through three of the outlines says where the surface passes (`reference/outlines.py`).

The surface is the marching-cubes surface with its vertices moved along their edges. Chords that end further away than
`CHORD_REACH` allows, outlines further away than `FAR_STEPS` of the edge, and what is `REACH` widths beyond either,
change nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from segauge.geometry.patterns import Point, pieces_by_code

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Widths of the Gaussians in smallest voxel edges, widest first, and how much less deep (in smallest edges) the widest
#: may find a voxel than the next before the narrower ones begin to count, and count alone. Wider Gaussians are better
#: for large smooth objects and worse for lesions of a few voxels: docs/decisions/0009-the-sub-voxel-surface.md.
WIDTHS = (2.0, math.sqrt(2), 1.0)
THIN_FROM, THIN_TO = 0.3, 0.6
#: Widths after which a Gaussian is cut off; at least one voxel along each axis.
REACH = 2.0
#: Slices are thick from this many smallest voxel edges on. There an outline may be this many slices away from a column
#: of voxels outside of it, and inside, to say something about it.
THICK = 1.5
NEAR_STEPS, FAR_STEPS = 2.0, 8.0
#: The end of a chord may be this many geometric means of the edge and the smallest one away from a column of voxels to
#: say something about its cap: the chords of a cap grow as the root of its depth does.
CHORD_REACH = 20.0
#: How much the end of a chord is taken to be off, in smallest voxel edges, and the roundness of a cap, which is 1 for
#: balls, as long as nothing is known of it: the more these would move the end of a cap, the less the chord counts.
CHORD_ERROR, ROUNDNESS_ERROR = 0.12, 0.2
#: By how much of a step chords end a strip too high that ends halfway between two layers.
STRIP_ERROR = 0.1
#: The variance of what Gaussians say, in steps: on a slope, and how much more on a flat top.
GAUSSIANS_VARIANCE, FLAT_VARIANCE = 0.004, 0.15
#: Where the depths at the ends of an edge add up to less than this part of it, the surface crosses it on a slope of
#: more than 45 degrees: that is no cap. Across thick slices, where Gaussians do not see a slope, this is not asked.
SLOPE = 0.7
#: A top is flat if it is as far as this many steps of the edge.
FLAT_STEPS = 10.0
#: The largest cosine between two axes at right angles.
RIGHT_ANGLE = 1e-6
#: The least share of an edge between a voxel centre and the surface.
MARGIN = 1e-3
#: Shares are held between these: below, a voxel is so deep, and above so far on the wrong side, that it does not matter
#: how much.
LEAST_SHARE, LARGEST_SHARE = 1e-6, 0.999


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A Gaussian of one width in mm, cut off and divided among the voxels along each axis."""

    width_mm: float
    along: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class CellLoops:
    """The polygons (segments in 2-D) of every cell code, as the cell edges that their corners lie on.

    The loops of code c are `loop_start[c]:loop_start[c + 1]`, the corners of a loop l
    `corner_start[l]:corner_start[l + 1]`; a corner lies on the edge along axis `axis` whose lower end has the offset
    `low` from the cell's origin, in steps.
    """

    loop_start: Ints
    corner_start: Ints
    axis: Ints
    low: Ints


@dataclass(frozen=True, eq=False)
class SubvoxelRule:
    """All that decides the sub-voxel surface of a mask on one lattice (voxel steps in mm as columns of `linear`).

    Three Gaussians, widest first; `thin_from_mm` and `thin_to_mm`: how much less deep the widest may find a voxel than
    the next before the narrower ones begin to count, and count alone. `cap_axes`: those along which chords end caps. By
    axis of the edge that is cut: the ends of chords may be `chord_reach_mm` away, and there are none where the depths
    at the ends of the edge add up to less than `slope_to_mm`. Ends are taken to be off by `chord_error_mm`, the
    roundness of a cap by `roundness_error`. `thick_axes`: across thick slices; an outline may be `near_steps` of their
    steps away from a column of voxels outside of it, `far_steps` inside.
    """

    ndim: int
    linear: Floats
    loops: CellLoops
    gaussians: tuple[Gaussian, Gaussian, Gaussian]
    thin_from_mm: float
    thin_to_mm: float
    chord_error_mm: float
    cap_axes: tuple[int, ...]
    thick_axes: tuple[int, ...]
    chord_reach_mm: tuple[float, ...]
    slope_to_mm: tuple[float, ...]
    roundness_error: float = ROUNDNESS_ERROR
    strip_error: float = STRIP_ERROR
    gaussians_variance: float = GAUSSIANS_VARIANCE
    flat_variance: float = FLAT_VARIANCE
    flat_steps: float = FLAT_STEPS
    near_steps: float = NEAR_STEPS
    far_steps: float = FAR_STEPS
    margin: float = MARGIN
    least_share: float = LEAST_SHARE
    largest_share: float = LARGEST_SHARE

    @property
    def edges_mm(self) -> Floats:
        """Lengths of the voxel edges."""
        return _edges(self.linear)


def subvoxel_rule(linear: Floats) -> SubvoxelRule:
    """Return the rule for a lattice. Where its axes are not at right angles the Gaussian follows them."""
    edges = _edges(linear)
    finest = float(edges.min())
    axes = tuple(range(len(edges))) if are_at_right_angles(linear) else ()
    wide, middle, narrow = (
        Gaussian(width * finest, tuple(_weights_along(edge / (width * finest)) for edge in edges.tolist()))
        for width in WIDTHS
    )
    thick = tuple(axis for axis in axes if edges[axis] >= THICK * finest)
    return SubvoxelRule(
        len(linear),
        np.ascontiguousarray(linear),
        cell_loops(len(linear)),
        (wide, middle, narrow),
        THIN_FROM * finest,
        THIN_TO * finest,
        CHORD_ERROR * finest,
        axes,
        thick,
        tuple(CHORD_REACH * math.sqrt(edge * finest) for edge in edges.tolist()),
        tuple(0.0 if axis in thick else SLOPE * edge for axis, edge in enumerate(edges.tolist())),
    )


def _edges(linear: Floats) -> Floats:
    return np.asarray(np.sqrt((linear * linear).sum(axis=0)))


def are_at_right_angles(linear: Floats) -> bool:
    """Whether all axes of a lattice are at right angles: chords and outlines are only worth something then."""
    edges = _edges(linear)
    cosines = linear.T @ linear / np.outer(edges, edges) - np.eye(len(edges))
    return bool(np.abs(cosines).max() <= RIGHT_ANGLE)


def _weights_along(step: float) -> Floats:
    """Return the weights of the voxels along an axis whose step is given in widths; they add up to 1."""
    radius = max(1, math.ceil(REACH / step))
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) * step) ** 2)
    return np.asarray(weights / weights.sum())


@cache
def cell_loops(ndim: int) -> CellLoops:
    """Return the loops of all cell codes of the marching-cubes surface."""
    pieces = pieces_by_code("marching-cubes", ndim)
    loops = [loop for code in pieces for loop in code]
    corners = [_edge_of(corner) for loop in loops for corner in loop]
    return CellLoops(
        np.cumsum([0, *map(len, pieces)]),
        np.cumsum([0, *map(len, loops)]),
        np.array([axis for axis, _ in corners]),
        np.array([low for _, low in corners]),
    )


def _edge_of(corner: Point) -> tuple[int, tuple[int, ...]]:
    """Return axis and lower end of the cell edge whose middle is given."""
    axis = corner.index(0.5)
    return axis, tuple(0 if other == axis else int(place) for other, place in enumerate(corner))
