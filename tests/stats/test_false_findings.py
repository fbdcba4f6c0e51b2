"""Where there is nothing to find, a model that finds something loses against one that does not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from segauge.scores import Missing, ScoreTable, Status
from segauge.stats import (
    MissingPolicy,
    average_matrix,
    compare,
    difference,
    order_stability,
    plan_pairs,
    rank,
    score_matrix,
)
from segauge.stats.matrix import NOTHING_TO_FIND

#: 20 cases with the structure, where B is better by about 0.02, and 10 without it, where B finds something.
FOUND, EMPTY = 20, 10


def table(values, states, metric="dice"):
    status = np.empty((len(values), 1), dtype=object)
    status[:, 0] = states
    cases = tuple(f"case {i:02d}" for i in range(len(values)))
    return ScoreTable(cases, ("liver",), (metric,), np.array(values, dtype=float).reshape(-1, 1, 1), status)


def tables(a_states=(Status.ABSENT,) * EMPTY, b_states=(Status.SPURIOUS,) * EMPTY, b_values=(0.0,) * EMPTY):
    rng = np.random.default_rng(0)
    a = 0.86 + 0.04 * rng.random(FOUND)
    b = a + 0.02 + 0.005 * rng.random(FOUND)
    present = [Status.PRESENT] * FOUND
    return {
        "A": table([*a, *[np.nan] * EMPTY], [*present, *a_states]),
        "B": table([*b, *b_values], [*present, *b_states]),
    }


def expected_differences(given):
    a, b = (given[name].column("liver", "dice")[:FOUND] for name in "AB")
    return np.concatenate([a - b, np.ones(EMPTY)])


def test_the_model_that_finds_nothing_is_ahead_by_the_whole_scale():
    given = tables()
    pair = compare(given, metric="dice").pairs[0]
    expected = expected_differences(given)
    assert pair.n == FOUND + EMPTY
    assert pair.delta == pytest.approx(expected.mean(), rel=1e-12)
    assert pair.effect_size == pytest.approx(expected.mean() / expected.std(ddof=1), rel=1e-12)
    assert pair.wins == pytest.approx(EMPTY / (FOUND + EMPTY))
    assert pair.favored == "A"
    turned = compare({name: given[name] for name in "BA"}, metric="dice").pairs[0]
    assert turned.delta == pytest.approx(-pair.delta, rel=1e-12)
    assert turned.favored == "A"


def test_a_prediction_that_was_never_made_did_not_rightly_find_nothing():
    given = tables()
    failed = {
        (case, "liver"): Missing.lacking(Status.PREDICTION_MISSING, "no file") for case in given["A"].cases[FOUND:]
    }
    given["A"] = replace(given["A"], missing=failed)
    pair = compare(given, metric="dice").pairs[0]
    assert (pair.n, pair.favored) == (FOUND, "B")


def test_ranks_and_own_means():
    given = tables()
    ranking = rank(given, metric="dice")
    assert [(model.name, model.place) for model in ranking.models] == [("A", 1), ("B", 2)]
    # Each model's own mean is what it was: A's over the cases with the structure, B's over all.
    assert ranking["A"].score.value == pytest.approx(given["A"].column("liver", "dice")[:FOUND].mean())
    assert ranking["A"].score.n == FOUND
    assert ranking["B"].score.value == pytest.approx(given["B"].column("liver", "dice").mean())
    assert [note for note in ranking.notes if NOTHING_TO_FIND in note] == [
        "10 cases where there is nothing to find: compared with one that failed there, a model that finds nothing "
        "counts with 1; no model's own mean changes"
    ]
    assert ranking.notes == ranking.comparison.notes


@pytest.mark.parametrize("method", ["bootstrap-t", "percentile", "t", "wilcoxon", "sign-flip"])
def test_every_method_compares_the_same_cases(method):
    pair = compare(tables(), metric="dice", method=method).pairs[0]
    assert pair.n == FOUND + EMPTY
    expected = expected_differences(tables())
    if method == "t":
        assert pair.p_value == pytest.approx(scipy_stats.ttest_1samp(expected, 0).pvalue, rel=1e-9)


def test_plans_count_them_too():
    (plan,) = plan_pairs(tables(), metric="dice")
    expected = expected_differences(tables())
    assert (plan.n, plan.difference) == (30, pytest.approx(expected.mean()))
    assert plan.sd == pytest.approx(expected.std(ddof=1))


def test_a_new_version_that_finds_what_is_not_there_is_worse():
    given = tables()
    (change,) = (found := difference(given["A"], given["B"])).changes
    assert change.verdict == "worse"
    assert change.delta == pytest.approx(-expected_differences(given).mean())
    # The means stay those of the cases that a version has a score for.
    assert change.before == pytest.approx(given["A"].column("liver", "dice")[:FOUND].mean())
    assert change.after == pytest.approx(given["B"].column("liver", "dice").mean())
    assert any(f"{NOTHING_TO_FIND} (liver 10)" in note for note in found.notes)


def test_a_version_without_a_score_of_its_own_is_not_judged_by_a_mean():
    empty = table([np.nan] * 12, [Status.ABSENT] * 12)
    invented = table([0.0] * 12, [Status.SPURIOUS] * 12)
    (change,) = difference(empty, invented).changes
    assert (change.n, change.verdict, len(change.new_failures)) == (0, "undecided", 12)


def test_both_find_nothing_and_unclear_cases_are_left_out():
    given = tables(b_states=(Status.ABSENT,) * EMPTY, b_values=(np.nan,) * EMPTY)
    assert compare(given, metric="dice").pairs[0].n == FOUND
    # The other table has the structure in its ground truth: which of the two is right is not known.
    for state, value in ((Status.MISSED, 0.0), (Status.PRESENT, 0.7)):
        given = tables(b_states=(state,) * EMPTY, b_values=(value,) * EMPTY)
        assert compare(given, metric="dice").pairs[0].n == FOUND
    plain = {name: one.column("liver", "dice") for name, one in tables().items()}
    assert compare(plain, bounds=(0.0, 1.0)).pairs[0].n == FOUND


def test_a_case_that_a_model_lacks_is_no_right_answer():
    given = tables()
    short = given["A"]
    kept = [i for i in range(len(short.cases)) if i < FOUND]
    lacking = ScoreTable(
        short.cases[:FOUND], short.structures, short.metrics, short.values[kept], short.status[kept]
    )  # fmt: skip
    pair = compare({"A": lacking, "B": given["B"]}, metric="dice", cases="failed").pairs[0]
    assert pair.n == FOUND


def test_three_models_drop_only_the_pair_that_both_find_nothing():
    given = tables()
    given["C"] = given["A"]
    comparison = compare(given, metric="dice")
    assert (comparison["A", "B"].n, comparison["C", "B"].n, comparison["A", "C"].n) == (30, 30, 20)
    assert (comparison["A", "B"].delta, comparison["C", "B"].delta) == (pytest.approx(0.318, abs=1e-3),) * 2


def test_policies_that_say_otherwise_stand():
    excluded = compare(tables(), metric="dice", policy=MissingPolicy("exclude")).pairs[0]
    assert excluded.n == FOUND
    perfect = rank(tables(), metric="dice", policy=MissingPolicy(absent="perfect"))
    assert perfect["A"].score.n == 30
    assert perfect.comparison.pairs[0].delta == pytest.approx(expected_differences(tables()).mean())
    assert not [note for note in perfect.notes if NOTHING_TO_FIND in note]
    both = tables(b_states=(Status.ABSENT,) * EMPTY, b_values=(np.nan,) * EMPTY)
    assert compare(both, metric="dice", policy=MissingPolicy(absent="perfect")).pairs[0].n == 30


def distances():
    a = np.concatenate([np.linspace(3, 6, FOUND), [np.nan] * EMPTY])
    b = np.concatenate([np.linspace(3, 6, FOUND) - 0.5, [np.nan] * EMPTY])
    present = [Status.PRESENT] * FOUND
    return {
        "A": table(a, [*present, *[Status.ABSENT] * EMPTY], "hd95"),
        "B": table(b, [*present, *[Status.SPURIOUS] * EMPTY], "hd95"),
    }


def test_distances_without_a_penalty_are_compared_by_ranks():
    ranking = rank(distances())
    pair = ranking.comparison.pairs[0]
    # B ranks before A in the 20 cases with the structure, behind it in the 10 without.
    assert (pair.n, pair.delta) == (30, pytest.approx((20 - 10) / 30))
    assert ranking["A"].score.value == pytest.approx((20 * 2 + 10 * 1) / 30)
    assert any("ranks before one that failed" in note for note in ranking.notes)


def test_distances_with_a_penalty_take_it():
    pair = compare(distances(), policy=MissingPolicy("penalty", penalty=100.0)).pairs[0]
    assert (pair.n, pair.delta) == (30, pytest.approx((20 * 0.5 - 10 * 100.0) / 30))
    assert pair.favored == "A"


def test_ranks_of_three_models_put_those_that_find_nothing_first():
    given = distances()
    given["C"] = given["A"]
    ranked = score_matrix(given).as_ranks()
    assert ranked.values[-1].tolist() == [1.5, 3.0, 1.5]
    assert compare(given)["A", "C"].n == FOUND


def test_a_scale_without_a_best_value_says_what_is_left_out():
    given = tables(b_values=(-1.0,) * EMPTY)
    comparison = compare(
        {name: replace(one, metrics=("gain",)) for name, one in given.items()}, higher_is_better=True
    )  # fmt: skip
    assert comparison.pairs[0].n == FOUND
    assert any("left out of comparisons" in note for note in comparison.notes)


def test_the_tests_that_a_scheme_counts_have_them():
    ranks = rank(tables(), metric="dice", schemes=("test-then-rank", "rank-then-mean")).schemes
    # 20 small wins of B against 10 whole-scale wins of A: ranks sum to 210 and 255, nobody wins the test.
    assert ranks["test-then-rank"] == {"A": 1.5, "B": 1.5}
    only = tables(b_values=(0.0,) * EMPTY)
    dropped = {name: one.column("liver", "dice")[:FOUND] for name, one in only.items()}
    assert rank(dropped, schemes=("test-then-rank",)).schemes["test-then-rank"] == {"A": 2.0, "B": 1.0}


def test_the_order_on_fewer_cases_is_that_of_the_board():
    found = order_stability(score_matrix(tables(), metric="dice"))
    assert found is not None
    assert (found.winner, found.n_cases) == ("A", 30)


def test_cases_that_have_a_rank_are_not_said_to_be_left_out():
    given = distances()
    spare = {name: ScoreTable.concatenate([one, _nobody_finds_anything()]) for name, one in given.items()}
    score = rank(spare)["A"].score
    assert (score.n, score.excluded) == (30, {"absent": 1})
    # With a penalty there are means again, and A's is of the cases with the structure.
    score = rank(spare, policy=MissingPolicy("penalty", penalty=100.0))["A"].score
    assert (score.n, score.excluded) == (20, {"absent": 11})


def _nobody_finds_anything():
    return ScoreTable.of_case("spare", ["hd95"], {"liver": (Status.ABSENT, {})})


def test_an_average_says_what_false_findings_are_in_it():
    matrices = {"liver": score_matrix(tables(), metric="dice"), "again": score_matrix(tables(), metric="dice")}
    average = average_matrix(matrices)
    # B's own mean has them: the two differ by their means, not by those of the cases that both have.
    assert compare(average).pairs[0].delta == pytest.approx(-np.diff(matrices["liver"].means)[0])
    assert [note for note in average.notes if NOTHING_TO_FIND in note] == [
        "20 cases of single tasks where there is nothing to find: a model that failed there has it in its own mean, "
        "one that finds nothing has no score"
    ]
    given = tables(b_states=(Status.ABSENT,) * EMPTY, b_values=(np.nan,) * EMPTY)
    quiet = average_matrix({name: score_matrix(given, metric="dice") for name in ("liver", "again")})
    assert not [note for note in quiet.notes if NOTHING_TO_FIND in note]
