"""The report in a browser: it opens from disk without network, answers to pointer and keyboard, and stays inert."""

import re
from dataclasses import replace

import pytest

from tests.browser.conftest import becomes_true, share_in_colour
from tests.report.examples import HOSTILE, phantom_result, synthetic

#: Pages take a second or two each to open on two busy cores.
pytestmark = pytest.mark.slow

DESKTOP = {"viewport": {"width": 1200, "height": 900}}


@pytest.fixture(scope="module")
def plain(tmp_path_factory, browser):
    return synthetic(20).to_html(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def pictured(tmp_path_factory, browser):
    cases, result = phantom_result()
    return result.to_html(tmp_path_factory.mktemp("report") / "report.html", cases=cases)


@pytest.fixture(scope="module")
def unviewed(tmp_path_factory, browser):
    """Return the report of a machine without the library of the viewer."""
    cases, result = phantom_result()
    with pytest.MonkeyPatch.context() as patch:
        for module in ("html", "gallery"):
            patch.setattr(f"segauge.report.{module}.niivue", lambda: None)
        return result.to_html(tmp_path_factory.mktemp("report") / "report.html", cases=cases)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, browser):
    found = synthetic(len(HOSTILE), HOSTILE[:6], cases=HOSTILE, curve=False)
    metadata = {case: {HOSTILE[0]: HOSTILE[i % 3]} for i, case in enumerate(HOSTILE)}
    found = replace(found, metadata=metadata, notes={HOSTILE[1]: (HOSTILE[0],)}, warnings=HOSTILE)
    return found.to_html(tmp_path_factory.mktemp("report") / "report.html", title=HOSTILE[1])


@pytest.mark.parametrize("name", ["plain", "pictured", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_offline_without_a_complaint(name, scheme, request, visit):
    path = request.getfixturevalue(name)
    opened = visit(path, color_scheme=scheme, **DESKTOP)
    opened.page.mouse.wheel(0, 20000)
    opened.page.wait_for_timeout(200)
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:image/png"))] == []
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 28)")


def test_columns_are_sorted_and_rows_are_filtered(plain, visit):
    page = visit(plain, **DESKTOP).page
    table = page.locator("[data-table=cases]")

    def column(number):
        return [float(text) for text in table.locator(f"tbody td:nth-child({number})").all_inner_texts() if text]

    header = table.locator("thead button", has_text=re.compile("^dice$"))
    header.click()
    assert header.locator("xpath=..").get_attribute("aria-sort") == "ascending"
    ascending = column(4)
    assert ascending == sorted(ascending)
    header.click()
    descending = column(4)
    assert descending == sorted(descending, reverse=True)
    assert descending[0] > ascending[0]
    table.locator("input").fill("case_0007 pancreas")
    assert table.locator("tbody tr").count() == 1
    assert table.locator(".count").inner_text() == "1 of 60 rows"
    table.locator("input").fill("no such case")
    assert table.locator("tbody tr").count() == 0


def test_pages_of_a_table_turn(plain, visit):
    page = visit(plain, **DESKTOP).page
    table = page.locator("[data-table=cases]")
    assert table.locator("tbody tr").count() == 10
    first = table.locator("tbody th").first.inner_text()
    table.get_by_role("button", name="Next").click()
    assert table.locator("tbody th").first.inner_text() != first
    assert "page 2" in table.locator(".pages").inner_text()
    table.get_by_role("button", name="Previous").click()
    assert table.locator("tbody th").first.inner_text() == first


def test_a_number_that_is_not_there_stays_last(plain, visit):
    page = visit(plain, **DESKTOP).page
    table = page.locator("[data-table=cases]")
    header = table.locator("thead button", has_text=re.compile("^dice$"))
    for _ in range(2):
        header.click()
        assert table.locator("tbody tr").first.locator("td:nth-child(4)").inner_text() != ""


def test_pointing_at_a_dot_names_the_case(plain, visit):
    page = visit(plain, **DESKTOP).page
    page.get_by_text("Distributions and tolerances").click()
    dot = page.locator("#distribution-dice svg [role=img][aria-label^='case_']").first
    label = dot.get_attribute("aria-label")
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator("#tip")
    tip.wait_for()
    # Dots may lie upon one another: the one on top answers.
    assert re.fullmatch(r"case_\d{4}: [0-9.]+(, failed)?", tip.inner_text()), (label, tip.inner_text())


def test_the_theme_can_be_chosen(plain, visit):
    page = visit(plain, color_scheme="light", **DESKTOP).page
    button = page.locator("[data-action=theme]")
    assert button.inner_text() == "Theme: automatic"
    button.click()
    button.click()
    assert button.inner_text() == "Theme: dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"
    # Figures turn with the page: the ground of a chart is the page's.
    fill = page.evaluate("getComputedStyle(document.querySelector('svg.figure rect')).fill")
    assert fill == "rgb(20, 24, 28)"


def test_a_telephone_needs_no_sideways_scrolling(pictured, plain, hostile, visit):
    for path in (pictured, plain, hostile):
        page = visit(path, viewport={"width": 390, "height": 844}, is_mobile=True).page
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def at_rest(page, element):
    """Return the text of an element once it stays the same: a case is loaded after the address has it."""
    texts = ["", element.inner_text()]
    while texts[-1] != texts[-2]:
        page.wait_for_timeout(500)
        texts.append(element.inner_text())
    return texts[-1]


def test_the_surface_turns_by_keys_and_is_drawn(unviewed, visit):
    opened = visit(unviewed, **DESKTOP)
    page = opened.page
    canvas = page.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    # Read from a copy: browsers complain where a canvas for drawing is read again and again.
    values = """one => {
        const copy = Object.assign(document.createElement("canvas"), {width: one.width, height: one.height});
        const context = copy.getContext("2d", {willReadFrequently: true});
        context.drawImage(one, 0, 0);
        return new Set(context.getImageData(0, 0, copy.width, copy.height).data).size;
    }"""
    assert becomes_true(page, lambda: canvas.evaluate(values) > 10), "the surface is not drawn"
    read = "one => one.toDataURL()"
    before = canvas.evaluate(read)
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    assert becomes_true(page, lambda: canvas.evaluate(read) != before), "the surface does not turn"
    assert opened.complaints == []


def test_the_viewer_shows_a_case_and_its_address_restores_it(pictured, visit):
    pytest.importorskip("nilearn", reason="the viewer's library comes with nilearn")
    opened = visit(pictured, **DESKTOP)
    page = opened.page
    viewer = page.locator("[data-viewer]")
    viewer.scroll_into_view_if_needed()
    page.locator("[data-viewer][data-ready]").wait_for()
    canvas = viewer.locator("canvas")
    assert becomes_true(page, lambda: share_in_colour(canvas) > 0.02), share_in_colour(canvas)
    readout = viewer.locator("[data-part=readout]")
    before = readout.inner_text()
    canvas.focus()
    page.keyboard.press("ArrowUp")
    assert becomes_true(page, lambda: readout.inner_text() != before)
    page.keyboard.press("2")
    assert not viewer.get_by_label("Missed (ground truth only)").is_checked()
    first = viewer.locator("[data-part=case] option:checked").inner_text()
    page.keyboard.press("n")
    chosen = viewer.locator("[data-part=case] option:checked")
    assert becomes_true(page, lambda: chosen.inner_text() != first)
    name = chosen.inner_text()
    assert becomes_true(page, lambda: f"case={name.replace(' ', '+')}" in page.url), page.url
    assert "show=101" in page.url
    moved = at_rest(page, readout)
    page.reload()
    page.locator("[data-viewer][data-ready]").wait_for()
    assert chosen.inner_text() == name
    assert becomes_true(page, lambda: readout.inner_text() == moved)
    assert not viewer.get_by_label("Missed (ground truth only)").is_checked()
    # Taking pictures of the canvas makes the driver remark on its speed.
    assert [text for text in opened.complaints if "GL Driver Message (OpenGL, Performance" not in text] == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_names_stay_text(hostile, visit):
    opened = visit(hostile, **DESKTOP)
    page = opened.page
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE[1]
    table = page.locator("[data-table=cases]")
    table.locator("input").fill("<script>")
    assert table.locator("tbody tr").count() > 0
    assert opened.complaints == []


def test_the_policy_stops_what_is_added_later(plain, visit):
    opened = visit(plain, **DESKTOP)
    opened.page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.ran = 1'; "
        "document.body.append(one); }"
    )
    assert opened.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in opened.complaints)


def test_print_shows_what_was_folded(plain, visit):
    page = visit(plain, **DESKTOP).page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert len(page.pdf(format="A4")) > 10_000


def test_a_wide_window_shows_every_column_of_the_results(plain, visit):
    page = visit(plain, viewport={"width": 1400, "height": 900}).page
    room, needed = page.locator("#results .scroll").last.evaluate("one => [one.clientWidth, one.scrollWidth]")
    assert needed <= room


#: A4 without the margins of the style sheet, in pixels.
PAPER = {"viewport": {"width": 688, "height": 1000}}


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_paper_has_every_row_and_says_which_columns_it_lacks(name, request, visit):
    page = visit(request.getfixturevalue(name), **PAPER).page
    tables = page.locator("[data-table]")
    on_screen = [table.locator("tbody tr").count() for table in tables.all()]
    folded = page.locator("details:not([open])").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for table in tables.all():
        count = table.locator(".count").inner_text()
        assert table.locator("tbody tr").count() == int(count.split()[0])
        assert table.locator(".count").is_visible()
        drawn = table.locator("thead th").count()
        assert drawn == table.locator("tbody tr").first.locator("th, td").count()
        everything = table.evaluate(
            "one => JSON.parse(document.getElementById(`data-${one.dataset.table}`).textContent)"
        )
        assert (f"the first {drawn} of {len(everything['columns'])} columns" in count) == (
            drawn < len(everything["columns"])
        )
        assert drawn > 6
        # Half a pixel is lost where widths are rounded.
        assert table.locator("table").evaluate("one => one.getBoundingClientRect().right") <= 688.5
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert [table.locator("tbody tr").count() for table in tables.all()] == on_screen
    assert page.locator("details:not([open])").count() == folded


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("pictured", "light"),
        ("plain", "dark"),
        pytest.param("plain", "light", marks=pytest.mark.long),
        pytest.param("pictured", "dark", marks=pytest.mark.long),
    ],
)
def test_accessibility_rules_hold(name, scheme, request, visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page = visit(request.getfixturevalue(name), color_scheme=scheme, **DESKTOP).page
    found = axe.Axe().run(page)
    broken = [(rule["id"], rule["impact"], rule["nodes"][0]["html"][:200]) for rule in found.response["violations"]]
    assert broken == []


def test_everything_can_be_reached_by_keyboard(plain, visit):
    page = visit(plain, **DESKTOP).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    assert {"A", "BUTTON", "INPUT", "SUMMARY"} <= reached


def test_the_first_screen_has_the_verdict_and_the_figure(plain, visit):
    """Before, the page was 12,000 pixels long and told its three numbers three times before any figure."""
    page = visit(plain, viewport={"width": 1280, "height": 800}).page
    for selector in (".lead", "#overview svg"):
        assert page.locator(selector).bounding_box()["y"] < 800
    assert page.evaluate("document.documentElement.scrollHeight") < 5 * 800
    shown = page.locator("main").inner_text()
    value = re.search(r"structures: ([0-9.]+ \[[^\]]+\])", shown)[1]
    assert shown.count(value) == 1


def test_a_link_to_something_folded_opens_it(plain, visit):
    page = visit(plain, **DESKTOP).page
    assert not page.locator("#notes").evaluate("one => one.open")
    page.get_by_role("link", name="Show them").click()
    assert becomes_true(page, lambda: page.locator("#notes").evaluate("one => one.open"))
