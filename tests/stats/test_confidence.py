"""Confidence distributions: Student's t for normal differences, and honest on the edge of a claim."""

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats import confidence_distribution, estimate
from segauge.stats.pairs import confidence_of_differences


def test_a_probability_is_the_tail_at_which_the_half_case_limit_reaches_the_edge():
    from scipy.optimize import brentq
    from scipy.stats import t

    rng = np.random.default_rng(1)
    values = rng.normal(0.0, 1.0, 200)
    values += 0.1 - values.mean()
    found = confidence_distribution(values)
    expected = brentq(lambda tail: estimate(values, level=1.0 - 2.0 * tail).ci_low, 1e-6, 0.49)
    # 10,000 quantiles: a step of 1e-4, and half a step more from the counts of half a draw.
    assert found.probability(found.draws[:, 0] <= 0) == pytest.approx(expected, abs=2e-4)
    # Of normal values the interval is a little wider than Student's t, never narrower.
    exact = t.cdf(-0.1 / (values.std(ddof=1) / np.sqrt(200)), 199)
    assert exact < expected < 1.4 * exact
    assert found.interval() == pytest.approx((estimate(values).ci_low, estimate(values).ci_high), abs=1e-3)


def test_a_claim_on_its_edge_is_false_with_uniform_probability():
    """Skewed scores with mean 0: the probability that the mean is positive must be below 0.1 in 10 % of test sets."""
    rng = np.random.default_rng(2)
    below = []
    for _ in range(400):
        values = rng.exponential(1.0, 60) - 1.0
        found = confidence_distribution(values, n_resamples=400)
        below.append(found.probability(found.draws[:, 0] > 0))
    below = np.array(below)
    # Three standard errors of a share of 0.1 in 400 test sets are 0.045.
    assert (below < 0.1).mean() == pytest.approx(0.1, abs=0.045)
    assert (below > 0.9).mean() == pytest.approx(0.1, abs=0.045)


def test_columns_are_drawn_together():
    """Two columns that are the same case by case are the same in every draw."""
    values = np.random.default_rng(3).normal(size=(40, 1))
    found = confidence_distribution(np.hstack([values, values]), n_resamples=200)
    np.testing.assert_array_equal(found.draws[:, 0], found.draws[:, 1])


def test_patients_with_copies_are_no_more_sure():
    values = np.random.default_rng(4).normal(0.2, 1, 30)
    plain = confidence_distribution(values).interval()
    copied = confidence_distribution(np.tile(values, 3), cluster=[f"{i:02d}" for i in range(30)] * 3).interval()
    # The same 30 units; only the rounding of sums differs.
    assert copied == pytest.approx(plain, abs=1e-9)


def test_no_spread_is_no_doubt():
    found = confidence_distribution([0.5] * 12, n_resamples=100)
    assert set(found.draws[:, 0]) == {0.5}
    assert 0 < found.probability(found.draws[:, 0] <= 0) < 0.01


def test_one_case_is_refused():
    with pytest.raises(InvalidInput, match="two independent cases"):
        confidence_distribution([0.3])


def test_a_failure_without_a_value_has_no_mean():
    with pytest.raises(InvalidInput, match="no mean"):
        confidence_distribution([1.0, 2.0, np.inf])


@pytest.mark.parametrize(("ahead", "behind", "ties"), [(3, 0, 17), (5, 0, 15), (7, 2, 11), (2, 9, 0)])
def test_differences_of_one_size_have_the_probability_of_the_sign_test(ahead, behind, ties):
    """Its mid-p; the studentised bootstrap would say 0.4 % for 3 ahead of 20."""
    from scipy.stats import binom

    values = np.repeat([0.5, -0.5, 0.0], [ahead, behind, ties])[:, None]
    found = confidence_of_differences(values, n_resamples=20_000)
    count = ahead + behind
    expected = binom.sf(ahead, count, 0.5) + 0.5 * binom.pmf(ahead, count, 0.5)
    # 20,000 draws: three standard errors are 0.01 at most.
    assert found.probability(found.draws[:, 0] <= 0) == pytest.approx(expected, abs=0.01)
    assert found.draws.min() >= -0.5
    assert found.draws.max() <= 0.5


def test_differences_of_one_size_stay_drawn_together():
    values = np.repeat([1.0, -1.0, 0.0], [6, 2, 12])[:, None]
    other = np.random.default_rng(5).normal(0, 0.1, (20, 1)) + values
    found = confidence_of_differences(np.hstack([values, other]), n_resamples=2000)
    alone = confidence_of_differences(other, n_resamples=2000)
    assert np.corrcoef(found.draws.T)[0, 1] > 0.8
    np.testing.assert_allclose(found.draws[:, 1], alone.draws[:, 0], atol=1e-12)
