"""Every public result shows itself in a notebook: as HTML that nothing in a name can break."""

import html.parser

import numpy as np
import pytest

import segauge
from segauge.notebook import MOST_ROWS, NotebookTable

EVIL = "<script>alert('x')</script>"


def masks():
    gt = np.zeros((10, 10, 10), dtype=np.uint8)
    gt[2:6, 2:6, 2:6] = 1
    return np.roll(gt, 1, axis=0), gt


def table(shift=0.0, n=12):
    values = np.linspace(0.6, 0.9, n).reshape(n, 1, 1) - shift
    status = np.full((n, 1), segauge.Status.PRESENT, dtype=object)
    return segauge.ScoreTable(tuple(f"{EVIL}{i}" for i in range(n)), (EVIL,), ("dice",), values, status)


def result():
    return segauge.evaluate([segauge.Case(EVIL, *masks())], metrics=["dice"])


def verified(tmp_path):
    return segauge.verify(result().to_json(tmp_path / "r.json"))


SCORES = {EVIL: [0.9, 0.8, 0.7, 0.9], "b": [0.5, 0.6, 0.4, 0.5]}
MADE = {
    "Comparison": lambda _: segauge.compare({EVIL: table(), "b": table(0.1)}, structure=EVIL, metric="dice"),
    "DetectionScores": lambda _: segauge.detection_scores(*masks()),
    "Difference": lambda _: segauge.difference(table(), table(0.1)),
    "Estimate": lambda _: segauge.estimate([0.5, 0.6, 0.7]),
    "EvaluationResult": lambda _: result(),
    "LesionwiseScores": lambda _: segauge.lesionwise_scores(*masks(), spacing=4.0),
    "Measurement": lambda _: segauge.measure(*masks(), {EVIL: 1}, ["dice"]),
    "PairedComparison": lambda _: segauge.paired_significance(*SCORES.values(), a_name=EVIL, b_name="b"),
    "Ranking": lambda _: segauge.rank({EVIL: table(), "b": table(0.1)}, structure=EVIL, metric="dice"),
    "RankingResult": lambda _: segauge.ranking_stability(SCORES),
    "ScoreTable": lambda _: table(),
    "Verification": verified,
}


class Tags(html.parser.HTMLParser):
    """Which elements there are, and whether every one is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - as the parser calls it
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", MADE)
def test_every_result_shows_itself(name, tmp_path):
    made = MADE[name](tmp_path)
    assert type(made).__name__ == name
    tags = Tags(made._repr_html_())
    assert not tags.open
    assert "script" not in tags.seen
    assert tags.seen & {"table", "span"}


def test_no_public_result_was_forgotten():
    public = {
        name for name in segauge.__all__
        if isinstance(getattr(segauge, name), type) and hasattr(getattr(segauge, name), "_repr_html_")
    }  # fmt: skip
    assert public == set(MADE)
    assert {name for name in public if issubclass(getattr(segauge, name), NotebookTable)} == set(MADE) - {
        "Estimate", "EvaluationResult",
    }  # fmt: skip


def test_long_tables_are_cut_and_say_so():
    shown = table(n=MOST_ROWS + 7)._repr_html_()
    assert "... and 7 more rows" in shown
    assert shown.count("<tr>") == MOST_ROWS + 1
