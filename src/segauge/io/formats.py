"""The catalog of formats: how each is recognised by its content, what it is called, and who reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from segauge.errors import UnreadableFile
from segauge.io.arrays import NPY_MAGIC, read_npy, read_npz, sidecars
from segauge.io.dicom_files import looks_like_dicom
from segauge.io.dicom_objects import read_dicom
from segauge.io.metaimage import looks_like_metaimage, metaimage_files, read_metaimage
from segauge.io.nifti import nifti_files, read_nifti
from segauge.io.nifti_header import looks_like_nifti
from segauge.io.nrrd import nrrd_files, read_nrrd
from segauge.io.reading import Reading, ReadOptions
from segauge.io.streams import GZIP_MAGIC, inflated_head, open_file


@dataclass(frozen=True)
class Format:
    """One file format. `recognises` looks at the first 1024 bytes (inflated, if the whole file is gzip).

    `companions` returns the other files that reading one of this format opens: what counts as its content, too.
    """

    key: str
    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    read: Callable[[Path, ReadOptions], Reading]
    extra: str = ""
    companions: Callable[[Path], Sequence[Path]] = lambda _: ()


#: In the order they are tried. DICOM comes before NIfTI: its first 128 bytes are free and may look like anything.
FORMATS: tuple[Format, ...] = (
    Format("dicom", "DICOM-SEG or RTSTRUCT", (".dcm",), looks_like_dicom, read_dicom, extra="dicom"),
    Format(
        "nrrd",
        "NRRD",
        (".nrrd", ".nhdr", ".seg.nrrd"),
        lambda head: head.startswith(b"NRRD"),
        read_nrrd,
        "",
        nrrd_files,
    ),
    Format("npy", "NumPy array", (".npy",), lambda head: head.startswith(NPY_MAGIC), read_npy, "", sidecars),
    Format("npz", "NumPy archive", (".npz",), lambda head: head.startswith(b"PK\x03\x04"), read_npz, "", sidecars),
    Format("metaimage", "MetaImage", (".mha", ".mhd"), looks_like_metaimage, read_metaimage, "", metaimage_files),
    Format(
        "nifti", "NIfTI", (".nii", ".nii.gz", ".hdr", ".img", ".img.gz"), looks_like_nifti, read_nifti, "", nifti_files
    ),
)

#: Endings of files that hold one image each, for finding them in folders; the longest first.
IMAGE_SUFFIXES: tuple[str, ...] = tuple(
    sorted((s for f in FORMATS if f.key != "dicom" for s in f.suffixes if s not in (".img", ".img.gz")), key=len)
)[::-1]


def identify(path: Path) -> Format:
    """Return the format of a file by its content; the name counts only for .img, which has no header of its own."""
    if path.name.lower().endswith((".img", ".img.gz")):
        return next(entry for entry in FORMATS if entry.key == "nifti")
    head = inflated_head(path)
    for entry in FORMATS:
        if entry.recognises(head):
            _refuse_packed(path, entry)
            return entry
    known = ", ".join(entry.name for entry in FORMATS)
    raise UnreadableFile(f"{path}: its content is of no known format ({known}). Convert it to one of these.")


def _refuse_packed(path: Path, entry: Format) -> None:
    """Refuse a whole file in gzip of a format that is not read so; its reader would take it for damaged."""
    with open_file(path) as file:
        if entry.key != "nifti" and file.read(2) == GZIP_MAGIC:
            raise UnreadableFile(f"{path}: is {entry.name}, packed as a whole by gzip. Unpack it (gunzip) first.")


def image_stem(name: str) -> str | None:
    """Return a file's name without its image suffix ("liver.nii.gz" gives "liver"), None for other files."""
    for suffix in IMAGE_SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return None
