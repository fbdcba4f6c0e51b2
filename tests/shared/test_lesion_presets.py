"""The numbers of challenges and packages, from their own evaluation code, on phantom pairs."""

import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from segauge.geometry.components import label_components, pack_mask
from segauge.metrics.detection import detection_scores
from segauge.metrics.lesions import LESIONWISE_PRESETS, LesionwiseRules, false_volumes, lesionwise_scores

nib = pytest.importorskip("nibabel")
pytestmark = pytest.mark.shared

BRATS_REGIONS = {"WT": (1, 2, 3), "TC": (1, 3), "ET": (3,)}


def read(path: Path) -> tuple[npt.NDArray[np.uint8], tuple[float, ...]]:
    image = nib.load(path)
    return np.asarray(image.dataobj), tuple(float(edge) for edge in image.header.get_zooms())


def cases_of(folder: Path) -> tuple[dict, list[str]]:
    official = json.loads((folder / "official_scores.json").read_text())
    return official, sorted(official["cases"])


# BraTS 2023.


def test_brats_presets_have_the_official_parameters(shared: Path) -> None:
    official, _ = cases_of(shared / "data/conventions/brats_lesionwise")
    ours = {
        "BraTS-" + name.removeprefix("brats-2023-").upper(): {
            "dilation": rules.dilations,
            "volume_threshold_mm3": rules.left_out_mm3,
        }
        for name, rules in LESIONWISE_PRESETS.items()
    }
    assert ours == official["presets"]


def test_brats_lesionwise_scores_of_every_case_preset_and_region(shared: Path) -> None:
    folder = shared / "data/conventions/brats_lesionwise"
    official, cases = cases_of(folder)
    rows = 0
    for case in cases:
        (pred, spacing), (gt, _) = (read(folder / side / f"{case}.nii.gz") for side in ("pred", "gt"))
        for preset in official["presets"]:
            for region, labels in BRATS_REGIONS.items():
                rules = "brats-2023-" + preset.removeprefix("BraTS-").lower()
                ours = lesionwise_scores(np.isin(pred, labels), np.isin(gt, labels), spacing, rules)
                expected = official["cases"][case][preset][region]
                # 1e-12: both add the same few numbers, in another order.
                assert {
                    "Num_TP": ours.tp,
                    "Num_FP": ours.fp,
                    "Num_FN": ours.fn,
                    "Sensitivity": ours.region.sensitivity,
                    "Specificity": ours.region.specificity,
                    "Legacy_Dice": ours.region.dice,
                    "Legacy_HD95": ours.region.hd95_mm,
                    "GT_Complete_Volume": ours.region.gt_volume_mm3,
                    "LesionWise_Score_Dice": ours.dice,
                    "LesionWise_Score_HD95": ours.hd95_mm,
                } == pytest.approx(expected, rel=1e-12), (case, preset, region)
                rows += 1
    assert rows == 165


def test_brats_values_of_every_single_lesion(shared: Path) -> None:
    # The official code numbers lesions and components in another order, so lesions are compared as a collection.
    folder = shared / "data/conventions/brats_lesionwise"
    official, cases = cases_of(folder)
    lesions = 0
    for case in cases:
        (pred, spacing), (gt, _) = (read(folder / side / f"{case}.nii.gz") for side in ("pred", "gt"))
        for dilations in (1, 3):
            raw = official["cases"][case]["per_lesion_raw"][f"dilation_{dilations}"]
            for region, labels in BRATS_REGIONS.items():
                rules = LesionwiseRules(dilations, left_out_mm3=0.0)
                ours = lesionwise_scores(np.isin(pred, labels), np.isin(gt, labels), spacing, rules)
                assert ours.fp == len(raw[region]["false_positive_components"])
                mine = sorted(
                    (
                        one.volume_mm3,
                        len(one.pred_components),
                        one.dice,
                        math.inf if one.hd95_mm is None else one.hd95_mm,
                    )
                    for one in ours.lesions
                )
                theirs = sorted(
                    (one["volume"], len(one["pred_components"]), one["dice"], float(one["hd95"]))
                    for one in raw[region]["gt_lesions"]
                )
                assert len(mine) == len(theirs)
                for one, other in zip(mine, theirs, strict=True):
                    assert one == pytest.approx(other, rel=1e-12), (case, dilations, region)
                lesions += len(mine)
    assert lesions > 80


# autoPET.


def test_autopet_volumes_of_every_case(shared: Path) -> None:
    folder = shared / "data/conventions/autopet"
    official, cases = cases_of(folder)
    assert len(cases) == 7
    for case in cases:
        (pred, spacing), (gt, _) = (read(folder / side / f"{case}.nii.gz") for side in ("pred", "gt"))
        expected = official["cases"][case]
        ours = false_volumes(pred, gt, spacing)
        # 1e-6: the official code multiplies the voxel edges in single precision.
        assert ours.false_positive_ml == pytest.approx(expected["false_pos_vol_ml"], rel=1e-6), case
        assert ours.false_negative_ml == pytest.approx(expected["false_neg_vol_ml"], rel=1e-6), case
        voxel_ml = math.prod(spacing) / 1000
        assert round(ours.false_positive_ml / voxel_ml) == expected["false_pos_voxels"], case
        assert round(ours.false_negative_ml / voxel_ml) == expected["false_neg_voxels"], case
        assert len(label_components(pack_mask(gt), 18)) == expected["components_18_gt"], case
        assert len(label_components(pack_mask(pred), 18)) == expected["components_18_pred"], case
        region = lesionwise_scores(pred, gt, spacing).region
        if case == "07_both_empty":  # autoPET's Dice is 0/0 there; ours is 1 by the rules of BraTS
            assert (expected["dice"], region.dice) == ("nan", 1.0)
        else:
            assert region.dice == pytest.approx(expected["dice"], rel=1e-12), case


# panoptica.

PANOPTICA_GROUPS = {"lesion": (1,), "core": (2,), "all": (1, 2)}
EXPLAINED = """Where ours differs from panoptica 2.1.7, and why:
- No instances in either mask: panoptica has no number (NaN); here F1, SQ and PQ are 1, as in segauge 0.1.0 for F1.
- No prediction (or no reference): panoptica leaves out precision (or recall); here 0/0 is 1.
- `instance_voxel_count_ref` is the mean over the matched instances only.
"""


@pytest.mark.parametrize("subject", ["sub-01", "sub-02", "sub-03", "sub-04", "sub-05"])
def test_panoptica_numbers(shared: Path, subject: str) -> None:
    folder = shared / "data/conventions/panoptica"
    official = json.loads((folder / "to_dict.json").read_text())[subject]
    (pred, spacing), (gt, _) = (read(folder / side / f"{subject}.nii.gz") for side in ("predictions", "references"))
    for group, labels in PANOPTICA_GROUPS.items():
        masks = np.isin(pred, labels), np.isin(gt, labels)
        ours = detection_scores(*masks, 0.25, 26, spacing=spacing, pq_threshold=0.25)
        expected = official[group]
        assert (ours.tp, ours.fp, ours.fn) == tuple(expected[key] for key in ("tp", "fp", "fn"))
        assert len(ours.gt_lesions()) == expected["n_ref_instances"]
        assert len(ours.pred_lesions()) == expected["n_pred_instances"]
        if ours.tp + ours.fp + ours.fn == 0:
            assert all(math.isnan(expected[key]) for key in ("rq", "sq", "pq")), EXPLAINED
            assert (ours.rq, ours.sq, ours.pq) == (1.0, 1.0, 1.0), EXPLAINED
        else:
            # 1e-12: means of the same few fractions.
            assert (ours.rq, ours.sq, ours.pq) == pytest.approx(
                tuple(expected[key] for key in ("rq", "sq", "pq")), rel=1e-12
            )
            assert ours.precision == pytest.approx(expected.get("prec", 1.0), rel=1e-12), EXPLAINED
            assert ours.recall == pytest.approx(expected.get("rec", 1.0), rel=1e-12), EXPLAINED
        assert panoptica_instances(expected) == pytest.approx(our_instances(ours), rel=1e-12)
        matched = [lesion.voxels for lesion in ours.gt_lesions() if lesion.status == "found"]
        if matched:
            assert expected["instance_voxel_count_ref"] == pytest.approx(np.mean(matched)), EXPLAINED


def panoptica_instances(expected: dict) -> list[float]:
    rows = [
        (one["voxel_count"], one["volume"], one["is_matched"], one.get("sq", 0.0))
        for one in expected["reference_instances"]
    ]
    return [number for row in sorted(rows) for number in row]


def our_instances(ours: object) -> list[float]:
    rows = [
        (one.voxels, 1000.0 * one.volume_ml, int(one.status == "found"), one.iou or 0.0) for one in ours.gt_lesions()
    ]
    return [number for row in sorted(rows) for number in row]
