"""What changed between two evaluations."""

import json

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.scores import ScoreTable, Status
from segauge.stats.regression import difference

RNG = np.random.default_rng(9)
CASES = tuple(f"c{i:02d}" for i in range(30))


def table(dice, hd95=None, missed=(), structures=("liver",), cases=CASES):
    n = len(cases)
    distances = np.full(n, 5.0) if hd95 is None else np.array(hd95, dtype=float)
    values = np.stack([np.array(dice, dtype=float), distances], axis=-1)[:, None, :]
    status = np.array([[Status.PRESENT]] * n, dtype=object)
    for i in missed:
        status[i, 0], values[i, 0] = Status.MISSED, (0.0, np.nan)
    return ScoreTable(cases, structures, ("dice", "hd95"), values, status)


EASY = RNG.beta(8, 2, 30)


def changes(before, after, **options):
    found = difference(before, after, n_resamples=1000, **options)
    return found, {change.metric: change for change in found.changes}


def test_nothing_changed():
    found, rows = changes(table(EASY), table(EASY))
    assert not found.regressions
    assert rows["dice"].delta == 0.0
    assert rows["dice"].p_value == 1.0


def test_the_direction_follows_the_metric():
    longer = 5.0 + RNG.normal(1.0, 0.1, 30)
    found, rows = changes(table(EASY), table(EASY, longer))
    assert rows["hd95"].verdict == "worse"
    assert [change.metric for change in found.regressions] == ["hd95"]
    assert changes(table(EASY, longer), table(EASY))[1]["hd95"].verdict == "better"


def test_a_margin_lets_small_changes_pass():
    after = table(EASY - RNG.normal(0.005, 0.001, 30))
    assert changes(table(EASY), after)[0].regressions
    assert not changes(table(EASY), after, margins={"dice": 0.01})[0].regressions


def test_failures_are_named_on_both_sides_and_gate():
    found, rows = changes(table(EASY, missed=[1, 2]), table(EASY, missed=[2, 3]))
    assert rows["hd95"].new_failures == ("c03",)
    assert rows["hd95"].recovered == ("c01",)
    assert rows["hd95"].n == 27
    assert rows["dice"].n == 30
    assert found.regressions
    assert not changes(table(EASY, missed=[1]), table(EASY, missed=[3]), allowed_failures=1)[0].regressions


def test_many_structures_are_corrected_for():
    names = tuple(f"s{j}" for j in range(20))
    noise = RNG.normal(0, 0.05, (2, 30, 20, 1))
    status = np.array([[Status.PRESENT] * 20] * 30, dtype=object)
    before, after = (ScoreTable(CASES, names, ("dice",), EASY[:, None, None] * 0.8 + x, status) for x in noise)
    found = difference(before, after, n_resamples=1000)
    raw = [difference(_only(before, j), _only(after, j), n_resamples=1000).changes[0].p_value for j in range(20)]
    assert min(change.p_value for change in found.changes) == pytest.approx(min(1.0, 20 * min(raw)))


def _only(scores, j):
    return ScoreTable(
        scores.cases, (scores.structures[j],), scores.metrics, scores.values[:, [j]], scores.status[:, [j]]
    )


def test_few_cases_give_no_verdict_and_say_so():
    few = CASES[:6]
    found, rows = changes(table(EASY[:6], cases=few), table(EASY[:6] - 0.2, cases=few))
    assert rows["dice"].verdict == "undecided"
    assert any("fewer than 10" in note for note in found.notes)


def test_what_only_one_side_has_is_told():
    found, _ = changes(table(EASY, structures=("liver",)), table(EASY, structures=("liver",)))
    assert found.notes == ()
    with pytest.raises(InvalidInput, match="in common"):
        difference(table(EASY, structures=("liver",)), table(EASY, structures=("spleen",)))


def test_result_is_strict_json():
    json.dumps(changes(table(EASY, missed=range(30)), table(EASY))[0].to_dict(), allow_nan=False)


def test_volumes_are_not_compared_and_that_is_said():
    values = np.stack([EASY, 40 * EASY], axis=-1)[:, None, :]
    status = np.array([[Status.PRESENT]] * len(CASES), dtype=object)
    with_volume = ScoreTable(CASES, ("liver",), ("dice", "pred_volume"), values, status)
    found, rows = changes(with_volume, with_volume)
    assert set(rows) == {"dice"}
    assert "no value of these is better than another: pred_volume" in found.notes[-1]
    only = ScoreTable(CASES, ("liver",), ("pred_volume",), values[:, :, 1:], status)
    with pytest.raises(InvalidInput, match="but for pred_volume"):
        difference(only, only)
