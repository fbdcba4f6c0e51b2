"""What `segauge eval` measures where nobody says: each label where both sides hold several, else the foreground."""

import json
import shutil

import numpy as np
import pytest

from segauge.cli import main
from segauge.cli import structures as choosing
from segauge.grid import Grid
from segauge.io import write_nifti

GRID = Grid((12, 10, 8), np.eye(4))


def labels(*values):
    """Return an array with a bar of each label."""
    array = np.zeros((12, 10, 8), np.uint8)
    for i, value in enumerate(values):
        array[1 + 3 * i : 3 + 3 * i, 2:8, 2:6] = value
    return array


def write(folder, **cases):
    folder.mkdir(exist_ok=True)
    for name, array in cases.items():
        write_nifti(folder / f"{name}.nii.gz", array, GRID)
    return folder


def measured(tmp_path, *options):
    """Return the structures that were measured, and what was said."""
    out = tmp_path / "out.json"
    paths = ["--pred", tmp_path / "pred", "--gt", tmp_path / "gt", "--json", out, "--jobs", 1, "--executor", "serial"]
    assert main(["eval", *map(str, paths), "--metrics", "dice", *options]) == 0
    return sorted(json.loads(out.read_text())["structures"])


def test_each_label_where_both_sides_hold_several(tmp_path, capsys):
    write(tmp_path / "gt", a=labels(1, 2), b=labels(1))
    write(tmp_path / "pred", a=labels(1, 2), b=labels(1, 2))
    assert measured(tmp_path) == ["label 1", "label 2"]
    assert "--structures foreground takes all of them as one" in capsys.readouterr().err
    assert measured(tmp_path, "--structures", "foreground") == ["foreground"]
    assert measured(tmp_path, "--structures", "arm=1,leg=2") == ["arm", "leg"]
    assert measured(tmp_path, "--label", "1") == ["label 1"]


@pytest.mark.parametrize(
    ("gt", "pred", "words"),
    [
        ((255,), (1,), ""),
        ((1,), (1, 7), "pred-structures"),
    ],
)
def test_the_foreground_where_one_side_holds_one_label(tmp_path, gt, pred, words, capsys):
    write(tmp_path / "gt", a=labels(*gt))
    write(tmp_path / "pred", a=labels(*pred))
    assert measured(tmp_path) == ["foreground"]
    said = capsys.readouterr().err
    assert words in said
    assert "each is measured" not in said


def test_the_ground_truth_alone_decides_what_is_measured(tmp_path, capsys):
    # A prediction of one label turned 23 structures of the ground truth into one foreground.
    write(tmp_path / "gt", a=labels(1, 2))
    write(tmp_path / "pred", a=labels(1))
    assert measured(tmp_path) == ["label 1", "label 2"]
    assert "--structures foreground takes all of them as one" in capsys.readouterr().err


def test_an_ignored_label_is_none(tmp_path):
    write(tmp_path / "gt", a=labels(1, 9))
    write(tmp_path / "pred", a=labels(1, 9))
    assert measured(tmp_path, "--ignore", "9") == ["foreground"]


def test_what_a_dataset_declares_comes_first(tmp_path):
    write(tmp_path / "gt", a=labels(1, 2))
    write(tmp_path / "pred", a=labels(1, 2))
    (tmp_path / "gt" / "dataset.json").write_text(
        json.dumps({"labels": {"background": 0, "arm": 1, "leg": 2}, "file_ending": ".nii.gz"})
    )
    assert measured(tmp_path) == ["arm", "leg"]


def test_a_file_that_cannot_be_read_is_told_later(tmp_path, capsys):
    write(tmp_path / "gt", a=labels(1, 2), b=labels(1, 2))
    write(tmp_path / "pred", a=labels(1, 2), b=labels(1, 2))
    (tmp_path / "gt" / "a.nii.gz").write_bytes(b"no image")
    assert main(["eval", "--pred", str(tmp_path / "pred"), "--gt", str(tmp_path / "gt"), "--executor", "serial"]) == 3
    assert "label 2" in capsys.readouterr().out


def test_only_a_few_cases_are_looked_into(tmp_path, monkeypatch):
    looked = []
    write(tmp_path / "gt", c0=labels(1))
    write(tmp_path / "pred", c0=labels(1))
    for i in range(1, 9):
        for side in ("gt", "pred"):
            shutil.copy(tmp_path / side / "c0.nii.gz", tmp_path / side / f"c{i}.nii.gz")
    read = choosing.read_labels
    monkeypatch.setattr(choosing, "read_labels", lambda path, **options: looked.append(path) or read(path, **options))
    assert measured(tmp_path) == ["foreground"]
    assert [path.name for path in looked] == ["c0.nii.gz", "c2.nii.gz", "c4.nii.gz", "c6.nii.gz"]


@pytest.mark.shared
def test_names_in_the_header_are_used(shared, capsys):
    source = shared / "data" / "conventions" / "totalsegmentator" / "multilabel_total.nii.gz"
    assert main(["eval", "--pred", str(source), "--gt", str(source), "--metrics", "dice", "--executor", "serial"]) == 0
    said = capsys.readouterr().out
    assert "kidney_left" in said
    assert "foreground │" not in said
