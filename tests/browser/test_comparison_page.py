"""The comparison report in a browser."""

import pytest

from segauge.report.comparison import ModelComparison
from segauge.report.comparison_page import write_comparison
from tests.report.examples import HOSTILE
from tests.report.test_comparison import model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def path(tmp_path_factory, browser):
    models = {"good": model(0.05, seed=1), "fair": model(0.0, seed=2), HOSTILE[1]: model(0.001, seed=3, failed=(4,))}
    comparison = ModelComparison(models, metric="dice", n_resamples=1000)
    return write_comparison(comparison, tmp_path_factory.mktemp("comparison") / "comparison.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_offline_without_a_complaint(path, scheme, visit):
    opened = visit(path, color_scheme=scheme)
    assert opened.complaints == []
    assert opened.requests == [path.as_uri()]
    assert opened.page.locator("svg.figure").count() == 7
    assert opened.page.locator("img").count() == 0


def test_a_telephone_needs_no_sideways_scrolling(path, visit):
    page = visit(path, viewport={"width": 390, "height": 844}, is_mobile=True).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_no_number_of_the_ranking_is_broken_on_a_telephone(path, visit):
    page = visit(path, viewport={"width": 390, "height": 844}, is_mobile=True).page
    lines = """(cell) => {
        const range = document.createRange(), text = cell.firstChild;
        return text.data.trim().split(" ").map((word) => {
            const at = text.data.indexOf(word);
            range.setStart(text, at);
            range.setEnd(text, at + word.length);
            return range.getClientRects().length;
        });
    }"""
    cell = page.locator("#ranking tbody tr").first.locator("td").nth(1)
    assert cell.evaluate(lines) == [1, 1, 1]
    assert page.locator("#ranking caption").first.bounding_box()["width"] <= 390


def test_a_cell_of_the_significance_map_says_its_pair(path, visit):
    from playwright.sync_api import expect

    page = visit(path).page
    cell = page.locator("#significance svg [role=img][aria-label^='good against fair']").first
    cell.scroll_into_view_if_needed()
    cell.hover(force=True)
    expect(page.locator("#tip")).to_contain_text("good against fair: better, effect size +")


def test_accessibility_rules_hold(path, visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    found = axe.Axe().run(visit(path).page)
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found.response["violations"]] == []
