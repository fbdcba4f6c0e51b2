"""Names that differ are guessed and shown; nothing is paired in doubt; a table of pairs is written and taken back."""

import pytest

from segauge.errors import InvalidInput
from segauge.io.layouts import find_pairs
from segauge.io.layouts.pairs import guessed_names, image_column, read_pairs, write_pairs


@pytest.mark.parametrize(
    ("preds", "gts"),
    [
        (["case_01_0000", "case_02_0000"], ["case_01", "case_02"]),
        (["01_seg", "02_seg"], ["01_label", "02_label"]),
        (["img0001", "img0002"], ["label0001", "label0002"]),
        (["pred-ab12", "pred-cd34"], ["ab12", "cd34"]),
        (["case_0000"], ["case_0000_label"]),
    ],
)
def test_affixes_are_guessed(preds, gts):
    # All of these ended in "Rename one side so that the names agree".
    assert guessed_names(preds, gts) == dict(zip(preds, gts, strict=True))


@pytest.mark.parametrize(
    ("preds", "gts"),
    [
        (["a1", "a2"], ["b3", "b4"]),  # no number in common
        (["01", "02"], ["x_01_a", "x_01_b", "x_02_a"]),  # two ground truths could be case 01
        (["scan", "image"], ["label", "mask"]),  # nothing is left of the names
        (["p1_l", "p1_r"], ["p1_left", "p1_right"]),  # a letter is no word
        (["case_1"], ["case_01"]),  # 1 and 01 may be two cases
    ],
)
def test_nothing_is_guessed_in_doubt(preds, gts):
    assert guessed_names(preds, gts) == {}


def folders(tmp_path, preds, gts):
    for side, names in (("pred", preds), ("gt", gts)):
        (tmp_path / side).mkdir()
        for name in names:
            (tmp_path / side / f"{name}.nii.gz").touch()
    return tmp_path / "pred", tmp_path / "gt"


def test_a_guess_is_shown(tmp_path):
    pairing = find_pairs(*folders(tmp_path, ["a_1_0000", "a_2_0000"], ["a_1", "a_2", "a_3"]), layout="files")
    assert [(pair.case_id, pair.pred and pair.pred.name) for pair in pairing.pairs] == [
        ("a_1", "a_1_0000.nii.gz"), ("a_2", "a_2_0000.nii.gz"), ("a_3", None),
    ]  # fmt: skip
    assert any("a_1_0000 is a_1" in line for line in pairing.warnings)


def test_doubt_is_refused_with_the_way_out(tmp_path):
    pred, gt = folders(tmp_path, ["x1", "x2"], ["y3", "y4"])
    with pytest.raises(InvalidInput, match="--pairs FILE"):
        find_pairs(pred, gt, layout="files")


def test_pairs_are_written_and_taken_back(tmp_path):
    pairing = find_pairs(*folders(tmp_path, ["a", "b"], ["a", "b", "c"]), layout="files")
    write_pairs(tmp_path / "pairs.csv", pairing)
    again = read_pairs(tmp_path / "pairs.csv")
    assert again.pairs == pairing.pairs
    assert again.warnings == ("1 of 3 cases have no prediction in pairs.csv",)


def test_names_in_a_table_are_looked_for_in_the_folders(tmp_path):
    pred, gt = folders(tmp_path, ["one"], ["eins"])
    (tmp_path / "pairs.csv").write_text("case,pred,gt,image\nc,one.nii.gz,eins.nii.gz,gt/eins.nii.gz\n")
    (pair,) = read_pairs(tmp_path / "pairs.csv", pred=pred, gt=gt).pairs
    assert (pair.case_id, pair.pred, pair.gt) == ("c", pred / "one.nii.gz", gt / "eins.nii.gz")
    assert image_column(tmp_path / "pairs.csv") == {"c": gt / "eins.nii.gz"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "expected columns case, pred, gt, image, structures; it has a, b"),
        ("case,pred,gt\nc,,\n", "line 2: has no ground truth"),
        ("case,pred,gt\nc,nowhere.nii,gt/a.nii.gz\n", "line 2: there is no file 'nowhere.nii'"),
        ("case,pred,gt\nc,,gt/a.nii.gz\nc,,gt/a.nii.gz\n", "line 3: the case 'c' is listed twice"),
    ],
)
def test_a_wrong_table_is_refused_by_its_line(tmp_path, text, said):
    folders(tmp_path, ["a"], ["a"])
    (tmp_path / "pairs.csv").write_text(text)
    with pytest.raises(InvalidInput, match=said):
        read_pairs(tmp_path / "pairs.csv")
