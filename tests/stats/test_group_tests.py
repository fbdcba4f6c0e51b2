"""Rank tests of groups: small cases by hand, then SciPy on random samples with and without ties."""

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats import kruskal_wallis, mann_whitney
from segauge.stats.group_tests import fisher_exact, share_gap_limits


def test_two_against_two_apart_has_two_of_six_orders_beyond():
    """U is 0 or 4 in 2 of the 6 ways to put two cases among four."""
    assert mann_whitney([1, 2], [3, 4]) == pytest.approx(2 / 6, rel=1e-12)


def test_groups_of_one_value_cannot_differ():
    assert mann_whitney([1, 1, 1], [1, 1]) == 1.0
    assert kruskal_wallis([[1, 1, 1], [1, 1]]) == 1.0


@pytest.mark.parametrize(("n", "m"), [(3, 4), (5, 5), (5, 40), (8, 9), (9, 9), (30, 45), (1, 6)])
@pytest.mark.parametrize("decimals", [None, 1])
def test_mann_whitney_is_scipys(n, m, decimals):
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng([n, m])
    one, other = rng.normal(0.4, 1, n), rng.normal(0, 1, m)
    if decimals is not None:
        one, other = one.round(decimals), other.round(decimals)
        other[:1] = one[:1]  # a tie for certain: both then take the normal approximation
    # Rounding of sums of up to a million counts.
    assert mann_whitney(one, other) == pytest.approx(mannwhitneyu(one, other).pvalue, rel=1e-9)


@pytest.mark.parametrize("decimals", [8, 1])
def test_kruskal_wallis_is_scipys(decimals):
    from scipy.stats import kruskal

    rng = np.random.default_rng(3)
    groups = [rng.normal(shift, 1, n).round(decimals) for shift, n in ((0, 12), (0.5, 30), (0.1, 7))]
    assert kruskal_wallis(groups) == pytest.approx(kruskal(*groups).pvalue, rel=1e-9)


def test_missing_values_are_left_out():
    assert mann_whitney([1, np.nan, 2], [3, 4]) == mann_whitney([1, 2], [3, 4])
    assert kruskal_wallis([[1, np.nan, 2], [3, 4], [np.nan]]) == kruskal_wallis([[1, 2], [3, 4]])


def test_too_little_is_refused():
    with pytest.raises(InvalidInput, match="two groups"):
        kruskal_wallis([[1, 2]])
    with pytest.raises(InvalidInput, match="value in each"):
        mann_whitney([1], [np.nan])


def test_failed_distances_are_the_largest_values():
    from scipy.stats import kruskal, mannwhitneyu

    rng = np.random.default_rng(2)
    one, other = rng.normal(3, 1, 15), np.concatenate([rng.normal(3, 1, 10), [np.inf] * 6])
    assert mann_whitney(one, other) == pytest.approx(mannwhitneyu(one, other).pvalue, rel=1e-12)
    assert kruskal_wallis([one, other]) == pytest.approx(kruskal(one, other).pvalue, rel=1e-12)


def test_fisher_is_scipys():
    from scipy.stats import fisher_exact as theirs

    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes = tuple(int(n) for n in rng.integers(1, 40, 2))
        hits = tuple(int(rng.integers(0, n + 1)) for n in sizes)
        table = [[hits[0], sizes[0] - hits[0]], [hits[1], sizes[1] - hits[1]]]
        assert fisher_exact(hits, sizes) == pytest.approx(theirs(table)[1], rel=1e-9)


def test_limits_of_a_difference_of_shares_are_newcombes():
    """Newcombe 1998, table II, method 10: 56/70 - 48/80 and 9/10 - 3/10."""
    assert share_gap_limits((56, 48), (70, 80), 0.95) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert share_gap_limits((9, 3), (10, 10), 0.95) == pytest.approx((0.1705, 0.8090), abs=5e-5)
