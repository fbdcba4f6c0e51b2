"""Fill planar contours on a grid of pixel centres: even-odd rule, exact in the contour's own coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]

#: A pixel centre no further from a contour line than this, in pixels, lies on it. Contours traced along pixel
#: centres (rt-utils does so) come back from their decimal text with errors above 1e-6; a wider band would add pixels
#: that are truly outside.
ON_LINE = 1e-5

#: Two contours whose points lie no further apart than this, in pixels, are one: no hole is drawn so close to its
#: outline, but the same outline is written with more digits here than there.
_SAME_POINT = 0.02


@dataclass(frozen=True, eq=False)
class FilledArea:
    """Foreground within a rectangle of an image: where it starts, and its pixels."""

    start: tuple[int, int]
    mask: npt.NDArray[np.bool_]


def fill(polygons: Sequence[Points], shape: tuple[int, int]) -> FilledArea:
    """Return the pixels whose centre is inside an odd number of the closed polygons, or on one of their lines.

    Points are (x, y) in pixels, the centre of pixel (i, j) at x = i, y = j; the mask has axes (i, j). A hole drawn
    inside of an outline, or joined to it by a keyhole cut, stays a hole; the cut itself stays filled.
    """
    starts, ends = _edges(polygons)
    low = np.maximum(np.ceil(starts.min(axis=0) - ON_LINE), 0).astype(np.int64)
    high = np.minimum(np.floor(starts.max(axis=0) + ON_LINE), np.asarray(shape) - 1).astype(np.int64)
    size = np.maximum(high - low + 1, 0)
    if not size.all():
        return FilledArea((0, 0), np.zeros((0, 0), dtype=np.bool_))
    starts, ends = starts - low, ends - low
    width, height = (int(n) for n in size)
    mask = _odd_crossings(starts, ends, width, height)
    _mark_lines(mask, starts, ends)
    _mark_lines(mask.T, starts[:, ::-1], ends[:, ::-1])
    return FilledArea((int(low[0]), int(low[1])), mask)


def without_repeats(polygons: Sequence[Points]) -> list[Points]:
    """Return the polygons, each once: one that was stored twice would be its own hole by the even-odd rule.

    The same line may start at another point, and run the other way round.
    """
    kept: list[Points] = []
    # By number of points and place, so that ten thousand contours of a slice are not compared each with each.
    known: dict[tuple[int, int, int], list[Points]] = {}
    for polygon in polygons:
        steps = np.abs(polygon - np.roll(polygon, 1, axis=0)).max(axis=1)
        corners = polygon[steps > ON_LINE]  # without points that stand twice in a row, such as a closing one
        x, y = np.floor(corners.mean(axis=0) if len(corners) else np.zeros(2)).astype(np.int64).tolist()
        near = [(len(corners), x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        if not any(_same_line(corners, other) for place in near for other in known.get(place, ())):
            kept.append(polygon)
            known.setdefault((len(corners), x, y), []).append(corners)
    return kept


def _same_line(one: Points, other: Points) -> bool:
    if len(one) != len(other) or not len(one) or np.abs(one.mean(axis=0) - other.mean(axis=0)).max() > _SAME_POINT:
        return False
    for line in (other, other[::-1]):
        starts = np.flatnonzero(np.abs(line - one[0]).max(axis=1) <= _SAME_POINT)
        if any(np.abs(np.roll(line, -start, axis=0) - one).max() <= _SAME_POINT for start in starts.tolist()):
            return True
    return False


def _edges(polygons: Sequence[Points]) -> tuple[Points, Points]:
    """Return start and end of every edge, the closing one included."""
    starts = np.concatenate(list(polygons))
    ends = np.concatenate([np.roll(polygon, -1, axis=0) for polygon in polygons])
    return starts, ends


def _odd_crossings(starts: Points, ends: Points, width: int, height: int) -> npt.NDArray[np.bool_]:
    """Return which centres see an odd number of edges to their left; an edge counts its lower end, not its upper."""
    lower = np.minimum(starts[:, 1], ends[:, 1])
    upper = np.maximum(starts[:, 1], ends[:, 1])
    edge, row = _integers_between(np.maximum(lower, 0), np.minimum(upper, height), half_open=True)
    slope = (ends[edge, 0] - starts[edge, 0]) / (ends[edge, 1] - starts[edge, 1])
    crossing = starts[edge, 0] + (row - starts[edge, 1]) * slope
    column = np.clip(np.ceil(crossing), 0, width).astype(np.int64)
    toggles = np.zeros((width + 1, height), dtype=np.uint8)
    np.add.at(toggles, (column, row), 1)  # wraps at 256, which keeps odd and even
    parity: npt.NDArray[np.bool_] = (np.cumsum(toggles[:width], axis=0, dtype=np.uint8) & 1).astype(np.bool_)
    return parity


def _mark_lines(mask: npt.NDArray[np.bool_], starts: Points, ends: Points) -> None:
    """Mark the centres that lie on an edge, found row by row (called again with x and y exchanged)."""
    width, height = mask.shape
    lower = np.maximum(np.minimum(starts[:, 1], ends[:, 1]) - ON_LINE, 0)
    upper = np.minimum(np.maximum(starts[:, 1], ends[:, 1]) + ON_LINE, height - 1)
    edge, row = _integers_between(lower, upper, half_open=False)
    run = ends[edge, 1] - starts[edge, 1]
    steep = np.abs(run) > ON_LINE
    share = np.where(steep, (row - starts[edge, 1]) / np.where(steep, run, 1.0), 0.0)
    crossing = starts[edge, 0] + np.clip(share, 0.0, 1.0) * (ends[edge, 0] - starts[edge, 0])
    column = np.rint(crossing)
    on_line = (np.abs(crossing - column) <= ON_LINE) & (column >= 0) & (column < width)
    mask[column[on_line].astype(np.int64), row[on_line]] = True


def _integers_between(
    lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64], *, half_open: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return, for each interval [lower, upper) or [lower, upper], its index and every integer in it."""
    first = np.ceil(lower).astype(np.int64)
    last = (np.ceil(upper) - 1 if half_open else np.floor(upper)).astype(np.int64)
    count = np.maximum(last - first + 1, 0)
    index = np.repeat(np.arange(len(first)), count)
    offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return index, first[index] + offset
