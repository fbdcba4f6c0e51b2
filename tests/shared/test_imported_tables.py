"""Real result files of each tool, and real rankings from them."""

import json

import numpy as np
import pytest

from segauge.io.tables import read_scores
from segauge.scores import Status
from segauge.stats import rank, score_matrix, summarise
from segauge.stats.schemes import SCHEMES

pytestmark = pytest.mark.shared


@pytest.fixture
def touchstone(touchstone_tables):
    return touchstone_tables


def test_touchstone_means_are_the_published_ones(touchstone):
    """DSC x 100, each model's own cases; the average is the unweighted mean of the nine organs."""

    def organ(model, name):
        return 100 * np.nanmean(touchstone[model].column(name, "dice"))

    assert organ("nnU-Net_MedNeXt", "aorta") == pytest.approx(71.91, abs=0.005)
    assert organ("nnU-Net_MedNeXt", "liver") == pytest.approx(92.99, abs=0.005)
    assert organ("nnU-Net_STU-Net_L", "aorta") == pytest.approx(75.72, abs=0.005)
    assert organ("nnU-Net_ResEncL", "pancreas") == pytest.approx(76.28, abs=0.005)
    assert organ("_SAM-Adapter", "postcava") == pytest.approx(4.80, abs=0.005)
    organs = touchstone["nnU-Net_MedNeXt"].structures
    assert np.mean([organ("nnU-Net_MedNeXt", name) for name in organs]) == pytest.approx(80.87, abs=0.005)
    assert np.mean([organ("nnU-Net_STU-Net_L", name) for name in organs]) == pytest.approx(82.97, abs=0.005)


def test_touchstone_cases_per_organ(touchstone):
    table = touchstone["nnU-Net_MedNeXt"]
    counts = {name: int(np.isfinite(table.column(name, "dice")).sum()) for name in table.structures}
    assert counts == {
        "aorta": 614, "gall_bladder": 135, "kidney_left": 295, "kidney_right": 275, "liver": 443, "pancreas": 295,
        "postcava": 481, "spleen": 392, "stomach": 408,
    }  # fmt: skip


def test_touchstone_winner_changes_on_the_shared_cases(touchstone):
    """Average of all cases' means: STU-Net-L leads on its own 656 cases, ResEncL on the shared ones."""
    common = set(touchstone["nnU-Net_STU-Net_L"].cases)

    def case_mean(model):
        table = touchstone[model]
        rows = [i for i, case in enumerate(table.cases) if case in common]
        values = table.values[rows, :, 0]
        return 100 * np.nanmean(np.nanmean(values[np.isfinite(values).any(axis=1)], axis=1))

    assert case_mean("nnU-Net_ResEncL") == pytest.approx(79.09, abs=0.005)
    assert case_mean("nnU-Net_STU-Net_L") == pytest.approx(78.93, abs=0.005)


def test_touchstone_pairs_by_case_id(touchstone):
    """Aorta, STU-Net-B against -H: published p = 0.62 by row position, 1.9e-12 by case id."""
    from segauge.stats.significance import wilcoxon

    pair = {name: touchstone[f"nnU-Net_STU-Net_{name}"] for name in "BH"}
    matrix = score_matrix(pair, structure="aorta", metric="dice", cases="common").complete_cases()
    p = wilcoxon(matrix.values[:, :1] - matrix.values[:, 1:], exact=False)[0]
    assert p == pytest.approx(1.9e-12, rel=0.05)


def test_liver_mednext_against_stunet_b(touchstone):
    """Significant by Wilcoxon (1.5e-7), a mean difference of 0.00035: equivalent within one point of Dice."""
    from segauge.stats import compare

    pair = {name: touchstone[name] for name in ("nnU-Net_MedNeXt", "nnU-Net_STU-Net_B")}
    chosen = {"structure": "liver", "metric": "dice"}
    typical = compare(pair, method="wilcoxon", **chosen).pairs[0]
    assert typical.p_value == pytest.approx(1.5e-7, rel=0.05)
    mean = compare(pair, margin=0.015, **chosen).pairs[0]
    assert mean.delta == pytest.approx(0.00035, abs=5e-6)
    assert (mean.ci_low, mean.ci_high) == pytest.approx((-0.010, 0.011), abs=1e-3)
    assert mean.verdict == "equivalent"


def test_every_convention_is_recognised(shared):
    folder = shared / "data" / "conventions"
    expected = {
        "nnunet/plain/predictions/summary.json": "nnunet",
        "nnunet/regions_ignore/predictions": "nnunet",
        "nnunet/plain_label_absent_everywhere/predictions": "nnunet",
        "monai/metrics_saver": "monai",
        "monai/write_metrics_reports_tensor": "monai",
        "monai/write_metrics_reports_float64_labels": "monai",
        "panoptica/results.tsv": "panoptica",
        "panoptica/results_individual.tsv": "panoptica",
        "panoptica/results.jsonl": "panoptica",
        "panoptica/to_dict.json": "panoptica",
        "challenge_csv/lesionwise_dice_long.csv": "long",
        "challenge_csv/lesionwise_dice_long_blank_and_bom.csv": "long",
    }
    for name, form in expected.items():
        assert read_scores(folder / name).formats == (form,), name


def test_nnunet_means_are_those_in_the_file(shared):
    for kind in ("plain", "regions_ignore"):
        file = shared / "data" / "conventions" / "nnunet" / kind / "predictions" / "summary.json"
        means = json.loads(file.read_text())["mean"]
        table = next(iter(read_scores(file).tables.values()))
        for structure, expected in zip(table.structures, means.values(), strict=True):
            # nnU-Net leaves NaN (structure in neither mask) out of its means; so does the column.
            assert np.nanmean(table.column(structure, "dice")) == pytest.approx(expected["Dice"], rel=1e-12)


def test_panoptica_forms_hold_the_same_scores(shared):
    folder = shared / "data" / "conventions" / "panoptica"
    tables = [
        next(iter(read_scores(folder / name).tables.values()))
        for name in ("results.tsv", "results_individual.tsv", "results.jsonl", "to_dict.json")
    ]
    for table in tables[1:]:
        assert (table.cases, table.structures, table.metrics) == (
            tables[0].cases,
            tables[0].structures,
            tables[0].metrics,
        )
        np.testing.assert_array_equal(table.values, tables[0].values)
        assert (table.status == tables[0].status).all()
    assert tables[0]["sub-03", "lesion", "global_bin_dsc"].status == Status.MISSED
    assert tables[0]["sub-04", "lesion", "global_bin_dsc"].status == Status.SPURIOUS
    assert tables[0]["sub-05", "lesion", "global_bin_dsc"].status == Status.ABSENT


def test_challenge_variants_are_equal_but_for_the_spelling(shared):
    folder = shared / "data" / "conventions" / "challenge_csv"
    one = read_scores(folder / "lesionwise_dice_long.csv").tables
    other = read_scores(folder / "lesionwise_dice_long_blank_and_bom.csv").tables
    for name, table in one.items():
        np.testing.assert_array_equal(table.values, other[name].values)
    assert sum(t.status_counts(s).get(Status.PREDICTION_MISSING, 0) for t in one.values() for s in t.structures) == 3


def test_challenge_matrix_rankings_follow_from_its_construction(shared):
    """The ideal task is simulated with A1 > A2 > ... > A5 in every case: every scheme must say so."""
    tables = read_scores(shared / "data" / "challenge_matrix" / "data_matrix.csv", metric="dice").tables
    ideal = score_matrix(tables, structure="c_ideal", metric="dice").scored_cases()
    for key in ("mean", "median", "rank-then-mean", "test-then-rank"):
        assert SCHEMES[key].function(ideal).tolist() == [1, 2, 3, 4, 5], key
    worst = score_matrix(tables, structure="c_worstcase", metric="dice").scored_cases()
    # Every order of the five algorithms occurs once in its 120 cases: no scheme can tell them apart.
    for key in ("mean", "median", "rank-then-mean", "test-then-rank"):
        assert SCHEMES[key].function(worst).tolist() == [3] * 5, key
    assert rank(worst, n_resamples=1000).winners == ("A1", "A2", "A3", "A4", "A5")


def test_published_kidneys_are_summarised_with_the_half_case_interval(shared):
    tables = read_scores(shared / "data" / "segbench_kits23" / "kits23_modal.json").tables
    found = summarise(tables["TotalSegmentator"])["kidney"]["dice"]
    assert str(found) == "0.904 [0.858, 0.925]"
