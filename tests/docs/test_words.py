"""Worn-out words in what users read: pages, templates, help texts and messages. Each comes with a suggestion.

Readers are in a hurry and many read English as a second language. These words were used so often, and in so many
senses, that sentences with them had to be read twice. Docstrings and comments are not checked here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.docs.blocks import pages

#: A worn-out word, as a pattern, and what to write instead.
WORDS = {
    r"says?|said|saying": "show, report, state, mean",
    r"beside": "next to, with, in addition to",
    r"lack(?:s|ed|ing)?": "missing, has no, without",
    r"stands?(?! for)": "is, is listed, is shown",
    r"nobody": "no one, or name who it is",
    r"somebody": "someone, or name who it is",
    r"told apart|tell (?:\w+ ){1,4}apart": "distinguish; significantly different",
    r"(?:be|are|is|not|been) told(?! apart)": "reported, distinguished, detected",
    r"so many": "a number, or leave it out",
    r"mended": "fixed",
    r"at a stretch": "in one piece",
    r"strangers?": "anyone, third party, untrusted source",
    r"convicts?": "proves",
    r"not clean": "unknown, not ranked",
    r"what is (?:not )?there": "what exists, what was found",
}
_WORN_OUT = re.compile(rf"\b(?:{'|'.join(f'(?P<w{k}>{word})' for k, word in enumerate(WORDS))})\b", re.IGNORECASE)
_SUGGESTIONS = tuple(WORDS.values())


def faults_of(text: str) -> Iterator[str]:
    """Yield every sentence with a worn-out word, and the suggestion."""
    for sentence in re.split(r"(?<=[.!?:;])\s+|\n\s*\n", text):
        for found in _WORN_OUT.finditer(sentence):
            suggestion = _SUGGESTIONS[int((found.lastgroup or "w0")[1:])]
            yield f'"{found[0]}" in "{" ".join(sentence.split())}": write {suggestion}'


def prose_of(page: Path) -> str:
    """Return a page without code blocks, code words, links' targets and comments."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", "", text, flags=re.DOTALL)


def strings_of(module: Path) -> str:
    """Return the strings of a module that users may read: all but docstrings and those that are one word."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = [
        "".join(part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
        if isinstance(node, ast.JoinedStr)
        else node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | inside)
    ]
    return "\n\n".join(text for text in texts if " " in text.strip())


#: Sentences that keep a worn-out word, and why.
ALLOWED = {
    "Is a segmentation model really as good as its paper says?": "the ordinary use of the verb",
    "the ground truth lacks the structure, so it counts neither way": "written to files of 0.3 and recognised in them",
    "exact sign test, because a case only says who is ahead": "the name of the test in records, compared when verified",
}

TEMPLATES = sorted(
    path
    for path in (PROJECT / "src").rglob("*")
    if "templates" in path.parts and path.suffix in {".html", ".j2", ".js", ".md", ".txt", ".sh"}
)
TEXTS = {
    **dict.fromkeys((*pages(), *(PROJECT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY"))), prose_of),
    PROJECT / "CHANGELOG.md": prose_of,
    **dict.fromkeys(sorted((PROJECT / "src").rglob("*.py")), strings_of),
    **{path: lambda template: template.read_text(encoding="utf-8") for path in TEMPLATES},
}


def without_allowed(text: str) -> str:
    for sentence in ALLOWED:
        text = text.replace(sentence, "")
    return text


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_no_worn_out_words(path):
    faults = list(faults_of(without_allowed(TEXTS[path](path))))
    assert not faults, "\n".join(faults)


def test_what_is_allowed_is_still_there():
    texts = "\n".join(make(path) for path, make in TEXTS.items())
    assert [sentence for sentence in ALLOWED if sentence not in texts] == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A file of scores. The metric that the file says is used.", "says"),
        ("Nobody wins for certain.", "Nobody"),
        ("Two models that cannot be told apart.", "told apart"),
        ("HD95 stands beside Dice.", "beside"),
        ("unknown is not clean", "not clean"),
    ],
)
def test_a_worn_out_word_is_found_with_its_sentence(text, word):
    (fault, *_) = [fault for fault in faults_of(text) if fault.startswith(f'"{word}"')]
    assert re.search(rf'in ".*{word}.*": write \w+', fault)


def test_words_in_code_docstrings_and_paths_are_not_meant(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Run `segauge says`.\n\n```text\nit says\n```\n[how](says.md) <!-- says -->\n", encoding="utf-8")
    module = tmp_path / "module.py"
    module.write_text('"""It says."""\nKEY = "says"\nHELP = f"what {KEY} says here"\n', encoding="utf-8")
    assert list(faults_of(prose_of(page))) == []
    assert len(list(faults_of(strings_of(module)))) == 1
