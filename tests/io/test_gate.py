"""What comes from strangers: links instead of predictions, numbers and files that are too large, hostile names."""

import os
import shutil
import socket

import numpy as np
import pytest
from tests.badinputs.files import labels, nifti_bytes, nrrd_bytes

from segauge.cli import main
from segauge.errors import InvalidInput
from segauge.io import gate, read_labels
from segauge.io.gate import are_identical, parse_json, read_bytes
from segauge.io.layouts import find_pairs


@pytest.fixture
def study(tmp_path):
    """Two cases with ground truths, and an empty folder for predictions."""
    for folder in ("gt", "pred"):
        (tmp_path / folder).mkdir()
    for case in "ab":
        (tmp_path / "gt" / f"{case}.nii").write_bytes(nifti_bytes(labels()))
    return tmp_path


def run(command, study, *more):
    pred = study / "pred"
    named = [f"one={pred}", "--pred", f"two={pred}"] if command == "compare" else [str(pred)]
    return main([command, "--pred", *named, "--gt", str(study / "gt"), *more])


@pytest.mark.parametrize("command", ["eval", "compare", "doctor"])
@pytest.mark.parametrize("kind", ["file", "relative", "chain", "folder of a case", "file in a folder"])
def test_a_prediction_that_is_a_link_to_the_ground_truth_is_refused(study, capsys, command, kind):
    """Four links to the ground truth had Dice 1.000, exit 0, and no word of it."""
    pred, gt = study / "pred", study / "gt"
    if kind == "relative":
        (pred / "a.nii").symlink_to("../gt/a.nii")
    elif kind == "chain":
        (pred / "inside").symlink_to(gt / "a.nii")
        (pred / "a.nii").symlink_to("inside")
    elif kind in ("folder of a case", "file in a folder"):
        for path in gt.iterdir():
            (gt / path.stem).mkdir()
            path.rename(gt / path.stem / "liver.nii")
            shutil.copy(gt / path.stem / "liver.nii", gt / path.stem / "spleen.nii")
        if kind == "folder of a case":
            (pred / "a").symlink_to(gt / "a")
        else:
            (pred / "a").mkdir()
            shutil.copy(gt / "a" / "liver.nii", pred / "a")
            (pred / "a" / "spleen.nii").symlink_to(gt / "a" / "spleen.nii")
    else:
        (pred / "a.nii").symlink_to(gt / "a.nii")
    assert run(command, study) == 1
    told = capsys.readouterr().err
    assert "is a link that leads out of" in told
    assert "--follow-links" in told
    run(command, study, "--follow-links")
    assert "is a link" not in capsys.readouterr().err


def test_voxels_that_are_a_link_to_those_of_the_ground_truth_are_not_opened(study):
    (study / "gt" / "voxels.raw").write_bytes(labels().tobytes(order="F"))
    (study / "pred" / "a.nhdr").write_bytes(nrrd_bytes(labels(), {"data file": "voxels.raw"}, b""))
    (study / "pred" / "voxels.raw").symlink_to(study / "gt" / "voxels.raw")
    with pytest.raises(InvalidInput, match="lies outside of the header's folder"):
        read_labels(study / "pred" / "a.nhdr")


def test_links_within_the_folder_and_a_folder_that_is_a_link_are_read(study):
    (study / "pred" / "a.nii").write_bytes(nifti_bytes(labels()))
    (study / "pred" / "b.nii").symlink_to("a.nii")
    (study / "named").symlink_to(study / "pred")
    assert len(find_pairs(study / "named", study / "gt").pairs) == 2
    (study / "link.nii").symlink_to(study / "pred" / "a.nii")  # a file that was named by whoever runs it
    assert find_pairs(study / "link.nii", study / "gt" / "a.nii").pairs[0].pred is not None


@pytest.mark.parametrize("target", ["nowhere.nii", "a.nii"])
def test_a_broken_link_and_a_loop_are_told_in_words(study, capsys, target):
    (study / "pred" / "a.nii").symlink_to(target)
    assert run("eval", study) in (1, 3)
    told = capsys.readouterr()
    assert "is a link to itself" in told.err or "cannot be opened: No such file" in told.out + told.err


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_file_is_refused(study, monkeypatch, kind):
    place = study / "pred" / "a.nii"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        monkeypatch.chdir(place.parent)  # the name of a socket is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    with pytest.raises(InvalidInput, match="pipe, socket or device"):
        find_pairs(study / "pred", study / "gt")


def test_identical_files_are_told(study, capsys):
    shutil.copy(study / "gt" / "a.nii", study / "pred")
    other = labels()
    other[0, 0, 0] = 1
    (study / "pred" / "b.nii").write_bytes(nifti_bytes(other))
    assert run("eval", study) == 0
    assert "1 prediction is its ground truth, byte for byte: 'a'" in capsys.readouterr().err


def test_folders_are_identical_if_all_their_files_are(tmp_path):
    for name in ("one", "two", "none"):
        (tmp_path / name).mkdir()
    for name in ("one", "two"):
        (tmp_path / name / "liver.nii").write_bytes(b"x" * 3_000_000)
    assert are_identical(tmp_path / "one", tmp_path / "two")
    assert not are_identical(tmp_path / "none", tmp_path / "none")
    (tmp_path / "two" / "liver.nii").write_bytes(b"x" * 2_999_999 + b"y")
    assert not are_identical(tmp_path / "one", tmp_path / "two")
    (tmp_path / "one" / "spleen.nii").write_bytes(b"")
    assert not are_identical(tmp_path / "one", tmp_path / "two")


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_whole_number_of_hundreds_of_digits_is_refused(sign):
    """It became a Python integer, and the first float() of it an OverflowError far away."""
    assert parse_json(b'{"a": 123}', "x.json") == {"a": 123}
    assert parse_json(sign.encode() + b"9" * 299, "x.json") == int(sign + "9" * 299)
    with pytest.raises(InvalidInput, match=r"x.json: holds a whole number of 40\d digits, more than the 300"):
        parse_json(b'{"a": ' + sign.encode() + b"1" * 400 + b"}", "x.json")


@pytest.mark.parametrize(
    ("text", "count"), [(b"{},", "MAX_CONTAINERS"), (b"[],", "MAX_CONTAINERS"), (b"1,", "MAX_VALUES")]
)
def test_more_values_than_any_result_are_refused_before_they_are_made(monkeypatch, text, count):
    """24 MB of {} took 0.7 GB."""
    monkeypatch.setattr(gate, count, 1000)
    parse_json(b"[" + text * 900 + b"0]", "x.json")
    with pytest.raises(InvalidInput, match="holds more values than any result"):
        parse_json(b"[" + text * 1100 + b"0]", "x.json")
    assert 80 * gate.MAX_CONTAINERS < 2**29


def test_a_file_that_is_too_large_or_no_file_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x" * 100)
    assert read_bytes(tmp_path / "a.csv") == b"x" * 100
    with pytest.raises(InvalidInput, match="100 bytes are too many for a table"):
        read_bytes(tmp_path / "a.csv", max_bytes=99)
    with pytest.raises(InvalidInput, match="expected a file, there is none"):
        read_bytes(tmp_path)


def test_the_largest_array_of_a_prediction_folder_is_looked_through_once(study):
    """Links in folders below are found, too."""
    folder = study / "pred" / "a" / "deep"
    folder.mkdir(parents=True)
    np.save(folder / "x.npy", labels())
    (folder / "y.npy").symlink_to(study / "gt" / "a.nii")
    with pytest.raises(InvalidInput, match=r"y\.npy: is a link"):
        gate.check_links(study / "pred", [study / "pred" / "a"])
