"""Predictions that number their labels otherwise than the ground truth."""

import numpy as np
import pytest

from segauge import Case, evaluate
from segauge.errors import InvalidInput


def two_boxes():
    gt, pred = np.zeros((2, 8, 8, 8), dtype=np.uint8)
    gt[1:4, 1:4, 1:4], gt[5:7, 5:7, 5:7] = 1, 2
    pred[1:4, 1:4, 1:4], pred[5:7, 5:7, 5:7] = 7, 5
    return Case("a", pred, gt)


def test_each_side_has_labels_of_its_own():
    structures, pred_structures = {"both": [1, 2], "small": 2}, {"both": [5, 7], "small": 5}
    found = evaluate([two_boxes()], structures=structures, pred_structures=pred_structures, metrics=["dice"])
    assert found.table.values.ravel().tolist() == [1.0, 1.0]
    assert found.protocol["options"]["pred_structures"] == {"both": [5, 7], "small": [5]}
    wrong = evaluate([two_boxes()], structures=structures, metrics=["dice"])
    assert wrong.table.values.ravel().tolist() == [0.0, 0.0]


def test_every_structure_needs_its_labels():
    with pytest.raises(InvalidInput, match="'small' is missing"):
        evaluate([two_boxes()], structures={"both": [1, 2], "small": 2}, pred_structures={"both": [5, 7]})
    with pytest.raises(InvalidInput, match="structures that are named"):
        evaluate([two_boxes()], structures="all", pred_structures={"both": [5, 7]})
