"""Diagnoses of predictions that hardly overlap, each cause made on purpose."""

import numpy as np
import pytest

from segauge import Grid, LabelMap
from segbench.cards import DatasetCard, ModelCard
from segbench.scoring import diagnose

DATASET = DatasetCard("d", structures={"organ": (1,), "kidney_left": (2,), "kidney_right": (3,)})
MODEL = ModelCard("m", structures={"organ": (5,), "kidney_left": (6,), "kidney_right": (7,), "liver": (8,)})
GRID = Grid.from_spacing((30, 32, 28), (1.5, 1.0, 2.0))
GT = np.zeros(GRID.shape, dtype=np.uint8)
GT[2:9, 4:9, 3:20] = 1
GT[20:25, 20:26, 5:10] = 2
GT[4:9, 20:26, 5:10] = 3
PRED = np.array([0, 5, 6, 7], dtype=np.uint8)[GT]


def said(pred, structure="organ", grid=GRID):
    return diagnose(LabelMap((pred,), grid), LabelMap((GT,), GRID), structure, MODEL, DATASET)


def renumbered(*labels):
    """Return the prediction with other numbers for organ, left and right kidney."""
    return np.array([0, *labels], dtype=np.uint8)[GT]


CAUSES = {
    "flip": (PRED[::-1], "organ", "flipped: matches if flipped in x (left-right) (Dice 1.00 instead of 0.00)"),
    "two flips": (PRED[:, ::-1, ::-1], "organ", "flipped in y (front-back) and z (head-foot)"),
    "shift": (np.roll(PRED, (12, 9), axis=(0, 1)), "organ", "shifted: matches if moved by (-18.0, -9.0, +0.0) mm"),
    "other id": (
        renumbered(8, 0, 0),
        "organ",
        "wrong ids: label 8 of its output fits (Dice 1.00), which its card calls liver; its card has 5",
    ),
    "unknown id": (renumbered(9, 0, 0), "organ", "wrong ids: label 9 of its output fits (Dice 1.00); its card has 5"),
    "sides": (
        renumbered(5, 7, 6),
        "kidney_left",
        "left and right are swapped: its kidney_right lies on this kidney_left",
    ),
    "empty": (renumbered(0, 0, 0), "organ", "the prediction is empty"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is_named(cause):
    pred, structure, words = CAUSES[cause]
    assert words in said(pred, structure)


def test_nothing_is_made_up_where_nothing_fits():
    noise = np.where(np.random.default_rng(0).random(GRID.shape) < 0.1, 5, 0).astype(np.uint8)
    assert said(noise) == "no flip, shift or other label explains it"
    nothing = np.where(PRED == 6, 6, 0).astype(np.uint8)
    assert said(nothing) == "the prediction has no voxel with label 5, and no other label fits"


def test_a_prediction_elsewhere_is_said_to_be_elsewhere():
    moved = np.diag([1.5, 1.0, 2.0, 1.0])
    moved[:3, 3] = 500.25
    assert "does not lie where the ground truth is" in said(PRED, grid=Grid(GRID.shape, moved))


def test_a_good_prediction_needs_no_explanation():
    assert said(PRED) == "no flip, shift or other label explains it"
