"""The comparison report: figures, tables and page of several models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from segauge.digits import fixed, p_equals
from segauge.io.outputs import write_whole
from segauge.plural import counted
from segauge.report import figures
from segauge.report.comparison import ModelComparison
from segauge.report.figures import Interval, PairCell, Point
from segauge.report.figures.themes import SERIES
from segauge.report.floors import DIFFERENCE_HINT, FLOOR_BARS
from segauge.report.floors import METHODS as NOISE_FLOORS
from segauge.report.html import Picture, glossary, page, table_data
from segauge.report.illustrations import Illustration
from segauge.report.references import references_for
from segauge.report.summary import policy_words
from segauge.scores import MetricInfo
from segauge.stats import BoardRow, Comparison, PairResult
from segauge.tables import Column, Table, table

#: Above so many pairs the forest of differences shows the neighbours in the ranking only.
MOST_PAIRS = 28
MOST_BOXED = 20


def write_comparison(comparison: ModelComparison, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write the comparison report as one HTML file."""
    return write_whole(path, comparison_text(comparison, title=title))


def comparison_text(comparison: ModelComparison, *, title: str | None = None) -> str:
    """Return the comparison report as the text of an HTML file."""
    pictures = {one.key: Picture.of(one) for one in comparison_illustrations(comparison)}
    board = comparison.board
    methods = {row.estimate.method for found in comparison.boards.values() for row in found.ranked if row.estimate}
    return page(
        "comparison.html.j2",
        title=title or "Comparison of models",
        comparison=comparison,
        board=board,
        pictures=pictures,
        others={info.key: comparison.boards[info.key] for info in comparison.leading if info.key in comparison.boards},
        disagreements=comparison.disagreements(),
        paragraph=methods_paragraph(comparison),
        references=references_for(
            comparison.leading, sorted(methods), others=("romano2005", "demsar2006", "wiesenfarth2021")
        ),
        glossary=glossary(comparison.leading),
        data={
            "pairs": table_data(pair_table(comparison), {"noise floor": DIFFERENCE_HINT}),
            "cases": table_data(case_table(comparison)),
        },
    )


def comparison_illustrations(comparison: ModelComparison) -> Iterator[Illustration]:
    """Yield the figures of a comparison."""
    yield _means(comparison)
    yield _significance(comparison)
    yield _differences(comparison)
    yield _ranks(comparison)
    yield _critical_difference(comparison)
    yield _podium(comparison)
    if len(comparison.structures) <= MOST_BOXED:
        yield _structures(comparison)


def _order(comparison: ModelComparison) -> list[str]:
    return [row.model for row in comparison.board.ranked]


def _level(comparison: ModelComparison) -> str:
    return f"{100 * comparison.board.level:g} %"


def _means(comparison: ModelComparison) -> Illustration:
    rows = [_mean_row(row) for row in comparison.board.ranked]
    return Illustration(
        "means",
        f"{comparison.deciding.name} of every model",
        f"Mean{' rank' if comparison.board.is_by_ranks else ''} with {_level(comparison)} interval. Overlapping "
        "intervals do not answer whether two models differ: see pairs.",
        partial(figures.forest, rows, axis=_axis(comparison)),
    )


def _axis(comparison: ModelComparison) -> str:
    """Return what the numbers of the ranking are: the metric in its unit, or ranks where failures have no value."""
    by_ranks = f"rank within each case by {comparison.deciding.name}"
    return by_ranks if comparison.board.is_by_ranks else comparison.deciding.title


def _significance(comparison: ModelComparison) -> Illustration:
    pairs, order = comparison.board.comparison, _order(comparison)
    return Illustration(
        "significance",
        "Significance map",
        "Row against column: effect size (mean difference over its standard deviation) and p-value, adjusted for all "
        f"pairs ({comparison.board.test}). Grey cells are undecided, not equal.",
        partial(figures.significance_map, order, list(pair_cells(pairs, order, _is_higher_better(comparison)))),
    )


def _is_higher_better(comparison: ModelComparison) -> bool:
    return comparison.deciding.scale.higher_is_better and not comparison.board.is_by_ranks


def _differences(comparison: ModelComparison) -> Illustration:
    board = comparison.board
    shown = shown_pairs(board.comparison, _order(comparison))
    some = "" if len(shown) == len(board.pairs) else " Neighbours in the ranking only."
    floors = {(pair.a, pair.b): comparison.floor(comparison.deciding, pair.a, pair.b) for pair in shown}
    some += FLOOR_BARS if any(floor is not None for floor in floors.values()) else ""
    axis = f"difference of {_axis(comparison)}"
    return Illustration(
        "differences",
        "Paired differences",
        f"Mean of the differences per case, with {_level(comparison)} intervals that hold for all pairs together; "
        f"significant ones are marked.{some}",
        partial(figures.forest, [pair_row(pair, floors[pair.a, pair.b]) for pair in shown], axis=axis, reference=0.0),
    )


def _ranks(comparison: ModelComparison) -> Illustration:
    intervals = {row.model: (row.rank_low or 1, row.rank_high or 1) for row in comparison.board.ranked}
    return Illustration(
        "ranks",
        "Ranks over resampled cases",
        f"Area of a disc: how often the model has the rank over {comparison.n_resamples} resamples of the cases. Line: "
        f"the ranks that the data do not exclude ({_level(comparison)}).",
        partial(figures.rank_blobs, comparison.rank_frequencies, intervals=intervals),
    )


def _podium(comparison: ModelComparison) -> Illustration:
    info = comparison.deciding
    scores = comparison.case_scores(info)
    over = "" if len(comparison.structures) == 1 else " Scores are means over the structures that all models have."
    over += " The leading models have colours, the others are grey." if len(comparison.models) > len(SERIES) else ""
    return Illustration(
        "podium",
        "Podium",
        "Every case is a line through the models' scores, from the best to the worst; below, how often a model has "
        f"each place.{over}",
        partial(
            figures.podium,
            {name: scores[name] for name in _order(comparison)},
            axis=info.title,
            higher_is_better=info.scale.higher_is_better,
        ),
    )


def _structures(comparison: ModelComparison) -> Illustration:
    info = comparison.deciding
    return Illustration(
        "structures",
        f"{info.name} by structure",
        "Quartiles, median, and whiskers to the last value within 1.5 times the box; failures count as the scale's "
        "worst value where it has one, and are not drawn where it has none.",
        partial(figures.boxes, list(_points(comparison, info)), axis=info.title, bounds=info.scale.finite_bounds),
    )


def _mean_row(row: BoardRow) -> Interval:
    score = row.estimate
    if score is None:
        return Interval(row.model, None)
    failed = f", {row.failed} of {row.n} failed" if row.failed else ""
    return Interval(row.model, score.value, score.ci_low, score.ci_high, f"{score}  n = {score.n}{failed}")


def pair_cells(comparison: Comparison, order: Sequence[str], higher_is_better: bool) -> Iterator[PairCell]:
    """Yield every cell of the significance map of these models; a positive effect is one in favour of the row."""
    sign = 1.0 if higher_is_better else -1.0
    for row in order:
        for column in order:
            if row == column:
                continue
            pair = comparison[row, column]
            effect = None if pair.effect_size is None else sign * pair.effect_size
            yield PairCell(row, column, pair.verdict, pair.p_value, effect, _pair_note(pair))


def _pair_note(pair: PairResult) -> str:
    words = f"{fixed(pair.delta, pair.decimals, signed=True)} {pair.interval_text()}".rstrip()
    return f"{words}, n = {pair.n}"


def pair_row(pair: PairResult, floor: float | None = None) -> Interval:
    """Return the row of a pair in the forest of differences; around 0, what lies below its noise floor."""
    p = "" if pair.p_value is None else f"  {p_equals(pair.p_value)}"
    return Interval(
        f"{pair.a} \N{MINUS SIGN} {pair.b}",
        pair.delta,
        pair.ci_low,
        pair.ci_high,
        f"{_pair_note(pair)}{p}",
        emphasis=pair.distinguishable,
        band=None if floor is None else (-floor, floor),
    )


def shown_pairs(comparison: Comparison, order: Sequence[str]) -> list[PairResult]:
    """Return the pairs that a forest shows: all, or of too many the neighbours in the order."""
    if len(comparison.pairs) <= MOST_PAIRS:
        return [comparison[a, b] for i, a in enumerate(order) for b in order[i + 1 :]]
    return [comparison[a, b] for a, b in pairwise(order)]


def _critical_difference(comparison: ModelComparison) -> Illustration:
    ranks = comparison.mean_ranks
    order = sorted(ranks, key=lambda name: ranks[name])
    apart = [(pair.a, pair.b) for pair in comparison.board.pairs if pair.distinguishable]
    return Illustration(
        "critical",
        "Critical-difference diagram",
        "Mean rank within the cases. A bar joins models whose means are not significantly different "
        f"({comparison.board.test}), rather than the Nemenyi test of the classic diagram.",
        partial(figures.critical_difference, ranks, figures.cliques(order, apart)),
    )


def _points(comparison: ModelComparison, info: MetricInfo) -> Iterator[Point]:
    order = [row.model for row in comparison.board.ranked]
    for structure in comparison.structures:
        matrix = comparison.matrix(structure, info)
        for name in order:
            j = matrix.models.index(name)
            for case, value in zip(matrix.cases, matrix.values[:, j], strict=True):
                yield Point(structure, float(value), case, name)


def pair_table(comparison: ModelComparison) -> Table:
    """Return all pairs by all ranked metrics."""
    rows = [
        (info, pair)
        for info in comparison.leading
        if info.key in comparison.boards
        for pair in comparison.boards[info.key].pairs
    ]
    pairs = [pair for _, pair in rows]
    columns: dict[Column, list[Any]] = {
        Column("metric"): [_compared_by(comparison, info) for info, _ in rows],
        Column("model"): [pair.a for pair in pairs],
        Column("against"): [pair.b for pair in pairs],
        **{
            Column(title, format="mixed"): [getattr(pair, name) for pair in pairs]
            for title, name in (("difference", "delta"), ("low", "ci_low"), ("high", "ci_high"))
        },
    }
    floors = [comparison.floor(info, pair.a, pair.b) for info, pair in rows]
    if any(floor is not None for floor in floors):
        below = [floor is not None and abs(pair.delta) < floor for floor, pair in zip(floors, pairs, strict=True)]
        columns[Column("noise floor", format="mixed")] = floors
        columns[Column("below it")] = ["yes" if one else "" for one in below]
    columns[Column("p", format="p")] = [pair.p_value for pair in pairs]
    columns[Column("effect size", format="mixed")] = [pair.effect_size for pair in pairs]
    # Over several structures no case is won or lost as a whole.
    if any(pair.wins is not None for pair in pairs):
        columns[Column("wins", format="mixed")] = [pair.wins for pair in pairs]
    columns[Column("n", format="count")] = [pair.n for pair in pairs]
    columns[Column("verdict")] = [pair.verdict for pair in pairs]
    return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)))


def _compared_by(comparison: ModelComparison, info: MetricInfo) -> str:
    return f"{info.name} (ranks)" if comparison.boards[info.key].is_by_ranks else info.name


def case_table(comparison: ModelComparison) -> Table:
    """Return the deciding metric of every case and structure, a column per model."""
    matrices = {name: comparison.matrix(name, comparison.deciding) for name in comparison.structures}
    several = len(matrices) > 1
    heads = [Column("case"), *([Column("structure")] if several else [])]
    rows = [
        (case, *([name] if several else []), *values.tolist())
        for name, matrix in matrices.items()
        for case, values in zip(matrix.cases, matrix.values, strict=True)
    ]
    return table([*heads, *(Column(model, format="number") for model in comparison.models)], rows)


def methods_paragraph(comparison: ModelComparison) -> str:
    """Return how the models were compared, as a methods section would say it."""
    board = comparison.board
    version = next(iter(comparison.results.values())).protocol.get("versions", {}).get("segauge", "")
    over = "" if len(comparison.structures) == 1 else " as the unweighted mean over the structures"
    policy = next(iter(comparison.results.values())).policy
    measured = all(result.noise_floors() for result in comparison.results.values())
    floors = f"{NOISE_FLOORS} {DIFFERENCE_HINT} " if measured else ""
    return (
        f"{len(comparison.models)} models were compared on {counted(comparison.n_cases, 'case')} using segauge "
        f"{version}, paired by case, by {comparison.deciding.name}{over}. Cases without a prediction are failures of "
        f"that model. {policy_words(policy)} All pairs were compared by the mean of their per-case differences "
        f"({board.test}, {comparison.n_resamples} "
        f"resamples of cases, seed {comparison.seed}). {board.rule} {floors}Intervals and ranks quantify "
        "case-sampling uncertainty, not retraining variability."
    )
