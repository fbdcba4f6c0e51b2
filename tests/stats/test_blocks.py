"""What is computed block by block does not depend on the blocks, and is what it is all at once."""

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

from segauge.stats import compare, matrix, pairs, schemes
from segauge.stats.matrix import average_ranks
from segauge.stats.resampling import Draws, resampled_sums, stream
from segauge.stats.schemes import kendall_tau
from segauge.stats.significance import signed_ranks, signed_ranks_of


def rounded_scores(n, count, seed=0):
    return np.round(np.random.default_rng(seed).normal(0, 1, (n, count)), 1)


@pytest.mark.parametrize("n", [3, 40, 300])
def test_kept_draws_have_the_sums_of_fresh_ones(n):
    columns = rounded_scores(n, 6)
    # More resamples than a block, so that the ends of blocks are met.
    kept = Draws.of(n, 1300, stream(5, "cases"))
    assert np.array_equal(kept.sums(columns), resampled_sums(columns, 1300, stream(5, "cases")))
    # One after the other, as whole columns: exact sums have no order.
    assert np.array_equal(kept.sums(columns[:, :2]), kept.sums(columns)[:, :2])


@pytest.mark.parametrize("missing", [False, True])
def test_comparisons_do_not_depend_on_the_blocks_of_pairs(monkeypatch, missing):
    values = rounded_scores(30, 6) + np.arange(6) * 0.2
    if missing:
        values[4, 2] = values[7, 5] = np.nan
    scores = {f"m{j}": values[:, j] for j in range(6)}
    whole = compare(scores, n_resamples=300)
    monkeypatch.setattr(pairs, "PAIRS_AT_ONCE", 4)
    assert compare(scores, n_resamples=300).to_dict() == whole.to_dict()


def test_ranks_of_many_rows_are_those_of_each():
    rows = rounded_scores(2 * matrix._ROWS_AT_ONCE + 5, 7)
    assert np.array_equal(average_ranks(rows), [rankdata(-row) for row in rows])
    assert np.array_equal(average_ranks(rows[0]), rankdata(-rows[0]))


def test_orders_beside_another_are_compared_as_each_alone():
    orders = np.array([rankdata(row) for row in rounded_scores(2 * schemes._ORDERS_AT_ONCE + 3, 6)])
    one = rankdata(rounded_scores(1, 6, seed=2)[0])
    # Both are a whole number over the square root of another; they round apart in the last digit.
    assert np.allclose(kendall_tau(one, orders), [kendalltau(one, row).statistic for row in orders], atol=1e-14)


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_signed_ranks_of_all_pairs_are_those_of_each(digits):
    rng = np.random.default_rng(digits)
    for scale in (1e-3, 1.0, 1e3):
        columns = np.round(rng.normal(0, scale, (25, 8)), digits)
        columns[3] = 0.0
        with_gaps = np.where(rng.random(columns.shape) < 0.1, np.nan, columns)
        for given in (columns, with_gaps, columns[:0]):
            found = signed_ranks_of(given)
            assert found == [signed_ranks(column) for column in given.T]
            for column, one in zip(given.T, found, strict=True):
                kept = column[np.isfinite(column) & (column != 0)]
                assert one.positive == rankdata(np.abs(kept))[kept > 0].sum()
                assert one.n == kept.size
