"""Reference: thinning a mask to its curve skeleton.

Voxels are taken in the order of their depth: the squared distance to the background and, inside, the sum of it over
the 3 x 3 x 3 voxels around. Neither depends on how the axes run, so a flipped or permuted image gets nearly the same
skeleton.

A voxel is removable if it is simple (removing it changes no topology) and has more than one neighbour (an only
neighbour makes it the end of a curve, which is kept). Of one depth and all shallower voxels that are left, in rounds:
all that can go together, in whatever order, are removed at once; then, for each direction, those that wait since the
round began, lie open to it, and can go together. If a whole round removes nothing, voxels are removed one by one
that are not neighbours of each other. When nothing is removable any more, the next depth follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby, product

import numpy as np
import numpy.typing as npt

from segauge.geometry.reference.masks import ReferenceMask

Voxel = tuple[int, int, int]

_AROUND: list[Voxel] = [(z, y, x) for z, y, x in product((-1, 0, 1), repeat=3)]
_CENTER = 13
_DIRECTIONS: list[Voxel] = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
_FACES = frozenset(i for i, step in enumerate(_AROUND) if np.abs(step).sum() == 1)
_FACES_AND_EDGES = frozenset(i for i, step in enumerate(_AROUND) if np.abs(step).sum() in (1, 2))
_POWERS = 1 << np.arange(27)


def skeletonize(mask: ReferenceMask) -> ReferenceMask:
    """Return the curve skeleton of a mask: the same topology, thin, centered, ends of curves kept.

    Foreground is 26-connected and background 6-connected (8 and 4 in 2-D); outside the image is background.
    """
    volume = mask.array if mask.array.ndim == 3 else mask.array[np.newaxis]
    depths = _squared_depths(volume, flat=mask.array.ndim == 2)
    left = np.pad(volume, 1)
    directions = _DIRECTIONS if mask.array.ndim == 3 else _DIRECTIONS[2:]
    reached: set[Voxel] = set()
    for _, members in groupby(_by_depth(left, depths), key=lambda entry: entry[:2]):
        pool = {voxel for _, _, voxel in members}
        reached |= pool
        while pool := {voxel for voxel in pool if _is_removable(left, voxel)}:
            pool |= reached & _thin_once(left, pool, directions)
    return ReferenceMask(left[1:-1, 1:-1, 1:-1].reshape(mask.array.shape).copy())


def skeletonize_pair(a: ReferenceMask, b: ReferenceMask, threads: int) -> tuple[ReferenceMask, ReferenceMask]:
    """Return the skeletons of two masks."""
    del threads
    return skeletonize(a), skeletonize(b)


@lru_cache(maxsize=1 << 18)
def is_simple(around: int) -> bool:
    """Say whether removing a voxel changes no topology, from the 27 bits around it (bit 9 z + 3 y + x; 13 itself).

    Its neighbours in the mask must be one piece (by corners, edges or faces), and the background voxels that touch
    its faces one piece too (by faces, within the 18 voxels that share a face or an edge with it).
    """
    mask = {i for i in range(27) if around >> i & 1} - {_CENTER}
    background = {i for i in _FACES_AND_EDGES if not around >> i & 1}
    doors = background & _FACES
    if not mask or not doors:
        return False
    return _piece(min(mask), mask, reach=3) == mask and doors <= _piece(min(doors), background, reach=1)


@lru_cache(maxsize=1 << 18)
def is_simple_among(around: int, chosen: int) -> bool:
    """Say whether a simple voxel stays simple whichever of the other chosen voxels around it are removed.

    These are the P-simple points of Bertrand (1995): what stays for certain is one piece, which every chosen
    neighbour touches; and past every chosen face neighbour the background has a way, over another face neighbour of
    the voxel and the edge neighbour between the two.
    """
    leaving = {i for i in range(27) if chosen >> i & 1} - {_CENTER}
    staying = {i for i in range(27) if around >> i & 1} - {_CENTER} - leaving
    if not staying or _piece(min(staying), staying, reach=3) != staying:
        return False
    if not all(any(_touch(one, other, reach=3) for other in staying) for one in leaving):
        return False
    background = {i for i in _FACES_AND_EDGES if not around >> i & 1}
    ways = {i for i in background - _FACES if any(_touch(i, door, reach=1) for door in background & _FACES)}
    return all(any(_touch(one, way, reach=1) for way in ways) for one in leaving & _FACES)


def _touch(one: int, other: int, reach: int) -> bool:
    """Say whether two voxels differ by at most one along every axis, and along no more than `reach` of them."""
    steps = [abs(a - b) for a, b in zip(_AROUND[one], _AROUND[other], strict=True)]
    return max(steps) <= 1 and sum(steps) <= reach


def _piece(seed: int, members: set[int], reach: int) -> set[int]:
    """Return what hangs together with the seed by neighbours that touch."""
    found, front = {seed}, [seed]
    while front:
        here = front.pop()
        fresh = {other for other in members - found if _touch(here, other, reach)}
        found |= fresh
        front += fresh
    return found


def _thin_once(left: npt.NDArray[np.bool_], pool: set[Voxel], directions: Iterable[Voxel]) -> set[Voxel]:
    """Remove voxels of the pool in one round; return the voxels around those that were removed."""
    gone, waiting = _remove_together(left, pool), pool
    for direction in directions:
        waiting = {voxel for voxel in waiting if _is_removable(left, voxel)}
        gone |= _remove_together(left, {voxel for voxel in waiting if not left[_step(voxel, direction)]})
    if not gone:
        gone = _remove_apart(left, pool)
    return {_step(voxel, step) for voxel in gone for step in _AROUND}


def _remove_together(left: npt.NDArray[np.bool_], chosen: set[Voxel]) -> set[Voxel]:
    """Remove those of the chosen voxels that can go whichever of the others go; return them."""
    marked = np.zeros_like(left)
    marked[tuple(np.array(sorted(chosen), dtype=np.intp).reshape(-1, 3).T)] = True
    going = {voxel for voxel in chosen if is_simple_among(_bits(left, voxel), _bits(marked, voxel))}
    for voxel in going:
        left[voxel] = False
    return going


def _remove_apart(left: npt.NDArray[np.bool_], pool: set[Voxel]) -> set[Voxel]:
    """Remove one voxel after the other, but no two neighbours; return them."""
    going: set[Voxel] = set()
    for voxel in sorted(pool):
        if not any(_step(voxel, step) in going for step in _AROUND):
            going.add(voxel)
            left[voxel] = False
    return going


def _is_removable(left: npt.NDArray[np.bool_], voxel: Voxel) -> bool:
    around = _bits(left, voxel)
    return bool(left[voxel]) and around.bit_count() > 2 and is_simple(around)


def _bits(left: npt.NDArray[np.bool_], voxel: Voxel) -> int:
    z, y, x = voxel
    return int(left[z - 1 : z + 2, y - 1 : y + 2, x - 1 : x + 2].ravel() @ _POWERS)


def _step(voxel: Voxel, step: Voxel) -> Voxel:
    return voxel[0] + step[0], voxel[1] + step[1], voxel[2] + step[2]


def _by_depth(left: npt.NDArray[np.bool_], depths: npt.NDArray[np.int64]) -> list[tuple[int, int, Voxel]]:
    """Return depth, depth around, and place (in the padded array) of every voxel of the mask, sorted.

    The outermost voxels are all alike: in a mask that is nowhere deeper, an order among them would only wear away
    the ends.
    """
    framed = np.pad(depths, 2)
    shape = left.shape
    around = sum(
        framed[1 + z : 1 + z + shape[0], 1 + y : 1 + y + shape[1], 1 + x : 1 + x + shape[2]] for z, y, x in _AROUND
    )
    places: list[Voxel] = [(z, y, x) for z, y, x in np.argwhere(left).tolist()]
    inner = framed[1:-1, 1:-1, 1:-1]
    return sorted((int(d := inner[place]), int(np.asarray(around)[place]) if d > 1 else 0, place) for place in places)


def _squared_depths(volume: npt.NDArray[np.bool_], *, flat: bool) -> npt.NDArray[np.int64]:
    """Return every voxel's squared distance to the nearest background voxel, one axis after the other."""
    framed = np.pad(volume, 1)
    squares = np.where(framed, np.int64(1) << 40, 0)
    for axis in (1, 2) if flat else (0, 1, 2):
        lines = np.moveaxis(squares, axis, 0)
        best = lines.copy()
        for k in range(1, len(lines)):
            best[k:] = np.minimum(best[k:], lines[:-k] + k * k)
            best[:-k] = np.minimum(best[:-k], lines[k:] + k * k)
        squares = np.moveaxis(best, 0, axis)
    return squares[1:-1, 1:-1, 1:-1]
