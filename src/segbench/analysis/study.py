"""The whole analysis of one or several test sets by one set of rules: what pages, figures and tables show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from segauge.errors import InvalidInput
from segauge.stats import AVERAGE, Board, CaseRule, OrderStability, ScoredSet, ScoreMatrix
from segbench.analysis.audit import Coverage, audit_coverage
from segbench.analysis.cohort import Cohort, describe_cohort
from segbench.analysis.contrasts import ChangedWinner, PositionPairing, TypicalCase, changed_winners, typical_case
from segbench.analysis.entries import RegisteredModel
from segbench.analysis.groups import BoxFigure, GroupReport, membership
from segbench.analysis.joint import JointBoard, PartBoard, beside
from segbench.analysis.maps import SignificanceMap, significance_map
from segbench.analysis.steps import Progress, Step, compute
from segbench.analysis.study_steps import StudyInput, joint_steps, set_steps
from segbench.analysis.web_board import WebRow, web_board
from segbench.boards import Rules

__all__ = ["Analysis", "SetAnalysis", "StudyInput", "analyze"]


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
    rules: Rules

    @property
    def case_rule(self) -> CaseRule:
        """Which cases the boards count."""
        return self.rules.cases

    @property
    def settings(self) -> Mapping[str, Any]:
        """Level, resamples and seed of the boards."""
        names = ("level", "n_resamples", "seed")
        return {"interval": self.rules.ci, **{name: getattr(self.rules, name) for name in names}}

    def of_structure(self, structure: str) -> SetAnalysis:
        """Return what pages of one structure are made of: its scores."""
        scored = self.scored if structure == AVERAGE else self.scored.select(structures=[structure])
        nothing: dict[str, Any] = dict.fromkeys(("groups", "aggregated", "boxes", "aggregated_boxes", "parts"), ())
        nothing |= {key: {} for key in ("boards", "maps", "stability", "winners", "pairing", "typical", "web")}
        return replace(self, scored=scored, cohort=None, **nothing)


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
    joint: Sequence[int] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Analysis:
    """Return the analysis of one or several test sets.

    Args:
        inputs: the test sets.
        rules: by which everything is made.
        title: of the page; the names of the test sets if empty.
        models: what the registry says about the models.
        metrics: all that a test set has unless chosen.
        joint: which test sets have a board together, by their numbers; all of them if None.
        jobs: worker processes; no number depends on how many these are.
        progress: called with what is done, how many steps are, and of how many.

    """
    chosen = [_comparable(one.scored, metrics) for one in inputs]
    planned: dict[tuple[Any, ...], list[Step]] = {}
    for i, one in enumerate(inputs):
        planned |= {(i, *key): steps for key, steps in set_steps(one, rules, chosen[i]).items()}
    together = range(len(inputs)) if joint is None else joint
    if len(together) > 1 and all(len(inputs[i].scored.models) > 1 for i in together):
        shared = [metric for metric in chosen[together[0]] if all(metric in chosen[i] for i in together)]
        planned["joint",] = joint_steps([inputs[i].scored for i in together], shared, rules)
    found = compute(planned, jobs=jobs, progress=progress)
    sets = tuple(
        _set_analysis(one, rules, chosen[i], {key[1:]: results for key, results in found.items() if key[0] == i})
        for i, one in enumerate(inputs)
    )
    over_all = tuple(board for board in found.get(("joint",), ()) if board is not None)
    return Analysis(title or " and ".join(one.name for one in sets), rules, sets, over_all, dict(models or {}))


def _comparable(scored: ScoredSet, metrics: Sequence[str]) -> list[str]:
    """Return the metrics of which it is known which way is better; all that a test set has unless chosen."""
    chosen = [metric for metric in (metrics or scored.metrics) if scored.is_comparable(metric)]
    if not chosen:
        asked = ", ".join(metrics) or ", ".join(scored.metrics) or "none"
        raise InvalidInput(f"{scored.name}: no metric of which it is known which way is better; there are {asked}.")
    return chosen


def _set_analysis(
    given: StudyInput, rules: Rules, metrics: Sequence[str], found: Mapping[tuple[Any, ...], list[Any]]
) -> SetAnalysis:
    """Put together what the steps of one test set found; what is left takes no time."""
    scored = given.scored
    unknown = [metric for metric in scored.metrics if not scored.is_comparable(metric)]
    left_out = [f"{metric} is not analysed: which way is better is not known" for metric in unknown]
    left_out += [
        f"{name} is not analysed: {', '.join(models)} {'has' if len(models) == 1 else 'have'} no score of it"
        for name, models in scored.incomplete_metrics.items()
    ]
    left_out += [
        f"{', '.join(models)} {'has' if len(models) == 1 else 'have'} no score of {name}: not on its boards, and in no "
        "average over structures"
        for name, models in scored.incomplete_structures.items()
    ]
    left_out += [*_small_families(given, rules), *_without_means(given, metrics, rules)]
    boards = {
        metric: given.boards.get(metric) or tuple(found["boards", metric])
        for metric in metrics
        if ("boards", metric) in found
    }
    groups, aggregated = (
        tuple(one for metric in metrics for one in found.get((kind, metric), ()) if one is not None)
        for kind in ("groups", "aggregated")
    )
    cases = scored.common_cases if rules.cases == "common" else scored.cases
    maps = {metric: tuple(_maps(scored, metric, made, rules)) for metric, made in boards.items()}
    stability = {metric: one for metric in boards for one in found["stability", metric] if one is not None}
    typical = {metric: _typical(scored, metric, maps[metric], rules) for metric in boards}
    theirs = rules.is_touchstone
    return SetAnalysis(
        scored.name,
        scored,
        audit_coverage(scored, metrics[0], (*given.findings, *left_out)),
        describe_cohort(scored.metadata, cases, given.split) if scored.metadata else None,
        boards,
        maps,
        () if theirs else groups,
        () if theirs else aggregated,
        groups if theirs else (),
        aggregated if theirs else (),
        tuple(
            beside(name, board, boards[metric][0])
            for metric in boards
            for name, board in found["parts", metric]
            if board is not None
        ),
        stability,
        {metric: changed_winners(made) for metric, made in boards.items()},
        {metric: found["pairing", metric][0] for metric in boards},
        {metric: one for metric, one in typical.items() if one is not None},
        {metric: web_board(scored, metric) for metric in boards} if theirs else {},
        rules,
    )


def _small_families(given: StudyInput, rules: Rules) -> Iterator[str]:
    """Yield the declared families of which nothing can be estimated, with the sizes of their groups."""
    for family in given.families:
        minimum = family.minimum or rules.minimum
        sizes = membership(family, given.scored.cases, given.scored.metadata).sizes
        if not family.suggested and sum(size >= minimum for size in sizes.values()) < 2:
            named = ", ".join(f"{name} {size}" for name, size in sizes.items())
            yield f"groups of {family.name!r} are not compared: it takes two of {minimum} cases or more ({named})"


def _without_means(given: StudyInput, metrics: Sequence[str], rules: Rules) -> Iterator[str]:
    """Yield the structures whose groups are not compared because failed cases have no value."""
    for metric in metrics if given.families else ():
        named = [
            structure
            for structure in given.scored.structures
            if given.scored.matrix(structure, metric, rules.cases).has_failures_without_value
        ]
        if named:
            yield (
                f"groups are not compared by {metric} on {', '.join(named)}, nor on the average: failed cases have no "
                "value there; give them one (a penalty)"
            )


def _maps(scored: ScoredSet, metric: str, boards: Sequence[Board], rules: Rules) -> Iterator[SignificanceMap]:
    """Yield the map of every structure, and of the leading average by our rules (Touchstone has none of it)."""
    for i, board in enumerate(boards):
        if board.average and (i > 0 or rules.is_touchstone):
            continue
        if not board.no_order:
            yield significance_map(_scores_of(scored, board, rules), board.structure, metric, rules, board)


def _scores_of(scored: ScoredSet, board: Board, rules: Rules) -> ScoreMatrix:
    """Return the scores of the ranked models of a board."""
    models = [row.model for row in board.ranked]
    if not board.average:
        return scored.matrix(board.structure, board.metric, rules.cases).with_models(models)
    found = scored.average(board.metric, board.average, rules.cases, models)  # type: ignore[arg-type]
    assert found is not None  # noqa: S101 - the board has an order
    return found


def _typical(scored: ScoredSet, metric: str, maps: Sequence[SignificanceMap], rules: Rules) -> TypicalCase | None:
    """Set the maps of the structures beside a rank test; an average of structures has no value per case to test."""
    if rules.is_touchstone:
        return None
    structures = [found for found in maps if found.subject in scored.structures]
    pairs = [
        (scored.matrix(found.subject, metric, rules.cases).with_models(found.models), found) for found in structures
    ]
    return typical_case(metric, [pair for pair in pairs if not pair[0].has_failures_without_value])
