"""Tables of a study: one list of rows each, written as CSV with all digits, as LaTeX and Markdown to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.io.outputs import write_whole
from segauge.plural import agreeing, counted
from segauge.report.html import table_data
from segauge.stats import Board, BoardRow
from segauge.tables import Column, Format, Table
from segbench.analysis.contrasts import PositionPairing
from segbench.analysis.entries import COLUMNS, RegisteredModel
from segbench.analysis.groups import BoxFigure, GroupReport
from segbench.analysis.joint import JointBoard, PartBoard
from segbench.analysis.maps import SignificanceMap
from segbench.analysis.study import Analysis, SetAnalysis
from segbench.analysis.web_board import WebRow

Cell = str | float | int | None


@dataclass(frozen=True)
class StudyTable:
    """A table: name for files, caption, titles of its columns, and rows of texts and numbers (None: no value)."""

    name: str
    caption: str
    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def table(self) -> Table:
        """Return the table that all formats are written from; columns of p-values begin with "p"."""
        numeric = [any(isinstance(row[i], (int, float)) for row in self.rows) for i in range(len(self.titles))]
        formats: list[Format] = [
            "text" if not is_number else "p" if title.split()[0] == "p" else "mixed"
            for title, is_number in zip(self.titles, numeric, strict=True)
        ]
        columns = tuple(Column(title, format=one) for title, one in zip(self.titles, formats, strict=True))
        return Table(columns, self.rows, self.caption)

    def of(self, structure: str) -> StudyTable:
        """Return the rows of one structure, without the column that names it."""
        if "structure" not in self.titles:
            return self
        at = self.titles.index("structure")
        rows = tuple((*row[:at], *row[at + 1 :]) for row in self.rows if row[at] == structure)
        return StudyTable(self.name, self.caption, (*self.titles[:at], *self.titles[at + 1 :]), rows)

    @property
    def tab(self) -> str:
        """The tab of a board's page that it belongs to; "" for the page of data and methods."""
        return next((tab for start, tab in _TABS.items() if start in self.name), "")

    def data(self) -> dict[str, Any]:
        """Return the table as the page's script sorts and filters it."""
        return table_data(self.table())


_TABS = {"pairs-": "pairs", "splits-": "stability", "group": "groups"}


def study_tables(analysis: Analysis) -> Iterator[tuple[int, StudyTable]]:
    """Yield all tables of an analysis with the number of their test set; -1 for those over all test sets."""
    several = len(analysis.sets) > 1
    for number, one in enumerate(analysis.sets):
        prefix = f"{_slug(one.name)}-" if several else ""
        for table in _set_tables(one, analysis):
            yield number, StudyTable(f"{prefix}{table.name}", table.caption, table.titles, table.rows)
    for board in analysis.joint:
        yield -1, joint_table(board)


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text).strip("-").lower()[:60] or "set"


def _set_tables(one: SetAnalysis, analysis: Analysis) -> Iterator[StudyTable]:
    yield audit_table(one)
    for metric, boards in one.boards.items():
        yield overview_table(boards, metric, analysis)
        yield board_table(boards, metric, analysis)
        yield pair_table(one.maps[metric], metric)
    if one.cohort is not None:
        yield cohort_table(one)
    for metric in one.boards:
        for reports, name, models in (
            (one.groups, "groups", "per model"),
            (one.aggregated, "groups-aggregated", "mean of all models"),
        ):
            chosen = [report for report in reports if report.metric == metric]
            if chosen:
                yield group_table(chosen, f"{name}-{metric}", models)
                yield gap_table(chosen, f"{name}-gaps-{metric}", models)
        adjusted = [gap for report in one.groups if report.metric == metric for gap in report.adjusted]
        if adjusted:
            yield adjusted_table([report for report in one.groups if report.metric == metric], metric)
        for boxes, name in ((one.boxes, "group-tests"), (one.aggregated_boxes, "group-tests-aggregated")):
            figures = [box for box in boxes if box.metric == metric]
            if figures:
                yield box_table(figures, f"{name}-{metric}")
        if metric in one.web:
            yield web_table(one.web[metric], metric)
            yield position_table(one.pairing[metric])
        parts = [part for part in one.parts if part.board.metric == metric]
        if parts:
            yield part_table(parts, metric)


def audit_table(one: SetAnalysis) -> StudyTable:
    """Return cases, gaps and failures per model."""
    kinds = list(dict.fromkeys(kind for model in one.coverage.models for kind in model.failures))
    rows: list[tuple[Cell, ...]] = []
    for model in one.coverage.models:
        failures = [model.failures.get(kind, 0) for kind in kinds]
        rows.append((model.model, model.n_cases, len(model.lacking), model.empty, model.complete, *failures))
    titles = ("model", "cases", "lacking", "without any number", "with every structure", *kinds)
    words = f"{counted(one.coverage.n_cases, 'case')} in all, {one.coverage.n_common} that every model has."
    return StudyTable("audit", words, titles, tuple(rows))


def overview_table(boards: Sequence[Board], metric: str, analysis: Analysis) -> StudyTable:
    """Return one row per model, one column per structure: the table of a README or a paper."""
    leading = boards[0]
    details = _registry_columns(analysis, [row.model for row in leading.rows])
    rows: list[tuple[Cell, ...]] = []
    for row in leading.rows:
        means = [None if (found := board.get(row.model)) is None else found.value for board in boards]
        known = [_detail(analysis.models.get(row.model), name) for name in details]
        rows.append((row.place, row.model, *means, *known))
    subjects = [_short_title(board) for board in boards]
    titles = ("place", "model", *subjects, *(name.replace("_", " ") for name in details))
    words = f"Mean {metric} per structure. {leading.rule}"
    return StudyTable(f"overview-{metric}", words, titles, tuple(rows))


def _short_title(board: Board) -> str:
    words = f"{board.structure}, {board.average}" if board.average else board.structure
    return f"{words} (mean rank)" if board.is_by_ranks else words


def _registry_columns(analysis: Analysis, models: Sequence[str]) -> list[str]:
    """Return the columns of the registry that say something about any of the models."""
    entries = [analysis.models[model] for model in models if model in analysis.models]
    return [name for name in COLUMNS if any(getattr(entry, name) for entry in entries)]


def _detail(entry: RegisteredModel | None, name: str) -> str:
    value = "" if entry is None else getattr(entry, name)
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def board_table(boards: Sequence[Board], metric: str, analysis: Analysis) -> StudyTable:
    """Return every model on every board, with interval, n, failures and rank set."""
    tested = not analysis.rules.is_touchstone
    titles: tuple[str, ...] = (
        "structure",
        "average rule",
        "place",
        "model",
        "mean rank",
        "mean",
        "low",
        "high",
        "n",
        "failed",
    )
    titles += ("median", "sd")
    titles += ("rank from", "rank to", "chance to lead on new cases", "mean on own cases", "own n") if tested else ()
    rows = []
    for board in boards:
        for row in board.rows:
            cells: tuple[Cell, ...] = (
                board.structure, board.average, row.place, row.model, row.value if board.is_by_ranks else None,
                *_limits(row), row.n, row.failed, row.median, row.sd,
            )  # fmt: skip
            if tested:
                cells += (row.rank_low, row.rank_high, row.win_probability, row.own_mean, row.own_n)
            rows.append(cells)
    ranked = ", ".join(board.structure for board in boards if board.is_by_ranks)
    note = f" {ranked}: ordered by the mean rank within the cases, because failures have no value." if ranked else ""
    return StudyTable(f"boards-{metric}", f"Boards of {metric}.{note} {boards[-1].rule}", titles, tuple(rows))


def _limits(row: BoardRow) -> tuple[Cell, Cell, Cell]:
    found = row.estimate
    return (None, None, None) if found is None else (found.value, found.ci_low, found.ci_high)


def pair_table(maps: Sequence[SignificanceMap], metric: str) -> StudyTable:
    """Return all ordered pairs of models on every structure."""
    titles = (
        "structure", "row", "column", "verdict", "p", "difference", "low", "high", "alone low", "alone high",
        "effect size", "wins", "n",
    )  # fmt: skip
    rows = tuple(
        (
            found.subject, cell.row, cell.column, cell.verdict, cell.p_value, cell.delta, cell.ci_low, cell.ci_high,
            cell.alone_low, cell.alone_high, cell.effect_size, cell.wins, cell.n,
        )
        for found in maps
        for cell in found.cells
    )  # fmt: skip
    rule = maps[0].rule if maps else ""
    return StudyTable(f"pairs-{metric}", f"The row's model against the column's, {metric}. {rule}", titles, rows)


def cohort_table(one: SetAnalysis) -> StudyTable:
    """Return the counts of every value of every column, for all cases and per split, and of missing values."""
    cohort = one.cohort
    assert cohort is not None  # noqa: S101 - asked by the caller
    splits = list(cohort.splits)
    rows: list[tuple[Cell, ...]] = [("(cases)", "", *(cohort.splits[name] for name in splits))]
    for column in cohort.distributions:
        for level in column.levels:
            rows.append((column.column, level, *(column.counts[name].get(level, 0) for name in splits)))
        rows.append((column.column, "(not known)", *(column.missing[name] for name in splits)))
    counting = agreeing(cohort.n_cases, "case that counts", "cases that count")
    words = f"Metadata of {counting}; {agreeing(cohort.without_metadata, 'has', 'have')} none."
    return StudyTable("cohort", words, ("column", "value", *splits), tuple(rows))


def group_table(reports: Sequence[GroupReport], name: str, models: str) -> StudyTable:
    """Return the mean of every group, per model."""
    rows: list[tuple[Cell, ...]] = []
    for report in reports:
        for model, found in report.models.items():
            for group in found.groups:
                mean = group.estimate
                limits = (None, None, None) if mean is None else (mean.value, mean.ci_low, mean.ci_high)
                rows.append((report.family, report.subject, model, group.name, *limits, group.n))
    titles = ("family", "structure", "model", "group", "mean", "low", "high", "n")
    words = f"Groups, {models}; groups with fewer than {reports[0].minimum} cases are not estimated."
    return StudyTable(name, words, titles, tuple(rows))


def gap_table(reports: Sequence[GroupReport], name: str, models: str) -> StudyTable:
    """Return the gaps between all pairs of groups, per model."""
    rows = tuple(
        (report.family, report.subject, model, gap.a, gap.b, gap.delta, gap.ci_low, gap.ci_high, gap.p_value)
        for report in reports
        for model, found in report.models.items()
        for gap in found.gaps
    )
    titles = ("family", "structure", "model", "group a", "group b", "a - b", "low", "high", "p")
    words = (
        f"Gaps between groups, {models}: intervals and p-values hold for all pairs of groups of one model, structure "
        "and family together (max-t), whatever other models do."
    )
    return StudyTable(name, words, titles, rows)


def adjusted_table(reports: Sequence[GroupReport], metric: str) -> StudyTable:
    """Return each model's largest gap, raw and within strata."""
    rows = tuple(
        (
            report.family, gap.model, gap.raw.a, gap.raw.b, gap.raw.delta, gap.column, gap.within.gap.value,
            gap.within.gap.ci_low, gap.within.gap.ci_high, gap.within.n_a, gap.within.n_b, len(gap.within.strata),
            gap.within.left_out,
        )
        for report in reports
        for gap in report.adjusted
    )  # fmt: skip
    titles = (
        "family", "model", "group a", "group b", "raw gap", "held against", "gap within", "low", "high", "n a", "n b",
        "strata", "left out",
    )  # fmt: skip
    return StudyTable(f"groups-adjusted-{metric}", "Largest gap of each model, within strata.", titles, rows)


def box_table(figures: Sequence[BoxFigure], name: str) -> StudyTable:
    """Return the rank tests between groups by Touchstone's rules."""
    rows = tuple(
        (
            figure.family, figure.subject, test.model, test.a, test.b, test.n_a, test.n_b, test.p_plain, test.p_value,
            test.stars, figure.gate,
        )
        for figure in figures
        for test in figure.tests
    )  # fmt: skip
    titles = (
        "family", "structure", "model", "group a", "group b", "n a", "n b", "p", "p corrected", "stars", "gate p",
    )  # fmt: skip
    words = (
        "Mann-Whitney tests between groups within a model, Bonferroni over all of them in a figure, after a "
        "Kruskal-Wallis test over all boxes of the figure."
    )
    return StudyTable(name, words, titles, rows)


def web_table(found: Sequence[WebRow], metric: str) -> StudyTable:
    """Return Touchstone's web board of every structure."""
    titles = ("structure", "rank", "model", "median", "2.5 %", "97.5 %", "mean", "n")
    rows = tuple((row.structure, row.rank, row.model, row.median, row.low, row.high, row.mean, row.n) for row in found)
    words = (
        f"Touchstone's web board of {metric}: by the median. What it calls a 95 % confidence interval are the 2.5 and "
        "97.5 percentiles of the cases: where cases lie, not how well the median is known."
    )
    return StudyTable(f"web-board-{metric}", words, titles, rows)


def position_table(found: PositionPairing) -> StudyTable:
    """Return the web board's tests of models whose lists of cases differ, beside the same tests paired by case id."""
    titles = ("structure", "model a", "model b", "p by row", "p by case id", "verdict changes")
    rows = tuple(
        (pair.structure, pair.a, pair.b, pair.by_position, pair.by_id, "yes" if pair.is_changed else "no")
        for pair in found.pairs
    )
    words = (
        "The web board's tests (two-sided Wilcoxon, uncorrected) pair cases by their row in the file. All pairs of "
        f"models with different lists of cases: {found.affected} of {found.tested}; {found.changed} get another "
        "verdict at 0.05."
    )
    return StudyTable(f"web-tests-{found.metric}", words, titles, rows)


def part_table(parts: Sequence[PartBoard], metric: str) -> StudyTable:
    """Return places and means of a part of the cases beside those of all cases."""
    rows: list[tuple[Cell, ...]] = []
    for part in parts:
        for row in part.board.rows:
            whole = part.whole[row.model]
            here = (part.part, row.model, row.place, row.value, row.n)
            rows.append((*here, whole.place, whole.value, whole.n))
    titles = ("part", "model", "place", "mean", "n", "place on all", "mean on all", "n of all")
    words = f"Splits next to all cases: {parts[0].whole.title}."
    return StudyTable(f"splits-{metric}", words, titles, tuple(rows))


def joint_table(board: JointBoard) -> StudyTable:
    """Return the board over all test sets, with each set's average."""
    rows: list[tuple[Cell, ...]] = []
    for row in board.board.ranked:
        means = [found[row.model] for found in board.sets.values()]
        rows.append((row.place, row.model, *_limits(row), row.rank_low, row.rank_high, *means))
    titles = ("place", "model", "mean of sets", "low", "high", "rank from", "rank to", *board.sets)
    words = f"All test sets, {board.metric}: unweighted mean of the sets' averages. {board.board.rule}"
    return StudyTable(f"all-test-sets-{board.metric}", words, titles, tuple(rows))


#: Longer tables are written as CSV only: nobody prints them.
LONGEST_PRINTED = 400


def write_table(table: StudyTable, folder: Path) -> tuple[str, ...]:
    """Write a table as CSV, and a short one as LaTeX and Markdown; return the endings of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{table.name}.csv", table.table().csv())
    if len(table.rows) > LONGEST_PRINTED:
        return ("csv",)
    write_whole(folder / f"{table.name}.tex", table.table().latex(label=f"tab:{table.name}"))
    write_whole(folder / f"{table.name}.md", table.table().markdown())
    return ("csv", "tex", "md")
