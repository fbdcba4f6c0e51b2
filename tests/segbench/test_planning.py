"""Plans: which cases, who is ranked, and the reason for everything that is left out."""

import pytest

from segauge.errors import InvalidInput
from segbench.cards import DatasetCard, ModelCard, TrainingSet, dataset_card, exposure, known_lineage, model_card
from segbench.config import EXPOSURE_POLICIES, RunConfig
from segbench.planning import Candidate, make_plan, select_cases

CASES = [f"case_{i:03d}" for i in range(100)]
NAMES = ("TotalSegmentator", "CT-FM", "MedNeXt", "SegVol", "MOOSE")


def config(**changes):
    return RunConfig.from_dict({"dataset": "amos22", "models": ["x"], **changes})


def plan(config, dataset="amos22", names=NAMES):
    return make_plan(
        config, dataset_card(dataset), CASES, [Candidate(model_card(name)) for name in names], known_lineage()
    )


def test_a_random_choice_depends_on_the_seed_and_on_nothing_else():
    chosen, _ = select_cases(config(n_cases=10), CASES)
    assert chosen == tuple(sorted(chosen))
    assert select_cases(config(n_cases=10), CASES[::-1])[0] == chosen
    assert select_cases(config(n_cases=10, seed=1), CASES)[0] != chosen
    assert chosen[:3] != tuple(CASES[:3])


def test_a_case_that_is_added_pushes_out_at_most_one_other():
    before, after = (set(select_cases(config(n_cases=10), cases)[0]) for cases in (CASES, [*CASES, "case_new"]))
    assert len(before - after) <= 1


def test_more_cases_contain_the_fewer():
    few, many = (set(select_cases(config(n_cases=n), CASES)[0]) for n in (10, 30))
    assert few < many


def test_the_first_cases_as_listed():
    chosen, _ = select_cases(config(n_cases=2, case_ids=["case_007", "case_003", "case_001"]), CASES)
    assert chosen == ("case_003", "case_007")
    with pytest.raises(InvalidInput, match="No case 'case_999'"):
        select_cases(config(case_ids=["case_999"]), CASES)


def test_a_stratified_choice_keeps_the_proportions():
    groups = {case: "CT" if i < 75 else "MR" for i, case in enumerate(CASES)}
    chosen, _ = select_cases(config(n_cases=12, selection="stratified", stratify_by="modality"), CASES, groups)
    assert [groups[case] for case in chosen].count("CT") == 9
    assert len(chosen) == 12
    with pytest.raises(InvalidInput, match="No case has a value of 'modality'"):
        select_cases(config(n_cases=12, selection="stratified", stratify_by="modality"), CASES, {})


def test_asking_for_more_cases_than_there_are_is_noted():
    chosen, notes = select_cases(config(n_cases=500), CASES)
    assert len(chosen) == 100
    assert notes == ["500 cases were asked for, there are 100"]


def test_only_models_that_have_not_seen_the_dataset_are_ranked():
    found = plan(config())
    # Only some of the collections that CT-FM was pre-trained on are listed.
    assert found.ranked == ("TotalSegmentator", "MOOSE")
    reasons = {exclusion.model: exclusion.reason for exclusion in found.exclusions if not exclusion.structure}
    assert reasons["MedNeXt"] == "shown, not ranked: trained on AbdomenAtlas 1.0 Mini, which contains AMOS22"
    assert "KiTS23" in str([e for e in plan(config(), "kits23").exclusions if e.model == "CT-FM" and not e.structure])


@pytest.mark.parametrize("policy", EXPOSURE_POLICIES)
@pytest.mark.parametrize("dataset", ["amos22", "kits23", "btcv", "flare22"])
def test_ranking_and_claims_are_made_by_one_function(policy, dataset):
    found = plan(config(exposure_policy=policy), dataset)
    for planned in found.models:
        seen = exposure(planned.card, dataset_card(dataset), known_lineage())
        assert planned.exposure == seen
        assert planned.ranked == (seen.level.value in EXPOSURE_POLICIES[policy])


def test_a_structure_that_a_model_lacks_is_not_applicable():
    found = plan(config(organs=["liver", "prostate/uterus", "duodenum"]), names=("MOOSE",))
    assert found.models[0].structures == ("liver",)
    assert [(e.structure, e.reason) for e in found.exclusions] == [
        ("prostate/uterus", "n/a: the model has no such structure"),
        ("duodenum", "n/a: the model has no such structure"),
    ]


def test_a_model_without_any_of_the_structures_is_not_run():
    found = plan(config(organs=["duodenum"]), names=("MOOSE", "TotalSegmentator"))
    assert [model.name for model in found.models] == ["TotalSegmentator"]
    assert "not run" in str(found.exclusions[0])
    with pytest.raises(InvalidInput, match="nothing to run"):
        plan(config(organs=["duodenum"]), names=("MOOSE",))


def test_a_misspelt_structure_comes_with_a_suggestion():
    with pytest.raises(InvalidInput, match="did you mean 'liver'"):
        plan(config(organs=["livr"]))


def test_how_long_it_takes_is_known_or_said_not_to_be():
    card = DatasetCard("mine", structures={"a": (1,)}, lineage=())
    quick, slow, new = (
        ModelCard(name, structures={"a": (1,)}, trained_on=(TrainingSet("kits23", "x"),), pretrained_on=())
        for name in ("quick", "slow", "new")
    )
    known = [Candidate(quick, seconds_per_case=2.0), Candidate(slow, needs_gpu=True, seconds_per_case=30.0)]
    found = make_plan(config(n_cases=10), card, CASES, known, known_lineage([card]))
    assert (found.seconds(gpu=False), found.seconds(gpu=True)) == (20.0, 300.0)
    assert len(list(found.jobs())) == 20
    found = make_plan(config(n_cases=10), card, CASES, [*known, Candidate(new)], known_lineage([card]))
    assert found.seconds(gpu=False) is None


@pytest.mark.parametrize(
    ("tolerance", "words"),
    [
        ({"livr": 2.0}, "nsd_tolerance: No structure 'livr'; did you mean 'liver'"),
        ({"liver": 2.0}, "There is no NSD tolerance for 'spleen'; nsd_tolerance may be one number for all"),
        ("dataset", "There is no NSD tolerance for 'liver'"),
    ],
)
def test_tolerances_are_checked_before_anything_is_predicted(tolerance, words):
    with pytest.raises(InvalidInput, match=words):
        plan(config(structures=["liver", "spleen"], nsd_tolerance=tolerance))


def test_a_truth_value_is_no_label():
    for labels in (True, [1, True]):
        with pytest.raises(InvalidInput, match="Structure 'organ': expected label values"):
            DatasetCard("x", structures={"organ": labels})
