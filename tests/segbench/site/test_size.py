"""A site of any size: structure by structure, in any number of processes, with pages whose weight is bounded."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from segauge.errors import SegaugeError
from segauge.report import figures
from segauge.report.figures import Cases, Point
from segauge.report.html import Picture
from segbench.boards import make_leaderboard
from segbench.cli import main
from segbench.site import render
from segbench.site.board_page import MOST_DRAWN, board_illustrations, scores_of
from segbench.site.cases import MOST_MODELS
from segbench.site.chapters import chapters_of
from tests.segbench.site.examples import analysed, many, organs

for _module in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(_module, reason="the site needs segauge[report]")


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(Picture, "of", lambda one: Picture(one.key, one.title, one.caption, "<svg></svg>"))


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_an_analysis_is_the_same_for_any_number_of_workers():
    made = many(40, 4, 3)
    heard = []
    alone, together = make_leaderboard(made), make_leaderboard(made, jobs=2, progress=lambda *what: heard.append(what))
    assert json.dumps(alone.to_dict()) == json.dumps(together.to_dict())
    averages = [f"average {metric}" for metric in made.metrics]
    assert sorted(name for name, _, _ in heard[:3]) == list(made.structures)
    assert [name for name, _, _ in heard[3:]] == averages
    count = 3 + len(averages)
    assert [(done, total) for _, done, total in heard] == [(i, count) for i in range(1, count + 1)]


@pytest.mark.slow
def test_any_number_of_workers_writes_the_same_bytes(tmp_path):
    """And so does every run: nothing of its moment, of its order or of its process is on any page."""
    made, checks = organs(15), [("Level 1: 7 numbers: all of it follows.", True)]
    heard = []
    render([made], tmp_path / "one", jobs=1, checks=checks)
    render([made], tmp_path / "two", jobs=2, checks=checks, progress=lambda *what: heard.append(what))
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert list(one) == list(two)
    assert [name for name in one if one[name] != two[name]] == []
    assert [done for _, done, _ in heard] == list(range(1, 1 + len(chapters_of([made])[0].boards)))


def test_a_worker_gets_the_scores_of_its_structure_and_no_others():
    made = organs()
    entry = replace(made.models[0], predictions=dict.fromkeys(made.case_ids, "0" * 64))
    made = replace(made, models=(entry, *made.models[1:]), timings={"alpha": {made.case_ids[0]: 4.0}})
    (chapter,) = chapters_of([made])
    cut = pickle.loads(pickle.dumps(chapter.of_structure("liver")))  # noqa: S301 - as it goes to a worker
    assert {name: one.structures for name, one in cut.record.tables.items()} == dict.fromkeys(made.tables, ("liver",))
    assert cut.record.models[0].predictions == {}
    assert cut.seconds["alpha"] == 4.0
    assert cut.places == chapter.places
    assert {board.structure for board in cut.boards} == {"liver"}
    board = cut.board_of("liver", "dice")
    whole, part = scores_of(chapter, board), scores_of(cut, board)
    assert np.array_equal(whole.values, part.values, equal_nan=True)
    assert cut.counts("liver", "gamma") == chapter.counts("liver", "gamma")


def test_a_structure_that_cannot_be_drawn_is_named_and_the_others_are_there(tmp_path, undrawn, monkeypatch):
    from segbench.site import structures

    plain = structures.write_board

    def broken(task, board, scores):
        if board.structure == "spleen":
            raise ZeroDivisionError("no such number")
        return plain(task, board, scores)

    monkeypatch.setattr(structures, "write_board", broken)
    with pytest.raises(SegaugeError, match=r"All other pages are written, but those of .*spleen \(ZeroDivisionError"):
        render([organs()], tmp_path)
    assert (tmp_path / "made-up/liver/dice.html").is_file()
    assert (tmp_path / "index.html").is_file()
    assert not (tmp_path / "made-up/spleen/dice.html").exists()


def rows_of(chart):
    """Return all rows of data of a layered chart."""
    return [row for layer in chart.layer for row in layer.data["values"]]


def test_a_cloud_of_arrays_is_that_of_points():
    rng = np.random.default_rng(1)
    points = [
        Point(group, float(value), f"case {i}", failed=i % 7 == 0)
        for group in ("a", "b")
        for i, value in enumerate(rng.uniform(0, 1, 50))
    ]
    points[3] = replace(points[3], value=math.nan)
    arrays = {group: Cases.of([point for point in points if point.group == group]) for group in ("a", "b")}
    one, other = (rows_of(figures.raincloud(given, axis="Dice")) for given in (points, arrays))
    assert len(one) > len(points)
    assert one == other


def test_thinned_points_are_the_outermost_of_a_box_of_all_cases():
    values = np.linspace(0.0, 1.0, 5001)
    names = [f"case {i}" for i in range(values.size)]
    rows = rows_of(figures.raincloud({"a": Cases(values, names, np.zeros(values.size, bool))}, axis="Dice"))
    drawn = [row["value"] for row in rows if "failed" in row]
    assert len(drawn) == figures.MOST_POINTS
    half = figures.MOST_POINTS // 2
    assert sorted(drawn) == [*values[:half].tolist(), *values[-half:].tolist()]
    # The box is that of all 5001 cases: evenly spread from 0 to 1, its quartiles are a quarter, a half, three quarters.
    box = next(row for row in rows if "first" in row)
    assert (box["first"], box["median"], box["third"]) == (0.25, 0.5, 0.75)
    assert "n = 5001" in box["label"]


def test_a_board_of_many_says_what_its_figures_leave_out():
    (chapter,) = chapters_of([analysed(many(200, MOST_DRAWN + 1, 1))])
    (board,) = chapter.boards
    captions = {one.key: one.caption for one in board_illustrations(chapter, board, scores_of(chapter, board))}
    assert f"The {MOST_DRAWN} best models are drawn." in captions["significance"]
    assert "of many cases, those at the two ends" in captions["distribution"]
    (few,) = chapters_of([analysed(many(30, 3, 1))])
    captions = {one.key: one.caption for one in board_illustrations(few, few.boards[0], scores_of(few, few.boards[0]))}
    assert "two ends" not in captions["distribution"]


def test_the_scores_of_a_board_are_a_file_of_the_first_models(tmp_path, undrawn):
    made = many(30, MOST_MODELS + 3, 1)
    render([analysed(made)], tmp_path)
    page = (tmp_path / "made-up/organ-1/dice.html").read_text()
    assert 'data-scores="data/made-up/organ-1/dice.js"' in page
    text = (tmp_path / "data/made-up/organ-1/dice.js").read_text()
    scores = json.loads(text.split(",", 1)[1].removesuffix(");\n"))
    board = make_leaderboard(made).board("organ 1", "dice")
    assert scores["models"] == [row.model for row in board.rows][:MOST_MODELS]
    assert [len(column) for column in scores["values"]] == [30] * MOST_MODELS
    assert f"The first {MOST_MODELS} models are shown" in page


@pytest.mark.long
def test_pages_of_many_models_and_cases_stay_light(tmp_path):
    render([analysed(many(500, 30, 2))], tmp_path)
    sizes = {path: path.stat().st_size for path in tmp_path.rglob("*.html")}
    assert len(list(tmp_path.glob("made-up/organ-*/dice.html"))) == 2
    # A board: 24 drawn models with 3000 points and 552 pairs, each with its label, whatever the number of cases.
    assert max(sizes.values()) < 1_600_000
    assert sizes[tmp_path / "index.html"] < 200_000


def test_a_number_of_workers_that_is_none_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["render", "--results", "run.json", "--out", str(tmp_path), "--jobs", "0"])
    assert "worker processes of 1 or more, got '0'" in capsys.readouterr().err
