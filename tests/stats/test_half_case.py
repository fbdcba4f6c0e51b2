"""What the half-case interval, its tail and the failures beside it promise, by exact values and over drawn samples."""

import itertools
import json
import math

import numpy as np
import pytest

from segauge.stats import Estimate, estimate
from segauge.stats.intervals import share_limits

#: Twelve Dice values from 0.940 to 0.955.
HIGH = np.linspace(0.940, 0.955, 12)
HD95 = [2.2, 3.1, 2.0, 5.4, 90.0]


def test_ordinary_scores_have_a_short_interval():
    """With half a case at each end of the scale it was [0.797, 0.983]."""
    found = estimate(HIGH, bounds=(0, 1))
    assert (found.ci_low, found.ci_high) == pytest.approx((0.9440, 0.9510), abs=5e-5)
    assert repr(found) == "Estimate(0.9475 [0.9440, 0.9510], n=12, 0 failed (at most 26 %), 95 % half-case)"


def test_one_outlier_of_a_distance_does_not_make_the_interval_endless():
    """The bootstrap-t had [0, 1567] mm."""
    found = estimate(HD95, bounds=(0, math.inf), unit="mm")
    assert (found.ci_low, found.ci_high) == pytest.approx((1.35, 134.0), rel=5e-3)


def test_no_interval_of_a_distance_reaches_beyond_the_diagonal():
    for ci in ("auto", "bootstrap-t", "t", "percentile"):
        assert estimate(HD95, bounds=(0, math.inf), ci=ci, most=95.0, n_resamples=500).ci_high <= 95.0
    # What was measured is possible, whatever a header says.
    assert estimate(HD95, bounds=(0, math.inf), most=50.0).ci_high <= 90.0
    # The diagonal does not make the scale a bounded one: equal distances have no interval.
    assert estimate([3.0, 3.0, 3.0], bounds=(0, math.inf), most=600.0).ci_high is None


def test_equal_values_two_and_three_cases_and_none():
    equal = estimate([0.9] * 12, bounds=(0, 1))
    assert 0.0 < equal.ci_low < 0.9 < equal.ci_high < 1.0
    assert estimate([3.0] * 12, bounds=(0, math.inf)).no_interval == "all values equal"
    for n in (2, 3):
        few = estimate(HIGH[:n], bounds=(0, 1))
        assert 0.0 < few.ci_low < few.value < few.ci_high < 1.0
    one = estimate([0.9], bounds=(0, 1))
    assert (one.ci_low, one.ci_high) == (None, None)
    assert one.failures.high == pytest.approx(0.975)
    assert estimate([], bounds=(0, 1)).failures is None
    zero = estimate([0.0] * 8, bounds=(0, 1))
    assert (zero.ci_low, zero.tail) == (0.0, 0.0)
    assert zero.failures.count == 8


def test_the_tail_of_equal_scores_is_the_score_times_one_minus_the_limit_of_no_failure():
    for n in (1, 2, 12, 50):
        found = estimate([0.8] * n, bounds=(0, 1))
        limit = float(share_limits(0, n, 0.95)[1])
        assert found.failures.high == pytest.approx(limit)
        assert found.tail == pytest.approx(0.8 * (1.0 - limit), rel=1e-9)


def test_the_tail_is_on_the_side_of_failures():
    errors = 1.0 - HIGH
    assert estimate(errors, bounds=(0, 1), higher_is_better=False).tail == pytest.approx(
        1.0 - estimate(HIGH, bounds=(0, 1)).tail
    )
    assert estimate(HD95, bounds=(0, math.inf), higher_is_better=False).tail is None
    assert estimate(HIGH, bounds=(0, 1), statistic="median").tail is None


@pytest.mark.parametrize("clustered", [False, True])
def test_limits_are_possible_and_in_order_whatever_the_scores(clustered):
    """Random samples of every shape: worst value <= tail <= lower limit <= mean <= upper limit <= best value."""
    rng = np.random.default_rng(3)
    for _ in range(400):
        n = int(rng.integers(2, 40))
        values = np.where(
            rng.random(n) < rng.choice([0.0, 0.1, 0.6]), rng.integers(0, 2), rng.beta(*rng.uniform(0.2, 30, 2), n)
        )
        cluster = rng.integers(0, max(n // 2, 2), n).tolist() if clustered else None
        found = estimate(values, bounds=(0, 1), cluster=cluster)
        if found.ci_low is None:
            assert len(set(cluster)) == 1
            continue
        slack = 1e-12
        order = [0.0, found.tail, found.ci_low, found.value, found.ci_high, 1.0]
        assert all(a <= b + slack for a, b in itertools.pairwise(order)), (values, cluster, found)


def test_a_patient_counts_once_and_shares_of_failures_know_patients():
    patients = np.repeat(np.arange(10), 6)
    values = np.where(patients < 2, 0.0, 0.9)
    alone, together = (estimate(values, bounds=(0, 1), cluster=one) for one in (None, patients.tolist()))
    per_patient = estimate(values[::6], bounds=(0, 1))
    assert (together.ci_low, together.ci_high) == pytest.approx((per_patient.ci_low, per_patient.ci_high))
    assert together.failures.count == alone.failures.count == 12
    # Two of ten patients: the exact limits of 12 of 60 independent cases would be 11 to 32 %.
    assert (alone.failures.low, alone.failures.high) == pytest.approx((0.108, 0.323), abs=2e-3)
    assert together.failures.low < 0.05
    assert together.failures.high > 0.5


def test_an_estimate_goes_to_json_and_back():
    for values in (HIGH, [*HD95, math.inf], [0.5]):
        bounds = (0, 1) if max(values) <= 1 else (0, math.inf)
        found = estimate(values, bounds=bounds, unit="mm")
        assert Estimate.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)), unit="mm") == found


def test_spread_has_what_journals_ask_for():
    spread = estimate(HD95, bounds=(0, math.inf)).spread
    assert spread.sd == pytest.approx(np.std(HD95, ddof=1))
    assert (spread.min, spread.q1, spread.median, spread.q3, spread.max) == (2.0, 2.2, 3.1, 5.4, 90.0)
