"""Damaged files of every format: nothing but our own errors comes out, and memory stays bounded.

Each seed is a valid file; hypothesis cuts, flips, repeats and overwrites its bytes. The limits are small, so that a
header that asks for much is told so; what is allocated is measured.
"""

import bz2
import gzip
import io
import os
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import pydicom
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.badinputs.catalog import GRID, box, frame_mask
from tests.badinputs.files import (
    even_positions,
    labels,
    metaimage_bytes,
    nifti_bytes,
    nrrd_bytes,
    rtstruct_dataset,
    save,
    seg_dataset,
    write_enhanced,
    write_series,
)

from segauge.errors import SegaugeError
from segauge.io import Limits, read_labels
from segauge.io.dicom_series import read_series

#: SEGAUGE_FUZZ_EXAMPLES=5000 makes a long run of it.
EXAMPLES = int(os.environ.get("SEGAUGE_FUZZ_EXAMPLES", "20"))

LIMITS = Limits(max_voxels=200_000, max_surplus_bytes=10_000, max_header_bytes=20_000)

#: 200 000 voxels of eight bytes, pieces of 1 MiB with their copies, and what parsers keep: far below one large image.
MEMORY_BOUND = 24_000_000


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, mask=labels(), spacing=np.array([1.0, 2.0, 3.0]))
    return buffer.getvalue()


def _nifti2() -> bytes:
    return nibabel.Nifti2Image(labels(), np.diag([1, 2, 3, 1.0])).to_bytes()


def _with_names() -> bytes:
    xml = b'<CaretExtension><LabelTable><Label Key="1"><![CDATA[spleen]]></Label></LabelTable></CaretExtension>'
    size = (len(xml) + 8 + 15) // 16 * 16
    extension = b"\1\0\0\0" + struct.pack("<2i", size, 0) + xml.ljust(size - 8, b"\0")
    return nifti_bytes(labels(), extension=extension, vox_offset=348.0 + len(extension))


def _seg(folder: Path, **elements) -> bytes:
    frames = [(k % 2 + 1, place, frame_mask(k)) for k, place in enumerate(even_positions(3))]
    return save(seg_dataset(folder / "seed.dcm", frames, **elements), folder / "seed.dcm").read_bytes()


def _seg_rle(folder: Path) -> bytes:
    dataset = seg_dataset(folder / "seed.dcm", [(0, [0, 0, 0], frame_mask())], SegmentationType="LABELMAP")
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.PixelData = frame_mask().astype(np.uint8).tobytes() + b"\0"
    dataset.compress(pydicom.uid.RLELossless, encoding_plugin="pydicom")
    return save(dataset, folder / "seed.dcm").read_bytes()


def _seg_deflated(folder: Path) -> bytes:
    dataset = seg_dataset(folder / "seed.dcm", [(1, [0, 0, 0], frame_mask())])
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    return save(dataset, folder / "seed.dcm").read_bytes()


def _rtstruct(folder: Path) -> bytes:
    contours = [("CLOSED_PLANAR", box(2.5, 8.5)), ("POINT", [[3, 3, 2]]), ("CLOSED_PLANAR", box(3.5, 5.5, z=4.0))]
    return save(rtstruct_dataset(folder / "seed.dcm", [("organ", contours)]), folder / "seed.dcm").read_bytes()


SEGMENTS = {"sizes": "2 5 6 7", "dimension": "4", "kinds": "list domain domain domain", "space directions":
            "none (1,0,0) (0,1,0) (0,0,2)", "Segment0_Name:=": "liver", "Segment0_LabelValue:=": "1",
            "Segment0_Layer:=": "0", "Segment1_Name:=": "lesion", "Segment1_LabelValue:=": "1",
            "Segment1_Layer:=": "1"}  # fmt: skip

SEEDS: dict[str, Callable[[Path], bytes]] = {
    "nifti": lambda _: nifti_bytes(labels()),
    "nifti-float": lambda _: nifti_bytes(labels(dtype="float32"), scl_slope=1.0),
    "nifti-gz": lambda _: gzip.compress(nifti_bytes(labels(), qform_code=1), mtime=0),
    "nifti-names": lambda _: _with_names(),
    "nifti2": lambda _: _nifti2(),
    "nrrd": lambda _: nrrd_bytes(labels()),
    "nrrd-gzip": lambda _: nrrd_bytes(labels(), {"encoding": "gzip"}, gzip.compress(labels().tobytes(), mtime=0)),
    "nrrd-bzip2": lambda _: nrrd_bytes(labels(), {"encoding": "bzip2"}, bz2.compress(labels().tobytes())),
    "seg.nrrd": lambda _: nrrd_bytes(np.stack([labels() == 1, labels() == 2]).astype(np.uint8), SEGMENTS),
    "metaimage": lambda _: metaimage_bytes(labels()),
    "metaimage-zlib": lambda _: metaimage_bytes(
        labels(), {"CompressedData": "True"}, zlib.compress(labels().tobytes())
    ),
    "npy": lambda _: _npy(labels()),
    "npy-float": lambda _: _npy(labels(dtype="float64")),
    "npz": lambda _: _npz(),
    "dicom-seg": _seg,
    "dicom-seg-rle": _seg_rle,
    "dicom-seg-deflated": _seg_deflated,
    "rtstruct": _rtstruct,
}

INTERESTING = [b"\0", b"\xff" * 2, b"\xff" * 4, b"\xff\xff\xff\x7f", b"\x80", b"\0\0\xc0\x7f", b"99999999", b"-1",
               b"nan", b"1e400", b"\n", b"(", b"%s%n", b"../", b"\xfe\xff\0\xe0\xff\xff\xff\xff"]  # fmt: skip

mutation = st.one_of(
    st.tuples(st.just("flip"), st.floats(0, 1), st.integers(1, 255)),
    st.tuples(st.just("put"), st.floats(0, 1), st.sampled_from(INTERESTING)),
    st.tuples(st.just("insert"), st.floats(0, 1), st.sampled_from(INTERESTING)),
    st.tuples(st.just("cut"), st.floats(0, 1), st.integers(1, 400)),
    st.tuples(st.just("end"), st.floats(0, 1), st.just(0)),
    st.tuples(st.just("repeat"), st.floats(0, 1), st.integers(1, 400)),
)


def mutated(data: bytes, mutations: list) -> bytes:
    for kind, share, how in mutations:
        at = int(share * len(data))
        if kind == "flip" and at < len(data):
            data = data[:at] + bytes([data[at] ^ how]) + data[at + 1 :]
        elif kind == "put":
            data = data[:at] + how + data[at + len(how) :]
        elif kind == "insert":
            data = data[:at] + how + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + how :]
        elif kind == "end":
            data = data[:at]
        elif kind == "repeat":
            data = data[:at] + data[at : at + how] + data[at:]
    return data


def _survives(read: Callable[[], object]) -> bool:
    """Read, let our own errors pass, and check the memory; say whether it could be read."""
    tracemalloc.start()
    try:
        read()
    except SegaugeError:
        return False
    else:
        return True
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MEMORY_BOUND


@pytest.mark.parametrize("name", SEEDS)
def test_damaged_files_give_our_errors_only(name, tmp_path):
    seed = SEEDS[name](tmp_path)
    path = tmp_path / "damaged"
    path.write_bytes(seed)
    read_labels(path, reference=GRID, limits=LIMITS)  # the seed itself is valid; also loads what is imported late

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.lists(mutation, min_size=1, max_size=4))
    def run(mutations):
        path.write_bytes(mutated(seed, mutations) or b"\0")
        _survives(lambda: read_labels(path, reference=GRID, limits=LIMITS))

    run()


@pytest.mark.parametrize("kind", ["single slices", "enhanced"])
def test_damaged_series_give_our_errors_only(tmp_path, kind):
    if kind == "enhanced":
        folder = write_enhanced(tmp_path / "ct" / "slice02.dcm", even_positions(3))
    else:
        folder = write_series(tmp_path / "ct", even_positions(3))
    read_series(folder)
    victim = folder / "slice02.dcm"
    seed = victim.read_bytes()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.lists(mutation, min_size=1, max_size=4))
    def run(mutations):
        victim.write_bytes(mutated(seed, mutations) or b"\0")
        for allowed in (False, True):
            _survives(lambda: read_series(folder, allow_nonuniform=allowed, limits=LIMITS))  # noqa: B023 - called now

    run()


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.binary(min_size=1, max_size=2000), prefix=st.sampled_from(
    [b"", b"\x1f\x8b\x08\0", b"NRRD0004\n", b"\x93NUMPY\x01\0", b"PK\x03\x04", b"\0" * 128 + b"DICM", b"\x5c\x01\0\0",
     b"\x1c\x02\0\0", b"ObjectType = Image\n", b"\x08\0\x05\0\0\0\0\0"]))  # fmt: skip
def test_noise_gives_our_errors_only(data, prefix, tmp_path_factory):
    path = tmp_path_factory.mktemp("noise") / "noise"
    path.write_bytes(prefix + data)
    assert not _survives(lambda: read_labels(path, reference=GRID, limits=LIMITS)) or prefix


def test_the_memory_bound_can_fail():
    with pytest.raises(AssertionError):
        _survives(lambda: bytearray(MEMORY_BOUND + 1))


def test_other_errors_are_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        _survives(lambda: 1 // 0)


def test_whatever_is_written_comes_back(tmp_path):
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
    def run(width, height, depth, seed):
        array = np.random.default_rng(seed).integers(0, 3, (width, height, depth), dtype=np.int16)
        for encoding, pack in (("gzip", gzip.compress), ("bzip2", bz2.compress), ("raw", bytes)):
            path = tmp_path / "a.nrrd"
            path.write_bytes(nrrd_bytes(array, {"encoding": encoding}, pack(array.tobytes(order="F"))))
            assert np.array_equal(read_labels(path).labels.layers[0], array)

    run()
