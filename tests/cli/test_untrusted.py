"""`--untrusted`: predictions of strangers get no links, low limits, and no word of theirs into an output."""

import json

import pytest
from tests.badinputs.files import labels, metaimage_bytes, nifti_bytes, nrrd_bytes
from tests.conftest import PROJECT

from segauge.cli import main
from segauge.io.gate import UNTRUSTED_LIMITS

NAME = "SECRETDOE"
_NRRD = ("type", "dimension", "space", "sizes", "space directions", "endian", "encoding", "space origin", "kinds")
_MHA = ("NDims", "DimSize", "ElementType", "ElementSpacing", "TransformMatrix", "Offset", "BinaryData", "Comment")


@pytest.fixture
def folders(tmp_path):
    for side in ("pred", "gt"):
        (tmp_path / side).mkdir()
    return tmp_path / "pred", tmp_path / "gt"


def evaluated(folders, *more):
    """Return what an evaluation of strangers' predictions wrote as JSON, CSV and HTML."""
    out = folders[0].parent
    main(["eval", "--pred", str(folders[0]), "--gt", str(folders[1]), "--untrusted", "--no-progress",
          "--metrics", "dice", "--structures", "1", "--json", f"{out}/a.json", "--csv", f"{out}/a.csv",
          "--report", f"{out}/a.html", *more])  # fmt: skip
    return [(out / f"a.{kind}").read_text() for kind in ("json", "csv", "html")]


def test_no_word_of_a_header_reaches_an_output(folders, capsys):
    """Messages quote what a field should not be: `got 'SECRETDOE'`."""
    pred, gt = folders
    for kind, fields, write in (("nrrd", _NRRD, nrrd_bytes), ("mha", _MHA, metaimage_bytes)):
        for number, field in enumerate(fields):
            (gt / f"{kind}{number}.{kind}").write_bytes(write(labels()))
            (pred / f"{kind}{number}.{kind}").write_bytes(write(labels(), {field: NAME}))
    texts = evaluated(folders)
    told = capsys.readouterr()
    assert all(NAME not in text for text in (*texts, told.out, told.err))
    reasons = [row["reason"] for row in json.loads(texts[0])["per_case"] if row["status"] != "present"]
    assert len(reasons) >= 10
    # Without the option the same files are explained, with what they hold: this test can fail.
    main(["eval", "--pred", str(pred), "--gt", str(gt), "--no-progress", "--metrics", "dice", "--structures", "1"])
    assert NAME in "".join(capsys.readouterr())


def test_no_link_of_a_stranger_is_read(folders, capsys):
    pred, gt = folders
    for name in ("c0", "c1"):
        (gt / f"{name}.nii").write_bytes(nifti_bytes(labels()))
    (pred / "c0.nii").write_bytes(nifti_bytes(labels()))
    (pred / "c1.nii").symlink_to(pred / "c0.nii")
    rows = {row["case_id"]: row for row in json.loads(evaluated(folders)[0])["per_case"]}
    assert rows["c0"]["dice"] == 1
    assert rows["c1"]["status"] == "unreadable"
    assert "'c1': unreadable: " in "".join(capsys.readouterr())  # and ids are in quotes


def test_links_cannot_be_allowed(folders, capsys):
    (folders[1] / "c0.nii").write_bytes(nifti_bytes(labels()))
    code = main(["eval", "--pred", str(folders[0]), "--gt", str(folders[1]), "--untrusted", "--follow-links"])
    assert code == 2
    assert "exclude each other" in capsys.readouterr().err


def test_limits_are_low(folders):
    pred, gt = folders
    (gt / "c0.nrrd").write_bytes(nrrd_bytes(labels()))
    (pred / "c0.nrrd").write_bytes(nrrd_bytes(labels(), {"content": "x" * (UNTRUSTED_LIMITS.max_header_bytes + 1)}))
    (row,) = json.loads(evaluated(folders)[0])["per_case"]
    assert row["status"] == "unreadable"
    assert UNTRUSTED_LIMITS.max_voxels <= 2**29
    main(["eval", "--pred", str(pred), "--gt", str(gt), "--structures", "1", "--json", f"{gt}/../b.json"])
    (row,) = json.loads((gt.parent / "b.json").read_text())["per_case"]
    assert row["dice"] == 1  # which it is where the stranger is trusted


def test_who_takes_submissions_has_it_by_default():
    action = (PROJECT / "action.yml").read_text()
    assert 'default: "true"' in action.partition("  untrusted:")[2].partition("  output:")[0]
    template = PROJECT / "src/segauge/integrations/templates/grand_challenge/evaluate.py.tmpl"
    assert "untrusted=True" in template.read_text()
