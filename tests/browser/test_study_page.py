"""The site of `segbench analyze` in a browser: from disk, without network, light and dark, on a phone."""

import pytest

from segbench.cli import main
from tests.segbench.studies.test_studies import NASTY, write_scores

pytestmark = pytest.mark.slow

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}
PAGES = ("index.html", "methods.html", "scores/liver/dice.html", "scores/average/dice.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("study") / "some path"
    folder.mkdir()
    scores = write_scores(folder / "scores.csv", short="beta")
    rows = (f"c{i:02d},{NASTY if i % 2 else 'm'},{'test' if i % 3 == 0 else 'train'}" for i in range(40))
    (folder / "meta.csv").write_text("\n".join(("case,sex,split", *rows)))
    options = ["--n-resamples", "200", "--processes", "1", "--figures", "svg", "--title", NASTY]
    given = ["analyze", str(scores), "--metadata", str(folder / "meta.csv"), "--out", str(folder / "out")]
    assert main([*given, *options]) == 0
    return folder / "out"


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_pages_open_offline_without_a_complaint_and_fit(folder, scheme, size, visit):
    opened = visit(folder / PAGES[0], color_scheme=scheme, **size)
    for address in PAGES:
        opened.page.goto((folder / address).as_uri())
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(folder.as_uri())] == []


def test_groups_and_tables_are_on_the_board(folder, visit):
    from playwright.sync_api import expect

    page = visit(folder / "scores/average/dice.html", **DESKTOP).page
    page.get_by_role("link", name="Groups").click()
    expect(page.locator("#groups svg.figure").first).to_be_visible()
    page.get_by_role("link", name="Pairs").click()
    table = page.locator("#pairs [data-table]")
    expect(table.locator("tbody tr")).to_have_count(6)  # three models, each against two others
    table.locator("input").fill("alpha")
    expect(table.locator("tbody tr")).to_have_count(4)
