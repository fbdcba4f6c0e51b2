"""Cases on which two metrics disagree: equal ones are not the worst."""

import numpy as np

from segauge.metrics.catalog import metric
from segauge.report.notable import _percentiles


def test_equal_values_share_their_place():
    column, every = np.array([2.0] * 30), range(30)
    assert set(_percentiles(column, every, metric("hd95")).values()) == {0.5}
    one_worse = np.array([2.0] * 29 + [9.0])
    shares = _percentiles(one_worse, every, metric("hd95"))
    assert shares[29] == 0.0
    assert shares[0] == (28 / 2 + 1) / 29


def test_without_ties_it_is_the_share_of_cases_that_are_worse():
    column = np.random.default_rng(0).random(25)
    shares = _percentiles(column, range(25), metric("dice"))
    assert all(shares[i] == (column < column[i]).sum() / 24 for i in range(25))
