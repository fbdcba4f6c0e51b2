"""The whole analysis of one or several test sets by one set of rules: what pages, figures and tables show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from segauge.errors import InvalidInput
from segauge.stats import OrderStability, ScoreMatrix, order_stability
from segbench.analysis.audit import Coverage, audit_coverage
from segbench.analysis.boards import Board, boards_of
from segbench.analysis.cohort import Cohort, describe_cohort
from segbench.analysis.contrasts import (
    ChangedWinner,
    PositionPairing,
    TypicalCase,
    changed_winners,
    position_pairing,
    typical_case,
)
from segbench.analysis.entries import RegisteredModel
from segbench.analysis.groups import (
    BoxFigure,
    Family,
    GroupReport,
    aggregated_matrix,
    box_figure,
    membership,
    report_groups,
)
from segbench.analysis.joint import JointBoard, PartBoard, joint_board, part_board
from segbench.analysis.maps import SignificanceMap, significance_map
from segbench.analysis.rules import Rules
from segbench.analysis.scored_set import AVERAGE, ScoredSet
from segbench.analysis.web_board import WebRow, web_board


@dataclass(frozen=True)
class StudyInput:
    """One test set, and what to look at in it.

    Attributes:
        scored: its scores and metadata.
        families: groups of cases to compare.
        findings: what reading the files found, in words.
        split: metadata column of the official splits; None if there is none.
        strata: name of another column and per case its stratum, to hold gaps against; None if not asked for.

    """

    scored: ScoredSet
    families: tuple[Family, ...] = ()
    findings: tuple[str, ...] = ()
    split: str | None = None
    strata: tuple[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, eq=False)
class SetAnalysis:
    """Everything about one test set.

    Attributes:
        name: of the test set.
        scored: what was analysed.
        coverage: the audit.
        cohort: what the metadata say; None without metadata.
        boards, maps: per metric.
        groups, aggregated: groups by our rules, per model and for the mean of all models.
        boxes, aggregated_boxes: the same by Touchstone's rules.
        parts: official splits beside the whole, on the leading average.
        stability: per metric how the order settles.
        winners, pairing, typical: per metric what common mistakes would have changed; the last by our rules only.
        web: per metric Touchstone's web board, by its rules only.

    """

    name: str
    scored: ScoredSet
    coverage: Coverage
    cohort: Cohort | None
    boards: Mapping[str, tuple[Board, ...]]
    maps: Mapping[str, tuple[SignificanceMap, ...]]
    groups: tuple[GroupReport, ...]
    aggregated: tuple[GroupReport, ...]
    boxes: tuple[BoxFigure, ...]
    aggregated_boxes: tuple[BoxFigure, ...]
    parts: tuple[PartBoard, ...]
    stability: Mapping[str, OrderStability]
    winners: Mapping[str, tuple[ChangedWinner, ...]]
    pairing: Mapping[str, PositionPairing]
    typical: Mapping[str, TypicalCase]
    web: Mapping[str, tuple[WebRow, ...]]


@dataclass(frozen=True, eq=False)
class Analysis:
    """The analysis of all test sets.

    Attributes:
        title: of the page.
        rules: by which everything was made.
        sets: one per test set.
        joint: boards over all test sets, one per metric; empty for a single one.
        models: what the registry says about the models.

    """

    title: str
    rules: Rules
    sets: tuple[SetAnalysis, ...]
    joint: tuple[JointBoard, ...] = ()
    models: Mapping[str, RegisteredModel] = field(default_factory=dict)


def analyze(
    inputs: Sequence[StudyInput],
    rules: Rules,
    *,
    title: str = "",
    models: Mapping[str, RegisteredModel] | None = None,
    metrics: Sequence[str] = (),
) -> Analysis:
    """Return the analysis of one or several test sets; `metrics` are all that a test set has unless chosen."""
    sets = tuple(_analyze_set(one, rules, metrics) for one in inputs)
    joint = []
    if len(inputs) > 1:
        shared = [metric for metric in sets[0].boards if all(metric in other.boards for other in sets)]
        found = [joint_board([one.scored for one in inputs], metric, rules) for metric in shared]
        joint = [board for board in found if board is not None]
    return Analysis(title or " and ".join(one.name for one in sets), rules, sets, tuple(joint), dict(models or {}))


def _analyze_set(given: StudyInput, rules: Rules, metrics: Sequence[str]) -> SetAnalysis:
    scored = given.scored
    chosen = [metric for metric in (metrics or scored.metrics) if scored.is_comparable(metric)]
    if not chosen:
        asked = ", ".join(metrics) or ", ".join(scored.metrics) or "none"
        raise InvalidInput(f"{scored.name}: no metric of which it is known which way is better; there are {asked}.")
    unknown = [metric for metric in scored.metrics if not scored.is_comparable(metric)]
    left_out = [f"{metric} is not analysed: which way is better is not known" for metric in unknown]
    left_out += _small_families(given, rules)
    boards = {metric: boards_of(scored, metric, rules) for metric in chosen} if len(scored.models) > 1 else {}
    groups, boxes = _groups(given, rules, chosen)
    aggregated, aggregated_boxes = _aggregated(given, rules, chosen)
    stability = {metric: found for metric in boards if (found := _stability(scored, metric, rules)) is not None}
    cases = scored.common_cases if rules.cases == "common" else scored.cases
    maps = {metric: tuple(_maps(scored, metric, found, rules)) for metric, found in boards.items()}
    return SetAnalysis(
        scored.name,
        scored,
        audit_coverage(scored, chosen[0], (*given.findings, *left_out)),
        describe_cohort(scored.metadata, cases, given.split) if scored.metadata else None,
        boards,
        maps,
        tuple(groups),
        tuple(aggregated),
        tuple(boxes),
        tuple(aggregated_boxes),
        tuple(_parts(given, boards, rules)),
        stability,
        {metric: changed_winners(found) for metric, found in boards.items()},
        {metric: position_pairing(scored, metric) for metric in boards},
        {
            metric: typical
            for metric in boards
            if (typical := _typical(scored, metric, maps[metric], rules)) is not None
        },
        {metric: web_board(scored, metric) for metric in boards} if rules.is_touchstone else {},
    )


def _small_families(given: StudyInput, rules: Rules) -> Iterator[str]:
    """Yield the declared families of which nothing can be estimated, with the sizes of their groups."""
    for family in given.families:
        minimum = family.minimum or rules.minimum
        sizes = membership(family, given.scored.cases, given.scored.metadata).sizes
        if not family.suggested and sum(size >= minimum for size in sizes.values()) < 2:
            named = ", ".join(f"{name} {size}" for name, size in sizes.items())
            yield f"groups of {family.name!r} are not compared: it takes two of {minimum} cases or more ({named})"


def subjects_of(scored: ScoredSet, metric: str, rules: Rules) -> Iterator[tuple[str, ScoreMatrix]]:
    """Yield the average (per case, over the structures it has) and every structure with their scores."""
    average = scored.average(metric, "case-mean", rules.cases)
    if average is not None:
        yield AVERAGE, average
    for structure in scored.structures:
        yield structure, scored.matrix(structure, metric, rules.cases)


def _groups(given: StudyInput, rules: Rules, metrics: Sequence[str]) -> tuple[list[GroupReport], list[BoxFigure]]:
    reports, boxes = [], []
    metadata = given.scored.metadata
    for metric in metrics if given.families else ():
        for subject, matrix in subjects_of(given.scored, metric, rules):
            for family in given.families:
                if rules.is_touchstone:
                    box = box_figure(matrix, family, metadata, subject, metric, family.minimum or rules.minimum)
                    boxes += [box] if box is not None else []
                    continue
                leading = subject == AVERAGE
                report = report_groups(
                    matrix,
                    family,
                    metadata,
                    subject,
                    metric,
                    rules,
                    strata=given.strata if leading and given.strata and given.strata[0] != family.name else None,
                    with_interaction=leading,
                )
                reports += [report] if report is not None else []
    return reports, boxes


def _aggregated(given: StudyInput, rules: Rules, metrics: Sequence[str]) -> tuple[list[GroupReport], list[BoxFigure]]:
    reports, boxes = [], []
    for metric in metrics if given.families else ():
        scored = given.scored
        if rules.cases == "common":
            scored = scored.restricted(scored.common_cases, scored.name)
        matrix = aggregated_matrix(scored, metric)
        for family in given.families if matrix is not None else ():
            assert matrix is not None  # noqa: S101 - told by the line above, for the type checker
            if rules.is_touchstone:
                box = box_figure(matrix, family, scored.metadata, AVERAGE, metric, rules.aggregated_minimum)
                boxes += [box] if box is not None else []
            else:
                report = report_groups(matrix, family, scored.metadata, AVERAGE, metric, rules)
                reports += [report] if report is not None else []
    return reports, boxes


def _maps(scored: ScoredSet, metric: str, boards: Sequence[Board], rules: Rules) -> Iterator[SignificanceMap]:
    """Yield the map of every structure, and of the leading average by our rules (Touchstone has none of it)."""
    for i, board in enumerate(boards):
        if board.average:
            if i > 0 or rules.is_touchstone:
                continue
            matrix = scored.average(metric, board.average, rules.cases)  # type: ignore[arg-type]
        else:
            matrix = scored.matrix(board.subject, metric, rules.cases)
        if matrix is not None:
            comparison = None if board.ranking is None else board.ranking.comparison
            yield significance_map(matrix, board.subject, metric, rules, comparison)


def _typical(scored: ScoredSet, metric: str, maps: Sequence[SignificanceMap], rules: Rules) -> TypicalCase | None:
    """Set the maps of the structures beside a rank test; an average of structures has no value per case to test."""
    if rules.is_touchstone:
        return None
    structures = [found for found in maps if found.subject in scored.structures]
    pairs = [(scored.matrix(found.subject, metric, rules.cases), found) for found in structures]
    return typical_case(metric, [pair for pair in pairs if not pair[0].has_failures_without_value])


def _stability(scored: ScoredSet, metric: str, rules: Rules) -> OrderStability | None:
    matrix = scored.average(metric, "case-mean", rules.cases)
    if matrix is None:
        matrix = scored.matrix(scored.structures[0], metric, rules.cases)
    return order_stability(matrix, seed=rules.seed)


def _parts(given: StudyInput, boards: Mapping[str, tuple[Board, ...]], rules: Rules) -> Iterator[PartBoard]:
    if given.split is None:
        return
    values = sorted({row.get(given.split, "") for row in given.scored.metadata.values()} - {""})
    for metric, found in boards.items():
        for value in values:
            part = part_board(given.scored, metric, given.split, value, found[0], rules)
            if part is not None:
                yield part
