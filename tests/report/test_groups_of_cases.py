"""Groups of cases in a report: what failed without a value is counted, not left out."""

import numpy as np

from segauge import Case, evaluate
from segauge.report.illustrations import subgroup_report


def test_missed_structures_are_counted_in_their_group():
    gt = np.zeros((12, 12, 8), dtype=np.uint8)
    gt[2:9, 2:9, 2:6] = 1
    gt[9:11, 9:11, 2:6] = 2
    without = np.where(gt == 2, 0, gt)
    cases = [
        Case(f"case {k:02d}", without if k % 4 == 1 else np.roll(gt, k % 2, axis=2), gt, metadata={"sex": "fm"[k % 2]})
        for k in range(24)
    ]
    result = evaluate(cases, structures={"organ": 1, "duct": 2}, metrics=["hd95"])
    info = next(info for info in result.metrics if info.key == "hd95")
    women, men = subgroup_report(result, "sex", info).groups
    # A case of which one structure was missed has no mean distance: it failed.
    assert (women.name, women.n, women.failed) == ("f", 12, 0)
    assert (men.name, men.n, men.failed) == ("m", 12, 6)
    assert men.estimate.n == 6
