"""The site as files: what is there, what it says, and that it is inert."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from segauge import Status
from segauge.errors import InvalidInput
from segauge.report.html import Picture
from segbench.boards import leaderboard_of
from segbench.cli import main
from segbench.records import load_record, save_record
from segbench.site import render
from segbench.site.board_page import board_illustrations, tolerance_curve
from segbench.site.chapters import chapters_of
from segbench.site.counts import Counts, counts_of
from segbench.site.downloads import download_names, score_lines
from segbench.site.history import history_of
from segbench.site.models import model_views
from segbench.study_files import study_of_records
from tests.segbench.made_up import record as made_up
from tests.segbench.made_up import table
from tests.segbench.site.examples import analysed, hostile, organs

for _module in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(_module, reason="the site needs segauge[report]")


class Links(HTMLParser):
    """Collects what a page refers to, and everything that could run."""

    def __init__(self):
        super().__init__()
        self.links, self.running, self.ids = [], [], set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        self.running += [name for name in found if name.startswith("on") or name == "style"]
        self.running += [tag] if tag in ("iframe", "object", "embed", "foreignobject") else []
        if tag == "script" and "src" not in found and found.get("type") != "application/json":
            self.running.append("inline script")
        self.ids |= {found["id"]} if "id" in found else set()


def parsed(path):
    made = Links()
    made.feed(path.read_text(encoding="utf-8"))
    return made


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the figures out, for tests that do not look at them: drawing takes most of the time."""
    monkeypatch.setattr(Picture, "of", lambda one: Picture(one.key, one.title, one.caption, "<svg></svg>"))


def rendered(records, folder, **options):
    """Render records with their analysis, as the command does."""
    analysis = study_of_records(records, [leaderboard_of(record) for record in records])
    return render(records, folder, analysis=analysis, **options)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    rendered([organs()], folder, checks=[("Level 1: 7 numbers: all of it follows.", True)])
    return folder


def test_every_link_within_the_site_leads_somewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 10
    known = {page: parsed(page) for page in pages}
    for page, found in known.items():
        for link in found.links:
            address, _, anchor = link.partition("#")
            if address.startswith("http"):
                continue
            target = (page.parent / address).resolve() if address else page
            assert target.is_relative_to(site.resolve()), (page, link)
            assert target.is_file(), (page, link)
            # The front page's anchors are selections, which its script reads.
            if anchor and target.suffix == ".html" and "=" not in anchor:
                assert anchor in known[site / target.relative_to(site.resolve())].ids, (page, link)


def test_a_model_without_every_structure_is_named_beside_the_average(tmp_path, undrawn):
    both = np.linspace(0.7, 0.9, 12)[:, None] * [1.0, 0.99]
    tables = {name: table(both - step, structures=("x", "y")) for name, step in (("a", 0.0), ("b", 0.1))}
    tables["half"] = table(both[:, :1], structures=("x",))
    left_out = {"model": "half", "structure": "y", "reason": "n/a: the model has no such structure"}
    render([analysed(replace(made_up(tables), exclusions=(left_out,)))], tmp_path)
    words = re.sub("<[^>]*>", "", (tmp_path / "made-up" / "average" / "dice.html").read_text())
    assert "half: has no average: n/a on y" in words


def test_a_value_that_is_not_there_is_over_no_cases(tmp_path, undrawn):
    values = np.linspace(3.0, 4.0, 24).reshape(12, 2, 1)
    gap = np.where(np.arange(24).reshape(12, 2, 1) == 0, np.nan, values)
    options = {"structures": ("x", "y"), "metrics": ("hd95",)}
    tables = {name: table(values + step, **options) for name, step in (("a", 0.0), ("b", 0.5))}
    tables["seen"] = table(gap, **options, missed=[(0, 0)])
    render([analysed(made_up(tables, levels={"seen": "labels"}))], tmp_path)
    text = (tmp_path / "made-up" / "average" / "hd95.html").read_text()
    rows = re.findall(r'<tr class="(?:ranked|shown).*?</tr>', text, re.DOTALL)
    found = [re.search(r'data-label="failed" data-value="\d*"[^>]*>(.*?)</td>', row)[1] for row in rows]
    assert [words.split(" (")[0] for words in found] == ["0 of 12", "0 of 12", ""]
    assert "no value" in rows[2]


def test_the_overview_has_a_verdict_and_every_mean(site):
    text = (site / "index.html").read_text()
    boards = leaderboard_of(organs())
    assert boards.board("average", "dice").sentence in text
    for board in boards.boards:
        assert f'href="made-up/{board.structure}/{board.metric}.html"' in text
    assert text.count('data-model="gamma"') == 2  # one row per metric
    row = text[text.index('data-model="peeker"') :]
    assert "unranked" in row[: row.index("</tr>")]
    assert 'class="mark labels"' in row[: row.index("</tr>")]


def test_a_board_has_its_differences_failures_tabs_and_scores(site):
    boards = leaderboard_of(organs())
    for board in boards.boards:
        text = (site / "made-up" / board.structure / f"{board.metric}.html").read_text()
        # Groups have no means where failed cases have no value.
        tabs = {"pairs", "stability", "cases", "metrics", *(() if board.is_by_ranks else ("groups",))}
        assert set(re.findall(r'section id="(\w+)" class="tab"', text)) == tabs
        script = (site / "data" / "made-up" / board.structure / f"{board.metric}.js").read_text()
        address, scores = json.loads("[" + script.removeprefix("segbenchData(").removesuffix(");\n") + "]")
        assert address == f"data/made-up/{board.structure}/{board.metric}.js"
        assert scores["models"] == [row.model for row in board.rows]
        assert len(scores["pairs"]) == len(board.pairs)
        assert "<script" not in (site / "embed" / "made-up" / board.structure / f"{board.metric}.html").read_text()
    text = (site / "made-up" / "liver" / "dice.html").read_text()
    row = text[text.index('data-value="gamma"') :]
    assert re.search(r'data-label="failed" data-value="1"[^>]*>1 of 24', row[: row.index("</tr>")])
    assert "&gt;99 %" in (site / "made-up" / "average" / "dice.html").read_text()


def test_the_downloads_are_the_record_and_its_scores(site):
    record = organs()
    assert load_record(site / "downloads" / "made-up.json").fingerprint() == record.fingerprint()
    with (site / "downloads" / "made-up.scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 24 * 2
    lost = next(r for r in rows if (r["model"], r["case"], r["structure"]) == ("gamma", "case_003", "liver"))
    assert (lost["status"], lost["dice"], lost["hd95"]) == ("missed", "0.0", "")


def test_methods_come_from_the_record(site):
    text = (site / "methods.html").read_text()
    assert organs().fingerprint() in text
    assert "500 resamples" in text
    assert "Level 1: 7 numbers: all of it follows." in text


def test_hostile_names_stay_text_and_stay_in_the_folder(tmp_path):
    folder = tmp_path / "site"
    render([hostile()], folder)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["site"]
    for page in folder.rglob("*.html"):
        found = parsed(page)
        assert found.running == [], page
        assert not [link for link in found.links if link.lower().startswith(("javascript:", "data:"))], page
    for badge in folder.rglob("*.svg"):
        root = ElementTree.fromstring(badge.read_text())  # noqa: S314 - written by us
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
            "svg",
            "title",
            "rect",
            "path",
            "g",
            "text",
        }
    with next((folder / "downloads").glob("*.csv")).open() as file:
        assert not [cell for row in csv.reader(file) for cell in row if cell[:1] in ("=", "+", "@")]


def test_several_records_share_a_site_and_an_overall_board(tmp_path, undrawn):
    first, again = organs(seed=1), organs(seed=2)
    other = organs(seed=3, name="elsewhere", title="Elsewhere", shift=-0.1)
    rendered([first, again, other], tmp_path, title="Two places")
    catalog = json.loads(re.search(r'id="data-catalog">(.*?)</script>', (tmp_path / "compare.html").read_text())[1])
    assert [one["key"] for one in catalog] == ["made-up", "made-up-2", "elsewhere"]
    overall = (tmp_path / "overall.html").read_text()
    means = [leaderboard_of(record).board("average", "dice")["alpha"].value for record in (again, other)]
    assert f"{sum(means) / 2:.4f}" in overall
    # peeker has seen one of the two test sets, so it has no mean over both.
    assert "peeker</bdi> is left out: not ranked on <bdi>made-up" in overall


def test_a_record_that_does_not_follow_is_said_so_and_exits_5(tmp_path, capsys, undrawn):
    record = organs(12)
    analysis = json.loads(json.dumps(dict(record.analysis)))
    analysis["boards"][0]["rows"][0]["estimate"]["value"] += 0.01
    path = save_record(replace(record, analysis=analysis), tmp_path / "run.json")
    assert main(["render", "--results", str(path), "--out", str(tmp_path / "site")]) == 5
    assert "1 does not follow" in (tmp_path / "site" / "index.html").read_text()
    capsys.readouterr()


ENDS = ("ci_low", "ci_high")
CURVE = ("nsd", "nsd@1", "nsd@2.5", "nsd@10")


def surfaces(metrics=CURVE):
    """Two models whose surface Dice grows with the tolerance; the second one missed a case."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.5, 0.6, (15, 1, 1)) + np.linspace(0, 0.35, len(metrics))
    tables = {}
    for name, lost in (("one", 0.0), ("other", 0.05)):
        values = base - lost + rng.normal(0, 0.004, base.shape)
        missed = [(4, 0)] if name == "other" else []
        values[[place[0] for place in missed]] = 0.0
        tables[name] = table(values, metrics=metrics, missed=missed)
    return analysed(made_up(tables))


def test_the_surface_dice_is_a_curve_with_its_intervals():
    record = surfaces()
    chapter = chapters_of([record])[0]
    # The points of the curve have no boards of their own.
    assert [board.metric for board in chapter.boards] == ["nsd"]
    known = chapter.curve("organ")
    assert list(known) == [1.0, 2.5, 10.0]
    curve = tolerance_curve(known, "other")
    for place, metric in enumerate(CURVE[1:]):
        estimate = leaderboard_of(record).board("organ", metric)["other"].estimate
        column = record.tables["other"].column("organ", metric)
        assert curve.value[place] == pytest.approx(column.mean(), abs=1e-12)  # the missed case counts as 0
        assert (curve.low[place], curve.high[place]) == (estimate.ci_low, estimate.ci_high)
        assert curve.low[place] < curve.value[place] < curve.high[place]
    drawn = {one.key: one for one in board_illustrations(chapter, chapter.boards[0], None)}
    assert "interval at each tolerance" in drawn["tolerance"].caption
    # The band is an area of its own, in the shape of the limits.
    assert "area" in str(drawn["tolerance"].make().to_dict()["layer"])


@pytest.mark.parametrize(
    ("tolerance", "liver", "average"),
    [
        (2.0, "at 2 mm", "at 2 mm"),
        ({"liver": 3.0, "tumor": 1.5}, "at 3 mm", "(tolerance per structure)"),
        (None, "", ""),
    ],
)
def test_the_surface_dice_is_named_with_the_tolerance_of_the_record(tolerance, liver, average):
    values = [[0.9, 0.7], [0.8, 0.6], [0.85, 0.5]]
    tables = {name: table(values, structures=("liver", "tumor"), metrics=("nsd",)) for name in "AB"}
    made = analysed(made_up(tables))
    options = {} if tolerance is None else {"nsd_tolerance_mm": tolerance}
    (chapter,) = chapters_of([replace(made, protocol={"options": options})])
    boards = {board.structure: board for board in chapter.boards}
    assert chapter.metric_title(boards["liver"]) == f"Normalized surface Dice {liver}".strip()
    assert chapter.axis(boards["average"]) == f"Normalized surface Dice {average}".strip()


def test_fewer_than_three_tolerances_are_boards_and_no_curve():
    chapter = chapters_of([surfaces(CURVE[:3])])[0]
    assert [board.metric for board in chapter.boards] == ["nsd", "nsd@1", "nsd@2.5"]
    assert chapter.curve("organ") == {}
    alone = chapters_of([surfaces(CURVE[1:])])[0]
    assert [board.metric for board in alone.boards] == ["nsd@1", "nsd@2.5", "nsd@10"]
    assert len(alone.curve("organ")) == 3


def test_the_history_of_a_test_set_shows_every_record(tmp_path, undrawn):
    older, newer = organs(seed=1), organs(30, seed=2, shift=0.02)
    chapters = chapters_of([older, newer])
    series = history_of(chapters).series()
    boards = [leaderboard_of(one).board("average", "dice") for one in (older, newer)]
    assert list(series) == [standing.model for standing in boards[1].rows]
    curve = series["alpha"]
    assert (curve.x, curve.value) == ([1.0, 2.0], [board["alpha"].estimate.value for board in boards])
    assert (curve.low, curve.high) == tuple([getattr(b["alpha"].estimate, end) for b in boards] for end in ENDS)
    # A model that is only shown has its own mean and interval.
    assert series["peeker"].value == [board["peeker"].estimate.value for board in boards]
    render([older, newer], tmp_path)
    text = (tmp_path / "methods.html").read_text()
    assert "record by record" in text
    assert history_of(chapters[:1]) is None
    # The front page counts test sets and their newest cases, not records.
    assert "1 test set, 30 cases" in (tmp_path / "index.html").read_text()


def test_counts_are_those_of_the_table():
    record = organs()
    found = counts_of(record.tables["gamma"])
    assert (found["liver"], found["spleen"], found["average"]) == (Counts(1), Counts(), Counts(1))
    states = record.tables["gamma"].status.copy()
    states[5:8, 1] = (Status.SPURIOUS, Status.FAILED, Status.PREDICTION_MISSING)
    found = counts_of(replace(record.tables["gamma"], status=states))
    assert found["average"] == Counts(missed=1, spurious=1, unscored=2)


def test_the_scores_as_csv_are_those_of_the_table_in_any_name():
    record = hostile()
    rows = list(csv.DictReader(io.StringIO("".join(score_lines(record)), newline="")))
    model, table = next(iter(record.tables.items()))
    assert len(rows) == sum(t.values[:, :, 0].size for t in record.tables.values())
    assert [float(row["dice"]) for row in rows[: table.values[:, :, 0].size]] == table.values.ravel().tolist()
    assert rows[0]["model"].lstrip("'") == model
    assert {row["case"].lstrip("'") for row in rows} == {case.lstrip("'") for case in record.case_ids}


def test_a_csv_that_nobody_could_open_is_not_offered(monkeypatch):
    assert "scores.csv" in download_names(organs())
    monkeypatch.setattr("segbench.site.downloads.MOST_ROWS", 100)
    assert "scores.csv" not in download_names(organs())


def test_the_card_of_a_model_lists_a_bounded_number_of_boards(monkeypatch):
    chapters = chapters_of([organs()])
    every = model_views(chapters)[0]
    assert (len(every.standings), every.more_standings) == (6 if len(chapters[0].boards) == 6 else 5, 0)
    monkeypatch.setattr("segbench.site.models.MOST_STANDINGS", 2)
    few = model_views(chapters)[0]
    assert len(few.standings) == 2
    assert few.more_standings == len(every.standings) - 2
    assert "all structures" in few.standings[0][0]


def test_what_cannot_be_rendered_is_said(tmp_path, undrawn):
    with pytest.raises(InvalidInput, match="at least one record"):
        render([], tmp_path)
    with pytest.raises(InvalidInput, match="one check for each of 1"):
        render([organs(12)], tmp_path, checks=[("", True), ("", True)])
