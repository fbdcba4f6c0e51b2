"""Rank tests of groups: small cases by hand, then random samples with and without ties against the definitions."""

import subprocess
import sys

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats import kruskal_wallis, mann_whitney
from segauge.stats.significance import fisher_exact, share_gap_limits


def test_two_against_two_apart_has_two_of_six_orders_beyond():
    """U is 0 or 4 in 2 of the 6 ways to put two cases among four."""
    assert mann_whitney([1, 2], [3, 4]) == pytest.approx(2 / 6, rel=1e-12)


def test_groups_of_one_value_cannot_differ():
    assert mann_whitney([1, 1, 1], [1, 1]) == 1.0
    assert kruskal_wallis([[1, 1, 1], [1, 1]]) == 1.0


#: Three groups, hits and sizes of two shares, and the p-values of an implementation of our own from the definitions:
#: ranks by hand, U counted out by the Gaussian binomial, the hypergeometric tables added up.
BY_DEFINITION = [
    (
        [[np.inf, -1.0, -1.0], [-0.1, 1.2, 0.4, -0.0, -1.2, 0.4, -1.5], [-3.067, 0.379, 0.183, -0.551, 1.084, 0.243]],
        [116, 7],
        [193, 29],
        0.9973696685183638,
        1.0,
        0.0004704263959975397,
    ),
    (
        [
            [0.75, 1.59, 0.55, 0.85, 0.41, 1.07, -0.41, -2.07],
            [-0.6, -1.1, 0.6, 0.3, 0.5, 0.9, 0.1],
            [-1.1, 0.7, 1.3, -1.1, 0.2, 0.1, -0.7, 0.2],
        ],
        [75, 176],
        [159, 196],
        0.3665909606409884,
        0.3356643356643357,
        6.552526801928421e-19,
    ),
    (
        [[-2.15, -1.629, -0.935, -1.119, 0.138, -1.397], [0.0, 1.0, 1.0], [0.05, 0.77, 0.72, 1.93]],
        [8, 1],
        [53, 75],
        0.024866969654111698,
        0.051821793832101615,
        0.003719609983987279,
    ),
    (
        [[1.0, -2.0, -2.0, 1.0, 0.0, -1.0, 1.0, -1.0], [0.954, -0.712, -0.113, 0.677, -0.634], [-0.56, 0.2]],
        [7, 57],
        [30, 93],
        0.9405583521168059,
        0.8247732801398957,
        0.00033218195067585425,
    ),
    (
        [[np.inf, 0.773, -0.228, 0.372], [0.9, -0.5, 0.3, -0.5, 2.0, 1.8], [-0.422, -0.673, 0.52]],
        [129, 74],
        [146, 78],
        0.3588706045658076,
        0.7483812122920345,
        0.14926255173789582,
    ),
    (
        [
            [1.0, -0.0, 0.0, -0.0, 1.0, 0.0, 1.0, -1.0],
            [-2.083, 0.994, 0.097, 1.965, -0.874, 0.053, 0.588],
            [-1.87, 1.84, -0.31, 1.43, -0.37, 0.87],
        ],
        [47, 68],
        [159, 120],
        1.0,
        0.9532699907400577,
        8.485562483529102e-06,
    ),
    (
        [
            [-1.523, -0.508, -0.437, 0.027, 0.111, -0.395, 1.526, 0.741],
            [-0.36, 0.65, 1.44, 1.07],
            [-1.316, 0.151, 0.29, -0.263],
        ],
        [77, 9],
        [190, 85],
        0.2883540607030858,
        0.21414141414141413,
        2.6118241458475077e-07,
    ),
    (
        [[-0.0, 1.0, -0.0, 0.0, 2.0, 1.0], [-0.237, -1.363, -0.156, 0.595], [-0.5, -0.7, 0.0, 0.6, 0.6]],
        [16, 161],
        [120, 168],
        0.11277162635687689,
        0.06572362094541502,
        1.7705419549668903e-51,
    ),
    (
        [[np.inf, -0.09], [-0.6, 0.3, 0.6], [0.3, 0.7, 1.3, 1.5, 0.6, 1.4, -1.0, -0.1]],
        [139, 94],
        [183, 100],
        0.5575215377568313,
        0.8,
        7.513163674716684e-05,
    ),
    (
        [
            [-0.08, 0.81, -1.05, -1.35, 1.25, -0.15, -1.3],
            [0.7, 0.3, -0.7, -2.1, 0.6, 0.5, -1.7, -0.4],
            [1.0, 1.0, -0.0, 1.0, 1.0],
        ],
        [52, 3],
        [87, 84],
        0.05256962050032191,
        0.8665112665112665,
        9.157056168746969e-17,
    ),
    (
        [[1.1, 0.1, 1.0, 1.2, -0.6], [1.3, -0.3, 0.9], [-1.0, -0.2]],
        [32, 10],
        [32, 145],
        0.2925584190246904,
        1.0,
        8.89555959467448e-27,
    ),
    (
        [
            [0.76, -1.08, -0.83, -0.42, 1.25, 0.61],
            [-0.83, -0.53, 0.83, 1.81, 0.96, 0.67, -1.58],
            [-1.0, 2.0, -1.0, -1.0, -1.0, -1.0],
        ],
        [135, 120],
        [145, 132],
        0.35185955615438613,
        0.7747957407506022,
        0.5143245166870822,
    ),
]


@pytest.mark.parametrize(("groups", "hits", "sizes", "kruskal", "mann", "fisher"), BY_DEFINITION)
def test_p_values_are_those_of_the_definitions(groups, hits, sizes, kruskal, mann, fisher):
    assert kruskal_wallis(groups) == pytest.approx(kruskal, rel=0, abs=1e-12)
    assert mann_whitney(groups[0], groups[1]) == pytest.approx(mann, rel=0, abs=1e-12)
    assert fisher_exact(hits, sizes) == pytest.approx(fisher, rel=1e-9, abs=1e-12)


def test_the_lady_tasting_tea():
    """Three of four cups right on both sides: 34 of 70 tables are no more probable."""
    assert fisher_exact((3, 1), (4, 4)) == pytest.approx(34 / 70, rel=1e-12)


def test_missing_values_are_left_out():
    assert mann_whitney([1, np.nan, 2], [3, 4]) == mann_whitney([1, 2], [3, 4])
    assert kruskal_wallis([[1, np.nan, 2], [3, 4], [np.nan]]) == kruskal_wallis([[1, 2], [3, 4]])


def test_too_little_is_refused():
    with pytest.raises(InvalidInput, match="two groups"):
        kruskal_wallis([[1, 2]])
    with pytest.raises(InvalidInput, match="value in each"):
        mann_whitney([1], [np.nan])


def test_failed_distances_are_the_largest_values():
    rng = np.random.default_rng(2)
    one, other = rng.normal(3, 1, 15), np.concatenate([rng.normal(3, 1, 10), [np.inf] * 6])
    large = np.where(np.isinf(other), 1e6, other)
    assert mann_whitney(one, other) == mann_whitney(one, large)
    assert kruskal_wallis([one, other]) == kruskal_wallis([one, large])


def test_scipys_statistics_are_loaded_only_where_a_test_is_run():
    """They take a second to load."""
    code = "import sys, segauge.stats.significance; assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_limits_of_a_difference_of_shares_are_newcombes():
    """Newcombe 1998, table II, method 10: 56/70 - 48/80 and 9/10 - 3/10."""
    assert share_gap_limits((56, 48), (70, 80), 0.95) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert share_gap_limits((9, 3), (10, 10), 0.95) == pytest.approx((0.1705, 0.8090), abs=5e-5)
