"""`segauge plan`: how many cases, from scores at hand or from a mean's standard deviation."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from segauge.cli.sources import (
    add_choice_arguments,
    add_source_arguments,
    chosen_metric,
    matrix_of,
    print_audit,
    read_sources,
    require_same_rules,
)
from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line, show
from segauge.digits import decimals, fixed, percent, sample_size
from segauge.errors import InvalidInput
from segauge.plural import counted
from segauge.stats import (
    cases_for_half_width,
    cases_to_separate,
    detectable_difference,
    paired_power,
    plan_pairs,
)
from segauge.stats.matrix import RANKED_WITHIN_CASES, ScoreMatrix


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "plan",
        description="How many cases are needed, from the scores of models (SOURCE), or from --sd and --n of a pilot, "
        "whose standard deviation counts with its upper 80 % limit. "
        "Exit codes: 0 fine, 1 the files were refused, 2 usage.",
        examples=(
            "segauge plan A=a.json B=b.json --difference 0.01",
            "segauge plan --sd 0.12 --n 30 --half-width 0.02",
        ),
        more_usage=" [SOURCE ...]",
        first_screen=(
            *("--difference", "--power", "--half-width", "--sd", "--n"),
            *("--structure", "--metric", "--cluster", "--metadata", "--policy", "--level"),
        ),
    )
    add_source_arguments(parser, fewest="*")
    parser.set_defaults(run=run)
    add_choice_arguments(parser)
    parser.add_argument("--difference", type=float, metavar="D", help="true difference to find (default: the one seen)")
    parser.add_argument("--power", type=float, default=0.8, metavar="P", help="probability to find it (default: 0.8)")
    parser.add_argument("--half-width", type=float, metavar="W", help="half width of the interval of a mean")
    parser.add_argument(
        "--sd", type=float, metavar="SD", help="standard deviation over cases (of the differences, with --difference)"
    )
    parser.add_argument("--n", type=int, metavar="N", help="number of cases that --sd comes from")


def run(args: argparse.Namespace) -> int:
    """Plan and print."""
    if args.sources:
        return _from_scores(args)
    if args.sd is None or (args.difference is None and args.half_width is None):
        raise InvalidInput("Give score files, or --sd with --difference or --half-width (and --n of the pilot).")
    if args.half_width is not None:
        cases = cases_for_half_width(args.half_width, args.sd, level=args.confidence, pilot_n=args.n)
        show(
            f"Sample size for the {100 * args.confidence:g} % interval of a mean with half width {args.half_width:g} "
            f"(normal scores): {sample_size(cases, power=None)}"
        )
    if args.difference is not None:
        cases = cases_to_separate(args.difference, args.sd, power=args.power, level=args.confidence, pilot_n=args.n)
        show(f"Sample size to find a difference of {args.difference:g}: {sample_size(cases, power=args.power)}")
        if args.n is not None:
            smallest = detectable_difference(args.n, args.sd, power=args.power, level=args.confidence)
            power = paired_power(args.difference, args.sd, args.n, level=args.confidence)
            found = "no difference" if smallest is None else f"a difference of {fixed(smallest, decimals(smallest))}"
            show(f"{counted(args.n, 'case')}: {percent(power)} power; {found} with {percent(args.power)} power")
    return 0


def _from_scores(args: argparse.Namespace) -> int:
    imported = read_sources(args.sources, args)
    print_audit(imported)
    known = next(iter(imported.tables.values()))
    metric = chosen_metric(known.metrics, args.metric)
    structures = [args.structure] if args.structure else known.structures
    require_same_rules(imported.rules, structures, [metric], args)
    for structure in structures:
        matrix = matrix_of(imported, structure, metric, args)
        title = f"{one_line(structure)} {one_line(metric)}"
        if args.half_width is not None:
            _print_intervals(matrix, f"{title}: interval of a mean with half width {args.half_width:g}", args)
        if args.half_width is None or args.difference is not None:
            _print_pairs(matrix, f"{title}: neighbours in the order of the means", args)
        ranked = [RANKED_WITHIN_CASES] if matrix.has_failures_without_value else []
        show(*(f"note: {note}" for note in (*ranked, *matrix.notes_on_pairs)))
    return 0


def _print_pairs(matrix: ScoreMatrix, title: str, args: argparse.Namespace) -> None:
    wanted = f"{percent(args.power)} power"
    head = ["pair", "n", "difference", "power at n", f"detectable ({wanted})", "sample size", "to add"]
    plans = plan_pairs(matrix, difference=args.difference, power=args.power, level=args.confidence)
    places = max((decimals(plan.detectable or plan.difference) for plan in plans), default=3)
    rows = [
        [
            one_line(f"{plan.a} - {plan.b}"), str(plan.n), fixed(plan.difference, places, signed=True),
            percent(plan.power), fixed(plan.detectable, places), sample_size(plan.cases_needed, power=args.power),
            "" if plan.more_cases is None else f"{plan.more_cases:,}",
        ]
        for plan in plans
    ]  # fmt: skip
    print_table(console(), title, [head, *rows], right=head[1:])


def _print_intervals(matrix: ScoreMatrix, title: str, args: argparse.Namespace) -> None:
    head = ["model", "n", "sample size"]
    rows = []
    for model, column in zip(matrix.models, matrix.values.T, strict=True):
        cases = cases_for_half_width(
            args.half_width, level=args.confidence, values=column, bounds=matrix.mean_bounds, cluster=matrix.clusters
        )
        rows.append([one_line(model), str(int(np.isfinite(column).sum())), sample_size(cases, power=None)])
    print_table(console(), title, [head, *rows], right=head[1:])
