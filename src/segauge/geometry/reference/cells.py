"""Reference: distances between the surface cells of two masks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from segauge.geometry.reference.masks import ReferenceMask

FloatArray = npt.NDArray[np.float64]


def cell_distances(
    a: ReferenceMask, b: ReferenceMask, spacing: Sequence[float], areas: FloatArray, threads: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return distances and areas of the surface cells of `a`, then of `b`, each in raster order.

    A distance is that to the nearest surface cell of the other mask, centre to centre; infinite where it has none.
    """
    del threads
    codes_a, codes_b = _cell_codes(a.array), _cell_codes(b.array)
    return *_one_way(codes_a, codes_b, spacing, areas), *_one_way(codes_b, codes_a, spacing, areas)


def _cell_codes(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Return the code of every cell: in 3-D bit 4 dz + 2 dy + dx says whether its corner (dz, dy, dx) is set."""
    padded = np.pad(mask, 1)
    codes = np.zeros(tuple(n - 1 for n in padded.shape), dtype=np.uint8)
    for bit, corner in enumerate(itertools.product((0, 1), repeat=mask.ndim)):
        part = tuple(slice(offset, offset + n) for offset, n in zip(corner, codes.shape, strict=True))
        codes |= padded[part].astype(np.uint8) << bit
    return codes


def _one_way(
    codes: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8], spacing: Sequence[float], areas: FloatArray
) -> tuple[FloatArray, FloatArray]:
    from scipy import ndimage

    surface, target = _is_surface(codes), _is_surface(other)
    if not target.any():
        return np.full(np.count_nonzero(surface), np.inf), areas[codes[surface]]
    distances: FloatArray = ndimage.distance_transform_edt(~target, sampling=spacing)
    return distances[surface], areas[codes[surface]]


def _is_surface(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    full = 2 ** (2**codes.ndim) - 1
    surface: npt.NDArray[np.bool_] = (codes != 0) & (codes != full)
    return surface
