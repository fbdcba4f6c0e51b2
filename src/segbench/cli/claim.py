"""`segbench claim "A > B on liver dice" RESULTS`: is it true? And, for reviewers, from published numbers alone."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.terminal import show, tell
from segauge.digits import decimals, fixed, interval, p_equals, sample_size
from segauge.errors import InvalidInput
from segauge.io.outputs import write_json
from segauge.plural import counted
from segauge.stats import Board, board_on, scale_of
from segauge.stats.comparison import ALONE, TOGETHER
from segbench.analysis import (
    Assessment,
    Claim,
    Published,
    Review,
    assess_claim,
    parse_claim,
    resolve_claim,
    review_claim,
)
from segbench.analysis.claims.grammar import EVERYBODY
from segbench.analysis.entries import aliases_of
from segbench.cli.analyze import add_reading_arguments, add_rule_arguments, rules_of_arguments, study_options
from segbench.study_files import read_study


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "claim",
        description='Test a claim such as "MedNeXt > STU-Net-B on liver dice", "A >= B by 0.01 on average nsd", '
        '"A = B by 0.02 on kidney dice" or "A > all on liver dice". With --reviewer, from published mean, '
        "n and, if known, SD. "
        "Exit codes: 0 the claim is supported, 1 error, 2 usage, 6 it is not supported, 7 it is refuted.",
        examples=(
            'segbench claim "MedNeXt > STU-Net-B on liver dice" scores.csv',
            'segbench claim "A > B on liver dice" --reviewer --mean 0.95 0.94 --sd 0.03 0.04 --n 100',
        ),
        more_usage=" CLAIM [RESULTS]",
        first_screen=(
            *("--metric", "--metadata", "--models", "--cluster", "--policy", "--margin", "--level"),
            *("--reviewer", "--mean", "--sd", "--n", "--correlation", "--json"),
        ),
    )
    parser.add_argument("claim", metavar="CLAIM", help="the claim, in quotes")
    parser.add_argument("results", nargs="?", metavar="RESULTS", help="per-case scores (not with --reviewer)")
    add_reading_arguments(parser)
    add_rule_arguments(parser)
    review = parser.add_argument_group("reviewer")
    review.add_argument(
        "--reviewer", action="store_true", help="from published numbers: --mean, --n and, if known, --sd"
    )
    review.add_argument("--mean", type=float, nargs=2, metavar=("A", "B"), help="published means, in the claim's order")
    review.add_argument(
        "--sd", type=float, nargs=2, metavar=("A", "B"), help="published standard deviations (default: imputed)"
    )
    review.add_argument("--n", type=int, nargs="+", metavar="N", help="number of cases (two for separate test sets)")
    review.add_argument("--correlation", type=float, metavar="R", help="of the two models' scores, where known")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    parser.set_defaults(run=run)


#: Exit codes of the verdicts.
CODES = {"supported": 0, "not shown": 6, "refuted": 7}


def run(args: argparse.Namespace) -> int:
    """Test the claim, print, and write."""
    claim = parse_claim(args.claim)
    rules = rules_of_arguments(args)
    if args.reviewer:
        return _run_review(claim, args, rules.level)
    if args.results is None:
        raise InvalidInput("Name the file of per-case scores, or use --reviewer with --mean and --n.")
    inputs, models = read_study(study_options([args.results], args, split=""), rules)
    resolved, matrix = resolve_claim(claim, inputs[0].scored, rules, aliases_of(models.values()))
    found = assess_claim(
        matrix, resolved, margin=rules.margin, level=rules.level, n_resamples=rules.n_resamples, seed=rules.seed
    )
    board = None if rules.is_touchstone else board_on(inputs[0].scored, resolved.subject, resolved.metric, rules)
    show(*_lines(found, _together(found, board)))
    tell(*(f"note: {finding}" for finding in inputs[0].findings))
    _write(args.json, {**assessment_values(found), "findings": list(inputs[0].findings)})
    return CODES[found.verdict]


def _run_review(claim: Claim, args: argparse.Namespace, level: float) -> int:
    if claim.relation != "better" or claim.right == EVERYBODY:
        raise InvalidInput('--reviewer judges claims such as "A > B on dice"; equivalence is printed with --margin.')
    if args.mean is None or args.n is None or len(args.n) > 2:
        raise InvalidInput(
            "--reviewer needs --mean A B and --n N (or two for separate test sets), and --sd A B if known."
        )
    metric = claim.metric or args.metric
    if args.sd is None and metric != "dice":
        raise InvalidInput(
            f"--reviewer needs --sd A B: an unpublished standard deviation can be imputed for dice, not {metric}."
        )
    sizes = args.n * 2 if len(args.n) == 1 else args.n
    # The numbers are in the order of the sentence; "A < B" says that B is better.
    names = (claim.right, claim.left) if claim.swapped else (claim.left, claim.right)
    written = [
        Published.without_sd(names[i], args.mean[i], sizes[i])
        if args.sd is None
        else Published(names[i], args.mean[i], args.sd[i], sizes[i])
        for i in range(2)
    ]
    better, other = reversed(written) if claim.swapped else written
    found = review_claim(
        better,
        other,
        correlation=args.correlation,
        paired=len(args.n) == 1,
        higher_is_better=_is_higher_better(claim, args),
        by=claim.margin or 0.0,
        margin=args.margin,
        level=level,
    )
    show(*_review_lines(claim, found))
    _write(args.json, review_values(claim, found))
    alpha = (1.0 - level) / 2.0
    verdict = (
        "supported" if found.probability_false < alpha else "refuted" if found.probability_false > 1 - alpha else ""
    )
    return CODES[verdict or "not shown"]


def _is_higher_better(claim: Claim, args: argparse.Namespace) -> bool:
    """Return which way is better: as told, or as the metric of the claim has it."""
    if args.higher_is_better is not None:
        return bool(args.higher_is_better == "yes")
    metric = claim.metric or args.metric
    if metric:
        return scale_of(metric).higher_is_better
    raise InvalidInput('Name the metric ("A > B on dice"), or pass --higher-is-better yes or no.')


def _verdict(found: Assessment) -> str:
    """Return the verdict with the probability that it is wrong, or that an unsupported claim is true."""
    if found.verdict == "supported":
        return f"supported ({percent(found.probability_false)} probability that it is false)"
    word = "refuted" if found.verdict == "refuted" else "not supported"
    return f"{word} ({percent(1.0 - found.probability_false)} probability that it is true)"


def _together(found: Assessment, board: Board | None) -> str:
    """Return the interval of the pair on the board, where all pairs are compared together; "" without one."""
    pair = found.closest.pair
    if board is None or not all((row := board.get(name)) and row.ranked for name in (pair.a, pair.b)):
        return ""
    shown = board.comparison[pair.a, pair.b]
    what = "of mean ranks, " if board.is_by_ranks else ""
    return f"{what}{shown.interval_text()} {TOGETHER} ({len(board.ranked)} models, {counted(shown.n, 'case')})"


def _lines(found: Assessment, together: str = "") -> list[str]:
    rival = found.closest
    pair, plan = rival.pair, rival.plan
    alone = f" {pair.alone_text()} {ALONE}" if pair.alone_text() else ""
    patients = "" if found.n_units == found.n else f" of {counted(found.n_units, 'patient')}"
    lines = [
        f"Claim: {found.claim.words}",
        f"Verdict: {_verdict(found)}",
    ]
    if len(found.rivals) > 1:
        lines.append(f"Closest of {len(found.rivals)} rivals: {pair.b}")
    lines += [
        f"Mean difference {pair.a} - {pair.b}: {fixed(pair.delta, pair.decimals, signed=True)}{alone} "
        f"({100 * found.level:g} %), {counted(pair.n, 'case')}{patients}",
        *([f"On the board: {together}"] if together else []),
        *(f"  {name}: {mean}" for name, mean in found.means.items() if name in (pair.a, pair.b)),
    ]
    if rival.wins is not None and rival.wilcoxon_p is not None:
        lines.append(
            f"Better in {100 * rival.wins:.0f} % of the cases; Wilcoxon test of the typical case: "
            f"{p_equals(rival.wilcoxon_p)}"
        )
    if found.equivalence is not None:
        lines.append(
            f"Probability that the difference is within {found.indifference:g} (the margin): "
            f"{percent(found.equivalence)}"
        )
    if plan is not None:
        lines.append(
            f"Sample size to show a difference of this size: {sample_size(plan.cases_needed)}; power at n = {pair.n}: "
            f"{percent(plan.power)}"
        )
    return [*lines, *(f"note: {note}" for note in found.notes)]


def _review_lines(claim: Claim, found: Review) -> list[str]:
    places = max(decimals(found.difference, one.ci_low, one.ci_high) for one in found.scenarios)
    lines = [
        f"Claim: {claim.words}",
        f"Probability that it is false: {percent(found.probability_false)}; difference "
        f"{fixed(found.difference, places, signed=True)}",
    ]
    for one in found.scenarios:
        what = "separate test sets" if one.correlation is None else f"correlation {one.correlation:.2f}"
        words = f"  {what}: {interval(one.ci_low, one.ci_high, places, signed=True)}, probability that it is false "
        words += percent(one.probability_false)
        if one.equivalence is not None:
            words += f", probability that it is within the margin {percent(one.equivalence)}"
        if one.correlation is not None:
            words += f", sample size {sample_size(one.cases_needed)}"
        lines.append(words)
    return [*lines, *(f"note: {note}" for note in found.notes)]


def percent(share: float) -> str:
    """Return a probability in per cent, without pretending to 0 or 100."""
    if share < 0.001:
        return "less than 0.1 %"
    if share > 0.999:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %"


def assessment_values(found: Assessment) -> dict[str, Any]:
    """Return an assessment as plain values."""
    return {
        "claim": found.claim.words,
        "verdict": found.verdict,
        "probability_false": found.probability_false,
        "margin": found.margin,
        "level": found.level,
        "n": found.n,
        "n_units": found.n_units,
        "equivalence": found.equivalence,
        "indifference": found.indifference,
        "means": {name: mean.to_dict() for name, mean in found.means.items()},
        "rivals": [
            {
                **vars(rival.pair),
                "wins": rival.wins,
                "probability_false": rival.probability_false,
                "wilcoxon_p": rival.wilcoxon_p,
                "plan": None if rival.plan is None else vars(rival.plan),
            }
            for rival in found.rivals
        ],
        "notes": list(found.notes),
    }


def review_values(claim: Claim, found: Review) -> dict[str, Any]:
    """Return a review as plain values."""
    return {
        "claim": claim.words,
        "probability_false": found.probability_false,
        "difference": found.difference,
        "a": vars(found.a),
        "b": vars(found.b),
        "margin": found.margin,
        "level": found.level,
        "scenarios": [vars(one) for one in found.scenarios],
        "notes": list(found.notes),
    }


def _write(path: Path | None, values: dict[str, Any]) -> None:
    if path is not None:
        write_json(path, values)
