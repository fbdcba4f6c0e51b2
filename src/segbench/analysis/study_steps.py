"""What takes time in an analysis, as steps: boards, parts of the cases, groups, contrasts; several test sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from segauge.stats import (
    AVERAGE,
    Board,
    OrderStability,
    ScoredSet,
    board_on,
    contests_of,
    make_board,
    order_stability,
)
from segbench.analysis.contrasts import position_pairing
from segbench.analysis.groups import Family, aggregated_matrix, box_figure, report_groups, subjects_of
from segbench.analysis.joint import joint_board, part_of
from segbench.analysis.steps import Step
from segbench.boards import Rules


@dataclass(frozen=True)
class StudyInput:
    """One test set, and what to look at in it.

    Attributes:
        scored: its scores and metadata.
        families: groups of cases to compare.
        findings: what reading the files found, in words.
        split: metadata column of the official splits; None if there is none.
        strata: name of another column and per case its stratum, to hold gaps against; None if not asked for.
        boards: per metric the boards, where a record has them already.

    """

    scored: ScoredSet
    families: tuple[Family, ...] = ()
    findings: tuple[str, ...] = ()
    split: str | None = None
    strata: tuple[str, Mapping[str, str]] | None = None
    boards: Mapping[str, tuple[Board, ...]] = field(default_factory=dict)


def set_steps(given: StudyInput, rules: Rules, metrics: Sequence[str]) -> dict[tuple[str, str], list[Step]]:
    """Return the steps of one test set by kind and metric; with one model there is nothing to compare."""
    planned: dict[tuple[str, str], list[Step]] = {}
    scored = given.scored
    for metric in metrics if len(scored.models) > 1 else ():
        known = given.boards.get(metric, ())
        contests = () if known else tuple(contests_of(scored, metric, rules))
        leading = known[0].structure if known else contests[0].structure
        planned["boards", metric] = [
            Step(f"{one.structure} {one.average} {metric}".replace("  ", " "), make_board, (one, rules))
            for one in contests
        ]
        planned["parts", metric] = list(_part_steps(given, metric, leading, rules))
        # As a copy: what the test set remembers of earlier questions need not travel to a worker.
        planned["pairing", metric] = [Step(f"{metric} by position", position_pairing, (replace(scored), metric))]
        planned["stability", metric] = [Step(f"order by {metric}", _stability, (replace(scored), metric, rules))]
    for metric in metrics if given.families else ():
        planned["groups", metric] = list(_group_steps(given, metric, rules))
        planned["aggregated", metric] = list(_aggregated_steps(given, metric, rules))
    return planned


def joint_steps(sets: Sequence[ScoredSet], metrics: Sequence[str], rules: Rules) -> list[Step]:
    """Return the steps of the boards over several test sets."""
    plain = [replace(scored) for scored in sets]
    return [Step(f"all test sets {metric}", joint_board, (plain, metric, rules)) for metric in metrics]


def _part_steps(given: StudyInput, metric: str, subject: str, rules: Rules) -> Iterator[Step]:
    """Yield a board per official split, on what leads the boards of all cases."""
    if given.split is None:
        return
    for value in sorted({row.get(given.split, "") for row in given.scored.metadata.values()} - {""}):
        part = part_of(given.scored, given.split, value)
        if part is not None:
            yield Step(f"{subject} {metric}, {part.name}", _part_board, (part, metric, subject, rules))


def _part_board(part: ScoredSet, metric: str, subject: str, rules: Rules) -> tuple[str, object]:
    return part.name, board_on(part, subject, metric, rules)


def _group_steps(given: StudyInput, metric: str, rules: Rules) -> Iterator[Step]:
    metadata = given.scored.metadata
    for subject, matrix in subjects_of(given.scored, metric, rules):
        for family in given.families:
            what = f"{subject} {metric} by {family.name}"
            asked = (matrix, family, metadata, subject, metric)
            if rules.is_touchstone:
                yield Step(what, box_figure, (*asked, family.minimum or rules.minimum))
                continue
            leading = subject == AVERAGE
            strata = given.strata if leading and given.strata and given.strata[0] != family.name else None
            yield Step(what, report_groups, (*asked, rules), {"strata": strata, "with_interaction": leading})


def _aggregated_steps(given: StudyInput, metric: str, rules: Rules) -> Iterator[Step]:
    scored = given.scored
    if rules.cases == "common":
        scored = scored.select(cases=scored.common_cases)
    matrix = aggregated_matrix(scored, metric)
    for family in given.families if matrix is not None else ():
        what = f"mean of all models, {metric} by {family.name}"
        asked = (matrix, family, scored.metadata, AVERAGE, metric)
        if rules.is_touchstone:
            yield Step(what, box_figure, (*asked, rules.aggregated_minimum))
        else:
            yield Step(what, report_groups, (*asked, rules))


def _stability(scored: ScoredSet, metric: str, rules: Rules) -> OrderStability | None:
    matrix = scored.average(metric, "case-mean", rules.cases)
    if matrix is None:
        matrix = scored.matrix(scored.structures[0], metric, rules.cases)
    return order_stability(matrix, seed=rules.seed)
