"""The leaderboard site in a browser: from disk, without network, by pointer and key, light and dark, on a phone."""

import pytest

from segbench.site import render
from tests.segbench.site.examples import analysed, hostile, many, organs, run_with_files

#: Pages take a second or two each to open on two busy cores.
pytestmark = pytest.mark.slow

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def site(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("below") / "some path" / "site"
    other = organs(seed=3, name="elsewhere", title="Elsewhere", shift=-0.1)
    render([organs(), other], folder, title="Two places")
    return folder


@pytest.fixture(scope="module")
def pictured(tmp_path_factory, browser):
    """A run of two models whose files are at hand: an image below the outlines, and a curve of the surface Dice."""
    made, files = run_with_files(tmp_path_factory.mktemp("run"))
    folder = tmp_path_factory.mktemp("pictured") / "site"
    render([made], folder, files=[files])
    return folder


@pytest.fixture(scope="module")
def attacked(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("site")
    render([hostile()], folder, title="<script>alert(1)</script>")
    return folder


def quiet(opened, folder):
    """True if the page complained about nothing and asked for nothing outside of its folder."""
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(folder.as_uri())] == []
    return True


def board_of(page):
    """What is expected of the board, waited for: the page's policy forbids to wait for a script."""
    from playwright.sync_api import expect

    return expect(page.locator("#board"))


def at(folder, address, anchor=""):
    class Place:
        def as_uri(self):
            return (folder / address).as_uri() + anchor

    return Place()


PAGES = (
    "index.html",
    "overall.html",
    "models.html",
    "datasets.html",
    "methods.html",
    "made-up/liver/dice.html",
    "made-up/liver/dice.cases.html",
    "made-up/liver/dice.groups.html",
    "made-up/average/dice.html",
    "embed/made-up/liver/dice.html",
)


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_pages_open_offline_and_fit_the_screen(site, visit, scheme, size):
    opened = visit(site / PAGES[0], color_scheme=scheme, **size)
    for address in PAGES:
        opened.page.goto((site / address).as_uri())
        assert quiet(opened, site), address
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
        ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 28)"), address


def test_cells_of_a_board_stand_in_line_on_a_phone(site, visit):
    page = visit(site / "index.html", **PHONE).page
    rows = page.locator(".ranking tbody tr")
    edges = {round(rows.nth(k).locator(cell).bounding_box()["x"]) for k in (0, 1) for cell in ("a.model", "td.value")}
    assert len(edges) == 1


def test_no_word_of_a_count_is_broken(pictured, visit):
    # As narrow as a table still is one.
    page = visit(pictured / "made-up/organ/nsd.html", viewport={"width": 760, "height": 900}).page
    lines = """(span) => {
        const range = document.createRange(), text = span.firstChild, word = text.data.lastIndexOf("unscored");
        range.setStart(text, word);
        range.setEnd(text, text.length);
        return range.getClientRects().length;
    }"""
    assert page.locator(".ranking td[data-label=missed] > .small").evaluate(lines) == 1


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_pictures_of_cases_show_the_image_and_fit_the_screen(pictured, visit, scheme, size):
    opened = visit(pictured / "made-up/organ/nsd.cases.html", color_scheme=scheme, **size)
    page = opened.page
    assert quiet(opened, pictured)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first = page.locator(".panels figure").first
    box = first.locator("svg").bounding_box()
    # A panel is square, and on a phone two of them stand side by side.
    assert abs(box["width"] - box["height"]) < 1
    assert 120 < box["width"] < 300
    # The image was fetched from the site's own folder, and was there.
    images = [url for url in opened.requests if url.endswith(".png")]
    assert images
    assert all(url.startswith(f"{pictured.as_uri()}/pictures/") for url in images)
    assert page.get_by_role("img", name="cut on case_001, organ").count() == 1
    assert "4 slices at its upper end" in page.locator("article", has_text="case_001").inner_text()


def test_the_curve_of_the_surface_dice_answers_the_pointer(pictured, visit):
    opened = visit(pictured / "made-up/organ/nsd.html", **DESKTOP)
    point = opened.page.locator("#tolerance [aria-label^='cut at 2.5:']").first
    assert point.count() == 1
    point.hover(force=True)
    tip = opened.page.locator("#tip")
    tip.wait_for()
    assert tip.inner_text().startswith("cut at 2.5: 0.")
    # A late word of a scroll that moved nothing under the pointer takes nothing away; a true one does.
    opened.page.evaluate("document.dispatchEvent(new Event('scroll'))")
    assert tip.is_visible()
    opened.page.evaluate("scrollTo(0, scrollY > 400 ? 0 : scrollY + 400)")
    tip.wait_for(state="hidden")
    assert quiet(opened, pictured)


def heading(page):
    return " ".join(page.locator("#board .board-title").inner_text().split())


def test_selectors_change_the_board_and_the_address(site, visit):
    opened = visit(site / "index.html", **DESKTOP)
    page = opened.page
    assert heading(page) == "all structures by Dice coefficient on made-up"
    page.get_by_label("Structure").select_option(label="spleen")
    page.get_by_text("spleen by Dice coefficient on made-up").wait_for()
    page.get_by_label("Metric").select_option(label="95 % Hausdorff distance")
    board_of(page).to_contain_text("Hausdorff distance on made-up", use_inner_text=True)
    assert page.url.endswith("#set=made-up&structure=spleen&metric=hd95")
    page.get_by_label("Test set").select_option(label="made-up (2)")
    board_of(page).to_contain_text("on made-up (2)", use_inner_text=True)
    assert heading(page).startswith("spleen by 95 % Hausdorff distance")
    page.go_back()
    board_of(page).not_to_contain_text("on made-up (2)", use_inner_text=True)
    assert quiet(opened, site)


def test_a_deep_link_opens_its_board(site, visit):
    opened = visit(at(site, "index.html", "#set=elsewhere&structure=liver&metric=hd95&ranked=1"), **DESKTOP)
    board_of(opened.page).to_contain_text("liver", use_inner_text=True)
    assert opened.page.get_by_label("Structure").input_value() == "liver"
    assert opened.page.get_by_label("only ranked models").is_checked()
    assert quiet(opened, site)


def test_a_link_to_what_is_not_there_opens_the_first_board(site, visit):
    opened = visit(at(site, "index.html", "#set=../../etc&structure=%3Cscript%3E&metric=__proto__"), **DESKTOP)
    opened.page.wait_for_timeout(300)
    assert heading(opened.page).startswith("all structures by Dice")
    assert quiet(opened, site)


def names(page):
    return page.locator("#board tbody .model").all_inner_texts()


def test_a_board_is_sorted_by_a_click_or_a_key(site, visit):
    page = visit(at(site, "index.html", "#set=made-up&structure=liver&metric=dice"), **DESKTOP).page
    board_of(page).to_contain_text("liver", use_inner_text=True)
    before = names(page)
    page.locator("#board thead button", has_text="model").click()
    assert names(page) == sorted(before)
    assert page.locator("#board th[aria-sort=ascending]").count() == 1
    page.keyboard.press("Enter")
    assert names(page) == sorted(before, reverse=True)
    page.locator("#board thead button", has_text="wins again").click()
    # A model that is not ranked has no such number, and stays behind all others.
    assert names(page)[-1] == "peeker"


def test_only_ranked_models_are_shown_when_asked(site, visit):
    page = visit(at(site, "index.html", "#set=made-up&structure=liver&metric=dice"), **DESKTOP).page
    board_of(page).to_contain_text("liver", use_inner_text=True)
    assert page.get_by_role("link", name="peeker").is_visible()
    page.get_by_label("only ranked models").check()
    assert not page.get_by_role("link", name="peeker").is_visible()


def test_the_reason_of_an_exposure_can_be_read(site, visit):
    page = visit(at(site, "index.html", "#set=made-up&structure=liver&metric=dice"), **PHONE).page
    page.locator("#board summary", has_text="saw labels").click()
    assert page.locator("#board .reason", has_text="trained on").is_visible()


def test_the_theme_button_turns_the_page_dark(site, visit):
    page = visit(site / "index.html", color_scheme="light", **DESKTOP).page
    button = page.get_by_role("button", name="Theme")
    button.click()
    button.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"


def test_the_cases_are_sorted_and_filtered(site, visit):
    page = visit(site / "made-up/liver/dice.cases.html", **DESKTOP).page
    table = page.locator("[data-table=cases]")
    table.locator("input").fill("case_003")
    assert table.locator("tbody tr").count() == 1
    assert "gamma (missed)" in table.inner_text()


def test_columns_of_further_models_are_loaded_when_asked_for(tmp_path, visit):
    from playwright.sync_api import expect

    render([analysed(many(12, 23, 1))], tmp_path)
    opened = visit(tmp_path / "made-up/organ-1/dice.cases.html", **DESKTOP)
    table, press = opened.page.locator("[data-table=cases]"), opened.page.locator("[data-more-columns]")
    heads = table.locator("thead th")
    expect(heads).to_have_count(1 + 10 + 1)
    heads.nth(2).locator("button").click()
    heads.nth(11).locator("button").click()
    expect(press).to_have_text("Show models 11 to 20 of 23, too")
    press.click()
    expect(heads).to_have_count(1 + 20 + 1)
    # What was sorted by stays so, at its new place.
    assert heads.nth(21).get_attribute("aria-sort") == "ascending"
    press.click()
    expect(heads).to_have_count(1 + 23 + 1)
    expect(press).to_be_hidden()
    assert all(text for text in table.locator("tbody tr").first.locator("td.number").all_inner_texts())
    heads.nth(23).locator("button").click()
    assert heads.nth(23).get_attribute("aria-sort") == "ascending"
    assert quiet(opened, tmp_path)
    (tmp_path / "made-up/organ-1/dice.cases.2.js").unlink()
    again = visit(tmp_path / "made-up/organ-1/dice.cases.html", **DESKTOP).page
    again.locator("[data-more-columns]").click()
    expect(again.locator("[data-more-columns]")).to_contain_text("could not be loaded")


def test_without_a_script_the_first_board_is_there(site, browser):
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("#board tbody tr").count() == 4
    context.close()


@pytest.mark.parametrize("pattern", ["*.html", pytest.param("*/*/*.html", marks=pytest.mark.long)])
def test_hostile_names_are_text(attacked, visit, pattern):
    pages = sorted(path for path in attacked.glob(pattern) if "embed" not in path.parts)
    assert pages
    opened = visit(pages[0], **DESKTOP)
    for path in pages:
        opened.page.goto(path.as_uri())
        opened.page.wait_for_timeout(100)
        assert quiet(opened, attacked), path
        assert opened.page.locator("img[onerror]").count() == 0


def test_the_site_is_accessible(site, visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    for address in ("index.html", "made-up/liver/dice.html", "models.html", "datasets.html", "methods.html"):
        opened = visit(site / address, bypass_csp=True, **DESKTOP)
        found = axe.Axe().run(opened.page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == [], address


def test_pages_with_pictures_are_accessible(pictured, visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    opened = visit(pictured / "made-up/organ/nsd.cases.html", bypass_csp=True, **DESKTOP)
    found = axe.Axe().run(opened.page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []
