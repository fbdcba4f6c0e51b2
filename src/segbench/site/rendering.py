"""render(): records in, a folder of pages out. The same records make the same bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.outputs import write_whole
from segauge.report.figures import style_rules
from segauge.report.figures.charting import number_text, shortened
from segauge.report.html import asset, filled, script_json
from segbench.leaderboard import Board
from segbench.records import RunRecord
from segbench.site.axes import Axis
from segbench.site.board_page import BoardPage, board_page, scores_of
from segbench.site.cases import case_table
from segbench.site.chapters import Chapter, chapters_of, metric_title, structure_title
from segbench.site.downloads import badge_text, write_downloads
from segbench.site.methods import Method, counted, method_of
from segbench.site.models import DatasetView, ModelView, dataset_views, model_views
from segbench.site.overall import OverallBoard, overall_boards
from segbench.site.pictures import Pictures, RunFiles, pictures_of
from segbench.site.rows import EXPOSURE_WORDS, Row, board_axis, rows_of
from segbench.site.slices import Slice, slices_of

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class BoardView:
    """A board as its template wants it: where it belongs, its rows and axis, and the pages beside it."""

    chapter: Chapter
    board: Board
    rows: list[Row]
    axis: Axis | None
    cases: str
    slices: str
    is_own_page: bool = False

    @property
    def hidden_reasons(self) -> list[tuple[str, str]]:
        """Models that are shown and not ranked, or left out, with the reason."""
        shown = {standing.model for standing in self.board.standings if not standing.ranked}
        return [
            (str(one["model"]), str(one["reason"]))
            for one in self.chapter.record.exclusions
            if one["structure"] == self.board.structure or (not one["structure"] and one["model"] in shown)
        ]


@dataclass(frozen=True)
class Site:
    """What all pages share."""

    title: str
    introduction: str
    count: str
    links: tuple[tuple[str, str], ...]


def render(
    records: Sequence[RunRecord],
    folder: str | os.PathLike[str],
    *,
    title: str = "",
    checks: Sequence[tuple[str, bool]] = (),
    files: Sequence[RunFiles | None] = (),
    progress: Progress | None = None,
) -> Path:
    """Write the site of one or several records into a folder; return its front page.

    Args:
        records: in the order of the site, older before newer where they are of one dataset.
        folder: made if it is not there; files of an earlier site are written over.
        title: of the site; that of the only record, or a plain one, by default.
        checks: per record what a verification said and whether all of it follows.
        files: per record the files of its run, for pictures of the worst cases; None where there are none.
        progress: called with what is being made, how many pages are done, and of how many.

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
    pages = _Pages(place, _site_of(chapters, title, bool(overall)))
    pages.write("assets/site.css", style_rules() + asset("report.css") + own_asset("site.css"))
    pages.write("assets/report.js", asset("report.js"))
    pages.write("assets/site.js", own_asset("site.js"))
    front: BoardView | None = None
    done, total = 0, sum(len(chapter.boards) for chapter in chapters)
    _remove_pictures(place)
    for chapter, of_run in zip(chapters, files or (None,) * len(chapters), strict=True):
        pictures = pictures_of(chapter, of_run)
        pages.write_images(pictures.images)
        for board in chapter.boards:
            view = _write_board(pages, chapter, board, pictures)
            front = view if board is chapters[0].leading else front
            done += 1
            if progress is not None:
                progress(f"{chapter.name}: {structure_title(board)}, {board.metric}", done, total)
        write_downloads(place, chapter)
        for entry in chapter.record.models:
            pages.write(chapter.badge(entry.name), badge_text(chapter, entry.name))
    _write_common(pages, chapters, overall, front)
    return place / "index.html"


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


class _Pages:
    """Writes pages below a folder; every page knows the way back to the root."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder, self.site = folder, site

    def write(self, address: str, text: str) -> None:
        target = self.folder / address
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, text)

    def write_images(self, images: Mapping[str, bytes]) -> None:
        """Write the images below the outlines, by their addresses."""
        for address, data in images.items():
            target = self.folder / address
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, data)

    def page(self, address: str, template: str, data: Mapping[str, Any] | None = None, **values: Any) -> None:
        root = "../" * address.count("/")
        tables = {name: script_json(table) for name, table in (data or {}).items()}
        self.write(address, _filled(template, site=self.site, root=root, here=address, data=tables, **values))


def _write_board(pages: _Pages, chapter: Chapter, board: Board, pictures: Pictures) -> BoardView:
    """Write everything about one board: its page, its cases and groups, the front page's part, the embedded table."""
    scores = scores_of(chapter, board)
    cases = case_table(chapter.record, board, scores)
    slices: list[Slice] = slices_of(chapter.record, board, scores)
    rows, axis = rows_of(chapter, board), board_axis(board)
    addresses = (
        chapter.address(board, "cases") if cases is not None else "",
        chapter.address(board, "groups") if slices else "",
    )
    view = BoardView(chapter, board, rows, axis, *addresses)
    own = BoardView(chapter, board, rows, axis, *addresses, is_own_page=True)
    found: BoardPage = board_page(chapter, board, scores)
    pages.page(chapter.address(board), "board_page.html.j2", view=own, page=found)
    if cases is not None:
        pages.page(
            addresses[0], "cases.html.j2", {"cases": cases.packed}, view=own, cases=cases, pictures=pictures.of(board),
            shows_images=pictures.shows_images, has_files=bool(pictures.by_board), image_reason=pictures.image_reason,
        )  # fmt: skip
    if slices:
        pages.page(addresses[1], "groups.html.j2", view=own, slices=slices)
    markup = _filled("fragment.html.j2", view=view, root="")
    # The file is a script: nothing in the markup can end the text that it is.
    pages.write(chapter.data(board), f"segbenchBoard({_text(chapter.data(board))},{_text(markup)});\n")
    pages.page(chapter.embed(board), "embed.html.j2", view=view)
    return view


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")


def _write_common(
    pages: _Pages, chapters: Sequence[Chapter], overall: Sequence[OverallBoard], view: BoardView | None
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
        metrics = [{"key": chapter.selection(one)["metric"], "title": metric_title(one.metric)} for one in boards]
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


@lru_cache(maxsize=32)
def own_asset(name: str) -> str:
    """Return a template, style sheet or script of the site; templates that it does not have are the report's."""
    place = files("segbench.site") / "templates" / name
    return place.read_text(encoding="utf-8") if place.is_file() else asset(name)


def _filled(template: str, **values: Any) -> str:
    return filled(template, own_asset, _FILTERS, **values)


def _leader(board: Board) -> str:
    return board.standings[0].model if board.standings and board.standings[0].place else "no order"


_FILTERS: Mapping[str, Callable[..., Any]] = {
    "exposure_words": lambda level: EXPOSURE_WORDS[level],
    "leader": _leader,
    "metric_title": metric_title,
    "number": number_text,
    "percent": lambda share: f"{100 * share:.0f} %",
    "short": lambda text: shortened(text, 28),
    "signed": lambda value: f"{value:+.3g}",
    "structure_title": structure_title,
}
