"""Every code block of README and docs runs, in the order of its page; those that cannot say why."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import segauge.cli
import segbench.cli
from segauge.executors import run_serially
from tests.conftest import PROJECT
from tests.docs.blocks import (
    ALLOWED_NEEDS,
    ALLOWED_REASONS,
    RUN,
    SHOWN,
    WRITTEN,
    Block,
    blocks_of,
    commands_of,
    pages,
    transcript_of,
)
from tests.docs.dataset import write_dataset


def run_python(arguments):
    return subprocess.run([sys.executable, *arguments], check=False, stdout=subprocess.DEVNULL).returncode


PROGRAMS = {"segauge": segauge.cli.main, "segbench": segbench.cli.main, "python": run_python}
BLOCKS = {page: blocks_of(page) for page in pages()}
ALL = [block for blocks in BLOCKS.values() for block in blocks]
WITH_BLOCKS = [page for page, blocks in BLOCKS.items() if any(block.language in RUN for block in blocks)]


def name_of(page):
    return page.relative_to(PROJECT).as_posix()


@pytest.fixture
def in_this_process(monkeypatch):
    """Let commands measure here: processes have tests of their own, and a second to start them for each adds up."""
    monkeypatch.setattr("segauge.executors.run_in_processes", lambda function, items, *_: run_serially(function, items))


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    write_dataset(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name_of)
@pytest.mark.usefixtures("in_this_process")
def test_blocks_run(page, dataset, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "work"
    shutil.copytree(dataset, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.syspath_prepend(folder)  # files that a page writes can be imported by its blocks
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCKS[page]:
        if not block.not_run and is_there(block.needs):
            run_block(block, names, capsys)


def is_there(package):
    return not package or importlib.util.find_spec(package) is not None


def run_block(block: Block, names, capsys):
    if block.file:
        path = Path(block.file)
        assert not path.is_absolute(), block
        assert ".." not in path.parts, block
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    elif block.is_output:
        check_output(capsys.readouterr().out, block.text, block)
    elif block.language == "python":
        capsys.readouterr()
        exec(compile(block.text, str(block), "exec"), names)  # noqa: S102 - our own text
    elif block.language == "bash":
        capsys.readouterr()
        *others, last = commands_of(block.text)
        for words in others:
            run_command(words, block)
        run_command(last, block, block.exit)
    elif block.language == "console":
        capsys.readouterr()
        for words, wanted in transcript_of(block.text):
            run_command(words, block)
            check_output(capsys.readouterr().out, wanted, block)


def check_output(printed, wanted, block):
    pattern = re.escape(wanted.rstrip("\n")).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern + r"\n*", printed, flags=re.DOTALL), f"{block}\n{printed}"


def run_command(words, block, code=0):
    program, *arguments = words
    assert program in PROGRAMS, f"{block}: {program!r} is not run by this test; only {', '.join(PROGRAMS)}"
    try:
        ended = PROGRAMS[program](arguments)
    except SystemExit as usage:
        ended = usage.code
    assert ended == code, f"{block}: {' '.join(words)} ended with {ended}"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_each_block_says_what_it_is(page):
    for block in BLOCKS[page]:
        assert block.language in (*RUN, *SHOWN, *WRITTEN), f"{block}: unknown language"
        if block.language in WRITTEN:
            assert block.file or block.not_run, f"{block}: say which file it is, so that it is used"
        if block.file:
            before = page.read_text(encoding="utf-8").split(f"<!-- file: {block.file} -->")[0]
            assert f"`{block.file}`" in before[-300:], f"{block}: the reader must be told the name of the file"
        if block.language in SHOWN:
            assert not block.text.startswith(("$ ", *PROGRAMS)), f"{block}: a command is no text"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_code_hides_in_an_indented_paragraph(page):
    """Markdown takes a paragraph indented by four as code, and this file would not see it."""
    fenced = False
    before = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fenced ^= line.lstrip().startswith("```")
        paragraph = not before.strip() and line.startswith("    ") and line.strip()
        assert fenced or not paragraph or line.lstrip().startswith("```"), f"{name_of(page)}:{number}"
        before = line


def test_blocks_that_do_not_run_have_a_known_reason():
    reasons = Counter(block.not_run for block in ALL if block.not_run)
    assert set(reasons) == ALLOWED_REASONS, "each reason is used, and no other one"
    assert {block.needs for block in ALL if block.needs} == ALLOWED_NEEDS
    run = [block for block in ALL if block.language in RUN and not block.not_run]
    # what cannot run here stays the exception
    assert sum(reasons.values()) * 5 < len(run)


@pytest.mark.parametrize("text", ["raise ValueError", "assert 1 == 2"])
def test_a_python_block_that_fails_fails(text, capsys):
    with pytest.raises((ValueError, AssertionError)):
        run_block(Block("page.md", 1, "python", text), {}, capsys)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bash", "segauge explain nothing"),
        ("bash", "segauge explain dice --misspelt"),
        ("bash", "rm -rf nothing"),
        ("console", "$ segauge explain dice\nsomething else"),
    ],
)
def test_a_command_that_fails_or_prints_something_else_fails(language, text, capsys):
    with pytest.raises(AssertionError):
        run_block(Block("page.md", 1, language, text), {}, capsys)


def test_output_that_is_not_printed_fails(capsys):
    run_block(Block("page.md", 1, "python", "print('HD95 is 2.1 mm')"), {}, capsys)
    with pytest.raises(AssertionError):
        run_block(Block("page.md", 2, "text", "HD95 is 2.2 mm", is_output=True), {}, capsys)
