"""The page "Definitions": every number and every edge case in it is computed here."""

import re
from pathlib import Path

import numpy as np
import pytest

import segauge
from segauge import CATALOG, measure

PAGE = (Path(__file__).parents[2] / "docs/reference/definitions.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
ROWS = {key: cells for key, *cells in ROW.findall(PAGE)}
EXTRA = ("nsd@2", "pq@0.3", "dice@autopet-2024", "false_negative_volume@autopet-2024")


def example():
    pred, gt = np.zeros((2, 12, 12, 12), np.uint8)
    gt[2:6, 2:6, 2:6] = gt[8:10, 8:10, 8:10] = 1
    pred[2:6, 2:6, 3:7] = pred[2:4, 8:10, 8:10] = 1
    return pred, gt


def shown(pred, gt, key):
    value = measure(pred, gt, {"lesion": 1}, [key], spacing=(1.0, 1.0, 2.0))["lesion", key].value
    return "-" if value is None else f"{value:.4g}"


def test_every_metric_of_the_catalog_is_defined():
    assert set(ROWS) == {*CATALOG, *EXTRA}


@pytest.mark.parametrize("key", [*CATALOG, *EXTRA])
def test_values_and_edge_cases_are_those_that_are_measured(key):
    pred, gt = example()
    nothing = np.zeros_like(gt)
    pairs = {"example": (pred, gt), "missed": (nothing, gt), "spurious": (pred, nothing), "absent": (nothing, nothing)}
    assert dict(zip(pairs, ROWS[key], strict=True)) == {kind: shown(*pair, key) for kind, pair in pairs.items()}


def test_the_counts_of_the_example():
    pred, gt = example()
    assert segauge.confusion(pred, gt) == (48, 24, 24, 1632)
    assert "TP = 48, FP = 24, FN = 24, TN = 1632" in PAGE
    lesions = segauge.detection_scores(pred, gt)
    assert (lesions.tp, lesions.fp, lesions.fn) == (1, 1, 1)
    assert [lesion.iou for lesion in lesions.gt_lesions()] == [0.6, None]


def test_the_historical_functions_on_empty_masks():
    """`measure` has one rule; these keep that of segauge 0.1."""
    empty, box = np.zeros((2, 6, 6, 6), np.uint8)
    box[2:4, 2:4, 2:4] = 1
    assert (segauge.dice(empty, empty), segauge.iou(empty, empty)) == (1.0, 1.0)
    both, one = segauge.surface_metrics(empty, empty), segauge.surface_metrics(empty, box)
    assert (both["hd95"], both["nsd"], one["hd95"], one["nsd"]) == (0.0, 1.0, np.inf, 0.0)
    assert segauge.boundary_iou(empty, empty) == 1.0
    assert segauge.detection_scores(empty, empty).f1 == 1.0
    for name in ("dice", "iou", "surface_metrics", "boundary_iou", "detection_scores"):
        assert f"| `{name}` |" in PAGE
