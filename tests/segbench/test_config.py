"""Configs: those of the reference harness as they are, and words for what is wrong with others."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from segauge.errors import InvalidInput
from segbench.config import RunConfig, read_config
from segbench.pipeline import open_benchmark

#: A config as users of the reference harness have it.
REFERENCE = """
# GPU run: whole kidney on KiTS23.
dataset:
  name: kits23
  root: data/kits23
  case_numbers: [0, 1, 2, 3, 4, 5, 6, 7]

n_cases: 5
organs: [kidney]

models:
  - { type: totalsegmentator, fast: false, name: TotalSegmentator, device: gpu }
  - { type: ctfm }
  - { type: monai, highres: false }
  - { type: moose }

confidence: 0.95
n_resamples: 2000
seed: 0
nsd_tolerance: 2.0
spot_check_dice: 0.1

preview: true
preview_label: "Preview (GPU) - whole-kidney on KiTS23"

cache_dir: predictions/kits23
results_path: results/kits23_modal.json
"""


def config(**changes):
    return RunConfig.from_dict({"dataset": "kits23", "models": ["moose"], **changes})


def test_a_config_of_the_reference_harness_loads_as_it_is(tmp_path):
    path = tmp_path / "kits23.yaml"
    path.write_text(REFERENCE)
    found = read_config(path)
    assert found.dataset.name == "kits23"
    assert found.dataset.root == Path("data/kits23")
    assert found.dataset.options == {"case_numbers": list(range(8))}
    assert [model.type for model in found.models] == ["totalsegmentator", "ctfm", "monai", "moose"]
    assert found.models[0].options == {"fast": False, "name": "TotalSegmentator", "device": "gpu"}
    assert found.structures == ("kidney",)
    assert (found.n_cases, found.n_resamples, found.nsd_tolerance) == (5, 2000, 2.0)
    assert found.preview
    # It took the first ones of its list, and so does a config that lists its cases.
    assert found.selection == "first"
    assert found.cache_dir == Path("predictions/kits23")


def test_the_models_of_a_reference_config_are_planned_and_judged(tmp_path):
    path = tmp_path / "kits23.yaml"
    path.write_text(REFERENCE.replace("results/", f"{tmp_path}/"))
    plan = open_benchmark(read_config(path)).plan
    assert plan.case_ids == tuple(f"case_{i:05d}" for i in range(5))
    assert plan.ranked == ("TotalSegmentator", "MONAI wholeBody", "MOOSE")
    assert [model.structures for model in plan.models] == [("kidney",)] * 4


def test_what_goes_into_a_record_has_no_path():
    found = config(cache_dir="somewhere/private", results_path="x.json", jobs=3)
    assert not {"cache_dir", "results_path", "jobs"} & set(found.resolved())
    assert "private" not in str(found.resolved())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"organ": ["kidney"]}, "No key 'organ'; did you mean 'organs'"),
        ({"n_case": 3}, "did you mean 'n_cases'"),
        ({"n_cases": 0}, "n_cases should be a whole number from 1 on, got 0"),
        ({"n_cases": True}, "n_cases should be a whole number"),
        ({"confidence": 95}, "confidence should be a number above 0 and below 1, such as 0.95, got 95"),
        ({"organs": "kidney"}, "structures|organs should be a list of names"),
        ({"organs": [False]}, "truth values: write it in quotes"),
        ({"organs": ["a"], "structures": ["b"]}, "'structures' repeats 'organs'; keep one of them"),
        ({"structures": ["a"], "organs": ["b"]}, "'organs' repeats 'structures'; keep one of them"),
        ({"models": []}, "models should be a list of models"),
        ({"models": [{"name": "x"}]}, "models.1 should be a type"),
        ({"dataset": {"root": "x"}}, "dataset should be a name"),
        ({"exposure_policy": "strct"}, "did you mean 'strict'"),
        ({"selection": "stratified"}, "needs stratify_by"),
        ({"failed": "penalty"}, "needs penalty"),
        ({"nsd_tolerance": -1}, "positive number"),
        ({"seed": -1}, "from 0 on"),
        ({"metrics": ["dicee"]}, "metrics: No metric 'dicee'. Did you mean 'dice'"),
        ({"interval": "foo"}, "interval: No choice 'foo'"),
        ({"executor": "modall"}, r"executor: No executor 'modall'; did you mean 'modal'\? A dask scheduler"),
        ({"executor": "slurm"}, "there are 'dask', 'modal', 'processes', 'serial'. A dask scheduler"),
        ({"confidence": 0}, "confidence should be a number above 0 and below 1, such as 0.95, got 0"),
        ({"metrics": ["dice"], "margin": {"dicee": 0.1}}, "margin: No metric 'dicee'; did you mean 'dice'"),
        ({"metrics": ["dice"], "margin": {"hd95": 1}}, "margin: No metric 'hd95'; there are 'dice'"),
        ({"case_ids": 5}, "case_ids should be a list of case ids, got 5"),
        ({"case_ids": "abc"}, "case_ids should be a list of case ids, got 'abc'"),
        ({"nsd_tolerance": {"kidney": "two"}}, "nsd_tolerance.kidney should be a positive number"),
    ],
)
def test_what_is_wrong_is_said_in_words(changes, words):
    with pytest.raises(InvalidInput, match=words):
        config(**changes)


def test_a_config_that_is_changed_keeps_what_was_written():
    changed = replace(config(seed=3), jobs=2)
    assert changed.written["seed"] == 3


def test_what_was_written_is_no_key_of_a_file():
    with pytest.raises(InvalidInput, match="No key 'written'"):
        config(written={})


def test_keys_that_are_needed():
    with pytest.raises(InvalidInput, match="expected the key 'models'"):
        RunConfig.from_dict({"dataset": "kits23"})
    with pytest.raises(InvalidInput, match="expected keys and values"):
        RunConfig.from_dict(["dataset"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset: a\nmodels: [b]\nseed: 1\nseed: 2\n", "'seed' appears twice"),
        ("dataset: !!python/object/apply:os.system [ls]\nmodels: [b]\n", "is not plain YAML"),
        ("dataset: [unclosed\n", "is not plain YAML"),
        ("a: &a [x]\n" + "".join(f"b{i}: *a\n" for i in range(200)), "refers to itself more than 100 times"),
    ],
)
def test_yaml_that_is_none_or_means_harm(tmp_path, text, words):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_config(path)


def test_a_config_that_is_not_there_or_too_large(tmp_path):
    with pytest.raises(InvalidInput, match="no such file"):
        read_config(tmp_path / "config.yaml")
    large = tmp_path / "large.yaml"
    large.write_text("#" * (1 << 21))
    with pytest.raises(InvalidInput, match="too many for a config"):
        read_config(large)


def test_the_manual_knows_every_key():
    manual = (Path(__file__).parents[2] / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
    assert [key.name for key in fields(RunConfig) if f"`{key.name}`" not in manual and key.name != "written"] == []


def test_when_a_lesion_counts_as_found_is_configured():
    base = {"dataset": "phantom", "models": ["classical"]}
    given = RunConfig.from_dict({**base, "detection": {"iou": 0.3, "assign": "many-to-one"}})
    assert given.detection_options == {"detection_iou": 0.3, "detection_assign": "many-to-one"}
    assert RunConfig.from_dict(base).detection_options == {}
    for wrong, words in (
        ({"iou": 2}, "detection_iou"),
        ({"match": "best"}, "detection_match"),
        ({"ioo": 1}, "iou"),
        (3, "mapping"),
    ):
        with pytest.raises(InvalidInput, match=words):
            RunConfig.from_dict({**base, "detection": wrong})
