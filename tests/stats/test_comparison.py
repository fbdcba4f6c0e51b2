"""Comparisons: exact small cases, invariances, then scipy and statsmodels."""

import itertools

import numpy as np
import pytest

from segauge.errors import InvalidInput, ShapeMismatch, UnknownMetric
from segauge.scores import ScoreTable, Status
from segauge.stats import (
    MissingPolicy,
    compare,
    difference,
    paired_significance,
    plan_pairs,
    rank,
    ranking_stability,
    score_matrix,
)
from segauge.stats.resampling import stream
from segauge.stats.significance import bonferroni, holm, one_sided_wilcoxon, sign_flip, step_down, wilcoxon

scipy_stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(5)
CASES = [f"c{i:02d}" for i in range(40)]
EASY = RNG.beta(8, 2, 40)
SHIFTS = {"A": 0.0, "B": 0.0, "C": 0.05, "D": 0.1}
SCORES = {name: np.clip(EASY + shift + RNG.normal(0, 0.03, 40), 0, 1) for name, shift in SHIFTS.items()}


def by_id(scores):
    return {name: dict(zip(CASES, values, strict=True)) for name, values in scores.items()}


def test_holm_and_bonferroni_by_hand():
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert bonferroni([0.01, 0.5, 0.03]).tolist() == pytest.approx([0.03, 1.0, 0.09])


def test_corrections_are_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(0).random(30) ** 3
    for method, ours in (("holm", holm), ("bonferroni", bonferroni)):
        np.testing.assert_allclose(ours(p), multitest.multipletests(p, method=method)[1], rtol=1e-12)


def test_step_down_by_hand():
    """Three columns, four resamples; maxima over {3}, {1,3}, {2,1,3} in ascending order of the statistics."""
    statistics = np.array([2.0, 3.0, 1.0])
    resampled = np.array([[0.0, 4.0, 0.5], [2.5, 0.0, 0.0], [0.0, 0.0, 1.5], [0.1, 0.1, 0.1]])
    # 3.0: maxima 4, 2.5, 1.5, 0.1 -> 1; 2.0: over columns 0 and 2: 0.5, 2.5, 1.5, 0.1 -> 1; 1.0: 0.5, 0, 1.5, 0.1 -> 1
    assert step_down(statistics, resampled).tolist() == pytest.approx([2 / 5, 2 / 5, 2 / 5])


def test_step_down_p_values_are_monotone_in_the_statistics():
    statistics = np.abs(RNG.normal(1, 1, 20))
    p = step_down(statistics, np.abs(RNG.normal(0, 1, (500, 20))))
    assert (np.diff(p[np.argsort(-statistics)]) >= 0).all()


@pytest.mark.parametrize("n", [5, 12, 30, 60])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_wilcoxon_is_scipys(n, alternative):
    x = np.random.default_rng(n).normal(0.2, 1, n)
    exact = scipy_stats.wilcoxon(x, alternative=alternative, method="exact").pvalue
    normal = scipy_stats.wilcoxon(x, alternative=alternative, method="asymptotic").pvalue
    assert wilcoxon(x[:, None], alternative=alternative, exact=True)[0] == pytest.approx(exact, rel=1e-9)
    assert wilcoxon(x[:, None], alternative=alternative, exact=False)[0] == pytest.approx(normal, rel=1e-9)


def test_wilcoxon_with_ties_and_zeros_is_scipys():
    x = np.round(np.random.default_rng(0).normal(0.3, 1, 50), 1)
    assert (x == 0).any()
    for correction in (False, True):
        expected = scipy_stats.wilcoxon(x, correction=correction, method="asymptotic").pvalue
        assert wilcoxon(x[:, None], exact=False, correction=correction)[0] == pytest.approx(expected, rel=1e-9)
    up, down = one_sided_wilcoxon(x[:, None])
    for found, alternative in ((up, "greater"), (down, "less")):
        expected = scipy_stats.wilcoxon(x, correction=True, method="asymptotic", alternative=alternative).pvalue
        assert found[0] == pytest.approx(expected, rel=1e-9)


def test_sign_flip_tries_all_signs_of_few_cases():
    x = np.array([0.3, -0.1, 0.5, 0.2, 0.4])
    every = [abs(sum(s * v for s, v in zip(signs, x, strict=True))) for signs in itertools.product((1, -1), repeat=5)]
    expected = np.mean([value >= abs(x.sum()) - 1e-12 for value in every])
    assert sign_flip(x[:, None], 1000, stream(0, "x"))[0] == pytest.approx(expected)


def test_sign_flip_of_many_cases_is_scipys():
    x = np.random.default_rng(2).normal(0.3, 1, 40)
    expected = scipy_stats.permutation_test(
        (x,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0)
    ).pvalue
    # p is about 0.07; two independent sets of 20,000 signs have a standard error of 0.0025 together.
    assert sign_flip(x[:, None], 20_000, stream(0, "x"))[0] == pytest.approx(expected, abs=0.01)


def test_paired_t_is_scipys():
    found = compare({k: SCORES[k] for k in "AC"}, method="t", correction="none")["A", "C"]
    expected = scipy_stats.ttest_rel(SCORES["A"], SCORES["C"])
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert (found.ci_low, found.ci_high) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_clear_differences_are_found_and_equal_models_are_not():
    found = compare(by_id(SCORES))
    assert found["D", "A"].verdict == "better"
    assert found["A", "D"].verdict == "worse"
    assert found["A", "B"].verdict == "undecided"
    assert found["D", "A"].favored == "D"
    assert found["D", "A"].wins > 0.9
    assert found["A", "D"].delta == pytest.approx(np.mean(SCORES["A"] - SCORES["D"]), rel=1e-12)


def test_cases_are_paired_by_id_not_by_position():
    shuffled = by_id(SCORES)
    shuffled["A"] = dict(reversed(shuffled["A"].items()))
    assert compare(shuffled) == compare(by_id(SCORES))


def test_lower_is_better_turns_every_verdict_round():
    up, down = compare(SCORES), compare(SCORES, higher_is_better=False)
    turn = {"better": "worse", "worse": "better", "undecided": "undecided"}
    assert [pair.verdict for pair in down.pairs] == [turn[pair.verdict] for pair in up.pairs]
    assert [pair.delta for pair in down.pairs] == [pair.delta for pair in up.pairs]


def test_identical_models_are_never_told_apart():
    found = compare({"A": EASY, "B": EASY, "C": SCORES["D"]})
    assert found["A", "B"].p_value == 1.0
    assert found["A", "B"].delta == 0.0
    assert found["A", "B"].effect_size is None


def test_margin_gives_equivalence():
    assert compare(SCORES, margin=0.05)["A", "B"].verdict == "equivalent"
    assert compare(SCORES, margin=0.001)["A", "B"].verdict == "undecided"
    tiny = {"A": EASY, "B": EASY + np.linspace(0.0009, 0.0011, 40)}
    assert compare(tiny)["B", "A"].verdict == "better"
    assert compare(tiny, margin=0.01)["B", "A"].verdict == "equivalent"


@pytest.mark.parametrize("method", ["max-t", "bootstrap-t", "percentile", "t", "wilcoxon", "sign-flip"])
def test_fewer_than_ten_cases_have_intervals_but_no_verdict(method):
    found = compare({"A": np.linspace(0.1, 0.2, 9), "B": np.linspace(0.8, 0.91, 9)}, method=method)["A", "B"]
    assert found.alone_low is not None
    # Wilcoxon is not about means, so there is no interval of a mean for its verdict.
    assert (found.ci_low is None) == (method == "wilcoxon")
    assert found.verdict == "undecided"


@pytest.mark.parametrize("method", ["max-t", "bootstrap-t"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_very_few_cases_have_the_interval_and_p_value_of_students_t(n, method):
    few = {name: np.random.default_rng(ord(name)).random(n).tolist() for name in "ACD"}
    for names in ("AC", "ACD"):
        pairs = compare({name: few[name] for name in names}, method=method, intervals="single-step").pairs
        for pair in pairs:
            t = scipy_stats.ttest_rel(few[pair.a], few[pair.b])
            limits = t.confidence_interval(1 - 0.05 / len(pairs))
            assert (pair.ci_low, pair.ci_high) == pytest.approx((limits.low, limits.high))
            if method == "max-t":
                assert pair.p_value == pytest.approx(min(len(pairs) * t.pvalue, 1.0))


def test_no_interval_lies_beyond_what_two_scores_can_differ_by():
    scores = {"A": [0.1, 0.9, 0.2], "B": [0.8, 0.1, 0.3]}
    pair = compare(scores, metric="dice").pairs[0]
    assert (pair.ci_low, pair.ci_high) == (-1.0, 1.0)
    assert compare(scores).pairs[0].ci_high > 1.0  # nobody said which scale
    tables = [ScoreTable(("a", "b", "c"), ("liver",), ("dice",), np.array(found)[:, None, None], [[Status.PRESENT]] * 3)
              for found in scores.values()]  # fmt: skip
    change = difference(*tables).changes[0]
    assert (change.ci_low, change.ci_high) == (-1.0, 1.0)


def test_wilcoxon_speaks_of_the_typical_case():
    """Slightly better on most cases, far worse on a few: the mean and the typical case disagree."""
    a = np.full(30, 0.8)
    b = a - np.linspace(0.01, 0.02, 30)
    a[:4] = 0.0
    found = compare({"a": a, "b": b}, method="wilcoxon")["a", "b"]
    assert found.delta < 0
    assert found.verdict == "better"


def test_two_models_are_compared_without_regularisation():
    pair = {k: SCORES[k] for k in "AC"}
    assert compare(pair).pairs[0].p_value == compare(pair, method="bootstrap-t").pairs[0].p_value


def test_a_distance_with_failures_is_compared_by_ranks_with_failures_last():
    rng = np.random.default_rng(0)
    a, b = rng.gamma(2, 2, 30), rng.gamma(2, 2, 30)
    b[:12] = np.inf
    found = compare({"a": a, "b": b}, higher_is_better=False, bounds=(0, np.inf))
    assert any("failures last" in note for note in found.notes)
    assert found["a", "b"].delta < 0


def table(values, statuses=None):
    n = len(values)
    status = np.array(statuses or [Status.PRESENT] * n, dtype=object).reshape(n, 1)
    return ScoreTable(tuple(CASES[:n]), ("liver",), ("hd95",), np.array(values, float).reshape(n, 1, 1), status)


def test_emptying_the_worst_cases_never_helps():
    """Dropping infinities lets a model gain by failing; the default policies do not."""
    rng = np.random.default_rng(1)
    distances = rng.gamma(2, 3, 40)
    other = distances + rng.normal(0.0, 0.5, 40)
    worst = np.argsort(distances)[-6:]
    emptied, states = distances.copy(), [Status.PRESENT] * 40
    for i in worst:
        emptied[i], states[i] = np.nan, Status.MISSED
    honest, cheating, rival = table(distances), table(emptied, states), table(other)
    dropped = score_matrix({"m": cheating, "rival": rival}, policy=MissingPolicy(failed="exclude"))
    assert np.nanmean(dropped.values[:, 0]) < np.mean(distances)
    penalised = score_matrix({"m": cheating, "rival": rival}, policy=MissingPolicy(failed="penalty", penalty=500.0))
    assert penalised.values[:, 0].mean() > distances.mean()
    ranks = [score_matrix({"m": m, "rival": rival}).as_ranks().values[:, 0].mean() for m in (honest, cheating)]
    assert ranks[1] >= ranks[0]


def test_unequal_cases_are_refused_with_the_way_out():
    scores = by_id(SCORES)
    del scores["B"]["c07"]
    with pytest.raises(InvalidInput, match=r"1 missing for B.*cases='common'"):
        compare(scores)
    assert compare(scores, cases="common").pairs[0].n == 39
    failed = compare(scores, cases="failed", bounds=(0, 1))
    assert failed["A", "B"].n == 40
    assert failed["A", "B"].delta > compare(scores, cases="common")["A", "B"].delta


def test_clusters_widen_the_intervals_of_repeated_cases():
    doubled = {
        name: {f"{c}-{k}": v for k in range(4) for c, v in zip(CASES, values, strict=True)}
        for name, values in SCORES.items()
    }
    patients = {f"{c}-{k}": c for k in range(4) for c in CASES}
    naive, clustered, once = compare(doubled), compare(doubled, cluster=patients), compare(by_id(SCORES))
    width = [r["A", "B"].ci_high - r["A", "B"].ci_low for r in (naive, clustered, once)]
    assert width[0] < 0.6 * width[2]
    # The clusters are the cases, in the same order: the same draws, and the same widths but for rounding.
    assert width[1] == pytest.approx(width[2], rel=1e-6)
    with pytest.raises(InvalidInput, match="independent"):
        compare(doubled, cluster=patients, method="wilcoxon")


def test_paired_significance_pairs_by_position_and_says_so():
    with pytest.raises(ShapeMismatch, match="same cases"):
        paired_significance([1, 2], [1])
    assert paired_significance(SCORES["D"], SCORES["A"], a_name="D").favored == "D"
    assert paired_significance(SCORES["D"], SCORES["A"], a_name="D", higher_is_better=False).favored == "B"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "magic"}, "max-t"),
        ({"correction": "fdr"}, "holm"),
        ({"margin": -1}, "margin"),
        ({"level": 5}, "0.05"),
    ],
)
def test_errors_say_what_to_do(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        compare(SCORES, **{"method": "t", **arguments})


def test_one_model_cannot_be_compared():
    with pytest.raises(InvalidInput, match="two models"):
        compare({"A": EASY})


def _one_column(values, metric):
    states = np.empty((len(values), 1), dtype=object)
    states.fill(Status.PRESENT)
    ids = tuple(f"{i:02d}" for i in range(len(values)))
    return ScoreTable(ids, ("liver",), (metric,), np.array(values, dtype=float).reshape(-1, 1, 1), states)


class TestDirection:
    """Which way is better is the metric's, wherever its name is known."""

    near, far = np.linspace(1, 3, 20), np.linspace(2, 5, 20)

    def test_tables_of_distances_without_a_named_metric(self):
        tables = {"near": _one_column(self.near, "hd95"), "far": _one_column(self.far, "hd95")}
        assert compare(tables).pairs[0].favored == "near"
        assert rank(tables).models[0].name == "near"
        assert plan_pairs(tables)[0].a == "near"

    def test_plain_values_with_a_named_metric(self):
        plain = {"near": self.near, "far": self.far}
        assert compare(plain, metric="hd95").pairs[0].favored == "near"
        assert ranking_stability(plain, metric="hd95").stats[0].name == "near"
        assert ranking_stability(plain).stats[0].name == "far"
        assert ranking_stability(plain, higher_is_better=False).stats[0].name == "near"

    def test_a_metric_that_nobody_knows_has_to_be_told(self):
        tables = {"near": _one_column(self.near, "blob"), "far": _one_column(self.far, "blob")}
        with pytest.raises(UnknownMetric, match="higher_is_better"):
            rank(tables)
        assert rank(tables, higher_is_better=False).models[0].name == "near"
        assert rank(tables, higher_is_better=True, metric="blob").models[0].name == "far"

    def test_a_direction_against_the_metric_is_refused(self):
        tables = {"near": _one_column(self.near, "hd95"), "far": _one_column(self.far, "hd95")}
        with pytest.raises(InvalidInput, match="lower hd95 is better"):
            rank(tables, higher_is_better=True)
        with pytest.raises(InvalidInput, match="the opposite"):
            rank(score_matrix(tables), higher_is_better=True)

    def test_bounds_that_are_told_stand_in_for_those_of_the_metric(self):
        percent = {"a": 90 + self.near, "b": 90 + self.far}
        assert rank(percent, metric="dice", bounds=(0.0, 100.0))["b"].score.ci_high < 100.0


class TestSignsOnly:
    """Two models of which a case only says who is ahead are told apart by the exact sign test."""

    @pytest.mark.parametrize(("wins", "losses", "ties"), [(17, 1, 0), (14, 4, 0), (9, 1, 10), (10, 0, 0), (6, 6, 3)])
    @pytest.mark.parametrize("step", [1.0, 0.1])
    def test_the_p_value_is_that_of_the_binomial_test(self, wins, losses, ties, step):
        a = 0.3 + step * np.array([1.0] * wins + [0.0] * losses + [0.5] * ties)
        b = 0.3 + step * np.array([0.0] * wins + [1.0] * losses + [0.5] * ties)
        expected = scipy_stats.binomtest(wins, wins + losses).pvalue
        for method in ("max-t", "bootstrap-t"):
            pair = compare({"a": a, "b": b}, method=method).pairs[0]
            assert pair.p_value == pytest.approx(expected, rel=1e-9)
            assert (pair.favored == "a") == (expected < 0.05)
            # The interval excludes 0 just where the test does, and holds the mean.
            assert (pair.ci_low > 0) == (expected < 0.05)
            assert pair.ci_low <= pair.delta <= pair.ci_high + 1e-12
        ranking = rank({"a": a, "b": b})
        assert ranking["b"].place == (2 if expected < 0.05 else 1)

    def test_the_comparison_says_which_pairs_it_told_apart(self):
        cases = np.array([1.0] * 17 + [0.0])
        drawn = np.random.default_rng(0).random(18)
        pair_by_pair = compare({"a": cases, "b": 1 - cases, "c": drawn}, method="bootstrap-t")
        assert pair_by_pair.sign_tested == (("a", "b"),)
        assert "bootstrap-t (a - b: exact sign test, because" in str(pair_by_pair)
        alone = compare({"a": cases, "b": 1 - cases})
        assert (alone.to_dict()["sign_tested"], "max-t" in str(alone)) == ([["a", "b"]], False)
        together = compare({"a": cases, "b": 1 - cases, "c": drawn})
        assert (together.sign_tested, "max-t, correction step-down" in str(together)) == ((), True)
        assert compare({"a": cases, "b": 1 - cases}, method="t").sign_tested == ()

    def test_without_ties_the_limits_are_those_of_clopper_and_pearson(self):
        a = np.array([1.0] * 17 + [0.0])
        pair = compare({"a": a, "b": 1.0 - a}).pairs[0]
        of_wins = scipy_stats.binomtest(17, 18).proportion_ci()
        fewest = scipy_stats.binomtest(18, 18).proportion_ci().low
        assert pair.ci_low == pytest.approx(fewest * (2 * of_wins.low - 1), rel=1e-6)
        assert pair.ci_high == pytest.approx(2 * of_wins.high - 1, rel=1e-6)

    def test_distances_with_failures_are_ranks(self):
        a, b = np.full(18, 3.0), np.linspace(4, 9, 18)
        a[0], b[3] = np.inf, np.inf
        pair = compare({"a": a, "b": b}, higher_is_better=False).pairs[0]
        assert pair.p_value == pytest.approx(scipy_stats.binomtest(17, 18).pvalue, rel=1e-9)
        assert pair.favored == "a"

    def test_cases_of_one_patient_are_not_independent(self):
        a = np.array([1.0] * 17 + [0.0])
        ids = [f"{i + 1:02d}" for i in range(18)]
        pair = compare({"a": a, "b": 1.0 - a}, cluster={case: case[0] for case in ids}).pairs[0]
        assert pair.p_value > 0.05


def test_sign_flips_that_tie_but_for_rounding_count():
    """Sums of tenths: in binary 0.1 + 0.2 is not 0.3, but as large as it."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        tenths = rng.integers(-9, 10, rng.integers(2, 10))
        signs = np.array(list(itertools.product([1, -1], repeat=tenths.size)))
        expected = np.mean(np.abs(signs @ tenths) >= abs(tenths.sum()))
        assert sign_flip((tenths / 10)[:, None], 100, stream(0, "signs"))[0] == pytest.approx(expected, abs=1e-12)


def test_a_model_with_a_single_case_hides_no_difference_between_the_others():
    rng = np.random.default_rng(0)
    a = 0.8 + 0.1 * rng.random(30)
    b = a - 0.05 + 0.01 * rng.random(30)
    c = np.full(30, np.nan)
    c[3] = 0.5
    found = compare({"a": a, "b": b, "c": c}, bounds=(0, 1))["a", "b"]
    assert found.favored == "a"
    assert found.ci_low > 0
    assert rank({"a": a, "b": b, "c": c}, bounds=(0, 1))["b"].place == 2


def test_a_failure_without_a_value_is_the_largest_difference_of_a_rank_test():
    rng = np.random.default_rng(3)
    d = np.concatenate([rng.normal(0.1, 1, 20), [np.inf] * 6, [np.nan]])
    expected = scipy_stats.wilcoxon(d[~np.isnan(d)], method="approx", correction=False).pvalue
    assert wilcoxon(d[:, None])[0] == pytest.approx(expected, rel=1e-9)
    assert wilcoxon(np.column_stack([d[:-1], -d[:-1]])) == pytest.approx([expected] * 2, rel=1e-9)


def test_many_models_with_signs_only_keep_their_joint_intervals():
    """Four of five models are the same: nothing regularises the others, and yet all pairs are judged together."""
    a = np.array([1.0] * 14 + [0.0] * 6)
    found = compare({"a": a, **dict.fromkeys("bcde", 1.0 - a)}, n_resamples=2000)["a", "b"]
    alone = compare({"a": a, "b": 1.0 - a}, n_resamples=2000).pairs[0]
    # Around the mean, as every interval of the maximum; the limits of the sign test are not.
    assert (found.ci_low + found.ci_high) / 2 == pytest.approx(found.delta)
    assert (alone.ci_low + alone.ci_high) / 2 != pytest.approx(alone.delta)
    assert found.p_value != alone.p_value
