"""Images of any format, for pictures: what read_labels reads as labels, and DICOM series, as real numbers."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from segauge.errors import UnreadableFile
from segauge.io.dicom_images import read_dicom_image
from segauge.io.formats import identify
from segauge.io.images import Image
from segauge.io.limits import DEFAULT_LIMITS, Limits
from segauge.io.reading import ReadOptions
from segauge.labelmap import LabelMap


def read_any_image(source: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Image:
    """Read an image of two or three axes: a file of any format that label maps can have, or a DICOM series.

    A DICOM series is its folder, or one enhanced multi-frame file; its rescale slope and intercept are applied.

    Raises:
        UnreadableFile: if it cannot be read, or holds several volumes or channels.

    """
    place = Path(source)
    if place.is_dir() or identify(place).key == "dicom":
        return read_dicom_image(place, limits=limits)
    reading = identify(place).read(place, ReadOptions(real_values=True, limits=limits))
    return image_of(reading.labels)


def labels_of(image: Image) -> LabelMap:
    """Return an image as a label map whose labels are the bits of its values, to be placed as label maps are.

    Placing moves voxels and fills with 0; no value of the image has these bits, so `image_of` knows what is outside.
    """
    values = np.where(image.array == 0, np.float32(-0.0), image.array).astype(np.float32, copy=False)
    return LabelMap((values.view(np.int32),), image.grid, source="image", in_space=image.in_space)


def image_of(bits: LabelMap, *, outside: float = 0.0) -> Image:
    """Return the image whose values are the bits of a label map; voxels without any get the value `outside`."""
    if len(bits.layers) != 1:
        raise UnreadableFile(f"{bits.source}: holds {len(bits.layers)} volumes or channels, expected one image.")
    layer = bits.layers[0]
    values = layer.astype(np.int32, copy=False).view(np.float32)
    if outside != 0.0:
        values = np.where(layer == 0, np.float32(outside), values)
    return Image(values, bits.grid, bits.source, bits.in_space)
