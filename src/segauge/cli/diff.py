"""`segauge diff before.json after.json`: what changed, and whether it is a regression."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.sources import (
    add_choice_arguments,
    add_source_arguments,
    console,
    one_line,
    policy_of,
    read_sources,
    scale_for,
)
from segauge.cli.tables import print_table
from segauge.errors import InvalidInput
from segauge.io.outputs import write_json
from segauge.io.tables import ImportedScores
from segauge.metrics.definitions.noise import noise_keys
from segauge.scores import ScoreTable
from segauge.stats.noise_floors import is_floor
from segauge.stats.regression import Change, Difference, difference
from segauge.stats.scales import is_measurement

#: Exit code of a regression.
REGRESSION = 6


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "diff",
        description="Paired change per structure and metric, with intervals and new failures. A regression is a change "
        "that is significantly for the worse (Holm over all changes) and not within --margin, or a new failure. "
        f"Exit codes: 0 no regression, {REGRESSION} regression, 1 the files were refused, 2 usage.",
        examples=("segauge diff old.json new.json --margin dice=0.01 --margin hd95=0.5",),
    )
    parser.add_argument("before", metavar="BEFORE", help="scores of the version to beat")
    parser.add_argument("after", metavar="AFTER", help="scores of the new version")
    parser.add_argument("--model", metavar="NAME", help="which model, where the files hold several")
    parser.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="METRIC=VALUE",
        help="change that does not matter: dice=0.01; give it per metric",
    )
    parser.add_argument(
        "--allowed-failures", type=int, default=0, metavar="N",
        help="new failures per structure that are let pass (default: 0)",
    )  # fmt: skip
    add_source_arguments(parser, fewest=None)
    add_choice_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare, print, and say by the exit code whether anything got worse."""
    before, after = (_one_table(read_sources([source], args), source, args) for source in (args.before, args.after))
    told = args.higher_is_better is not None
    shared = [metric for metric in before.metrics if metric in after.metrics]
    metrics = [key for key in shared if not is_floor(key, shared) and (told or not is_measurement(key))]
    found = difference(
        before,
        after,
        margins=dict(map(_margin, args.margin)),
        scales={metric: scale_for(metric, args) for metric in metrics},
        policy=policy_of(args),
        cases="common" if args.cases == "common" else "failed",
        allowed_failures=args.allowed_failures,
        level=args.confidence,
        n_resamples=args.n_resamples,
        seed=args.seed,
    )
    _print(found)
    if args.json is not None:
        write_json(args.json, found.to_dict())
    return REGRESSION if found.regressions else 0


def _one_table(imported: ImportedScores, source: str, args: argparse.Namespace) -> ScoreTable:
    names = list(imported.tables)
    if args.model is None and len(names) > 1:
        raise InvalidInput(f"{source}: holds {len(names)} models; choose one with --model: {', '.join(names)}.")
    name = args.model or names[0]
    if name not in imported.tables:
        raise InvalidInput(f"{source}: no model {name!r}; there are {', '.join(names)}.")
    return _chosen(imported.tables[name], args)


def _chosen(table: ScoreTable, args: argparse.Namespace) -> ScoreTable:
    structures = table.structures if args.structure is None else (args.structure,)
    metrics = table.metrics if args.metric is None else (args.metric, *noise_keys([args.metric]))
    rows = [table.structures.index(name) for name in structures if name in table.structures]
    columns = [table.metrics.index(name) for name in metrics if name in table.metrics]
    return ScoreTable(
        table.cases,
        tuple(table.structures[i] for i in rows),
        tuple(table.metrics[k] for k in columns),
        table.values[:, rows][:, :, columns],
        table.status[:, rows],
    )


def _margin(text: str) -> tuple[str, float]:
    metric, _, value = text.partition("=")
    try:
        return metric, float(value)
    except ValueError:
        raise InvalidInput(f"Expected --margin METRIC=VALUE, such as dice=0.01, got {text!r}.") from None


def _print(found: Difference) -> None:
    out = console()
    with_floors = any(change.noise_floor is not None for change in found.changes)
    head = [
        "structure", "metric", "verdict", f"change [{100 * found.level:g} %]", "p", "n", "before", "after",
        *(["noise floor"] if with_floors else []), "new failures",
    ]  # fmt: skip
    right = ("p", "n", "before", "after", "noise floor")
    rows = [head, *(_row(change, with_floors) for change in found.changes)]
    print_table(out, "after - before", rows, keys=3, right=right, text=("new failures",))
    for note in found.notes:
        out.print(f"note: {note}", markup=False)
    worse = found.regressions
    out.print(f"regression in {len(worse)} of {len(found.changes)}" if worse else "no regression", markup=False)


def _row(change: Change, with_floor: bool) -> list[str]:
    interval = "" if change.ci_low is None else f" [{change.ci_low:+.4f}, {change.ci_high:+.4f}]"
    failures = ", ".join(change.new_failures[:4]) + (" ..." if len(change.new_failures) > 4 else "")
    return [
        one_line(change.structure),
        change.metric,
        change.verdict,
        f"{change.delta:+.4f}{interval}",
        "" if change.p_value is None else f"{change.p_value:.3g}",
        str(change.n),
        f"{change.before:.4f}",
        f"{change.after:.4f}",
        *([_floor(change)] if with_floor else []),
        one_line(f"{len(change.new_failures)}: {failures}") if change.new_failures else "",
    ]


def _floor(change: Change) -> str:
    """Return the noise floor of a change; metrics that have none have no cell, and one that is not known says so."""
    if change.noise_floor is None:
        return "unknown" if noise_keys([change.metric]) else ""
    return f"{change.noise_floor:.2g}"
