"""`segauge plan`: how many cases, from scores at hand or from a mean's standard deviation."""

from __future__ import annotations

import argparse
from typing import Any

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
from segauge.errors import InvalidInput
from segauge.stats import (
    cases_for_half_width,
    cases_to_separate,
    detectable_difference,
    paired_power,
    plan_pairs,
)
from segauge.stats.matrix import RANKED_WITHIN_CASES


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
        show(f"{_count(cases)} cases make the {100 * args.confidence:g} % interval of a mean -+{args.half_width:g}")
    if args.difference is not None:
        cases = cases_to_separate(args.difference, args.sd, power=args.power, level=args.confidence, pilot_n=args.n)
        show(f"{_count(cases)} cases find a difference of {args.difference:g} with power {args.power:g}")
        if args.n is not None:
            smallest = detectable_difference(args.n, args.sd, power=args.power, level=args.confidence)
            power = paired_power(args.difference, args.sd, args.n, level=args.confidence)
            show(f"{args.n} cases find it with power {power:.2f}; with power {args.power:g} they find {smallest:.4g}")
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
        head = ["pair", "n", "seen", "power", f"found with {args.power:g}", "cases needed", "to add"]
        rows = [head]
        for pair in plan_pairs(matrix, difference=args.difference, power=args.power, level=args.confidence):
            cells = (
                one_line(f"{pair.a} - {pair.b}"), str(pair.n), f"{pair.difference:+.4f}", f"{pair.power:.2f}",
                "" if pair.detectable is None else f"{pair.detectable:.4f}", _count(pair.cases_needed),
                _count(pair.more_cases),
            )  # fmt: skip
            rows.append(list(cells))
        title = f"{one_line(structure)} {one_line(metric)}: neighbours in the order of the means"
        print_table(console(), title, rows, right=head[1:])
        ranked = [RANKED_WITHIN_CASES] if matrix.has_failures_without_value else []
        show(*(f"note: {note}" for note in (*ranked, *matrix.notes_on_pairs)))
    return 0


def _count(cases: int | None) -> str:
    return "no realistic number of" if cases is None else str(cases)
