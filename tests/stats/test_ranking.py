"""Rankings: what must hold for any data, then small exact cases."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.plural import chance_text
from segauge.scores import Scale
from segauge.stats import (
    SCHEMES,
    MissingPolicy,
    average_matrix,
    compare,
    estimate,
    holm,
    kendall_tau,
    order_stability,
    rank,
    rank_frequencies,
    rank_tasks,
    ranking_stability,
    score_matrix,
)
from segauge.stats.matrix import ScoreMatrix, average_ranks
from segauge.stats.pairs import pair_statistics
from segauge.stats.ranking import leave_one_out

scipy_stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(11)
EASY = RNG.beta(6, 2, 60)
SCORES = {f"m{j}": np.clip(EASY - 0.03 * j + RNG.normal(0, 0.05, 60), 0, 1) for j in range(6)}
_CLOSE = np.random.default_rng(3)
EASY_OF_CLOSE = _CLOSE.beta(6, 2, 60)
SHIFTS = _CLOSE.normal(0, 0.05, (6, 60))
#: Models of one mean: which is first hangs on single cases.
CLOSE = {f"m{j}": np.clip(EASY_OF_CLOSE + shift, 0, 1) for j, shift in enumerate(SHIFTS)}
OPTIONS = {"bounds": (0, 1), "n_resamples": 2000}


def test_average_ranks_are_scipys():
    values = np.round(np.random.default_rng(0).random((50, 7)), 1)
    np.testing.assert_array_equal(average_ranks(values), scipy_stats.rankdata(-values, axis=1))


def test_kendall_tau_is_scipys():
    rng = np.random.default_rng(0)
    one = average_ranks(np.round(rng.random(8), 1))
    many = average_ranks(np.round(rng.random((20, 8)), 1))
    expected = [scipy_stats.kendalltau(one, row).statistic for row in many]
    np.testing.assert_allclose(kendall_tau(one, many), expected, rtol=1e-12)
    assert np.isnan(kendall_tau(one, np.full(8, 4.5))[0])


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("absent", [False, True])
def test_rank_frequencies_are_those_of_the_resamples_of_the_pairs(clustered, absent):
    scores = {name: values.copy() for name, values in SCORES.items()}
    if absent:
        for values in scores.values():
            values[7] = np.nan
    ids = [f"{i:02}" for i in range(60)]
    given = {name: dict(zip(ids, values, strict=True)) for name, values in scores.items()}
    matrix = score_matrix(
        given, scale=Scale(True, (0, 1)), cluster={case: case[1] for case in ids} if clustered else None
    ).scored_cases()
    pairs = pair_statistics(matrix, 300, 5)
    ranks = average_ranks(np.nanmean(matrix.values, axis=0) + pairs.model_shifts)
    for name, column in zip(matrix.models, ranks.T, strict=True):
        values, counts = np.unique(column, return_counts=True)
        expected = dict(zip(values.tolist(), (counts / 300).tolist(), strict=True))
        assert rank_frequencies(matrix, n_resamples=300, seed=5)[name] == expected
    # How often a model is first on a board is the first of these shares.
    found = rank(matrix, n_resamples=300, seed=5)
    shares = rank_frequencies(matrix, n_resamples=300, seed=5)
    assert [one.win_frequency for one in found.models] == [shares[one.name].get(1.0, 0.0) for one in found.models]


def test_order_is_that_of_the_means_and_rank_sets_hold_it():
    found = rank(SCORES, **OPTIONS)
    means = [np.mean(SCORES[model.name]) for model in found.models]
    assert means == sorted(means, reverse=True)
    for position, model in enumerate(found.models, start=1):
        assert model.rank_low <= position <= model.rank_high
        assert model.place == model.rank_low
    assert sum(model.win_frequency for model in found.models) == pytest.approx(1.0)
    assert sum(model.win_probability for model in found.models) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(8))
def test_rank_sets_places_and_verdicts_say_the_same(seed):
    rng = np.random.default_rng(seed)
    easy = rng.beta(8, 2, 40)
    found = rank({name: easy - 0.012 * j + rng.normal(0, 0.04, 40) for j, name in enumerate("ABCDEF")}, n_resamples=500)
    for model in found.models:
        pairs = [found.comparison[model.name, other.name] for other in found.models if other is not model]
        assert model.place == model.rank_low == 1 + sum(pair.verdict == "worse" for pair in pairs)
        assert model.rank_high == len(found.models) - sum(pair.verdict == "better" for pair in pairs)
    alone = found.models[0].rank_high == 1
    assert alone == (found.winners == (found.models[0].name,))


def test_replication_is_less_sure_of_the_winner_than_the_bootstrap():
    found = rank(SCORES, **OPTIONS).models[0]
    assert found.win_probability < found.win_frequency


@pytest.mark.parametrize("n", [1, 2, 9])
def test_cases_too_few_to_tell_models_apart_give_no_chance_to_win(n):
    few = {"A": [0.9 + 0.001 * k for k in range(n)], "B": [0.8] * n}
    patients = {f"{k + 1:0{len(str(3 * n))}d}": str(k // 3) for k in range(3 * n)}
    for found in (rank(few), rank({key: np.repeat(values, 3) for key, values in few.items()}, cluster=patients)):
        assert [(model.win_frequency, model.win_probability) for model in found.models] == [(None, None)] * 2


def test_no_chance_is_printed_as_certain():
    found = rank({"A": EASY + 0.3, "B": EASY, "C": EASY[::-1]}, n_resamples=500)
    assert found.models[0].win_probability == 1.0
    assert [chance_text(model.win_probability) for model in found.models] == [">0.99", "<0.01", "<0.01"]


def test_adding_a_model_changes_no_other_interval():
    more = {**SCORES, "new": np.clip(EASY + 0.1, 0, 1)}
    for ci in ("auto", "percentile", "bootstrap-t", "gaffke"):
        before, after = rank(SCORES, ci=ci, **OPTIONS), rank(more, ci=ci, **OPTIONS)
        for model in before.models:
            assert after[model.name].score == model.score


def test_the_order_of_the_models_does_not_matter():
    backward = dict(reversed(SCORES.items()))
    one, other = rank(SCORES, **OPTIONS), rank(backward, **OPTIONS)
    assert [model.name for model in one.models] == [model.name for model in other.models]
    for model in one.models:
        assert other[model.name].score == model.score
        assert (other[model.name].rank_low, other[model.name].rank_high) == (model.rank_low, model.rank_high)


def test_same_input_same_seed_same_bytes():
    assert json.dumps(rank(SCORES, **OPTIONS).to_dict()) == json.dumps(rank(SCORES, **OPTIONS).to_dict())


def test_result_is_strict_json():
    json.dumps(rank(SCORES, **OPTIONS).to_dict(), allow_nan=False)
    same = rank({"a": EASY, "b": EASY}, **OPTIONS)
    json.dumps(same.to_dict(), allow_nan=False)
    assert same.winners == ("a", "b")


def test_leave_one_out_names_the_deciding_case():
    a = np.full(12, 0.8)
    b = np.full(12, 0.81)
    b[5] = 0.6
    found = rank({"a": a, "b": b}, **OPTIONS)
    assert found.models[0].name == "a"
    assert found.deciding_cases == ("06",)
    assert found.flips[0].winner == "b"
    assert found.flips[0].moved == {"a": (1.0, 2.0), "b": (2.0, 1.0)}


def test_leave_one_out_is_what_removing_a_case_does():
    found = rank(SCORES, **OPTIONS)
    flipped = {flip.case for flip in found.flips}
    before = average_ranks(np.array([values.mean() for values in SCORES.values()]))
    for i in range(60):
        after = average_ranks(np.array([np.delete(values, i).mean() for values in SCORES.values()]))
        assert (f"{i + 1:02d}" in flipped) == bool((after != before).any())


def test_the_share_of_deciding_cases_is_of_all_cases():
    found = rank(CLOSE, **OPTIONS)
    assert found.flip_share == len(found.flips) / 60
    assert 0 < found.flip_share < 1


def test_the_verdict_begins_at_ten_cases():
    for n, is_decided in ((9, False), (10, True)):
        far = {"a": np.linspace(0.90, 0.95, n), "b": np.linspace(0.10, 0.20, n)}
        found = rank(far, **OPTIONS)
        assert ("too few" not in found.rule) == is_decided
        assert found.winners == (("a",) if is_decided else ("a", "b"))
    alone = rank({"a": [0.5], "b": [0.4]}, **OPTIONS)
    assert "1 case is too few" in alone.rule
    two = rank({"a": [0.5, 0.5], "b": [0.4, 0.4]}, **OPTIONS)
    assert "2 cases are too few" in two.rule


def test_tau_over_resamples_is_its_mean_and_its_lower_end():
    mean, low = rank(CLOSE, **OPTIONS).tau
    # 2.5 % of the resamples agree less than the lower end: -0.07. Of a quarter of them it would be 0.33.
    assert low < 0.1
    assert 0.4 < mean < 0.7


def test_few_cases_exclude_no_rank():
    found = rank({name: values[:8] for name, values in SCORES.items()}, **OPTIONS)
    assert {(model.rank_low, model.rank_high) for model in found.models} == {(1, 6)}
    assert "too few" in found.rule


def test_schemes_can_disagree():
    """One total failure: best by median and by ranks, not by mean."""
    a = np.full(40, 0.9)
    a[:3] = 0.0
    found = rank({"a": a, "b": np.full(40, 0.85)}, **OPTIONS)
    assert found.schemes["mean"] == {"a": 2.0, "b": 1.0}
    for scheme in ("median", "rank-then-mean", "test-then-rank"):
        assert found.schemes[scheme] == {"a": 1.0, "b": 2.0}, scheme
    assert found.schemes["failures"] == {"a": 2.0, "b": 1.0}
    assert found.agreement["mean", "median"] == -1.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_turns_round_with_the_direction(scheme):
    matrix = score_matrix(SCORES, scale=Scale(True, (0.0, 1.0)))
    flipped = score_matrix({name: 1 - values for name, values in SCORES.items()}, scale=Scale(False, (0.0, 1.0)))
    function = SCHEMES[scheme].function
    np.testing.assert_array_equal(function(matrix), function(flipped))


def test_rank_sets_agree_with_the_naive_reading_for_clear_differences():
    clear = {f"m{j}": np.clip(0.9 - 0.1 * j + RNG.normal(0, 0.01, 40), 0, 1) for j in range(4)}
    found = rank(clear, **OPTIONS)
    assert [(model.rank_low, model.rank_high) for model in found.models] == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_distances_without_penalty_are_ranked_by_case_ranks():
    a, b = np.linspace(1, 5, 20), np.linspace(1.1, 5.1, 20)
    a[:9] = np.inf
    found = rank({"a": a, "b": b}, higher_is_better=False, bounds=(0, np.inf), n_resamples=500)
    assert found.schemes["mean"] == {"a": 1.0, "b": 2.0}
    assert found["a"].score.value == pytest.approx((11 + 18) / 20)


def test_failures_are_counted_whatever_they_count_as():
    a, b = np.linspace(1, 5, 20), np.linspace(1.1, 5.1, 20)
    a[:9] = np.inf
    scale = Scale(False, (0.0, np.inf))
    for policy in (MissingPolicy(), MissingPolicy(failed="penalty", penalty=100.0)):
        found = rank({"a": a, "b": b}, scale=scale, policy=policy, n_resamples=500)
        assert (found["a"].failure_share, found["b"].failure_share) == (9 / 20, 0.0)
        assert found.schemes["failures"] == {"a": 2.0, "b": 1.0}


def test_ranking_stability_splits_ties_and_refuses_unequal_cases():
    found = ranking_stability({"a": [0.5, 0.5], "b": [0.5, 0.5], "c": [0.1, 0.2]})
    assert [stat.p_best for stat in found.stats] == [0.5, 0.5, 0.0]
    assert [stat.mean_rank for stat in found.stats] == [1.5, 1.5, 3.0]
    with pytest.raises(InvalidInput, match="a 2, b 1"):
        ranking_stability({"a": [1, 2], "b": [1]})
    with pytest.raises(InvalidInput, match="at least one"):
        ranking_stability({})
    assert np.isnan(ranking_stability({"a": [np.nan]}).stats[0].score)


def test_average_of_tasks_is_the_unweighted_mean_of_the_task_means():
    tasks = {
        "liver": score_matrix(SCORES, scale=Scale(True, (0.0, 1.0))),
        "spleen": score_matrix({name: values[:25] for name, values in SCORES.items()}, scale=Scale(True, (0.0, 1.0))),
    }
    average = average_matrix(tasks)
    expected = [(values.mean() + values[:25].mean()) / 2 for values in SCORES.values()]
    np.testing.assert_allclose(average.values.mean(axis=0), expected, rtol=1e-12)
    found = rank_tasks(tasks, n_resamples=500)
    assert next(iter(found.consensus)) == found.average.models[0].name
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_case_fails_in_the_average_where_it_failed_in_any_task():
    liver, spleen = (
        ScoreMatrix(("1", "2", "3", "4"), ("a", "b"), np.array(values), Scale(True, (0.0, 1.0)))
        for values in (
            [[0.0, 0.9], [0.8, 0.9], [0.7, 0.8], [0.9, 0.6]],
            [[0.0, 0.7], [0.0, 0.8], [0.8, 0.7], [0.9, np.nan]],
        )
    )
    ranking = rank(average_matrix({"liver": liver, "spleen": spleen}), n_resamples=200)
    assert {model.name: model.failure_share for model in ranking.models} == {"a": 0.5, "b": 0.0}


def test_tasks_that_repeat_each_other_add_no_certainty():
    """Three copies of one organ are one organ: the average must be as uncertain as the organ."""
    one = score_matrix(SCORES, scale=Scale(True, (0.0, 1.0)))
    alone = compare(one, n_resamples=2000)
    copies = compare(average_matrix({"a": one, "b": one, "c": one}), n_resamples=2000)
    for pair, again in zip(alone.pairs, copies.pairs, strict=True):
        assert again.ci_high - again.ci_low == pytest.approx(pair.ci_high - pair.ci_low, rel=1e-6)


def test_unknown_scheme_is_refused():
    with pytest.raises(InvalidInput, match="rank-then-mean"):
        rank(SCORES, scheme="vibes")


def random_tasks(rng, n=12):
    cases = [f"c{i}" for i in range(n)]
    tasks = {}
    for task in ("liver", "spleen", "kidney"):
        kept = tuple(case for case in cases if rng.random() < 0.6) or tuple(cases)
        tasks[task] = ScoreMatrix(kept, ("a", "b", "c"), rng.random((len(kept), 3)), Scale(True, (0.0, 1.0)))
    return tasks


def without(tasks, case):
    return {task: matrix.select(np.array([one != case for one in matrix.cases])) for task, matrix in tasks.items()}


def averaged(tasks):
    return np.mean([matrix.values.mean(axis=0) for matrix in tasks.values()], axis=0)


def test_the_cases_that_decide_an_average_are_those_whose_removal_does():
    rng = np.random.default_rng(3)
    decided = 0
    for _ in range(60):
        tasks = random_tasks(rng)
        first, expected = averaged(tasks).argmax(), {}
        for case in average_matrix(tasks).cases:
            rest = without(tasks, case)
            if all(matrix.cases for matrix in rest.values()) and (best := averaged(rest).argmax()) != first:
                expected[case] = "abc"[best]
        found = leave_one_out(average_matrix(tasks))[0]
        assert {flip.case: flip.winner for flip in found if flip.winner is not None} == expected
        decided += len(expected)
    assert decided > 20


def test_an_average_of_averages_is_taken_apart_too():
    rng = np.random.default_rng(5)
    sets = {name: random_tasks(rng) for name in ("here", "there")}
    parts = {
        name: replace(made := average_matrix(tasks), cases=tuple(f"{name}/{case}" for case in made.cases))
        for name, tasks in sets.items()
    }
    joint = average_matrix(parts)
    for i, case in enumerate(joint.cases):
        name, _, own = case.partition("/")
        other = averaged(sets["there" if name == "here" else "here"])
        np.testing.assert_allclose(
            joint.means_without()[i], (averaged(without(sets[name], own)) + other) / 2, rtol=1e-12
        )


def test_a_winner_that_only_shares_the_first_place_is_not_replaced():
    # Without the last case the two tie, whichever of them stands first in the table.
    for names in ("ab", "ba"):
        values = {"a": [0.5, 0.5, 0.9], "b": [0.5, 0.5, 0.1]}
        ranking = rank({name: values[name] for name in names}, **OPTIONS)
        assert [flip.winner for flip in ranking.flips] == [None]


def test_no_case_of_an_average_has_a_score():
    tasks = random_tasks(np.random.default_rng(1))
    found = rank_tasks(tasks, scheme="median", n_resamples=200)
    assert list(found.average.schemes) == ["mean", "failures"]
    assert found.average.scheme == "mean"
    assert all(pair.wins is None for pair in found.average.comparison.pairs)
    assert found.average.comparison["c", "a"].wins is None
    assert found.tasks["liver"].scheme == "median"


def test_the_interval_of_an_average_stays_on_its_scale():
    rng = np.random.default_rng(8)
    high = {
        task: ScoreMatrix(tuple("abcdef"), ("x", "y"), 1 - 0.4 * rng.random((6, 2)) ** 6, Scale(True, (0.0, 1.0)))
        for task in ("liver", "spleen")
    }
    for model in rank_tasks(high, n_resamples=2000).average.models:
        assert 0.0 <= model.score.ci_low <= model.score.value <= model.score.ci_high <= 1.0


def test_models_that_all_tie_have_no_agreement_to_speak_of():
    same = np.linspace(0.5, 0.9, 12)
    ranking = rank({"a": same, "b": same}, **OPTIONS)
    assert ranking.tau == (None, None)
    assert ranking.to_dict()["kendall_tau_over_resamples"] == {"mean": None, "lower": None}
    assert order_stability(score_matrix({"a": same, "b": same}, scale=Scale(True, (0.0, 1.0)))) is None


def test_the_rule_names_the_test_that_made_the_places():
    a, b = np.ones(20), np.ones(20)
    b[:7] = 0.0
    told = rank({"a": a, "b": b}, bounds=(0, 1), n_resamples=500)
    assert (told["b"].place, "exact sign test" in told.rule, "max-t" in told.rule) == (2, True, False)
    b[0] = 0.5
    other = rank({"a": a, "b": b}, bounds=(0, 1), n_resamples=500)
    assert ("exact sign test" in other.rule, "bootstrap-t" in other.rule) == (False, True)
    three = rank({"a": a, "b": np.round(b), "c": a}, bounds=(0, 1), n_resamples=500)
    assert "max-t" in three.rule


def tasks_of(values):
    """Return the scores of two models on three tasks; NaN is a case that a task does not have."""
    ids = [f"{k:02d}" for k in range(values.shape[1])]
    return {
        f"t{t}": score_matrix({m: dict(zip(ids, part[:, j], strict=True)) for j, m in enumerate("AB")}, metric="dice")
        for t, part in enumerate(values)
    }


@pytest.mark.parametrize("n", [3, 6, 12])
def test_an_average_has_the_interval_of_the_case_means_where_every_case_has_every_task(n):
    values = np.random.default_rng(n).beta(9, 1, (3, n, 2))
    found = rank_tasks(tasks_of(values), n_resamples=200).average
    for j, model in enumerate("AB"):
        score, means = found[model].score, values[:, :, j].mean(axis=0)
        expected = estimate(means, bounds=(0, 1))
        assert score.method == expected.method == "half-case"
        assert (score.ci_low, score.ci_high) == pytest.approx((expected.ci_low, expected.ci_high), abs=1e-9)
        # As a summary over structures has it, whose values are clustered by case.
        pooled = estimate(values[:, :, j].ravel(), bounds=(0, 1), cluster=np.tile(np.arange(n), 3))
        assert (score.ci_low, score.ci_high) == pytest.approx((pooled.ci_low, pooled.ci_high), abs=1e-9)


def test_no_limit_of_an_average_is_open_where_tasks_have_other_cases():
    values = np.ones((3, 12, 2))
    values[1, 4:], values[2, 3:] = np.nan, np.nan
    values[2, 0] = 0.0  # what the other cases of this task add to the average lies outside of the scale
    found = rank_tasks(tasks_of(values), n_resamples=200).average
    assert average_matrix(tasks_of(values)).values.max() > 1.3
    for model in found.models:
        assert 0.0 <= model.score.ci_low < model.score.value < model.score.ci_high <= 1.0


def test_test_then_rank_with_and_without_correction():
    """Uncorrected one-sided tests at 5 % are challengeR's default; ours are corrected by Holm over all pairs and ways.

    With 4 models there are 12 tests, so Holm asks for 0.05 / 12 = 0.0042 first. Over 12 cases the signed ranks below
    give p-values between the two for neighbours; the docstring of the corrected scheme called itself challengeR's.
    """
    rng = np.random.default_rng(3)
    base = rng.uniform(0.5, 0.7, 12)
    scores = {name: base + 0.02 * step + rng.normal(0, 0.03, 12) for step, name in enumerate("DCBA")}
    found = rank(scores, schemes=("test-then-rank", "test-then-rank-uncorrected"), n_resamples=200)
    wins = {True: dict.fromkeys(scores, 0), False: dict.fromkeys(scores, 0)}
    pairs = list(itertools.permutations(scores, 2))
    p_values = [
        scipy_stats.wilcoxon(
            scores[one], scores[two], alternative="greater", correction=True, method="asymptotic"
        ).pvalue
        for one, two in pairs
    ]
    for corrected, adjusted in ((True, holm(p_values)), (False, p_values)):
        for (one, _), p in zip(pairs, adjusted, strict=True):
            wins[corrected][one] += p < 0.05
    for key, corrected in (("test-then-rank", True), ("test-then-rank-uncorrected", False)):
        expected = scipy_stats.rankdata([-count for count in wins[corrected].values()])
        assert [found.schemes[key][name] for name in scores] == expected.tolist()
    assert wins[True] != wins[False]


def test_the_uncorrected_scheme_is_only_there_by_name():
    found = rank({"A": [0.9, 0.8, 0.7], "B": [0.8, 0.7, 0.5]}, n_resamples=200)
    assert "test-then-rank" in found.schemes
    assert "test-then-rank-uncorrected" not in found.schemes
