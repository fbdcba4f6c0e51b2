"""Cohorts: medians are medians, and a number on the edge of a bin is in the bin that begins there."""

import numpy as np

from segbench.analysis.cohort import describe_cohort


def distribution(values):
    metadata = {f"c{i}": {"x": f"{value:.10g}"} for i, value in enumerate(values)}
    return describe_cohort(metadata, tuple(metadata)).distributions[0]


def test_the_median_of_an_even_number_of_cases_lies_between_two():
    values = [float(x) for x in range(1, 21)]
    first, middle, third = np.quantile(values, (0.25, 0.5, 0.75))
    assert (
        distribution(values).summary["all"]
        == f"median {middle:g} [{first:g}, {third:g}]"
        == "median 10.5 [5.75, 15.25]"
    )


def test_numbers_on_an_edge_are_counted_above_it():
    found = distribution([k / 10 + extra for k in range(10) for extra in (0.0, 0.05)])
    assert found.counts["all"]["0.3 to <0.4"] == 2
    assert set(found.counts["all"].values()) == {2}
    assert sum(found.counts["all"].values()) == 20
    assert set(found.levels) == set(found.counts["all"])


def test_bins_of_dates_keep_their_names_apart():
    found = distribution([20150100 + 7 * k for k in range(40)])
    assert len(set(found.levels)) == len(found.levels)
    assert sum(found.counts["all"].values()) == 40
    assert not [level for level in found.levels if "e+" in level]
