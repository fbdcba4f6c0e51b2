"""The configs that come with the project can be planned, and the manual knows every dataset and model on offer."""

import re

import pytest

from segbench import registry
from segbench.config import read_config
from segbench.pipeline import open_benchmark
from tests.conftest import PROJECT

CONFIGS = sorted((PROJECT / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_can_be_read(path):
    config = read_config(path)
    assert config.title
    assert config.results_path.name == f"{path.stem}.json"


def test_phantoms_rank_all_five():
    plan = open_benchmark(read_config(PROJECT / "configs" / "phantom.yaml")).plan
    assert len(plan.case_ids) == 12
    assert len(plan.ranked) == 5


def test_kidneys_are_not_ranked_for_who_has_seen_them():
    plan = open_benchmark(read_config(PROJECT / "configs" / "kits23.yaml")).plan
    assert len(plan.case_ids) == 20
    assert plan.ranked == ("TotalSegmentator", "MOOSE")
    (left_out,) = [str(one) for one in plan.exclusions]
    assert "CT-FM" in left_out
    assert "pre-trained" in left_out


@pytest.mark.shared
def test_heads_are_resampled_by_person(shared, monkeypatch):
    monkeypatch.chdir(PROJECT)
    config = read_config(PROJECT / "configs" / "brain_extraction.yaml")
    chosen = registry.dataset("folder", shared / "data" / "t1_brains", config.dataset.options)
    assert len(chosen.case_ids()) == 8
    assert chosen.card.cluster_column == "person"
    assert len({case.metadata["person"] for case in chosen.cases(chosen.case_ids())}) == 6


@pytest.mark.parametrize("group", [registry.DATASETS, registry.MODELS])
def test_the_manual_knows_what_is_on_offer(group):
    manual = (PROJECT / "docs" / "reference" / "datasets-and-models.md").read_text()
    named = set(re.findall(r"`([\w-]+)`", "\n".join(line for line in manual.splitlines() if line.startswith("| `"))))
    own = {name for name, offer in registry.offers(group).items() if offer.package == "segauge"}
    assert own <= named
