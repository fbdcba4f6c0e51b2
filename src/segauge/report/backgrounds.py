"""The image below the outlines: read, brought onto the grid of the masks, and turned upright with them."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import SegaugeError
from segauge.io.image_sources import image_of, labels_of, read_any_image
from segauge.labelmap import LabelMap
from segauge.placement import place
from segauge.report.pairs import Upright

#: A file of any format that label maps can have, the folder of a DICOM series, or an array on the masks' own grid.
ImageSource = str | os.PathLike[str] | npt.NDArray[Any]


def background(source: ImageSource | None, gt: LabelMap) -> tuple[npt.NDArray[Any] | None, str]:
    """Return the image of a case, upright on the grid of its ground truth, or None and why it cannot be drawn.

    An image on another grid is sampled at the voxels of the ground truth; where it does not reach it is NaN.
    """
    if source is None:
        return None, ""
    if isinstance(source, np.ndarray):
        if source.shape != gt.grid.shape:
            return None, f"the image has the shape {source.shape}, the masks {gt.grid.shape}; it is not drawn"
        return Upright.of(gt).turned(source), ""
    try:
        target = replace(gt, partial=False)  # the masks' grid shall not grow to hold all of the image
        placed = place(labels_of(read_any_image(source)), target, resample="nearest", any_frame_of_reference=True)
        image = image_of(placed.pred, outside=math.nan).array
    except (SegaugeError, MemoryError) as error:
        return None, f"the image is not drawn: {error}"
    if image.shape != gt.grid.shape:
        return None, f"the image has the shape {image.shape}, the masks {gt.grid.shape}; it is not drawn"
    if np.isnan(image).all():
        return None, "the image is not drawn: it holds no value where the masks are"
    if np.nanmin(image) == np.nanmax(image):
        return None, "the image is not drawn: it has the same value everywhere"
    return Upright.of(gt).turned(image), ""
