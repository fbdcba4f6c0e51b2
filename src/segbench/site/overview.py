"""The overview of a test set: its verdict, and the matrix of models and structures, one per metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from segauge.digits import column_decimals, fixed, unit_word
from segauge.report.html import rounded
from segauge.stats import Board, BoardRow
from segbench.site.chapters import Chapter, structure_title
from segbench.site.rows import count_text


@dataclass(frozen=True)
class Cell:
    """One model on one board: its value in words, its place, and the shade of its tie group (0 to 4, 0 the best)."""

    text: str
    place: int | None
    shade: int
    address: str
    number: float | None


@dataclass(frozen=True)
class MatrixRow:
    """One model: its cells in the order of the structures, and what it can be filtered by."""

    model: str
    key: str
    organisation: str
    exposure: str
    size: str
    ranked: bool
    cells: list[Cell | None]


@dataclass(frozen=True)
class Matrix:
    """One metric of a test set: models from best to worst, structures from left to right."""

    key: str
    title: str
    unit: str
    structures: list[tuple[str, str]]
    rows: list[MatrixRow]


@dataclass(frozen=True, eq=False)
class Overview:
    """One test set on the front page."""

    chapter: Chapter
    lead: Board | None
    matrices: list[Matrix]

    def data(self) -> dict[str, Any]:
        """Return the means of all boards and the metadata of the cases, as pages load them."""
        record = self.chapter.record
        columns = list(dict.fromkeys(str(name) for case in record.cases for name in case.metadata))
        known = {case.case_id: case.metadata for case in record.cases} if columns else {}
        metadata = {name: {case: _text(values.get(name)) for case, values in known.items()} for name in columns}
        return {
            "metadata": metadata,
            "models": self.chapter.model_keys,
            "metrics": {
                matrix.key: {
                    "title": matrix.title,
                    "structures": [title for title, _ in matrix.structures],
                    "means": {
                        row.model: [None if cell is None else rounded(cell.number) for cell in row.cells]
                        for row in matrix.rows
                    },
                }
                for matrix in self.matrices
            },
        }


def overview_of(chapter: Chapter) -> Overview:
    """Return the overview of a test set."""
    return Overview(chapter, chapter.leading, [_matrix(chapter, metric) for metric in chapter.metrics])


def _matrix(chapter: Chapter, metric: str) -> Matrix:
    boards = [board for board in chapter.boards if board.metric == metric]
    leading = boards[0]
    order = list(dict.fromkeys(row.model for board in boards for row in board.rows))
    digits = {board.key: _digits(board) for board in boards}
    rows = [_matrix_row(chapter, model, boards, digits) for model in order]
    unit = unit_word(leading.unit)
    titles = [(structure_title(board), chapter.address(board)) for board in boards]
    return Matrix(chapter.selection(leading)["metric"], chapter.metric_title(leading), unit, titles, rows)


def _digits(board: Board) -> int:
    return column_decimals([row.estimate for row in board.rows if row.estimate is not None])


def _matrix_row(chapter: Chapter, model: str, boards: list[Board], digits: dict[str, int]) -> MatrixRow:
    entry = chapter.record[model]
    card = entry.card
    return MatrixRow(
        model,
        chapter.model_keys[model],
        card.organisation,
        entry.exposure.level.value if chapter.has_exposures else "",
        "" if card.parameters is None else count_text(card.parameters),
        entry.ranked,
        [_cell(chapter, board, board.get(model), digits[board.key]) for board in boards],
    )


def _cell(chapter: Chapter, board: Board, row: BoardRow | None, digits: int) -> Cell | None:
    if row is None:
        return None
    value = None if row.estimate is None else row.estimate.value
    groups = sorted({one.place for one in board.ranked if one.place is not None})
    shade = 4 if row.place is None else min(groups.index(row.place), 4)
    return Cell(fixed(value, digits, missing="no value"), row.place, shade, chapter.address(board), value)


def _text(value: object) -> str:
    return "" if value is None else str(value)
