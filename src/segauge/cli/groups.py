"""Estimates per group of cases, and gaps between groups, as `segauge compare --by` prints them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from segauge.cli.sources import (
    chosen_metric,
    matrix_of,
    metadata_of,
    paths_of,
    print_audit,
    read_sources,
    require_same_rules,
)
from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line, show, tell
from segauge.digits import p_equals
from segauge.errors import InvalidInput
from segauge.io.outputs import check_outputs, write_json
from segauge.io.tables import ImportedScores
from segauge.io.tables.cells import number
from segauge.io.tables.reading import metadata_column
from segauge.plural import counted
from segauge.stats import ScoreMatrix, SubgroupReport, binned, estimate_groups, group_interaction


def compare_groups(args: argparse.Namespace) -> int:
    """Estimate every group of cases, print, and write."""
    check_outputs([args.json], [args.metadata, *paths_of(args.sources)])
    imported = read_sources(args.sources, args)
    print_audit(imported)
    metadata = metadata_of(args, imported)
    if metadata is None:
        raise InvalidInput("--by needs --metadata FILE, a table with a row per case: the score files have no metadata.")
    document = print_groups(replace(imported, metadata=metadata), args)
    if args.json is not None:
        write_json(args.json, document)
    return 0


def print_groups(imported: ImportedScores, args: argparse.Namespace) -> dict[str, Any]:
    """Print the estimates of every group of cases by structure, and return them."""
    column = metadata_column(imported.metadata, args.by)
    known = next(iter(imported.tables.values()))
    metric = chosen_metric(known.metrics, args.metric)
    document: dict[str, Any] = {}
    structures = [args.structure] if args.structure else known.structures
    require_same_rules(imported.rules, structures, [metric], args)
    for structure in structures:
        matrix = matrix_of(imported, structure, metric, args).scored_cases()
        if matrix.has_failures_without_value:
            raise InvalidInput(f"{metric}: failures have no value; give them one with --penalty.")
        labels = _labels(matrix, column, args)
        reports = {name: _report(matrix, j, labels, args) for j, name in enumerate(matrix.models)}
        interaction = group_interaction(matrix, labels, minimum=args.minimum, seed=args.seed)
        document[structure] = {
            "models": {name: report.to_dict() for name, report in reports.items()},
            "interaction": {"p_value": interaction.p_value, "strongest": interaction.strongest},
        }
        _print(f"{structure} {metric} by {args.by}", reports, document[structure]["interaction"])
    if _has_small(document):
        tell(f"note: groups of fewer than {args.minimum} cases are not estimated; --minimum N changes that")
    return document


def _has_small(document: dict[str, Any]) -> bool:
    """Return whether a group has too few cases to be estimated."""
    reports = [report for one in document.values() for report in one["models"].values()]
    return any(group["estimate"] is None for report in reports for group in report["groups"])


def _labels(matrix: ScoreMatrix, column: dict[str, str], args: argparse.Namespace) -> list[str | None]:
    """Return the group of each case; refuse a column that puts no case into any."""
    values = [column.get(case) for case in matrix.cases]
    labels = values
    if args.edges is not None:
        try:
            limits = [float(edge) for edge in args.edges.split(",")]
        except ValueError:
            raise InvalidInput(f"Expected --edges as numbers, such as 18,40,65, got {args.edges!r}.") from None
        labels = binned([None if value is None else _number(value) for value in values], limits)
    if not any(labels):
        held = next((f"such as {value!r}" for value in column.values()), "all of them empty")
        expected = "numbers" if args.edges is not None else "values for the cases of the scores"
        raise InvalidInput(f"No case has a group: expected {expected} in the column {args.by!r}, found others, {held}.")
    return labels


def _number(text: str) -> float | None:
    """Return a number of a table, also one with a decimal comma; None for text."""
    try:
        return number(text, "")
    except InvalidInput:
        return None


def _report(matrix: ScoreMatrix, j: int, labels: list[str | None], args: argparse.Namespace) -> SubgroupReport:
    return estimate_groups(
        matrix.values[:, j],
        labels,
        bounds=matrix.scale.bounds,
        higher_is_better=matrix.scale.higher_is_better,
        level=args.confidence,
        minimum=args.minimum,
        cluster=matrix.clusters,
        n_resamples=args.n_resamples,
        seed=args.seed,
        name=matrix.models[j],
    )


def _print(title: str, reports: dict[str, SubgroupReport], interaction: dict[str, Any]) -> None:
    names = [one_line(group.name) for group in next(iter(reports.values())).groups]
    rows = [["model", *names, "worst group", "largest gap"]]
    for model, report in reports.items():
        cells = [f"{g.estimate} n={g.n}" if g.estimate else f"too few, n={g.n}" for g in report.groups]
        gap = max(report.gaps, key=lambda gap: abs(gap.delta), default=None)
        words = "" if gap is None else f"{gap.a} - {gap.b}: {gap.text}"
        bound = "" if report.worst_bound is None else f"{report.worst}, bound {report.worst_bound:.3f}"
        rows.append([one_line(cell) for cell in (model, *cells, bound, words)])
    print_table(console(), one_line(title), rows)
    first = next(iter(reports.values()))
    if first.unlabelled:
        verb = "has" if first.unlabelled == 1 else "have"
        show(f"{counted(first.unlabelled, 'case')} {verb} no group")
    if interaction["p_value"] is not None:
        model, group = interaction["strongest"]
        p = p_equals(interaction["p_value"])
        show(f"Interaction of model and group: {p}, strongest for {model} in {group}.")
