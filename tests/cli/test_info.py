"""`segauge info` says what the readers see."""

import gzip
import json

import numpy as np
from tests.badinputs.catalog import box, frame_mask
from tests.badinputs.files import even_positions, labels, nifti_bytes, rtstruct_dataset, save, seg_dataset, write_series

from segauge.cli import main


def test_a_label_map(tmp_path, capsys):
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(nifti_bytes(labels())))
    assert main(["info", str(tmp_path / "a.nii.gz")]) == 0
    printed = capsys.readouterr().out
    assert "a.nii.gz: NIfTI" in printed
    assert "5 x 6 x 7 voxels of 0.8 x 0.9 x 2.5 mm, LPS" in printed
    assert "first voxel  at 30, 20, -10 mm" in printed
    # 18 voxels of 1.8 mm³
    assert ["1", "18", "0.032"] in [line.split() for line in printed.splitlines()]


def test_a_file_is_printed_as_it_is_called(tmp_path, capsys):
    """It was printed as `--label 2.nii.gz`: messages were made by replacing words in other messages."""
    path = tmp_path / "label=2.nii.gz"
    path.write_bytes(b"nothing")
    assert main(["info", str(path)]) == 1
    assert main(["eval", "--pred", str(path), "--gt", str(path), "--jobs", "1"]) != 0
    said = capsys.readouterr()
    assert said.err.count("label=2.nii.gz") == 2
    assert "--label" not in said.out + said.err


def test_json_holds_the_same_for_machines(tmp_path, capsys):
    (tmp_path / "a.nii").write_bytes(nifti_bytes(labels()))
    assert main(["info", "--json", str(tmp_path / "a.nii")]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["grid"]["shape"] == [5, 6, 7]
    assert {entry["label"]: entry["voxels"] for entry in facts["labels"]} == {1: 18, 2: 15, 3: 1}
    assert facts["notes"] == []


def test_series_segments_and_regions(tmp_path, capsys):
    write_series(tmp_path / "ct", even_positions())
    frames = [(1, place, frame_mask(k)) for k, place in enumerate(even_positions(2))]
    save(seg_dataset(tmp_path / "seg.dcm", frames), tmp_path / "seg.dcm")
    contour = (np.array(box(1.5, 3.5, z=32)) - [10, 20, 0]).tolist()
    regions = [("organ", [("CLOSED_PLANAR", contour)]), ("isocentre", [("POINT", [[0, 0, 0]])])]
    save(rtstruct_dataset(tmp_path / "rt.dcm", regions), tmp_path / "rt.dcm")
    assert main(["info", str(tmp_path / "ct"), str(tmp_path / "seg.dcm"), str(tmp_path / "rt.dcm")]) == 0
    printed = capsys.readouterr().out
    assert "ct: DICOM series of 5 slices" in printed
    rows = [line.split() for line in printed.splitlines()]
    assert ["1", "organ", "1", "12", "0.024"] in rows
    # The box from 1.5 to 3.5 mm holds columns 2 and 3 (of 0.9 mm) and rows 2 and 3 (of 1.1 mm).
    assert ["1", "organ", "4", "0.008", "1"] in rows
    assert "its mask is empty" in printed


def test_contours_without_images_are_still_listed(tmp_path, capsys):
    regions = [("organ", [("CLOSED_PLANAR", box(1.5, 3.5))])]
    save(rtstruct_dataset(tmp_path / "rt.dcm", regions), tmp_path / "rt.dcm")
    assert main(["info", str(tmp_path / "rt.dcm")]) == 0
    printed = capsys.readouterr().out
    assert "organ" in printed
    assert "give a reference" in printed


def test_exit_codes(tmp_path, capsys):
    (tmp_path / "good.nii").write_bytes(nifti_bytes(labels()))
    (tmp_path / "bad.nii").write_bytes(nifti_bytes(labels())[:-9])
    assert main(["info", str(tmp_path / "bad.nii")]) == 1
    assert "bytes of voxels expected" in capsys.readouterr().err
    assert main(["info", str(tmp_path / "bad.nii"), str(tmp_path / "good.nii")]) == 3
    assert "good.nii: NIfTI" in capsys.readouterr().out


def test_a_probability_map_is_told_by_the_option_that_the_command_has(tmp_path, capsys):
    np.save(tmp_path / "soft.npy", np.full((4, 4, 4), 0.3, dtype=np.float32))
    assert main(["info", str(tmp_path / "soft.npy")]) == 1
    assert "pass --threshold 0.5" in capsys.readouterr().err
