"""A mask's surface for the small 3-D view: coarse, smoothed, coloured by the distance to the other surface."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.report.pairs import Bools, box_of

#: Voxels of the longest side that the surface is made from (the view is a few hundred pixels wide), and fewer where
#: that gives more faces than a page can turn: salt and pepper has six to a voxel.
MOST_VOXELS = (34, 24, 16, 10)
MOST_FACES = 14_000
SMOOTHING_STEPS = 6

#: From no distance to the largest: a scale that is also a scale of brightness (after Crameri's batlow, simplified).
PALETTE = ((240, 240, 236), (253, 208, 120), (240, 130, 50), (190, 40, 60), (90, 10, 90))

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Surface:
    """Corners in mm, four-sided faces, and per corner the distance to the other surface in mm (0 without another).

    `origin` leads from these corners to millimetres from the middle of the first voxel of the upright grid.
    """

    points: Floats
    faces: npt.NDArray[np.int64]
    distances: Floats
    origin: Floats

    def packed(self, largest_mm: float) -> dict[str, Any]:
        """Return the surface as small numbers in base64, for the script of the page."""
        centre = (self.points.max(axis=0) + self.points.min(axis=0)) / 2
        reach = float(np.abs(self.points - centre).max()) or 1.0
        # Turned about any axis it still fits: the farthest corner, not the longest side.
        reach = max(reach, float(np.linalg.norm(self.points - centre, axis=1).max()))
        points = np.round((self.points - centre) / reach * 32767).astype("<i2")
        shades = np.round(255 * np.clip(self.distances / max(largest_mm, 1e-6), 0, 1)).astype(np.uint8)
        return {
            "points": _base64(points),
            "faces": _base64(self.faces.astype("<u2")),
            "values": _base64(shades),
            "palette": [list(colour) for colour in PALETTE],
            "centre": [float(place) for place in centre + self.origin],
            "reach": reach,
        }


def _base64(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def surface_of(mask: Bools, other: Bools, spacing: tuple[float, float, float]) -> Surface:
    """Return the surface of a mask, with the distance of each corner to the surface of the other mask.

    Both are thinned to the same coarse grid first: the view shows where it differs, the numbers come from the metrics.
    """
    box = box_of(mask | other, (1, 1, 1))
    for voxels in MOST_VOXELS:
        factor = _factor(mask[box].shape, spacing, voxels)
        edges: Floats = np.asarray(spacing, dtype=np.float64) * factor
        points, faces = _mesh(_thinned(mask[box], factor), edges)
        if len(faces) <= MOST_FACES:
            break
    # Faces are counted from a grid with one coarse voxel around it, and voxels of the image from their middle.
    start = np.array([part.start for part in box], dtype=np.float64)
    origin: Floats = (start - 0.5) * np.asarray(spacing) - edges
    if not other.any():
        return Surface(points, faces, np.zeros(len(points)), origin)
    from scipy.spatial import cKDTree

    targets, _ = _mesh(_thinned(other[box], factor), edges)
    distances, _ = cKDTree(targets).query(points)
    return Surface(points, faces, np.asarray(distances, dtype=np.float64), origin)


def _factor(shape: tuple[int, ...], spacing: tuple[float, float, float], voxels: int) -> npt.NDArray[np.int64]:
    """Return how many voxels make one coarse one along each axis, so that coarse ones are nearly cubes."""
    lengths = np.array(shape) * np.array(spacing)
    edge = lengths.max() / voxels
    return np.asarray(np.maximum(1, np.round(edge / np.array(spacing))), dtype=np.int64)


def _thinned(mask: Bools, factor: npt.NDArray[np.int64]) -> Bools:
    """Return the mask on the coarse grid: a coarse voxel is inside if half of its voxels are, or if it is all it has.

    A structure that would vanish is kept whole: then any voxel counts.
    """
    padding = [(0, int(-size % step)) for size, step in zip(mask.shape, factor, strict=True)]
    padded = np.pad(mask, padding)
    counts = [n // int(step) for n, step in zip(padded.shape, factor, strict=True)]
    blocks = padded.reshape(counts[0], factor[0], counts[1], factor[1], counts[2], factor[2])
    share = blocks.mean(axis=(1, 3, 5))
    coarse = np.asarray(share >= 0.5)
    return coarse if coarse.any() else np.asarray(share > 0)


def _mesh(mask: Bools, edges: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the outer faces of the voxels as a mesh with shared corners, smoothed a little."""
    padded = np.pad(mask, 1)
    corners = []
    for axis in range(3):
        inside = np.diff(padded.astype(np.int8), axis=axis)
        where = np.argwhere(inside != 0).astype(np.int64)
        first, second = (other for other in range(3) if other != axis)
        # The face lies between two voxels: at the lower corner of the second one.
        base = where.copy()
        base[:, axis] += 1
        square = np.repeat(base[:, None, :], 4, axis=1)
        square[:, 1, first] += 1
        square[:, 2, [first, second]] += 1
        square[:, 3, second] += 1
        # Seen from outside, the corners of every face run counterclockwise.
        backwards = (inside[tuple(where.T)] > 0) != (axis == 1)
        square[backwards] = square[backwards][:, ::-1]
        corners.append(square)
    squares = np.concatenate(corners)
    points, faces = np.unique(squares.reshape(-1, 3), axis=0, return_inverse=True)
    quads = faces.reshape(-1, 4).astype(np.int64)
    return _smoothed(points.astype(np.float64) * edges, quads), quads


def _smoothed(points: Floats, quads: npt.NDArray[np.int64]) -> Floats:
    """Move each corner towards the mean of its neighbours, forth and back (Taubin), so that the volume stays."""
    ends = np.concatenate([quads[:, [k, (k + 1) % 4]] for k in range(4)])
    for weight in (0.5, -0.53) * (SMOOTHING_STEPS // 2):
        sums = np.zeros_like(points)
        np.add.at(sums, ends[:, 0], points[ends[:, 1]])
        np.add.at(sums, ends[:, 1], points[ends[:, 0]])
        degree = np.bincount(ends.ravel(), minlength=len(points)).astype(np.float64)
        points = points + weight * (sums / degree[:, None] - points)
    return points
