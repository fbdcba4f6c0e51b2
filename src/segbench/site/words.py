"""What a study says in sentences: the outcome first, then what common mistakes would have changed, and the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segauge.digits import fixed, p_equals, with_interval
from segauge.plural import counted
from segauge.stats import AVERAGE, AVERAGE_RULES, CASE_RULES, Board
from segauge.stats.matrix import NOTHING_TO_FIND
from segbench.analysis.contrasts import TypicalCase
from segbench.analysis.groups import BoxFigure, GroupReport
from segbench.analysis.study import Analysis, SetAnalysis

#: Fewer independent units than this deserve a warning: what is resampled is then hardly a sample.
FEW_CLUSTERS = 30


def outcome(one: SetAnalysis) -> Iterator[str]:
    """Yield a sentence per metric: which model leads, which are tied with it, on how many cases."""
    for metric, boards in one.boards.items():
        yield _leader(boards[0], metric)
        alone = [board.structure for board in boards if not board.average and len(board.winners) == 1]
        structures = [board for board in boards if not board.average]
        if structures and boards[0].pairs:
            yield f"{metric}: {_first_places(alone, [board.structure for board in structures])}"


def _first_places(alone: Sequence[str], structures: Sequence[str]) -> str:
    """Return which structures have a sole winner."""
    count = len(structures)
    if count == 1:
        return f"{structures[0]} has {'a sole winner' if alone else 'no sole winner'}."
    if not alone:
        return f"No structure of {count} has a sole winner."
    named = f"{len(alone)} of {count} structures have a sole winner ({', '.join(alone)})"
    return f"{named}." if len(alone) == count else f"{named}; the others have ties for first."


def _leader(board: Board, metric: str) -> str:
    first = board.rows[0]
    ties = [name for name in board.winners if name != first.model]
    average = f", {AVERAGE_RULES[board.average]}" if board.average else ""
    cases, rank = counted(board.n_cases, "case"), " rank" if board.is_by_ranks else ""
    head = f"{metric}: {first.model} has the best mean{rank} ({first.estimate}, {board.structure}{average}, {cases})"
    if not board.pairs:
        return f"{head}; no test."
    if not ties:
        return f"{head}; every other model is significantly worse."
    shown = ", ".join(ties[:8]) + (f" and {len(ties) - 8} more" if len(ties) > 8 else "")
    return f"{head}. Tied with it: {shown}."


def changes(one: SetAnalysis, analysis: Analysis) -> Iterator[str]:
    """Yield what equal cases, pairing by id and intervals change, with the numbers of these data."""
    coverage = one.coverage
    if not coverage.is_equal:
        yield f"Not every model has every case: {coverage.n_cases} cases in all, {coverage.n_common} shared by all."
        yield from (f"{lacking}." for lacking in coverage.lacking)
    for metric, changed in one.winners.items():
        boards = one.boards[metric]
        if coverage.is_equal or analysis.rules.cases == "own":
            continue
        count = f"{len(changed)} of {counted(len(boards), 'board')}"
        yield f"{metric}: with every model on its own cases {count} would have another leader."
        for change in changed:
            yield (
                f"{change.board}: {change.own_leader} would lead with {fixed(change.own_mean, 4)} on its own cases; "
                f"on equal cases {change.leader} has {fixed(change.mean, 4)} and {change.own_leader} "
                f"{fixed(change.own_leader_mean, 4)}."
            )
    for metric, pairing in one.pairing.items():
        if not pairing.affected:
            continue
        text = (
            f"{metric}: cases are paired by id. Paired by their row in the file, {pairing.affected} of "
            f"{pairing.tested} comparisons would pair different cases, and {pairing.changed} would get another verdict "
            "(two-sided Wilcoxon, 0.05)"
        )
        if (example := pairing.example) is not None:
            text += (
                f"; most of all {example.structure}, {example.a} against {example.b}: {p_equals(example.by_position)} "
                f"instead of {p_equals(example.by_id)}"
            )
        yield f"{text}."
    yield from map(_typical_case, one.typical.values())


def _typical_case(found: TypicalCase) -> str:
    """Return what a rank test alone would have claimed, and what the interval of the mean says to it."""
    text = (
        f"{found.metric}: every verdict is of a mean difference with its interval. One-sided Wilcoxon tests of the "
        f"typical case with Holm's correction, on the same cases, call {found.significant} of {found.pairs} pairs "
        "significant; "
    )
    text += (
        f"the mean differences of {found.undecided} of them are not significantly different from 0"
        if found.undecided
        else "the mean differences of all of them are significantly different from 0, too"
    )
    if found.opposite:
        text += f", and {found.opposite} favour the model with the worse mean"
    if found.example is not None:
        structure, a, b, p, delta, low, high = found.example
        difference = with_interval(delta, low, high, signed=True)
        text += f"; {structure}, {a} against {b}: {p_equals(p)} for a mean difference of {difference}"
    return f"{text}."


def rules_in_words(analysis: Analysis) -> list[tuple[str, str]]:
    """Return the rules by name, for the page's protocol."""
    rules = analysis.rules
    rows = [
        ("preset", rules.name),
        ("cases", f"{rules.cases}: {CASE_RULES[rules.cases]}"),
        ("average that leads", f"{rules.average}: {AVERAGE_RULES[rules.average]}"),
        ("smallest group", f"{rules.minimum} cases ({rules.aggregated_minimum} in the figure over all models)"),
        ("level", f"{100 * rules.level:g} %"),
        ("margin", "none" if rules.margin is None else f"{rules.margin:g}"),
        ("resamples", f"{rules.n_resamples} (groups: {rules.group_resamples}), seed {rules.seed}"),
    ]
    for one in analysis.sets:
        for metric, boards in one.boards.items():
            rows.append((f"{one.name}, {metric}", "; ".join(boards[0].notes)))
            # Those of the first board are said already; others count other cases.
            rows += [
                (f"{one.name}, {board.structure} {metric}", note)
                for board in boards[1:]
                for note in board.notes
                if NOTHING_TO_FIND in note
            ]
        cluster = "every case for itself" if one.scored.cluster is None else "cases of one cluster together"
        rows.append((f"{one.name}, independent units", cluster))
    return rows


def warnings_of(one: SetAnalysis, analysis: Analysis) -> Iterator[str]:
    """Yield what a reader must know before using the numbers."""
    if analysis.rules.is_touchstone:
        yield (
            "These are the rules of the Touchstone benchmark, to the digit, and with their weaknesses: models on "
            "different cases, no intervals, tests of the typical case, corrections that depend on the number of "
            "models. Without --preset touchstone the analysis has none of them."
        )
    else:
        yield "Intervals hold for these trained models on cases like these, not for new centres or new training runs."
    if one.scored.cluster is not None:
        units = len({one.scored.cluster.get(case, case) for case in one.scored.cases})
        if units < FEW_CLUSTERS:
            yield (
                f"The {one.coverage.n_cases} cases come from only {units} clusters (patients, centres): intervals and "
                "verdicts are wide and approximate."
            )
    if one.scored.cluster is None and one.scored.metadata:
        yield "Cases count as independent. If a patient or centre has several, name its column with --cluster."
    reports: list[GroupReport | BoxFigure] = [*one.groups, *one.boxes]
    # Once per family: groups are the same for every metric.
    overlapping = {
        report.family: report for report in reports if report.subject == AVERAGE and report.membership.overlaps
    }
    for family, report in overlapping.items():
        pairs = ", ".join(
            f"{pair.a} and {pair.b} ({counted(pair.n, 'case')})" for pair in report.membership.overlaps[:4]
        )
        more = f" and {len(report.membership.overlaps) - 4} more pairs" if len(report.membership.overlaps) > 4 else ""
        yield f"Groups of {family!r} overlap: {pairs}{more}."
