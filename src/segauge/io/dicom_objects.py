"""Which DICOM object a file is, and the reader for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segauge.errors import UnreadableFile
from segauge.io.dicom_files import parser_failures, read_dataset
from segauge.io.dicom_seg import read_dicom_seg
from segauge.io.limits import Limits
from segauge.io.reading import Reading, ReadOptions
from segauge.io.rtstruct import read_rtstruct

SEG_CLASSES = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")
RTSTRUCT_CLASS = "1.2.840.10008.5.1.4.1.1.481.3"


def dicom_kind(path: Path, limits: Limits) -> str:
    """Return "seg", "rtstruct", "image", or "other" for a DICOM file."""
    dataset = read_dataset(path, limits, tags=["SOPClassUID", "Modality", "Rows"])
    with parser_failures(str(path)):
        return _kind(dataset)


def _kind(dataset: Any) -> str:
    sop_class, modality = str(dataset.get("SOPClassUID", "")), str(dataset.get("Modality", ""))
    if sop_class in SEG_CLASSES or modality == "SEG":
        return "seg"
    if sop_class == RTSTRUCT_CLASS or modality == "RTSTRUCT":
        return "rtstruct"
    return "image" if dataset.get("Rows") is not None else "other"


def read_dicom(path: Path, options: ReadOptions) -> Reading:
    """Read a DICOM-SEG or RTSTRUCT file; say what else it is if it is neither."""
    kind = dicom_kind(path, options.limits)
    if kind == "seg":
        return read_dicom_seg(path, read_dataset(path, options.limits, pixels=True), options)
    if kind == "rtstruct":
        return read_rtstruct(path, read_dataset(path, options.limits), options)
    what = "an image slice" if kind == "image" else "neither an image nor a segmentation"
    raise UnreadableFile(f"{path}: is {what}, expected a DICOM segmentation (SEG) or structure set (RTSTRUCT).")
