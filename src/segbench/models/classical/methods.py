"""Five classical segmenters, from bare thresholds to Markov random fields: NumPy and SciPy, nothing learned from scans.

Each takes the image inside the body (HU, LPS axes) and the atlas there, and returns labels of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from segbench.models.classical.atlas import EXPECTED_HU, LESIONS, LIVER, N_LABELS, SPREAD_HU, FloatArray

Labels = npt.NDArray[np.uint8]
Method = Callable[[FloatArray, FloatArray], Labels]

#: How much a neighbour of the same label is worth, in units of log probability.
_COUPLING = 0.5


def threshold(image: FloatArray, atlas: FloatArray) -> Labels:
    """Give each voxel the likeliest label of the atlas whose window of HU holds it; no voxel knows its neighbours."""
    fits = np.abs(image[None] - EXPECTED_HU[:, None, None, None]) <= 2.0 * SPREAD_HU[:, None, None, None]
    fits[0] = True
    chance = np.where(fits & (atlas > 0.05), atlas, 0.0)
    # A lesion is where the liver should be, but too dark for it.
    chance[LESIONS] = np.where(fits[LESIONS] & ~fits[LIVER] & (atlas[LIVER] > 0.8), 0.5, 0.0)
    chance[0] = 0.15
    return _labels(chance)


def smoothed_threshold(image: FloatArray, atlas: FloatArray) -> Labels:
    """Blur the noise away first, then threshold: rounds off what is small."""
    return threshold(_smooth(image, 0.7), atlas)


def region_growing(image: FloatArray, atlas: FloatArray) -> Labels:
    """Grow each organ from where the atlas is sure, over voxels like those it has, as far as the atlas allows."""
    from scipy import ndimage

    smooth = _smooth(image, 0.7)
    found = np.zeros(image.shape, dtype=np.uint8)
    for label in (label for label in range(1, N_LABELS) if label != LESIONS):
        likely = atlas[label] > 0.04
        seed = likely & (atlas[label] >= 0.8 * atlas[label].max())
        mean = float(np.median(smooth[seed]))
        similar = likely & (np.abs(smooth - mean) <= 2.0 * SPREAD_HU[label]) & (found == 0)
        regions, _ = ndimage.label(similar)
        kept = np.unique(regions[seed & similar])
        found[np.isin(regions, kept[kept > 0])] = label
    # Dark holes deep in the liver are lesions.
    holes = (found == 0) & (atlas[LIVER] > 0.7) & (smooth < EXPECTED_HU[LIVER] - 30.0)
    pieces, count = ndimage.label(holes)
    sizes = np.bincount(pieces.ravel(), minlength=count + 1)
    found[(sizes[pieces] >= 4) & holes] = LESIONS
    return found


def iterated_modes(image: FloatArray, atlas: FloatArray) -> Labels:
    """Markov random field, label after label: each voxel takes the best label given its six neighbours (ICM)."""
    evidence = _evidence(image, atlas)
    labels = _labels(evidence)
    for _ in range(6):
        neighbours = _neighbour_sums(np.stack([labels == label for label in range(N_LABELS)]).astype(np.float32))
        labels = _labels(evidence + _COUPLING * neighbours)
    return labels


def mean_field(image: FloatArray, atlas: FloatArray) -> Labels:
    """The same field, but every voxel keeps its doubts: probabilities are passed on instead of labels."""
    evidence = _evidence(image, atlas)
    belief = _softmax(evidence)
    for _ in range(6):
        belief = 0.5 * belief + 0.5 * _softmax(evidence + _COUPLING * _neighbour_sums(belief))
    return _labels(belief)


METHODS: dict[str, Method] = {
    "threshold": threshold,
    "smoothed-threshold": smoothed_threshold,
    "region-growing": region_growing,
    "iterated-modes": iterated_modes,
    "mean-field": mean_field,
}


def _evidence(image: FloatArray, atlas: FloatArray) -> FloatArray:
    """Return the log probability of each label by place and attenuation, neighbours aside.

    The attenuation of each organ is learned from the scan itself, twice, starting from the textbook.
    """
    image = _smooth(image, 0.6)
    noise = _noise(image)
    means = EXPECTED_HU.copy()
    log_atlas = np.log(np.maximum(atlas, 1e-6))
    smooth = _smooth(image, 0.8)
    for _ in range(2):
        sure = _labels(log_atlas - 0.5 * ((smooth[None] - means[:, None, None, None]) / _wide(SPREAD_HU)) ** 2)
        for label in range(1, N_LABELS):
            inside = smooth[(sure == label) & (atlas[label] > 0.3)] if label != LESIONS else smooth[sure == label]
            if inside.size >= 20:
                means[label] = float(np.clip(np.median(inside), *(EXPECTED_HU[label] + [-60.0, 60.0])))
    spread = np.hypot(noise, np.where(np.arange(N_LABELS) == 0, 25.0, 10.0)).astype(np.float32)
    distance = (image[None] - means[:, None, None, None]) / _wide(spread)
    # The background is fat, tissue and urine: a wide, flat distribution instead of one mean.
    distance[0] = np.where(image > means[0], distance[0], 0.0)
    evidence: FloatArray = log_atlas - 0.5 * np.minimum(distance**2, 50.0) - np.log(_wide(spread))
    return evidence


def _noise(image: FloatArray) -> float:
    """Return the standard deviation of the noise, from differences of neighbours along the slices."""
    steps = np.diff(image, axis=2)
    return float(1.4826 * np.median(np.abs(steps)) / np.sqrt(2.0))


def _wide(values: FloatArray) -> FloatArray:
    return values[:, None, None, None]


def _smooth(image: FloatArray, voxels: float) -> FloatArray:
    from scipy import ndimage

    return np.asarray(ndimage.gaussian_filter(image, voxels), dtype=np.float32)


def _neighbour_sums(values: FloatArray) -> FloatArray:
    """Return for each voxel the sum over its six neighbours; outside there is nothing."""
    sums = np.zeros_like(values)
    for axis in (1, 2, 3):
        ahead = [slice(None)] * 4
        behind = [slice(None)] * 4
        ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
        sums[tuple(ahead)] += values[tuple(behind)]
        sums[tuple(behind)] += values[tuple(ahead)]
    return sums


def _softmax(scores: FloatArray) -> FloatArray:
    weights: FloatArray = scores - scores.max(axis=0)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=0)
    return weights


def _labels(scores: FloatArray) -> Labels:
    return np.asarray(np.argmax(scores, axis=0), dtype=np.uint8)
