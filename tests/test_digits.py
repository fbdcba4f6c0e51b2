"""How numbers are printed."""

import pytest

from segauge.digits import (
    column_decimals,
    count_of,
    decimals,
    fixed,
    p_equals,
    p_value,
    percent,
    sample_size,
    with_interval,
)
from segauge.stats import Estimate


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.90391, 0.88412, 0.92134, "0.904 [0.884, 0.921]"),
        (6.129, 4.37, 8.24, "6.1 [4.4, 8.2]"),
        (2.8, 0.0, 3.1266, "2.8 [0.0, 3.1]"),  # was "2.8000 [0, 3.1266]"
        (0.989374, 0.98931, 0.98944, "0.9894 [0.9893, 0.9894]"),
        (-0.00004, -0.02, 0.02, "0.000 [-0.020, 0.020]"),  # no "-0"
        (134.2, 96.0, 172.4, "134 [96, 172]"),
        (0.5, None, 0.8, "0.500 [open, 0.800]"),
        (12.345, None, None, "12.3"),
        (0.0, None, None, "0.000"),
    ],
)
def test_value_and_limits_have_as_many_decimals_as_the_interval_supports(value, low, high, text):
    assert with_interval(value, low, high) == text


def test_rounding_up_to_the_next_power_loses_no_figure():
    assert decimals(0.5, 0.5 - 0.00996, 0.5 + 0.00996) == 3  # 0.010, not 0.0100


def test_a_column_has_one_number_of_decimals():
    wide, narrow = Estimate(0.6, 0.45, 0.75), Estimate(0.9481, 0.9442, 0.9511)
    assert column_decimals([wide, wide, wide]) == 2
    # The typical interval asks for two decimals; the narrow one has to show one figure of its own.
    assert column_decimals([wide, wide, narrow]) == 3
    assert column_decimals([]) == 3
    assert column_decimals([Estimate(None, None, None)]) == 3


def test_signs_and_p_values():
    assert fixed(0.0127, 4, signed=True) == "+0.0127"
    assert fixed(-0.00001, 4, signed=True) == "0.0000"
    assert fixed(None, 2, missing="-") == fixed(float("nan"), 2, missing="-") == "-"
    assert p_value(0.00004) == "< 0.001"
    assert p_value(0.0126) == "0.013"
    assert p_equals(0.0001) == "p < 0.001"
    assert p_equals(0.2) == "p = 0.200"


def test_counts_shares_and_sample_sizes():
    assert count_of(39, 40) == "39 of 40"
    assert percent(0.2646) == "26 %"
    assert percent(0.0061) == "0.6 %"
    assert percent(0.0) == "0 %"
    assert percent(1.0) == "100 %"
    assert sample_size(84) == "about 84 cases (80 % power)"
    assert sample_size(1204, power=0.9) == "about 1,204 cases (90 % power)"
    assert sample_size(84, power=None) == "about 84 cases"
    assert sample_size(None) == "no realistic number of cases (80 % power)"
