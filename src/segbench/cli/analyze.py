"""`segbench analyze RESULTS --out DIR`: audit, boards, significance maps, groups, test sets; page, figures, tables."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segauge.cli.flags import add_policy, policy_of
from segauge.cli.parsing import add_interval_arguments
from segauge.cli.sources import COLUMNS_HELP, KEY_HELP, add_repair_arguments, named_columns, named_source, scale_for
from segauge.cli.terminal import show, tell
from segauge.errors import InvalidInput
from segauge.io.tables import FORMATS, Repairs
from segauge.plural import counted
from segauge.stats import AVERAGE_RULES, CASE_RULES
from segbench.analysis import Analysis, analyze
from segbench.boards import PRESETS, Rules, rules_of
from segbench.cli.printing import check_folder, progress_bar
from segbench.cli.results import job_count
from segbench.pipeline import worker_count
from segbench.site import render
from segbench.site.words import changes, outcome, warnings_of
from segbench.study_files import StudyOptions, read_study, record_of, records_in


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "analyze",
        description="Analyse per-case scores of several models: a Touchstone folder, any table that segauge imports, "
        "a record of segbench, or a folder of such records (each a test set). Several test sets: NAME=PATH each. Exit "
        "codes: 0 fine, 1 the files were refused or cannot be read, 2 usage.",
        examples=(
            "segbench analyze results/phantom.json --out analysis",
            "segbench analyze scores.csv --metadata patients.csv --out analysis",
        ),
    )
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="scores of one test set, or NAME=PATH of several")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write into")
    parser.add_argument("--title", default="", metavar="TEXT", help="title of the page")
    add_reading_arguments(parser)
    parser.add_argument("--groups", type=Path, metavar="FILE", help="declared groups of cases (YAML)")
    parser.add_argument("--split", metavar="COLUMN", help='metadata column of official splits ("" for none)')
    parser.add_argument("--stratify", metavar="COLUMN", help="hold gaps between groups against this column or family")
    parser.add_argument("--minimum", type=int, metavar="N", help="smallest group that is estimated (default: 5)")
    parser.add_argument(
        "--figures", default="svg,pdf", metavar="KINDS", help="formats of the figures, or none (default: svg,pdf)"
    )
    parser.add_argument(
        "--jobs", "--processes", type=job_count, metavar="N",
        help="processes that compute and draw (default: one per core; few scores are computed in one)",
    )  # fmt: skip
    add_rule_arguments(parser)
    parser.set_defaults(run=run)


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how to read scores, metadata and the registry of models."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--format", default="auto", choices=("auto", *FORMATS), help="kind of file (default: recognised)"
    )
    group.add_argument("--columns", action="append", default=[], metavar="ROLE=NAME", help=COLUMNS_HELP)
    group.add_argument("--metric", metavar="KEY", help="only this metric; the name of the metric if the file has none")
    group.add_argument("--metadata", action="append", default=[], metavar="FILE", help="a row per case, or NAME=FILE")
    group.add_argument(
        "--key", action="append", default=[], metavar="COLUMN", help=f"{KEY_HELP}; NAME=COLUMN for one test set"
    )
    group.add_argument("--models", type=Path, metavar="FILE", help="registry of the models (YAML)")
    group.add_argument(
        "--cluster", action="append", default=[], metavar="COLUMN",
        help="metadata column of the patient, whose cases are resampled together; NAME=COLUMN for one test set",
    )  # fmt: skip
    add_repair_arguments(group, ("duplicates", "empty", "out_of_range"))
    add_policy(group)
    group.add_argument("--higher-is-better", choices=("yes", "no"), help="for a --metric that segauge does not know")
    group.add_argument("--bounds", metavar="LOW,HIGH", help="ends of the scale of such a metric")


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose the rules."""
    group = parser.add_argument_group("rules")
    group.add_argument("--preset", default="segbench", choices=tuple(PRESETS), help="set of rules (default: segbench)")
    group.add_argument("--cases", choices=tuple(CASE_RULES), help="which cases count (default: common)")
    group.add_argument("--average", choices=tuple(AVERAGE_RULES), help="average that leads (default: structure-means)")
    group.add_argument("--margin", type=float, metavar="VALUE", help="differences within it do not matter in practice")
    add_interval_arguments(group, n_resamples=10_000, preset=True)


def run(args: argparse.Namespace) -> int:
    """Read, analyse, write, and say the outcome."""
    rules = rules_of_arguments(args, minimum=args.minimum)
    options = study_options(args.results, args, groups=args.groups, split=args.split, stratify=args.stratify)
    endings = _endings(args.figures)
    check_folder(args.out)
    inputs, models = read_study(options, rules)
    jobs = args.jobs or worker_count(table for one in inputs for table in one.scored.tables.values())
    with progress_bar("analysing") as told:
        analysis = analyze(inputs, rules, title=args.title, models=models, jobs=jobs, progress=told)
    records = [record_of(one, models, rules) for one in inputs]
    with progress_bar("pages") as told:
        written = render(
            records, args.out, title=args.title, analysis=analysis, endings=endings, jobs=jobs, progress=told
        )
    _print(analysis)
    made = f"site, {counted(written.n_figures, 'figure')}, {counted(written.n_tables, 'table')}"
    tell(f"written: {written.page} ({made})")
    return 0


def rules_of_arguments(args: argparse.Namespace, **changed: Any) -> Rules:
    """Return the rules that the arguments choose."""
    names = ("cases", "average", "margin", "n_resamples", "seed")
    return rules_of(args.preset, **{name: getattr(args, name) for name in names}, level=args.confidence, **changed)


def study_options(results: list[str], args: argparse.Namespace, **further: Any) -> StudyOptions:
    """Return how to read the files that the arguments name."""
    repairs = Repairs(duplicates=args.duplicates, cases="keep", empty=args.empty, out_of_range=args.out_of_range)
    scales = {args.metric: scale_for(args.metric, args)} if args.metric and args.higher_is_better else {}
    sources = _sources(results)
    return StudyOptions(
        sources=sources,
        metadata=dict(map(named_source, args.metadata)),
        key=dict(_named_column(text, sources) for text in args.key),
        models=args.models,
        format=args.format,
        columns=named_columns(args.columns),
        repairs=repairs,
        metric=args.metric,
        cluster=dict(_named_column(text, sources) for text in args.cluster),
        policy=policy_of(args),
        scales=scales,
        **further,
    )


def _named_column(text: str, sources: Mapping[str, Path]) -> tuple[str, str]:
    """Return the test set that a column is for ("" for all), and the column."""
    name, sign, column = text.partition("=")
    return (name, column) if sign and name in sources else ("", text)


def _sources(results: list[str]) -> dict[str, Path]:
    """Return the test sets by name: the one given, or that of the file or folder."""
    found: dict[str, Path] = {}
    for text in results:
        name, path = named_source(text)
        paths = records_in(path) or [path]
        for one in paths:
            own = name if name and len(paths) == 1 else one.name.removesuffix(one.suffix) or str(one)
            if own in found:
                raise InvalidInput(f"Two test sets are called {own!r}; name them: NAME=PATH.")
            found[own] = one
    return found


def _endings(text: str) -> tuple[str, ...]:
    if text.strip().lower() == "none":
        return ()
    endings = tuple(f".{part.strip().lstrip('.').lower()}" for part in text.split(",") if part.strip())
    strange = [ending for ending in endings if ending not in (".svg", ".pdf", ".png")]
    if strange or not endings:
        raise InvalidInput(f"Expected --figures as formats among svg, pdf, png, or none, got {text!r}.")
    # The page links to the SVG files.
    return tuple(dict.fromkeys((".svg", *endings)))


def _print(analysis: Analysis) -> None:
    for one in analysis.sets:
        if not one.boards:
            tell(f"{one.name}: one model only, so there is nothing to compare.")
        show(*one.coverage.findings, *outcome(one), *changes(one, analysis), *warnings_of(one, analysis))
