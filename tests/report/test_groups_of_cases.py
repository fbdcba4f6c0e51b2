"""Groups of cases in a report: what failed without a value is counted, not left out."""

from dataclasses import replace

import numpy as np
import pytest

from segauge import Case, evaluate
from segauge.report.illustrations import illustrations, subgroup_report
from segauge.report.summary import Summary

from .examples import synthetic


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


def grouped(groups):
    """Return the groups and the figure of a result whose cases belong to these groups."""
    result = synthetic(len(groups), ("liver",), curve=False)
    metadata = {case: {"site": group} for case, group in zip(result.table.cases, groups, strict=True)}
    result = replace(result, metadata=metadata)
    summary = Summary(result)
    figure = next(one for one in illustrations(summary) if one.key == "subgroups-site")
    return subgroup_report(result, "site", summary.leading[0]).groups, figure


def test_groups_that_are_numbers_stand_in_their_order():
    groups, _ = grouped([0, 1, 15, 2, 1.5] * 6)
    assert [group.name for group in groups] == ["0", "1", "1.5", "2", "15"]


def test_the_only_group_that_is_estimated_is_not_the_worst_of_any():
    pytest.importorskip("altair", reason="figures need segauge[report]")
    _, alone = grouped(["a"] * 18 + ["b"] * 2)
    assert "worst" not in alone.caption
    assert '"emphasis": true' not in alone.make().to_json()
    _, both = grouped(["a"] * 10 + ["b"] * 10)
    assert "The group with the worst mean is marked." in both.caption
    assert '"emphasis": true' in both.make().to_json()
