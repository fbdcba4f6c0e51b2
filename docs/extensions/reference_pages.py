"""Makes the reference from the code: metrics from the catalog, command lines from their parsers, API from docstrings.

A Sphinx extension. Each function of `PAGES` returns Markdown, which takes the place of `<!-- generated: NAME -->`.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

from api_pages import api_page, function_entries, module_text

import segauge.cli
import segbench.cli
from segauge.metrics.catalog import CATALOG, DEFAULT_METRICS, FAMILIES
from segauge.metrics.conventions import CONVENTIONS
from segauge.scores import MetricInfo

#: What a metric needs, in words, in the order of the page.
_NEEDS = {
    "counts": "Overlap and volume: from the counts of voxels",
    "surface": "Distances between surfaces",
    "band": "Bands along surfaces",
    "lesions": "Lesions: connected components, found and missed",
    "centerline": "Centre lines",
}
_DIRECTIONS = {"higher": "higher is better", "lower": "lower is better", "none": "neither end is better"}
#: As wide as a block of the page, whatever the terminal of whoever builds the pages.
_COLUMNS = "86"


def metrics() -> str:
    """Return every metric of the catalog, by what it needs, and the families with a free part in their key."""
    parts = []
    for need, title in _NEEDS.items():
        members = [info for info in CATALOG.values() if info.needs == need]
        parts += [f"## {title}", *map(_metric, members)]
    unknown = {info.needs for info in CATALOG.values()} - set(_NEEDS)
    if unknown:
        raise ValueError(f"reference_pages: no heading for metrics that need {', '.join(sorted(unknown))}")
    examples = ", ".join(f"`{family.example}`" for family in FAMILIES)
    parts += ["## Keys with a number in them", f"The end of a key such as {examples} is free."]
    return "\n\n".join(parts)


def _metric(info: MetricInfo) -> str:
    low, high = (_bound(value) for value in info.bounds)
    facts = [
        f"unit {info.unit}" if info.unit != "1" else "no unit",
        f"from {low} to {high}",
        _DIRECTIONS[info.direction],
    ]
    if info.key in DEFAULT_METRICS:
        facts.append("measured by default")
    return f"### {info.key}\n\n**{info.name}**; {'; '.join(facts)}.\n\n{_plain(info.definition)}"


def _bound(value: float) -> str:
    return "infinity" if value == float("inf") else "minus infinity" if value == float("-inf") else f"{value:g}"


def _plain(text: str) -> str:
    """Return text in which Markdown sees no marks."""
    return re.sub(r"([\\*_\[\]<>|`$])", r"\\\1", text)


def conventions() -> str:
    """Return the conventions of other tools as a table."""
    rows = [f"| `{one.key}` | {one.tool} | {one.surface} | {one.percentile} |" for one in CONVENTIONS.values()]
    return "\n".join(["| key | tool | surface and distance | two directions |", "|---|---|---|---|", *rows])


def command_line_segauge() -> str:
    """Return the help of `segauge` and of all its commands."""
    parsers = [
        (path, parser)
        for name in segauge.cli.COMMANDS  # only the command that is asked for has its parser loaded
        for path, parser in _parsers(segauge.cli.main, [name])
        if path[:1] == [name]
    ]
    return "\n\n".join(_help(["segauge", *path], parser) for path, parser in parsers)


def command_line_segbench() -> str:
    """Return the help of `segbench` and of all its commands."""
    return "\n\n".join(
        _help(["segbench", *path], parser) for path, parser in _parsers(segbench.cli.main, ["--help"]) if path
    )


class _Caught(BaseException):
    """Carries a parser out of the command line that made it, before it parses anything."""


def _parsers(main: Callable[[list[str]], int], given: list[str]) -> list[tuple[list[str], argparse.ArgumentParser]]:
    """Return the parsers of all commands, and of their own commands, each with the words that lead to it."""

    def stop(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        raise _Caught(parser)

    with mock.patch.object(argparse.ArgumentParser, "parse_args", stop):
        try:
            main(given)
        except _Caught as caught:
            return list(_walk([], caught.args[0]))
    raise RuntimeError(f"{main.__module__}: parsed nothing")


def _walk(path: list[str], parser: argparse.ArgumentParser) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from _walk([*path, name], child)


def _help(words: list[str], parser: argparse.ArgumentParser) -> str:
    with mock.patch.dict(os.environ, {"COLUMNS": _COLUMNS}):
        text = parser.format_help().rstrip()
    name = " ".join(words)
    return f"{'#' * len(words)} {name}\n\n```text\n{text}\n```"


def integrations() -> str:
    """Return what the integrations say of themselves, and the names of those that need no other package."""
    parts = []
    for name in ("grand_challenge", "nnunet", "monai"):
        module = f"segauge.integrations.{name}"
        parts += [f"## {module}", module_text(module), *function_entries(module)]
    return "\n\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "metrics": metrics,
    "conventions": conventions,
    "command line segauge": command_line_segauge,
    "command line segbench": command_line_segbench,
    "api segauge": partial(api_page, "segauge"),
    "api segauge.phantoms": partial(api_page, "segauge.phantoms"),
    "api segauge.stats": partial(api_page, "segauge.stats", besides="segauge"),
    "api segauge.report.figures": partial(api_page, "segauge.report.figures"),
    "integrations": integrations,
    "api segbench": partial(api_page, "segbench"),
}

_PLACE = re.compile(r"^<!-- generated: (.+?) -->$", flags=re.MULTILINE)


#: Comment that says which file a block is (see tests/docs/blocks.py).
_FILE = re.compile(r"^<!-- file: (.+?) -->$", flags=re.MULTILINE)


def fill_in(text: str) -> str:
    """Return a page with its generated parts, and the names of files above their content."""
    named = _FILE.sub(lambda found: f"`{found[1]}`:", text)
    return _PLACE.sub(lambda found: PAGES[found[1]](), named)


def _on_source_read(app: Any, docname: str, content: list[str]) -> None:
    del app, docname
    content[0] = fill_in(content[0])


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to call."""
    app.connect("source-read", _on_source_read)
    return {"parallel_read_safe": True}
