"""`segauge eval --pred PREDS --gt LABELS`: measure a folder of predictions."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from segauge.cli.evaluation_table import print_result, print_statistics
from segauge.cli.flags import add_options, add_policy, add_protocol, first_flags, resolve_options
from segauge.cli.parsing import PATH, checked
from segauge.cli.sources import KEY_HELP
from segauge.cli.structures import (
    chosen_structures,
    comma_separated,
    named_structures,
    structure_file,
    structures_of_pairs,
)
from segauge.cli.terminal import say_written, shows_progress, tell
from segauge.errors import InvalidInput, UnusableOption
from segauge.evaluation import Case, EvaluationResult, evaluate
from segauge.io.dicom_series import holds_series
from segauge.io.layouts import LAYOUTS, find_pairs
from segauge.io.layouts.grand_challenge import write_metrics
from segauge.io.layouts.nnunet import write_summary
from segauge.io.layouts.pairs import Pairing, image_column, image_files, read_pairs
from segauge.io.outputs import STANDARD_OUTPUT, check_outputs
from segauge.io.streams import list_folder
from segauge.io.tables.reading import read_metadata
from segauge.metrics.catalog import DEFAULT_METRICS
from segauge.options import (
    DETECTION_METRICS,
    Measuring,
    Options,
    Reading,
    Running,
    Summarising,
    spacing,
)
from segauge.plural import agreeing, counted
from segauge.report import check_report_extra
from segauge.report.tables import STATISTICS, chosen_statistics
from segauge.scores import Status

#: Seconds for one case whose prediction comes from a stranger, unless --timeout says otherwise.
UNTRUSTED_TIMEOUT_S = 600.0
#: Tolerances in mm of the curve in a report.
CURVE_TOLERANCES_MM = (0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0)


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "eval",
        description="Measure a folder of predictions against a folder of ground truth. Finished cases are kept in "
        "--cache (by default next to the first output file): rerun the command to resume. "
        "Exit codes: 0 fine, 1 tool error, 2 usage, 3 some cases failed, 4 some were refused for their geometry.",
        examples=(
            "segauge eval --pred predictions --gt labels --structures kidney=1+2,tumor=2 --json result.json",
            "segauge eval --pred fold_0/validation --gt labelsTr --report report.html --images imagesTr",
            "segauge eval --pred predictions --gt labels --structures all --metrics dice,hd95,nsd@2 --csv scores.csv",
        ),
        first_screen=(
            *("--pred", "--gt", "--pairs", "--metadata", *first_flags(), "--policy", "--show", "--protocol"),
            *("--json", "--csv", "--report", "--figures"),
        ),
    )
    compared = parser.add_argument_group("what is compared")
    compared.add_argument("--pred", type=PATH, metavar="PATH", help="predictions: a folder, or one file")
    compared.add_argument("--gt", type=PATH, metavar="PATH", help="ground truth: a folder, or one file")
    add_pairing(compared)
    compared.add_argument(
        "--metadata", type=Path, metavar="FILE", help="table with a row per case: age, sex, scanner ..."
    )
    compared.add_argument("--key", metavar="COLUMN", help=KEY_HELP)
    add_measuring(parser)
    parser.add_argument_group("what is printed").add_argument(
        "--show", type=checked(chosen_statistics), metavar="COLUMNS", help=f"further columns: {', '.join(STATISTICS)}"
    )
    outputs = parser.add_argument_group("what is written (- is standard output)")
    outputs.add_argument("--json", type=Path, metavar="FILE", help="everything, as JSON")
    outputs.add_argument("--csv", type=Path, metavar="FILE", help="one row per case and structure")
    outputs.add_argument("--report", type=Path, metavar="FILE", help="report as one HTML file")
    outputs.add_argument("--figures", type=Path, metavar="FOLDER", help="every figure and table of a paper")
    outputs.add_argument("--summary-json", type=Path, metavar="FILE", help="nnU-Net's summary.json, with all metrics")
    outputs.add_argument("--metrics-json", type=Path, metavar="FILE", help="metrics.json for Grand Challenge")
    outputs.add_argument(
        "--images", type=Path, metavar="FOLDER", help="images for the report: files, or a folder of DICOM per case"
    )
    outputs.add_argument("--title", metavar="TEXT", help="title of the report")
    parser.set_defaults(run=run)


def add_pairing(section: Any) -> None:
    """Add the arguments that say which files belong together."""
    section.add_argument(
        "--pairs", type=Path, metavar="FILE", help="table with a row per case: case, pred, gt, image, structures "
        "(NAME=NAME IN THIS CASE); "
        "`segauge doctor --pairs-out FILE` writes it"
    )  # fmt: skip
    add_layout(section)


def add_layout(section: Any) -> None:
    """Add the arguments that say how files are found in folders."""
    section.add_argument(
        "--layout",
        default="auto",
        choices=("auto", *LAYOUTS),
        help="how the folders are arranged (default: recognised)",
    )
    section.add_argument(
        "--follow-links", action="store_true", help="read predictions that are links to files outside of their folder"
    )


def add_measuring(parser: argparse.ArgumentParser) -> None:
    """Add everything that says how predictions are measured: flags of all option groups, and a protocol file."""
    measured = parser.add_argument_group("what is measured, and how")
    add_options(measured, Measuring)
    add_protocol(measured)
    summarised = parser.add_argument_group("how it is summarised")
    add_policy(summarised)
    add_options(summarised, Summarising)
    reading = parser.add_argument_group("how files are read and placed")
    reading.add_argument(
        "--spacing", type=checked(spacing), metavar="MM",
        help="voxel edges in mm that replace those of the files: 1, or 0.8,0.8,2.5",
    )  # fmt: skip
    add_options(reading, Reading)
    running = parser.add_argument_group("how it is run")
    add_options(running, Running)
    running.add_argument("--no-progress", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Find the pairs, measure, print and write."""
    options = resolve_options(args)
    if options.reading.untrusted:
        if args.follow_links:
            raise UnusableOption(
                "--follow-links and --untrusted exclude each other: links are not read with --untrusted."
            )
        if options.running.timeout is None and options.running.executor in (None, "processes"):
            options = options._replace(running=replace(options.running, timeout=UNTRUSTED_TIMEOUT_S))
    check_outputs(_outputs(args), (args.pred, args.gt, args.pairs, args.images, args.metadata, structure_file(args)))
    pairing = pairing_of(args)
    if args.pairs is not None and args.structures is None:
        args.structures = structures_of_pairs(args.pairs)
    cases, warnings = cases_of(pairing, args)
    images = images_of(args.images) or images_of_pairs(args)
    if args.report is not None or args.figures is not None:
        check_report_extra()
    try:
        chosen = chosen_structures(pairing, cases, args)
        result = evaluated(cases, chosen.structures, args, options, _cache(args))
    except KeyboardInterrupt:
        kept = "" if _cache(args) is None else " Finished cases are kept: rerun the command to resume."
        print(f"segauge: stopped.{kept}", file=sys.stderr)  # noqa: T201 - the command line speaks
        return 130
    asked = args.metrics if isinstance(args.metrics, list) else []
    by_name = [key for key in result.metric_names if key in asked]
    print_result(result, [*pairing.warnings, *pairing.copies, *warnings], by_name)
    if args.show:
        print_statistics(result, args.show, by_name)
    if chosen.words:
        tell(f"note: {chosen.words}")
    _write(result, pairing, args)
    if args.report is not None:
        result.to_html(args.report, cases=cases, images=images, title=args.title)
    if args.figures is not None:
        result.to_figures(args.figures)
    say_written(*_outputs(args), args.figures)
    if not _outputs(args) and args.figures is None:
        tell("nothing was written: --report FILE makes a report, --json FILE keeps the scores for `segauge compare`")
    return exit_code(result, allow_missing=options.summarising.policy.missing == "exclude")


def pairing_of(args: argparse.Namespace) -> Pairing:
    """Return the files that belong together: as a table lists them, or as the folders are arranged."""
    if args.pairs is not None:
        return read_pairs(args.pairs, pred=args.pred, gt=args.gt)
    missing = [flag for flag, path in (("--pred", args.pred), ("--gt", args.gt)) if path is None]
    if missing:
        args.refuse(f"needs {' and '.join(missing)} (or --pairs FILE)")
    return find_pairs(args.pred, args.gt, layout=args.layout, follow_links=args.follow_links)


def evaluated(
    cases: list[Case], structures: Any, args: argparse.Namespace, options: Options, cache: Path | None
) -> EvaluationResult:
    """Measure the structures of the cases as the arguments say."""
    pred = args.pred_structures
    return evaluate(
        cases,
        **options._asdict(),
        structures=structures,
        pred_structures=named_structures(comma_separated(pred)) if isinstance(pred, str) else pred,
        metrics=_with_curve(args.metrics, args),
        jobs=min(os.cpu_count() or 1, len(cases)) if args.jobs is None else args.jobs,
        executor=args.executor or "processes",
        cache=cache,
        progress=not args.no_progress and shows_progress(),
    )


def cases_of(pairing: Pairing, args: argparse.Namespace) -> tuple[list[Case], list[str]]:
    """Return the cases with their metadata, and what is missing in the table of metadata or belongs to no case."""
    known = {} if args.metadata is None else read_metadata(args.metadata, key=args.key)
    ids = {pair.case_id for pair in pairing.pairs}
    if all(pair.pred is None for pair in pairing.pairs):
        raise InvalidInput(
            f"No prediction was found for any of the {counted(len(ids), 'case')} of the ground truth. Check the folder "
            "given as --pred; with one prediction or more, cases without one count as failures."
        )
    warnings = []
    if args.metadata is not None:
        file = args.metadata.name
        without, left = sorted(ids - known.keys()), [case for case in known if case not in ids]
        if without:
            warnings.append(f"{agreeing(len(without), 'case has', 'cases have')} no row in {file}: {_some(without)}")
        if left:
            rows = agreeing(len(left), f"row of {file} belongs", f"rows of {file} belong")
            warnings.append(f"{rows} to no case: {_some(left)}")
    cases = [
        Case(pair.case_id, pair.pred, pair.gt, args.spacing, known.get(pair.case_id, {})) for pair in pairing.pairs
    ]
    return cases, warnings


def _some(names: list[str]) -> str:
    return f"{', '.join(map(repr, names[:3]))}{' ...' * (len(names) > 3)}"


def _with_curve(metrics: str | list[str] | None, args: argparse.Namespace) -> str | list[str] | None:
    """Return the metrics; for a report with its usual ones also the NSD at the tolerances of its curve."""
    if args.report is None or metrics is not None:
        return metrics
    detection = DETECTION_METRICS if args.detection else ()
    return [*DEFAULT_METRICS, *detection, *(f"nsd@{tolerance:g}" for tolerance in CURVE_TOLERANCES_MM)]


def images_of(folder: Path | None) -> dict[str, Path] | None:
    """Return the images by case id: files, and folders of DICOM; nnU-Net's channel (_0000) is no part of the id."""
    if folder is None:
        return None
    series = {place.name: place for place in list_folder(folder) if place.is_dir() and holds_series(place)}
    found = {**series, **image_files(folder)}
    return {**{name.removesuffix("_0000"): path for name, path in found.items()}, **found}


def _cache(args: argparse.Namespace) -> Path | None:
    if args.cache is not None:
        return Path(args.cache)
    first = next((path for path in _outputs(args) if path != STANDARD_OUTPUT), None)
    return None if first is None else first.with_name(f"{first.name}.cache")


def _outputs(args: argparse.Namespace) -> list[Path]:
    """Return the files that are to be written."""
    return [path for path in (args.json, args.csv, args.summary_json, args.metrics_json, args.report) if path]


def images_of_pairs(args: argparse.Namespace) -> dict[str, Path] | None:
    """Return the images by case id that the table of pairs names, None where it names none."""
    return None if args.pairs is None else image_column(args.pairs) or None


def _write(result: EvaluationResult, pairing: Pairing, args: argparse.Namespace) -> None:
    if args.json is not None:
        result.to_json(args.json)
    if args.csv is not None:
        result.to_csv(args.csv)
    if args.metrics_json is not None:
        write_metrics(args.metrics_json, result.to_dict())
    if args.summary_json is not None:
        named = result.protocol["options"]["structures"]
        if not isinstance(named, Mapping) or any(isinstance(part, str) for parts in named.values() for part in parts):
            raise InvalidInput("--summary-json needs labels for its keys: give --structures 1,2,3 or a dataset.json.")
        labels = {name: tuple(parts) for name, parts in named.items()}
        write_summary(args.summary_json, result.table, labels, pairing.pairs, result.counts)


def exit_code(result: EvaluationResult, *, allow_missing: bool) -> int:
    """Return 4 if a case was refused for its geometry, 3 if one failed otherwise, else 0."""
    states = {status for status, _ in result.failures.values()}
    if allow_missing:
        states.discard(Status.PREDICTION_MISSING)
    return 4 if Status.REFUSED in states else 3 if states else 0
