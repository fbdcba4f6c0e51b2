"""Run brainextractor on one image, which it needs at 1 mm isotropic: resample there, and bring the mask back.

Runs inside the environment of brainextractor.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Read the arguments, extract the brain, write the mask on the image's own grid."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--iterations", type=int, default=1000)
    given = parser.parse_args()
    nibabel: Any = import_module("nibabel")
    image = nibabel.load(given.image)
    data = np.asarray(image.dataobj, dtype=np.float64)
    spacing = np.linalg.norm(image.affine[:3, :3], axis=0)
    mask = _extracted(nibabel.Nifti1Image(*isotropic(data, image.affine, spacing)), given)
    back = resampled(mask, 1.0 / spacing, data.shape) > 0.5
    nibabel.save(nibabel.Nifti1Image(back.astype(np.uint8), image.affine), given.output)


def _extracted(image: Any, given: argparse.Namespace) -> Any:
    from brainextractor import BrainExtractor

    found = BrainExtractor(img=image, bt=given.threshold)
    found.run(iterations=given.iterations)
    return np.asarray(found.compute_mask(), dtype=np.float64)


def isotropic(data: Any, affine: Any, spacing: Any) -> tuple[Any, Any]:
    """Return the image at 1 mm along each of its axes, and its affine; the first voxel's outer corner stays."""
    shape = tuple(max(1, int(n)) for n in np.rint(np.asarray(data.shape) * spacing))
    scaled = affine.copy()
    scaled[:3, :3] = affine[:3, :3] / spacing
    scaled[:3, 3] = affine[:3, 3] + affine[:3, :3] @ (0.5 / spacing - 0.5)
    return resampled(data, spacing, shape), scaled


def resampled(data: Any, voxels_per_step: Any, shape: tuple[int, ...]) -> Any:
    """Return an array with other steps, linearly; both begin at the same outer corner."""
    from scipy import ndimage

    step = 1.0 / np.asarray(voxels_per_step)
    return ndimage.affine_transform(data, step, offset=0.5 * step - 0.5, output_shape=shape, order=1, mode="nearest")


if __name__ == "__main__":
    main()
