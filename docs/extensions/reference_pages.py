"""Makes the reference from the code: metrics from the catalog, command lines from their parsers, API from docstrings.

A Sphinx extension. Each function of `PAGES` returns Markdown, which takes the place of `<!-- generated: NAME -->`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

from api_pages import api_page, function_entries, module_text

import segauge.cli
import segbench.cli
from segauge.cli.parsing import Parser
from segauge.cli.program import Program
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
    return _commands(segauge.cli.PROGRAM)


def command_line_segbench() -> str:
    """Return the help of `segbench` and of all its commands."""
    return _commands(segbench.cli.PROGRAM)


def _commands(program: Program) -> str:
    return "\n\n".join(_help([program.name, name], program.parser_of(name)) for name in program.commands)


def _help(words: list[str], parser: Parser) -> str:
    with mock.patch.dict(os.environ, {"COLUMNS": _COLUMNS}):
        text = parser.format_help_all().rstrip()
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
