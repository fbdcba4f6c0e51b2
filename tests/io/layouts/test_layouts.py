"""Layouts: every ground truth is a case, nothing unmatched is silent, and what is ambiguous is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from segauge.errors import InvalidInput, UnusableOption
from segauge.grid import Grid
from segauge.io import write_nifti
from segauge.io.layouts import find_pairs
from segauge.io.layouts.folders import is_structure_name
from segauge.io.layouts.grand_challenge import find as find_jobs


def touch(root, *names):
    for name in names:
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return Path(root)


def ids(pairing):
    return {pair.case_id: None if pair.pred is None else pair.pred.name for pair in pairing.pairs}


def test_files_are_paired_by_name_whatever_their_format(tmp_path):
    gt = touch(tmp_path / "gt", "a.nii.gz", "b.nrrd", "001.mha", "notes.txt", ".hidden.nii")
    pred = touch(tmp_path / "pred", "a.mha", "b.seg.nrrd", "001.dcm", "summary.json")
    found = find_pairs(pred, gt)
    assert (found.layout, ids(found)) == ("files", {"001": "001.dcm", "a": "a.mha", "b": "b.seg.nrrd"})
    assert found.warnings == ()


def test_missing_and_extra_predictions_are_said(tmp_path):
    """Bad inputs 34 and 35."""
    gt = touch(tmp_path / "gt", "a.nii", "b.nii", "c.nii")
    pred = touch(tmp_path / "pred", "a.nii", "z.nii")
    found = find_pairs(pred, gt)
    assert ids(found) == {"a": "a.nii", "b": None, "c": None}
    assert found.missing == ("b", "c")
    assert found.warnings == (
        "1 prediction has no ground truth and is not measured: 'z'",
        "2 of 3 cases have no prediction: 'b', 'c'",
    )


@pytest.mark.parametrize("twice", [("a.nii", "a.nii.gz"), ("a.nii.gz", "A.nii.gz"), ("a.mha", "a.nrrd")])
@pytest.mark.parametrize("side", ["pred", "gt"])
def test_two_files_for_one_case_are_refused(tmp_path, twice, side):
    """Bad input 35."""
    touch(tmp_path / "pred", "a.nii.gz")
    touch(tmp_path / "gt", "a.nii.gz")
    touch(tmp_path / side, *twice)
    with pytest.raises(InvalidInput, match=r"are both case '[aA]'\. Which one counts\?"):
        find_pairs(tmp_path / "pred", tmp_path / "gt")


def test_names_that_never_agree_are_an_error(tmp_path):
    gt, pred = touch(tmp_path / "gt", "case_1.nii"), touch(tmp_path / "pred", "scan_2_seg.nii")
    with pytest.raises(InvalidInput, match="such as 'scan_2_seg', ground truths such as 'case_1'"):
        find_pairs(pred, gt)
    with pytest.raises(InvalidInput, match="there is no such file or folder"):
        find_pairs(tmp_path / "none", gt)
    with pytest.raises(InvalidInput, match="No ground truth was found"):
        find_pairs(pred, touch(tmp_path / "empty", "readme.txt"))
    with pytest.raises(InvalidInput, match="No layout 'dicomdir'"):
        find_pairs(pred, gt, layout="dicomdir")


def test_no_prediction_at_all_is_every_case_failed(tmp_path):
    found = find_pairs(touch(tmp_path / "pred", "log.txt"), touch(tmp_path / "gt", "a.nii", "b.nii"))
    assert found.missing == ("a", "b")


def test_two_files_are_one_case(tmp_path):
    touch(tmp_path, "liver_gt.nii.gz", "model.nii.gz", "other.nii")
    assert ids(find_pairs(tmp_path / "model.nii.gz", tmp_path / "liver_gt.nii.gz")) == {"liver_gt": "model.nii.gz"}


def dataset_json(folder, labels=None, **more):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset.json").write_text(json.dumps({"labels": labels or {"background": 0, "liver": 1}, **more}))


def test_nnunet_takes_the_labels_that_were_predicted(tmp_path):
    root = touch(tmp_path / "ds", "labelsTr/t1.nii.gz", "labelsTs/s1.nii.gz", "labelsTs/s2.nii.gz")
    dataset_json(root, {"background": 0, "all": [1, 2], "two": 2, "ignore": 3}, file_ending=".nii.gz")
    found = find_pairs(touch(tmp_path / "pred", "s1.nii.gz"), root)
    assert (found.layout, ids(found)) == ("nnunet", {"s1": "s1.nii.gz", "s2": None})
    assert dict(found.structures.structures) == {"all": (1, 2), "two": (2,)}
    assert found.structures.ignore == 3


def test_nnunet_validation_expects_the_cases_of_its_fold(tmp_path):
    root = touch(tmp_path / "ds", *(f"labelsTr/c{i}.nii.gz" for i in range(4)))
    dataset_json(root)
    model = touch(tmp_path / "model", "fold_0/validation/c0.nii.gz", "fold_1/validation/c2.nii.gz")
    whole = find_pairs(model, root)
    assert whole.missing == ("c1", "c3")
    assert "no splits_final.json" in whole.warnings[0]
    (root / "splits_final.json").write_text(json.dumps([{"val": ["c0", "c1"]}, {"val": ["c2"]}]))
    assert ids(find_pairs(model, root)) == {"c0": "c0.nii.gz", "c1": None, "c2": "c2.nii.gz"}
    assert ids(find_pairs(model / "fold_1", root)) == {"c2": "c2.nii.gz"}
    assert ids(find_pairs(model / "fold_1" / "validation", root)) == {"c2": "c2.nii.gz"}
    touch(tmp_path / "model", "fold_1/validation/c0.nii.gz")
    with pytest.raises(InvalidInput, match="both case 'c0'"):
        find_pairs(model, root)


def test_msd_labels_are_the_other_way_round(tmp_path):
    root = touch(tmp_path / "ds", "labelsTr/a.nii.gz")
    dataset_json(root, {"0": "background", "1": "liver", "2": "cancer"})
    found = find_pairs(touch(tmp_path / "p", "a.nii.gz"), root)
    assert dict(found.structures.structures) == {"liver": (1,), "cancer": (2,)}


def test_labels_of_one_name_are_one_structure(tmp_path):
    """The last of them was taken for the whole kidney."""
    root = touch(tmp_path / "ds", "labelsTr/a.nii.gz")
    dataset_json(root, {"0": "background", "1": "kidney", "2": "kidney", "3": "tumor"})
    found = find_pairs(touch(tmp_path / "p", "a.nii.gz"), root)
    assert dict(found.structures.structures) == {"kidney": (1, 2), "tumor": (3,)}
    (root / "dataset.json").write_text('{"labels": {"kidney": 1, "kidney": 2}}')
    with pytest.raises(InvalidInput, match="the key 'kidney' appears twice"):
        find_pairs(tmp_path / "p", root)


def test_validation_cases_without_a_ground_truth_are_told(tmp_path):
    root = touch(tmp_path / "ds", "labelsTr/c0.nii.gz")
    dataset_json(root)
    (root / "splits_final.json").write_text(json.dumps([{"val": ["c0", "c7"]}]))
    found = find_pairs(touch(tmp_path / "model", "fold_0/validation/c0.nii.gz"), root)
    assert "1 validation case without a ground truth, which cannot be measured: 'c7'" in found.warnings


def test_two_segmentations_of_one_name_in_a_case_are_refused(tmp_path):
    gt = touch(tmp_path / "gt", "s1/segmentation.nii.gz", "s1/segmentation.nrrd", "s1/image.nii.gz")
    with pytest.raises(InvalidInput, match=r"segmentation\.nrrd are both 'segmentation'\. Which one counts"):
        find_pairs(touch(tmp_path / "pred", "s1/seg.nii.gz"), gt)


def test_a_folder_per_case(tmp_path):
    gt = touch(
        tmp_path / "gt", "s1/ct.nii.gz", "s1/segmentations/liver.nii.gz", "s2/segmentations/liver.nii.gz", "s3/a.mha"
    )
    pred = touch(tmp_path / "pred", "s1/liver.nii.gz", "s1/spleen.nii.gz", "s2.nii.gz")
    found = find_pairs(pred, gt)
    assert (found.layout, ids(found)) == ("folders", {"s1": "s1", "s2": "s2.nii.gz", "s3": None})
    assert [pair.gt.name for pair in found.pairs] == ["segmentations", "segmentations", "a.mha"]
    assert found.structures == "all"


def test_a_single_mask_keeps_its_name_where_the_other_side_has_several(tmp_path):
    gt = touch(tmp_path / "gt", "s1/segmentations/liver.nii.gz", "s1/segmentations/spleen.nii.gz", "s2/liver.nii.gz")
    pred = touch(tmp_path / "pred", "s1/liver.nii.gz", "s2/liver.nii.gz", "s2/spleen.nii.gz")
    found = find_pairs(pred, gt)
    assert [(pair.pred.name, pair.gt.name) for pair in found.pairs] == [("s1", "segmentations"), ("s2", "s2")]
    one = touch(tmp_path / "other", "s1/model.nii.gz", "s2/liver.nii.gz")  # any name: one file of several labels
    assert [pair.pred.name for pair in find_pairs(one, gt).pairs] == ["model.nii.gz", "liver.nii.gz"]


def test_kits_folders(tmp_path):
    gt = touch(tmp_path / "gt", "case_0/imaging.nii.gz", "case_0/segmentation.nii.gz")
    found = find_pairs(touch(tmp_path / "pred", "case_0.nii.gz"), gt)
    assert found.pairs[0].gt.name == "segmentation.nii.gz"
    assert found.structures is None


def test_one_folder_of_masks(tmp_path):
    gt = touch(tmp_path / "s7" / "segmentations", "liver.nii.gz")
    pred = touch(tmp_path / "pred", "liver.nii.gz")
    assert ids(find_pairs(pred, gt)) == {"s7": "pred"}
    other = touch(tmp_path / "gt", "liver.nii.gz")
    assert ids(find_pairs(pred, other)) == {"liver": "liver.nii.gz"}
    assert ids(find_pairs(pred, other, layout="masks")) == {"gt": "pred"}


def masks(root, *names, shape=(4, 5, 6), several=False):
    for k, name in enumerate(names):
        array = np.zeros(shape, dtype=np.uint8)
        array[k % 4, 1] = 1
        array[k % 4, 2] = 2 * several
        root.mkdir(exist_ok=True)
        write_nifti(root / f"{name}.nii.gz", array, Grid.from_spacing(shape))
    return root


def test_files_with_names_of_structures_on_one_grid_are_one_case(tmp_path):
    """They were "3 cases", each with a foreground."""
    names = ("liver", "kidney_left", "vertebrae_L1")
    gt, pred = masks(tmp_path / "gt", *names), masks(tmp_path / "pred", *names[:2])
    found = find_pairs(pred, gt)
    assert (found.layout, ids(found), found.structures) == ("masks", {"gt": "pred"}, "all")
    (said,) = found.warnings
    assert "kidney_left, liver, vertebrae_L1 lie on one grid" in said
    assert "--layout files" in said
    assert ids(find_pairs(pred, gt, layout="files")).keys() == set(names)


@pytest.mark.parametrize(
    "names",
    [
        ("liver_0", "liver_1"),  # cases of one dataset
        ("case_1", "case_2"),
        ("a", "b"),
    ],
)
def test_other_files_are_cases(tmp_path, names):
    gt, pred = (masks(tmp_path / side, *names) for side in ("gt", "pred"))
    found = find_pairs(pred, gt)
    assert (found.layout, ids(found).keys(), found.warnings) == ("files", set(names), ())


def test_which_names_are_of_structures():
    structures = ("liver", "OpticNrv_L", "BrainStem", "kidneys", "vertebrae_L1", "Lung-upper-lobe", "A_Aorta", "PTV")
    cases = ("BraTS_001", "s0011", "case_00001", "amos_0001", "TCGA-CV-5977", "arm_a", "deliver_1", "a", "001")
    assert [name for name in structures if not is_structure_name(name)] == []
    assert [name for name in cases if is_structure_name(name)] == []


def test_files_with_names_of_structures_and_several_labels_are_cases(tmp_path):
    gt, pred = (masks(tmp_path / side, "liver", "spleen", several=True) for side in ("gt", "pred"))
    assert ids(find_pairs(pred, gt)).keys() == {"liver", "spleen"}


def test_files_with_names_of_structures_on_several_grids_are_cases(tmp_path):
    for side in ("gt", "pred"):
        masks(tmp_path / side, "liver")
        masks(tmp_path / side, "spleen", shape=(4, 5, 7))
    assert ids(find_pairs(tmp_path / "pred", tmp_path / "gt")).keys() == {"liver", "spleen"}


def test_where_only_some_names_are_of_structures_the_user_decides(tmp_path):
    gt, pred = (masks(tmp_path / side, "liver", "x17") for side in ("gt", "pred"))
    with pytest.raises(UnusableOption, match=r"'liver' is the name of a structure and 'x17' is not.*--layout masks"):
        find_pairs(pred, gt)
    assert len(find_pairs(pred, gt, layout="files").pairs) == 2
    assert len(find_pairs(pred, gt, layout="masks").pairs) == 1


def bids(root, *names):
    touch(root, *names)
    (root / "dataset_description.json").write_text("{}")
    return root


def test_bids_pairs_by_entities_but_not_by_maker(tmp_path):
    gt = bids(tmp_path / "gt", "sub-1/ses-a/anat/sub-1_ses-a_desc-manual_dseg.nii.gz", "sub-2/anat/sub-2_dseg.nii.gz")
    (gt / "dseg.tsv").write_text("index\tname\n0\tbackground\n1\tGM\n")
    pred = bids(tmp_path / "pred", "sub-1/ses-a/anat/sub-1_ses-a_desc-auto_dseg.nii.gz")
    found = find_pairs(pred, gt)
    assert ids(found) == {"sub-1_ses-a_dseg": "sub-1_ses-a_desc-auto_dseg.nii.gz", "sub-2_dseg": None}
    assert dict(found.structures.structures) == {"GM": (1,)}
    touch(pred, "sub-1/ses-a/anat/sub-1_ses-a_desc-other_dseg.nii.gz")
    with pytest.raises(InvalidInput, match="both case 'sub-1_ses-a_dseg'"):
        find_pairs(pred, gt)


def test_bids_labels_of_one_name_are_one_structure(tmp_path):
    gt = bids(tmp_path / "gt", "sub-1/anat/sub-1_dseg.nii.gz")
    (gt / "dseg.tsv").write_text("index\tname\themi\n1\tputamen\tL\n2\tputamen\tR\n3\tpons\t\n")
    found = find_pairs(bids(tmp_path / "pred", "sub-1/anat/sub-1_dseg.nii.gz"), gt)
    assert dict(found.structures.structures) == {"putamen": (1, 2), "pons": (3,)}
    assert "the labels 1, 2 are all called 'putamen': taken as one structure" in found.warnings


def job(pk, name, relative="images/seg", **more):
    face = {"slug": "seg", "kind": "Segmentation", "super_kind": "Image", "relative_path": relative}
    return {"pk": pk, "inputs": [{"image": {"name": name}}], "outputs": [{"interface": face}], **more}


def grand_challenge(tmp_path, jobs):
    pred = touch(tmp_path / "input", "p1/output/images/seg/x.mha")
    (pred / "predictions.json").write_text(json.dumps(jobs))
    return find_pairs(pred, touch(tmp_path / "truth", "a.mha", "b.mha"))


def test_grand_challenge_jobs(tmp_path):
    found = grand_challenge(tmp_path, [job("p1", "b.mha"), job("p2", "a.mha", status="Failed")])
    assert ids(found) == {"a": None, "b": "x.mha"}
    assert found.warnings[:2] == ("the job for 'a' has the status 'Failed'", "the job for 'a' left no segmentation")


def test_grand_challenge_sockets_and_the_one_that_counts(tmp_path):
    first = job("p1", "a.mha")
    first["outputs"] = [{"socket": entry["interface"]} for entry in first["outputs"]]
    assert ids(grand_challenge(tmp_path, [first])) == {"a": "x.mha", "b": None}
    first["outputs"].append({"socket": {**first["outputs"][0]["socket"], "slug": "heat", "relative_path": "heat"}})
    with pytest.raises(InvalidInput, match=r"several output images \(seg, heat\)"):
        grand_challenge(tmp_path, [first])
    found = find_jobs(tmp_path / "input", tmp_path / "truth", socket="seg")
    assert ids(found) == {"a": "x.mha", "b": None}


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([job("p1", "a.mha"), job("p1", "a.mha")], "both case 'a'"),
        ([job("..", "a.mha", "../../../etc")], "must lie in the folder of predictions.json"),
        ([{"pk": "p1"}], "is not built as Grand Challenge builds it"),
        ({}, "expected a list of jobs"),
    ],
)
def test_grand_challenge_that_cannot_be(tmp_path, jobs, message):
    with pytest.raises(InvalidInput, match=message):
        grand_challenge(tmp_path, jobs)
