"""No scores, however odd, make the statistics warn, crash or print a NaN: they answer, or refuse in words."""

import json
import subprocess
import sys

import numpy as np
import pytest

from segauge import bootstrap_ci, paired_significance, ranking_stability
from segauge.errors import InvalidInput
from segauge.stats import compare, estimate, estimate_groups, rank
from segauge.stats.comparison import COMPARISON_METHODS


def odd_scores(seed):
    """Few cases and models: plain, binary, constant, with gaps, with failures, with twins."""
    rng = np.random.default_rng(seed)
    n, models = int(rng.integers(1, 14)), int(rng.integers(2, 5))
    values = rng.random((n, models))
    kind = seed % 6
    if kind == 1:
        values = np.round(values)
    elif kind == 2:
        values[:] = 0.5
    elif kind == 3:
        values[rng.random(values.shape) < 0.4] = np.nan
    elif kind == 4:
        values[rng.random(values.shape) < 0.3] = np.inf
    elif kind == 5:
        values[:, 0] = values[:, 1]
    return values, rng


@pytest.mark.parametrize("seed", range(120))
def test_odd_scores_are_answered_or_refused(seed):
    values, rng = odd_scores(seed)
    scores = {f"m{j}": column for j, column in enumerate(values.T)}
    bounds = (0, 1) if rng.random() < 0.5 else None
    labels = [str(label) for label in rng.integers(0, 3, len(values))]
    method = COMPARISON_METHODS[seed % len(COMPARISON_METHODS)]
    ci = ("auto", "percentile", "basic", "bca", "bootstrap-t", "t")[seed // 6 % 6]
    calls = (
        lambda: rank(scores, n_resamples=100, bounds=bounds),
        lambda: compare(scores, n_resamples=100, bounds=bounds, method=method),
        lambda: estimate_groups(values[:, 0], labels, bounds=bounds, n_resamples=100),
        lambda: estimate(values[:, 0], bounds=bounds, ci=ci, n_resamples=100),
        lambda: estimate(values[:, 0], bounds=bounds, ci=ci, n_resamples=100, cluster=labels),
    )
    refusals = []
    for call in calls:
        try:
            json.dumps(call().to_dict(), allow_nan=False)
        except InvalidInput as refusal:
            refusals.append(str(refusal))
    assert all("Without a single score" in words or "no case" in words for words in refusals)


def test_nothing_heavy_is_imported_with_the_statistics():
    code = (
        "import sys, segauge.stats, segauge.io.tables;"
        "print([m for m in ('scipy', 'pandas', 'rich', 'pyarrow') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_table_of_several_structures_is_no_column_of_cases():
    """Three structures of ten cases were taken for thirty cases, and the interval was too narrow by far."""
    table = np.random.default_rng(0).random((10, 3))
    refused = (
        lambda: estimate(table, bounds=(0, 1)),
        lambda: bootstrap_ci(table),
        lambda: compare({"a": table, "b": table}),
        lambda: paired_significance(table, table),
        lambda: ranking_stability({"a": table, "b": table}),
    )
    for call in refused:
        with pytest.raises(InvalidInput, match=r"one number per case, got an array of shape \(10, 3\)"):
            call()
    assert estimate(table[:, :1], bounds=(0, 1)).n == 10
    with pytest.raises(InvalidInput, match="not a number"):
        compare({"a": {"c1": "good"}, "b": {"c1": 0.5}})
