"""Results travel: no folder of this machine and no text of a DICOM header may be in them.

Three cases held nine absolute paths in JSON, CSV and HTML, and `import` carried them on; messages about damaged DICOM
files quoted values of the header.
"""

import warnings
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom.datadict import DicomDictionary

from segauge.cli import main
from segauge.io.outputs import without_folders
from tests.badinputs.files import (
    even_positions,
    labels,
    nifti_bytes,
    rtstruct_dataset,
    save,
    seg_dataset,
    write_series,
)

NAME = "SECRETDOE"
_TEXTS = ("PN", "LO", "SH", "ST", "LT", "UT", "UC", "AE")


def run(*arguments: object) -> None:
    try:
        assert main([str(argument) for argument in arguments]) in (0, 1, 3, 4)
    except SystemExit as end:  # an error of usage would test nothing
        raise AssertionError(arguments) from end


def leaks(folder: Path, word: str) -> dict[str, str]:
    """Return the outputs that hold a word, each with what stands around it."""
    assert sum(path.is_file() for path in folder.rglob("*")) > 5
    texts = {path: path.read_text("utf-8", errors="replace") for path in folder.rglob("*") if path.is_file()}
    found = {str(path.relative_to(folder)): (text, text.find(word)) for path, text in texts.items() if word in text}
    return {name: text[max(0, at - 100) : at + 100] for name, (text, at) in found.items()}


def every_output(pred: Path, gt: Path, out: Path, *more: object) -> None:
    """Write every file that speaks of these predictions into the folder `out`."""
    main(["eval", "--pred", str(pred), "--gt", str(gt), "--no-progress", *map(str, more), "--json", f"{out}/a.json",
          "--csv", f"{out}/a.csv", "--report", f"{out}/a.html", "--n-resamples", "100",
          "--metrics-json", f"{out}/metrics.json"])  # fmt: skip
    run("compare", f"--pred=A={pred}", f"--pred=B={gt}", "--gt", gt, "--json", out / "b.json",
        "--report", out / "b.html", "--metrics", "dice,hd95", "--n-resamples", 100, *more)  # fmt: skip
    run("compare", f"A={out / 'a.json'}", f"B={out / 'a.json'}", "--json", out / "c.json")
    run("diff", out / "a.json", out / "a.json", "--json", out / "d.json")
    for kind in ("json", "long"):
        run("import", out / "a.json", "--to", kind, "-o", out / f"imported.{kind}")
    run("doctor", "--pred", pred, "--gt", gt, "--json", out / "doctor.json")
    for number, file in enumerate(sorted(pred.iterdir())):
        run("doctor", file, "--json", out / f"file{number}.json")


@pytest.mark.parametrize("is_absolute", [True, False])
def test_no_output_names_the_folders_of_this_machine(tmp_path, monkeypatch, capsys, is_absolute):
    home = tmp_path / NAME / "ward seven"
    pred, gt, images = (home / name for name in ("pred", "gt", "images"))
    for side in (pred, gt, images):
        side.mkdir(parents=True)
        for number in range(7):
            (side / f"c{number}.nii").write_bytes(nifti_bytes(labels()))
    whole = nifti_bytes(labels())
    (pred / "c1.nii").write_bytes(whole[:400])
    (pred / "c2.nii").unlink()
    (pred / "c3.nii").write_bytes(nifti_bytes(labels()[:-1]))
    (gt / "c4.nii").write_bytes(whole[:360])
    (pred / "c5.nii").write_bytes(nifti_bytes(labels().astype("float32") + 0.25))
    moved = np.diag([1.0, 1.0, 9.0, 1.0])
    (pred / "c6.nii").write_bytes(nifti_bytes(labels(), moved))
    (images / "c0.nii").write_bytes(whole[:300])
    out = tmp_path / "out"
    out.mkdir()
    if not is_absolute:
        monkeypatch.chdir(tmp_path)
        pred, gt, images, out = (path.relative_to(tmp_path) for path in (pred, gt, images, out))
    every_output(pred, gt, out, "--structures", "1")
    run("eval", "--pred", pred, "--gt", gt, "--structures", "1", "--no-progress", "--summary-json",
        out / "summary.json", "--report", out / "e.html", "--images", images)  # fmt: skip
    assert not leaks(out, NAME)
    text = (out / "a.json").read_text()
    assert "pred/c1.nii: " in text  # and the files are still named
    assert "gt/c4.nii: " in text
    assert "the image is not drawn: images/c0.nii" in (out / "e.html").read_text()


def test_the_search_finds_a_folder(tmp_path):
    for number in range(6):
        (tmp_path / f"{number}.json").write_text(f"reason: /home/{NAME}/a.nii" if number == 3 else "")
    assert list(leaks(tmp_path, NAME)) == ["3.json"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data/ward/pred/a.nii: cut", "pred/a.nii: cut"),
        ("/data/ward/pred/a b/c.nii", "pred/a b/c.nii"),
        ("in '/data/ward/pred'.", "in 'pred/'."),
        ("/data/ward/pred2/a.nii", "pred2/a.nii"),
        ("/data/ward/images/a.nii", "images/a.nii"),
        ("10 mm/voxel, 3/4", "10 mm/voxel, 3/4"),
        ("x/data/ward/pred/a.nii", "x/data/ward/pred/a.nii"),
    ],
)
def test_folders_are_left_out_of_texts(text, expected):
    assert without_folders([{"a": text}], [("pred", Path("/data/ward/pred"))]) == [{"a": expected}]


def filled_in(dataset: pydicom.Dataset) -> pydicom.Dataset:
    """Put the name into every element of the dictionary that holds free text and is not set."""
    for tag, (kind, _, _, _, keyword) in DicomDictionary.items():
        if tag >> 16 > 2 and kind in _TEXTS and keyword and tag not in dataset:
            dataset.add_new(tag, kind, NAME)
    return dataset


#: What is wrong with the header of a prediction; a ground truth is right.
_SPOILT = {
    "c0": {},
    "c1": {"SegmentationType": NAME},
    "c2": {"SegmentationType": "FRACTIONAL", "SegmentationFractionalType": NAME},
    "c3": {"PhotometricInterpretation": NAME},
    "c4": {"Rows": None},
}


def write_segmentation(path: Path, **elements: object) -> bytes:
    frames = [(1, position, np.ones((7, 5), bool)) for position in even_positions(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = filled_in(seg_dataset(path, frames, **elements))
        dataset.SegmentSequence[0].SegmentDescription = NAME
        return save(dataset, path).read_bytes()


@pytest.fixture
def study(tmp_path) -> Path:
    """Return a folder of predictions and ground truths in DICOM, right and spoilt, headers full of names."""
    pred, gt = tmp_path / "pred", tmp_path / "gt"
    pred.mkdir()
    gt.mkdir()
    for name, spoilt in _SPOILT.items():
        write_segmentation(gt / f"{name}.dcm")
        write_segmentation(pred / f"{name}.dcm", **spoilt)
    for name, share in (("t0", 0.5), ("t1", 0.9)):
        data = write_segmentation(gt / f"{name}.dcm")
        (pred / f"{name}.dcm").write_bytes(data[: int(len(data) * share)])
    data = write_segmentation(gt / "n0.dcm")
    assert data.count(b"1.1\\0.9") == 1
    (pred / "n0.dcm").write_bytes(data.replace(b"1.1\\0.9", b"DOE^AB "))  # a number that is a name
    return tmp_path


def test_no_output_holds_texts_of_a_dicom_header(study, capsys):
    out = study / "out"
    out.mkdir()
    every_output(study / "pred", study / "gt", out, "--structures", "all")
    told = capsys.readouterr()
    for word in (NAME, "DOE^AB"):
        assert not leaks(out, word)
        assert word not in told.out + told.err
    assert "organ 1" in (out / "a.csv").read_text()  # names of labels are what is measured


def test_no_note_of_contours_or_series_holds_texts_of_a_header(tmp_path, capsys):
    square = [[-9.0, -19.0, 32.0], [-6.0, -19.0, 32.0], [-6.0, -15.0, 32.0]]
    for side in ("pred", "gt"):
        case = write_series(tmp_path / side / "c0", even_positions(), PatientName=NAME, SeriesDescription=NAME)
        (tmp_path / side / "c0" / "more.dcm").write_bytes((case / "slice01.dcm").read_bytes())
        dataset = rtstruct_dataset(case / "rt.dcm", [("organ", [("CLOSED_PLANAR", square), (NAME, square)])])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            save(filled_in(dataset), case / "rt.dcm")
        (case / "more.dcm").unlink()
    out = tmp_path / "out"
    out.mkdir()
    every_output(tmp_path / "pred", tmp_path / "gt", out, "--structures", "all")
    assert not leaks(out, NAME)
    assert "contour of type unknown" in (out / "a.json").read_text()
    told = capsys.readouterr()
    assert NAME not in told.out + told.err
