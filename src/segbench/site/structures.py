"""The pages of one structure: its boards, their cases and groups. What one worker writes, knowing of nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from segauge.report.html import script_json
from segauge.stats import AVERAGE, Board, ScoreMatrix
from segbench.site.axes import Axis
from segbench.site.board_page import board_page, scores_of
from segbench.site.cases import CaseTable, case_table
from segbench.site.chapters import Chapter
from segbench.site.pages import Pages, filled_template
from segbench.site.pictures import Pictures
from segbench.site.rows import Row, board_axis, rows_of
from segbench.site.slices import slices_of


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

    @classmethod
    def of(cls, chapter: Chapter, board: Board, beside: BesideBoard) -> BoardView:
        """Return the view of a board."""
        return cls(chapter, board, rows_of(chapter, board), board_axis(board), beside.cases, beside.slices)

    @property
    def hidden_reasons(self) -> list[tuple[str, str]]:
        """Models that are shown and not ranked, or left out, with the reason."""
        shown = {standing.model for standing in self.board.rows if not standing.ranked}
        told = [
            (str(one["model"]), str(one["reason"]))
            for one in self.chapter.record.exclusions
            if one["structure"] == self.board.structure or (not one["structure"] and one["model"] in shown)
        ]
        return told + self._not_averaged()

    def _not_averaged(self) -> list[tuple[str, str]]:
        """Return the models that the average leaves out, and which structures they do not have."""
        if self.board.structure != AVERAGE or not self.board.rows:
            return []
        averaged = {standing.model for standing in self.board.rows}
        lacking: dict[str, list[str]] = {
            entry.name: [] for entry in self.chapter.record.models if entry.name not in averaged
        }
        for one in self.chapter.record.exclusions:
            if one["structure"] and one["model"] in lacking:
                lacking[one["model"]].append(str(one["structure"]))
        return [
            (name, f"has no average: {'n/a on ' + ', '.join(found) if found else 'no value on some structure'}")
            for name, found in lacking.items()
        ]


@dataclass(frozen=True)
class BesideBoard:
    """Addresses of the cases and groups of a board, "" where it has none."""

    cases: str = ""
    slices: str = ""


@dataclass(frozen=True, eq=False)
class StructureTask:
    """What the pages of one structure are made of.

    Attributes:
        pages: where they are written.
        chapter: the record, cut to the structure.
        structure: which one.
        pictures: of its cases.
        scores: per metric the scores of a board, for the average over structures: a cut record does not have them.
        averaged: metrics that have an average over structures, which the scores are wanted back for.

    """

    pages: Pages
    chapter: Chapter
    structure: str
    pictures: Pictures
    scores: Mapping[str, ScoreMatrix] = field(default_factory=dict)
    averaged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StructurePages:
    """What was written: per metric what stands beside the board, and the scores that an average is made of."""

    beside: Mapping[str, BesideBoard]
    scores: Mapping[str, ScoreMatrix]


def write_structure(task: StructureTask) -> StructurePages:
    """Write everything about one structure; the same bytes in whatever process."""
    beside, kept = {}, {}
    for board in task.chapter.boards:
        scores = task.scores.get(board.metric) if board.structure == AVERAGE else scores_of(task.chapter, board)
        beside[board.metric] = write_board(task.pages, task.chapter, board, scores, task.pictures)
        if board.metric in task.averaged and scores is not None and scores.scored_cases().cases:
            # The scores of the ranked models only, and without what was left out of them: an average needs no more.
            kept[board.metric] = scores.with_models(task.averaged[board.metric]).scored_cases()
    return StructurePages(beside, kept)


def write_board(
    pages: Pages, chapter: Chapter, board: Board, scores: ScoreMatrix | None, pictures: Pictures
) -> BesideBoard:
    """Write everything about one board: its page, its cases and groups, the front page's part, the embedded table."""
    cases = case_table(chapter.record, board, scores)
    slices = slices_of(chapter.record, board, scores)
    beside = BesideBoard(
        chapter.address(board, "cases") if cases is not None else "",
        chapter.address(board, "groups") if slices else "",
    )
    view = BoardView.of(chapter, board, beside)
    own = BoardView(chapter, board, view.rows, view.axis, view.cases, view.slices, is_own_page=True)
    pages.page(chapter.address(board), "board_page.html.j2", view=own, page=board_page(chapter, board, scores))
    if cases is not None:
        pages.page(
            beside.cases, "cases.html.j2", {"cases": cases.packed}, view=own, cases=cases, pictures=pictures.of(board),
            shows_images=pictures.shows_images, has_files=pictures.has_files, image_reason=pictures.image_reason,
            more=_more_columns(pages, chapter.address(board, "cases"), cases),
        )  # fmt: skip
    if slices:
        pages.page(beside.slices, "groups.html.j2", view=own, slices=slices)
    markup = filled_template("fragment.html.j2", view=view, root="")
    # The file is a script: nothing in the markup can end the text that it is.
    pages.write(chapter.data(board), f"segbenchBoard({_text(chapter.data(board))},{_text(markup)});\n")
    pages.page(chapter.embed(board), "embed.html.j2", view=view)
    return beside


def _more_columns(pages: Pages, address: str, cases: CaseTable) -> list[dict[str, str]]:
    """Write the columns that a page of cases does not begin with; return what its button loads, in order."""
    found = []
    first = cases.next_column
    for number, columns in enumerate(cases.more, start=2):
        place = f"{address.removesuffix('.html')}.{number}.js"
        pages.write(place, f"segbenchColumns({_text(place)},{script_json(columns)});\n")
        last = first + len(columns) - 1
        found.append({"address": place, "title": f"Show models {first} to {last} of {cases.columns}, too"})
        first = last + 1
    return found


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
