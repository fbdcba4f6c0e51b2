"""Leaderboards: what follows from scores, and that nothing else has a say."""

import json
from dataclasses import replace

import numpy as np
import pytest

from segauge import Missing, ScoreTable, Status
from segauge.errors import InvalidInput
from segauge.stats import Board, BoardRow, PairPlan, PairResult, rank
from segbench.boards import Leaderboard, leaderboard_of, make_leaderboard
from segbench.records import load_record, save_record
from tests.segbench.made_up import record, table, three_models


def test_a_clear_winner_and_a_tie():
    board = make_leaderboard(three_models()).board("organ", "dice")
    assert board.winners == ("best",)
    assert board.sentence == "best leads (0.9794): significantly better than each of the other 2 models."
    first = board.rows[0]
    assert (first.model, first.place, first.rank_low, first.rank_high) == ("best", 1, 1, 1)
    assert {(s.place, s.rank_low, s.rank_high) for s in board.rows[1:]} == {(2, 2, 3)}
    assert [pair.verdict for pair in board.pairs].count("undecided") == 1
    assert len(board.plans) == 2


def test_it_is_the_ranking_of_segauge():
    made = three_models()
    found = rank(dict(made.tables), structure="organ", metric="dice", n_resamples=500)
    board = make_leaderboard(made).board("organ", "dice")
    assert [s.model for s in board.rows] == [model.name for model in found.models]
    assert [s.win_probability for s in board.rows] == [model.win_probability for model in found.models]
    assert [s.estimate.ci_low for s in board.rows] == [model.score.ci_low for model in found.models]
    assert board.pairs == found.comparison.pairs


def test_a_model_that_has_seen_the_dataset_changes_no_other_number():
    made = three_models()
    others = {name: one for name, one in made.tables.items() if name != "third"}
    with_it = make_leaderboard(record(dict(made.tables), levels={"third": "labels"})).board("organ", "dice")
    without = make_leaderboard(record(others)).board("organ", "dice")
    assert with_it.pairs == without.pairs
    assert with_it.rows[:2] == without.rows
    shown = with_it["third"]
    assert (shown.ranked, shown.place) == (False, None)
    assert shown.estimate is not None


def test_the_order_of_models_changes_no_number():
    made = three_models()
    turned = record({name: made.tables[name] for name in reversed(list(made.tables))})
    one, other = (make_leaderboard(r).board("organ", "dice") for r in (made, turned))
    assert one.rows == other.rows
    assert one.sentence == other.sentence


def test_failures_count_at_the_worst_of_a_bounded_scale_and_last_on_a_distance():
    values = np.full((12, 1, 2), [0.9, 3.0])
    missed = values.copy()
    missed[0, 0] = [0.0, np.nan]
    metrics = ("dice", "hd95")
    made = record(
        {"safe": table(values * [0.99, 1.2], metrics=metrics), "bold": table(missed, metrics=metrics, missed=[(0, 0)])}
    )
    found = make_leaderboard(made)
    dice = found.board("organ", "dice")["bold"].estimate
    assert dice.value == pytest.approx(0.9 * 11 / 12)
    assert dice.failed == {"missed": 1}
    distance = found.board("organ", "hd95")["bold"]
    assert distance.estimate.value == pytest.approx(3.0)
    assert distance.estimate.excluded == {"missed": 1}
    assert distance.estimate.found.value == pytest.approx(11 / 12)
    # The order is made of ranks within cases, where the missed case is last.
    assert distance.value == pytest.approx((11 * 1 + 2) / 12)


def test_a_case_that_a_model_lacks_is_its_failure():
    made = record({"whole": table([0.5] * 12), "short": table([0.9] * 6, ids=[f"case_{i:03d}" for i in range(6)])})
    board = make_leaderboard(made).board("organ", "dice")
    assert board["short"].estimate.value == pytest.approx(0.45)
    assert board["short"].estimate.failed == {"prediction missing": 6}


def test_patients_are_resampled_not_scans():
    made = three_models(n=40)
    clusters = {case: f"patient {i // 4}" for i, case in enumerate(made.case_ids)}
    board = make_leaderboard(record(dict(made.tables), clusters=clusters)).board("organ", "dice")
    assert board.rows[0].estimate.n_clusters == 10


def test_the_average_over_structures_has_only_models_that_have_all_of_them():
    rng = np.random.default_rng(1)
    both = rng.uniform(0.7, 0.9, (20, 2))
    made = record(
        {
            "a": table(both, structures=("x", "y")),
            "b": table(both - 0.1, structures=("x", "y")),
            "partial": table(both[:, :1], structures=("x",)),
        }
    )
    found = make_leaderboard(made)
    average = found.board("average", "dice")
    assert [s.model for s in average.rows] == ["a", "b"]
    assert average["a"].value == pytest.approx(both.mean(axis=0).mean())
    assert [s.model for s in found.board("x", "dice").rows][-1] in ("b", "partial")
    assert len(found.board("y", "dice").rows) == 2


def test_few_cases_one_model_or_none_say_so():
    few = make_leaderboard(three_models(n=5)).board("organ", "dice")
    assert "5 cases are too few" in few.sentence
    alone = make_leaderboard(record({"only": table([0.5, 0.6])})).board("organ", "dice")
    assert alone.sentence == "Only only can be ranked here, so there is no order."
    assert alone.rows[0].estimate.n == 2
    nobody = make_leaderboard(record({"a": table([0.5])}, levels={"a": "unknown"})).board("organ", "dice")
    assert nobody.sentence == "No model is ranked."
    empty = make_leaderboard(record({"a": table([np.nan] * 3), "b": table([np.nan] * 3)})).board("organ", "dice")
    assert "No case has organ" in empty.sentence
    json.dumps([few.to_dict(), alone.to_dict(), nobody.to_dict(), empty.to_dict()], allow_nan=False)


def test_a_measurement_without_a_direction_is_not_ranked():
    metrics = ("dice", "pred_volume")
    made = record({name: table([[0.5, 3.0]] * 3, metrics=metrics) for name in ("a", "b")})
    assert [board.metric for board in make_leaderboard(made).boards] == ["dice"]


def test_deciding_cases_are_named():
    values = np.full(12, 0.8)
    close = values.copy()
    close[0] = 0.9
    behind = values + 0.001
    made = record({"lucky": table(close), "steady": table(behind)})
    board = make_leaderboard(made).board("organ", "dice")
    assert board.flips == {"case_000": "steady"}


def test_a_model_that_is_only_shown_changes_no_average():
    rng = np.random.default_rng(2)
    both = rng.uniform(0.7, 0.9, (20, 2))
    tables = {name: table(both + step, structures=("x", "y")) for name, step in (("a", 0.0), ("b", -0.05), ("c", -0.1))}
    # The model that is shown has scores of more cases than the others have.
    more = table(np.vstack([both, [[0.1, 0.1]]]), structures=("x", "y"))
    gaps = {
        name: table(np.vstack([one.values[:, :, 0], [[np.nan, np.nan]]]), structures=("x", "y"))
        for name, one in tables.items()
    }
    without = make_leaderboard(record(gaps)).board("average", "dice")
    found = make_leaderboard(record({**gaps, "seen": more}, levels={"seen": "labels"})).board("average", "dice")
    assert found.rows[:3] == without.rows
    assert found.pairs == without.pairs
    assert found["seen"].value == pytest.approx(np.vstack([both, [[0.1, 0.1]]]).mean())


def test_failures_without_a_value_of_a_model_that_takes_no_part_undo_no_average():
    values = np.full((12, 2, 1), 3.0)
    step = np.linspace(0.0, 0.1, 12).reshape(-1, 1, 1)
    missed = values.copy()
    missed[0, 0] = np.nan
    options = {"structures": ("x", "y"), "metrics": ("hd95",)}
    tables = {
        "a": table(values, **options),
        "b": table(values + 0.5 + step, **options),
        "seen": table(missed, **options, missed=[(0, 0)]),
        "half": table(missed[:, :1], structures=("x",), metrics=("hd95",), missed=[(0, 0)]),
    }
    found = make_leaderboard(record(tables, levels={"seen": "labels"})).board("average", "hd95")
    assert [(s.model, s.place) for s in found.rows] == [("a", 1), ("b", 2), ("seen", None)]
    assert (found["a"].value, found["seen"].value) == (3.0, None)


def test_failures_of_a_model_that_is_only_shown_are_counted_too():
    both = np.full((20, 2), 0.8)
    missed = both.copy()
    missed[:5, 0] = np.nan
    tables = {name: table(both - step, structures=("x", "y")) for name, step in (("a", 0.0), ("b", 0.1))}
    tables["seen"] = table(missed, structures=("x", "y"), missed=[(case, 0) for case in range(5)])
    found = make_leaderboard(record(tables, levels={"seen": "labels"}))
    assert found.board("x", "dice")["seen"].failure_share == 0.25
    assert found.board("y", "dice")["seen"].failure_share == 0.0
    assert found.board("average", "dice")["seen"].failure_share == 0.25


def test_no_average_where_failures_have_no_value_or_a_structure_is_nowhere():
    metrics = ("hd95",)
    values = np.full((12, 2, 1), 3.0)
    missed = values.copy()
    missed[0, 0] = np.nan
    pair = {
        "a": table(values, structures=("x", "y"), metrics=metrics),
        "b": table(missed, structures=("x", "y"), metrics=metrics, missed=[(0, 0)]),
    }
    assert "give a penalty" in make_leaderboard(record(pair)).board("average", "hd95").sentence
    with_penalty = make_leaderboard(record(pair, failed="penalty", penalty=100.0)).board("average", "hd95")
    assert with_penalty["b"].value == pytest.approx((3.0 + (11 * 3.0 + 100.0) / 12) / 2)
    nowhere = {name: table([[0.5, np.nan]] * 12, structures=("x", "y")) for name in ("a", "b")}
    found = make_leaderboard(record(nowhere))
    assert "No case has y" in found.board("y", "dice").sentence
    assert found.board("average", "dice")["a"].value == pytest.approx(0.5)


def test_models_without_a_common_case_cannot_be_ranked_and_say_so():
    first, second = np.full(12, 3.0), np.full(12, 3.0)
    first[:6], second[6:] = np.nan, np.nan
    tables = {"a": table(first, metrics=("hd95",)), "b": table(second, metrics=("hd95",))}
    failed = {name: ScoreTable(t.cases, t.structures, t.metrics, t.values, t.status) for name, t in tables.items()}
    failed["a"].status.setflags(write=True)
    failed["a"].status[11, 0] = Status.MISSED
    values = failed["a"].values.copy()
    values[11] = np.nan
    failed["a"] = ScoreTable(failed["a"].cases, ("organ",), ("hd95",), values, failed["a"].status)
    board = make_leaderboard(record(failed)).board("organ", "hd95")
    assert board.sentence.startswith("No case has a score or a failure of every ranked model")
    assert [s.estimate.n for s in board.rows] == [5, 6]


def test_a_leaderboard_comes_back_from_its_record(tmp_path):
    metrics = ("dice", "hd95")
    values = np.random.default_rng(3).uniform(0.5, 0.9, (12, 2, 2))
    missed = values.copy()
    missed[0, 0] = [0.0, np.nan]
    tables = {
        "a": table(values, structures=("x", "y"), metrics=metrics),
        "b": table(missed, structures=("x", "y"), metrics=metrics, missed=[(0, 0)]),
        "c": table(values - 0.2, structures=("x", "y"), metrics=metrics),
    }
    made = record(tables, levels={"c": "images"})
    board = make_leaderboard(made)
    path = save_record(made.with_analysis(board.to_dict()), tmp_path / "run.json")
    back = leaderboard_of(load_record(path))
    assert back.to_dict() == board.to_dict()
    assert back.boards == board.boards
    assert back.averages == board.averages
    with pytest.raises(InvalidInput, match="by the rules 'old'"):
        Leaderboard.from_dict({**board.to_dict(), "rules": "old"})
    other = load_record(path).with_analysis({"rules": "old"})
    assert leaderboard_of(other).to_dict() == board.to_dict()


def with_false_findings():
    """Return a record where "loud" is a little better on 20 cases and finds something in 10 that have nothing."""
    quiet = np.concatenate([np.linspace(0.85, 0.91, 20), np.full(10, np.nan)])
    loud = np.concatenate([quiet[:20] + np.linspace(0.015, 0.025, 20), np.zeros(10)])
    tables = {"quiet": table(quiet), "loud": table(loud)}
    status = tables["loud"].status.copy()
    status[20:, 0] = Status.SPURIOUS
    tables["loud"] = replace(tables["loud"], status=status)
    return record(tables)


def test_false_findings_cost_a_place():
    board = make_leaderboard(with_false_findings()).board("organ", "dice")
    assert [(one.model, one.place) for one in board.rows] == [("quiet", 1), ("loud", 2)]
    assert board["quiet"].estimate.n == 20
    assert board["quiet"].value == pytest.approx(0.88)
    assert board.pairs[0].n == 30
    assert [note for note in board.notes if "nothing to find" in note]


def test_a_model_that_is_only_shown_adds_no_case_to_the_board():
    """The loud model has seen the labels: what it invents in ten cases without the structure concerns nobody else."""
    made = with_false_findings()
    shown = record({**made.tables, "other": made.tables["quiet"]}, levels={"loud": "labels"})
    board = make_leaderboard(shown).board("organ", "dice")
    assert board.n_cases == 20
    assert not [note for note in board.notes if "nothing to find" in note]
    assert make_leaderboard(made).board("organ", "dice").n_cases == 30


def test_a_model_that_broke_down_did_not_rightly_find_nothing():
    made = with_false_findings()
    cases = [f"case_{i:03d}" for i in range(20, 30)]
    entries = tuple(
        replace(one, failures=dict.fromkeys(cases, "out of memory")) if one.name == "quiet" else one
        for one in made.models
    )
    board = make_leaderboard(replace(made, models=entries)).board("organ", "dice")
    assert board.pairs[0].n == 20
    assert not [note for note in board.notes if "nothing to find" in note]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_prediction_that_could_not_be_read_did_not_rightly_find_nothing(jobs):
    """Where there is nothing to find it counts as absent, but the reason stays."""
    made = with_false_findings()
    quiet = made.tables["quiet"]
    unread = Missing(Status.ABSENT, "not a NIfTI file", "unknown")
    tables = {**made.tables, "quiet": replace(quiet, missing={(case, "organ"): unread for case in quiet.cases[20:]})}
    board = make_leaderboard(replace(made, tables=tables), jobs=jobs).board("organ", "dice")
    assert board.pairs[0].n == 20
    assert not [note for note in board.notes if "nothing to find" in note]


def test_a_single_case_is_one_case_and_has_an_order():
    board = make_leaderboard(record({"a": table([0.9]), "b": table([0.8])})).board("organ", "dice")
    assert board.sentence == f"a has the best mean (0.900). {board.rule}"
    assert board.rule == "All models are tied: 1 case is too few for a verdict (at least 10)."
    assert board.plans == ()


def test_an_average_has_no_schemes_of_single_cases():
    values = np.random.default_rng(0).uniform(0.5, 0.9, (12, 2))
    tables = {name: table(values + shift, structures=("x", "y")) for name, shift in (("a", 0.05), ("b", 0.0))}
    board = make_leaderboard(record(tables)).board("average", "dice")
    assert list(board.schemes) == ["mean", "failures"]
    assert board.pairs[0].wins is None


def test_more_cases_are_promised_only_for_models_that_share_the_place():
    rows = tuple(
        BoardRow(name, 0.9 - i / 10, None, 20, 0, place=1) for i, name in enumerate(("first", "second", "third"))
    )
    plans = tuple(PairPlan(a, b, 20, 0.1, 0.2, 0.5, 0.1, 35) for a, b in (("first", "second"), ("second", "third")))
    pair = PairResult("first", "second", 20, 0.1, 0.0, 0.2, 0.5, 0.5, 0.6, "undecided", None)
    board = Board("organ", "dice", "", "mean", "", True, 20, rows, pairs=(pair,), plans=plans)
    assert board.sentence.endswith("You would need about 35 cases (80 % power) to separate first and second.")
    # The second is worse already: no case is needed to separate it from the first.
    board = replace(board, rows=(rows[0], replace(rows[1], place=2), rows[2]))
    assert "You would need" not in board.sentence


def test_where_all_models_score_the_same_none_leads():
    """Three models that all miss everything were printed as "a has the best mean dice"."""
    made = record({name: table(np.zeros(12), missed=[(i, 0) for i in range(12)]) for name in "abc"})
    board = make_leaderboard(made).board("organ", "dice")
    assert board.sentence == "All 3 models have the same mean (0.000), so none leads."
    assert board.leader is None


def test_boards_in_workers_are_those_made_here():
    made = with_false_findings()
    assert make_leaderboard(made, jobs=2).to_dict() == make_leaderboard(made).to_dict()


def test_a_board_by_ranks_says_so():
    near, far = np.linspace(2, 4, 12), np.linspace(6, 9, 12)
    far[0] = np.nan
    tables = {"near": table(near, metrics=("hd95",)), "far": table(far, metrics=("hd95",), missed=[(0, 0)])}
    board = make_leaderboard(record(tables)).board("organ", "hd95")
    assert board.is_by_ranks
    assert board["near"].value == 1.0
    few = make_leaderboard(record({name: replace_cases(one, 5) for name, one in tables.items()}))
    assert few.board("organ", "hd95").sentence.startswith(
        "near has the best mean rank (1.00). All models are tied: 5 cases"
    )


def replace_cases(one, count):
    return ScoreTable(one.cases[:count], one.structures, one.metrics, one.values[:count], one.status[:count])
