"""The doctor finds each planted fault, names its cause, and finds nothing where there is none."""

import json
import re
from itertools import permutations, product

import numpy as np
import pytest

from segauge import LabelMap
from segauge.cli import main
from segauge.doctor import Level, examine
from segauge.doctor.orientation import best_turn
from segauge.io.layouts import find_pairs
from tests.badinputs.files import AFFINE, nifti_bytes


def organ(shape=(20, 20, 20)):
    """A body without any symmetry: no flip or permutation of it overlaps itself well."""
    array = np.zeros(shape, dtype=np.uint8)
    array[2:9, 1:5, 1:4] = 1
    array[2:5, 1:12, 1:4] = 1
    array[2:4, 1:3, 1:17] = 1
    return array


def save(path, array, affine=AFFINE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(nifti_bytes(np.ascontiguousarray(array), affine))


def diagnosis(tmp_path, pred, gt=None, affine=AFFINE):
    save(tmp_path / "gt" / "a.nii", organ() if gt is None else gt)
    save(tmp_path / "pred" / "a.nii", pred, affine)
    return examine(find_pairs(tmp_path / "pred", tmp_path / "gt"))


def worse(found):
    return [(finding.topic, finding.words) for finding in found.findings if finding.level is not Level.NOTE]


def test_nothing_is_found_where_nothing_is_wrong(tmp_path):
    pred = organ()
    pred[2, 1, 1] = 0
    found = diagnosis(tmp_path, pred)
    assert worse(found) == []
    assert found.is_healthy


@pytest.mark.parametrize("axes", list(permutations(range(3))))
def test_all_48_turns_are_told_apart(axes):
    gt = LabelMap.from_array(organ())
    for flips in product((False, True), repeat=3):
        turned = organ()[tuple(slice(None, None, -1 if flip else 1) for flip in flips)]
        pred = np.transpose(turned, np.argsort(axes))
        turn = best_turn(LabelMap.from_array(pred), gt)
        assert (turn.axes, turn.flips, turn.dice) == (axes, flips, 1.0)


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (
            lambda a: a[::-1],
            r"flipped in x \(left-right\) \(Dice 1.00 instead of 0.\d\d\): probably a left-right mix-up",
        ),
        (lambda a: a[::-1, ::-1], r"flipped in x \(left-right\) and y \(front-back\) .* RAS \(nibabel\) and LPS"),
        (lambda a: a[:, :, ::-1], r"flipped in z \(head-foot\) .* slices in reverse order"),
        (lambda a: a.transpose(2, 1, 0), r"order \(2, 1, 0\) .* nibabel \(x, y, z\) and SimpleITK arrays \(z, y, x\)"),
        (lambda a: a.transpose(1, 0, 2), r"order \(1, 0, 2\) .* rows and columns swapped"),
    ],
)
def test_turned_voxels_are_recognised_and_their_cause_named(tmp_path, turn, words):
    found = diagnosis(tmp_path, turn(organ()))
    ((topic, said),) = [(topic, said) for topic, said in worse(found) if topic != "file"]
    assert topic == "orientation"

    assert re.search(words, said), said


def test_a_wrong_header_over_right_voxels(tmp_path):
    affine = AFFINE.copy()
    affine[0, 3] += 30
    topics = dict(worse(diagnosis(tmp_path, organ(), affine=affine)))
    assert "centres 30 mm apart" in topics["grid"]
    assert "the voxels agree as they lie in the array (Dice 1.00)" in topics["orientation"]


def test_a_bad_prediction_is_not_called_turned(tmp_path):
    pred = np.zeros((20, 20, 20), dtype=np.uint8)
    pred[10:14, 10:14, 10:14] = 1
    assert worse(diagnosis(tmp_path, pred)) == []


def test_labels_presence_and_files(tmp_path):
    for name in ("a", "b", "c"):
        save(tmp_path / "gt" / f"{name}.nii", organ())
        save(tmp_path / "pred" / f"{name}.nii", organ() * 255)
    save(tmp_path / "gt" / "d.nii", organ())
    save(tmp_path / "gt" / "e.nii", organ())
    (tmp_path / "pred" / "e.nii").write_bytes(b"no image at all")
    save(tmp_path / "pred" / "c.nii", organ() * 0)
    found = worse(examine(find_pairs(tmp_path / "pred", tmp_path / "gt")))
    words = [said for _, said in found]
    assert any("divide by 255" in said for said in words)
    assert "the prediction is empty" in words
    assert "its prediction is the same file as that of 'a'" in words
    assert any("content is of no known format" in said for said in words)
    assert any("1 of 5 cases has no prediction" in said for said in words)


def test_declared_labels(tmp_path):
    (tmp_path / "dataset.json").write_text('{"labels": {"bg": 0, "liver": 2}, "file_ending": ".nii"}')
    words = [said for _, said in worse(diagnosis(tmp_path, organ()))]
    assert "the dataset declares label 2, which occurs in no ground truth" in words
    assert "label 1 occurs in ground truths but is declared nowhere" in words


def test_odd_spacing_and_equal_files(tmp_path):
    affine = np.diag([0.0008, 0.0008, 0.002, 1])
    for side in ("gt", "pred"):
        save(tmp_path / side / "a.nii", organ(), affine)
    words = [said for _, said in worse(examine(find_pairs(tmp_path / "pred", tmp_path / "gt")))]
    assert any("are these millimetres?" in said for said in words)
    assert "prediction and ground truth are the same bytes" in words


def test_the_command(tmp_path, capsys):
    diagnosis(tmp_path, organ()[::-1])
    command = ["doctor", "--pred", str(tmp_path / "pred"), "--gt", str(tmp_path / "gt")]
    assert main([*command, "--json", str(tmp_path / "d.json")]) == 4
    assert "flipped in x" in " ".join(capsys.readouterr().out.split())
    assert json.loads((tmp_path / "d.json").read_text())["healthy"] is False
    (tmp_path / "pred" / "a.nii").unlink()
    assert main(command) == 3
    pred = organ()
    pred[2, 1, 1] = 0
    save(tmp_path / "pred" / "a.nii", pred)
    assert main([*command, "--notes"]) == 0
    assert "healthy: 1 note" in capsys.readouterr().out


def test_a_small_structure_in_a_large_image_is_compared_with_itself(tmp_path):
    """Every second voxel of each axis agreed, all together did not.

    That was told as "the voxels agree as they lie in the array (Dice 1.00 instead of 0.50) ... pass trust_array".
    """
    gt, pred = (np.zeros((260, 260, 130), dtype=np.uint8) for _ in range(2))
    gt[99:102, 120:123, 60:63] = 1
    pred[100:101, 120:123, 60:63] = 1
    found = diagnosis(tmp_path, pred, gt)
    assert worse(found) == []
    assert best_turn(*(LabelMap.from_array(mask) for mask in (pred, gt))).dice == 0.5


def test_the_dice_of_a_turn_is_that_of_all_voxels():
    """More foreground than is tried with: the best turn is found, and its Dice is exact."""
    gt = np.zeros((120, 110, 100), dtype=np.uint8)
    gt[10:70, 5:60, 20:80] = 1
    pred = gt[::-1].copy()
    pred[::3] = 0
    turn = best_turn(LabelMap.from_array(pred), LabelMap.from_array(gt))
    both = np.count_nonzero(pred[::-1] & gt)
    assert turn.flips == (True, False, False)
    assert turn.dice == 2 * both / (np.count_nonzero(pred) + np.count_nonzero(gt))
