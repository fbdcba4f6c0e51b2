"""Groups: exact small cases, then error rates of gaps and interactions where there are none."""

import json

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats import Scale, ScoreMatrix, stratified_gap
from segauge.stats.groups import binned, estimate_group_columns, estimate_groups, group_interaction

RNG = np.random.default_rng(3)


def test_bins_leave_nothing_out():
    found = binned([17, 18, 29.9, 30, 95, None, "", "n/a", float("nan"), "45"], [18, 30, 90])
    assert found == [
        "under 18", "18 to <30", "18 to <30", "30 to <90", "90 and over", None, None, None, None, "30 to <90",
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="ascending"):
        binned([1], [3, 2])


def test_groups_are_estimated_and_small_ones_named():
    values = np.concatenate([RNG.beta(9, 1, 30), RNG.beta(4, 3, 30), [0.5, 0.6], [np.nan]])
    labels = ["easy"] * 30 + ["hard"] * 30 + ["rare"] * 2 + [None]
    found = estimate_groups(values, labels, bounds=(0, 1), n_resamples=2000)
    easy, hard, rare = found.groups
    assert easy.estimate.value == pytest.approx(values[:30].mean())
    assert rare.estimate is None
    assert rare.n == 2
    assert found.worst == "hard"
    assert found.worst_bound < hard.estimate.value
    (gap,) = found.gaps
    assert (gap.a, gap.b) == ("easy", "hard")
    assert gap.delta == pytest.approx(values[:30].mean() - values[30:60].mean())
    assert gap.ci_low > 0
    assert gap.p_value < 0.01
    json.dumps(found.to_dict(), allow_nan=False)


def test_shrunken_means_lie_between_the_group_and_the_rest():
    values = np.concatenate([RNG.normal(0.8, 0.05, 50), RNG.normal(0.7, 0.05, 50), RNG.normal(0.2, 0.05, 3)])
    found = {g.name: g for g in estimate_groups(values, ["a"] * 50 + ["b"] * 50 + ["c"] * 3, n_resamples=500).groups}
    assert values[-3:].mean() < found["c"].shrunken < 0.75
    assert abs(found["a"].shrunken - values[:50].mean()) < 0.01


def test_without_a_difference_shrinking_gives_one_mean():
    values = np.tile([0.7, 0.9], 20)
    found = estimate_groups(values, ["a"] * 20 + ["b"] * 20, n_resamples=500)
    assert [group.shrunken for group in found.groups] == pytest.approx([0.8, 0.8])


def test_worst_bound_is_stricter_with_more_groups():
    values = RNG.beta(6, 2, 60)
    two = estimate_groups(values, ["a"] * 30 + ["b"] * 30, bounds=(0, 1), n_resamples=500)
    worst = values[:30] if values[:30].mean() < values[30:].mean() else values[30:]
    six = estimate_groups(
        np.concatenate([worst, np.tile(worst + 0.01, 5).clip(0, 1)]),
        ["w"] * 30 + [f"g{i // 30}" for i in range(150)],
        bounds=(0, 1),
        n_resamples=500,
    )
    assert six.worst == "w"
    assert six.worst_bound < two.worst_bound


def test_groups_may_overlap():
    values = RNG.beta(6, 2, 60)
    masks = {"x": np.arange(60) < 40, "y": np.arange(60) >= 20}
    found = estimate_groups(values, masks, bounds=(0, 1), n_resamples=1000)
    assert found.overlapping
    assert found.gaps[0].delta == pytest.approx(values[:40].mean() - values[20:].mean())


def test_clusters_widen_gaps_of_repeated_cases():
    values = RNG.beta(6, 2, 40)
    labels = ["a"] * 20 + ["b"] * 20
    once = estimate_groups(values, labels, bounds=(0, 1), n_resamples=4000).gaps[0]
    patients = [f"{i:02d}" for i in range(40)] * 4
    naive = estimate_groups(np.tile(values, 4), labels * 4, bounds=(0, 1), n_resamples=4000).gaps[0]
    clustered = estimate_groups(np.tile(values, 4), labels * 4, bounds=(0, 1), cluster=patients, n_resamples=4000).gaps[
        0
    ]
    width = [gap.ci_high - gap.ci_low for gap in (once, naive, clustered)]
    assert width[1] < 0.6 * width[0]
    # The same patients in the same order: the same draws.
    assert width[2] == pytest.approx(width[0], rel=1e-6)


def test_labels_must_fit():
    with pytest.raises(InvalidInput, match="3 cases, 1 labels"):
        estimate_groups([1, 2, 3], ["a"])


@pytest.mark.slow
def test_gaps_without_a_difference_are_rarely_found():
    """Four groups of 15 to 60 with equal means and unequal spreads: familywise error of the 5 % test."""
    rng, found = np.random.default_rng(0), 0
    labels = ["a"] * 15 + ["b"] * 20 + ["c"] * 40 + ["d"] * 60
    for _ in range(400):
        values = np.concatenate([rng.normal(0, s, n) for s, n in ((2, 15), (1, 20), (1, 40), (0.5, 60))])
        gaps = estimate_groups(values, labels, ci="t", n_resamples=500, seed=int(rng.integers(1 << 30))).gaps
        found += min(gap.p_value for gap in gaps) < 0.05
    # 400 simulations of a 5 % test: up to 8.5 % is within three standard errors.
    assert found / 400 <= 0.085


def interacting(effect, seed):
    rng = np.random.default_rng(seed)
    groups = ["a"] * 20 + ["b"] * 25
    case = rng.normal(0, 1, 45)
    scores = {f"m{j}": case + rng.normal(0, 1 if j else 2, 45) for j in range(3)}
    scores["m1"][:20] -= effect
    return scores, groups


def test_an_interaction_is_found_and_named():
    found = group_interaction(*interacting(2.5, 0))
    assert found.p_value < 0.01
    assert found.strongest[0] == "m1"
    assert found.deviations["m1", "a"] < -1


def test_harder_groups_alone_are_no_interaction():
    scores, groups = interacting(0.0, 1)
    for column in scores.values():
        column[:20] -= 10.0
    assert group_interaction(scores, groups).p_value > 0.05


@pytest.mark.slow
def test_interaction_error_rate():
    rejected = np.mean(
        [group_interaction(*interacting(0.0, s), n_permutations=200).p_value <= 0.05 for s in range(400)]
    )
    # 400 simulations of a 5 % test: three standard errors are 3.3 points.
    assert 0.02 <= rejected <= 0.083


def test_interaction_needs_groups_and_models():
    assert group_interaction({"a": [1.0, 2.0]}, ["x", "y"]).p_value is None


def test_models_together_get_the_numbers_they_get_alone():
    """Three models, one with a missing case: each report is the one of `estimate_groups`, gaps included."""
    rng = np.random.default_rng(8)
    values = rng.beta(8, 2, (60, 3))
    values[4, 2] = np.nan
    labels = ["abc"[i % 3] for i in range(60)]
    options = {"bounds": (0.0, 1.0), "n_resamples": 300}
    together = estimate_group_columns(values, labels, names=("x", "y", "z"), **options)
    for j, name in enumerate("xyz"):
        alone = estimate_groups(values[:, j], labels, name=name, **options)
        assert together[name].groups == alone.groups
        for one, other in zip(together[name].gaps, alone.gaps, strict=True):
            # The order of additions differs between one column and several.
            numbers = [(gap.delta, gap.ci_low, gap.ci_high, gap.p_value) for gap in (one, other)]
            assert numbers[0] == pytest.approx(numbers[1], abs=1e-14)


def test_one_more_group_changes_no_other_gap():
    """Two groups and their gap (no regularisation), beside a third that is too small to be estimated."""
    rng = np.random.default_rng(9)
    values = rng.normal(size=43)
    labels = ["a"] * 20 + ["b"] * 20 + ["c"] * 3
    with_small = estimate_groups(values, labels, n_resamples=300)
    without = estimate_groups(values[:40], labels[:40], n_resamples=300)
    assert with_small.gaps == without.gaps


def failing_distances():
    """In the second group a third of the cases failed, and the rest is a little better."""
    values = np.concatenate([np.linspace(4, 6, 12), np.linspace(3.9, 5.9, 8), [np.inf] * 4, [np.nan]])
    return values, ["old"] * 12 + ["young"] * 12 + ["young"]


def test_failures_without_a_value_are_counted():
    values, labels = failing_distances()
    found = estimate_groups(values, labels, higher_is_better=False, n_resamples=200)
    old, young = found.groups
    assert (old.n, old.failed, old.estimate.found) == (12, 0, None)
    assert (young.n, young.failed, young.estimate.n) == (12, 4, 8)
    assert young.estimate.found.value == pytest.approx(8 / 12)
    assert young.estimate.excluded == {"failed": 4}
    assert young.size == "n = 12, 4 of them failed"
    # Without the failures the young would be the better ones.
    assert young.estimate.value < old.estimate.value
    assert (found.worst, found.worst_bound) == ("young", None)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_group_of_failures_only_is_named():
    values = np.concatenate([np.linspace(4, 6, 10), [np.inf] * 10])
    found = estimate_groups(values, ["old"] * 10 + ["young"] * 10, higher_is_better=False, n_resamples=200)
    young = found.groups[1]
    assert (young.n, young.failed, young.estimate) == (10, 10, None)
    assert found.worst == "young"
    assert found.gaps == ()


def test_models_that_differ_only_in_failures_do_not_share_counts():
    values, labels = failing_distances()
    other = np.where(np.isinf(values), np.nan, values)
    both = estimate_group_columns(
        np.column_stack([values, other]), labels, names=("a", "b"), higher_is_better=False, n_resamples=200
    )
    assert [both[name].groups[1].failed for name in "ab"] == [4, 0]
    assert [both[name].groups[1].n for name in "ab"] == [12, 8]


def test_the_interaction_counts_failures_by_ranks():
    """One model fails on the young only: with the failures left out nothing would be seen."""
    rng = np.random.default_rng(4)
    steady = rng.uniform(3, 6, 40)
    failing = steady + rng.normal(0, 0.1, 40)
    labels = ["old"] * 20 + ["young"] * 20
    failing[20:34] = np.inf
    cases = tuple(f"{i:02d}" for i in range(40))
    matrix = ScoreMatrix(cases, ("steady", "failing"), np.column_stack([steady, failing]), Scale(False))
    found = group_interaction(matrix, labels, n_permutations=500)
    assert found.p_value < 0.05
    assert found.deviations["failing", "young"] < 0 < found.deviations["failing", "old"]


def test_a_stratified_gap_says_how_many_failed():
    values, labels = failing_distances()
    old = np.array([label == "old" for label in labels])
    assert stratified_gap(values, old, ~old, n_resamples=200).failed == 4


def test_patients_are_permuted_where_they_have_several_cases():
    """Patients differ, groups do not: case by case four in ten tests would find an interaction."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 7])
        patients = np.arange(16).repeat(5)
        values = rng.normal(0, 1, (16, 2))[patients] + rng.normal(0, 0.3, (80, 2))
        matrix = ScoreMatrix(tuple(map(str, range(80))), ("a", "b"), values, clusters=tuple(map(str, patients)))
        labels = ["fm"[patient % 2] for patient in patients]
        found += group_interaction(matrix, labels, n_permutations=200, seed=seed).p_value < 0.05
    # 5 % of 60 are 3; more than 9 have a probability of 0.0006.
    assert found <= 9


def test_patients_of_one_case_change_no_interaction():
    rng = np.random.default_rng(2)
    values, cases = rng.random((30, 3)), tuple(f"{i:02d}" for i in range(30))
    labels = ["fm"[i % 2] for i in range(30)]
    plain = ScoreMatrix(cases, tuple("abc"), values)
    alone = ScoreMatrix(cases, tuple("abc"), values, clusters=cases)
    one, other = (group_interaction(matrix, labels, n_permutations=200) for matrix in (plain, alone))
    assert one.p_value == other.p_value
    assert one.deviations == pytest.approx(other.deviations)


def test_bins_of_large_numbers_keep_their_names_apart():
    names = binned([20150101, 20150131, 20150201], [20150115, 20150131])
    assert names == ["under 20150115", "20150131 and over", "20150131 and over"]
    assert len(set(binned([1234566.5, 1234567.5], [1234566, 1234567, 1234568]))) == 2
    assert binned([0.2], [0.1, 0.25]) == ["0.1 to <0.25"]


def test_two_groups_of_found_or_not_are_compared_exactly():
    """Nine of ten against one of ten: resamples without the odd case have no spread, and would hide the gap."""
    values = np.array([1.0] * 9 + [0.0] + [0.0] * 9 + [1.0])
    labels = ["a"] * 10 + ["b"] * 10
    (gap,) = estimate_groups(values, labels, bounds=(0, 1), n_resamples=500).gaps
    assert gap.delta == pytest.approx(0.8)
    # Of the C(20, 10) ways to share out ten hits, 10 * 10 are as far apart, and 1 is farther; on both sides.
    assert gap.p_value == pytest.approx(2 * 101 / 184756, rel=1e-9)
    assert 0 < gap.ci_low < 0.8 < gap.ci_high < 1
    clustered = estimate_groups(values, labels, bounds=(0, 1), n_resamples=500, cluster=[i // 2 for i in range(20)])
    assert clustered.gaps[0].p_value != gap.p_value


def test_a_model_of_found_or_not_is_compared_exactly_beside_any_other():
    binary, other = np.repeat([1.0, 0.0, 1.0, 0.0], [14, 6, 19, 1]), RNG.beta(6, 2, 40)
    labels, options = ["a"] * 20 + ["b"] * 20, {"bounds": (0, 1), "n_resamples": 500}
    both = estimate_group_columns(np.column_stack([other, binary]), labels, names=("other", "binary"), **options)
    alone = {
        "binary": estimate_groups(binary, labels, name="binary", **options),
        "other": estimate_groups(other, labels, name="other", **options),
    }
    assert {name: both[name].gaps for name in alone} == {name: found.gaps for name, found in alone.items()}


def test_the_limits_of_an_exact_gap_do_not_deny_the_test():
    """Newcombe's limits of 4 and 0 of 10 are 0.04 to 0.69; Fisher's test does not tell the two apart (p = 0.087)."""
    values = np.repeat([1.0, 0.0], [4, 16])
    gap = estimate_groups(values, ["a"] * 10 + ["b"] * 10, bounds=(0, 1), n_resamples=100).gaps[0]
    assert gap.p_value == pytest.approx(0.0867, abs=1e-4)
    assert gap.ci_low == 0.0
    assert gap.ci_high == pytest.approx(0.687, abs=1e-3)


@pytest.mark.parametrize("n_resamples", [100, 1000, 1999])
def test_a_gap_is_significant_where_its_interval_does_not_hold_zero_and_nowhere_else(n_resamples):
    rng = np.random.default_rng(11)
    labels = np.repeat(["a", "b", "c", "d"], 20).tolist()
    said = []
    for seed in range(40):
        values = rng.beta(8, 2, 80) - np.repeat([0.0, 0.02, 0.08, 0.12], 20)
        found = estimate_groups(values, labels, n_resamples=n_resamples, seed=seed).gaps
        said += [(gap.p_value < 0.05, not gap.ci_low <= 0.0 <= gap.ci_high) for gap in found]
    assert {significant for significant, _ in said} == {True, False}
    assert all(significant == excludes_zero for significant, excludes_zero in said)


def test_no_gap_has_limits_beyond_the_scale():
    values, labels = [0.0, 0.1, 0.0, 0.2, 0.9, 1.0, 0.9, 1.0, 0.8, 0.1], ["a"] * 5 + ["b"] * 5
    assert estimate_groups(values, labels).gaps[0].ci_low < -1.0  # nobody said which scale
    assert -1.0 < estimate_groups(values, labels, bounds=(0.0, 1.0)).gaps[0].ci_low < -0.8
    three = [*values, 0.1, 0.2, 0.1, 0.9, 1.0]
    gaps = estimate_groups(three, [*labels, *["c"] * 5], bounds=(0.0, 1.0)).gaps
    assert min(gap.ci_low for gap in gaps) == -1.0
