"""render(): records in, a folder of pages out. The same records make the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, SegaugeError
from segauge.executors import Crash, run
from segauge.plural import counted
from segauge.report.figures import style_rules
from segauge.report.html import asset, script_json
from segauge.report.viewer import niivue
from segauge.stats import AVERAGE, ScoreMatrix, average_matrix
from segbench.analysis import Analysis
from segbench.records import RunRecord
from segbench.site.board_page import ranked_models
from segbench.site.chapters import Chapter, chapters_of, structure_name, structure_title
from segbench.site.downloads import badge_text, write_downloads
from segbench.site.drawing import render_figures
from segbench.site.figures import study_figures, with_own_names
from segbench.site.methods import audit_of, method_of
from segbench.site.models import dataset_views, model_views, write_models
from segbench.site.overview import overview_of
from segbench.site.pages import Pages, Site, own_asset
from segbench.site.pictures import Pictures, RunFiles, pictures_of
from segbench.site.structures import Extras, ShownFigure, ShownTable, StructurePages, StructureTask, write_structure
from segbench.site.tables import study_tables, write_table

#: Structures that an error names.
MOST_NAMED = 5

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class WrittenSite:
    """Where the front page is, and how many figures and tables were written as files."""

    page: Path
    n_figures: int = 0
    n_tables: int = 0


def render(
    records: Sequence[RunRecord],
    folder: str | os.PathLike[str],
    *,
    title: str = "",
    checks: Sequence[tuple[str, bool]] = (),
    files: Sequence[RunFiles | None] = (),
    analysis: Analysis | None = None,
    endings: tuple[str, ...] = (".svg",),
    jobs: int = 1,
    progress: Progress | None = None,
) -> WrittenSite:
    """Write the site of one or several records into a folder; return its front page.

    Args:
        records: in the order of the site, older before newer where they are of one dataset.
        folder: made if it is not there; files of an earlier site are written over.
        title: of the site; that of the only record, or a plain one, by default.
        checks: per record what a verification said and whether all of it follows.
        files: per record the files of its run, for pictures of the worst cases; None where there are none.
        analysis: of the records in their order: groups, cohort, audit, boards over several test sets.
        endings: formats of the figures of the analysis; none are drawn without any.
        jobs: worker processes that write the pages; what is written does not depend on how many these are.
        progress: called with what was made, how many boards are done, and of how many.

    Structures go to the workers one by one, with no more of the record than their own scores. Where the pages of one
    cannot be made, those of all others are, and then an error names it.

    """
    if not records:
        raise InvalidInput("A site needs at least one record, got none.")
    if checks and len(checks) != len(records):
        raise InvalidInput(f"Expected one check for each of {len(records)} records, got {len(checks)}.")
    if files and len(files) != len(records):
        raise InvalidInput(f"Expected the files of each of {len(records)} records (or None), got {len(files)}.")
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InvalidInput(f"{place}: is a file, expected a folder to write into.")
    chapters = chapters_of(records, checks, () if analysis is None else analysis.sets)
    pages = Pages(place, _site_of(chapters, title, has_joint=bool(analysis and analysis.joint)))
    pages.write("assets/site.css", style_rules() + asset("report.css") + own_asset("site.css"))
    for name in ("report.js", "site.js", "explore.js"):
        pages.write(f"assets/{name}", asset(name) if name == "report.js" else own_asset(name))
    _remove_pictures(place)
    shown = _Shown.of(analysis, place, endings, jobs)
    has_viewer = False
    writing = _Writing(pages, jobs, progress, sum(len(chapter.boards) for chapter in chapters))
    for i, (chapter, of_run) in enumerate(zip(chapters, files or (None,) * len(chapters), strict=True)):
        pictures = pictures_of(chapter, of_run)
        for address, image in pictures.images.items():
            pages.write(address, image)
        for address, volumes in pictures.viewed.values():
            pages.write(address, volumes)
        writing.boards_of(chapter, pictures, shown.extras(i, chapter))
        write_downloads(place, chapter)
        for entry in chapter.record.models:
            pages.write(chapter.badge(entry.name), badge_text(chapter, entry.name))
        overview = overview_of(chapter)
        address = f"data/{chapter.key}.js"
        about = overview.data() | {"volumes": {case: place for case, (place, _) in pictures.viewed.items()}}
        pages.write(address, f"segbenchData({script_json(address)},{script_json(about)});\n")
        has_viewer |= bool(pictures.viewed)
    if has_viewer:
        pages.write("assets/niivue.js", niivue() or "")
        pages.write("assets/viewer.js", asset("viewer.js"))
    _write_common(pages, chapters, analysis, shown, has_viewer=has_viewer)
    writing.require_all()
    return WrittenSite(place / "index.html", len(shown.figures), len(shown.tables))


@dataclass(frozen=True)
class _Shown:
    """The figures and tables of the analysis, written as files, and where each of them is shown."""

    figures: tuple[tuple[tuple[int, str, str], str, ShownFigure], ...] = ()
    tables: tuple[tuple[int, ShownTable], ...] = ()

    @classmethod
    def of(cls, analysis: Analysis | None, place: Path, endings: tuple[str, ...], jobs: int) -> _Shown:
        """Draw the figures and write the tables."""
        if analysis is None:
            return cls()
        figures = with_own_names(list(study_figures(analysis))) if endings else []
        drawn = render_figures(figures, place / "figures", endings=endings, processes=jobs)
        shown = []
        for number, one in enumerate(figures):
            kinds = endings[:1] if one.detail else endings
            svg = drawn.get(one.name, "")
            made = ShownFigure(f"figure-{number + 1}", one.title, one.caption, svg, one.name, kinds)
            shown.append((one.place, one.tab, made))
        tables = []
        for number, (place_of, table) in enumerate(study_tables(analysis)):
            made_of = write_table(table, place / "tables")
            tables.append((place_of, ShownTable(f"table-{number + 1}", table, table.name, made_of)))
        return cls(tuple(shown), tuple(tables))

    def extras(self, number: int, chapter: Chapter) -> dict[tuple[str, str], Extras]:
        """Return what the analysis adds to the boards of a test set."""
        return {(board.structure, board.metric): self._of_board(number, board) for board in chapter.boards}

    def _of_board(self, number: int, board: Any) -> Extras:
        figures: dict[str, list[ShownFigure]] = {}
        tables: dict[str, list[ShownTable]] = {}
        for place, tab, figure in self.figures:
            if tab and figure.svg and place == (number, board.structure, board.metric):
                figures.setdefault(tab, []).append(figure)
        for place_of, one in self.tables:
            ending = f"-{board.metric}"
            if place_of != number or not one.table.tab or not one.name.endswith(ending):
                continue
            if "structure" not in one.table.titles and not board.is_average:
                continue
            cut = one.table.of(board.structure)
            if cut.rows:
                tables.setdefault(cut.tab, []).append(ShownTable(one.key, cut, one.name, one.endings))
        return Extras(figures, tables)


class _Writing:
    """The pages of all structures on their way: who writes them, how many are done, and what went wrong."""

    def __init__(self, pages: Pages, jobs: int, progress: Progress | None, total: int) -> None:
        self._pages, self._jobs, self._progress, self._total = pages, jobs, progress, total
        self._done = 0
        self._trouble: list[str] = []

    def boards_of(self, chapter: Chapter, pictures: Pictures, extras: Mapping[tuple[str, str], Extras]) -> None:
        """Write the boards of a record: structure by structure, then the averages over them."""
        averages = {board.metric: board for board in chapter.boards if board.structure == AVERAGE}
        averaged = {metric: ranked_models(board) for metric, board in averages.items()}
        structures = [name for name, _ in chapter.structures() if name != AVERAGE]

        def task_of(name: str) -> StructureTask:
            own, added = pictures.of_structure(name), of_structure(name)
            return StructureTask(self._pages, chapter.of_structure(name), name, own, averaged=averaged, extras=added)

        def of_structure(name: str) -> dict[str, Extras]:
            return {metric: found for (structure, metric), found in extras.items() if structure == name}

        scores: dict[str, dict[str, ScoreMatrix]] = {metric: {} for metric in averages}
        for name, found in self._written(chapter, structures, task_of):
            for metric, matrix in found.scores.items():
                scores[metric][name] = matrix
        if averages:
            # In the order of the record, whoever was ready first: sums depend on their order.
            parts = {
                metric: {one: known[one] for one in structures if one in known} for metric, known in scores.items()
            }
            joined = {
                metric: average_matrix(part) for metric, part in parts.items() if part and len(averaged[metric]) > 1
            }
            cut, added = chapter.of_structure(AVERAGE), of_structure(AVERAGE)
            task = StructureTask(self._pages, cut, AVERAGE, Pictures(), scores=joined, extras=added)
            for _ in self._written(chapter, [AVERAGE], lambda _: task):
                pass

    def _written(
        self, chapter: Chapter, names: Sequence[str], task_of: Callable[[str], StructureTask]
    ) -> Iterator[tuple[str, StructurePages]]:
        """Yield what was written of each structure that could be, as they come."""
        jobs = min(self._jobs, len(names)) or 1
        for outcome in run(write_structure, map(task_of, names), jobs=jobs):
            name = names[outcome.index]
            boards = [board for board in chapter.boards if board.structure == name]
            if isinstance(outcome.result, Crash):
                self._trouble.append(f"{chapter.name}, {structure_name(name)} ({outcome.result.reason})")
            else:
                yield name, outcome.result
            for board in boards:
                self._done += 1
                if self._progress is not None:
                    self._progress(f"{chapter.name}: {structure_title(board)}, {board.metric}", self._done, self._total)

    def require_all(self) -> None:
        """Say which pages could not be made, if any."""
        if self._trouble:
            shown = "; ".join(self._trouble[:MOST_NAMED])
            more = f"; and {len(self._trouble) - MOST_NAMED} more" if len(self._trouble) > MOST_NAMED else ""
            raise SegaugeError(f"All other pages are written, but those of {shown}{more} could not be made.")


def _remove_pictures(folder: Path) -> None:
    """Take away the images of an earlier site: what its card let be shown then may be forbidden now."""
    for old in (*(folder / "pictures").glob("*.png"), *(folder / "volumes").glob("*/*.js")):
        old.unlink()


def _site_of(chapters: Sequence[Chapter], title: str, *, has_joint: bool) -> Site:
    newest = {chapter.record.dataset.name: chapter for chapter in chapters}
    cases = sum(len(chapter.record.cases) for chapter in newest.values())
    models = len({entry.name for chapter in chapters for entry in chapter.record.models})
    sets = "1 test set" if len(newest) == 1 else f"{len(newest)} test sets"
    introduction = f"{counted(models, 'model')}, {sets}, {counted(cases, 'case')}. Ties are shown as ties."
    if any(chapter.has_exposures for chapter in chapters):
        introduction += " Models that may have trained on the test set are flagged and not ranked."
    links = [("Overview", "index.html"), ("All test sets", "overall.html"), ("Compare", "compare.html")]
    links += [("Cases", "case.html"), ("Models", "models.html"), ("Data and methods", "methods.html")]
    kept = tuple(link for link in links if has_joint or link[1] != "overall.html")
    named = title or (chapters[0].title if len(chapters) == 1 else "Segmentation leaderboard")
    count = "one record" if len(chapters) == 1 else f"{len(chapters)} records"
    return Site(named, introduction, count, kept)


def _write_common(
    pages: Pages, chapters: Sequence[Chapter], analysis: Analysis | None, shown: _Shown, *, has_viewer: bool
) -> None:
    """Write the overview, and the pages about all records."""
    overviews = [overview_of(chapter) for chapter in chapters]
    catalog = [_catalog_entry(chapter) for chapter in chapters]
    pages.page("index.html", "index.html.j2", chapters=chapters, overviews=overviews)
    pages.page("compare.html", "compare.html.j2", {"catalog": catalog})
    pages.page("case.html", "case.html.j2", {"catalog": catalog}, has_viewer=has_viewer)
    models = model_views(chapters)
    pages.page("models.html", "models.html.j2", models=models)
    write_models(pages, models)
    general = [figure for place, tab, figure in shown.figures if not tab]
    pages.page(
        "methods.html", "methods.html.j2", methods=[method_of(chapter) for chapter in chapters],
        datasets=dataset_views(chapters), audits=[audit_of(one, analysis) for one in analysis.sets] if analysis else [],
        general=general, files=[figure for _, _, figure in shown.figures], tables=[table for _, table in shown.tables],
    )  # fmt: skip
    if analysis is not None and analysis.joint:
        pages.page("overall.html", "overall.html.j2", joint=analysis.joint)


def _catalog_entry(chapter: Chapter) -> dict[str, Any]:
    structures = []
    for _, boards in chapter.structures():
        metrics = [{"key": chapter.selection(one)["metric"], "title": chapter.metric_title(one)} for one in boards]
        title = structure_title(boards[0])
        if boards[0].structure != AVERAGE:
            structures.append({"key": chapter.structure_key(boards[0]), "title": title, "metrics": metrics})
    return {"key": chapter.key, "title": chapter.name, "structures": structures}
