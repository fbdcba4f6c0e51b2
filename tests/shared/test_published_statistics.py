"""Every interval, rank statistic and pairwise interval published with segauge 0.2, recomputed to the last digit."""

import json

import numpy as np
import pytest

from segauge.stats import bootstrap_ci, paired_significance, ranking_stability

FILES = ("kits23_modal.json", "kits23_seed.json")


@pytest.fixture(params=FILES)
def published(request, shared):
    return json.loads((shared / "data" / "segbench_kits23" / request.param).read_text())


def scores(published, metric):
    return {
        model["name"]: np.array([case[metric] for case in model["per_organ"]["kidney"]["per_case"]])
        for model in published["models"]
    }


@pytest.mark.shared
def test_every_published_interval_comes_out_again(published):
    for model in published["models"]:
        for metric, expected in model["per_organ"]["kidney"]["summary"].items():
            found = bootstrap_ci(scores(published, metric)[model["name"]])
            assert (found.value, found.ci_low, found.ci_high) == (
                expected["value"],
                expected["ci_low"],
                expected["ci_high"],
            )


@pytest.mark.shared
def test_every_published_rank_statistic_comes_out_again(published):
    for metric, analysis in published["analysis"]["kidney"].items():
        expected = analysis["ranking"]
        found = ranking_stability(
            scores(published, metric), higher_is_better=expected["higher_is_better"], metric=metric
        )
        assert found.n_cases == expected["n_cases"]
        assert [vars(stat) for stat in found.stats] == expected["stats"]


@pytest.mark.shared
def test_every_published_pair_comes_out_again(published):
    for metric, analysis in published["analysis"]["kidney"].items():
        columns = scores(published, metric)
        for expected in analysis["pairwise"]:
            found = paired_significance(
                columns[expected["a"]],
                columns[expected["b"]],
                a_name=expected["a"],
                b_name=expected["b"],
                higher_is_better=analysis["ranking"]["higher_is_better"],
                confidence=analysis["adjusted_confidence"],
            )
            assert vars(found) == expected
