"""Plug-ins: found through entry points of a package of somebody else, checked, refused when offered twice."""

import shutil

import pytest

from segauge.errors import InvalidInput
from segbench.registry import DATASETS, MODELS, PluginError, dataset, model, offers


def test_a_dataset_and_a_model_of_somebody_else(third_party, tmp_path):
    assert offers(DATASETS)["tiny"].package == "tiny-bench"
    assert "tiny-threshold" in offers(MODELS)
    found = dataset("tiny", tmp_path, {"count": 2})
    assert found.case_ids() == ["tiny_00", "tiny_01"]
    assert model("tiny-threshold", {"name": "mine"}).card.name == "mine"


def test_offers_are_listed_without_loading_them(third_party, monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "tiny_bench", raising=False)
    assert "tiny" in offers(DATASETS)
    assert "tiny_bench" not in sys.modules


def test_names_that_nobody_offers(third_party):
    with pytest.raises(InvalidInput, match="did you mean 'tiny'"):
        dataset("tinny")
    with pytest.raises(InvalidInput, match="did you mean 'tiny-threshold'"):
        model("tiny-treshold")


def test_options_are_refused_by_the_plug_in(third_party, tmp_path):
    with pytest.raises(InvalidInput, match="did you mean 'count'"):
        dataset("tiny", tmp_path, {"coumt": 2})


def test_plug_ins_that_cannot_be_used_are_named_with_their_package(third_party, tmp_path):
    with pytest.raises(PluginError, match="'broken' of tiny-bench cannot be loaded"):
        dataset("broken")
    with pytest.raises(PluginError, match="gave back a object without card, case_ids, cases, prepare"):
        dataset("cardless")


def test_the_same_name_from_two_packages_is_refused(third_party, tmp_path, monkeypatch):
    other = tmp_path / "other_bench-2.0.dist-info"
    shutil.copytree(third_party / "tiny_bench-1.0.dist-info", other)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other-bench\nVersion: 2.0\n")
    (other / "entry_points.txt").write_text("[segbench.datasets]\ntiny = other_bench:another\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PluginError, match="'tiny' is offered twice") as caught:
        offers(DATASETS)
    assert "other-bench" in str(caught.value)
    assert "tiny-bench" in str(caught.value)
