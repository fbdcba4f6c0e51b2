"""Sums and quantiles of distances: the kernel answers what the reference defines."""

import numpy as np
import pytest

from segauge.geometry import reference
from segauge.geometry.engine import _kernel as kernel

pytestmark = pytest.mark.skipif(kernel is None, reason="segauge was installed without its compiled kernel")

#: Sums of up to 20,000 numbers in another order: each addition rounds by 1e-16 of the sum.
ROUNDING = 1e-12


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 1023, 1025, 20_000])
@pytest.mark.parametrize("kind", ["spread", "few values", "zero", "one outlier"])
def test_kernel_and_reference_agree(size, kind):
    rng = np.random.default_rng(size)
    values = {
        "spread": rng.exponential(2.0, size),
        "few values": rng.integers(0, 3, size) * 0.5,
        "zero": np.zeros(size),
        "one outlier": np.where(np.arange(size) == size // 2, 1e9, rng.random(size)),
    }[kind]
    weights = rng.uniform(0.1, 2.0, size)
    assert kernel.totals(values, weights) == pytest.approx(reference.totals(values, weights), rel=ROUNDING)
    assert kernel.largest(values) == reference.largest(values)
    for limit in (0.0, 0.5, float(values[0]), 1e10):
        within = reference.weight_within(values, weights, limit)
        assert kernel.weight_within(values, weights, limit) == pytest.approx(within, rel=ROUNDING)
    for share in (1e-6, 0.31, 0.5, 0.95 - 1e-12):
        assert kernel.weighted_quantile(values, weights, share) == reference.weighted_quantile(values, weights, share)


def test_what_is_not_a_number_ends_nothing():
    values = np.array([np.nan, 1.0, np.inf, 2.0] * 50)
    weights = np.ones(len(values))
    assert kernel.weighted_quantile(values, weights, 0.2) == 1.0


def test_lists_that_do_not_fit_are_refused():
    for values, weights in ((np.ones(3), np.ones(2)), (np.ones(0), np.ones(0))):
        with pytest.raises(ValueError, match="as many"):
            kernel.totals(values, weights)
