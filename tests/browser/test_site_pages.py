"""The leaderboard site in a browser: from disk, without network, by pointer and key, light and dark, on a phone."""

from dataclasses import replace

import pytest

from segbench.boards import leaderboard_of
from segbench.site import render
from segbench.study_files import study_of_records
from tests.browser.conftest import becomes_true, share_in_colour
from tests.segbench.site.examples import hostile, organs, run_with_files

#: Pages take a second or two each to open on two busy cores.
pytestmark = pytest.mark.slow

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def site(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("below") / "some path" / "site"
    other = organs(seed=3, name="elsewhere", title="Elsewhere", shift=-0.1)
    # A badge of a long title was wider than a phone.
    other = replace(other, dataset=replace(other.dataset, title="Elsewhere, one more hospital far away"))
    records = [organs(), other]
    analysis = study_of_records(records, [leaderboard_of(record) for record in records])
    render(records, folder, title="Two places", analysis=analysis)
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


def at(folder, address, anchor=""):
    class Place:
        def as_uri(self):
            return (folder / address).as_uri() + anchor

    return Place()


PAGES = (
    "index.html",
    "overall.html",
    "models.html",
    "models/gamma.html",
    "methods.html",
    "compare.html",
    "case.html",
    "made-up/liver/dice.html",
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
    page = visit(site / "made-up/liver/dice.html", **PHONE).page
    rows = page.locator(".ranking tbody tr")
    edges = {round(rows.nth(k).locator(cell).bounding_box()["x"]) for k in (0, 1) for cell in ("a.model", "td.value")}
    assert len(edges) == 1


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_pictures_of_cases_show_the_image_and_fit_the_screen(pictured, visit, scheme, size):
    opened = visit(at(pictured, "made-up/organ/nsd.html", "#cases"), color_scheme=scheme, **size)
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
    opened = visit(at(pictured, "made-up/organ/nsd.html", "#cases"), reduced_motion="reduce", **DESKTOP)
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


def test_the_overview_filters_and_leads_to_a_comparison(site, visit):
    from playwright.sync_api import expect

    opened = visit(site / "index.html", **DESKTOP)
    page = opened.page
    matrix = page.locator("[data-matrix=made-up]")
    rows = matrix.locator("[data-shown=dice] tbody tr")
    expect(rows.locator("visible=true")).to_have_count(4)
    matrix.get_by_label("Only models not trained").check()
    expect(rows.locator("visible=true")).to_have_count(3)
    matrix.get_by_label("Search").fill("bet")
    expect(rows.locator("visible=true")).to_have_count(1)
    assert "search=bet" in page.url
    again = visit(at(site, "index.html", page.url.partition("index.html")[2]), **DESKTOP).page
    expect(again.locator("[data-matrix=made-up] [data-shown=dice] tbody tr").locator("visible=true")).to_have_count(1)
    matrix.get_by_label("Search").fill("")
    for name in ("alpha", "gamma"):
        matrix.locator(f"[data-shown=dice] [data-model={name}]").check()
    matrix.get_by_role("link", name="Compare alpha and gamma").click()
    expect(page.locator("#explored")).to_contain_text("alpha is significantly better than gamma.")
    expect(page.locator("#explored circle")).to_have_count(24)
    assert quiet(opened, site)


def test_a_dot_of_a_comparison_opens_its_case_and_its_neighbours(site, visit):
    from playwright.sync_api import expect

    opened = visit(at(site, "compare.html", "#set=made-up&structure=liver&metric=dice&a=alpha&b=gamma"), **DESKTOP)
    page = opened.page
    expect(page.locator("#explored circle")).to_have_count(24)
    page.locator("#explored svg a[href*=case_003]").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#explored h2")).to_have_text("case_003")
    expect(page.locator("#explored")).to_contain_text("Number 1 of 24 from the hardest.")
    page.get_by_role("button", name="Easier case").click()
    expect(page.locator("#explored")).to_contain_text("Number 2 of 24 from the hardest.")
    assert "case=case_" in page.url
    assert quiet(opened, site)


def test_an_address_of_what_is_not_there_opens_the_first_choice(site, visit):
    from playwright.sync_api import expect

    opened = visit(at(site, "case.html", "#set=../../etc&structure=%3Cscript%3E&metric=__proto__&case=x"), **DESKTOP)
    expect(opened.page.locator("#explored h2")).to_have_text("case_003")
    assert quiet(opened, site)


def names(page):
    return page.locator(".ranking tbody .model").all_inner_texts()


def test_a_board_is_sorted_by_a_click_or_a_key(site, visit):
    page = visit(site / "made-up/liver/dice.html", **DESKTOP).page
    before = names(page)
    page.locator(".ranking thead button", has_text="model").click()
    assert names(page) == sorted(before)
    assert page.locator(".ranking th[aria-sort=ascending]").count() == 1
    page.keyboard.press("Enter")
    assert names(page) == sorted(before, reverse=True)
    page.locator(".ranking thead button", has_text="chance to lead").click()
    # A model that is not ranked has no such number, and stays behind all others.
    assert names(page)[-1] == "peeker"


def test_tabs_are_in_the_address(site, visit):
    from playwright.sync_api import expect

    page = visit(at(site, "made-up/liver/dice.html", "#stability"), **DESKTOP).page
    expect(page.locator("section.tab").locator("visible=true")).to_have_count(1)
    expect(page.locator("#h-stability")).to_be_visible()
    page.get_by_role("link", name="Groups").click()
    expect(page.locator("#h-groups")).to_be_visible()
    expect(page.locator("#h-stability")).not_to_be_visible()


def test_the_reason_of_an_exposure_can_be_read(site, visit):
    page = visit(site / "made-up/liver/dice.html", **PHONE).page
    page.locator(".ranking summary", has_text="yes").click()
    assert page.locator(".ranking .reason", has_text="trained on").is_visible()


def test_the_theme_button_turns_the_page_dark(site, visit):
    page = visit(site / "index.html", color_scheme="light", **DESKTOP).page
    button = page.get_by_role("button", name="Theme")
    button.click()
    button.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"


def test_the_cases_are_loaded_and_filtered(site, visit):
    from playwright.sync_api import expect

    page = visit(at(site, "made-up/liver/dice.html", "#cases"), **DESKTOP).page
    table = page.locator("[data-table=late]")
    expect(table.locator("tbody tr")).to_have_count(24)
    table.locator("input").fill("case_003")
    expect(table.locator("tbody tr")).to_have_count(1)


def test_without_a_script_all_tabs_of_a_board_are_there(site, browser):
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "made-up/liver/dice.html").as_uri())
    assert page.locator(".ranking tbody tr").count() == 4
    assert all(one.is_visible() for one in page.locator("section.tab").all())
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
    for address in ("index.html", "made-up/liver/dice.html", "compare.html", "models.html", "methods.html"):
        opened = visit(site / address, bypass_csp=True, **DESKTOP)
        found = axe.Axe().run(opened.page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == [], address


def test_pages_with_pictures_are_accessible(pictured, visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    opened = visit(at(pictured, "made-up/organ/nsd.html", "#cases"), bypass_csp=True, **DESKTOP)
    found = axe.Axe().run(opened.page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []


def test_a_case_is_shown_in_the_viewer_and_its_address_restores_it(pictured, visit):
    # The page of a case had the scores alone: who failed could be read, and nowhere be seen.
    pytest.importorskip("nilearn", reason="the viewer's library comes with nilearn")
    opened = visit(at(pictured, "case.html", "#set=made-up&structure=organ&metric=nsd&case=case_001"), **DESKTOP)
    page = opened.page
    page.locator("[data-viewer][data-ready]").wait_for()
    viewer = page.locator("[data-viewer]")
    assert becomes_true(page, lambda: share_in_colour(viewer.locator("canvas")) > 0.02)
    model, readout = viewer.locator("[data-part=model]"), viewer.locator("[data-part=readout]")
    assert model.locator("option").all_inner_texts() == ["good", "cut"]
    model.select_option("cut")
    assert becomes_true(page, lambda: "model=cut" in page.url), page.url
    before = readout.inner_text()
    viewer.locator("canvas").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("2")
    assert becomes_true(page, lambda: readout.inner_text() != before)
    assert becomes_true(page, lambda: "show=101" in page.url), page.url
    moved = readout.inner_text()
    page.reload()
    page.locator("[data-viewer][data-ready]").wait_for()
    assert becomes_true(page, lambda: readout.inner_text() == moved), (moved, readout.inner_text())
    assert model.input_value() == "cut"
    assert not viewer.get_by_label("Missed (ground truth only)").is_checked()
    # Another case keeps the model and begins at its own worst place.
    viewer.locator("canvas").focus()
    case = page.locator("select[name=case]")
    page.keyboard.press("n")
    assert becomes_true(page, lambda: case.input_value() != "case_001")
    assert becomes_true(
        page, lambda: viewer.locator("[data-part=status]").inner_text().startswith(f"Shown: {case.input_value()}")
    )
    # The driver remarks that pictures of the screen take time; no visitor takes any.
    assert [text for text in opened.complaints if "GPU stall due to ReadPixels" not in text] == []
    assert [url for url in opened.requests if not url.startswith((pictured.as_uri(), "data:image/png", "blob:"))] == []
