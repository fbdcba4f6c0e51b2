"""Cases without a number: every status under every policy, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from segauge.errors import InvalidInput, UnknownMetric
from segauge.scores import Missing, ScoreTable, Status
from segauge.stats import MissingPolicy, Scale, scale_of, score_matrix, summarise
from segauge.stats.missing import resolve

STATES = (Status.PRESENT, Status.MISSED, Status.SPURIOUS, Status.ABSENT, Status.PREDICTION_MISSING, Status.PRESENT)


def table(dice=(0.8, 0.0, 0.0, math.nan, math.nan, 0.6), hd95=(3.0, *[math.nan] * 4, 5.0), states=STATES):
    values = np.stack([dice, hd95], axis=-1)[:, None, :]
    cases = tuple("abcdef"[: len(states)])
    return ScoreTable(cases, ("liver",), ("dice", "hd95"), values, np.array(states, dtype=object)[:, None])


def test_overlap_counts_failures_as_zero_and_leaves_absent_cases_out():
    found = summarise(table())["liver"]["dice"]
    assert found.value == pytest.approx((0.8 + 0.6) / 5)
    assert found.n == 5
    assert dict(found.failed) == {"missed": 1, "spurious": 1, "prediction missing": 1}
    assert dict(found.excluded) == {"absent": 1}
    assert found.policy == "failed=worst, absent=exclude"


def test_absent_may_count_as_perfect():
    found = summarise(table(), policy=MissingPolicy(absent="perfect"))["liver"]["dice"]
    assert found.value == pytest.approx((0.8 + 0.6 + 1.0) / 6)


def lesions(invented, states):
    """Return a table of invented lesions and their volume, and of Dice, which an absent structure does not have."""
    values = np.array([[count, 0.25 * count, math.nan if state is Status.ABSENT else 0.5]
                       for count, state in zip(invented, states, strict=True)])  # fmt: skip
    names = ("lesion_fp", "false_positive_volume", "dice")
    cases = tuple(f"{k:02d}" for k in range(len(states)))
    return ScoreTable(cases, ("lesion",), names, values[:, None, :], np.array(states, dtype=object)[:, None])


def test_nothing_invented_where_there_is_nothing_is_a_number_and_counts():
    found = summarise(lesions([2, 2] + [0] * 8, [Status.SPURIOUS] * 2 + [Status.ABSENT] * 8))["lesion"]
    assert (found["lesion_fp"].value, found["lesion_fp"].n) == (pytest.approx(0.4), 10)
    assert (found["false_positive_volume"].value, found["false_positive_volume"].n) == (pytest.approx(0.1), 10)
    assert (found["dice"].n, dict(found["dice"].excluded)) == (2, {"absent": 8})


def test_no_value_of_a_measurement_is_perfect():
    values = np.array([[0.1, 2.0], [math.nan, 0.0]])[:, None, :]
    states = np.array([[Status.PRESENT], [Status.ABSENT]], dtype=object)
    given = ScoreTable(("a", "b"), ("liver",), ("relative_volume_difference", "volume_difference"), values, states)
    perfect, scale = MissingPolicy(absent="perfect"), Scale(False, (-1.0, math.inf))
    relative = resolve(given, "liver", "relative_volume_difference", scale=scale, policy=perfect)
    np.testing.assert_array_equal(relative.values, [0.1, math.nan])
    volumes = resolve(given, "liver", "volume_difference", scale=Scale(False), policy=perfect)
    np.testing.assert_array_equal(volumes.values, [2.0, 0.0])


def test_a_prediction_that_is_not_there_has_invented_nothing_that_counts():
    found = summarise(lesions([2, math.nan, 0], [Status.SPURIOUS, Status.ABSENT, Status.ABSENT]))["lesion"]["lesion_fp"]
    assert (found.value, found.n, dict(found.excluded)) == (1.0, 2, {"absent": 1})


def test_models_are_compared_also_where_both_invent_nothing():
    tables = {
        "A": lesions([2, 0, 0, 0], [Status.SPURIOUS] + [Status.ABSENT] * 3),
        "B": lesions([0, 0, 0, 0], [Status.ABSENT] * 4),
    }
    matrix = score_matrix(tables, metric="false_positive_volume")
    np.testing.assert_array_equal(matrix.differences(np.array([0]), np.array([1]))[:, 0], [0.5, 0.0, 0.0, 0.0])
    assert not matrix.false_findings.any()


def test_distances_report_two_parts():
    found = summarise(table())["liver"]["hd95"]
    assert found.value == pytest.approx(4.0)
    assert found.n == 2
    assert found.found.value == pytest.approx(2 / 5)
    assert dict(found.excluded) == {"absent": 1, "missed": 1, "spurious": 1, "prediction missing": 1}
    assert found.policy == "failed=exclude, absent=exclude"
    assert found.unit == "mm"


def test_a_penalty_counts_for_each_failure():
    found = summarise(table(), policy=MissingPolicy(failed="penalty", penalty=100.0))["liver"]["hd95"]
    assert found.value == pytest.approx((3 + 5 + 3 * 100) / 5)
    own = resolve(table(), "liver", "hd95", policy=MissingPolicy(penalty={"b": 10.0, "c": 20.0, "e": 30.0}))
    np.testing.assert_array_equal(own.values, [3, 10, 20, math.nan, 30, 5])
    with pytest.raises(InvalidInput, match="'e'"):
        resolve(table(), "liver", "hd95", policy=MissingPolicy(penalty={"b": 10.0, "c": 20.0}))


def test_failures_rank_last_without_a_value():
    found = resolve(table(), "liver", "hd95")
    assert np.isinf(found.values[[1, 2, 4]]).all()
    assert found.policy.failed == "last"


def test_a_mean_that_holds_failures_does_not_say_that_they_are_left_out():
    """By "last" the Dice 0 of a missed structure stays, and a case without a prediction has no value."""
    found = summarise(table(), policy=MissingPolicy(failed="last"))["liver"]["dice"]
    assert (dict(found.failed), found.excluded["prediction missing"]) == ({"missed": 1, "spurious": 1}, 1)
    assert found.policy == "failed=last, absent=exclude"


def test_exclude_leaves_failures_out_of_every_metric():
    """Also the Dice 0 of a missed structure: otherwise Dice and distances would speak of different cases."""
    policy = MissingPolicy(failed="exclude")
    found = resolve(table(), "liver", "hd95", policy=policy)
    np.testing.assert_array_equal(found.values, [3, *[math.nan] * 4, 5])
    dice = summarise(table(), policy=policy)["liver"]["dice"]
    assert dice.value == pytest.approx((0.8 + 0.6) / 2)
    assert dice.n == 2
    assert dict(dice.excluded) == {"missed": 1, "spurious": 1, "absent": 1, "prediction missing": 1}
    assert dict(dice.failed) == {}
    assert dice.policy == "failed=exclude, absent=exclude"


def test_one_models_failure_stays_in_the_other_models_test_set():
    good = table(dice=(0.8, 0.7, 0.6, 0.5, 0.4, 0.3), states=[Status.PRESENT] * 6)
    matrix = score_matrix(
        {"good": good, "bad": table(states=[*STATES[:3], Status.UNREADABLE, *STATES[4:]])}, metric="dice"
    )
    assert np.isfinite(matrix.values).all()
    assert matrix.values[3].tolist() == [0.5, 0.0]


def test_present_cases_without_a_value_are_left_out_by_name():
    found = summarise(table(dice=(math.nan, 0.5, 0.5, 0.5, 0.5, 0.5), states=[Status.PRESENT] * 6))["liver"]["dice"]
    assert dict(found.excluded) == {"without a value": 1}


def test_clusters_are_taken_from_the_case_ids():
    patients = {"a": "p", "b": "p", "c": "p", "e": "q", "f": "q"}
    assert summarise(table(), cluster=patients)["liver"]["dice"].n_clusters == 2


@pytest.mark.parametrize(
    ("arguments", "scale", "words"),
    [
        ({"failed": "nothing"}, None, "worst, penalty"),
        ({"absent": "zero"}, None, "perfect"),
        ({"failed": "penalty"}, None, "diagonal"),
        ({"failed": "worst"}, scale_of("hd95"), "worst value"),
        ({"absent": "perfect"}, Scale(True), "best value"),
    ],
)
def test_impossible_policies_are_refused(arguments, scale, words):
    with pytest.raises(InvalidInput, match=words):
        MissingPolicy(**arguments).for_scale(scale)


def test_scales_are_known_by_name_and_never_guessed():
    assert scale_of("nsd@2").bounds == (0.0, 1.0)
    assert not scale_of("HD95").higher_is_better
    with pytest.raises(UnknownMetric, match="higher_is_better"):
        scale_of("coolness")


@pytest.mark.parametrize("penalty", [math.nan, math.inf, {"a": 3.0, "b": math.nan}])
def test_a_penalty_is_finite(penalty):
    """NaN left the case out, which nobody had asked for."""
    with pytest.raises(InvalidInput, match="penalty: expected finite numbers"):
        MissingPolicy(penalty=penalty)


def test_a_failed_case_whose_ground_truth_lacks_the_structure_is_never_perfect():
    """It counted as perfect: a model that crashed there had a mean of (0.8 + 0.6 + 1.0) / 6."""
    given = table()
    lacking = replace(given, missing={("d", "liver"): Missing.lacking(Status.PREDICTION_MISSING, "no file")})
    policy = MissingPolicy(absent="perfect")
    found = summarise(lacking, policy=policy)["liver"]["dice"]
    assert (found.value, found.n) == (pytest.approx((0.8 + 0.6) / 5), 5)
    assert dict(found.excluded) == {"absent": 1}
    matrix = score_matrix({"A": given, "B": lacking}, metric="dice", policy=policy)
    assert matrix.values[3, 0] == 1.0
    assert math.isnan(matrix.values[3, 1])


def test_which_cases_are_marked_as_failures():
    """Those that failed and stay in; marking every case with a value passed these tests."""
    for metric in ("dice", "hd95"):
        assert resolve(table(), "liver", metric).is_failure.tolist() == [False, True, True, False, True, False]
        left_out = resolve(table(), "liver", metric, policy=MissingPolicy(failed="exclude"))
        assert not left_out.is_failure.any()
