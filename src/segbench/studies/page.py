"""The page of a study: one file, tables that sort and filter, figures that answer when pointed at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from segauge.errors import InvalidInput
from segauge.report.html import asset, page
from segbench.analysis.study import Analysis
from segbench.studies.charts import StudyFigure
from segbench.studies.tables import StudyTable
from segbench.studies.words import changes, outcome, rules_in_words, warnings_of

_OWN = ("study.html.j2",)


@dataclass(frozen=True)
class PagePicture:
    """A figure of the page: inside it, or linked to its file."""

    key: str
    title: str
    caption: str
    svg: str
    name: str
    endings: tuple[str, ...]


def study_page(
    analysis: Analysis,
    figures: Sequence[StudyFigure],
    rendered: Mapping[str, str],
    tables: Sequence[StudyTable],
    endings: tuple[str, ...],
) -> str:
    """Return the page as the text of an HTML file; files of figures and tables lie beside it."""
    pictures: dict[str, list[PagePicture]] = defaultdict(list)
    for i, figure in enumerate(figures):
        files = endings[:1] if figure.detail else endings
        svg = rendered.get(figure.name, "")
        shown = PagePicture(f"figure-{i + 1}", figure.title, figure.caption, svg, figure.name, files)
        pictures[figure.section].append(shown)
    keyed = {table.name: table for table in tables}
    return page(
        "study.html.j2",
        load=load_template,
        title=analysis.title,
        analysis=analysis,
        sets=[_set_words(one, analysis) for one in analysis.sets],
        metrics=list(dict.fromkeys(metric for one in analysis.sets for metric in one.boards)),
        pictures=pictures,
        tables=keyed,
        sections=_table_sections(tables),
        protocol=rules_in_words(analysis),
        data={_identifier(table.name): table.data() for table in tables},
        identifier=_identifier,
    )


def load_template(name: str) -> str:
    """Return the text of a template: ours, or one of the report's."""
    if name in _OWN:
        return (files("segbench.studies") / "templates" / name).read_text(encoding="utf-8")
    try:
        return asset(name)
    except OSError as error:
        raise InvalidInput(f"There is no template {name!r}.") from error


def _set_words(one: Any, analysis: Analysis) -> dict[str, Any]:
    return {
        "name": one.name,
        "coverage": one.coverage,
        "cohort": one.cohort,
        "outcome": list(outcome(one)),
        "changes": list(changes(one, analysis)),
        "warnings": list(warnings_of(one, analysis)),
        "interactions": [
            (report.family, report.metric, report.interaction)
            for report in one.groups
            if report.interaction is not None and report.interaction.p_value is not None
        ],
        "parts": one.parts,
    }


def _table_sections(tables: Sequence[StudyTable]) -> dict[str, list[StudyTable]]:
    """Return the tables by the section they stand in; the words before a test set's name do not matter."""
    found: dict[str, list[StudyTable]] = {section: [] for section in _SECTIONS}
    for table in tables:
        name = table.name
        for section, marks in _SECTIONS.items():
            if any(mark in name for mark in marks):
                found[section].append(table)
                break
    return found


_SECTIONS = {
    "audit": ("audit",),
    "boards": ("overview-", "boards-", "web-"),
    "maps": ("pairs-",),
    "cohort": ("cohort",),
    "groups": ("group",),
    "sets": ("splits-", "all-test-sets-"),
}


def _identifier(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)
