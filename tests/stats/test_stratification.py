"""Gaps within strata: exact where the groups differ by their strata alone, Welch's error without strata."""

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.stats import stratified_gap

CI = {"n_resamples": 2000}


def test_without_strata_it_is_the_plain_difference():
    rng = np.random.default_rng(1)
    values = rng.normal(size=50)
    a = np.arange(50) < 20
    found = stratified_gap(values, a, ~a, **CI)
    assert found.gap.value == pytest.approx(values[a].mean() - values[~a].mean(), abs=1e-12)
    assert (found.n_a, found.n_b, found.left_out) == (20, 30, 0)


def test_the_interval_is_about_welchs():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(0.3, 1, 60), rng.normal(0, 2, 90)])
    a = np.arange(150) < 60
    found = stratified_gap(values, a, ~a).gap
    welch = ttest_ind(values[a], values[~a], equal_var=False).confidence_interval()
    # Bootstrap-t and t agree for normal values up to the noise of resampling.
    assert (found.ci_low, found.ci_high) == pytest.approx((welch.low, welch.high), abs=0.06)


def test_groups_that_differ_by_their_strata_alone_have_no_gap():
    """Old cases score 0.5, young ones 0.9; group a is mostly old. Raw gap -0.24, within ages nothing."""
    rng = np.random.default_rng(3)
    old = np.array([True] * 80 + [False] * 20 + [True] * 20 + [False] * 80)
    a = np.arange(200) < 100
    values = np.where(old, 0.5, 0.9) + np.tile(rng.normal(0, 0.01, 20), 10)
    assert stratified_gap(values, a, ~a, **CI).gap.value == pytest.approx(-0.24, abs=0.01)
    within = stratified_gap(values, a, ~a, ["old" if x else "young" for x in old], **CI)
    assert within.gap.value == pytest.approx(0.0, abs=1e-12)  # the same 20 deviations in every cell
    assert within.strata == ("old", "young")


def test_strata_without_both_groups_are_counted():
    values = np.arange(8.0)
    a = np.array([True, True, False, False, True, True, True, False])
    found = stratified_gap(values, a, ~a, ["x"] * 4 + ["y"] * 3 + [None], **CI)
    assert found.strata == ("x",)
    assert found.left_out == 4
    assert found.gap.value == pytest.approx(-2.0)
    assert stratified_gap(values, a, ~a, ["z"] * 2 + [None] * 6, **CI).gap.value is None


def test_patients_with_copies_are_no_more_sure():
    rng = np.random.default_rng(4)
    values, a = rng.normal(size=40), np.arange(40) < 20
    once = stratified_gap(values, a, ~a, **CI).gap
    copies = stratified_gap(
        np.tile(values, 4), np.tile(a, 4), np.tile(~a, 4), cluster=[f"{i:02d}" for i in range(40)] * 4, **CI
    ).gap
    # Only the correction of the cells' sizes differs: sqrt(20/19) against sqrt(80/79).
    assert copies.half_width == pytest.approx(once.half_width * np.sqrt(80 / 79 / (20 / 19)), rel=1e-6)


def test_lengths_must_agree():
    with pytest.raises(InvalidInput, match="groups and strata for 3 cases"):
        stratified_gap([1, 2, 3], [True, False], [False, True, True])
