"""Segment one image: `python -m segbench.models.classical --method mean-field --in ct.nii.gz --out labels.nii.gz`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from segauge.io import Image, read_image, write_nifti
from segbench.models.classical.atlas import body_box, probabilities
from segbench.models.classical.methods import METHODS, Labels, Method


def segment(image: Image, method: Method) -> Labels:
    """Return the labels of an image: its axes are brought to LPS, and the labels back, whatever they are."""
    letters = image.grid.orientation
    homes = {"L": 0, "R": 0, "P": 1, "A": 1, "S": 2, "I": 2}
    order = [next(axis for axis in range(3) if homes[letters[axis]] == world) for world in range(3)]
    flips = tuple(slice(None, None, -1) if letters[order[world]] not in "LPS" else slice(None) for world in range(3))
    labels = _segment_lps(image.array.transpose(order)[flips], method)
    return np.ascontiguousarray(labels[flips].transpose(np.argsort(order)))


def _segment_lps(array: npt.NDArray[np.float32], method: Method) -> Labels:
    box = body_box(array)
    inside = np.ascontiguousarray(array[box])
    labels = np.zeros(array.shape, dtype=np.uint8)
    labels[box] = method(inside, probabilities(inside.shape))
    return labels


def main() -> None:
    """Read the arguments, segment, write."""
    parser = argparse.ArgumentParser(prog="python -m segbench.models.classical", description=__doc__)
    parser.add_argument("--method", required=True, choices=sorted(METHODS))
    parser.add_argument("--in", dest="image", required=True, type=Path, help="image, NIfTI in HU")
    parser.add_argument("--out", dest="output", required=True, type=Path, help="label map to write, NIfTI")
    given = parser.parse_args()
    image = read_image(given.image)
    write_nifti(given.output, segment(image, METHODS[given.method]), image.grid)


if __name__ == "__main__":
    main()
