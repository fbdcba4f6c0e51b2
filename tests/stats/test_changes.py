"""What changed between two evaluations."""

import json

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.scores import ScoreTable, Status
from segauge.stats.changes import difference

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


def wide(shift=0.0, names=("dice", "iou", "assd", "hd95", "precision"), structures=("liver",)):
    """Return a table of several metrics, all of which get worse by about `shift`."""
    rng = np.random.default_rng(4)
    values = np.empty((30, len(structures), len(names)))
    for k, name in enumerate(names):
        sign = 1.0 if name in ("assd", "hd95") else -1.0
        values[:, :, k] = (5.0 if sign > 0 else 0.8) + rng.normal(0, 0.02, (30, 1)) + sign * shift
    values += rng.normal(0, 0.02, values.shape) * (shift > 0)
    status = np.array([[Status.PRESENT] * len(structures)] * 30, dtype=object)
    return ScoreTable(CASES, tuple(structures), tuple(names), values, status)


def test_only_what_was_named_before_is_judged():
    found = difference(wide(), wide(0.012), n_resamples=1000)
    verdicts = {change.metric: change.verdict for change in found.changes}
    assert [change.metric for change in found.judged] == ["dice", "hd95"]
    assert {verdicts[name] for name in ("iou", "assd", "precision")} == {"not judged"}
    shown = [change for change in found.changes if not change.is_judged]
    assert all(change.p_value is None and change.ci_low is not None for change in shown)
    assert found.rule == (
        "judged at 95 %: dice, hd95 (Holm over 2 changes; each interval is of its change alone); "
        "only shown: iou, assd, precision"
    )
    document = found.to_dict()
    assert document["judged"] == ["dice", "hd95"]
    assert document["rule"] == found.rule


def test_correction_counts_the_judged_changes_alone():
    before, after = wide(), wide(0.004)
    alone = difference(before, after, judge=["dice"], n_resamples=1000).judged[0].p_value
    every = {c.metric: c for c in difference(before, after, judge=before.metrics, n_resamples=1000).changes}
    two = {c.metric: c for c in difference(before, after, n_resamples=1000).judged}
    assert alone <= two["dice"].p_value <= every["dice"].p_value
    # Holm over two: the smaller is doubled, the larger is itself or no smaller than that.
    raw = sorted(difference(before, after, judge=[key], n_resamples=1000).judged[0].p_value for key in ("dice", "hd95"))
    assert sorted(c.p_value for c in two.values()) == pytest.approx([2 * raw[0], max(2 * raw[0], raw[1])])


def test_what_is_only_shown_is_no_regression():
    worse = wide(0.2)
    mixed = worse.values.copy()
    mixed[:, :, [0, 3]] = wide().values[:, :, [0, 3]]  # dice and hd95 as they were
    after = ScoreTable(CASES, worse.structures, worse.metrics, mixed, worse.status)
    assert difference(wide(), after, n_resamples=200).outcome == "no regression"
    found = difference(wide(), after, judge=["iou"], n_resamples=200)
    assert found.outcome == "regression: 1 of 1 judged changes for the worse"


def test_a_new_failure_gates_whatever_is_judged():
    before, after = wide(), wide()
    status, values = after.status.copy(), after.values.copy()
    status[3, 0], values[3, 0] = Status.MISSED, (0.0, 0.0, np.nan, np.nan, 0.0)
    found = difference(
        before, ScoreTable(CASES, after.structures, after.metrics, values, status), judge=["assd"], n_resamples=200
    )
    assert found.outcome == "regression: new failures on liver (1)"


def test_a_margin_names_a_metric_and_a_few_metrics_are_all_judged():
    found = difference(wide(), wide(0.01), margins={"assd": 0.1}, n_resamples=200)
    assert [change.metric for change in found.judged] == ["dice", "assd", "hd95"]
    few = ("dice", "assd", "iou")
    assert len(difference(wide(names=few), wide(0.01, few), n_resamples=200).judged) == 3
    none = ("iou", "assd", "masd", "precision")
    assert len(difference(wide(names=none), wide(0.01, none), n_resamples=200).judged) == 4
    other = ("dice", "nsd@2", "iou", "assd")
    found = difference(wide(names=other), wide(0.01, other), n_resamples=200)
    assert [change.metric for change in found.judged] == ["dice", "nsd@2"]
    curve = ("dice", "nsd", "nsd@1", "nsd@2", "nsd@5")
    found = difference(wide(names=curve), wide(0.01, curve), n_resamples=200)
    assert [change.metric for change in found.judged] == ["dice", "nsd"]


@pytest.mark.parametrize("options", [{"judge": ["dcie"]}, {"margins": {"dcie": 0.01}}])
def test_a_metric_that_is_not_there_cannot_decide(options):
    with pytest.raises(InvalidInput, match="did you mean 'dice'"):
        difference(wide(), wide(), **options)


def test_patients_are_resampled_together():
    rng = np.random.default_rng(2)
    pairs = np.repeat(rng.normal(0, 0.05, 15), 2)  # both images of a patient change alike
    after = table(np.clip(EASY + pairs, 0, 1))
    alone, together = (
        difference(table(EASY), after, n_resamples=1000, cluster=cluster).changes[0]
        for cluster in (None, {case: f"p{i // 2}" for i, case in enumerate(CASES)})
    )
    assert together.ci_high - together.ci_low > 1.2 * (alone.ci_high - alone.ci_low)


def test_a_case_that_a_version_lacks_is_no_failure_where_there_is_nothing_to_find():
    ids = tuple(f"c{i:02d}" for i in range(12))
    states = np.full((12, 1), Status.PRESENT, dtype=object)
    states[10:] = Status.ABSENT
    values = np.full((12, 1, 1), 0.9)
    values[10:] = np.nan
    before = ScoreTable(ids, ("liver",), ("dice",), values, states)
    after = ScoreTable(ids[1:11], ("liver",), ("dice",), values[1:11], states[1:11])
    (change,) = difference(before, after).changes
    assert change.new_failures == ("c00",)
