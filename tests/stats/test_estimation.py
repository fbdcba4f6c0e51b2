"""Estimate prints what matters, and the classic bootstrap keeps its stream."""

import json
import math

import numpy as np
import pytest

from segauge.stats import Estimate, bootstrap_ci, estimate


def loop_per_resample(values, statistic, n_resamples=500, seed=0):
    """The definition: one draw of positions per resample, in this order."""
    rng = np.random.default_rng(seed)
    return np.array([statistic(values[rng.integers(0, values.size, values.size)]) for _ in range(n_resamples)])


@pytest.mark.parametrize("statistic", [np.mean, np.median, np.max, lambda x: float(x[0])])
@pytest.mark.parametrize("n", [2, 3, 20, 41])
def test_drawing_at_once_is_the_stream_of_one_draw_per_resample(statistic, n):
    values = np.random.default_rng(n).random(n)
    found = bootstrap_ci(values, statistic, n_resamples=2500, seed=3)
    tail = (1.0 - 0.95) / 2.0
    expected = np.quantile(loop_per_resample(values, statistic, 2500, 3), [tail, 1.0 - tail])
    assert (found.ci_low, found.ci_high) == tuple(expected)


def test_infinite_values_are_left_out_and_counted():
    found = bootstrap_ci([1.0, 2.0, np.inf, np.nan])
    assert found.n == 2
    assert found.n_excluded == 2


def test_prints_short_and_shows_the_rest_on_demand():
    found = Estimate(0.9039, 0.861, 0.936, 0.95, 20, "jeffreys", {"absent": 2}, {"missed": 1})
    assert str(found) == "0.904 [0.861, 0.936]"
    assert repr(found) == "Estimate(0.904 [0.861, 0.936], n=20, 1 missed, without 2 absent, 95 % jeffreys)"
    assert found._repr_html_() == (
        "<span title='n=20, 1 missed, without 2 absent, 95 % jeffreys'>0.904 [0.861, 0.936]</span>"
    )


def test_prints_as_many_figures_as_the_interval_supports():
    assert str(Estimate(6.129, 4.37, 8.24, unit="mm")) == "6.1 [4.4, 8.2] mm"
    assert str(Estimate(0.93001, 0.92988, 0.93014)) == "0.9300 [0.9299, 0.9301]"  # four decimals at most
    assert str(Estimate(20.54, 1.35, 134.2, unit="mm")) == "21 [1, 134] mm"
    assert str(Estimate(-0.00001, -0.02, 0.02)) == "0.000 [-0.020, 0.020]"
    assert str(Estimate(None, None, None)) == "no value"
    assert str(Estimate(0.5, None, None)) == "0.500"


def test_html_is_inert():
    found = Estimate(0.5, 0.4, 0.6, excluded={"<script>'": 1})
    assert "<script>" not in found._repr_html_()


def test_plain_values_are_strict_json():
    for values in ([], [0.5], [0.5, 0.6, np.inf]):
        json.dumps(estimate(values).to_dict(), allow_nan=False)


def test_same_seed_same_bytes_and_names_have_their_own_streams():
    values = np.random.default_rng(0).random(25)
    first = estimate(values, ci="percentile", seed=1, name="a")
    assert first == estimate(values, ci="percentile", seed=1, name="a")
    assert first != estimate(values, ci="percentile", seed=1, name="b")
    assert first != estimate(values, ci="percentile", seed=2, name="a")


def test_equal_values_have_no_interval_where_nothing_but_their_spread_is_known():
    for values in ([0.0] * 3, [2.0] * 6):
        found = estimate(values, bounds=(0.0, math.inf), unit="mm")
        assert (found.ci_low, found.ci_high, found.half_width) == (None, None, None)
        assert "no interval: all values equal" in found.details()
        assert found.to_dict()["no_interval"] == "all values equal"
    assert estimate([0.9] * 3, bounds=(0.0, 1.0), ci="t").ci_low is None
    # What the ends of the scale, or the order of the values alone, say stays.
    assert estimate([1.0] * 3, bounds=(0.0, 1.0)).ci_low < 0.9
    assert estimate([2.0] * 6, statistic="median").ci_high == 2.0
    assert "no_interval" not in estimate([2.0, 3.0]).to_dict()
