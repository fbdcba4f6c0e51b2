"""Resampled sums are exact: no thread, chunk or neighbouring column can change a bit."""

import os
import subprocess
import sys

import numpy as np

from segauge.stats import resampling
from segauge.stats.resampling import Sample, count_blocks, fixed_point, resampled_sums, stream

VALUES = np.random.default_rng(1).lognormal(0.0, 2.0, (83, 7))


def test_counts_are_resamples_of_n_cases():
    counts = np.concatenate(list(count_blocks(13, 2500, stream(0, "x"))))
    assert counts.shape == (2500, 13)
    assert (counts.sum(axis=1) == 13).all()
    # Mean 1 and variance 1 - 1/13 per cell; 32,500 cells give the mean exactly and the variance to about 1 %.
    assert counts.mean() == 1.0
    assert abs(counts.var() - (1 - 1 / 13)) < 0.04


def test_strata_keep_their_sizes():
    strata = [np.arange(0, 5), np.arange(5, 13)]
    counts = np.concatenate(list(count_blocks(13, 300, stream(0, "x"), strata)))
    assert (counts[:, :5].sum(axis=1) == 5).all()
    assert (counts[:, 5:].sum(axis=1) == 8).all()


def test_fixed_point_sums_are_exact_whole_numbers():
    whole, unit = fixed_point(VALUES, len(VALUES))
    assert (np.abs(whole).sum(axis=0) < 2**53).all()
    # The rounding promised: n * 2**-51 of the largest value of the column.
    assert (np.abs(whole * unit - VALUES) <= 83 * 2.0**-51 * np.abs(VALUES).max(axis=0)).all()


def test_sums_do_not_depend_on_the_other_columns():
    together = resampled_sums(VALUES, 1500, stream(0, "cases"))
    for column in range(VALUES.shape[1]):
        alone = resampled_sums(VALUES[:, [column]], 1500, stream(0, "cases"))
        assert alone.tobytes() == together[:, [column]].tobytes()


def test_blocks_of_any_size_give_the_same_bytes(monkeypatch):
    whole = resampled_sums(VALUES, 1500, stream(0, "cases"))
    monkeypatch.setattr(resampling, "BLOCK", 37)
    assert resampled_sums(VALUES, 1500, stream(0, "cases")).tobytes() == whole.tobytes()


def test_any_number_of_threads_gives_the_same_bytes():
    code = (
        "import hashlib, numpy as np;"
        "from segauge.stats import rank;"
        "x = np.random.default_rng(0).random((100, 12));"
        "r = rank({f'm{j}': x[:, j] for j in range(12)}, n_resamples=2000, bounds=(0, 1));"
        "print(hashlib.sha256(repr(r.to_dict()).encode()).hexdigest())"
    )
    digests = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        digests.add(run.stdout)
    assert len(digests) == 1


def test_resampled_means_and_errors_are_those_of_the_drawn_cases():
    sample = Sample.of(VALUES)
    shift, error = sample.resampled(50, stream(0, "cases"))
    counts = np.concatenate(list(count_blocks(len(VALUES), 50, stream(0, "cases"))))
    for b in range(50):
        drawn = np.repeat(VALUES, counts[b].astype(int), axis=0)
        # Fixed point keeps about 1e-13 of the largest value; the means here are some per cent of it.
        np.testing.assert_allclose(shift[b], drawn.mean(axis=0) - VALUES.mean(axis=0), rtol=0, atol=1e-9)
        np.testing.assert_allclose(error[b], drawn.std(axis=0, ddof=1) / np.sqrt(83), rtol=1e-8)


def test_missing_values_are_left_out_of_the_resampled_means():
    holes = VALUES.copy()
    holes[::3, 0] = np.nan
    sample = Sample.of(holes)
    shift, error = sample.resampled(50, stream(0, "cases"))
    counts = np.concatenate(list(count_blocks(len(VALUES), 50, stream(0, "cases"))))
    for b in range(50):
        drawn = np.repeat(holes[:, 0], counts[b].astype(int))
        drawn = drawn[np.isfinite(drawn)]
        np.testing.assert_allclose(shift[b, 0] + sample.means[0], drawn.mean(), rtol=1e-9)
        np.testing.assert_allclose(error[b, 0], drawn.std(ddof=1) / np.sqrt(drawn.size), rtol=1e-7)
    full, _ = Sample.of(VALUES).resampled(50, stream(0, "cases"))
    np.testing.assert_allclose(shift[:, 1:], full[:, 1:], rtol=0, atol=1e-9)


def test_constant_columns_have_exactly_no_spread():
    sample = Sample.of(np.full((30, 1), 0.1))
    shift, error = sample.resampled(200, stream(0, "cases"))
    assert not shift.any()
    assert not error.any()
