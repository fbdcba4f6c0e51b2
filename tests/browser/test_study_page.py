"""The page of `segbench analyze` in a browser: from disk, without network, light and dark, by key, on a telephone."""

import pytest

from segbench.cli import main
from tests.segbench.studies.test_studies import NASTY, write_scores

pytestmark = pytest.mark.slow

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}


@pytest.fixture(scope="module")
def path(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("study") / "some path"
    folder.mkdir()
    scores = write_scores(folder / "scores.csv", short="beta")
    rows = (f"c{i:02d},{NASTY if i % 2 else 'm'},{'test' if i % 3 == 0 else 'train'}" for i in range(40))
    (folder / "meta.csv").write_text("\n".join(("case,sex,split", *rows)))
    options = ["--n-resamples", "200", "--processes", "1", "--figures", "svg", "--title", NASTY]
    given = ["analyze", str(scores), "--metadata", str(folder / "meta.csv"), "--out", str(folder / "out")]
    assert main([*given, *options]) == 0
    return folder / "out" / "index.html"


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_it_opens_offline_without_a_complaint_and_fits(path, scheme, size, visit):
    opened = visit(path, color_scheme=scheme, **size)
    page = opened.page
    for folded in page.locator("details").all():
        folded.evaluate("element => { element.open = true }")
    assert page.locator("svg.figure").count() >= 10
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 28)")
    assert opened.complaints == []
    assert opened.requests == [path.as_uri()]


def test_figures_unfold_by_key_and_their_cells_answer(path, visit):
    from playwright.sync_api import expect

    page = visit(path, **DESKTOP).page
    folded = page.locator("#maps details", has_text="liver dice")
    svg = folded.locator("svg.figure")
    assert not svg.is_visible()
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(svg).to_be_visible()
    cell = svg.locator("[role=img][aria-label^='alpha against beta']").first
    cell.scroll_into_view_if_needed()
    cell.hover(force=True)
    tip = page.locator("#tip")
    expect(tip).to_contain_text("alpha against beta: better, effect size +")
    expect(tip).to_contain_text("mean difference +")


def test_tables_filter(path, visit):
    from playwright.sync_api import expect

    page = visit(path, **DESKTOP).page
    box = page.locator("#maps input").first
    box.focus()
    page.keyboard.type("spleen")
    rows = page.locator("#maps table tbody tr")
    expect(rows).to_have_count(6)  # three models, each against two others
    assert all("spleen" in text for text in rows.all_inner_texts())


def test_every_link_leads_somewhere(path, visit):
    page = visit(path, **DESKTOP).page
    addresses = {link.get_attribute("href") for link in page.locator("a[href]").all()}
    for address in addresses:
        if address.startswith("#"):
            assert page.locator(f"[id='{address[1:]}']").count() == 1, address
        else:
            assert (path.parent / address).is_file(), address


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_accessibility_rules_hold(path, visit, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page = visit(path, color_scheme=scheme, **DESKTOP).page
    for folded in page.locator("details").all():
        folded.evaluate("element => { element.open = true }")
    found = axe.Axe().run(page)
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found.response["violations"]] == []
