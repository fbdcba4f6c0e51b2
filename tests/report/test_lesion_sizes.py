"""Lesions by size: a prediction that is not there finds nothing, and is no smaller test set."""

import numpy as np

from segauge import Case, evaluate
from segauge.report.lesions import lesion_sizes


def test_a_missing_prediction_finds_nothing():
    gt = np.zeros((20, 20, 12), dtype=np.uint8)
    gt[2:6, 2:6, 2:6] = 1
    gt[12:16, 12:16, 2:6] = 1
    none = np.zeros_like(gt)
    cases = [Case("found", gt, gt), Case("missing", None, gt), Case("nothing there", None, none)]
    result = evaluate(cases, structures={"lesion": 1}, metrics=["dice", "det_recall"])
    counts = lesion_sizes(result, cases)["lesion"]
    assert (sum(one.found for one in counts.bins), counts.total) == (2, 4)
    assert "Without" not in counts.words
