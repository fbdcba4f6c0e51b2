"""Touchstone through the analysis: its check values, its verdicts cell by cell, and what equal cases change."""

from itertools import combinations

import numpy as np
import pytest

from segauge.io.tables import Repairs, read_metadata, read_scores
from segauge.stats import ScoredSet, board_on, boards_of
from segbench.analysis import assess_claim, parse_claim, resolve_claim
from segbench.analysis.audit import audit_coverage
from segbench.analysis.claims.reviewer import SEEN_CORRELATIONS
from segbench.analysis.cohort import describe_cohort
from segbench.analysis.contrasts import changed_winners, position_pairing
from segbench.analysis.entries import aliases_of, touchstone_entries
from segbench.analysis.groups import (
    aggregated_matrix,
    box_figure,
    families_of,
    membership,
    small_groups,
    touchstone_families,
)
from segbench.analysis.maps import significance_map
from segbench.boards import rules_of
from segbench.study_files import StudyOptions, read_study

pytestmark = pytest.mark.shared

THEIRS = rules_of("touchstone")
OURS = rules_of(n_resamples=1000)


@pytest.fixture(scope="module")
def touchstone(shared, touchstone_tables):
    metadata = read_metadata(shared / "data" / "touchstone" / "metaTotalSeg.csv", key="image_id")
    return ScoredSet("TotalSegmentator", touchstone_tables, metadata)


def points(board, model):
    return 100 * board[model].value


# The published values have two decimals.
PRINTED = 0.005


def test_published_means_each_model_on_its_own_cases(touchstone):
    mednext, stu_l, resenc = "nnU-Net_MedNeXt", "nnU-Net_STU-Net_L", "nnU-Net_ResEncL"
    named = ("aorta", "liver", "pancreas", "postcava")
    organ = {name: board_on(touchstone, name, "dice", THEIRS) for name in named}
    assert points(organ["aorta"], mednext) == pytest.approx(71.91, abs=PRINTED)
    assert points(organ["liver"], mednext) == pytest.approx(92.99, abs=PRINTED)
    assert points(organ["aorta"], stu_l) == pytest.approx(75.72, abs=PRINTED)
    assert points(organ["pancreas"], resenc) == pytest.approx(76.28, abs=PRINTED)
    assert points(organ["postcava"], "_SAM-Adapter") == pytest.approx(4.80, abs=PRINTED)
    readme = board_on(touchstone, "average", "dice", THEIRS)
    assert points(readme, mednext) == pytest.approx(80.87, abs=PRINTED)
    assert points(readme, stu_l) == pytest.approx(82.97, abs=PRINTED)
    paper = board_on(touchstone, "average", "dice", THEIRS, "case-mean")
    assert points(paper, mednext) == pytest.approx(73.92, abs=PRINTED)
    assert points(paper, stu_l) == pytest.approx(78.93, abs=PRINTED)
    assert points(paper, resenc) == pytest.approx(77.83, abs=PRINTED)
    table = touchstone.tables[mednext].values[:, :, 0]
    means = np.nanmean(table[np.isfinite(table).any(axis=1)], axis=1)
    assert paper[mednext].sd == pytest.approx(means.std(ddof=0), rel=1e-12)


def test_audit_counts_what_there_is(touchstone):
    found = audit_coverage(touchstone, "dice")
    assert (found.n_cases, found.n_common, found.is_equal) == (743, 656, False)
    assert found.structures == {
        "aorta": 614, "gall_bladder": 135, "kidney_left": 295, "kidney_right": 275, "liver": 443, "pancreas": 295,
        "postcava": 481, "spleen": 392, "stomach": 408,
    }  # fmt: skip
    (lacking,) = found.lacking
    assert lacking.models == ("nnU-Net_STU-Net_H", "nnU-Net_STU-Net_L")
    assert lacking.n_lacking == 87
    assert lacking.mean_lacking < lacking.mean_common  # the 87 are harder ones
    whole = next(model for model in found.models if model.model == "nnU-Net_MedNeXt")
    assert (whole.empty, whole.complete) == (127, 100)


def test_three_of_ten_winners_change_on_equal_cases(touchstone):
    quick = rules_of(n_resamples=200)  # of the boards, only the means are looked at
    boards = [board for board in boards_of(touchstone, "dice", quick) if board.average != "structure-means"]
    assert len(boards) == 10
    changed = changed_winners(tuple(boards))
    assert len(changed) == 3
    average = next(one for one in changed if one.board.startswith("average"))
    assert (average.own_leader, average.leader) == ("nnU-Net_STU-Net_L", "nnU-Net_ResEncL")
    assert 100 * average.mean == pytest.approx(79.09, abs=PRINTED)
    assert 100 * average.own_leader_mean == pytest.approx(78.93, abs=PRINTED)


@pytest.mark.parametrize(
    ("metric", "organs"),
    [
        ("dice", ("gall_bladder",)),
        pytest.param("dice", (), marks=pytest.mark.long),
        pytest.param("nsd", (), marks=pytest.mark.long),
    ],
)
def test_significance_maps_have_their_verdicts_cell_by_cell(touchstone, metric, organs):
    """All nine organs against SciPy's Wilcoxon test and statsmodels' Holm correction."""
    from scipy.stats import wilcoxon
    from statsmodels.stats.multitest import multipletests

    for organ in organs or touchstone.structures:
        matrix = touchstone.matrix(organ, metric, "own")
        found = significance_map(matrix, organ, metric, THEIRS)
        names = list(matrix.models)
        pairs = [(a, b) for a in range(19) for b in range(19) if a != b]
        plain = []
        for a, b in pairs:
            both = np.isfinite(matrix.values[:, [a, b]]).all(axis=1)
            one, other = matrix.values[both, a], matrix.values[both, b]
            options = {"alternative": "greater", "zero_method": "wilcox", "correction": False, "method": "asymptotic"}
            plain.append(wilcoxon(one, other, **options).pvalue)
        significant = multipletests(plain, method="holm")[1] < 0.05
        medians = {name: np.nanmedian(matrix.values[:, j]) for j, name in enumerate(names)}
        assert [medians[name] for name in found.models] == sorted(medians.values(), reverse=True)
        assert found.family == 342
        for (a, b), beats in zip(pairs, significant, strict=True):
            # They paint a cell yellow where the column's model beats the row's.
            assert (found.by_pair[names[b], names[a]].verdict == "worse") == beats, (organ, names[a], names[b])


def test_pairing_by_position_is_wrong(touchstone):
    """Aorta, STU-Net-B against -H: p = 0.62 by position, 1.9e-12 by case id."""
    from segbench.analysis.contrasts import _by_position, _two_sided

    one, other = (touchstone.tables[f"nnU-Net_STU-Net_{size}"] for size in "BH")
    by_position = _two_sided(_by_position(one.column("aorta", "dice"), other.column("aorta", "dice")))
    assert by_position == pytest.approx(0.62, abs=0.005)
    found = position_pairing(touchstone, "dice")
    assert (found.tested, found.affected) == (171 * 9, 34 * 9)  # 34 pairs of models have lists of different lengths
    assert 0 < found.changed <= found.affected


def test_claim_of_the_liver(touchstone):
    """Wilcoxon p = 1.5e-7 for a mean difference of 0.00035 [-0.010, 0.011]: not shown, and equivalent within 0.015."""
    aliases = aliases_of(touchstone_entries(touchstone.models))
    shown = ScoredSet("x", {aliases.get(key, key): table for key, table in touchstone.tables.items()})
    claim, matrix = resolve_claim(parse_claim("MedNeXt > STU-Net-B on liver dice"), shown, OURS)
    found = assess_claim(matrix, claim, margin=0.015)
    (rival,) = found.rivals
    assert found.n == 443
    assert rival.pair.delta == pytest.approx(0.00035, abs=5e-6)
    assert (rival.pair.ci_low, rival.pair.ci_high) == pytest.approx((-0.010, 0.011), abs=1e-3)
    assert rival.wilcoxon_p == pytest.approx(1.5e-7, rel=0.05)
    assert found.verdict == "not shown"
    # A difference of 0.07 standard errors. Limits of the half-case interval never pass the mean, so nothing below 0.5.
    assert found.probability_false == pytest.approx(0.5, abs=1e-9)
    assert found.equivalence > 0.975


def test_group_boxes_by_their_rules(touchstone):
    """Sex on the average: Kruskal-Wallis over all boxes, Mann-Whitney per model, Bonferroni over the figure."""
    from scipy.stats import kruskal, mannwhitneyu

    matrix = touchstone.average("dice", "case-mean", "own")
    families = {family.name: family for family in touchstone_families(touchstone.metadata)}
    assert list(families) == ["age", "sex", "pathology", "manufacturer", "scanner model", "institute"]
    assert list(families["age"].groups) == ["18-29", *(f"{low}-{low + 9}" for low in range(30, 91, 10))]
    assert len(families["pathology"].groups) == 8
    for name in ("sex", "pathology"):
        figure = box_figure(matrix, families[name], touchstone.metadata, "average", "dice", 5)
        boxes = {}
        for j, model in enumerate(matrix.models):
            for group in figure.groups:
                column = matrix.values[figure.membership.masks[group], j]
                boxes[model, group] = column[np.isfinite(column)]
        assert figure.gate == pytest.approx(kruskal(*boxes.values()).pvalue, rel=1e-9, abs=1e-300)
        pairs = [(m, a, b) for m in matrix.models for a, b in combinations(figure.groups, 2)]
        assert figure.factor == len(pairs) == len(figure.tests)
        for (model, a, b), test in zip(pairs, figure.tests, strict=True):
            plain = mannwhitneyu(boxes[model, a], boxes[model, b], alternative="two-sided").pvalue
            assert (test.model, test.a, test.b) == (model, a, b)
            assert test.p_plain == pytest.approx(plain, rel=1e-9)
            assert test.p_value == pytest.approx(min(plain * len(pairs), 1.0), rel=1e-9)


def test_one_more_model_takes_stars_away_by_their_rules_only(touchstone):
    from dataclasses import replace

    from segbench.analysis.groups import report_groups

    family = next(one for one in touchstone_families(touchstone.metadata) if one.name == "pathology")
    few = replace(touchstone, tables={name: touchstone.tables[name] for name in list(touchstone.tables)[:2]})
    model = few.models[0]
    theirs, ours = [], []
    for scored in (few, touchstone):
        matrix = scored.average("dice", "case-mean", "own")
        figure = box_figure(matrix, family, scored.metadata, "average", "dice", 5)
        theirs.append(sum(bool(test.stars) for test in figure.tests if test.model == model))
        report = report_groups(matrix, family, scored.metadata, "average", "dice", OURS)
        ours.append([(gap.a, gap.b, round(gap.p_value, 9)) for gap in report.models[model].gaps])
    assert theirs[1] < theirs[0]
    assert ours[0] == ours[1]


def test_aggregated_values_are_means_over_models_then_organs(touchstone):
    found = aggregated_matrix(touchstone, "dice")
    case = found.cases[100]
    organs = []
    for k in range(9):
        values = [
            table.values[table.cases.index(case), k, 0] for table in touchstone.tables.values() if case in table.cases
        ]
        if np.isfinite(values).any():
            organs.append(np.nanmean(values))
    assert found.values[100, 0] == pytest.approx(np.mean(organs), rel=1e-12)


def test_cohort_and_its_splits(touchstone):
    found = describe_cohort(touchstone.metadata, touchstone.cases, "split")
    assert (found.n_cases, found.without_metadata, found.extra) == (743, 0, 485)
    assert found.splits == {"all": 743, "test": 59, "train": 651, "val": 33}
    columns = {one.column: one for one in found.distributions}
    assert columns["gender"].counts["all"] == {"m": 404, "f": 338}
    assert columns["pathology_location"].kind == "labels"
    assert columns["age"].missing["all"] == 1
    for one in columns.values():
        if one.kind != "labels":
            assert sum(one.counts["all"].values()) + one.missing["all"] == 743


def test_correlations_of_real_models_are_those_in_the_reviewer(touchstone):
    seen = []
    for metric in touchstone.metrics:
        for organ in touchstone.structures:
            correlation = np.corrcoef(touchstone.matrix(organ, metric).values.T)
            seen += correlation[np.triu_indices(19, 1)].tolist()
    assert len(seen) == 3078
    # Written with two decimals.
    assert np.quantile(seen, np.arange(0.05, 1, 0.1)) == pytest.approx(SEEN_CORRELATIONS, abs=0.0051)


@pytest.fixture(scope="module")
def dap_atlas(shared):
    folder = shared / "data" / "touchstone"
    metadata = read_metadata(folder / "metaDAPAtlas.csv", key="AutoPET_{Subject ID[-10:]}_{Study UID[-5:]}")
    repairs = Repairs(cases="keep", empty="own", duplicates="first")
    return ScoredSet("DAP Atlas", read_scores(folder / "dapatlas_results", repairs=repairs).tables, metadata)


def test_published_averages_of_dap_atlas_leave_each_model_its_own_empty_cells(dap_atlas):
    """U-Net has scores where all others have empty cells; its published average counts them.

    The averages could not be had: an empty cell was absent for all models (0.9242 for U-Net) or a failure.
    """
    board = board_on(dap_atlas, "average", "dice", THEIRS)
    assert board["nnU-Net_U-Net"].value == pytest.approx(0.9175, abs=5e-5)
    assert board["nnU-Net_MedNeXt"].value == pytest.approx(0.9232, abs=5e-5)
    assert board["_SAM-Adapter"].value == pytest.approx(0.6896, abs=5e-5)


def test_metadata_with_a_row_per_series_are_joined(dap_atlas):
    """The table has four rows and no id per case: it was refused, since cases appear twice."""
    assert len(dap_atlas.cases) == 533
    assert all(case in dap_atlas.metadata for case in dap_atlas.cases)
    row = dap_atlas.metadata[dap_atlas.cases[0]]
    assert (row["age"], row["sex"], row["Series UID"]) != ("", "", "")
    assert row["Modality"] == ""  # differs between the series of a case
    families = touchstone_families(dap_atlas.metadata)
    assert sum(membership(family, dap_atlas.cases, dap_atlas.metadata).sizes.get("60-69", 0) for family in families)
    assert len({dap_atlas.metadata[case]["Subject ID"] for case in dap_atlas.cases}) < 533


def test_both_test_sets_in_one_study(shared):
    folder = shared / "data" / "touchstone"
    options = StudyOptions(
        {"TotalSegmentator": folder / "totalsegmentator_results", "DAP Atlas": folder / "dapatlas_results"},
        {"TotalSegmentator": folder / "metaTotalSeg.csv", "DAP Atlas": folder / "metaDAPAtlas.csv"},
        key={"DAP Atlas": "AutoPET_{Subject ID[-10:]}_{Study UID[-5:]}"},
        cluster={"DAP Atlas": "Subject ID"},
        repairs=Repairs(cases="keep", empty="own", duplicates="first"),
        metric="dice",
    )
    inputs, _ = read_study(options, THEIRS)
    assert [len(one.scored.cases) for one in inputs] == [743, 533]
    assert [one.scored.cluster is None for one in inputs] == [True, False]


def test_declared_groups_that_are_too_small_are_told(touchstone):
    """Touchstone's own example vanished without a word: 16 men of the metadata, 2 of them among the scored cases."""
    young = {"all": [{"gender": "m"}, {"age": {"from": 30, "to": 35}}]}
    old = {"all": [{"gender": "m"}, {"age": {"from": 70, "to": 90}}]}
    given = {"families": {"ours": {"groups": {"men aged 30-35": young, "old men": old}}}}
    found = small_groups(touchstone, families_of(given, touchstone.metadata), THEIRS)
    (told,) = [sentence for sentence in found if " dice " in sentence]
    assert told.startswith(
        "group 'men aged 30-35' of 'ours': 16 cases in the metadata; with a dice score on average 2, "
    )
