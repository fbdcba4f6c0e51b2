"""The hash of a source covers every file that reading it opens, so a run that is resumed never keeps old numbers."""

import json

import numpy as np
import pytest
from tests.badinputs.files import AFFINE, labels, metaimage_bytes, nifti_bytes, nrrd_bytes

from segauge import Case, LabelMap, evaluate, read_labels, verify
from segauge.io.contents import content_hash, file_hash, path_hash


def raw(array):
    return array.tobytes(order="F")


def detached_nrrd(folder, header, data_file, parts):
    (folder / header).write_bytes(nrrd_bytes(labels(), {"data file": data_file}, b""))
    cut = [raw(labels())[k :: len(parts)] for k in range(len(parts))]
    return folder / header, dict(zip(parts, cut, strict=True))


def detached_metaimage(folder, header, data_file, parts):
    (folder / header).write_bytes(metaimage_bytes(labels(), {"ElementDataFile": data_file}, b""))
    cut = [raw(labels())[k :: len(parts)] for k in range(len(parts))]
    return folder / header, dict(zip(parts, cut, strict=True))


def pair(folder, *_):
    whole = nifti_bytes(labels(), AFFINE, magic=b"ni1\0", vox_offset=0.0)
    (folder / "a.hdr").write_bytes(whole[:348])
    return folder / "a.hdr", {"a.img": raw(labels())}


#: How the voxels can lie apart from their header.
APART = {
    "nhdr": lambda folder: detached_nrrd(folder, "a.nhdr", "other.raw", ["other.raw"]),
    "nhdr, a blank in the name": lambda folder: detached_nrrd(folder, "a.nhdr", "my voxels.raw", ["my voxels.raw"]),
    "nhdr, in a folder": lambda folder: detached_nrrd(folder, "a.nhdr", "data/v.raw", ["data/v.raw"]),
    "nhdr, a pattern": lambda folder: detached_nrrd(folder, "a.nhdr", "v%02d.raw 3 4 1", ["v03.raw", "v04.raw"]),
    "nhdr, a list": lambda folder: detached_nrrd(folder, "a.nhdr", "LIST\nx.raw\ny.raw", ["x.raw", "y.raw"]),
    "named .nrrd": lambda folder: detached_nrrd(folder, "a.nrrd", "other.raw", ["other.raw"]),
    "mhd": lambda folder: detached_metaimage(folder, "a.mhd", "other.raw", ["other.raw"]),
    "mhd, a blank in the name": lambda folder: detached_metaimage(folder, "a.mhd", "my voxels.raw", ["my voxels.raw"]),
    "mhd, in a folder": lambda folder: detached_metaimage(folder, "a.mhd", "data/v.raw", ["data/v.raw"]),
    "mhd, a list": lambda folder: detached_metaimage(folder, "a.mhd", "LIST\nx.raw\ny.raw", ["x.raw", "y.raw"]),
    "named .mha": lambda folder: detached_metaimage(folder, "a.mha", "other.raw", ["other.raw"]),
    "hdr and img": pair,
}


@pytest.mark.parametrize("make", APART.values(), ids=APART)
def test_voxels_apart_from_their_header_count(make, tmp_path):
    header, parts = make(tmp_path)
    for name, data in parts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    read_labels(header)
    before, whole = content_hash(header), path_hash(header)
    assert content_hash(header) == before
    for name, data in parts.items():
        (tmp_path / name).write_bytes(bytes(len(data)))
        assert content_hash(header) != before, name
        assert path_hash(header) != whole, name
        (tmp_path / name).write_bytes(data)
    assert content_hash(header) == before


def test_voxels_below_a_folder_of_masks_count(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "v.raw").write_bytes(raw(labels()))
    (tmp_path / "liver.mhd").write_bytes(metaimage_bytes(labels(), {"ElementDataFile": "data/v.raw"}, b""))
    before = content_hash(tmp_path)
    (tmp_path / "data" / "v.raw").write_bytes(bytes(labels().size))
    assert content_hash(tmp_path) != before


def test_a_sidecar_counts_and_no_other_file_beside(tmp_path):
    np.save(tmp_path / "a.npy", labels())
    before = content_hash(tmp_path / "a.npy")
    (tmp_path / "a.txt").write_text("a note")
    assert content_hash(tmp_path / "a.npy") == before
    (tmp_path / "a.json").write_text(json.dumps({"spacing": [1, 1, 2]}))
    assert content_hash(tmp_path / "a.npy") != before


def test_a_plain_file_has_the_hash_of_its_bytes(tmp_path):
    path = tmp_path / "a.nii"
    path.write_bytes(nifti_bytes(labels()))
    assert path_hash(path) == file_hash(path)


def test_what_decides_how_a_label_map_is_placed_counts():
    plain = LabelMap.from_array(labels())
    facts = {"in_space": False}, {"partial": True}, {"frame_of_reference": "1.2"}
    maps = [plain, *(LabelMap(plain.layers, plain.grid, **fact) for fact in facts)]
    assert len({content_hash(one) for one in maps}) == 4


def test_a_run_that_is_resumed_sees_changed_voxels_and_verify_too(tmp_path):
    gt = np.zeros((8, 8, 8), dtype=np.uint8)
    gt[2:6, 2:6, 2:6] = 1
    (tmp_path / "gt.mha").write_bytes(metaimage_bytes(gt))
    (tmp_path / "pred.mhd").write_bytes(metaimage_bytes(gt, {"ElementDataFile": "data/my pred.raw"}, b""))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "my pred.raw").write_bytes(raw(gt))
    cases = [Case("a", tmp_path / "pred.mhd", tmp_path / "gt.mha")]
    first = evaluate(cases, metrics=["dice"], cache=tmp_path / "cache")
    written = first.to_json(tmp_path / "result.json")
    assert first.rows[0]["dice"] == 1.0
    assert verify(written, cases).is_confirmed
    (tmp_path / "data" / "my pred.raw").write_bytes(raw(np.roll(gt, 2, axis=0)))
    assert evaluate(cases, metrics=["dice"], cache=tmp_path / "cache").rows[0]["dice"] == 0.5
    assert "a / pred / sha256" in [one.where for one in verify(written, cases).discrepancies]
