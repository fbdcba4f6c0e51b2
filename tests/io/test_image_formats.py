"""The same small label map through every image format, against the array it was made from and other packages."""

import bz2
import gzip
import json
import struct
import tracemalloc
import zlib

import nibabel
import nrrd
import numpy as np
import pytest
from tests.badinputs.files import AFFINE, labels, metaimage_bytes, nifti_bytes, nrrd_bytes

from segauge.errors import InvalidInput, UnreadableFile
from segauge.grid import Grid
from segauge.io import SpacingSource, load_mask, read_image, read_labels, streams
from segauge.io.formats import FORMATS, identify, image_stem
from segauge.labelmap import LabelMap

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def tilted() -> np.ndarray:
    affine = nibabel.affines.from_matvec(nibabel.eulerangles.euler2mat(0.1, 0.2, 0.3) * [0.7, 0.8, 2.5], [-90, 40, 7])
    return affine.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image, nibabel.Nifti1Pair])
def test_nifti_of_nibabel(tmp_path, dtype, kind):
    image = kind(labels(dtype=dtype), tilted(), dtype=dtype)
    path = tmp_path / ("a.img" if kind is nibabel.Nifti1Pair else "a.nii.gz")
    nibabel.save(image, path)
    reading = read_labels(path)
    assert np.array_equal(reading.labels.layers[0], labels())
    if dtype in INTEGERS:
        assert reading.labels.layers[0].dtype == dtype
    else:
        assert reading.labels.layers[0].dtype == np.uint8
    # The header holds 32-bit floats.
    np.testing.assert_allclose(reading.labels.grid.affine, tilted(), atol=1e-5)
    assert reading.notes == ()


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("order", ["<", ">"])
def test_nifti_of_both_byte_orders(tmp_path, kind, order):
    header = kind.header_class(endianness=order)
    header.set_data_dtype(np.int16)
    image = kind(labels(dtype="int16"), tilted(), header)
    nibabel.save(image, tmp_path / "a.nii")
    got = read_labels(tmp_path / "a.nii").labels
    assert np.array_equal(got.layers[0], labels())
    assert got.layers[0].dtype.isnative
    np.testing.assert_allclose(got.grid.affine, tilted(), atol=1e-5)


@pytest.mark.parametrize("handed", [1, -1])
def test_qform_as_nibabel_computes_it(tmp_path, handed):
    affine = tilted() @ np.diag([1, 1, handed, 1])
    image = nibabel.Nifti1Image(labels(), affine)
    image.set_sform(None, 0)
    image.set_qform(affine, 1)
    nibabel.save(image, tmp_path / "a.nii")
    # The quaternion is stored in 32-bit floats.
    np.testing.assert_allclose(read_labels(tmp_path / "a.nii").labels.grid.affine, affine, atol=1e-4)


def test_two_dimensional_nifti(tmp_path):
    nibabel.save(nibabel.Nifti1Image(labels()[:, :, 3], np.diag([0.5, 0.7, 1, 1])), tmp_path / "a.nii")
    got = read_labels(tmp_path / "a.nii").labels
    assert got.grid.shape == (5, 6)
    np.testing.assert_allclose(got.grid.spacing, (0.5, 0.7), rtol=1e-6)


def test_names_from_an_extension(tmp_path):
    xml = b"""<?xml version="1.0"?><CaretExtension><VolumeInformation Index="0"><LabelTable>
    <Label Key="1" Red="1"><![CDATA[spleen]]></Label><Label Key="2"><![CDATA[kidney & co]]></Label>
    </LabelTable></VolumeInformation></CaretExtension>"""
    size = (len(xml) + 8 + 15) // 16 * 16
    extension = b"\1\0\0\0" + struct.pack("<2i", size, 0) + xml.ljust(size - 8, b"\0")
    data = nifti_bytes(labels(), extension=extension, vox_offset=348.0 + len(extension))
    (tmp_path / "a.nii").write_bytes(data)
    assert dict(read_labels(tmp_path / "a.nii").labels.names) == {1: "spleen", 2: "kidney & co"}


def test_an_entity_bomb_in_an_extension_is_not_expanded(tmp_path):
    xml = b'<!DOCTYPE a [<!ENTITY b "LabelTable">]><LabelTable><Label Key="1">&b;</Label></LabelTable>'
    size = (len(xml) + 8 + 15) // 16 * 16
    extension = b"\1\0\0\0" + struct.pack("<2i", size, 0) + xml.ljust(size - 8, b"\0")
    (tmp_path / "a.nii").write_bytes(nifti_bytes(labels(), extension=extension, vox_offset=348.0 + len(extension)))
    reading = read_labels(tmp_path / "a.nii")
    assert reading.labels.names == {}
    assert any("document type" in note for note in reading.notes)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("encoding", ["raw", "gzip", "bzip2"])
def test_nrrd_of_pynrrd(tmp_path, dtype, encoding):
    header = {
        "encoding": encoding,
        "space": "right-anterior-superior",
        "space directions": tilted()[:3, :3].T,
        "space origin": tilted()[:3, 3],
    }
    nrrd.write(str(tmp_path / "a.nrrd"), labels(dtype=dtype), header)
    got = read_labels(tmp_path / "a.nrrd").labels
    assert np.array_equal(got.layers[0], labels())
    assert got.layers[0].dtype == dtype
    np.testing.assert_allclose(got.grid.affine, tilted(), atol=1e-9)


@pytest.mark.parametrize("encoding", ["raw", "gzip", "bzip2"])
def test_detached_nrrd(tmp_path, encoding):
    pack = {"raw": bytes, "gzip": gzip.compress, "bzip2": bz2.compress}[encoding]
    (tmp_path / "voxels.bin").write_bytes(pack(labels().tobytes(order="F")))
    header = nrrd_bytes(labels(), {"encoding": encoding, "data file": "voxels.bin"}, b"")
    (tmp_path / "a.nhdr").write_bytes(header)
    got = read_labels(tmp_path / "a.nhdr").labels
    assert np.array_equal(got.layers[0], labels())
    np.testing.assert_allclose(got.grid.affine, AFFINE)


def test_nrrd_with_numbered_files(tmp_path):
    for k in range(7):
        (tmp_path / f"part{k + 3:02}.raw").write_bytes(labels()[:, :, k].tobytes(order="F"))
    (tmp_path / "a.nhdr").write_bytes(nrrd_bytes(labels(), {"data file": "part%02d.raw 3 9 1"}, b""))
    assert np.array_equal(read_labels(tmp_path / "a.nhdr").labels.layers[0], labels())


@pytest.mark.parametrize("skip", ["-1", "4"])
def test_nrrd_that_skips_bytes(tmp_path, skip):
    data = nrrd_bytes(labels(), {"byte skip": skip}, b"\xff" * 4 + labels().tobytes(order="F"))
    (tmp_path / "a.nrrd").write_bytes(data)
    assert np.array_equal(read_labels(tmp_path / "a.nrrd").labels.layers[0], labels())


def test_nrrd_without_directions_pairs_by_shape(tmp_path):
    fields = {"space": "", "space directions": "", "space origin": "", "spacings": "0.8 0.9 2.5"}
    (tmp_path / "a.nrrd").write_bytes(nrrd_bytes(labels(), fields))
    reading = read_labels(tmp_path / "a.nrrd")
    assert not reading.labels.in_space
    assert reading.labels.grid.spacing == (0.8, 0.9, 2.5)
    assert reading.spacing_source is SpacingSource.HEADER


def test_nrrd_units_count_with_and_without_directions(tmp_path):
    fields = {"space": "", "space directions": "", "space origin": "", "spacings": "0.08 0.09 2.5"}
    (tmp_path / "a.nrrd").write_bytes(nrrd_bytes(labels(), {**fields, "units": '"cm" "cm" "mm"'}))
    reading = read_labels(tmp_path / "a.nrrd")
    assert reading.labels.grid.spacing == pytest.approx((0.8, 0.9, 2.5))
    assert reading.notes.count("lengths are in cm; they were converted to mm") == 1
    (tmp_path / "b.nrrd").write_bytes(nrrd_bytes(labels(), {"space units": '"cm" "cm" "mm"'}))
    (tmp_path / "c.nrrd").write_bytes(nrrd_bytes(labels()))
    one, other = (read_labels(tmp_path / name).labels.grid.affine for name in ("b.nrrd", "c.nrrd"))
    np.testing.assert_allclose(one, np.diag([10, 10, 1, 1]) @ other)


def three_classes(undecided):
    """Probabilities of background and two structures; in one voxel none of them reaches a half."""
    classes = np.stack([labels() == 0, labels() == 1, labels() > 1]).astype(np.float32) * 0.8 + 0.1
    if undecided:
        classes[:, 0, 0, 0] = 1 / 3
    return classes


def test_probabilities_of_several_classes_never_make_the_background_a_structure(tmp_path):
    """With one voxel that nobody is sure of, the first channel was label 1; in all other cases it is the background."""
    np.save(tmp_path / "sure.npy", three_classes(undecided=False))
    sure = read_labels(tmp_path / "sure.npy", threshold=0.5).labels.layers[0]
    assert np.array_equal(sure, np.minimum(labels(), 2))
    np.save(tmp_path / "unsure.npy", three_classes(undecided=True))
    with pytest.raises(UnreadableFile, match="most probable label of each voxel"):
        read_labels(tmp_path / "unsure.npy", threshold=0.5)
    one = read_labels(tmp_path / "unsure.npy", threshold=0.5, frame=1).labels.layers[0]
    assert np.array_equal(one, (labels() == 1) & (np.arange(labels().size).reshape(labels().shape) > 0))


@pytest.mark.parametrize("with_background", [True, False])
def test_channels_that_come_last_are_no_slices(with_background):
    classes = [labels() == 0] * with_background + [labels() == 1, labels() > 1]
    last = np.stack(classes, axis=-1).astype(np.uint8)
    with pytest.raises(UnreadableFile, match="channels seem to come last"):
        read_labels(last)
    first = read_labels(np.moveaxis(last, -1, 0)).labels
    assert np.array_equal(first.layers[0], np.minimum(labels(), 2))


@pytest.mark.parametrize("name", ["a.nii", "a.nrrd", "a.mha", "a.npy"])
def test_a_frame_of_a_single_volume_is_refused_in_every_format(name, tmp_path):
    np.save(tmp_path / "a.npy", labels())
    for ending, data in (("nii", nifti_bytes), ("nrrd", nrrd_bytes), ("mha", metaimage_bytes)):
        (tmp_path / f"a.{ending}").write_bytes(data(labels()))
    assert np.array_equal(read_labels(tmp_path / name, frame=0).labels.layers[0], labels())
    with pytest.raises(UnreadableFile, match="frame 2 was asked for, but the file holds one volume only"):
        read_labels(tmp_path / name, frame=2)


@pytest.mark.parametrize(("data", "name"), [(metaimage_bytes, "MetaImage"), (nrrd_bytes, "NRRD")])
def test_a_packed_file_is_told_from_a_damaged_one(data, name, tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(data(labels())))
    with pytest.raises(UnreadableFile, match=rf"is {name}, packed as a whole by gzip\. Unpack it"):
        read_labels(tmp_path / "a.gz")


def test_labels_that_no_integer_holds_are_refused():
    array = np.zeros((3, 3, 3), dtype=np.uint64)
    array[1, 1, 1] = 2**63 + 5
    with pytest.raises(InvalidInput, match="9223372036854775813; labels are below"):
        read_labels(array)


@pytest.mark.parametrize("compressed", [False, True])
def test_metaimage(tmp_path, compressed):
    data = labels(dtype="int16").tobytes(order="F")
    fields = {"CompressedData": str(compressed)}
    content = metaimage_bytes(labels(dtype="int16"), fields, zlib.compress(data) if compressed else data)
    (tmp_path / "a.mha").write_bytes(content)
    got = read_labels(tmp_path / "a.mha").labels
    assert np.array_equal(got.layers[0], labels())
    np.testing.assert_allclose(got.grid.affine, AFFINE)


def test_metaimage_directions_are_columns(tmp_path):
    turn = nibabel.eulerangles.euler2mat(0.3, 0.0, 0.0)
    rows = " ".join(str(value) for value in turn.T.ravel())
    (tmp_path / "a.mha").write_bytes(metaimage_bytes(labels(), {"TransformMatrix": rows}))
    lps = np.eye(4)
    lps[:3, :3] = turn * [0.8, 0.9, 2.5]
    lps[:3, 3] = [-30, -20, -10]
    got = read_labels(tmp_path / "a.mha").labels
    np.testing.assert_allclose(got.grid.affine, np.diag([-1, -1, 1, 1]) @ lps, atol=1e-12)


def test_metaimage_with_its_data_beside_it(tmp_path):
    (tmp_path / "a.raw").write_bytes(b"head" + labels().tobytes(order="F"))
    (tmp_path / "a.mhd").write_bytes(metaimage_bytes(labels(), {"ElementDataFile": "a.raw", "HeaderSize": "-1"}, b""))
    assert np.array_equal(read_labels(tmp_path / "a.mhd").labels.layers[0], labels())


@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_files(tmp_path, order):
    np.save(tmp_path / "a.npy", np.asarray(labels(), order=order))
    reading = read_labels(tmp_path / "a.npy", spacing=(1, 2, 3))
    assert np.array_equal(reading.labels.layers[0], labels())
    assert reading.labels.grid.spacing == (1, 2, 3)
    assert reading.spacing_source is SpacingSource.ARGUMENT
    assert not reading.labels.in_space


def test_numpy_file_with_a_sidecar(tmp_path):
    np.save(tmp_path / "a.npy", labels())
    (tmp_path / "a.json").write_text(json.dumps({"affine": AFFINE.tolist(), "labels": {"1": "liver"}}))
    reading = read_labels(tmp_path / "a.npy")
    np.testing.assert_array_equal(reading.labels.grid.affine, AFFINE)
    assert (reading.labels.names, reading.labels.in_space) == ({1: "liver"}, True)
    assert reading.spacing_source is SpacingSource.SIDECAR


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_numpy_archives(tmp_path, save):
    save(tmp_path / "a.npz", mask=labels(), other=np.zeros(3), spacing=np.array([1.0, 2.0, 3.0]))
    reading = read_labels(tmp_path / "a.npz")
    assert np.array_equal(reading.labels.layers[0], labels())
    assert reading.labels.grid.spacing == (1, 2, 3)
    with pytest.raises(UnreadableFile, match="not 'seg'"):
        read_labels(tmp_path / "a.npz", array_key="seg")


def test_one_hot_channels_that_overlap_become_layers(tmp_path):
    channels = np.stack([labels() > 0, labels() == 2, labels() == 3]).astype(np.float32)
    np.save(tmp_path / "a.npy", channels)
    got = read_labels(tmp_path / "a.npy", spacing=1).labels
    for k in range(3):
        assert np.array_equal(got.mask(k + 1).array, channels[k] == 1)


def test_arrays_and_label_maps_are_taken_as_they_are():
    made = LabelMap((labels(),), Grid(labels().shape, AFFINE))
    assert read_labels(made).labels is made
    assert np.array_equal(read_labels(labels().astype(float)).labels.layers[0], labels())


def test_a_folder_of_masks(tmp_path):
    for name, mask in {"liver": labels() == 1, "all": labels() > 0, "none": labels() > 9}.items():
        (tmp_path / f"{name}.nii.gz").write_bytes(gzip.compress(nifti_bytes(mask.astype(np.uint8) * 255)))
    (tmp_path / "statistics.json").write_text("{}")
    got = read_labels(tmp_path).labels
    assert dict(got.names) == {1: "all", 2: "liver", 3: "none"}
    assert np.array_equal(got.mask(1).array, labels() > 0)
    assert np.array_equal(got.mask(2).array, labels() == 1)
    assert not got.mask(3).array.any()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.nii": nifti_bytes(labels())}, "holds several labels"),
        ({"a.nii": nifti_bytes(labels() > 0), "b.nii": nifti_bytes(labels()[1:] > 0)}, "must share one grid"),
        ({"a.nii": nifti_bytes(labels() > 0), "a.nrrd": b""}, "are both called 'a'"),
        ({"a.txt": b"hello"}, "holds no image files"),
    ],
)
def test_folders_that_are_refused(tmp_path, files, message):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_labels(tmp_path)


def test_spacing_of_the_caller_replaces_that_of_the_file(tmp_path):
    (tmp_path / "a.nii").write_bytes(nifti_bytes(labels()))
    reading = read_labels(tmp_path / "a.nii", spacing=(1, 1, 3))
    np.testing.assert_allclose(reading.labels.grid.spacing, (1, 1, 3))
    assert reading.spacing_source is SpacingSource.ARGUMENT


def test_load_mask(tmp_path):
    (tmp_path / "a.nii").write_bytes(nifti_bytes(labels()))
    mask, spacing = load_mask(tmp_path / "a.nii")
    assert np.array_equal(mask, labels() > 0)
    np.testing.assert_allclose(spacing, (0.8, 0.9, 2.5), rtol=1e-6)
    mask, spacing = load_mask(labels(), label=2, spacing=2.0)
    assert np.array_equal(mask, labels() == 2)
    assert spacing == (2.0, 2.0, 2.0)
    assert load_mask(labels())[1] == (1.0, 1.0, 1.0)


def test_formats_are_told_by_content_whatever_the_name(tmp_path):
    np.save(tmp_path / "a.npy", labels())
    contents = {
        "nifti": nifti_bytes(labels()),
        "nrrd": nrrd_bytes(labels()),
        "metaimage": metaimage_bytes(labels()),
        "npy": (tmp_path / "a.npy").read_bytes(),
    }
    for key, data in contents.items():
        path = tmp_path / f"{key}.dat"
        path.write_bytes(data)
        assert identify(path).key == key
        assert np.array_equal(read_labels(path).labels.layers[0], labels())


def test_format_keys_are_unique_and_suffixes_start_with_a_dot():
    assert len({entry.key for entry in FORMATS}) == len(FORMATS)
    assert all(suffix.startswith(".") for entry in FORMATS for suffix in entry.suffixes)


@pytest.mark.parametrize(
    ("name", "stem"),
    [("liver.nii.gz", "liver"), ("a.b.seg.nrrd", "a.b"), ("x.MHA", "x"), ("readme.md", None), (".nii.gz", None)],
)
def test_stems(name, stem):
    assert image_stem(name) == stem


def test_floats_are_never_held_as_a_whole(tmp_path):
    array = np.zeros((200, 200, 50), dtype=np.float64)
    array[50:90, 50:90, 10:30] = 3
    nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), tmp_path / "a.nii.gz")
    read_labels(tmp_path / "a.nii.gz")
    tracemalloc.start()
    got = read_labels(tmp_path / "a.nii.gz").labels
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(got.layers[0], array)
    # The labels take 2 MB, one piece of the stream and its copies some MiB more; the floats would take 16 MB.
    assert peak < 12_000_000


def four_axes(path, array):
    if path.suffix == ".nii":
        path.write_bytes(nifti_bytes(array))
    elif path.suffix == ".npy":
        np.save(path, np.moveaxis(array, -1, 0))
    elif path.suffix == ".mha":
        path.write_bytes(metaimage_bytes(array, {"TransformMatrix": "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1",
                                                 "Offset": "0 0 0 0", "ElementSpacing": "1 1 1 1"}))  # fmt: skip
    else:
        directions = "(1,0,0) (0,1,0) (0,0,1) none"
        path.write_bytes(nrrd_bytes(array, {"space directions": directions, "kinds": "domain domain domain list"}))


@pytest.mark.parametrize("suffix", [".nii", ".npy", ".mha", ".nrrd"])
def test_volumes_are_channels_or_frames_in_every_format(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    four_axes(path, np.stack([labels() == k for k in range(4)], axis=-1).astype(np.uint8))
    assert np.array_equal(read_labels(path).labels.layers[0], labels())
    four_axes(path, np.stack([labels(), labels() * 2], axis=-1))
    with pytest.raises(UnreadableFile, match="frame="):
        read_labels(path)
    assert np.array_equal(read_labels(path, frame=1).labels.layers[0], labels() * 2)
    with pytest.raises(UnreadableFile, match="has frames 0 to 1, frame 2 was asked for"):
        read_labels(path, frame=2)


def test_options_are_checked(tmp_path):
    (tmp_path / "a.nii").write_bytes(nifti_bytes(labels()))
    with pytest.raises(ValueError, match="nan: expected"):
        read_labels(tmp_path / "a.nii", nan="ignore")
    with pytest.raises(ValueError, match="threshold: expected"):
        read_labels(tmp_path / "a.nii", threshold=float("nan"))


@pytest.mark.parametrize("zipped", [False, True])
def test_long_stretches_of_background_and_what_lies_between_them(tmp_path, zipped):
    """Pieces of a megabyte are read at a time; a foreground voxel at either end of one, and whole ones of nothing."""
    array = np.zeros((128, 128, 300), dtype=np.uint8)
    flat = array.reshape(-1, order="F")
    places = np.array([0, (1 << 20) - 352 - 1, 1 << 20, 3 * (1 << 20) - 1, flat.size - 1])
    flat[places] = [1, 2, 3, 4, 5]
    array = flat.reshape(array.shape, order="F")
    data = nifti_bytes(array)
    path = tmp_path / ("a.nii.gz" if zipped else "a.nii")
    path.write_bytes(gzip.compress(data) if zipped else data)
    assert np.array_equal(read_labels(path).labels.layers[0], array)


#: Each reader of compressed voxels: the file, how many bytes its checksum has, and who reads it.
COMPRESSED = {
    "nifti": ("a.nii.gz", gzip.compress(nifti_bytes(labels()), mtime=0), 8, read_labels),
    "nifti as image": ("a.nii.gz", gzip.compress(nifti_bytes(labels()), mtime=0), 8, read_image),
    "nrrd gzip": (
        "a.nrrd", nrrd_bytes(labels(), {"encoding": "gzip"}, gzip.compress(labels().tobytes(order="F"), mtime=0)), 8,
        read_labels,
    ),
    "nrrd bzip2": (
        "a.nrrd", nrrd_bytes(labels(), {"encoding": "bzip2"}, bz2.compress(labels().tobytes(order="F"))), 4,
        read_labels,
    ),
    "metaimage": (
        "a.mha", metaimage_bytes(labels(), {"CompressedData": "True"}, zlib.compress(labels().tobytes(order="F"))), 4,
        read_labels,
    ),
}  # fmt: skip


@pytest.fixture(params=["isal", "zlib"])
def inflater(request, monkeypatch):
    """Both modules that may inflate: isal's where it is installed, else Python's own."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setattr(streams, "_zlib_module", lambda: zlib)


@pytest.mark.usefixtures("inflater")
@pytest.mark.parametrize("kind", COMPRESSED)
def test_compressed_voxels_count_only_with_their_checksum(tmp_path, kind):
    """A .nii.gz cut by 4 bytes has all its voxels, but nothing proves them: it must not be read silently."""
    name, data, checksum, read = COMPRESSED[kind]
    path = tmp_path / name
    path.write_bytes(data)
    read(path)
    for cut in range(1, checksum + 1):
        path.write_bytes(data[:-cut])
        with pytest.raises(UnreadableFile, match=r"ends before its checksum|damaged|expected"):
            read(path)
    if kind != "nrrd bzip2":  # its checksum does not lie on whole bytes
        for place in range(1, checksum + 1):
            path.write_bytes(data[:-place] + bytes([data[-place] ^ 1]) + data[len(data) - place + 1 :])
            with pytest.raises(UnreadableFile, match="the compressed data is damaged"):
                read(path)
