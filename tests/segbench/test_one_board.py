"""One score file, one board: import, analyze, compare and render show the same failures, places and values."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jinja2", reason="the comparison needs segauge[report]")

from segauge.io.tables import read_scores
from segauge.report.comparison import ModelComparison
from segauge.stats import ScoredSet
from segbench.analysis import StudyInput, analyze
from segbench.boards import make_leaderboard, rules_of
from segbench.cards import DatasetCard
from segbench.cli import main
from segbench.records import load_record, save_record
from segbench.scoring.facts import record_of_scores
from segbench.site.chapters import chapters_of
from segbench.verification import verify_statistics
from tests.report.examples import synthetic

METRICS = ("dice", "hd95")


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Two structures, three models, of which one failed on two cases."""
    rng = np.random.default_rng(2)
    base, lines = rng.beta(12, 2, (15, 2)), ["case,structure,model,dice,hd95,status"]
    for k, model in enumerate("abc"):
        for i, j in np.ndindex(15, 2):
            failed = model == "b" and (i, j) in ((3, 1), (7, 0))
            dice = 0 if failed else round(float(np.clip(base[i, j] - 0.03 * k + rng.normal(0, 0.01), 0.01, 0.99)), 4)
            hd95 = "" if failed else round(float(rng.lognormal(1 + 0.2 * k, 0.3)), 3)
            lines.append(f"c{i:02d},{('liver', 'spleen')[j]},{model},{dice},{hd95},{'missed' if failed else 'present'}")
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_scores(path)


def shown(board):
    """Return what a board says about each model."""
    return {row.model: replace(row, estimate=row.estimate.to_dict()) for row in board.rows}


def test_every_command_shows_the_same_board(imported, tmp_path):
    """import printed "failed 7 %" where analyze printed 0, and mean ranks stood among millimetres."""
    settings = {"exposure_policy": "all", "n_resamples": 500}
    record = record_of_scores(imported, DatasetCard("made-up"), settings=settings)
    ours = make_leaderboard(record)
    record = load_record(save_record(record.with_analysis(ours.to_dict()), tmp_path / "run.json"))
    study = analyze([StudyInput(ScoredSet("made-up", imported.tables))], rules_of(n_resamples=500)).sets[0]
    result = synthetic(3, ("liver", "spleen"), curve=False)
    infos = tuple(info for info in result.metrics if info.key in METRICS)
    results = {name: replace(result, table=table, metrics=infos) for name, table in imported.tables.items()}
    compared = ModelComparison(results, n_resamples=500)
    (chapter,) = chapters_of([record])
    assert verify_statistics(record).holds
    for metric in METRICS:
        for structure in ("liver", "spleen", "average"):
            expected = shown(ours.board(structure, metric))
            assert shown(chapter.leaderboard.board(structure, metric)) == expected
            of_study = next((one for one in study.boards[metric] if one.structure == structure), None)
            assert of_study is None or shown(of_study) == expected
            if structure != "average":
                assert of_study is not None
    assert shown(compared.board) == shown(ours.board("average", "dice"))
    assert {name: shown(board) for name, board in compared.by_structure.items()} == {
        name: shown(ours.board(name, "dice")) for name in ("liver", "spleen")
    }
    failed = ours.board("average", "dice")["b"]
    assert (failed.failed, failed.n) == (2, 15)


def test_a_board_by_ranks_keeps_ranks_and_millimetres_apart(imported):
    record = record_of_scores(imported, DatasetCard("made-up"), settings={"exposure_policy": "all"})
    board = make_leaderboard(record).board("liver", "hd95")
    assert (board.kind, board.unit) == ("mean rank", "mm")
    assert sum(row.value for row in board.rows) == pytest.approx(6.0)
    column = imported.tables["b"].column("liver", "hd95")
    assert board["b"].estimate.value == board["b"].own_mean == pytest.approx(np.nanmean(column))
    assert board["b"].estimate.unit == "mm"


def test_claim_and_board_print_the_same_two_intervals(imported, tmp_path, capsys):
    """A claim printed an interval of two models alone where the board had one for all pairs, under no name."""
    record = record_of_scores(imported, DatasetCard("made-up"), settings={"exposure_policy": "all"})
    path = save_record(record, tmp_path / "run.json")
    main(["claim", "a > c on liver dice", str(path), "--json", str(tmp_path / "claim.json")])
    said = " ".join(capsys.readouterr().out.split())
    pair = make_leaderboard(record).board("liver", "dice").comparison["a", "c"]
    assert f"{pair.interval_text()} all pairs together (3 models, 15 cases)" in said
    assert f"{pair.alone_text()} this pair alone" in said
    (rival,) = json.loads((tmp_path / "claim.json").read_text())["rivals"]
    assert (rival["alone_low"], rival["alone_high"]) == (pair.alone_low, pair.alone_high)


def test_an_interval_excludes_0_where_and_only_where_the_board_decides(imported):
    """15 % of the decided pairs of real boards contained 0."""
    record = record_of_scores(imported, DatasetCard("made-up"), settings={"exposure_policy": "all"})
    found = make_leaderboard(record)
    pairs = [pair for board in (*found.boards, *found.averages) for pair in board.pairs]
    assert {pair.distinguishable for pair in pairs} == {True, False}
    for pair in pairs:
        assert pair.distinguishable == (not pair.ci_low <= 0 <= pair.ci_high), pair
