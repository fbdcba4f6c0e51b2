"""Near-duplicate images between two datasets, found by what is in them, whatever they are called.

A fingerprint is some hundred distinct places of an image, and what it looks like around each. A place is a blob: a
local extremum of the difference of two Gaussians, whose widths are in mm, so that another voxel size finds the same
ones. Around it the smoothed image is sampled on a cube of some 40 mm and freed of mean and contrast, so that
intensities may be scaled and shifted. Two images are near-duplicates if many of their places look alike *and* lie apart
by one and the same step: cropping takes places away, but moves none of them against the others. Axes are brought to RAS
by the affine. Turned, mirrored or stretched copies (a lost voxel size) are not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import InvalidInput, SegaugeError
from segauge.io import Image, read_image
from segauge.io.formats import image_stem
from segbench.registry import DATASETS, Progress, dataset, offers

FloatArray = npt.NDArray[np.float64]

#: Voxel edge that images are brought to, widths of the two Gaussians, and the cube of samples, all in mm.
_STEP_MM = 4.0
_WIDTHS_MM = (6.0, 10.0)
_NEIGHBOURHOOD_MM = 20.0
_SAMPLES_MM = np.arange(-18.0, 18.1, 9.0)

#: Places that a fingerprint keeps: the strongest ones.
_PLACES = 200

#: A place looks like another one if the correlation of their surroundings is at least this.
_ALIKE = 0.95

#: Two pairs of places tell the same step if they differ by no more than this in mm: one voxel of the common grid.
_SAME_STEP_MM = 5.0

#: So many places must agree, and such a share of those that could.
_MIN_VOTES, _MIN_SHARE = 8, 0.15


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Places in mm (RAS), one row each, and the surroundings of each, of mean 0 and length 1."""

    places: FloatArray
    surroundings: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Likeness:
    """How alike two images are.

    Attributes:
        votes: places that look alike and lie apart by the same step.
        share: votes per place that both could show, were they the same scan.
        offset_mm: the step from the first to the second image, in mm (RAS).

    """

    votes: int
    share: float
    offset_mm: tuple[float, float, float]

    @property
    def is_duplicate(self) -> bool:
        """True if so many places agree that the images must show the same scan."""
        return self.votes >= _MIN_VOTES and self.share >= _MIN_SHARE


def fingerprint(image: Image) -> Fingerprint:
    """Return the fingerprint of an image.

    Raises:
        InvalidInput: if the image shows too little: it is smaller than some 6 cm along an axis, or flat.

    """
    array, first = _on_common_grid(image)
    fine, coarse = (_blurred(array, width) for width in _WIDTHS_MM)
    index = _extrema((fine - coarse) / _contrast(fine))
    if len(index) < _MIN_VOTES:
        raise InvalidInput(
            f"{image.source}: shows {len(index)} distinct places, at least {_MIN_VOTES} are needed to recognise it. "
            "It may be smaller than 6 cm, or almost uniform."
        )
    return Fingerprint(first + index * _STEP_MM, _surroundings(fine, index))


def compare_fingerprints(one: Fingerprint, other: Fingerprint) -> Likeness:
    """Return how alike two images are."""
    correlation = one.surroundings @ other.surroundings.T
    best = np.argmax(correlation, axis=1)
    rows = np.arange(len(one))
    mutual = np.argmax(correlation, axis=0)[best] == rows
    chosen = rows[mutual & (correlation[rows, best] >= _ALIKE)]
    if not len(chosen):
        return Likeness(0, 0.0, (0.0, 0.0, 0.0))
    steps = other.places[best[chosen]] - one.places[chosen]
    agreeing = np.linalg.norm(steps[:, None] - steps[None], axis=2) <= _SAME_STEP_MM
    winner = agreeing[int(np.argmax(agreeing.sum(axis=1)))]
    step: FloatArray = np.median(steps[winner], axis=0)
    votes = int(np.count_nonzero(winner))
    possible = min(_within(one.places + step, other.places), _within(other.places - step, one.places))
    return Likeness(votes, votes / max(possible, votes), (float(step[0]), float(step[1]), float(step[2])))


def _within(places: FloatArray, others: FloatArray) -> int:
    """Return how many places lie in the box of the others: a crop can only show what is in it."""
    inside = (places >= others.min(axis=0) - _STEP_MM) & (places <= others.max(axis=0) + _STEP_MM)
    return int(np.count_nonzero(inside.all(axis=1)))


def _on_common_grid(image: Image) -> tuple[FloatArray, FloatArray]:
    """Return the image on voxels of the common size along RAS axes, and where its first voxel lies in mm."""
    from scipy import ndimage

    array, directions, origin = _in_ras(image)
    edges = np.linalg.norm(directions, axis=0)
    values = np.nan_to_num(array.astype(np.float64))
    # Finer voxels are averaged before they are skipped.
    values = ndimage.gaussian_filter(values, np.maximum(0.0, 0.5 * (_STEP_MM / edges - 1.0)))
    shape = np.maximum(1, np.floor((np.asarray(array.shape) - 1) * edges / _STEP_MM).astype(int) + 1)
    resampled = ndimage.affine_transform(
        values, _STEP_MM / edges, output_shape=tuple(shape.tolist()), order=1, mode="nearest"
    )
    return resampled, origin


def _in_ras(image: Image) -> tuple[npt.NDArray[np.float32], FloatArray, FloatArray]:
    """Return the array with its axes nearest to right, anterior, superior, and its affine in two parts."""
    grid = image.grid
    homes = {"R": 0, "L": 0, "A": 1, "P": 1, "S": 2, "I": 2}
    axes = [next(axis for axis in range(3) if homes[grid.orientation[axis]] == world) for world in range(3)]
    flips = [grid.orientation[axis] not in "RAS" for axis in axes]
    turned = tuple(slice(None, None, -1) if flip else slice(None) for flip in flips)
    affine = grid.reoriented(axes, flips).affine
    return image.array.transpose(axes)[turned], affine[:3, :3], affine[:3, 3]


def _blurred(array: FloatArray, width_mm: float) -> FloatArray:
    from scipy import ndimage

    return np.asarray(ndimage.gaussian_filter(array, width_mm / _STEP_MM), dtype=np.float64)


def _contrast(fine: FloatArray) -> FloatArray:
    """Return the local contrast: with it the skin against the air is not all that a fingerprint sees."""
    mean = _blurred(fine, _NEIGHBOURHOOD_MM)
    deviation = np.sqrt(np.maximum(_blurred(fine * fine, _NEIGHBOURHOOD_MM) - mean * mean, 0.0))
    contrast: FloatArray = deviation + 0.3 * float(np.median(deviation)) + 1e-9
    return contrast


def _extrema(blobs: FloatArray) -> FloatArray:
    """Return where blobs are, in fractions of voxels: the strongest, all of whose surroundings lie in the image."""
    from scipy import ndimage

    margin = int(np.ceil(_SAMPLES_MM[-1] / _STEP_MM)) + 1
    strength = np.abs(blobs)
    inner = tuple(slice(margin, n - margin) for n in blobs.shape)
    if any(n <= 2 * margin for n in blobs.shape):
        return np.empty((0, 3))
    peaks = np.zeros(blobs.shape, dtype=bool)
    peaks[inner] = (strength == ndimage.maximum_filter(strength, size=3))[inner]
    # Blobs of less than a hundredth of the contrast around them are rounding.
    peaks &= strength > 0.01
    index = np.argwhere(peaks)
    order = np.argsort(-strength[tuple(index.T)], kind="stable")[:_PLACES]
    return _refined(strength, index[order])


def _refined(strength: FloatArray, index: npt.NDArray[np.intp]) -> FloatArray:
    """Return the tops of parabolas through each peak and its neighbours, at most half a voxel away."""
    refined = index.astype(np.float64)
    here = strength[tuple(index.T)]
    for axis in range(3):
        step = np.zeros(3, dtype=np.intp)
        step[axis] = 1
        below, above = (strength[tuple((index + sign * step).T)] for sign in (-1, 1))
        curvature = below - 2.0 * here + above
        shift = np.where(curvature < 0, 0.5 * (below - above) / np.where(curvature < 0, curvature, -1.0), 0.0)
        refined[:, axis] += np.clip(shift, -0.5, 0.5)
    return refined


def _surroundings(fine: FloatArray, index: FloatArray) -> npt.NDArray[np.float32]:
    """Return the samples around each place, free of mean and contrast."""
    from scipy import ndimage

    offsets = np.stack(np.meshgrid(*[_SAMPLES_MM / _STEP_MM] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    at = (index[:, None] + offsets[None]).reshape(-1, 3)
    values = ndimage.map_coordinates(fine, at.T, order=1, mode="nearest").reshape(len(index), -1)
    values = values - values.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.maximum(lengths, 1e-12), dtype=np.float32)


#: Folders that hold images and not labels, by the names that datasets give them.
_IMAGE_FOLDERS = ("images", "imagesTr", "imagesTs", "imagesVa", "img")


@dataclass(frozen=True)
class OverlapPair:
    """Two images that show the same scan."""

    left: str
    right: str
    likeness: Likeness


@dataclass(frozen=True)
class Overlap:
    """What two datasets share: pairs of near-duplicates, how much was compared, and what could not be."""

    pairs: tuple[OverlapPair, ...]
    n_left: int
    n_right: int
    unusable: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            "pairs": [
                {
                    "left": pair.left,
                    "right": pair.right,
                    "votes": pair.likeness.votes,
                    "share": round(pair.likeness.share, 4),
                    "offset_mm": [round(value, 2) for value in pair.likeness.offset_mm],
                }
                for pair in self.pairs
            ],
            "n_left": self.n_left,
            "n_right": self.n_right,
            "unusable": dict(self.unusable),
        }


def find_overlap(left: Mapping[str, Path], right: Mapping[str, Path], progress: Progress | None = None) -> Overlap:
    """Return every pair of images, one of each side, that show the same scan; the surest first.

    An image that cannot be read or shows too little is named, not passed over.
    """
    unusable: dict[str, str] = {}
    total = len(left) + len(right)
    known: list[dict[str, Fingerprint]] = []
    for number, side in enumerate((left, right)):
        found: dict[str, Fingerprint] = {}
        for place, (name, path) in enumerate(side.items(), start=1):
            try:
                found[name] = fingerprint(read_image(path))
            except SegaugeError as error:
                unusable[name] = str(error)
            if progress is not None:
                progress(f"fingerprint of {name}", place + number * len(left), total)
        known.append(found)
    pairs = [
        OverlapPair(one, other, likeness)
        for one, first in known[0].items()
        for other, second in known[1].items()
        if (likeness := compare_fingerprints(first, second)).is_duplicate
    ]
    pairs.sort(key=lambda pair: (-pair.likeness.votes, pair.left, pair.right))
    return Overlap(tuple(pairs), len(known[0]), len(known[1]), unusable)


def images_of(what: str) -> dict[str, Path]:
    """Return the images of a dataset ("kits23=data/kits23", or just its name) or of a folder, by name.

    A folder's images are those in it, or in its image folders (images, imagesTr, ...), or one in each of its folders.
    """
    name, _, root = what.partition("=")
    if name in offers(DATASETS) and not Path(what).is_dir():
        chosen = dataset(name, Path(root) if root else None)
        there = [case for case in chosen.cases(chosen.case_ids()) if case.image.is_file()]
        if not there:
            raise InvalidInput(
                f"{name}: none of its images is here; download some, or give their folder: {name}=FOLDER."
            )
        return {case.case_id: case.image for case in there}
    folder = Path(what)
    if not folder.is_dir():
        raise InvalidInput(f"{what}: is neither a dataset nor a folder of images.")
    places = [folder / inner for inner in _IMAGE_FOLDERS if (folder / inner).is_dir()] or [folder]
    found = {_name(path): path for place in places for path in sorted(place.iterdir()) if _is_image(path)}
    if not found:
        deeper = [path for place in sorted(folder.iterdir()) if place.is_dir() for path in sorted(place.iterdir())]
        found = {f"{path.parent.name}/{_name(path)}": path for path in deeper if _is_image(path)}
    if not found:
        raise InvalidInput(f"{folder}: holds no .nii or .nii.gz images.")
    return found


def _is_image(path: Path) -> bool:
    return path.is_file() and path.name.endswith((".nii", ".nii.gz")) and not path.name.startswith(".")


def _name(path: Path) -> str:
    return image_stem(path.name) or path.name
