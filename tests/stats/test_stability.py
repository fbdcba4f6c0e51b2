"""Stability of an order: certain where every case agrees, a coin toss where none does."""

import numpy as np
import pytest

from segauge.stats import Scale, ScoreMatrix, order_stability


def matrix(values, higher=True):
    values = np.asarray(values, dtype=float)
    models = tuple("abc"[: values.shape[1]])
    return ScoreMatrix(tuple(f"{i:03d}" for i in range(len(values))), models, values, Scale(higher))


def test_an_order_that_every_case_has_is_there_with_any_number():
    base = np.random.default_rng(1).normal(size=(60, 1))
    found = order_stability(matrix(base + np.array([0.3, 0.2, 0.1])), draws=100)
    assert set(found.tau) == set(found.same_winner) == {1.0}
    assert (found.winner, found.n_cases) == ("a", 60)
    assert found.sizes == (5, 10, 20, 60, 100)
    assert order_stability(matrix(base + np.array([0.3, 0.2, 0.1]), higher=False), draws=100).winner == "c"


def test_an_order_by_chance_settles_slowly():
    values = np.random.default_rng(2).normal(size=(200, 3))
    found = order_stability(matrix(values), draws=400)
    # Three models of one kind: with few cases the winner is any of them.
    assert found.same_winner[0] == pytest.approx(1 / 3, abs=0.15)
    assert found.tau[0] < found.tau[-1]


def test_too_few_complete_cases_have_none():
    assert order_stability(matrix([[1.0, np.nan, 2.0]] * 20)) is None
    assert order_stability(matrix([[1.0, 0.5, 2.0]] * 4)) is None
