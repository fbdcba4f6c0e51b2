"""The atlas of the classical methods: where each organ usually is inside the body, learned from scenes of its own.

Its scenes have seeds that no phantom benchmark uses, so no method has seen a patient that it is scored on.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from segauge import Grid
from segauge.phantoms import scene

FloatArray = npt.NDArray[np.float32]

#: Labels of the scenes: background, liver, lesions, spleen, left and right kidney, aorta, bladder wall, vertebra.
N_LABELS = 9
LIVER, LESIONS = 1, 2

#: Attenuation to expect in HU (that of the lesions was chosen together with the phantoms) and how far it may be off.
EXPECTED_HU = np.array([40, 110, 35, 130, 170, 170, 210, 85, 260], dtype=np.float32)
SPREAD_HU = np.array([30, 15, 15, 15, 25, 25, 35, 20, 60], dtype=np.float32)

_SEEDS = range(3_000_000_000, 3_000_000_012)
_SHAPE = (36, 32, 34)
_SOFTNESS = 0.9

#: Share of the liver that is expected to be lesion, wherever it is.
_LESION_SHARE = 0.1


def probabilities(shape: tuple[int, ...]) -> FloatArray:
    """Return the probability of each label at each voxel of a body that fills a box of this shape (LPS axes)."""
    from scipy import ndimage

    scale = [old / new for old, new in zip(_SHAPE, shape, strict=True)]
    offsets = [0.5 * step - 0.5 for step in scale]
    placed = np.stack(
        [
            ndimage.affine_transform(part, scale, offset=offsets, output_shape=shape, order=1, mode="nearest")
            for part in _mean_scene()
        ]
    )
    total: FloatArray = np.maximum(placed.sum(axis=0), 1e-9)
    return np.asarray(placed / total, dtype=np.float32)


@cache
def _mean_scene() -> FloatArray:
    """Return how often each label is at each place of the atlas, softened."""
    from scipy import ndimage

    counts = np.zeros((N_LABELS, *_SHAPE), dtype=np.float32)
    room = Grid(_SHAPE, np.diag([-8.0, -8.0, 8.0, 1.0]))
    for seed in _SEEDS:
        labels = scene(room, seed=seed, lesions=0).label_map.layers[0]
        for label in range(N_LABELS):
            counts[label] += labels == label
    counts /= len(_SEEDS)
    soft = np.stack([ndimage.gaussian_filter(count, _SOFTNESS, mode="nearest") for count in counts])
    soft[LESIONS] = soft[LIVER] * _LESION_SHARE
    return np.asarray(soft, dtype=np.float32)


def body_box(image: npt.NDArray[np.float32]) -> tuple[slice, ...]:
    """Return the box around what is denser than fat: the body."""
    body = image > -300.0
    box = []
    for axis in range(3):
        share = body.mean(axis=tuple(other for other in range(3) if other != axis))
        found = np.flatnonzero(share > 0.02)
        first, last = (int(found[0]), int(found[-1]) + 1) if found.size else (0, image.shape[axis])
        box.append(slice(first, last))
    return tuple(box)
