"""Open DICOM files with pydicom, with bounded inflation and only our own errors; decode frames of segmentations."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from segauge.errors import FileTooLarge, MissingExtra, SegaugeError, UnreadableFile
from segauge.io.gate import FOREIGN_FAILURES, Limits
from segauge.io.streams import open_file, stored_size

_DEFLATED = "1.2.840.10008.1.2.1.99"

#: A preamble that starts like this makes the same bytes a program or a document: such files attack viewers.
_FOREIGN_PREAMBLES = {b"MZ": "a Windows program", b"\x7fELF": "a Linux program", b"#!": "a script",
                      b"%PDF": "a PDF document", b"PK\x03\x04": "a ZIP archive"}  # fmt: skip


def looks_like_dicom(head: bytes) -> bool:
    """Say whether the first bytes of a file are DICOM: the prefix at byte 128, or data elements from byte 0."""
    if head[128:132] == b"DICM":
        return True
    # Old RT systems leave out preamble and prefix: the file then starts with an element of group 0002 or 0008.
    group, element = struct.unpack_from("<HH", head) if len(head) >= 8 else (0, 0)
    return group in (2, 8) and element <= 0x60 and (head[4:6].isupper() or head[6:8] == b"\0\0")


def require_pydicom(source: str) -> Any:
    """Return the module pydicom, or say which extra installs it."""
    try:
        return import_module("pydicom")
    except ImportError as error:
        raise MissingExtra(
            f"{source}: reading DICOM needs pydicom, which is not installed. Run: pip install 'segauge[dicom]'"
        ) from error


@contextmanager
def parser_failures(source: str) -> Iterator[None]:
    """Turn what pydicom raises into UnreadableFile, and keep its warnings about odd values to itself."""
    errors = require_pydicom(source).errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except SegaugeError:
            raise
        except (*FOREIGN_FAILURES, errors.InvalidDicomError, errors.BytesLengthException) as error:
            # Only the name of a missing attribute: what pydicom reports of others may quote a patient's name.
            missing = f", {error.name}" if isinstance(error, AttributeError) and error.name else ""
            raise UnreadableFile(
                f"{source}: is damaged or incomplete for a DICOM file ({type(error).__name__}{missing}). "
                "Export it again."
            ) from error


def read_dataset(path: Path, limits: Limits, *, pixels: bool = False, tags: list[str] | None = None) -> Any:
    """Return the data set of a DICOM file, without its pixels unless asked for; `tags` limits it to keywords.

    The file is parsed from memory: a length field that lies can then ask for no more than the file holds.
    """
    pydicom = require_pydicom(str(path))
    with open_file(path) as file:
        if stored_size(file) > limits.max_voxels * 8:
            raise FileTooLarge(f"{path}: has {stored_size(file)} bytes, more than max_voxels allows.")
        data = file.read()
    with parser_failures(str(path)):
        if data[128:132] == b"DICM":
            _refuse_foreign_preamble(data, path)
            meta, start = meta_information(data)
            if meta.get(0x10) == _DEFLATED:
                return _read_deflated(data[start:], path, limits, pixels=pixels, tags=tags)
        return pydicom.dcmread(io.BytesIO(data), force=True, stop_before_pixels=not pixels, specific_tags=tags)


def meta_information(data: bytes) -> tuple[dict[int, str], int]:
    """Return the texts of the file meta information by element number, and where the data set starts behind it."""
    position, texts = 132, {}
    while data[position : position + 2] == b"\2\0":
        long_form = data[position + 4 : position + 6] in (b"OB", b"OW", b"UN", b"UT", b"SQ")
        code, offset = ("<I", 8) if long_form else ("<H", 6)
        length = struct.unpack_from(code, data, position + offset)[0]
        start = position + (12 if long_form else 8)
        element = int.from_bytes(data[position + 2 : position + 4], "little")
        texts[element] = data[start : start + min(length, 64)].strip(b"\0 ").decode("ascii", errors="replace")
        position = start + length
    return texts, position


def _refuse_foreign_preamble(head: bytes, path: Path) -> None:
    for magic, words in _FOREIGN_PREAMBLES.items():
        if head.startswith(magic):
            raise UnreadableFile(
                f"{path}: its DICOM preamble starts like {words}; for safety it is not read. "
                "Clear the first 128 bytes if you trust the file."
            )


def _read_deflated(data: bytes, path: Path, limits: Limits, *, pixels: bool, tags: list[str] | None) -> Any:
    """Inflate a deflated data set within the limits (pydicom would inflate without one), then parse it."""
    pydicom = require_pydicom(str(path))
    # A label needs at most eight bytes a voxel, and functional groups some kilobytes a frame.
    most = limits.max_voxels * 8 + limits.max_header_bytes
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    inflated = inflater.decompress(data, most)
    if inflater.unconsumed_tail:
        raise FileTooLarge(f"{path}: inflates to more than {most} bytes; this may be a decompression bomb.")
    dataset = pydicom.filereader.read_dataset(
        io.BytesIO(inflated),
        is_implicit_VR=False,
        is_little_endian=True,
        stop_when=None if pixels else lambda tag, _vr, _length: tag >= 0x7FE00010,
        specific_tags=[pydicom.tag.Tag(tag) for tag in tags] if tags else None,
    )
    dataset.file_meta = pydicom.dataset.FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = _DEFLATED
    return dataset


Frame = npt.NDArray[np.unsignedinteger[Any]]

_NATIVE = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2")
_BIG_ENDIAN = "1.2.840.10008.1.2.2"
_RLE = "1.2.840.10008.1.2.5"
_DEFLATED_FRAMES = "1.2.840.10008.1.2.8.1"


def decode_frames(dataset: Any, count: int, source: str) -> Iterator[Frame]:
    """Yield `count` frames as arrays (rows, columns) of uint8 or uint16, each decoded when it is asked for."""
    bits = int(dataset.BitsAllocated)
    if bits not in (1, 8, 16) or int(dataset.get("SamplesPerPixel", 1)) != 1:
        raise UnreadableFile(f"{source}: has {bits} bits a pixel; a segmentation has 1, 8 or 16. The file is damaged.")
    shape = (int(dataset.Rows), int(dataset.Columns))
    syntax = str(getattr(getattr(dataset, "file_meta", None), "TransferSyntaxUID", "")) or _NATIVE[0]
    if syntax in _NATIVE:
        yield from _native_frames(dataset, shape, bits, count, source, swap=syntax == _BIG_ENDIAN)
    elif syntax in (_RLE, _DEFLATED_FRAMES):
        decode = _run_length if syntax == _RLE else _inflate
        for item in _encapsulated(dataset, count, source):
            yield _unpacked(decode(item, shape[0] * shape[1], bits, source), shape, bits, source)
    else:
        yield from _by_codec(dataset, shape, count, source)


def _native_frames(
    dataset: Any, shape: tuple[int, int], bits: int, count: int, source: str, *, swap: bool
) -> Iterator[Frame]:
    """Yield frames stored back to back; single bits run on from frame to frame without padding."""
    element = dataset["PixelData"]
    data: bytes = element.value
    pixels = shape[0] * shape[1]
    needed = (pixels * count * bits + 7) // 8
    if not needed <= len(data) <= needed + 1:
        raise UnreadableFile(
            f"{source}: {needed} bytes of pixels expected for {count} frames of {shape[0]} x {shape[1]}, "
            f"{len(data)} found. The file is truncated or its header is wrong: export it again."
        )
    stored = np.frombuffer(data, dtype=np.uint8)
    if swap and element.VR == "OW" and bits == 1:
        stored = stored[: len(stored) // 2 * 2].reshape(-1, 2)[:, ::-1].ravel()
    for k in range(count):
        if bits == 1:
            first, last = k * pixels, (k + 1) * pixels
            unpacked = np.unpackbits(stored[first // 8 : (last + 7) // 8], bitorder="little")
            yield unpacked[first % 8 : first % 8 + pixels].reshape(shape)
        elif bits == 8:
            yield stored[k * pixels : (k + 1) * pixels].reshape(shape)
        else:
            part = stored[k * pixels * 2 : (k + 1) * pixels * 2].view(">u2" if swap else "<u2")
            yield part.astype(np.uint16, copy=False).reshape(shape)


def _encapsulated(dataset: Any, count: int, source: str) -> Iterator[bytes]:
    encaps = require_pydicom(source).encaps
    found = 0
    for item in encaps.generate_frames(dataset.PixelData, number_of_frames=count):
        found += 1
        if found > count:
            break
        yield item
    if found != count:
        raise UnreadableFile(f"{source}: {count} frames expected, {found} or more found. Export it again.")


def _unpacked(data: bytes, shape: tuple[int, int], bits: int, source: str) -> Frame:
    """Return a frame from decoded bytes; one-bit frames are packed, or hold a byte a pixel, as writers differ."""
    pixels = shape[0] * shape[1]
    stored = np.frombuffer(data, dtype=np.uint8)
    if bits == 1 and pixels > len(stored) >= (pixels + 7) // 8:
        return np.unpackbits(stored, bitorder="little")[:pixels].reshape(shape)
    if bits <= 8 and len(stored) >= pixels:
        return stored[:pixels].reshape(shape)
    if bits == 16 and len(stored) >= 2 * pixels:
        return stored[: 2 * pixels].view("<u2").astype(np.uint16, copy=False).reshape(shape)
    raise UnreadableFile(
        f"{source}: a frame decodes to {len(stored)} bytes, too few for {shape[0]} x {shape[1]} pixels."
    )


def _inflate(data: bytes, pixels: int, bits: int, source: str) -> bytes:
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, pixels * max(1, bits // 8) + 8)
    except zlib.error as error:
        raise UnreadableFile(f"{source}: a deflated frame is damaged ({error}). Export it again.") from error


def _run_length(data: bytes, pixels: int, bits: int, source: str) -> bytes:
    """Decode DICOM RLE: a header of 64 bytes, then one run-length segment per byte of a pixel, high byte first."""
    offsets = np.frombuffer(data[:64], dtype="<u4") if len(data) >= 64 else np.zeros(1, dtype="<u4")
    planes = max(1, bits // 8)
    if offsets[0] != planes:
        raise UnreadableFile(f"{source}: a run-length frame has {offsets[0]} segments, expected {planes}.")
    bounds = [*(int(offset) for offset in offsets[1 : planes + 1]), len(data)]
    decoded = [_unpack_runs(data[bounds[k] : bounds[k + 1]], pixels) for k in range(planes)]
    if planes == 1:
        return decoded[0]
    if any(len(plane) < pixels for plane in decoded):
        raise UnreadableFile(f"{source}: a run-length frame ends too early. Export it again.")
    return np.stack([np.frombuffer(plane[:pixels], dtype=np.uint8) for plane in reversed(decoded)], axis=1).tobytes()


def _unpack_runs(data: bytes, most: int) -> bytes:
    """Decode PackBits: n < 128 copies n + 1 bytes, n > 128 repeats the next byte 257 - n times; at most `most`."""
    pieces: list[bytes] = []
    position, length = 0, 0
    while position < len(data) - 1 and length < most:
        control = data[position]
        if control < 128:
            piece = data[position + 1 : position + 2 + control]
            position += 2 + control
        elif control > 128:
            piece = data[position + 1 : position + 2] * (257 - control)
            position += 2
        else:
            piece = b""
            position += 1
        pieces.append(piece)
        length += len(piece)
    return b"".join(pieces)


def _by_codec(dataset: Any, shape: tuple[int, int], count: int, source: str) -> Iterator[Frame]:
    """Let pydicom decode by whichever codec is installed (JPEG 2000, JPEG-LS, ...)."""
    pydicom = require_pydicom(source)
    pixels = pydicom.pixels.iter_pixels(dataset)
    for k in range(count):
        try:
            frame = np.asarray(next(pixels))
        except StopIteration as error:
            raise UnreadableFile(f"{source}: {count} frames expected, {k} found. Export it again.") from error
        except (RuntimeError, NotImplementedError, ImportError) as error:
            name = getattr(dataset.file_meta.TransferSyntaxUID, "name", "unknown")
            raise MissingExtra(
                f"{source}: its pixels are stored as {name}, which needs a codec that is not installed ({error}). "
                "Run: pip install 'segauge[dicom]'"
            ) from error
        if frame.shape != shape:
            raise UnreadableFile(f"{source}: a frame decodes to {frame.shape}, the header gives {shape}.")
        yield frame.astype(np.uint16 if frame.dtype.itemsize > 1 else np.uint8, copy=False)
