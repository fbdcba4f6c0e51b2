"""Writing a study: the page, the figures as SVG and PDF, and the tables as CSV, LaTeX and Markdown, in one folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segauge.errors import InvalidInput
from segauge.io.outputs import write_whole
from segauge.report.latex import latex
from segauge.report.markdown import markdown
from segbench.analysis.study import Analysis
from segbench.studies.charts import StudyFigure, study_figures
from segbench.studies.page import study_page
from segbench.studies.rendering import render_figures
from segbench.studies.tables import StudyTable, study_tables

#: Longer tables are written as CSV only: nobody prints them.
LONGEST_PRINTED = 400


@dataclass(frozen=True)
class WrittenStudy:
    """Where the page is, and how many figures and tables were written beside it."""

    page: Path
    n_figures: int
    n_tables: int


def write_study(
    analysis: Analysis,
    folder: Path,
    *,
    endings: tuple[str, ...] = (".svg", ".pdf"),
    processes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> WrittenStudy:
    """Write everything that an analysis shows into a folder.

    Args:
        analysis: what to show.
        folder: made if it is not there; files of the same names are replaced.
        endings: formats of the figures; none are drawn without any.
        processes: that render figures beside each other; as many as there are processors if None.
        progress: called with the figure that is done, how many are, and of how many.

    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder}: is a file, expected a folder to write into.")
    folder.mkdir(parents=True, exist_ok=True)
    figures = _with_own_names(list(study_figures(analysis))) if endings else []
    tables = list(study_tables(analysis))
    rendered = render_figures(figures, folder / "figures", endings=endings, processes=processes, progress=progress)
    for table in tables:
        _write_table(table, folder / "tables")
    page = write_whole(folder / "index.html", study_page(analysis, figures, rendered, tables, endings))
    return WrittenStudy(page, len(figures), len(tables))


def _with_own_names(figures: Sequence[StudyFigure]) -> list[StudyFigure]:
    """Return the figures with names that differ on every file system, also one that ignores case."""
    taken: set[str] = set()
    own: dict[str, list[str]] = defaultdict(list)
    named = []
    for figure in figures:
        name, number = figure.name, 2
        while name.casefold() in taken:
            name, number = f"{figure.name}-{number}", number + 1
        taken.add(name.casefold())
        own[figure.name].append(name)
        named.append(replace(figure, name=name))
    return [replace(figure, parts=_own_parts(figure.parts, own)) if figure.parts else figure for figure in named]


def _own_parts(parts: Sequence[str], own: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return what parts are called now; of parts of one name the first is the first figure that had it."""
    return tuple(own[part][parts[:i].count(part)] for i, part in enumerate(parts))


def _write_table(table: StudyTable, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{table.name}.csv", table.csv())
    if len(table.rows) <= LONGEST_PRINTED:
        text = table.text()
        write_whole(folder / f"{table.name}.tex", latex(text, label=f"tab:{table.name}"))
        write_whole(folder / f"{table.name}.md", markdown(text))
