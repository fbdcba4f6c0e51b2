"""The pages of one structure: its boards with all their tabs. What one worker writes, knowing of nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from segauge.report.html import script_json
from segauge.stats import AVERAGE, Board, ScoreMatrix
from segbench.site.axes import Axis
from segbench.site.board_page import board_page, scores_of
from segbench.site.cases import MOST_MODELS, case_scores, disagreeing, score_file
from segbench.site.chapters import Chapter
from segbench.site.pages import Pages
from segbench.site.pictures import Pictures
from segbench.site.rows import Row, board_axis, gap_axis, rows_of
from segbench.site.tables import StudyTable


@dataclass(frozen=True, eq=False)
class BoardView:
    """A board as its template wants it: where it belongs, its rows, and the axes of differences and means."""

    chapter: Chapter
    board: Board
    rows: list[Row]
    axis: Axis | None
    gaps: Axis | None

    @classmethod
    def of(cls, chapter: Chapter, board: Board) -> BoardView:
        """Return the view of a board."""
        return cls(chapter, board, rows_of(chapter, board), board_axis(board), gap_axis(board))

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
class ShownFigure:
    """A figure of the analysis on a page: its SVG ("" where the page links to it only) and the endings of its files."""

    key: str
    title: str
    caption: str
    svg: str
    name: str
    endings: tuple[str, ...]


@dataclass(frozen=True)
class ShownTable:
    """A table of the analysis on a page: its rows there, and the name and endings of its files."""

    key: str
    table: StudyTable
    name: str
    endings: tuple[str, ...]


@dataclass(frozen=True)
class Extras:
    """What an analysis adds to the page of a board, by tab."""

    figures: Mapping[str, list[ShownFigure]] = field(default_factory=dict)
    tables: Mapping[str, list[ShownTable]] = field(default_factory=dict)


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
        extras: per metric what the analysis adds.

    """

    pages: Pages
    chapter: Chapter
    structure: str
    pictures: Pictures
    scores: Mapping[str, ScoreMatrix] = field(default_factory=dict)
    averaged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extras: Mapping[str, Extras] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StructurePages:
    """Per metric the scores that an average is made of."""

    scores: Mapping[str, ScoreMatrix]


def write_structure(task: StructureTask) -> StructurePages:
    """Write everything about one structure; the same bytes in whatever process."""
    kept = {}
    for board in task.chapter.boards:
        scores = task.scores.get(board.metric) if board.structure == AVERAGE else scores_of(task.chapter, board)
        write_board(task, board, scores)
        if board.metric in task.averaged and scores is not None and scores.scored_cases().cases:
            # The scores of the ranked models only, and without what was left out of them: an average needs no more.
            kept[board.metric] = scores.with_models(task.averaged[board.metric]).scored_cases()
    return StructurePages(kept)


def write_board(task: StructureTask, board: Board, scores: ScoreMatrix | None) -> None:
    """Write everything about one board: its page with all tabs, the scores that pages load, the embedded table."""
    pages, chapter, pictures = task.pages, task.chapter, task.pictures
    cases = case_scores(board, scores)
    extras = task.extras.get(board.metric, Extras())
    view = BoardView.of(chapter, board)
    if cases is not None:
        address = chapter.scores(board)
        pages.write(address, f"segbenchData({json.dumps(address)},{script_json(score_file(board, cases))});\n")
    tables = {one.key: one.table.data() for shown in extras.tables.values() for one in shown}
    pages.page(
        chapter.address(board), "board_page.html.j2", tables, view=view, page=board_page(chapter, board, scores),
        cases=cases, disagreeing=[] if cases is None else disagreeing(cases), extras=extras,
        pictures=pictures.of(board),
        shows_images=pictures.shows_images, has_files=pictures.has_files, image_reason=pictures.image_reason,
        most_models=MOST_MODELS,
    )  # fmt: skip
    pages.page(chapter.embed(board), "embed.html.j2", view=view)
