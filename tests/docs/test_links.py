"""What README and docs link to is there; marks of the comparison lead to a test or a benchmark that exists."""

import ast
import re
import tomllib
from functools import cache

import pytest

from tests.conftest import PROJECT
from tests.docs.blocks import pages

README = PROJECT / "README.md"
COMPARISON = PROJECT / "docs" / "comparison.md"
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
#: A test as pages name it: file and function.
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def text_of(page):
    """Return a page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def links_of(page):
    return [link for link in _LINK.findall(text_of(page)) if not re.match(r"https?:|mailto:", link)]


@cache
def names_in(path):
    """Return the functions of a Python file."""
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


@cache
def anchors_of(path):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def fault_of(link, page):
    """Return what is wrong with a link, or nothing."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return "no such file"
    if anchor and target.suffix == ".py" and anchor not in names_in(target):
        return f"no {anchor} in it"
    if anchor and target.suffix == ".md" and anchor not in anchors_of(target):
        return f"no heading {anchor} in it"
    return ""


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_links_lead_somewhere(page):
    faults = {link: fault for link in links_of(page) if (fault := fault_of(link, page))}
    assert not faults


@pytest.mark.parametrize(
    "link",
    ["docs/nothing.md", "docs/benchmarks.md#nothing", "tests/stats/test_coverage.py#test_nothing", "tests/nothing.py"],
)
def test_a_link_to_nothing_is_noticed(link):
    assert fault_of(link, README)


def table_after(heading, page=COMPARISON, number=0):
    """Return the rows of a table after a heading, header and rule left out, as lists of cells."""
    lines = [*page.read_text(encoding="utf-8").partition(heading)[2].splitlines(), ""]
    tables, rows = [], []
    for line in lines:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            tables.append(rows)
            rows = []
    return tables[number]


def test_every_feature_is_shown_by_a_test_or_a_benchmark():
    _, _, *rows = table_after("## Features")
    assert len(rows) >= 8
    for feature, shown in rows:
        assert _TEST.search(shown), feature


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_tests_and_files_that_a_page_names_are_there(page):
    """A decision names its evidence; a test that was renamed or a file that was moved is no evidence any more."""
    text = page.read_text(encoding="utf-8")
    assert [f"{path}::{name}" for path, name in _TEST.findall(text) if name not in names_in(PROJECT / path)] == []
    named = re.findall(r"`((?:src|tests|benchmarks|native|configs)/[\w./-]*)`", text)
    assert [path for path in named if not (PROJECT / path).exists()] == []


def test_numbers_beside_other_packages_are_those_of_the_benchmark():
    header, _, *rows = table_after("## Accuracy")
    measured_header, _, *measured = table_after("<!-- begin: accuracy -->", PROJECT / "docs" / "benchmarks.md")
    assert header[1:6] == measured_header[1:6]
    errors = {tool.lower(): [cell.partition(" ")[0] for cell in cells] for tool, *cells in measured}
    compared = 0
    for package, *cells, mark in rows:
        assert not mark or _TEST.search(mark), "a mark names the test that backs it"
        if any(cells):
            assert cells == errors[package.split()[0].lower()], package
            compared += 1
    assert compared == 7


def test_versions_are_those_that_were_measured():
    pins = "\n".join(path.read_text() for path in (PROJECT / "benchmarks").glob("requirements-*.txt")).lower()
    for package, *cells, _ in table_after("## Accuracy")[2:]:
        name, _, version = package.lower().partition(" ")
        if version and any(cells):
            assert f"{name}=={version}" in pins


def test_pictures_are_small():
    for path in (PROJECT / "docs" / "images").glob("*.png"):
        assert path.stat().st_size <= 150_000, path.name


@pytest.mark.parametrize("page", [README, PROJECT / "docs" / "index.md"], ids=lambda page: page.name)
def test_the_text_on_the_picture_of_a_board_has_the_numbers_of_its_page(page):
    """`make images` keeps the table of the page that it photographs next to the picture."""
    (text,) = re.findall(r"!\[([^\]]*)\]\([^)]*images/board\.png\)", page.read_text(encoding="utf-8"))
    table = (PROJECT / "docs" / "images" / "board.txt").read_text(encoding="utf-8").split()
    named = re.findall(r"([\w-]+) \((0\.\d+)\)", text)
    assert len(named) == 2
    for model, value in named:
        # the name, the program that ran it, then the average over all structures
        assert table[table.index(model) + 2] == value, model
    assert table.count("segbench") == 5
    assert "five models" in text


def test_the_architecture_names_every_room():
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [layer for contract in contracts if contract["type"] == "layers" for layer in contract["layers"]]
    rooms = {room for layer in layers for room in re.findall(r"\w+", layer)}
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert not rooms - set(re.findall(r"`(\w+)`", page))
