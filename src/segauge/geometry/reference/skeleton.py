"""Reference: thinning a mask to its curve skeleton.

The order of removal is that of depth: the squared distance to the background and, where that is the same, the sum of
it over the 3 x 3 x 3 voxels around. Neither depends on how the axes run, so that a flipped or permuted image gives
nearly the same skeleton; only exact ties are settled by direction.

Voxels of one depth are taken together with all shallower ones that are left. In turns, one for each direction, those
are chosen that lie open in that direction, are simple, and have more than one neighbour (an only neighbour makes the
end of a curve, which is kept). They are then removed one after the other if they still are simple, except for one
whose only neighbour was chosen too. This goes on until a round through all directions removes nothing.
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
        while pool:
            pool = _thinned_once(left, pool, reached, directions)
    return ReferenceMask(left[1:-1, 1:-1, 1:-1].reshape(mask.array.shape).copy())


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


def _piece(seed: int, members: set[int], reach: int) -> set[int]:
    """Return what hangs together with the seed; neighbours differ by one along at most `reach` axes."""
    found, front = {seed}, [seed]
    while front:
        here = np.array(_AROUND[front.pop()])
        for other in members - found:
            steps = np.abs(here - _AROUND[other])
            if steps.max() == 1 and steps.sum() <= reach:
                found.add(other)
                front.append(other)
    return found


def _thinned_once(
    left: npt.NDArray[np.bool_], pool: set[Voxel], reached: set[Voxel], directions: Iterable[Voxel]
) -> set[Voxel]:
    """Remove what can be removed in a turn for each direction; return the voxels whose neighbourhood has changed."""
    changed: set[Voxel] = set()
    for direction in directions:
        chosen = {voxel for voxel in pool | changed if left[voxel] and _is_removable(left, voxel, direction)}
        for voxel in sorted(chosen):
            neighbours = _neighbours(left, voxel)
            ends_a_curve = len(neighbours) == 1 and neighbours[0] in chosen
            if not ends_a_curve and is_simple(_bits(left, voxel)):
                left[voxel] = False
                changed |= reached & set(neighbours)
    return {voxel for voxel in changed if left[voxel]}


def _is_removable(left: npt.NDArray[np.bool_], voxel: Voxel, direction: Voxel) -> bool:
    if left[_step(voxel, direction)]:
        return False
    around = _bits(left, voxel)
    return around.bit_count() > 2 and is_simple(around)


def _bits(left: npt.NDArray[np.bool_], voxel: Voxel) -> int:
    z, y, x = voxel
    return int(left[z - 1 : z + 2, y - 1 : y + 2, x - 1 : x + 2].ravel() @ _POWERS)


def _neighbours(left: npt.NDArray[np.bool_], voxel: Voxel) -> list[Voxel]:
    around = (_step(voxel, step) for i, step in enumerate(_AROUND) if i != _CENTER)
    return [neighbour for neighbour in around if left[neighbour]]


def _step(voxel: Voxel, step: Voxel) -> Voxel:
    return voxel[0] + step[0], voxel[1] + step[1], voxel[2] + step[2]


def _by_depth(left: npt.NDArray[np.bool_], depths: npt.NDArray[np.int64]) -> list[tuple[int, int, Voxel]]:
    """Return depth, depth around, and place of every voxel of the mask (places in the padded array), sorted."""
    framed = np.pad(depths, 2)
    shape = left.shape
    around = sum(
        framed[1 + z : 1 + z + shape[0], 1 + y : 1 + y + shape[1], 1 + x : 1 + x + shape[2]] for z, y, x in _AROUND
    )
    places: list[Voxel] = [(z, y, x) for z, y, x in np.argwhere(left).tolist()]
    inner = framed[1:-1, 1:-1, 1:-1]
    return sorted((int(inner[place]), int(np.asarray(around)[place]), place) for place in places)


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
