"""The two intervals of a pair: one that agrees with the verdict, and one that no other model changes."""

import numpy as np
import pytest

from segauge.stats import compare, estimate, rank
from segauge.stats.comparison import COMPARISON_METHODS


def random_board(rng):
    """Return scores of a few models on a few cases: ordinary ones, with failures, rounded, or equal."""
    n, models = int(rng.integers(2, 40)), int(rng.integers(2, 8))
    values = rng.beta(8, 2, (n, 1)) + rng.normal(0, 0.05, (n, models)) + rng.normal(0, 0.03, models)
    values = np.clip(values, 0, 1)
    kind = rng.integers(0, 4)
    if kind == 1:
        values[rng.random(values.shape) < 0.1] = 0.0
    if kind == 2:
        values = np.round(values, int(rng.integers(0, 2)))
    if kind == 3:
        values[:, -1] = values[:, 0]
    return {f"m{j}": column for j, column in enumerate(values.T)}


@pytest.mark.slow
def test_a_pair_is_decided_exactly_where_its_interval_excludes_0():
    """15 % of the decided pairs of the Touchstone boards had an interval that contained 0."""
    rng = np.random.default_rng(5)
    decided = cut = 0
    for _ in range(120):
        scores = random_board(rng)
        for method in COMPARISON_METHODS:
            old = compare(scores, method=method, bounds=(0, 1), n_resamples=200, intervals="single-step").pairs
            for pair, before in zip(
                compare(scores, method=method, bounds=(0, 1), n_resamples=200).pairs, old, strict=True
            ):
                assert pair.verdict == before.verdict
                if method == "wilcoxon":
                    assert pair.ci_low is None
                    continue
                assert (pair.ci_low > 0 or pair.ci_high < 0) == (pair.verdict in ("better", "worse")), pair
                assert -1 <= pair.ci_low <= pair.delta <= pair.ci_high <= 1, pair
                decided += pair.verdict in ("better", "worse")
                cut += pair.verdict in ("better", "worse") and before.ci_low <= 0 <= before.ci_high
    # The check can fail: without the cut, decided pairs contain 0.
    assert decided > 500
    assert cut > 10


def test_no_other_model_changes_this_pair_alone():
    rng = np.random.default_rng(6)
    for _ in range(20):
        scores = random_board(rng)
        names = list(scores)
        together = compare(scores, bounds=(0, 1), n_resamples=100)
        for other in names[2:]:
            fewer = compare({name: scores[name] for name in names if name != other}, bounds=(0, 1), n_resamples=100)
            for pair in fewer.pairs:
                whole = together[pair.a, pair.b]
                assert (pair.alone_low, pair.alone_high) == (whole.alone_low, whole.alone_high)


def test_this_pair_alone_is_the_interval_of_the_differences():
    rng = np.random.default_rng(7)
    a, b = rng.beta(8, 2, 20), rng.beta(8, 2, 20)
    pair = compare({"a": a, "b": b}, bounds=(0, 1)).pairs[0]
    found = estimate(a - b, bounds=(-1, 1))
    assert (pair.alone_low, pair.alone_high) == pytest.approx((found.ci_low, found.ci_high))
    turned = compare({"b": b, "a": a}, bounds=(0, 1))["a", "b"]
    assert (turned.alone_low, turned.alone_high) == pytest.approx((pair.alone_low, pair.alone_high))


def test_both_intervals_are_printed_under_their_names():
    rng = np.random.default_rng(8)
    base = rng.beta(8, 2, (15, 1))
    scores = dict(zip("abc", (base + rng.normal(0, 0.02, (15, 3)) + [0.03, 0.0, 0.0]).T, strict=True))
    pair = compare(scores)["a", "b"]
    assert "all pairs together" in str(pair)
    assert "this pair alone" in str(pair)
    assert "-0.0," not in str(pair)


def test_a_limit_that_was_cut_short_of_0_is_not_printed_as_0():
    """Step-down decides more pairs than single-step intervals show: one had [-0.0018, +0.0272] beside p < 0.001."""
    rng = np.random.default_rng(9)
    shown = []
    for _ in range(60):
        for pair in rank(random_board(rng), bounds=(0, 1), n_resamples=200).comparison.pairs:
            if pair.verdict in ("better", "worse") and min(abs(pair.ci_low), abs(pair.ci_high)) < 1e-6:
                shown.append(pair.interval_text())
    assert shown
    assert all("> 0" in text or "< 0" in text for text in shown)
