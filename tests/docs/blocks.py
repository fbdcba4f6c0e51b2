"""The code blocks of README and docs: how they are found, and how each kind is run.

A comment on the line before a block says what is not usual about it:

    <!-- not run: REASON -->   it cannot run here; the reason is one of `ALLOWED_REASONS`
    <!-- needs: MODULE -->     it runs where this package is installed, which is not among those of the extra `dev`
    <!-- file: NAME -->        it is the content of a file that later blocks of the page use
    <!-- exit: CODE -->        its last command ends with this exit code
    <!-- prints: this -->      it is what the block before it prints; "..." stands for anything
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import PROJECT

#: Why a block may not run in the tests. A reason that no block gives any more is to be removed from here.
ALLOWED_REASONS = frozenset(
    {
        "needs a cluster with SLURM",
        "needs a GPU and the model's weights",
        "needs a Modal account",
        "needs docker",
        "runs in GitHub Actions",
        "runs in a test of its own",
        "the make targets are what runs this test",
    }
)

#: Packages that a block may need besides those of the extra `dev`: too large for it, and tested where they are there.
ALLOWED_NEEDS = frozenset({"monai"})

#: Languages that show something and do not do anything.
SHOWN = ("text", "mermaid")
#: Languages of files; such a block must say which file it is.
WRITTEN = ("yaml", "toml")
RUN = ("python", "bash", "console")

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\s`]*)\s*$")
_MARK = re.compile(r"^ *<!-- (?P<key>not run|needs|file|exit|prints): (?P<value>.+?) -->$")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, what it is, and what the comment before it says."""

    page: str
    line: int
    language: str
    text: str
    not_run: str = ""
    file: str = ""
    exit: int = 0
    is_output: bool = False
    needs: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line} ({self.language})"


def pages() -> list[Path]:
    """Return README and every page of the docs."""
    return [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page; directives (```{toctree}) are none."""
    return list(_blocks(page.read_text(encoding="utf-8").splitlines(), page.relative_to(PROJECT).as_posix()))


def _blocks(lines: list[str], page: str) -> Iterator[Block]:
    marks: dict[str, str] = {}
    number = 0
    while number < len(lines):
        mark, fence = _MARK.match(lines[number]), _FENCE.match(lines[number])
        if mark:
            marks[mark["key"]] = mark["value"]
        elif fence:
            end = next(k for k in range(number + 1, len(lines)) if lines[k].strip() == "```")
            indent = len(fence["indent"])
            text = "".join(f"{line[indent:]}\n" for line in lines[number + 1 : end])
            if not fence["language"].startswith("{"):
                yield _block(page, number + 1, fence["language"], text, marks)
            number, marks = end, {}
        elif lines[number].strip():
            marks = {}
        number += 1


def _block(page: str, line: int, language: str, text: str, marks: dict[str, str]) -> Block:
    not_run, file, code = marks.get("not run", ""), marks.get("file", ""), int(marks.get("exit", 0))
    is_output, needs = "prints" in marks, marks.get("needs", "")
    return Block(page, line, language, text, not_run, file, code, is_output, needs)


def commands_of(text: str) -> list[list[str]]:
    """Return the commands of a shell block as words; a backslash goes on with the next line, # begins a comment."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def transcript_of(text: str) -> list[tuple[list[str], str]]:
    """Return the commands of a console block, each with what it is said to print."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if parts[0].strip():
        raise ValueError(f"a console block begins with '$ ', this one with {parts[0]!r}")
    split = [part.partition("\n") for part in parts[1:]]
    return [(shlex.split(line, comments=True), printed.rstrip("\n")) for line, _, printed in split]
