"""What a board shows of each model: place and group, facts of its card, estimate on the axis, counts, exposure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from segauge import Estimate
from segauge.stats import AVERAGE, Board, BoardRow, scale_of
from segbench.cards import Exposure, ModelCard
from segbench.records import RunRecord
from segbench.site.addresses import safe_link
from segbench.site.axes import Axis, axis_for
from segbench.site.chapters import Chapter
from segbench.site.counts import Counts

#: What an exposure is called on the page.
EXPOSURE_WORDS = {"none": "not seen", "images": "saw images", "labels": "saw labels", "unknown": "unknown"}


@dataclass(frozen=True)
class Row:
    """One model on one board, ready to be shown.

    Attributes:
        standing: its numbers.
        card: facts about the model.
        exposure: what it has seen of the dataset.
        counts: missed, spurious and unscored cases.
        seconds: mean time of a prediction; None where it was not taken.
        shared: how many models share its place.
        is_first: whether it is the first of its place.
        suspicion: why its numbers should not be believed; "".

    """

    standing: BoardRow
    card: ModelCard
    exposure: Exposure
    counts: Counts
    seconds: float | None
    shared: int
    is_first: bool
    suspicion: str = ""

    @property
    def value(self) -> float | None:
        """The number that the row shows; None where there is none."""
        return self.standing.value if self.estimate is None else self.estimate.value

    @property
    def estimate(self) -> Estimate | None:
        """The value with its interval."""
        return self.standing.estimate

    @property
    def links(self) -> list[tuple[str, str]]:
        """Names and addresses of paper and code, where these are addresses."""
        pairs = (("paper", safe_link(self.card.paper)), ("code", safe_link(self.card.code)))
        return [(name, address) for name, address in pairs if address]

    @property
    def facts(self) -> list[str]:
        """Organisation, version, licence, size and speed, as far as they are known."""
        card = self.card
        found = [card.organisation, f"version {card.version}" if card.version else "", card.licence]
        found += ["" if card.parameters is None else f"{count_text(card.parameters)} parameters"]
        found += ["" if self.seconds is None else f"{duration_text(self.seconds)} per case"]
        return [one for one in found if one]


def rows_of(chapter: Chapter, board: Board) -> list[Row]:
    """Return the rows of a board in its order."""
    record = chapter.record
    shared = Counter(standing.place for standing in board.rows)
    firsts: dict[int | None, str] = {}
    for standing in board.rows:
        firsts.setdefault(standing.place, standing.model)
    return [
        Row(
            standing,
            record[standing.model].card,
            record[standing.model].exposure,
            chapter.counts(board.structure, standing.model),
            chapter.seconds.get(standing.model),
            shared[standing.place] if standing.place else 0,
            standing.place is not None and firsts[standing.place] == standing.model,
            suspicion(record, board.structure, standing.model),
        )
        for standing in board.rows
    ]


def suspicion(record: RunRecord, structure: str, model: str) -> str:
    """Return why a cell should not be believed, "" if nothing is wrong with it."""
    found = [one for one in record.suspects if one.model == model and structure in (one.structure, AVERAGE)]
    return "; ".join(f"{one.structure}: {one.diagnosis}" for one in found)


def board_axis(board: Board) -> Axis | None:
    """Return the axis that all models of a board share."""
    return axis_for(_limits(board.rows), scale_of(board.metric).bounds)


def _limits(standings: Iterable[BoardRow]) -> list[float | None]:
    found: list[float | None] = []
    for standing in standings:
        if standing.estimate is None:
            found.append(standing.value)
        else:
            found += [standing.estimate.value, standing.estimate.ci_low, standing.estimate.ci_high]
    return found


def count_text(count: float) -> str:
    """Return a large number for readers: "31.2 M"."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {letter}"
    return f"{count:.0f}"


def duration_text(seconds: float) -> str:
    """Return a time for readers: "0.4 s", "12 s", "3.5 min"."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
