"""Several records of one test set, from older to newer: how the scores of the models moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from segauge.report import figures
from segauge.report.figures import Curve
from segauge.report.html import Picture
from segauge.report.illustrations import Illustration
from segauge.stats import Board
from segbench.site.chapters import Chapter, structure_title

#: More lines than this hide each other: the first models of the newest record.
MOST_MODELS = 8


@dataclass(frozen=True)
class History:
    """The boards of one structure and metric in several records, by the number of the record from 1."""

    boards: Mapping[int, Board]

    def series(self) -> dict[str, Curve]:
        """Return the scores of the newest record's first models over the records that have them, with intervals."""
        newest = self.boards[max(self.boards)]
        found = {}
        for name in [standing.model for standing in newest.rows][:MOST_MODELS]:
            curve = self._curve(name)
            if curve is not None:
                found[name] = curve
        return found

    def _curve(self, model: str) -> Curve | None:
        at, means, low, high = [], [], [], []
        for number, board in self.boards.items():
            standing = next((one for one in board.rows if one.model == model), None)
            mean = None if standing is None else standing.estimate.value if standing.estimate else standing.value
            if standing is None or mean is None:
                continue
            at.append(float(number))
            means.append(float(mean))
            if standing.estimate and standing.estimate.ci_low is not None and standing.estimate.ci_high is not None:
                low.append(float(standing.estimate.ci_low))
                high.append(float(standing.estimate.ci_high))
        if not at:
            return None
        return Curve(at, means, low, high) if len(low) == len(at) else Curve(at, means)


def history_of(chapters: Sequence[Chapter]) -> History | None:
    """Return the history of the board that speaks for the newest record; None unless an older record has it, too."""
    lead = chapters[-1].leading if len(chapters) > 1 else None
    if lead is None:
        return None
    known = {
        number: board
        for number, chapter in enumerate(chapters, start=1)
        if (board := chapter.board_of(lead.structure, lead.metric)) is not None and board.rows
    }
    return History(known) if len(known) > 1 else None


def history_picture(chapters: Sequence[Chapter]) -> Picture | None:
    """Return the picture of the records' history; None where there is none."""
    found = history_of(chapters)
    series = {} if found is None else found.series()
    if found is None or not any(len(curve.x) > 1 for curve in series.values()):
        return None
    board = found.boards[max(found.boards)]
    axis = chapters[max(found.boards) - 1].axis(board)
    illustration = Illustration(
        "history",
        f"{axis} of {structure_title(board)}, record by record",
        "Mean of each model in every record that has it, with its interval as a band; the numbers are those of the "
        "table above. Records may differ in their cases and rules: a step may be the record's, not the model's.",
        partial(figures.curves, series, x_axis="record", y_axis=axis, x_values=sorted(found.boards), points=True),
    )
    return Picture.of(illustration)
