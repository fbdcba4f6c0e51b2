"""render(): records in, a folder of pages out. The same records make the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, SegaugeError
from segauge.executors import Crash, run
from segauge.plural import counted
from segauge.report.figures import style_rules
from segauge.report.html import asset
from segauge.stats import AVERAGE, Board, ScoreMatrix, average_matrix
from segbench.records import RunRecord
from segbench.site.board_page import ranked_models
from segbench.site.chapters import Chapter, chapters_of, structure_name, structure_title
from segbench.site.downloads import badge_text, write_downloads
from segbench.site.methods import Method, method_of
from segbench.site.models import DatasetView, ModelView, dataset_views, model_views
from segbench.site.overall import OverallBoard, overall_boards
from segbench.site.pages import Pages, Site, own_asset
from segbench.site.pictures import Pictures, RunFiles, pictures_of
from segbench.site.structures import BesideBoard, BoardView, StructurePages, StructureTask, write_structure

#: Structures that an error names.
MOST_NAMED = 5

Progress = Callable[[str, int, int], None]


def render(
    records: Sequence[RunRecord],
    folder: str | os.PathLike[str],
    *,
    title: str = "",
    checks: Sequence[tuple[str, bool]] = (),
    files: Sequence[RunFiles | None] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Write the site of one or several records into a folder; return its front page.

    Args:
        records: in the order of the site, older before newer where they are of one dataset.
        folder: made if it is not there; files of an earlier site are written over.
        title: of the site; that of the only record, or a plain one, by default.
        checks: per record what a verification said and whether all of it follows.
        files: per record the files of its run, for pictures of the worst cases; None where there are none.
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
    chapters = chapters_of(records, checks)
    overall = overall_boards(chapters)
    pages = Pages(place, _site_of(chapters, title, bool(overall)))
    pages.write("assets/site.css", style_rules() + asset("report.css") + own_asset("site.css"))
    pages.write("assets/report.js", asset("report.js"))
    pages.write("assets/site.js", own_asset("site.js"))
    _remove_pictures(place)
    writing = _Writing(pages, jobs, progress, sum(len(chapter.boards) for chapter in chapters))
    for chapter, of_run in zip(chapters, files or (None,) * len(chapters), strict=True):
        pictures = pictures_of(chapter, of_run)
        for address, image in pictures.images.items():
            pages.write(address, image)
        writing.boards_of(chapter, pictures)
        write_downloads(place, chapter)
        for entry in chapter.record.models:
            pages.write(chapter.badge(entry.name), badge_text(chapter, entry.name))
    lead = chapters[0].leading
    front = None if lead is None else BoardView.of(chapters[0], lead, writing.beside(chapters[0], lead))
    _write_common(pages, chapters, overall, front)
    writing.require_all()
    return place / "index.html"


class _Writing:
    """The pages of all structures on their way: who writes them, how many are done, and what went wrong."""

    def __init__(self, pages: Pages, jobs: int, progress: Progress | None, total: int) -> None:
        self._pages, self._jobs, self._progress, self._total = pages, jobs, progress, total
        self._done = 0
        self._beside: dict[tuple[str, str, str], BesideBoard] = {}
        self._trouble: list[str] = []

    def boards_of(self, chapter: Chapter, pictures: Pictures) -> None:
        """Write the boards of a record: structure by structure, then the averages over them."""
        averages = {board.metric: board for board in chapter.boards if board.structure == AVERAGE}
        averaged = {metric: ranked_models(board) for metric, board in averages.items()}
        structures = [name for name, _ in chapter.structures() if name != AVERAGE]

        def task_of(name: str) -> StructureTask:
            own = pictures.of_structure(name)
            return StructureTask(self._pages, chapter.of_structure(name), name, own, averaged=averaged)

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
            task = StructureTask(self._pages, chapter.of_structure(AVERAGE), AVERAGE, Pictures(), scores=joined)
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
                self._beside.update({(chapter.key, name, metric): one for metric, one in outcome.result.beside.items()})
                yield name, outcome.result
            for board in boards:
                self._done += 1
                if self._progress is not None:
                    self._progress(f"{chapter.name}: {structure_title(board)}, {board.metric}", self._done, self._total)

    def beside(self, chapter: Chapter, board: Board) -> BesideBoard:
        """Return what stands beside a board."""
        return self._beside.get((chapter.key, board.structure, board.metric), BesideBoard())

    def require_all(self) -> None:
        """Say which pages could not be made, if any."""
        if self._trouble:
            shown = "; ".join(self._trouble[:MOST_NAMED])
            more = f"; and {len(self._trouble) - MOST_NAMED} more" if len(self._trouble) > MOST_NAMED else ""
            raise SegaugeError(f"All other pages are written, but those of {shown}{more} could not be made.")


def _remove_pictures(folder: Path) -> None:
    """Take away the images of an earlier site: what its card let be shown then may be forbidden now."""
    for old in (folder / "pictures").glob("*.png"):
        old.unlink()


def _site_of(chapters: Sequence[Chapter], title: str, with_overall: bool) -> Site:
    newest = {chapter.record.dataset.name: chapter for chapter in chapters}
    cases = sum(len(chapter.record.cases) for chapter in newest.values())
    models = len({entry.name for chapter in chapters for entry in chapter.record.models})
    sets = "one test set" if len(newest) == 1 else f"{len(newest)} test sets"
    introduction = (
        f"Which of {counted(models, 'model')} to use, on {sets} with {counted(cases, 'case')}, and whether the "
        "difference is real. "
        "Models that cannot be told apart share a place, and what a model saw of the test set in training is marked."
    )
    links = [("Boards", "index.html"), ("Overall", "overall.html"), ("Models", "models.html")]
    links += [("Test sets", "datasets.html"), ("Methods and reproduction", "methods.html")]
    kept = tuple(link for link in links if with_overall or link[1] != "overall.html")
    named = title or (chapters[0].title if len(chapters) == 1 else "Segmentation leaderboard")
    count = "one record" if len(chapters) == 1 else f"{len(chapters)} records"
    return Site(named, introduction, count, kept)


def _write_common(
    pages: Pages, chapters: Sequence[Chapter], overall: Sequence[OverallBoard], view: BoardView | None
) -> None:
    """Write the front page with its first board, and the pages about all records."""
    catalog = [_catalog_entry(chapter) for chapter in chapters]
    choices = _choices(catalog, view)
    pages.page("index.html", "index.html.j2", {"catalog": catalog}, chapters=chapters, view=view, choices=choices)
    models: list[ModelView] = model_views(chapters)
    datasets: list[DatasetView] = dataset_views(chapters)
    methods: list[Method] = [method_of(chapter) for chapter in chapters]
    pages.page("models.html", "models.html.j2", models=models, chapters=chapters)
    pages.page("datasets.html", "datasets.html.j2", datasets=datasets, chapters=chapters)
    pages.page("methods.html", "methods.html.j2", methods=methods)
    if overall:
        pages.page("overall.html", "overall.html.j2", overall=overall, chapters=chapters)


def _catalog_entry(chapter: Chapter) -> dict[str, Any]:
    structures = []
    for _, boards in chapter.structures():
        metrics = [{"key": chapter.selection(one)["metric"], "title": chapter.metric_title(one)} for one in boards]
        title = structure_title(boards[0])
        structures.append({"key": chapter.structure_key(boards[0]), "title": title, "metrics": metrics})
    return {"key": chapter.key, "title": chapter.name, "structures": structures}


def _choices(catalog: Sequence[Mapping[str, Any]], view: BoardView | None) -> dict[str, Any]:
    """Return what the selectors offer before any script runs: those of the board that the page is written with."""
    if view is None:
        return {"structures": [], "metrics": [], "selection": {}, "address": ""}
    selection, structures = view.chapter.selection(view.board), catalog[0]["structures"]
    shown = next(one for one in structures if one["key"] == selection["structure"])
    return {
        "structures": [(one["key"], one["title"]) for one in structures],
        "metrics": [(one["key"], one["title"]) for one in shown["metrics"]],
        "selection": selection,
        "address": view.chapter.data(view.board),
    }
