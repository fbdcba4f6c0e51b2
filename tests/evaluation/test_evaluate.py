"""evaluate(): numbers of boxes are exact; what cannot be measured has a status and a reason."""

import csv
import json
import math
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import segauge
from segauge import Case, Labeling, LabelMap, Status, evaluate, measure, verify
from segauge.errors import (
    GridMismatch,
    InvalidInput,
    MissingExtra,
    SegaugeError,
    UnknownStructure,
    UnreadableFile,
    UnusableOption,
)
from segauge.io.tables import read_scores
from segauge.stats import MissingPolicy
from tests.badinputs.files import AFFINE, nifti_bytes


def box(label=1, shift=0, shape=(16, 16, 16)):
    array = np.zeros(shape, dtype=np.uint8)
    array[2 + shift : 12 + shift, 2:12, 2:12] = label
    return array


def two_labels(first=1, second=2):
    array = np.zeros((16, 16, 16), dtype=np.uint8)
    array[1:6, 2:12, 2:12], array[8:13, 2:12, 2:12] = first, second
    return array


def save(path, array, affine=AFFINE):
    path.write_bytes(nifti_bytes(array, affine))
    return path


def test_a_shifted_box_has_the_scores_of_a_shifted_box():
    cases = [Case("a", box(shift=2), box(), spacing=(1.5, 1, 1)), Case("b", box(), box())]
    result = evaluate(cases, detection=True)
    first, second = result.rows
    # Two boxes of 10 x 10 x 10 voxels, two voxels (3 mm) apart: 800 of 1000 shared.
    assert (first["case_id"], first["structure"], first["status"]) == ("a", "foreground", "present")
    assert first["dice"] == 0.8
    assert first["iou"] == pytest.approx(8 / 12, abs=1e-15)  # one division
    assert first["hd"] == pytest.approx(3.0, abs=1e-9)  # flat faces, rounding only
    assert second["dice"] == second["nsd"] == second["det_f1"] == 1.0
    assert result.summary()["dice"].value == pytest.approx(0.9, abs=1e-15)
    assert result.metric_names[:2] == ["dice", "iou"]
    assert result.metric_names[-3:] == ["det_f1", "det_precision", "det_recall"]


def test_lesions_are_not_detected_unless_asked_for():
    # An organ with 240 stray voxels had a lesion F1 of 0.5.
    assert not [name for name in evaluate([Case("a", box(), box())]).metric_names if "det" in name]


def test_metadata_makes_subgroups():
    cases = [Case(f"c{i}", box(shift=i % 2), box(), metadata={"sex": "FM"[i % 2], "age": i}) for i in range(6)]
    result = evaluate(cases, metrics=["dice"])
    assert result.metadata_keys == ["sex", "age"]
    assert result.rows[1]["meta.sex"] == "M"
    groups = result.by_subgroup("sex")
    assert groups["F"]["dice"].value == 1.0
    assert groups["M"]["dice"].value == pytest.approx(0.9, abs=1e-15)
    with pytest.raises(InvalidInput, match="No metadata field 'site'; there are sex, age"):
        result.by_subgroup("site")


@pytest.mark.parametrize(
    "structures",
    [{"left": 1, "right": 2, "both": [1, 2]}, Labeling({"left": (1,), "right": (2,), "both": (1, 2)})],
)
def test_structures_and_regions(structures):
    result = evaluate(
        [Case("a", two_labels(1, 1), two_labels()), Case("b", two_labels(), two_labels())],
        structures=structures,
        metrics=["dice"],
    )
    dice = {row["structure"]: row["dice"] for row in result.rows[:3]}
    # All 1000 voxels predicted as 1: 500 of them are.
    assert dice == {"left": pytest.approx(2 / 3, abs=1e-15), "right": 0.0, "both": 1.0}
    assert result.table.status[0].tolist() == [Status.PRESENT, Status.MISSED, Status.PRESENT]
    assert result.by_structure()["right"]["dice"].failed == {"missed": 1}
    assert result.summary()["dice"].n == 6
    assert result.summary()["dice"].n_clusters == 2


def test_structures_by_value_and_all():
    cases = [Case("a", two_labels(), two_labels()), Case("b", two_labels(1, 7), two_labels(1, 0))]
    named = evaluate(cases, structures=[1, 2], metrics=["dice", "pred_volume"])
    everything = evaluate(cases, structures="all", metrics=["dice", "pred_volume"])
    assert named.structures == everything.structures == ["label 1", "label 2"]
    assert list(named.table.rows()) == list(everything.table.rows())
    assert named.table.status[1, 1] is Status.ABSENT
    assert everything.warnings == (
        "'label 7' was predicted in 1 case but occurs in no ground truth; it is not measured",
    )
    assert any("7 (500 voxels)" in note for note in named.notes["b"])


def test_two_empty_masks_are_a_case_without_structures():
    empty = np.zeros((16, 16, 16), dtype=np.uint8)
    result = evaluate([Case("a", empty, empty), Case("b", box(), box())], structures="all", metrics=["dice"])
    assert result.table.status[:, 0].tolist() == [Status.ABSENT, Status.PRESENT]
    assert result.summary()["dice"].excluded == {"absent": 1}


def test_all_labels_together_are_said_to_be_together():
    result = evaluate([Case("a", two_labels(), two_labels())])
    assert result.rows[0]["dice"] == 1.0
    assert any("structures='all') measures each" in note for note in result.notes["a"])
    assert "ground truths that hold several labels: 1, such as that of 'a'" in result.warnings[0]


def test_predictions_of_several_labels_against_one_are_told():
    """As an RTSTRUCT of four regions against the mask of one: their union has a Dice, which means nothing."""
    gt = box()
    pred = gt.copy()
    pred[0, 0, :3] = 7
    told = evaluate([Case("a", pred, gt)], metrics=["dice"])
    assert "predictions that hold several labels where the ground truth has one: 1" in told.warnings[0]
    assert "label 1, label 7 were taken together" in told.notes["a"][-1]
    said = evaluate([Case("a", pred, gt)], structures={"organ": 1}, pred_structures={"organ": 1}, metrics=["dice"])
    assert not said.warnings
    assert said.rows[0]["dice"] == 1.0


def test_names_pair_labels_that_are_numbered_differently():
    gt = LabelMap.from_array(two_labels(), names={1: "liver", 2: "spleen"})
    pred = LabelMap.from_array(two_labels(5, 4), names={5: "Liver", 4: "Spleen"})
    for structures in (["liver", "spleen"], "all"):
        result = evaluate([Case("a", pred, gt)], structures=structures, metrics=["dice"])
        assert [row["dice"] for row in result.rows] == [1.0, 1.0]
        assert result.structures == ["liver", "spleen"]


def test_a_number_is_the_ground_truths_where_the_prediction_has_the_name_under_another():
    gt = LabelMap.from_array(two_labels())
    pred = LabelMap.from_array(two_labels(2, 1), names={2: "liver", 1: "spleen"})
    result = evaluate([Case("a", pred, gt)], structures={"liver": 1, "spleen": 2}, metrics=["dice"])
    assert [row["dice"] for row in result.rows] == [1.0, 1.0]
    assert any("found by name: 'liver' (label 1) is its label 2" in note for note in result.notes["a"])


def test_structures_in_layers_of_their_own_and_across_layers():
    """The same two boxes in one layer, in two that overlap, and as a region over both."""
    one = LabelMap.from_array(two_labels(), names={1: "liver", 2: "spleen"})
    masks = {name: one.mask(label).array for label, name in one.names.items()}
    layered = LabelMap.from_masks({**masks, "all": np.logical_or(*masks.values())}, one.grid)
    assert len(layered.layers) == 2
    structures = {"liver": ["liver"], "both": ["liver", "spleen"], "layers": ["liver", "all"]}
    result = evaluate([Case("a", layered, layered)], structures=structures, metrics=["dice", "gt_volume"])
    assert [row["dice"] for row in result.rows] == [1.0] * 3
    voxels = {name: int(mask.sum()) for name, mask in masks.items()}
    both = sum(voxels.values())
    assert [result.counts["a", name][0] for name in structures] == [voxels["liver"], both, both]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nsd_tolerance": -1.0}, "a distance of 0 mm or more, got -1.0"),
        ({"nsd_tolerance": np.array(1.5)}, r"nsd_tolerance: expected a distance of 0 mm or more, got array\(1.5\)"),
        ({"structures": np.array(1)}, "structures: expected names with their labels"),
        ({"nsd_tolerance": {"a": 1.0}, "structures": {"a": 1, "b": 2}}, "no entry for 'b'"),
        ({"hd": "both"}, "hd: expected 'directed' or 'pooled', got 'both'"),
        ({"resample": "linear"}, "resample: expected None or 'nearest'"),
        ({"nan": "drop"}, "nan: expected 'refuse' or 'background'"),
        ({"threshold": float("nan")}, "threshold: expected a finite number"),
        ({"detection_iou": 2.0}, "iou"),
        ({"surface": "mesh"}, "mesh"),
        ({"on_error": "ignore"}, "on_error: expected 'record' or 'raise'"),
    ],
)
def test_what_would_fail_in_every_case_is_refused_before_the_first(options, message):
    def cases():
        pytest.fail("a case was taken")
        yield

    with pytest.raises(InvalidInput, match=message):
        evaluate(cases(), **options)


def test_names_need_a_file_that_has_names():
    with pytest.raises(UnusableOption, match=r"structures=\{'liver': 1\}.*same in 1 case: nothing was measured"):
        evaluate([Case("a", box(), box())], structures=["liver"])


def test_an_option_that_fails_for_all_cases_alike_is_no_failure_of_the_model():
    cases = [Case(f"c{i}", box(), box(), spacing=(1.0, 1.0)) for i in range(3)]
    with pytest.raises(UnusableOption, match=r"spacing: expected one number or 3 .*same in 3 cases"):
        evaluate(cases)
    # Of one case alone it is that case's: nothing else hangs on it.
    result = evaluate([*cases[:1], Case("fine", box(), box())])
    assert result.failures["c0"][0] is Status.GROUND_TRUTH_UNREADABLE
    assert result.summary()["dice"].value == 1.0


def test_a_bad_ground_truth_is_not_charged_to_the_prediction(tmp_path):
    (tmp_path / "torn.nii").write_bytes(nifti_bytes(box(), AFFINE)[:400])
    cases = [
        Case("fine", box(), box()),
        Case("torn", box(), tmp_path / "torn.nii"),
        Case("torn, none", None, tmp_path / "torn.nii"),
        Case("missing", None, box()),
    ]
    result = evaluate(cases, metrics=["dice", "hd95"], cache=tmp_path / "cache")
    assert {case: status.value for case, (status, _) in result.failures.items()} == {
        "torn": "ground truth unreadable",
        "torn, none": "ground truth unreadable",
        "missing": "prediction missing",
    }
    assert "torn.nii" in result.failures["torn"][1]
    for policy in (MissingPolicy(), MissingPolicy(failed="exclude"), MissingPolicy(failed="last")):
        dice = replace(result, policy=policy).summary()["dice"]
        assert dice.excluded["ground truth unreadable"] == 2
        assert "ground truth unreadable" not in dice.failed
    assert result.summary()["dice"].value == 0.5
    assert evaluate(cases, metrics=["dice", "hd95"], cache=tmp_path / "cache").to_dict() == result.to_dict()
    path = result.to_json(tmp_path / "result.json")
    assert verify(path).is_confirmed
    assert verify(path, cases).is_confirmed
    table = read_scores(path).tables["result"]
    assert table.status.tolist() == result.table.status.tolist()


def test_names_of_predictions_do_not_speak_of_the_ground_truth():
    """Where only the prediction lacks what was asked for, it is the prediction's failure."""
    cases = [
        Case("a", LabelMap.from_array(box(), names={1: "liver"}), box()),
        Case("b", box(), box()),
    ]
    asked = {"structures": {"liver": 1}, "pred_structures": {"liver": "liver"}}
    result = evaluate(cases, **asked)
    assert result.failures["b"][0] is Status.FAILED
    assert result.summary()["dice"].value == 0.5
    # Also where it is so in every case: a challenge goes on with the next participant.
    assert evaluate(cases[1:], **asked).summary()["dice"].value == 0.0


def test_a_label_in_no_ground_truth_is_an_error():
    with pytest.raises(InvalidInput, match="'label 99' occurs in none of 1 ground truth"):
        evaluate([Case("a", box(99), box())], label=99)
    with pytest.raises(InvalidInput, match="Those that occur: 'liver'"):
        evaluate([Case("a", box(), box())], structures={"liver": 1, "spleen": 2})
    # One ground truth that has it is enough: in the other it is spurious.
    result = evaluate([Case("a", box(9), box()), Case("b", box(9), box(9))], label=9)
    assert result.table.status[:, 0].tolist() == [Status.SPURIOUS, Status.PRESENT]


def test_label_and_structures_exclude_each_other():
    with pytest.raises(InvalidInput, match="not both"):
        evaluate([Case("a", box(), box())], label=1, structures=[1])


def test_ignored_voxels_count_for_nothing():
    gt = box()
    gt[2:7, 2:12, 2:12] = 4
    pred = box()
    pred[2:7] = 0
    result = evaluate([Case("a", pred, gt)], structures={"organ": 1}, ignore=4, metrics=["dice"])
    assert result.rows[0]["dice"] == 1.0


def test_bad_cases_are_rows_with_a_reason(tmp_path):
    good = save(tmp_path / "good.nii", box())
    elsewhere = AFFINE.copy()
    elsewhere[0, 3] += 100
    (tmp_path / "cut.nii").write_bytes(good.read_bytes()[:-50])
    cases = [
        Case("good", good, good),
        Case("none", None, good),
        Case("cut", tmp_path / "cut.nii", good),
        Case("gone", tmp_path / "gone.nii", good),
        Case("far", save(tmp_path / "far.nii", box(), elsewhere), good),
    ]
    result = evaluate(cases, metrics=["dice", "hd95"])
    assert {case: status for case, (status, _) in result.failures.items()} == {
        "none": Status.PREDICTION_MISSING,
        "cut": Status.UNREADABLE,
        "gone": Status.UNREADABLE,
        "far": Status.REFUSED,
    }
    assert "bytes of voxels expected" in result.failures["cut"][1]
    assert "100 mm apart" in result.failures["far"][1]
    summary = result.summary()
    assert summary["dice"].value == 0.2
    assert summary["dice"].failed == {"prediction missing": 1, "unreadable": 2, "refused": 1}
    assert summary["hd95"].n == 1
    assert summary["hd95"].n_excluded == 4
    assert evaluate([cases[0], cases[4]], trust_array=True).failures == {}


@pytest.mark.parametrize(("pred", "error"), [("gone.nii", UnreadableFile), (box(shape=(16, 16, 17)), GridMismatch)])
def test_on_error_raise(tmp_path, pred, error):
    with pytest.raises(error, match="Case 'x'"):
        evaluate([Case("x", pred, box())], on_error="raise")


def test_ids_must_differ_and_cases_be_cases():
    with pytest.raises(InvalidInput, match="Two cases are called 'a'"):
        evaluate([Case("a", box(), box())] * 2)
    with pytest.raises(InvalidInput, match="at least one case"):
        evaluate([])
    with pytest.raises(InvalidInput, match=r"expected segauge\.Case, got tuple"):
        evaluate([("a", box(), box())])
    with pytest.raises(InvalidInput, match="a text that is not empty"):
        Case("", box(), box())
    with pytest.raises(InvalidInput, match="gt should be a path, an array or a LabelMap, got NoneType"):
        Case("a", box(), None)


def test_cases_are_taken_one_at_a_time():
    alive = []

    def cases():
        for i in range(5):
            alive.append(i)
            yield Case(f"c{i}", box(), box())

    assert len(evaluate(cases(), metrics=["dice"]).table) == len(alive) == 5


def test_a_worker_that_is_ended_is_a_row_with_the_reason(tmp_path):
    good = save(tmp_path / "good.nii", box())
    # No interpreter starts within a hundredth of a second.
    result = evaluate([Case("a", good, good), Case("b", good, good)], timeout=0.01, jobs=2, cache=tmp_path / "cache")
    assert result.failures == dict.fromkeys("ab", (Status.FAILED, "took longer than 0.01 s"))
    assert evaluate([Case("a", good, good)], cache=tmp_path / "cache").failures == {}


def test_a_file_that_asks_for_too_much_is_a_row(tmp_path):
    good = save(tmp_path / "good.nii", box())
    result = evaluate([Case("a", good, good)], max_voxels=1000)
    assert result.failures["a"][0] is Status.GROUND_TRUTH_UNREADABLE
    assert "more than the limit of 1000" in result.failures["a"][1]


def peak_bytes(n):
    def cases():
        for i in range(n):
            array = np.zeros((128, 128, 128), dtype=np.uint8)
            array[i % 50 + 1 : i % 50 + 20, 2:20, 2:20] = 1
            yield Case(f"c{i}", array, array)

    tracemalloc.start()
    try:
        evaluate(cases(), metrics=["dice"])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_cases():
    peak_bytes(1)  # what is loaded and cached once
    # An image is 2 MB; fifteen more cases may cost their rows, not a single image.
    assert peak_bytes(20) - peak_bytes(5) < 2**20


def test_progress_is_shown_on_standard_error(capsys):
    evaluate([Case("a", box(), box())], metrics=["dice"], progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "1/1" in shown.err
    assert "0 failed" in shown.err


AWKWARD = ["../../etc", "a\nb", "x" * 300, "\N{LUNGS}", "<script>alert(1)</script>", "=cmd()", "nul\0"]


def test_awkward_ids_stay_as_they_are(tmp_path):
    """Bad input 36: ids are text, never a path, and no cell of a table becomes a formula."""
    result = evaluate([Case(name, box(), box(), metadata={"f": "=1+1"}) for name in AWKWARD], cache=tmp_path / "c")
    assert [row["case_id"] for row in result.rows] == AWKWARD
    rows = json.loads(result.to_json(tmp_path / "r.json").read_text())["per_case"]
    assert [row["case_id"] for row in rows] == AWKWARD
    with result.to_csv(tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    # In a table that a spreadsheet or a log may show, formulas and control characters are written out.
    shown = {"=cmd()": "'=cmd()", "nul\x00": "nul\\x00"}
    assert [row["case_id"] for row in cells] == [shown.get(name, name) for name in AWKWARD]
    assert {row["meta.f"] for row in cells} == {"'=1+1"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "r.csv", "r.json"]


def test_json_is_strict_complete_and_read_back(tmp_path):
    cases = [Case("a", two_labels(1, 1), two_labels()), Case("b", None, two_labels(), metadata={"x": float("nan")})]
    result = evaluate(cases, structures=[1, 2], metrics=["dice", "hd95"])
    text = result.to_json(tmp_path / "r.json").read_text()
    data = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert data["protocol"]["options"]["metrics"] == ["dice", "hd95"]
    assert data["protocol"]["versions"]["segauge"] == segauge.__version__
    assert len(data["protocol"]["files"]["a"]["gt"]["sha256"]) == 64
    assert data["summary"]["dice"]["failed"] == {"missed": 1, "prediction missing": 2}
    (table,) = read_scores(tmp_path / "r.json").tables.values()
    assert table.status.tolist() == result.table.status.tolist()
    np.testing.assert_array_equal(table.values, result.table.values)


def test_to_pandas(monkeypatch):
    result = evaluate([Case("a", box(), box())], metrics=["dice"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"segauge\[pandas\]"):
        result.to_pandas()
    monkeypatch.undo()
    pd = pytest.importorskip("pandas")
    assert isinstance(result.to_pandas(), pd.DataFrame)


def test_a_segment_that_is_not_there():
    gt = LabelMap.from_array(box())
    assert evaluate([Case("a", gt, gt)], segment_number=3).failures == {}
    with pytest.raises(UnknownStructure):
        evaluate([Case("a", box(), box())]).summary("liver")


def test_tolerances_per_structure():
    cases = [Case("a", two_labels(), np.roll(two_labels(), 1, axis=0))]
    result = evaluate(cases, structures={"one": 1, "two": 2}, nsd_tolerance={"one": 2.0, "two": 0.5}, metrics=["nsd"])
    one, two = (row["nsd"] for row in result.rows)
    assert one == 1.0
    assert two < 1.0


def test_structures_may_be_called_by_numbers():
    both = {1: 1, 2: 2}
    one, two = two_labels(), np.roll(two_labels(), 1, axis=0)
    named = {str(name): label for name, label in both.items()}
    found = [
        evaluate(
            [Case("a", two, one)], structures=names, pred_structures=names, nsd_tolerance=dict.fromkeys(names, 2.0)
        )
        for names in (both, named)
    ]
    assert found[0].rows == found[1].rows
    assert measure(two, one, both, ["nsd"], nsd_tolerance={1: 2.0, 2: 2.0})["1", "nsd"].value == 1.0


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_a_threshold_cuts_predictions_and_no_ground_truth(kind, tmp_path):
    """Scores of a network (logits) are cut at 2; a ground truth of 0 and 1, or of two labels, is none of them."""
    logits = np.where(two_labels() == 1, 3.0, -1.0).astype(np.float32)
    gt = save(tmp_path / "gt.nii", two_labels().astype(kind))
    pred = save(tmp_path / "pred.nii", logits)
    for cut in (0.5, 2.0):
        result = evaluate([Case("a", pred, gt)], structures={"left": 1}, threshold=cut, metrics=["dice", "gt_volume"])
        assert result.rows[0]["dice"] == 1.0
        assert result.rows[0]["gt_volume"] == pytest.approx(0.5 * abs(np.linalg.det(AFFINE[:3, :3])), rel=1e-6)
        assert not any(note.startswith("gt:") for note in result.notes["a"])


def test_a_ground_truth_of_probabilities_is_refused_also_with_a_threshold():
    soft = np.where(box() == 1, 0.9, 0.0)
    status, reason = evaluate([Case("a", soft, soft)], threshold=0.5).failures["a"]
    assert status is Status.GROUND_TRUTH_UNREADABLE
    assert "a ground truth has to hold labels" in reason


def test_a_failed_case_counts_for_the_structures_of_its_ground_truth_alone(tmp_path):
    """Whether what is not there would have been predicted, nobody knows: it counts neither way, and is told."""
    shifted = np.diag([1.0, 1.0, 1.0, 1.0])
    shifted[0, 3] = 300.0
    gt = save(tmp_path / "gt.nii", two_labels(1, 0))
    (tmp_path / "torn.nii").write_bytes(gt.read_bytes()[:400])
    elsewhere = save(tmp_path / "elsewhere.nii", two_labels(1, 0), shifted)
    cases = [
        Case("whole", save(tmp_path / "pred.nii", two_labels()), save(tmp_path / "both.nii", two_labels())),
        Case("missing", None, gt),
        Case("torn", tmp_path / "torn.nii", gt),
        Case("elsewhere", elsewhere, gt),
    ]
    for structures in ({"left": 1, "right": 2}, {"right": 2, "left": 1}, "all"):
        result = evaluate(cases, structures=structures, metrics=["dice"])
        left, right = ("left", "right") if structures != "all" else ("label 1", "label 2")
        by_structure = result.by_structure()
        assert by_structure[left]["dice"].value == 0.25
        assert by_structure[left]["dice"].failed == {"prediction missing": 1, "unreadable": 1, "refused": 1}
        assert (by_structure[right]["dice"].value, by_structure[right]["dice"].n) == (1.0, 1)
        assert by_structure[right]["dice"].excluded == {"absent": 3}
        assert {case: status.value for case, (status, _) in result.failures.items()} == {
            "missing": "prediction missing",
            "torn": "unreadable",
            "elsewhere": "refused",
        }
        assert result.failures["missing"][1] == "there is no prediction for this case"
        assert result.table.reasons["missing", right].startswith("prediction missing: there is no prediction")


@pytest.mark.parametrize("how", [{}, {"jobs": 2}])
def test_a_case_that_crashes_counts_for_the_structures_of_its_ground_truth_alone(how):
    """A prediction of a kind that no reader expects: the error is none of ours."""
    crash = Case("crash", two_labels(), two_labels(1, 0))
    object.__setattr__(crash, "pred", object())
    cases = [Case("whole", two_labels(), two_labels()), crash]
    result = evaluate(cases, structures={"left": 1, "right": 2}, metrics=["dice"], **how)
    assert result.failures["crash"][0] is Status.FAILED
    assert result.table.status[1].tolist() == [Status.FAILED, Status.ABSENT]
    assert result.by_structure()["right"]["dice"].value == 1.0


def test_a_failed_case_without_anything_in_its_ground_truth_is_still_told(tmp_path):
    empty = np.zeros((16, 16, 16), dtype=np.uint8)
    result = evaluate([Case("a", box(), box()), Case("b", None, empty)], metrics=["dice"])
    assert result.summary()["dice"].value == 1.0
    assert result.summary()["dice"].excluded == {"absent": 1}
    assert result.failures == {"b": (Status.PREDICTION_MISSING, "there is no prediction for this case")}
    again = read_scores(result.to_json(tmp_path / "r.json")).tables["r"]
    assert again.case_failure("b") == result.failures["b"]


def test_an_ignore_label_that_occurs_nowhere_does_no_harm_where_masks_overlap():
    left, right = two_labels(1, 0) == 1, box() == 1
    both = LabelMap.from_masks({"left": left, "box": right}, LabelMap.from_array(box()).grid)
    for ignore in (300, -1, None):
        result = evaluate([Case("a", both, both)], structures={"both": [1, 2]}, ignore=ignore, metrics=["gt_volume"])
        assert result.rows[0]["gt_volume"] == np.count_nonzero(left | right) / 1000


def test_labels_of_numpy_are_labels():
    for chosen in (
        {"structures": [np.int64(1), np.uint8(2)]},
        {"structures": {"label 1": np.int32(1), "label 2": np.array([2])}},
    ):
        result = evaluate([Case("a", two_labels(), two_labels())], metrics=["dice"], **chosen)
        assert result.structures == ["label 1", "label 2"]
        assert json.loads(json.dumps(result.to_dict()))["protocol"]["options"]["structures"]["label 2"] == [2]
    assert evaluate([Case("a", two_labels(), two_labels())], label=np.int64(2)).structures == ["label 2"]


@pytest.mark.parametrize(
    "chosen",
    [
        {"ignore": np.int64(2)},
        {"nsd_tolerance": np.float32(1.5)},
        {"nsd_tolerance": {"left": np.float32(1.5)}},
        {"detection_iou": np.float32(0.5), "max_voxels": np.int64(10**6)},
        {"confidence": np.float32(0.9), "n_resamples": np.int64(200), "seed": np.int64(3)},
        {"policy": MissingPolicy(failed="penalty", penalty=np.float32(50))},
    ],
)
def test_numbers_of_numpy_are_written_as_numbers(tmp_path, chosen):
    """All cases were measured, and then the result could not be written."""
    cases = [Case("a", two_labels(), two_labels()), Case("b", two_labels(), two_labels())]
    chosen = {"structures": {"left": 1}, "metrics": ["dice", "nsd"], **chosen}
    result = evaluate(cases, cache=tmp_path / "cache", **chosen)
    written = json.loads(result.to_json(tmp_path / "result.json").read_text())
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in chosen.items()}
    assert written == json.loads(json.dumps(result.to_dict())) == evaluate(cases, **plain).to_dict()


@pytest.mark.parametrize(
    ("structures", "words"),
    [(1, "or a list of label values or names, got 1"), ({1: 1, "1": 2}, "Two structures have one name: 1, '1'")],
)
def test_structures_that_say_not_which_are_refused(structures, words):
    with pytest.raises(InvalidInput, match=words):
        evaluate([Case("a", two_labels(), two_labels())], structures=structures)


def test_a_structure_of_ignored_voxels_is_refused_before_anything_is_read():
    with pytest.raises(InvalidInput, match="'right' contains the ignore label 2"):
        evaluate([Case("a", two_labels(), two_labels())], structures={"left": 1, "right": 2}, ignore=2)


def test_cases_without_a_value_of_a_table_are_one_group():
    """As pandas hands them out: NaN is not even equal to itself."""
    values = ["F", float("nan"), np.float64("nan"), None, np.nan]
    cases = [Case(f"c{i}", box(shift=i % 2), box(), metadata={"sex": value}) for i, value in enumerate(values)]
    result = evaluate(cases, metrics=["dice"])
    assert {key: found["dice"].n for key, found in result.by_subgroup("sex").items()} == {"F": 1, None: 4}
    assert {key: found["dice"]["n"] for key, found in result.to_dict()["subgroups"]["sex"].items()} == {
        "F": 1,
        "None": 4,
    }


def test_values_of_one_text_are_one_group_in_a_file():
    grades = [1, "1", "1", 2]
    cases = [Case(f"c{i}", box(), box(), metadata={"grade": grade}) for i, grade in enumerate(grades)]
    result = evaluate(cases, metrics=["dice"])
    assert {key: found["dice"].n for key, found in result.by_subgroup("grade").items()} == {1: 1, "1": 2, 2: 1}
    written = result.to_dict()["subgroups"]["grade"]
    assert {key: found["dice"]["n"] for key, found in written.items()} == {"1": 3, "2": 1}


def test_numbers_of_numpy_in_metadata_are_written_as_numbers(tmp_path):
    known = {"age": np.float32(61.5), "visits": np.int64(3), "smoker": np.bool_(True)}
    result = evaluate([Case("a", box(), box(), metadata=known)], metrics=["dice"])
    (row,) = json.loads(result.to_json(tmp_path / "r.json").read_text())["per_case"]
    assert (row["meta.age"], row["meta.visits"], row["meta.smoker"]) == (61.5, 3, True)
    with result.to_csv(tmp_path / "r.csv").open(newline="") as file:
        (cells,) = csv.DictReader(file)
    assert (cells["meta.age"], cells["meta.visits"], cells["meta.smoker"]) == ("61.5", "3", "True")


def test_a_number_that_is_another_structure_in_the_prediction_is_not_taken_for_it():
    """Writers number what they found from 1 on: without a liver, the spleen is their label 1."""
    gt = LabelMap.from_array(two_labels(), names={1: "liver", 2: "spleen"})
    pred = LabelMap.from_array((two_labels() == 2).astype(np.uint8), names={1: "Spleen"})
    for structures in ({"liver": 1, "spleen": 2}, {"one": 1, "two": 2}):
        result = evaluate([Case("a", pred, gt)], structures=structures, metrics=["dice"])
        assert result.table.status[0].tolist() == [Status.MISSED, Status.PRESENT]
        assert [row["dice"] for row in result.rows] == [0.0, 1.0]
        assert any(
            "has nothing for these labels of the ground truth: 1, which is 'Spleen' there" in note
            for note in result.notes["a"]
        )
    region = evaluate([Case("a", pred, gt)], structures={"both": [1, 2], "spleen": 2}, metrics=["dice"])
    assert [row["dice"] for row in region.rows] == [pytest.approx(2 / 3, abs=1e-15), 1.0]
    other_words = LabelMap.from_array(two_labels(), names={1: "organ A", 2: "organ B"})
    same = evaluate([Case("a", other_words, gt)], structures={"liver": 1, "spleen": 2}, metrics=["dice"])
    assert [row["dice"] for row in same.rows] == [1.0, 1.0]


@pytest.mark.parametrize("metric", ["biou", "nsd", "lesionwise_dice@brats-2023-gli", "gt_volume", "hd95"])
def test_what_depends_on_the_size_of_a_voxel_is_not_measured_without_one(metric, tmp_path):
    path = tmp_path / "a.nii"
    path.write_bytes(nifti_bytes(box(), AFFINE, sform_code=0, pixdim=[1, 0, 0, 0, 0, 0, 0, 0]))
    result = evaluate([Case("a", path, path)], metrics=[metric])
    assert "holds no usable voxel edges" in result.failures["a"][1]
    assert evaluate([Case("a", path, path)], metrics=["dice", "lesion_f1"]).rows[0]["dice"] == 1.0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"metrics": ["dice", "hd950"]}, "No metric 'hd950': expected a number above 0 and at most 100"),
        ({"metrics": ["dice", "fbeta@0"]}, "No metric 'fbeta@0': expected a number above 0"),
        ({"metrics": ["dice", "biou@0"]}, "No metric 'biou@0': expected a number above 0"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"n_resamples": 5}, "100 or more"),
        ({"seed": -1}, "0 or more as seed"),
        ({"policy": "worst"}, "expected a MissingPolicy"),
        ({"ignore": 0}, "0 is the background, and without it no false positive would count"),
        ({"structures": {"liver": 1.5}}, "expected label values or names, got 1.5"),
        ({"metrics": []}, "expected at least one metric"),
    ],
)
def test_a_mistyped_argument_is_told_before_anything_is_measured(wrong, words):
    """Such a metric made every case fail: the Dice of all of them was 0. The others were told after hours."""

    def cases():
        raise AssertionError("a case was asked for")
        yield

    with pytest.raises(SegaugeError, match=words):
        evaluate(cases(), **wrong)


@pytest.mark.parametrize("spacing", [0, -1, math.nan, "wide", (1, "x", 1), (1, 0, 1), ()])
def test_a_spacing_that_no_image_can_have_is_no_failure_of_the_model(spacing):
    with pytest.raises(InvalidInput, match="Case 'a': spacing: expected positive voxel edges in mm"):
        Case("a", np.ones((3, 3, 3), dtype=int), np.ones((3, 3, 3), dtype=int), spacing=spacing)


def test_volumes_of_one_slice_are_measured_in_3d_with_a_warning():
    flat = np.zeros((20, 20), dtype=np.uint8)
    flat[5:15, 5:15] = 1
    moved = np.roll(flat, 1, axis=0)
    metrics = ["dice", "assd"]
    in_plane = evaluate([Case("a", moved, flat)], metrics=metrics)
    assert not in_plane.warnings
    slab = evaluate([Case("a", moved[..., None], flat[..., None])], metrics=metrics)
    assert "1 ground truth is a volume of one slice, such as that of 'a': measured in 3-D" in slab.warnings[0]
    assert slab.rows[0]["assd"] < in_plane.rows[0]["assd"] / 2
    # What the warning advises.
    for pred, gt in ((moved, flat[..., None]), (moved[..., None], flat)):
        advised = evaluate([Case("a", pred, gt)], metrics=metrics)
        assert advised.rows[0] == in_plane.rows[0]
        assert not advised.warnings
    assert not evaluate([Case("a", moved[..., None], flat[..., None])], metrics=["dice"]).warnings
