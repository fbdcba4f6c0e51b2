"""The page of one board: why the models stand where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from segauge.report import figures
from segauge.report.comparison_page import pair_cells, pair_row, shown_pairs
from segauge.report.figures import Cases, Curve
from segauge.report.html import Picture
from segauge.report.illustrations import Illustration
from segauge.stats import AVERAGE, Board, BoardRow, Comparison, PairPlan, ScoreMatrix, rank_frequencies
from segbench.site.axes import Axis
from segbench.site.chapters import FEWEST_POINTS, Chapter, metric_title, structure_name
from segbench.site.rows import board_axis

#: More models than this make a map or a cloud that nobody reads: then the best of them only.
MOST_DRAWN = 24
#: A significance map of more models has signs in its cells, and the numbers where one points.
MOST_NUMBERS = 12
#: More curves than this hide each other.
MOST_CURVES = 8


@dataclass(frozen=True)
class Glance:
    """One metric of the structure: the standings by model, and the axis that they share."""

    title: str
    address: str
    standings: Mapping[str, BoardRow]
    axis: Axis | None


@dataclass(frozen=True)
class BoardPage:
    """What the page of a board shows beside the board.

    Attributes:
        metrics, structures: the boards beside this one: title, address, whether it is this one.
        pictures: the figures.
        glance: every metric of the structure.
        order: models in the order of the board.
        plans: neighbours, and how many cases it would take to separate them.
        flips: cases without which another model would lead, and which one.

    """

    metrics: list[tuple[str, str, bool]]
    structures: list[tuple[str, str, bool]]
    pictures: dict[str, Picture]
    glance: list[Glance]
    order: list[str]
    plans: list[PairPlan]
    flips: list[tuple[str, str]]


def board_page(chapter: Chapter, board: Board, scores: ScoreMatrix | None) -> BoardPage:
    """Return everything that stands on the page of a board."""
    same_structure = [one for one in chapter.boards if one.structure == board.structure]
    return BoardPage(
        [(chapter.metric_title(one), chapter.address(one), one is board) for one in same_structure],
        [
            (structure_name(structure), chapter.address_of(structure, metric), structure == board.structure)
            for structure, metric in chapter.places
            if metric == board.metric
        ],
        {one.key: Picture.of(one) for one in board_illustrations(chapter, board, scores)},
        [
            Glance(chapter.axis(one), chapter.address(one), {s.model: s for s in one.rows}, board_axis(one))
            for one in same_structure
        ],
        [standing.model for standing in board.rows],
        [plan for plan in board.plans if plan.cases_needed is None or plan.more_cases],
        sorted((board.flips).items()),
    )


def board_illustrations(chapter: Chapter, board: Board, scores: ScoreMatrix | None) -> Iterator[Illustration]:
    """Yield the figures of a board: pairs, ranks, distributions, and the tolerance curve of the surface Dice."""
    ranked = [standing.model for standing in board.rows if standing.place][:MOST_DRAWN]
    cut = f" The {len(ranked)} best models are drawn." if len(ranked) == MOST_DRAWN else ""
    if len(ranked) > 1 and board.pairs:
        yield from _pair_figures(chapter, board, ranked, cut)
    if len(ranked) > 1 and scores is not None:
        yield _rank_figure(chapter, board, scores, ranked)
    if board.structure != AVERAGE and scores is not None:
        yield from _distribution(chapter, board, scores)
    yield from _tolerance_curve(chapter, board)


def scores_of(chapter: Chapter, board: Board) -> ScoreMatrix | None:
    """Return the scores behind the board of one structure."""
    return chapter.scored.matrix(board.structure, board.metric, chapter.case_rule)


def ranked_models(board: Board) -> tuple[str, ...]:
    """Return the models that take part in a board's ranking."""
    return tuple(standing.model for standing in board.rows if standing.ranked)


def _pair_figures(chapter: Chapter, board: Board, ranked: Sequence[str], cut: str) -> Iterator[Illustration]:
    settings = chapter.leaderboard.settings
    level = f"{100 * settings['level']:g} %"
    known = tuple(pair for pair in board.pairs if pair.a in ranked and pair.b in ranked)
    comparison = Comparison(known, tuple(ranked), "", "", settings["level"], None, settings["n_resamples"], 0)
    yield Illustration(
        "significance",
        "Significance map",
        "Row against column: effect size (mean difference over its standard deviation) and p-value, adjusted for all "
        f"pairs{'; point at a cell to read them' if len(ranked) > MOST_NUMBERS else ''}. Grey cells are undecided, "
        f"which is not the same as equal.{cut}",
        partial(
            figures.significance_map,
            ranked,
            list(pair_cells(comparison, ranked, board.higher_is_better and not board.is_by_ranks)),
            cell=84,
        ),
    )
    shown = shown_pairs(comparison, ranked)
    few = "" if len(shown) == len(board.pairs) else " Neighbours in the order only."
    yield Illustration(
        "differences",
        "Paired differences",
        f"Mean of the differences per case, with {level} intervals that hold for all pairs together; significant ones "
        f"are marked, and only their intervals exclude 0.{few}",
        partial(
            figures.forest,
            [pair_row(pair) for pair in shown],
            axis=f"difference of {_compared(chapter, board)}",
            reference=0.0,
        ),
    )


def _compared(chapter: Chapter, board: Board) -> str:
    """Return what the pairs of a board differ in: the metric in its unit, or ranks where failures have no value."""
    title = chapter.metric_title(board)
    return f"rank within each case by {title}" if board.is_by_ranks else chapter.axis(board)


def _rank_figure(chapter: Chapter, board: Board, scores: ScoreMatrix, ranked: Sequence[str]) -> Illustration:
    settings = chapter.leaderboard.settings
    contest = [standing.model for standing in board.rows if standing.place]

    def make() -> object:
        shares = rank_frequencies(
            scores.with_models(contest).scored_cases(), n_resamples=settings["n_resamples"], seed=settings["seed"]
        )
        spans = {name: (float(board[name].rank_low or 1), float(board[name].rank_high or 1)) for name in ranked}
        return figures.rank_blobs({name: shares[name] for name in ranked}, intervals=spans)

    return Illustration(
        "ranks",
        "Ranks over resampled cases",
        f"Area of a disc: how often the model has the rank over {settings['n_resamples']} resamples of the cases. "
        f"Line: the ranks that the data do not exclude ({100 * settings['level']:g} %).",
        make,
    )


def _distribution(chapter: Chapter, board: Board, scores: ScoreMatrix) -> Iterator[Illustration]:
    drawn = [standing.model for standing in board.rows if standing.model in scores.models][:MOST_DRAWN]
    failed = scores.failed
    columns = {name: scores.models.index(name) for name in drawn}
    points = {name: Cases(scores.values[:, j], scores.cases, failed[:, j]) for name, j in columns.items()}
    if not any(np.isfinite(found.values).any() for found in points.values()):
        return
    bounds = scores.scale.bounds if scores.scale.is_bounded else None
    drawn_each = min(figures.MOST_POINTS, figures.MOST_POINTS_IN_ALL // max(len(drawn), 1))
    few = " (of many cases, those at the two ends)" if len(scores.cases) > drawn_each else ""
    yield Illustration(
        "distribution",
        "Every case of every model",
        f"Density, quartiles, and each case as a point{few}; point at one to see which case it is. Failed cases are "
        "crosses at the scale's worst value; where the scale has none they are not drawn, and counted as missed above.",
        partial(figures.raincloud, points, axis=chapter.axis(board), bounds=bounds),
    )


def _tolerance_curve(chapter: Chapter, board: Board) -> Iterator[Illustration]:
    """Yield the surface Dice against its tolerance, where the record has it at three tolerances or more."""
    known = chapter.curve(board.structure) if board.metric.partition("@")[0] == "nsd" else {}
    names = [standing.model for standing in board.rows]
    series = {name: curve for name in names[:MOST_CURVES] if (curve := tolerance_curve(known, name)) is not None}
    if not known or not series:
        return
    level = f"{100 * chapter.leaderboard.settings['level']:g} %"
    few = f" The first {MOST_CURVES} models of the board are drawn." if len(names) > MOST_CURVES else ""
    used = chapter.record.protocol.get("options", {}).get("nsd_tolerance_mm")
    marked = float(used) if board.metric == "nsd" and isinstance(used, (int, float)) else None
    words = "" if marked is None else " The dashed line is the tolerance of the board."
    yield Illustration(
        "tolerance",
        "Surface Dice against the tolerance",
        f"Share of the two surfaces that lie within the tolerance of each other, mean over the cases; band: {level} "
        f"interval at each tolerance. A missed case counts as 0.{words}{few}",
        partial(figures.curves, series, x_axis="tolerance in mm", y_axis=metric_title("nsd"), marked=marked),
    )


def tolerance_curve(known: Mapping[float, Board], model: str) -> Curve | None:
    """Return a model's mean at every tolerance with its interval; without a band where one has no interval."""
    found = []
    for tolerance, board in known.items():
        standing = next((one for one in board.rows if one.model == model), None)
        if standing is not None and standing.estimate is not None and standing.estimate.value is not None:
            found.append((tolerance, standing.estimate))
    if len(found) < FEWEST_POINTS:
        return None
    at, means = [x for x, _ in found], [float(e.value) for _, e in found if e.value is not None]
    low = [float(e.ci_low) for _, e in found if e.ci_low is not None]
    high = [float(e.ci_high) for _, e in found if e.ci_high is not None]
    return Curve(at, means, low, high) if len(low) == len(high) == len(at) else Curve(at, means)
