"""Boards, maps, cohort, several test sets and the registry, on small tables whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segauge.scores import ScoreTable, Status
from segauge.stats import ScoredSet, board_on, boards_of, compare
from segbench.analysis import Analysis, StudyInput, analyze
from segbench.analysis.audit import audit_coverage
from segbench.analysis.cohort import describe_cohort
from segbench.analysis.contrasts import changed_winners, position_pairing
from segbench.analysis.entries import aliases_of, entries_of, touchstone_entries
from segbench.analysis.joint import beside, joint_board, part_of
from segbench.analysis.maps import significance_map
from segbench.boards import rules_of
from segbench.site.tables import overview_table

QUICK = rules_of(n_resamples=200)


def table(values, cases=None, structures=("liver", "spleen")):
    """Return a table of (cases, structures) Dice; NaN is absent, 0 missed."""
    values = np.asarray(values, dtype=float)
    states = np.empty(values.shape, dtype=object)
    for index, value in np.ndenumerate(values):
        states[index] = Status.ABSENT if np.isnan(value) else Status.MISSED if value == 0 else Status.PRESENT
    cases = cases or tuple(f"c{i:02d}" for i in range(len(values)))
    return ScoreTable(tuple(cases), tuple(structures), ("dice",), values[:, :, None], states)


def random_set(name="set", n=40, seed=0, models=("good", "bad")):
    rng = np.random.default_rng(seed)
    base = rng.beta(9, 1, (n, 2))
    tables = {model: table(np.clip(base - 0.1 * k, 0.001, 1)) for k, model in enumerate(models)}
    metadata = {f"c{i:02d}": {"split": "test" if i % 4 == 0 else "train", "sex": "mf"[i % 2]} for i in range(n)}
    return ScoredSet(name, tables, metadata)


NAN = float("nan")


def map_of(scored, rules):
    """Return the significance map of the liver."""
    board = board_on(scored, "liver", "dice", rules)
    return significance_map(scored.matrix("liver", "dice", rules.cases), "liver", "dice", rules, board)


def test_the_two_averages_are_what_their_names_say():
    scored = ScoredSet(
        "x", {"a": table([[1.0, 0.5], [0.8, NAN], [0.6, NAN]]), "b": table([[0.5, 0.5]] * 2 + [[0.5, NAN]])}
    )
    organ = board_on(scored, "average", "dice", QUICK)
    assert organ["a"].value == pytest.approx((0.8 + 0.5) / 2)
    case = board_on(scored, "average", "dice", QUICK, "case-mean")
    assert case["a"].value == pytest.approx((0.75 + 0.8 + 0.6) / 3)


def test_equal_cases_change_the_leader_and_say_so():
    """a has only the easy cases; on them b is better."""
    easy, hard = [[0.9, 0.9]] * 10, [[0.3, 0.3]] * 10
    scored = ScoredSet("x", {"a": table(easy), "b": table([[0.92, 0.92]] * 10 + hard)})
    board = board_on(scored, "liver", "dice", QUICK)
    assert board.rows[0].model == "b"
    assert board["b"].own_mean == pytest.approx(0.61)
    assert board["b"].own_n == 20
    assert board.n_cases == 10
    (change,) = changed_winners((board,))
    assert (change.own_leader, change.leader) == ("a", "b")
    coverage = audit_coverage(scored, "dice")
    (lacking,) = coverage.lacking
    assert (lacking.n_lacking, lacking.mean_lacking, lacking.mean_common) == (
        10,
        pytest.approx(0.3),
        pytest.approx(0.92),
    )
    own = board_on(scored, "liver", "dice", rules_of("touchstone"))
    assert own.rows[0].model == "a"
    assert (own["b"].n, own["a"].n) == (20, 10)


def test_own_cases_of_an_average_have_their_own_n():
    scored = ScoredSet("x", {"a": table([[0.9, 0.8]] * 10), "b": table([[0.92, 0.5]] * 20)})
    board = board_on(scored, "average", "dice", rules_of("touchstone"))
    assert (board["a"].n, board["b"].n) == (10, 20)
    assert board["a"].value == pytest.approx(0.85)


def test_failures_are_counted_apart():
    scored = ScoredSet("x", {"a": table([[0.0, 1.0]] * 3 + [[1, 1]] * 9), "b": table([[1, 1]] * 12)})
    board = board_on(scored, "liver", "dice", QUICK)
    assert (board["a"].failed, board["b"].failed) == (3, 0)


def test_maps_agree_with_themselves_and_with_the_order():
    scored = random_set(models=("good", "middle", "bad"))
    ours, theirs = map_of(scored, QUICK), map_of(scored, rules_of("touchstone"))
    assert ours.models == theirs.models == ("good", "middle", "bad")
    for found in (ours, theirs):
        opposite = {"better": "worse", "worse": "better", "undecided": "undecided", "equivalent": "equivalent"}
        for (row, column), cell in found.by_pair.items():
            assert found.by_pair[column, row].verdict == opposite[cell.verdict]
            assert found.by_pair[column, row].delta == pytest.approx(-cell.delta)
    assert (theirs.by_pair["bad", "good"].verdict, theirs.by_pair["good", "bad"].verdict) == ("worse", "better")
    assert (ours.family, theirs.family) == (3, 6)
    assert ours.by_pair["good", "bad"].ci_low > 0


def test_order_of_rows_in_a_file_does_not_matter_but_would_by_position():
    rng = np.random.default_rng(3)
    values = rng.beta(5, 1, (40, 2))
    shuffled = rng.permutation(40)
    better = np.clip(values + 0.01, 0, 1)
    names = [f"c{i:02d}" for i in range(40)]
    scored = ScoredSet("x", {"a": table(values), "b": table(better[shuffled], [names[i] for i in shuffled])})
    sorted_set = ScoredSet("x", {"a": table(values), "b": table(better)})
    np.testing.assert_array_equal(scored.matrix("liver", "dice").values, sorted_set.matrix("liver", "dice").values)
    found = position_pairing(scored, "dice")
    assert (found.tested, found.affected, found.changed) == (2, 2, 2)
    assert position_pairing(sorted_set, "dice").affected == 0


def test_joint_board_is_the_mean_of_the_sets():
    sets = [random_set("one", seed=1), random_set("two", n=60, seed=2, models=("good", "bad", "extra"))]
    found = joint_board(sets, "dice", QUICK)
    expected = np.mean([found.sets[name]["good"] for name in ("one", "two")])
    assert found.board["good"].value == pytest.approx(expected)
    assert found.left_out == {"extra": ("one",)}
    assert found.board.winners == ("good",)
    with pytest.raises(InvalidInput, match="two test sets"):
        joint_board(sets[:1], "dice", QUICK)


def test_parts_stand_beside_the_whole():
    scored = random_set()
    whole = board_on(scored, "liver", "dice", QUICK)
    chosen = part_of(scored, "split", "test")
    part = beside(chosen.name, board_on(chosen, "liver", "dice", QUICK), whole)
    assert (part.n_part, part.n_whole, part.tau) == (10, 40, 1.0)
    assert part_of(scored, "split", "nowhere") is None


def test_cohort_counts_every_case_once():
    metadata = {
        f"c{i}": {"age": str(20 + i) if i else "", "place": "a,b" if i % 2 else "b", "free": f"t{i}" * 2}
        for i in range(80)
    }
    metadata["elsewhere"] = {"age": "5", "place": "b", "free": ""}
    found = describe_cohort(metadata, [f"c{i}" for i in range(80)] + ["unknown"])
    assert (found.n_cases, found.without_metadata, found.extra) == (81, 1, 1)
    columns = {one.column: one for one in found.distributions}
    assert sum(columns["age"].counts["all"].values()) == 79
    assert columns["age"].missing["all"] == 1
    assert columns["place"].counts["all"] == {"a": 40, "b": 80}
    assert "80 different values" in found.skipped["free"]


def test_registry_names_models_and_refuses_strangers():
    found = entries_of({"models": {"nnU-Net_X": {"name": "X", "parameters": 61.8, "trained_on": ["Atlas"]}, "y": None}})
    assert [(one.key, one.name, one.parameters, one.trained_on) for one in found] == [
        ("nnU-Net_X", "X", "61.8", ("Atlas",)),
        ("y", "y", "", ()),
    ]
    assert aliases_of(found) == {"nnU-Net_X": "X"}
    with pytest.raises(InvalidInput, match="did you mean 'organisation'"):
        entries_of({"models": {"x": {"organization": "DKFZ"}}})
    with pytest.raises(InvalidInput, match="twice"):
        entries_of({"models": {"x": {"name": "same"}, "y": {"name": "Same"}}})
    with pytest.raises(InvalidInput, match="one key, models"):
        entries_of([])


def test_touchstone_folders_without_a_registry():
    found = touchstone_entries(["nnU-Net_STU-Net_B", "Vision_Language_U-Net_CLIP", "_U-Net", "nnU-Net_U-Net", "plain"])
    assert [(one.name, one.framework) for one in found] == [
        ("STU-Net B", "nnU-Net"),
        ("U-Net CLIP", "Vision Language"),
        ("_U-Net", ""),
        ("nnU-Net_U-Net", "nnU-Net"),
        ("plain", ""),
    ]


def test_study_without_metadata_and_with_one_model():
    alone = ScoredSet("x", {"a": table([[0.9, 0.8]] * 12)})
    found = analyze([StudyInput(alone)], QUICK).sets[0]
    assert (found.boards, found.groups, found.cohort) == ({}, (), None)
    assert found.coverage.n_cases == 12


def test_boards_of_failing_distances_speak_of_ranks():
    """A failed distance has no value: means are ranks, which neither a page nor a contrast may take for millimetres."""
    ids = tuple(f"c{i:02d}" for i in range(12))
    states = np.full((12, 1), Status.PRESENT, dtype=object)
    missed = states.copy()
    missed[3] = Status.MISSED
    near, far = np.linspace(2, 4, 12), np.linspace(6, 9, 12)
    far[3] = np.nan
    tables = {
        name: ScoreTable(ids, ("liver",), ("hd95",), values.reshape(-1, 1, 1), status)
        for name, values, status in (("near", near, states), ("far", far, missed))
    }
    (board,) = boards_of(ScoredSet("set", tables), "hd95", rules_of(n_resamples=200))
    assert (board.is_by_ranks, board.measure) == (True, "rank by hd95")
    assert [row.value for row in board.rows] == [1.0, 2.0]
    # Mean ranks and millimetres stood in one column, and nothing said which was which.
    assert board["far"].estimate.value == pytest.approx(np.nanmean(far))
    assert board["far"].own_mean == pytest.approx(np.nanmean(far))
    assert changed_winners((board,)) == ()
    assert "(mean rank)" in overview_table([board], "hd95", Analysis("", rules_of(), ())).titles[2]


def test_a_breakdown_does_not_put_a_structure_into_the_ground_truth():
    values = np.full((3, 1), 0.9)
    values[2] = np.nan
    good = table(values, structures=("liver",))
    broken = good.status.copy()
    broken[1:] = Status.FAILED
    other = ScoreTable(good.cases, good.structures, good.metrics, np.full((3, 1, 1), np.nan), broken)
    assert audit_coverage(ScoredSet("set", {"a": good, "b": other}), "dice").structures == {"liver": 2}
    assert audit_coverage(ScoredSet("set", {"b": other}), "dice").structures == {"liver": 3}


def test_ground_truths_that_contradict_each_other_make_no_false_finding_by_any_rule_of_cases():
    """One table lacks the structure in five cases, the other one missed it there: nobody knows which is right."""
    some = np.linspace(0.8, 0.9, 15)[:, None]
    tables = {
        "a": table(np.vstack([some, np.full((5, 1), NAN)]), structures=("liver",)),
        "b": table(np.vstack([some - 0.1, np.zeros((5, 1))]), structures=("liver",)),
    }
    for rule in ("common", "failed", "own"):
        pair = compare(ScoredSet("x", tables).matrix("liver", "dice", rule), n_resamples=100).pairs[0]
        assert (pair.n, pair.delta) == (15, pytest.approx(0.1))
    invented = tables["b"].status.copy()
    invented[15:] = Status.SPURIOUS
    tables["b"] = replace(tables["b"], status=invented)
    for rule in ("common", "failed", "own"):
        pair = compare(ScoredSet("x", tables).matrix("liver", "dice", rule), n_resamples=100).pairs[0]
        assert (pair.n, pair.delta) == (20, pytest.approx((15 * 0.1 + 5) / 20))


def test_maps_of_the_typical_case_count_false_findings_too():
    """Ten cases have the structure, where b is a little better; in twenty others b invents it."""
    some = np.linspace(0.8, 0.9, 10)[:, None]
    tables = {
        "a": table(np.vstack([some, np.full((20, 1), NAN)]), structures=("liver",)),
        "b": table(np.vstack([some + 0.01, np.zeros((20, 1))]), structures=("liver",)),
    }
    invented = tables["b"].status.copy()
    invented[10:] = Status.SPURIOUS
    tables["b"] = replace(tables["b"], status=invented)
    scored = ScoredSet("x", tables)
    cell = map_of(scored, rules_of("touchstone")).by_pair["a", "b"]
    pair = compare(scored.matrix("liver", "dice", "own"), method="wilcoxon", n_resamples=100).pairs[0]
    assert (cell.n, cell.delta, cell.wins) == (pair.n, pytest.approx(pair.delta), pair.wins)
    assert cell.verdict == "better"


def test_what_a_model_lacks_is_named_and_changes_no_other_model():
    """A model that was never asked for the spleen took the spleen and the average from all others."""
    whole = random_set()
    full = whole.tables["good"]
    values, status = full.values.copy(), full.status.copy()
    values[:, 1], status[:, 1] = np.nan, Status.ABSENT
    liver_only = ScoreTable(full.cases, full.structures, full.metrics, values, status)
    found = analyze([StudyInput(ScoredSet("set", {**whole.tables, "half": liver_only}))], QUICK).sets[0]
    boards = {board.key: [row.model for row in board.ranked] for board in found.boards["dice"]}
    assert boards["liver-dice"] == ["good", "half", "bad"]
    assert boards["spleen-dice"] == boards["average-structure-means-dice"] == ["good", "bad"]
    assert (
        "half has no score of spleen: not on its boards, and in no average over structures" in found.coverage.findings
    )
    more = ScoreTable(full.cases, full.structures, ("dice", "iou"), full.values.repeat(2, axis=2), full.status)
    empty = np.concatenate([full.values, np.full_like(full.values, np.nan)], axis=2)
    lacks = ScoreTable(full.cases, full.structures, ("dice", "iou"), empty, full.status)
    found = analyze([StudyInput(ScoredSet("set", {"a": more, "b": lacks}))], QUICK).sets[0]
    assert list(found.boards) == ["dice"]
    assert "iou is not analysed: b has no score of it" in found.coverage.findings


def test_a_map_names_the_test_that_decided():
    """Two models of which a case only says who is ahead are told apart by the sign test, whatever the rules ask for."""
    cases = [f"c{i:02d}" for i in range(20)]
    scores = {"a": [1.0] * 20, "b": [float(case > "c06") for case in cases]}

    def rule_of(found):
        tables = {name: table(np.array(values)[:, None], cases, ("liver",)) for name, values in found.items()}
        return map_of(ScoredSet("x", tables), QUICK).rule

    rule = rule_of(scores)
    assert "exact sign test, because a case only says who is ahead, 95 %" in rule
    assert not any(word in rule for word in ("max-t", "step-down", "1 pairs"))
    usual = rule_of({**scores, "b": np.random.default_rng(0).random(20)})
    assert ("max-t, correction step-down, 95 %" in usual, "sign test" in usual) == (True, False)
    assert "over all 3 pairs of this map" in map_of(random_set(models=("a", "b", "c")), QUICK).rule
