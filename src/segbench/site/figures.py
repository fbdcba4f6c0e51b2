"""Figures of a study: which there are, what each shows, and how it is drawn with the shared charts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from segauge.digits import p_equals, percent, with_interval
from segauge.plural import counted
from segauge.report import figures
from segauge.report.figures import ColumnCounts, Curve, Interval, PairCell, Point
from segauge.stats import AVERAGE, Board
from segbench.analysis.cohort import ALL, Cohort
from segbench.analysis.groups import BoxFigure, GroupReport
from segbench.analysis.maps import SignificanceMap
from segbench.analysis.study import Analysis, SetAnalysis

#: Points beyond the whiskers of a box: the outermost ones; all of them would make files of megabytes.
OUTER = 4
#: Width of the plot area of box plots.
BOX_WIDTH = 460


@dataclass(frozen=True, eq=False)
class StudyFigure:
    """One figure.

    Attributes:
        name: path of its files below `figures`, without an ending.
        tab: of a board's page, or "" for the page of data and methods.
        place: test set (counted from 0), structure and metric of the board; "" where it belongs to all.
        title, caption: what it is, and what to know when reading it.
        make: draws it; None where it is put together of others.
        parts: names of the figures it is put together of, in their order.
        inline: whether it stands in the page, the first of its section open and the others folded; otherwise the page
            links to its file.
        detail: one of very many; written in the first format only.

    """

    name: str
    tab: str
    title: str
    caption: str
    make: Callable[[], Any] | None
    inline: bool = True
    detail: bool = False
    parts: tuple[str, ...] = ()
    place: tuple[int, str, str] = (0, "", "")


def study_figures(analysis: Analysis) -> Iterator[StudyFigure]:
    """Yield all figures of an analysis; those of several test sets lie in a folder per set."""
    several = len(analysis.sets) > 1
    for i, one in enumerate(analysis.sets):
        folder = f"set-{i + 1}/" if several else ""
        for figure in _set_figures(one):
            title = f"{one.name}: {figure.title}" if several else figure.title
            parts = tuple(f"{folder}{part}" for part in figure.parts)
            place = (i, *figure.place[1:])
            yield replace(figure, name=f"{folder}{figure.name}", title=title, parts=parts, place=place)


def _set_figures(one: SetAnalysis) -> Iterator[StudyFigure]:
    for metric, boards in one.boards.items():
        yield from _board_figures(boards, metric)
        yield from _map_figures(one.maps[metric], metric)
    if one.cohort is not None and one.cohort.distributions:
        caption = "Cases that count, stacked by split where there are splits."
        yield StudyFigure("cohort", "", "What the cases are", caption, partial(_cohort, one.cohort))
    yield from _group_figures(one)
    for metric, found in one.stability.items():
        series = {
            "order (Kendall's tau)": Curve(found.sizes, found.tau, found.tau_low, found.tau_high),
            f"{found.winner} comes first": Curve(found.sizes, found.same_winner),
        }
        caption = (
            f"Test sets of each size, drawn with replacement from the {found.n_cases} complete ones, against the "
            "order on all of them: mean Kendall's tau with the middle 90 %, and how often the same model comes first. "
            "The order on all cases is taken for the true one, so the curves are hopeful, the more so to the right."
        )
        make = partial(figures.stability, series, y_axis="agreement", domain=(0.0, 1.0))
        title, place = f"With fewer cases: {metric}", (0, one.boards[metric][0].structure, metric)
        yield StudyFigure(f"stability-{metric}", "stability", title, caption, make, place=place)


def _board_figures(boards: Sequence[Board], metric: str) -> Iterator[StudyFigure]:
    for board in boards:
        interval = "" if not board.pairs else " with interval"
        caption = (
            f"Mean{interval} over {counted(board.n_cases, 'case')}; models on the first place in colour. {board.rule}"
        )
        make = partial(_forest, board)
        place = (0, board.structure, metric)
        yield StudyFigure(f"boards/{_file(board.key)}", "", board.title, caption, make, inline=False, place=place)


def _forest(board: Board) -> Any:
    rows = []
    for row in board.ranked:
        if row.estimate is None:
            continue
        ranks = "" if row.rank_low is None else f"  ranks {row.rank_low}-{row.rank_high}"
        failed = f", {row.failed} failed" if row.failed else ""
        note = f"{row.estimate}  n = {row.n}{failed}{ranks}"
        rows.append(
            Interval(row.model, row.estimate.value, row.estimate.ci_low, row.estimate.ci_high, note, row.place == 1)
        )
    return figures.forest(rows, axis=f"mean {board.measure}")


def _map_figures(maps: Sequence[SignificanceMap], metric: str) -> Iterator[StudyFigure]:
    names = [f"maps/{_file(found.subject)}-{metric}" for found in maps]
    if len(maps) > 1:
        title = f"All maps of {metric} in one figure"
        yield StudyFigure(f"maps/all-{metric}", "", title, maps[0].rule, None, False, parts=tuple(names))
    for name, found in zip(names, maps, strict=True):
        title = f"{found.subject} {metric}"
        caption = f"{found.rule} Models from best to worst; pointing at a cell shows the numbers."
        place = (0, found.subject, metric)
        # A board with pairs of its own draws its map itself.
        make, inline = partial(_map, found, title), found.family == len(found.models) * (len(found.models) - 1)
        yield StudyFigure(name, "pairs", f"{title}, all pairs", caption, make, inline, place=place)


def _map(found: SignificanceMap, title: str) -> Any:
    cells = []
    for cell in found.cells:
        wins = "" if cell.wins is None else f", better in {percent(cell.wins)} of the cases"
        difference = with_interval(cell.delta, cell.ci_low, cell.ci_high, signed=True)
        note = f"mean difference {difference}, n = {cell.n}{wins}"
        cells.append(PairCell(cell.row, cell.column, cell.verdict, cell.p_value, cell.effect_size, note))
    return figures.significance_map(found.models, cells, title=title)


def _cohort(cohort: Cohort) -> Any:
    splits = [name for name in cohort.splits if name != ALL] or [ALL]
    columns = [
        ColumnCounts(
            one.column,
            one.levels,
            {name: one.counts[name] for name in splits},
            {name: one.missing[name] for name in splits},
            one.summary.get(ALL, ""),
        )
        for one in cohort.distributions
    ]
    return figures.cohort(columns)


def _group_figures(one: SetAnalysis) -> Iterator[StudyFigure]:
    for metric in one.boards:
        reports = [report for report in one.aggregated if report.metric == metric]
        if reports:
            caption = (
                "Mean over models per case and structure, then over structures; intervals of the groups' means. A gap "
                "between groups is not its cause: groups may differ in more than their name."
            )
            make = partial(_aggregated_forest, reports)
            place = (0, one.boards[metric][0].structure, metric)
            title = f"All models together: {metric}"
            yield StudyFigure(f"groups/all-models-{metric}", "groups", title, caption, make, place=place)
        boxes = [box for box in one.aggregated_boxes if box.metric == metric]
        if boxes:
            caption = "Mean over models per case and structure, then over structures. Stars as in the tables."
            make = partial(_aggregated_boxes, boxes)
            place = (0, one.boards[metric][0].structure, metric)
            title = f"All models together: {metric}"
            yield StudyFigure(f"groups/all-models-{metric}", "groups", title, caption, make, place=place)
    order = [row.model for boards in one.boards.values() for row in boards[0].rows]
    models = list(dict.fromkeys(order))
    for report in one.groups:
        # Every structure gets a figure where somebody asked for the groups; the tables have them all.
        if report.subject == AVERAGE or not report.membership.family.suggested:
            yield _report_figure(report, models)
    for box in one.boxes:
        yield _box_figure(box, models)


def _report_figure(report: GroupReport, models: Sequence[str]) -> StudyFigure:
    overlap = " Groups overlap; gaps resample all cases together." if report.membership.overlaps else ""
    caption = (
        f"Boxes of the cases of each group with {report.minimum} cases or more, from top to bottom in the legend's "
        "order (read it row by row); on the right each model's largest gap "
        f"between groups with its interval, corrected for all pairs of groups.{overlap}"
    )
    notes = {}
    for model in models:
        gap = report.largest_gap(model)
        if gap is not None and gap.ci_low is not None:
            told = " *" if gap.p_value < 1.0 - report.models[model].level else ""
            notes[model] = f"{gap.a} - {gap.b}: {with_interval(gap.delta, gap.ci_low, gap.ci_high, signed=True)}{told}"
    make = partial(_boxes, report, report.estimated, models, notes)
    return _group_figure(report, caption, make)


def _box_figure(box: BoxFigure, models: Sequence[str]) -> StudyFigure:
    gate = "" if box.gate is None else f"Kruskal-Wallis over all boxes: {p_equals(box.gate)}; "
    caption = (
        f"{gate}Mann-Whitney between groups within a model, Bonferroni over {box.factor} pairs; stars on the right."
    )
    notes = {}
    for model in models:
        starred = [test for test in box.tests if test.model == model and test.stars]
        more = f" and {len(starred) - 3} more" if len(starred) > 3 else ""
        notes[model] = ", ".join(f"{test.a} / {test.b} {test.stars}" for test in starred[:3]) + more
    make = partial(_boxes, box, box.groups, models, notes)
    return _group_figure(box, caption, make)


def _group_figure(found: GroupReport | BoxFigure, caption: str, make: Callable[[], Any]) -> StudyFigure:
    name = f"groups/{_file(found.family)}/{_file(found.subject)}-{found.metric}"
    title = f"{found.family}: {found.subject} {found.metric}"
    leading = found.subject == AVERAGE
    place = (0, found.subject, found.metric)
    return StudyFigure(name, "groups", title, caption, make, leading, not leading, place=place)


def _boxes(found: GroupReport | BoxFigure, groups: Sequence[str], models: Sequence[str], notes: dict[str, str]) -> Any:
    points = []
    shown = [model for model in models if model in found.matrix.models]
    for model in shown:
        column = found.matrix.values[:, found.matrix.models.index(model)]
        for group in groups:
            mask = found.membership.masks[group] & np.isfinite(column)
            label = f"{group} (n = {found.membership.sizes[group]})"
            points += [
                Point(model, float(column[i]), found.matrix.cases[i], label) for i in np.flatnonzero(mask).tolist()
            ]
    outer = OUTER if found.subject == AVERAGE else 1
    chart = figures.boxes(points, axis=found.metric, width=BOX_WIDTH, show_points=False, most_outer=outer)
    return figures.with_row_notes(chart, shown, notes, width=BOX_WIDTH)


def _aggregated_forest(reports: Sequence[GroupReport]) -> Any:
    rows = []
    names = [group for report in reports for group in report.membership.masks]
    for report in reports:
        (found,) = report.models.values()
        rows.append(Interval(report.family, None))
        told = {name for gap in found.gaps if gap.p_value < 1.0 - found.level for name in (gap.a, gap.b)}
        for group in found.groups:
            mean = group.estimate
            if mean is None:
                continue
            note = f"{mean}  n = {group.n}"
            # The same value in two columns ("unclear") says which one it is.
            name = group.name if names.count(group.name) == 1 else f"{group.name} ({report.family})"
            rows.append(Interval(name, mean.value, mean.ci_low, mean.ci_high, note, group.name in told))
    return figures.forest(rows, axis=f"mean {reports[0].metric}", row_height=20)


def _aggregated_boxes(boxes: Sequence[BoxFigure]) -> Any:
    points, rows, notes = [], [], {}
    for box in boxes:
        column = box.matrix.values[:, 0]
        for group in box.groups:
            row = f"{box.family}: {group}"
            rows.append(row)
            mask = box.membership.masks[group] & np.isfinite(column)
            points += [Point(row, float(column[i]), box.matrix.cases[i]) for i in np.flatnonzero(mask).tolist()]
            starred = [test for test in box.tests if test.a == group and test.stars]
            notes[row] = ", ".join(f"/ {test.b} {test.stars}" for test in starred)
    chart = figures.boxes(points, axis=boxes[0].metric, width=BOX_WIDTH, show_points=False, most_outer=OUTER)
    return figures.with_row_notes(chart, rows, notes, width=BOX_WIDTH)


def _file(text: str) -> str:
    """Return a text as part of a file name: letters, digits, hyphens and underscores, at most 80 of them."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in text).strip("-.")
    return plain[:80] or "unnamed"


def with_own_names(figures: Sequence[StudyFigure]) -> list[StudyFigure]:
    """Return the figures with names that differ on every file system, also one that ignores case."""
    taken: set[str] = set()
    own: dict[str, list[str]] = defaultdict(list)
    named = []
    for figure in figures:
        name, number = figure.name, 2
        while name.casefold() in taken:
            name, number = f"{figure.name}-{number}", number + 1
        taken.add(name.casefold())
        own[figure.name].append(name)
        named.append(replace(figure, name=name))
    return [replace(figure, parts=_own_parts(figure.parts, own)) if figure.parts else figure for figure in named]


def _own_parts(parts: Sequence[str], own: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return what parts are called now; of parts of one name the first is the first figure that had it."""
    return tuple(own[part][parts[:i].count(part)] for i, part in enumerate(parts))
