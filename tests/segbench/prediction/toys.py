"""Small models for tests: command lines of Python, which do as they are told."""

import sys

import numpy as np

from segauge import Grid
from segauge.io import write_nifti
from segbench.models.command import command
from segbench.registry import DatasetCase

#: Copies the image as label map; counts in a file how often it ran.
COPY = """
import os, shutil, sys
image, output, count = sys.argv[1:4]
with open(count, "a") as file:
    file.write("x")
shutil.copyfile(image, output)
"""


def toy(program, *arguments, name="toy", **options):
    """Return a model that runs a Python program with image, output and further arguments."""
    words = " ".join(f"'{word}'" for word in (program.replace("'", '"'), "{image}", "{output}", *map(str, arguments)))
    structures = {"liver": 1}
    return command(
        {"name": name, "structures": structures, "command": f"{sys.executable} -c {words}", "version": "1", **options}
    )


def cases(folder, count=3):
    """Return cases with a box in each image; the image is its own ground truth."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number in range(count):
        array = np.zeros((8, 8, 8), dtype=np.uint8)
        array[1 : 4 + number, 2:6, 2:6] = 1
        path = write_nifti(folder / f"case{number}.nii.gz", array, Grid.from_spacing(array.shape, 2.0))
        found.append(DatasetCase(f"case{number}", path, path))
    return found
