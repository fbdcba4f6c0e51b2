"""`segauge diff before.json after.json`: what changed, and whether it is a regression."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segauge.cli.flags import policy_of
from segauge.cli.sources import (
    add_choice_arguments,
    add_source_arguments,
    clusters_of,
    paths_of,
    print_audit,
    read_sources,
    require_same_rules,
    scale_for,
)
from segauge.cli.tables import print_table
from segauge.cli.terminal import console, one_line, show
from segauge.digits import decimals, fixed, p_value, with_interval
from segauge.errors import InvalidInput
from segauge.io.outputs import check_outputs, write_json
from segauge.io.tables import ImportedScores
from segauge.metrics.catalog import called, described
from segauge.metrics.definitions.surfaces import noise_keys
from segauge.scores import ScoreTable
from segauge.stats.changes import Change, Difference, difference
from segauge.stats.missing import is_measurement
from segauge.stats.noise_floors import is_floor

#: Exit code of a regression.
REGRESSION = 6


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "diff",
        description="Paired change per structure and metric, with intervals and new failures. Judged are dice, nsd, "
        "hd95 and every metric with a --margin, for each structure (all metrics of files that have up to three). The "
        "others are shown without a verdict: every further test would hide real changes. A regression is a judged "
        "change that is significantly for the worse (Holm over all judged changes) and not within --margin, or a new "
        f"failure. Exit codes: 0 no regression, {REGRESSION} regression, 1 the files were refused, 2 usage.",
        examples=(
            "segauge diff old.json new.json --margin dice=0.01 --margin hd95=0.5",
            "segauge diff old.json new.json --judge dice,det_f1",
        ),
        more_usage=" BEFORE AFTER",
        first_screen=(
            *("--margin", "--judge", "--allowed-failures", "--structure", "--metric", "--model"),
            *("--metadata", "--cluster", "--policy", "--level", "--json"),
        ),
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
        "--judge", metavar="KEYS",
        help="the metrics that decide, such as dice,hd95, or all; choose them before you look (default: dice,nsd,hd95)",
    )  # fmt: skip
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
    files = {"before": args.before, "after": args.after}
    check_outputs([args.json], [args.metadata, *paths_of(files.values())])
    read = {owner: read_sources([source], args) for owner, source in files.items()}
    for owner, imported in read.items():
        print_audit(imported, f"{owner}: ")
    before, after = (_one_table(imported, files[owner], args) for owner, imported in read.items())
    told = args.higher_is_better is not None
    shared = [metric for metric in before.metrics if metric in after.metrics]
    metrics = [key for key in shared if not is_floor(key, shared) and (told or not is_measurement(key))]
    structures = [name for name in before.structures if name in after.structures]
    rules = [(owner, one) for owner, imported in read.items() for _, one in imported.rules]
    differences = require_same_rules(rules, structures, metrics, args)
    found = difference(
        before,
        after,
        judge=_judged(args.judge, metrics),
        margins=dict(_margin(text, metrics) for text in args.margin),
        scales={metric: scale_for(metric, args) for metric in metrics},
        policy=policy_of(args),
        cases="common" if args.cases == "common" else "failed",
        cluster=clusters_of(args, *read.values()),
        allowed_failures=args.allowed_failures,
        level=args.confidence,
        n_resamples=args.n_resamples,
        seed=args.seed,
    )
    _print(found)
    if args.json is not None:
        write_json(args.json, {**found.to_dict(), **({"rule_differences": differences} if differences else {})})
    return REGRESSION if found.regressions else 0


def _one_table(imported: ImportedScores, source: str, args: argparse.Namespace) -> ScoreTable:
    names = list(imported.tables)
    if args.model is None and len(names) > 1:
        raise InvalidInput(f"{source}: holds {len(names)} models; choose one with --model: {', '.join(names)}.")
    name = args.model or names[0]
    if name not in imported.tables:
        raise InvalidInput(f"{source}: no model {name!r}; there are {', '.join(names)}.")
    return _chosen(imported.tables[name], source, args)


def _chosen(table: ScoreTable, source: str, args: argparse.Namespace) -> ScoreTable:
    metric = None if args.metric is None else called(args.metric, table.metrics)
    for what, name, known in (("structure", args.structure, table.structures), ("metric", metric, table.metrics)):
        if name is not None and name not in known:
            raise InvalidInput(f"{source}: no {what} {name!r}; there are {', '.join(known)}.")
    structures = table.structures if args.structure is None else (args.structure,)
    metrics = table.metrics if metric is None else (metric, *noise_keys([metric]))
    return table.select(structures=structures, metrics=[name for name in metrics if name in table.metrics])


def _judged(text: str | None, metrics: list[str]) -> list[str] | None:
    if text is None:
        return None
    keys = [key.strip() for key in text.split(",") if key.strip()]
    if not keys:
        raise InvalidInput("Expected --judge as keys of metrics, such as dice,hd95, or all.")
    return metrics if keys == ["all"] else [called(key, metrics) for key in keys]


def _margin(text: str, metrics: Sequence[str]) -> tuple[str, float]:
    metric, _, value = text.partition("=")
    try:
        return called(metric, metrics), float(value)
    except ValueError:
        raise InvalidInput(f"Expected --margin METRIC=VALUE, such as dice=0.01, got {text!r}.") from None


def _print(found: Difference) -> None:
    shown = [change for change in found.changes if not change.is_judged]
    _print_changes("after - before", found.judged, found.level)
    if shown:
        _print_changes("after - before, only shown", shown, found.level)
    show(f"{found.rule}{' (--judge chooses)' if shown else ''}", *(f"note: {note}" for note in found.notes))
    show(found.outcome)


def _print_changes(title: str, changes: Sequence[Change], level: float) -> None:
    """Print a table of changes; empty columns are left out."""
    with_floors = any(change.noise_floor is not None for change in changes)
    head = [
        "structure", "metric", "verdict", f"change [{100 * level:g} %]", "p", "n", "before", "after",
        *(["noise floor"] if with_floors else []), "new failures",
    ]  # fmt: skip
    right = ("p", "n", "before", "after", "noise floor")
    rows = [head, *(_row(change, with_floors) for change in changes)]
    print_table(console(), title, rows, keys=3 if changes[0].is_judged else 2, right=right, text=("new failures",))


def _row(change: Change, with_floor: bool) -> list[str]:
    places = decimals(change.delta, change.ci_low, change.ci_high)
    delta = with_interval(change.delta, change.ci_low, change.ci_high, places=places, signed=True)
    # Failures are of the structure: said once, where they count.
    new = change.new_failures if change.is_judged else ()
    failures = ", ".join(new[:4]) + (" ..." if len(new) > 4 else "")
    return [
        one_line(change.structure),
        _with_unit(change.metric),
        change.verdict if change.is_judged else "",
        delta if change.n else "no case in both",
        p_value(change.p_value),
        str(change.n),
        fixed(change.before, places) if change.n else "",
        fixed(change.after, places) if change.n else "",
        *([_floor(change)] if with_floor else []),
        one_line(f"{len(new)}: {failures}") if new else "",
    ]


def _with_unit(metric: str) -> str:
    """Return a metric with the unit of its numbers, where it has one."""
    info = described(metric)
    return f"{metric} ({info.scale.unit})" if info is not None and info.scale.unit else metric


def _floor(change: Change) -> str:
    """Return the noise floor of a change; metrics that have none have no cell, and one that is not known says so."""
    if change.noise_floor is None:
        return "unknown" if noise_keys([change.metric]) else ""
    return f"{change.noise_floor:.2g}"
