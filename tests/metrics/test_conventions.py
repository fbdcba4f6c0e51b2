"""Conventions: what other tools answer, met by following their rules."""

import numpy as np
import pytest

import segauge
from segauge.errors import InvalidInput
from segauge.metrics.conventions import CONVENTIONS, check_convention

SURFACE_METRICS = ["hd", "hd95", "assd", "masd", "nsd@1.1"]


def two_boxes():
    pred, gt = np.zeros((2, 12, 12, 12), dtype=np.uint8)
    pred[2:8, 2:8, 2:8], gt[2:8, 2:8, 4:10] = 1, 1
    return pred, gt


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_shifted_boxes_are_two_voxels_apart_for_everybody(convention):
    """Every tool sees the two end faces 2 voxels (of 1.5 mm) apart."""
    pred, gt = two_boxes()
    scores = segauge.measure(pred, gt, {"box": 1}, SURFACE_METRICS, spacing=(1.0, 1.0, 1.5), convention=convention)
    assert scores["box", "hd"].value == pytest.approx(3.0)


def test_edge_voxels_by_hand():
    """A row of four voxels against its first one: edge voxels at 0 to 3 mm; pooled, and by direction."""
    pred, gt = np.zeros((2, 3, 3, 8), dtype=np.uint8)
    pred[1, 1, 2:6], gt[1, 1, 2] = 1, 1
    monai, medpy = (
        segauge.measure(pred, gt, {"row": 1}, [*SURFACE_METRICS, "hd50"], convention=name)
        for name in ("monai", "medpy")
    )
    assert monai["row", "hd50"].value == pytest.approx(1.5)  # of 0, 1, 2, 3
    assert medpy["row", "hd50"].value == pytest.approx(1.0)  # of 0, 0, 1, 2, 3
    assert monai["row", "assd"].value == medpy["row", "assd"].value == pytest.approx(6 / 5)
    assert monai["row", "nsd@1.1"].value == pytest.approx(3 / 5)


def test_a_number_that_the_tool_does_not_have_is_missing_with_the_reason():
    scores = segauge.measure(*two_boxes(), {"box": 1}, SURFACE_METRICS, convention="medpy")
    assert scores["box", "masd"].value is None
    assert "no masd, nsd@1.1: MedPy 0.5.2 does not define it" in scores.table.reasons["case", "box"]


def test_an_empty_mask_gives_what_it_gives_without_a_convention():
    pred, gt = two_boxes()
    with_one = segauge.measure(0 * pred, gt, {"box": 1}, SURFACE_METRICS, convention="monai")
    without = segauge.measure(0 * pred, gt, {"box": 1}, SURFACE_METRICS)
    assert [with_one["box", key] for key in SURFACE_METRICS] == [without["box", key] for key in SURFACE_METRICS]


@pytest.mark.parametrize("options", [{"surface": "voxel"}, {"hd": "pooled"}, {"ignore": 2}])
def test_what_would_make_it_another_convention_is_refused(options):
    with pytest.raises(InvalidInput, match="leave out surface=, hd= and ignore="):
        segauge.measure(*two_boxes(), {"box": 1}, SURFACE_METRICS, convention="monai", **options)


def test_an_unknown_convention_is_refused_with_those_there_are():
    with pytest.raises(InvalidInput, match="'segauge', 'monai', 'medpy', 'surface-distance', 'meshmetrics', got 'itk'"):
        check_convention("itk")
    assert check_convention("segauge") is check_convention(None) is None


@pytest.mark.shared
@pytest.mark.parametrize(
    ("convention", "column", "keys", "relative"),
    [
        # MONAI keeps distances in 32 bits, and sums them so
        ("monai", "monai", ("hd", "hd95", "assd", "nsd@1.1", "nsd@2.3"), 2e-6),
        ("medpy", "medpy", ("hd", "hd95", "assd"), 1e-12),
        ("surface-distance", "deepmind", ("hd", "hd95", "nsd@1.1", "nsd@2.3"), 1e-9),
    ],
)
def test_answers_of_the_tools_themselves(shared, convention, column, keys, relative):
    import json

    answers = json.loads((shared / "oracles" / "phantoms.json").read_text())["pairs"]
    arrays = np.load(shared / "oracles" / "phantoms.npz")
    compared = 0
    for name, answer in answers.items():
        theirs = answer.get(column, {})
        wanted = [key for key in keys if key in theirs]
        if not wanted:
            continue
        masks = (arrays[f"{name}__{which}"].astype(np.uint8) for which in ("pred", "gt"))
        ours = segauge.measure(*masks, {"x": 1}, wanted, spacing=answer["spacing"], convention=convention)
        for key in wanted:
            assert ours["x", key].value == pytest.approx(theirs[key], rel=relative), (name, key)
            compared += 1
    assert compared >= 16 * 3
