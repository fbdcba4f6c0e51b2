"""The only place that opens files: readers of segmentations (each gives a label map on its grid), and score tables."""

from segauge.io.gate import Limits
from segauge.io.images import Image, read_image, write_nifti
from segauge.io.reading import Reading, SpacingSource
from segauge.io.sources import load_mask, load_rtstruct, read_labels

__all__ = [
    "Image", "Limits", "Reading", "SpacingSource", "load_mask", "load_rtstruct", "read_image", "read_labels",
    "write_nifti",
]  # fmt: skip
