"""What a board shows of each model: its difference to the leader, its mean, failures, and facts of its card."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import median

from segauge import Estimate
from segauge.digits import column_decimals, decimals, fixed, interval, percent
from segauge.stats import AVERAGE, Board, BoardRow, PairResult, scale_of
from segbench.addresses import safe_link
from segbench.cards import Exposure, ModelCard
from segbench.records import RunRecord
from segbench.site.axes import Axis, axis_for
from segbench.site.chapters import Chapter
from segbench.site.counts import Counts

#: What an exposure is called on the page.
EXPOSURE_WORDS = {"none": "no", "images": "saw its images", "labels": "yes", "unknown": "unknown"}
#: Differences further from 0 than so many times the median one are cut, with a mark: one poor model must not flatten
#: the axis of the others.
CUT = 4.0


@dataclass(frozen=True)
class Row:
    """One model on one board, ready to be shown.

    Attributes:
        row: its numbers.
        card: facts about the model.
        exposure: what it has seen of the dataset.
        counts: missed, spurious and unscored cases.
        seconds: mean time of a prediction; None where it was not taken.
        shared: how many models share its place.
        is_first: whether it is the first of its place.
        gap: the pair of the model and the first row, as model - first; None for the first and for models not ranked.
        gap_text: the difference, its interval for all pairs together, and that of this pair alone.
        mean_text, interval_text: mean and limits, in the column's decimals.
        suspicion: why its numbers should not be believed; "".

    """

    row: BoardRow
    card: ModelCard
    exposure: Exposure
    counts: Counts
    seconds: float | None
    shared: int
    is_first: bool
    gap: PairResult | None = None
    gap_text: tuple[str, str, str] = ("", "", "")
    mean_text: str = ""
    interval_text: str = ""
    suspicion: str = ""

    @property
    def estimate(self) -> Estimate | None:
        """The mean with its interval."""
        return self.row.estimate

    @property
    def failures(self) -> str:
        """Failed cases with the limit of their share: "0 of 12 (<= 26 %)"."""
        told = None if self.estimate is None else self.estimate.failures
        return str(told) if told is not None else f"{self.row.failed} of {self.row.n}" if self.row.n else ""

    @property
    def tail_words(self) -> str:
        """What failures that were not seen could do to the mean, in words."""
        found = self.estimate
        if found is None or found.tail is None or found.failures is None:
            return ""
        return f"With {percent(found.failures.high)} failures the mean would be {found.tail:.2f}."

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
    """Return the rows of a board in its order, all numbers of a column with the same decimals."""
    record, shared = chapter.record, Counter(row.place for row in board.rows)
    firsts: dict[int | None, str] = {}
    for row in board.rows:
        firsts.setdefault(row.place, row.model)
    gaps = {row.model: board.to_first(row.model) for row in board.rows}
    digits = column_decimals([row.estimate for row in board.rows if row.estimate is not None])
    known = sorted(decimals(gap.delta, gap.ci_low, gap.ci_high) for gap in gaps.values() if gap is not None)
    gap_digits = known[len(known) // 2] if known else 3
    return [
        Row(
            row,
            record[row.model].card,
            record[row.model].exposure,
            chapter.counts(board.structure, row.model),
            chapter.seconds.get(row.model),
            shared[row.place] if row.place else 0,
            row.place is not None and firsts[row.place] == row.model,
            gaps[row.model],
            _gap_text(gaps[row.model], gap_digits),
            "" if row.estimate is None else fixed(row.estimate.value, digits),
            "" if row.estimate is None else interval(row.estimate.ci_low, row.estimate.ci_high, digits),
            suspicion(record, board.structure, row.model),
        )
        for row in board.rows
    ]


def _gap_text(gap: PairResult | None, digits: int) -> tuple[str, str, str]:
    if gap is None:
        return "", "", ""
    return fixed(gap.delta, digits, signed=True), gap.interval_text(digits), gap.alone_text(digits)


def suspicion(record: RunRecord, structure: str, model: str) -> str:
    """Return why a cell should not be believed, "" if nothing is wrong with it."""
    found = [one for one in record.suspects if one.model == model and structure in (one.structure, AVERAGE)]
    return "; ".join(f"{one.structure}: {one.diagnosis}" for one in found)


def board_axis(board: Board) -> Axis | None:
    """Return the axis that the means of a board share."""
    found = [row.estimate for row in board.rows if row.estimate is not None]
    limits = [limit for one in found for limit in (one.value, one.ci_low, one.ci_high)]
    return axis_for(limits, scale_of(board.metric).bounds)


def gap_axis(board: Board) -> Axis | None:
    """Return the axis of the differences to the first row; one that lies far beyond the others is cut."""
    gaps = [gap for row in board.ranked if (gap := board.to_first(row.model)) is not None]
    if not gaps:
        return None
    reach = [max(abs(gap.delta), abs(gap.ci_low or 0.0), abs(gap.ci_high or 0.0)) for gap in gaps]
    limit = CUT * median(reach) if max(reach) > CUT * median(reach) > 0 else math.inf
    ends = [end for gap in gaps for end in (gap.delta, gap.ci_low, gap.ci_high) if end is not None]
    return axis_for([0.0, *(min(max(end, -limit), limit) for end in ends)])


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
