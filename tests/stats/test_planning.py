"""Planning: against statsmodels, and its answers against each other."""

import inspect
from functools import partial

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats.estimation import estimate
from segauge.stats.intervals import Moments
from segauge.stats.planning import (
    _half_width,
    _normal,
    _repeated,
    cases_for_half_width,
    cases_to_separate,
    detectable_difference,
    paired_power,
    plan_pairs,
    upper_sd,
)
from segauge.stats.resampling import Sample


@pytest.mark.parametrize(("difference", "sd", "n"), [(0.01, 0.05, 50), (0.02, 0.05, 30), (0.5, 1.0, 5), (0.1, 0.1, 20)])
def test_power_is_statsmodels(difference, sd, n):
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    expected = power.power(difference / sd, n, 0.05)
    assert paired_power(difference, sd, n) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("n", [2, 20, 300, 4900, 7000])
def test_power_is_a_share_that_grows_however_large_the_difference(n):
    shifts = np.concatenate([np.linspace(0, 60, 121), [100.0, 1e3, 1e6]])
    found = np.array([paired_power(shift / np.sqrt(n), 1.0, n) for shift in shifts])
    assert np.isfinite(found).all()
    # Rounding of the distribution function: its error is of the order of 1e-10.
    assert (np.diff(found) >= -1e-9).all()
    assert (found <= 1.0).all()
    assert paired_power(38 / np.sqrt(4900), 1.0, 4900) == 1.0  # where SciPy itself gives NaN


@pytest.mark.parametrize(("difference", "sd"), [(0.01, 0.05), (0.002, 0.08), (0.3, 0.1)])
def test_cases_to_separate_are_statsmodels_rounded_up(difference, sd):
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    found = cases_to_separate(difference, sd)
    assert power.power(difference / sd, found, 0.05) >= 0.8
    assert power.power(difference / sd, found - 1, 0.05) < 0.8


def test_detectable_difference_has_just_the_power():
    found = detectable_difference(40, 0.1)
    assert paired_power(found, 0.1, 40) == pytest.approx(0.8, abs=1e-9)


def test_half_width_is_that_of_the_printed_interval_of_normal_scores():
    """The plan was Student's t (99 cases), of which the printed interval was 9 % wider than asked for."""
    n = cases_for_half_width(0.02, 0.1)
    rng = np.random.default_rng(0)
    seen = [estimate(rng.normal(0.0, 0.1, n)).half_width for _ in range(400)]
    # Standard error of the average over 400 samples: 0.00008.
    assert np.mean(seen) == pytest.approx(0.02, abs=0.0004)
    assert n > 105


@pytest.mark.parametrize("half_width", [0.15, 0.08, 0.03])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-np.inf, np.inf)])
@pytest.mark.parametrize("failures", [0, 1])
def test_a_plan_from_scores_is_the_interval_of_these_scores_again_and_again(half_width, bounds, failures):
    rng = np.random.default_rng(failures)
    values = 0.5 + 0.2 * (rng.beta(8, 1.5, 12) - 0.5)  # far from the ends: stretched values stay on the scale
    values[:failures] = 0.3
    n = cases_for_half_width(half_width, values=values, bounds=bounds)
    stretched = values.mean() + upper_sd(1.0, 12) * (values - values.mean())

    def printed(times):
        return estimate(np.tile(stretched, times), bounds=bounds).half_width

    whole = n // 12  # times 12 cases: not enough just below the plan, enough at the next multiple
    assert printed(whole + 1) <= half_width
    if whole > 1:
        assert printed(whole if n % 12 else whole - 1) > half_width


@pytest.mark.parametrize("half_width", [0.3, 0.1, 0.02, 0.004])
def test_a_plan_is_the_first_size_that_is_enough(half_width):
    """Against trying every size: the width falls with every further case."""
    skewed = np.array([0.0, 0.7, 0.8, 0.9, 0.93, 0.95])
    for shape in (partial(_normal, sd=0.1), partial(_repeated, Moments.of(Sample.of(skewed[:, None])))):
        widths = [_half_width(shape(n), 0.95) for n in range(2, 400)]
        assert (np.diff(widths) < 0).all()
    tried = next((n for n in range(2, 20_000) if _half_width(_normal(n, 0.1), 0.95) <= half_width), None)
    assert cases_for_half_width(half_width, 0.1) == tried


def test_equal_scores_have_a_plan_on_a_bounded_scale_only():
    """On an open scale they have no interval; 2 cases were said to be enough."""
    found = cases_for_half_width(0.05, values=[1.0] * 10, bounds=(0.0, 1.0))
    halves = [estimate(np.ones(n), bounds=(0.0, 1.0)).half_width for n in (found - 1, found)]
    assert halves[1] <= 0.05 < halves[0]
    assert cases_for_half_width(0.05, values=[1.0] * 10) is None


def test_a_plan_for_an_interval_counts_patients():
    values = np.random.default_rng(3).normal(0.8, 0.05, 25)
    single = cases_for_half_width(0.01, values=values)
    repeated = np.repeat(values, 4)
    assert cases_for_half_width(0.01, values=repeated, cluster=np.arange(100) // 4) == 4 * single
    for call in ({"values": [0.5]}, {"values": values, "cluster": ["one"] * 25}, {"values": values, "sd": 0.1}, {}):
        with pytest.raises(InvalidInput, match="To plan for an interval"):
            cases_for_half_width(0.01, **call)


def test_upper_sd_is_the_chi_square_limit():
    scipy_stats = pytest.importorskip("scipy.stats")
    assert upper_sd(0.1, 20) == pytest.approx(0.1 * np.sqrt(19 / scipy_stats.chi2.ppf(0.2, 19)), rel=1e-10)
    assert cases_to_separate(0.02, 0.1, pilot_n=20) > cases_to_separate(0.02, 0.1)


def test_no_difference_cannot_be_found():
    assert cases_to_separate(0.0, 0.1) is None
    assert cases_to_separate(1e-9, 1.0) is None


def test_plan_names_neighbours_in_order():
    rng = np.random.default_rng(0)
    base = rng.beta(6, 2, 30)
    scores = {"worst": base - 0.1, "best": base + rng.normal(0.05, 0.05, 30), "middle": base + rng.normal(0, 0.05, 30)}
    plans = plan_pairs(scores)
    assert [(plan.a, plan.b) for plan in plans] == [("best", "middle"), ("middle", "worst")]
    assert len(plan_pairs(scores, neighbours_only=False)) == 3
    first = plans[0]
    assert first.more_cases == max(first.cases_needed - 30, 0)
    assert plan_pairs(scores, difference=0.001)[0].cases_needed > first.cases_needed


@pytest.mark.slow
def test_planned_power_is_reached():
    """Plans from pilots of 30 cases: the power of the planned sizes averages to what was asked for."""
    rng = np.random.default_rng(1)
    reached = []
    for _ in range(2000):
        sd = rng.normal(0.0, 1.0, 30).std(ddof=1)
        reached.append(paired_power(0.3, 1.0, cases_to_separate(0.3, sd, pilot_n=30)))
    # The upper 80 % limit of the sd: four of five plans reach the power asked for (0.8 +- 0.009 at 2000 pilots).
    assert np.mean(np.array(reached) >= 0.8) == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("call", [lambda: cases_to_separate(1, 1, power=2), lambda: cases_for_half_width(0, 1)])
def test_nonsense_is_refused(call):
    with pytest.raises(InvalidInput):
        call()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_no_plan_follows_from_a_number_that_is_none(bad):
    """The deviation of one case is a NaN, and two cases were said to be enough."""
    for plan in (cases_to_separate, paired_power, detectable_difference, cases_for_half_width):
        arguments = {"difference": 0.1, "half_width": 0.1, "n": 20, "sd": bad}
        wanted = inspect.signature(plan).parameters
        with pytest.raises(InvalidInput, match="standard deviation of 0 or more"):
            plan(**{name: value for name, value in arguments.items() if name in wanted})
    if not bad < 0:
        with pytest.raises(InvalidInput, match="difference"):
            cases_to_separate(bad, 0.1)


def test_a_plan_counts_patients_where_they_have_several_cases():
    """Every patient four times over: four times as many cases say no more than one of each."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(0.80, 0.05, 25), rng.normal(0.79, 0.05, 25)
    (single,) = plan_pairs({"a": a, "b": b})
    ids = [f"{i:03d}" for i in range(1, 101)]
    patients = {case: str(k // 4) for k, case in enumerate(ids)}
    repeated = {"a": np.repeat(a, 4), "b": np.repeat(b, 4)}
    (plan,) = plan_pairs(repeated, cluster=patients)
    assert (plan.n, plan.difference) == (100, pytest.approx(single.difference))
    assert plan.cases_needed == 4 * single.cases_needed
    assert plan.power == pytest.approx(single.power, rel=1e-9)
    assert plan.detectable == pytest.approx(single.detectable, rel=1e-9)
    assert plan_pairs(repeated)[0].cases_needed < 0.5 * plan.cases_needed
    (alone,) = plan_pairs({"a": a, "b": b}, cluster={f"{i:02d}": f"{i}" for i in range(1, 26)})
    assert alone == single


def test_forty_cases_of_four_patients_are_four_patients():
    """Their t test has 3 degrees of freedom, not 39, and a difference of three standard errors is rarely found."""
    means = np.array([0.01, 0.02, 0.03, 0.06])
    a = np.repeat(0.8 + means, 10)
    patients = {f"{k + 1:02d}": str(k // 10) for k in range(40)}
    (plan,) = plan_pairs({"a": a, "b": np.full(40, 0.8)}, cluster=patients)
    assert plan.power == pytest.approx(paired_power(means.mean(), means.std(ddof=1), 4), rel=1e-6)
    assert plan.power < 0.6
