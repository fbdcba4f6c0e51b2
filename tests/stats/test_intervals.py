"""Intervals against closed forms first, then against scipy.stats."""

import math
from dataclasses import replace

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats import METHODS, bootstrap_ci, estimate, share
from segauge.stats.estimation import FORMER_AUTO

scipy_stats = pytest.importorskip("scipy.stats")

SKEWED = np.random.default_rng(7).beta(8.0, 1.0, 30)


@pytest.mark.parametrize(("count", "total"), [(0, 20), (20, 20), (7, 20), (1, 2)])
def test_binary_values_give_the_jeffreys_binomial_interval(count, total):
    found = share(count, total)
    exact = scipy_stats.beta.ppf([0.025, 0.975], count + 0.5, total - count + 0.5)
    # Widened to hold the sample share, which at 0 and 1 lies outside the Beta quantiles.
    assert found.ci_low == pytest.approx(min(exact[0], count / total), rel=1e-10)
    assert found.ci_high == pytest.approx(max(exact[1], count / total), rel=1e-10)


def test_jeffreys_has_the_moments_of_the_bayesian_bootstrap_it_stands_for():
    rng = np.random.default_rng(0)
    values = np.concatenate([SKEWED, [0.0, 1.0]])
    alpha = np.concatenate([np.ones(SKEWED.size), [0.5, 0.5]])
    means = rng.dirichlet(alpha, 400_000) @ values
    m, v = means.mean(), means.var()
    c = m * (1 - m) / v - 1
    found = estimate(SKEWED, bounds=(0, 1), ci="jeffreys")
    # 400,000 draws of standard deviation 0.027 give the mean to 4e-5 and a limit to 1.2e-4: eight of these.
    low, high = scipy_stats.beta.ppf([0.025, 0.975], m * c, (1 - m) * c)
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), abs=1e-3)


@pytest.mark.parametrize("method", [key for key, method in METHODS.items() if method.statistic == "mean"])
def test_intervals_follow_a_change_of_scale(method):
    plain = estimate(SKEWED, bounds=(0, 1), ci=method)
    scaled = estimate(100.0 * SKEWED - 20.0, bounds=(-20, 80), ci=method)
    # Rounding to fixed point is relative to a column's largest value, about 1e-13; BCa and quantiles amplify it.
    assert scaled.ci_low == pytest.approx(100.0 * plain.ci_low - 20.0, abs=1e-7)
    assert scaled.ci_high == pytest.approx(100.0 * plain.ci_high - 20.0, abs=1e-7)


@pytest.mark.parametrize("method", [key for key, method in METHODS.items() if method.statistic == "mean"])
def test_intervals_do_not_depend_on_the_order_of_cases_more_than_resampling_noise(method):
    forward = estimate(SKEWED, bounds=(0, 1), ci=method, n_resamples=20_000)
    backward = estimate(SKEWED[::-1], bounds=(0, 1), ci=method, n_resamples=20_000)
    # Half widths are about 0.04; a 2.5 % quantile of 20,000 resamples has an error of 1.5 % of that.
    tolerance = 0.002 if METHODS[method].is_random else 1e-12
    assert forward.ci_low == pytest.approx(backward.ci_low, abs=tolerance)
    assert forward.ci_high == pytest.approx(backward.ci_high, abs=tolerance)


def test_student_t_is_scipys():
    found = estimate(SKEWED, ci="t", level=0.9)
    exact = scipy_stats.t.interval(0.9, SKEWED.size - 1, SKEWED.mean(), SKEWED.std(ddof=1) / math.sqrt(SKEWED.size))
    assert (found.ci_low, found.ci_high) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("method", "theirs"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_bootstrap_intervals_agree_with_scipy(method, theirs):
    found = estimate(SKEWED, ci=method, n_resamples=50_000)
    peer = scipy_stats.bootstrap(
        (SKEWED,), np.mean, method=theirs, n_resamples=50_000, rng=np.random.default_rng(1)
    ).confidence_interval
    # Two independent sets of 50,000 resamples: a limit's standard error is about 1.5e-4 here, so four of both.
    assert found.ci_low == pytest.approx(peer.low, abs=1e-3)
    assert found.ci_high == pytest.approx(peer.high, abs=1e-3)


def test_bootstrap_t_limits_are_on_the_right_sides():
    """Left-skewed scores: the studentised interval reaches further down than up."""
    found = estimate(SKEWED, bounds=(0, 1), ci="bootstrap-t")
    assert found.value - found.ci_low > found.ci_high - found.value


@pytest.mark.parametrize("count", [0, 3, 20])
def test_gaffke_of_binary_values_is_clopper_pearson(count):
    values = np.repeat([1.0, 0.0], [count, 20 - count])
    found = estimate(values, bounds=(0, 1), ci="gaffke", n_resamples=50_000)
    exact = scipy_stats.binomtest(count, 20).proportion_ci(method="exact")
    # A 2.5 % quantile of 50,000 draws from this Beta has a standard error below 1e-3.
    assert found.ci_low == pytest.approx(exact.low, abs=4e-3)
    assert found.ci_high == pytest.approx(exact.high, abs=4e-3)


@pytest.mark.parametrize("n", [6, 9, 20, 101])
def test_median_interval_is_the_sign_tests(n):
    values = np.random.default_rng(n).random(n)
    found = estimate(values, statistic="median")
    exact = scipy_stats.quantile_test(values, p=0.5).confidence_interval(0.95)
    assert (found.value, found.ci_low, found.ci_high) == (np.median(values), exact.low, exact.high)


def test_median_of_few_cases_reaches_the_ends_of_the_scale():
    found = estimate([0.2, 0.5, 0.9], statistic="median", bounds=(0, 1))
    assert (found.ci_low, found.ci_high) == (0.0, 1.0)
    assert estimate([0.2, 0.5, 0.9], statistic="median").ci_low is None


@pytest.mark.parametrize("values", [[], [0.5], [math.nan, 0.5]])
@pytest.mark.parametrize("ci", ["auto", "percentile", "jeffreys", "t"])
def test_fewer_than_two_cases_have_no_interval(values, ci):
    found = estimate(values, bounds=(0, 1), ci=ci)
    assert (found.ci_low, found.ci_high) == (None, None)
    assert bootstrap_ci(values).ci_low is None


def test_auto_is_one_method_on_every_scale():
    for bounds in ((0, 1), (0, math.inf), None):
        assert estimate(SKEWED, bounds=bounds).method == "half-case"
    assert estimate(SKEWED[:4]).method == "half-case"
    assert estimate(SKEWED, statistic="median").method == "exact"


def test_the_former_default_is_there_under_a_name():
    assert estimate(SKEWED, bounds=(0, 1), ci=FORMER_AUTO) == replace(
        estimate(SKEWED, bounds=(0, 1), ci="jeffreys"), failures=None, tail=None, spread=None
    )
    assert estimate(SKEWED, bounds=(0, math.inf), ci=FORMER_AUTO).method == "bootstrap-t"
    assert estimate(SKEWED[:4], ci=FORMER_AUTO).method == "t"


def test_a_distance_reports_two_parts():
    found = estimate([3.0, 4.0, 5.0, 6.0, 7.0, math.inf, math.nan], bounds=(0, math.inf), unit="mm")
    assert found.n == 5
    assert dict(found.excluded) == {"failed": 1, "not a number": 1}
    assert found.found.value == pytest.approx(5 / 6)
    assert found.ci_low >= 0


def test_clusters_of_one_case_change_nothing():
    for ci in ("jeffreys", "percentile", "bootstrap-t", "t", "bca"):
        plain = estimate(SKEWED, bounds=(0, 1), ci=ci)
        alone = estimate(SKEWED, bounds=(0, 1), ci=ci, cluster=[f"{i:03d}" for i in range(SKEWED.size)])
        assert (plain.ci_low, plain.ci_high) == (alone.ci_low, alone.ci_high)


@pytest.mark.parametrize("ci", ["jeffreys", "percentile", "bootstrap-t", "t", "bca"])
def test_copied_cases_add_no_information_once_clustered(ci):
    """Four copies of each case, clustered, must be as uncertain as the cases themselves."""
    once = estimate(SKEWED, bounds=(0, 1), ci=ci)
    copies = np.repeat(SKEWED, 4)
    naive = estimate(copies, bounds=(0, 1), ci=ci)
    clustered = estimate(copies, bounds=(0, 1), ci=ci, cluster=np.repeat(np.arange(SKEWED.size), 4))
    assert naive.half_width < 0.65 * once.half_width
    # Labels sort as text, so draws differ (1 %); jeffreys draws nothing.
    assert clustered.half_width == pytest.approx(once.half_width, rel=1e-9 if ci == "jeffreys" else 0.03)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_patients_with_as_many_cases_each_count_as_their_means(level):
    """Whatever the cases of a patient have in common; also where no case failed, which has no spread."""
    rng = np.random.default_rng(3)
    for cases in (np.ones((5, 10)), np.full((5, 10), 0.9), rng.beta(9, 1, (12, 4))):
        once = estimate(cases.mean(axis=1), bounds=(0, 1), level=level)
        clustered = estimate(
            cases.ravel(), bounds=(0, 1), level=level, cluster=np.repeat(range(len(cases)), cases.shape[1])
        )
        assert (clustered.ci_low, clustered.ci_high) == pytest.approx((once.ci_low, once.ci_high), abs=1e-9)


def test_a_patient_with_most_of_the_cases_leaves_more_open_than_equal_ones():
    uneven = estimate(np.ones(50), bounds=(0, 1), cluster=np.repeat(range(5), [46, 1, 1, 1, 1]))
    even = estimate(np.ones(50), bounds=(0, 1), cluster=np.repeat(range(5), 10))
    assert uneven.ci_low < even.ci_low < 0.65


def test_the_share_found_is_of_patients_too():
    distances = np.array([3.0, 4.0, 5.0, 6.0, 7.0, np.inf])
    once = estimate(distances).found
    clustered = estimate(np.repeat(distances, 10), cluster=np.repeat(range(6), 10)).found
    assert (clustered.ci_low, clustered.ci_high) == pytest.approx((once.ci_low, once.ci_high))


def test_values_outside_the_bounds_are_refused_with_the_likely_reason():
    with pytest.raises(InvalidInput, match="Per cent"):
        estimate([85.0, 90.0], bounds=(0, 1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"level": 95}, "0.95"),
        ({"ci": "magic"}, "jeffreys"),
        ({"ci": "jeffreys"}, "bounds"),
        ({"statistic": "mode"}, "bootstrap_ci"),
        ({"statistic": "median", "ci": "basic"}, "exact"),
        ({"bounds": (1, 0)}, "smallest"),
        ({"cluster": ["a"]}, "2 cases"),
        ({"n_resamples": 3}, "100"),
        ({"seed": -1}, "seed"),
    ],
)
def test_errors_say_what_to_do(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        estimate([0.1, 0.2], **arguments)


def test_text_is_refused_as_a_value():
    with pytest.raises(InvalidInput, match="one number per case"):
        estimate(["good", "bad"])
