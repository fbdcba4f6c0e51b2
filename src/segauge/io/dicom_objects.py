"""Which DICOM object a file is, the reader for it, and what lies together in a folder of DICOM files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, UnreadableFile
from segauge.io.dicom_files import looks_like_dicom, meta_information, parser_failures, read_dataset
from segauge.io.dicom_seg import read_dicom_seg
from segauge.io.gate import DEFAULT_LIMITS, Limits
from segauge.io.reading import Reading, ReadOptions
from segauge.io.rtstruct import read_rtstruct
from segauge.io.streams import list_folder, open_file

SEG_CLASSES = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")
RTSTRUCT_CLASS = "1.2.840.10008.5.1.4.1.1.481.3"

#: All storage classes start like this; below are the branches of those that are no slices: screen saves, waveforms,
#: presentation states, segmentations and registrations, reports, documents, RT objects (structure sets, dose, plans).
_STORAGE_CLASS = "1.2.840.10008.5.1.4.1.1."
_NO_IMAGES = ("7", "9", "11", "66", "67", "88", "104", "481")


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


def dicom_files_in(folder: Path) -> dict[Path, str]:
    """Return the DICOM files directly in a folder and what each is: "seg", "rtstruct", "image" or "other".

    The file meta information at the start of each file decides, so that a folder of many large files is looked
    through quickly; screen saves, dose and reports are "other".
    """
    kinds = {}
    for path in list_folder(folder):
        if path.is_file() and path.stat().st_size > 132:
            with open_file(path) as file:
                head = file.read(4096)
            if looks_like_dicom(head):
                kinds[path] = _kind_by_head(path, head)
    return kinds


def _kind_by_head(path: Path, head: bytes) -> str:
    try:
        sop_class = meta_information(head)[0].get(2, "") if head[128:132] == b"DICM" else ""
        if not sop_class.startswith(_STORAGE_CLASS):
            return dicom_kind(path, DEFAULT_LIMITS)
    except (UnreadableFile, struct.error):
        return "other"
    if sop_class in SEG_CLASSES:
        return "seg"
    if sop_class == RTSTRUCT_CLASS:
        return "rtstruct"
    return "other" if sop_class.removeprefix(_STORAGE_CLASS).split(".")[0] in _NO_IMAGES else "image"


def only_segmentation(folder: Path) -> Path | None:
    """Return the SEG or RTSTRUCT file among the slices of a series, None where a folder holds no slices.

    Raises:
        InvalidInput: if there is none among the slices, or more than one.

    """
    kinds = dicom_files_in(folder)
    if "image" not in kinds.values():
        return None
    found = [path for path, kind in kinds.items() if kind in ("seg", "rtstruct")]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InvalidInput(
            f"{folder}: holds a DICOM image series and no segmentation (SEG) or structure set (RTSTRUCT). "
            "Give the file or folder of the segmentation."
        )
    names = ", ".join(path.name for path in found[:3]) + (" ..." if len(found) > 3 else "")
    raise InvalidInput(
        f"{folder}: holds {len(found)} segmentations among the slices of a DICOM series ({names}). "
        "Give one of these files, or leave one of them in the folder."
    )
