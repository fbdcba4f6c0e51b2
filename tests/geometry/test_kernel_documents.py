"""native/README.md and native/DESIGN.md name folders, figures and tests that exist."""

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def design():
    return (NATIVE / "DESIGN.md").read_text(encoding="utf-8")


def test_every_invariant_names_a_test_that_exists(design):
    rows = [line for line in design.split("## Invariants")[1].split("##")[0].splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        file, pinned = "", 0
        for mentioned, name in re.findall(r"`(test_\w+\.py)?(?:::(test_\w+))?`", row):
            file = mentioned or file
            source = (TESTS / file).read_text(encoding="utf-8") if file else ""
            if name:
                assert f"def {name}(" in source, row
            pinned += bool(file)
        for file in re.findall(r"`native/(tests/\w+\.cpp)`", row):
            pinned += (NATIVE / file).is_file()
        assert pinned, row


def test_every_figure_and_file_is_there(design):
    figures = re.findall(r"\]\((figures/[\w-]+\.svg)\)", design)
    assert len(figures) == 10
    assert sorted(figures) == sorted(f"figures/{path.name}" for path in (NATIVE / "figures").glob("*.svg"))
    for path in re.findall(r"`((?:search|subvoxel|surface|bindings)/[\w/]+\.[ch]pp)`", design):
        assert (NATIVE / path).is_file(), path


def test_the_map_has_every_folder():
    listed = set(re.findall(r"^\| `(\w+)/`", (NATIVE / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert listed == {path.name for path in NATIVE.iterdir() if path.is_dir()}
