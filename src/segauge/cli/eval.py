"""`segauge eval --pred PREDS --gt LABELS`: measure a folder of predictions."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from segauge.cli.evaluation_table import print_result
from segauge.cli.parsing import (
    COUNT,
    PATH,
    PROBABILITY,
    SECONDS,
    add_interval_arguments,
    add_method_arguments,
    checked,
    number,
)
from segauge.cli.sources import KEY_HELP, add_policy_arguments, console, policy_of
from segauge.cli.structures import chosen_structures, comma_separated, named_structures, structure_file
from segauge.errors import InvalidInput
from segauge.evaluation import Case, EvaluationResult, evaluate
from segauge.geometry.patterns import SURFACES
from segauge.io import Limits
from segauge.io.dicom_series import holds_series
from segauge.io.layouts.finding import LAYOUTS, find_pairs
from segauge.io.layouts.grand_challenge import write_metrics
from segauge.io.layouts.nnunet import write_summary
from segauge.io.layouts.pairs import Pairing, image_files
from segauge.io.outputs import check_outputs
from segauge.io.streams import list_folder
from segauge.io.tables.metadata import read_metadata
from segauge.metrics.catalog import DEFAULT_METRICS, resolve_metrics
from segauge.metrics.conventions import CONVENTIONS
from segauge.options import DETECTION_METRICS
from segauge.plural import agreeing, counted
from segauge.report.requirements import check_report_extra
from segauge.scores import Status

#: Tolerances in mm of the curve in a report.
CURVE_TOLERANCES_MM = (0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0)


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "eval",
        description="Measure a folder of predictions against a folder of ground truth. Finished cases are kept in "
        "--cache (by default beside the first output file): the same command goes on where it was stopped. "
        "Exit codes: 0 fine, 1 tool error, 2 usage, 3 some cases failed, 4 some were refused for their geometry.",
        examples=(
            "segauge eval --pred predictions --gt labels --structures kidney=1+2,tumor=2 --json result.json",
            "segauge eval --pred fold_0/validation --gt labelsTr --report report.html --images imagesTr",
            "segauge eval --pred predictions --gt labels --structures all --metrics dice,hd95,nsd@2 --csv scores.csv",
        ),
    )
    parser.add_argument("--pred", required=True, type=PATH, metavar="PATH", help="predictions: a folder, or one file")
    parser.add_argument("--gt", required=True, type=PATH, metavar="PATH", help="ground truth: a folder, or one file")
    add_pairing(parser)
    parser.add_argument(
        "--metadata", type=Path, metavar="FILE", help="table with a row per case: age, sex, scanner ..."
    )
    parser.add_argument("--key", metavar="COLUMN", help=KEY_HELP)
    add_measuring(parser.add_argument_group("measuring"))
    add_reading(parser.add_argument_group("reading and placing"))
    add_running(parser)
    outputs = parser.add_argument_group("outputs")
    outputs.add_argument("--json", type=Path, metavar="FILE", help="everything, as JSON")
    outputs.add_argument("--csv", type=Path, metavar="FILE", help="one row per case and structure")
    outputs.add_argument("--summary-json", type=Path, metavar="FILE", help="nnU-Net's summary.json, with all metrics")
    outputs.add_argument("--metrics-json", type=Path, metavar="FILE", help="metrics.json for Grand Challenge")
    outputs.add_argument("--report", type=Path, metavar="FILE", help="report as one HTML file")
    outputs.add_argument(
        "--images", type=Path, metavar="FOLDER", help="images for the report: files, or a folder of DICOM per case"
    )
    outputs.add_argument("--title", metavar="TEXT", help="title of the report")
    parser.set_defaults(run=run)


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the intervals, and of how cases are run."""
    statistics = parser.add_argument_group("statistics")
    add_policy_arguments(statistics)
    statistics.add_argument(
        "--allow-missing", action="store_true", help="leave cases without a prediction out of the means (counted), "
        "and do not fail for them"
    )  # fmt: skip
    add_interval_arguments(statistics, n_resamples=2000)
    add_method_arguments(statistics)
    running = parser.add_argument_group("running")
    running.add_argument("--jobs", type=COUNT, metavar="N", help="worker processes (default: one per core)")
    running.add_argument(
        "--executor",
        metavar="WHERE",
        help='"serial", "processes", "dask", or the address of a dask scheduler (default: processes)',
    )
    running.add_argument(
        "--timeout",
        type=SECONDS,
        metavar="S",
        help="seconds for one case, which then counts as failed (default: no limit)",
    )
    running.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="keep finished cases here (default: beside the first output file)"
    )
    running.add_argument("--no-progress", action="store_true", help="no progress bar")


def add_measuring(group: Any) -> None:
    """Add the arguments that say what is measured and how."""
    group.add_argument(
        "--structures",
        metavar="WHAT",
        help='labels (1,2,3), names, NAME=LABEL (kidneys=1+2,tumor=3), "all", "foreground" (all that is not 0 as one), '
        "a dataset.json or a YAML file (default: what the dataset declares; without that each label where ground truth "
        "and predictions hold several, otherwise the foreground)",
    )
    group.add_argument(
        "--pred-structures",
        metavar="WHAT",
        help="the same structures where predictions number or name them otherwise: kidneys=7+8,tumor=Tumor",
    )
    group.add_argument("--label", type=int, metavar="N", help="only this label")
    group.add_argument("--ignore", type=int, metavar="N", help="ground-truth label whose voxels count for nothing")
    group.add_argument(
        "--metrics", type=checked(_metrics), metavar="KEYS",
        help=f'such as dice,hd95,nsd@2, or "all"; `segauge explain KEY` says what each is '
        f"(default: {', '.join(DEFAULT_METRICS)}, and lesion matching)",
    )  # fmt: skip
    group.add_argument(
        "--noise-floor",
        action="store_true",
        help="measure also what each metric moves when the voxel grid lies elsewhere by part of a voxel: below which "
        "difference numbers mean nothing (takes about as long as 16 measurements)",
    )
    group.add_argument(
        "--nsd-tolerance", type=checked(_tolerance), default="1.0", metavar="MM",
        help="in mm, or NAME=MM,NAME=MM (default: 1)",
    )  # fmt: skip
    group.add_argument(
        "--surface",
        default="marching-cubes",
        choices=SURFACES,
        help="what distances are measured between: halfway between voxel centres (marching-cubes, the default), the "
        "voxels' own faces (voxel), or where the neighbourhood says that the boundary passes (subvoxel)",
    )
    group.add_argument(
        "--hd",
        default="directed",
        choices=("directed", "pooled"),
        help="percentiles: the larger of the two directions, or of both surfaces together (default: directed)",
    )
    group.add_argument(
        "--convention",
        choices=("segauge", *CONVENTIONS),
        help="measure surfaces as this tool does (see `segauge explain hd95`)",
    )
    group.add_argument("--no-detection", action="store_true", help="do not match lesions (connected components)")
    group.add_argument(
        "--detection-iou", type=number("an overlap above 0 and up to 1", lambda iou: 0 < iou <= 1), default=0.1,
        metavar="IOU", help="overlap from which a lesion counts as found (default: 0.1)",
    )  # fmt: skip
    group.add_argument(
        "--segment-number", type=int, metavar="N",
        help="segment of DICOM-SEG files (default: 1 where they hold one, otherwise each)",
    )  # fmt: skip


def add_reading(group: Any) -> None:
    """Add the arguments that say how files are read and placed."""
    group.add_argument(
        "--spacing", type=checked(_spacing), metavar="MM",
        help="voxel edges in mm that replace the files': 1, or 0.8,0.8,2.5",
    )  # fmt: skip
    group.add_argument("--frame", type=int, metavar="N", help="which volume of time series, from 0")
    group.add_argument(
        "--nan", default="refuse", choices=("refuse", "background"), help="what NaN voxels are (default: refused)"
    )
    group.add_argument(
        "--allow-nonuniform", action="store_true", help="fill contours also on tilted or unevenly spaced series"
    )
    group.add_argument(
        "--max-voxels", type=COUNT, default=Limits().max_voxels, metavar="N",
        help=f"refuse larger images (default: {Limits().max_voxels})",
    )  # fmt: skip
    group.add_argument(
        "--threshold", type=PROBABILITY, metavar="P", help="take predicted probabilities of at least P as foreground"
    )
    group.add_argument(
        "--resample", choices=("nearest",), help="put predictions on the grid of the ground truth (default: refused)"
    )
    group.add_argument("--trust-array", action="store_true", help="compare voxel by voxel, whatever the headers say")
    group.add_argument(
        "--any-frame-of-reference", action="store_true", help="compare DICOM files of different frames of reference"
    )


def add_pairing(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how files are paired."""
    parser.add_argument(
        "--layout",
        default="auto",
        choices=("auto", *LAYOUTS),
        help="how the folders are arranged (default: recognised)",
    )
    parser.add_argument(
        "--follow-links", action="store_true", help="read predictions that are links to files outside of their folder"
    )


def run(args: argparse.Namespace) -> int:
    """Find the pairs, measure, print and write."""
    check_outputs(_outputs(args), (args.pred, args.gt, args.images, args.metadata, structure_file(args)))
    pairing = find_pairs(args.pred, args.gt, layout=args.layout, follow_links=args.follow_links)
    cases, warnings = cases_of(pairing, args)
    images = images_of(args.images)
    if args.report is not None:
        check_report_extra()
    try:
        chosen = chosen_structures(pairing, cases, args)
        result = evaluated(cases, chosen.structures, args, _cache(args))
    except KeyboardInterrupt:
        kept = "" if _cache(args) is None else " Finished cases are kept: the same command goes on from here."
        print(f"segauge: stopped.{kept}", file=sys.stderr)  # noqa: T201 - the command line speaks
        return 130
    asked = args.metrics if isinstance(args.metrics, list) else []
    by_name = [key for key in result.metric_names if key in asked]
    print_result(result, [*pairing.warnings, *pairing.copies, *warnings], by_name)
    if chosen.words:
        console().print(f"note: {chosen.words}", markup=False)
    _write(result, pairing, args)
    if args.report is not None:
        result.to_html(args.report, cases=cases, images=images, title=args.title)
    for path in _outputs(args):
        print(f"written: {path}")  # noqa: T201 - the command line speaks
    return exit_code(result, allow_missing=args.allow_missing)


def evaluated(cases: list[Case], structures: Any, args: argparse.Namespace, cache: Path | None) -> EvaluationResult:
    """Measure the structures of the cases as the arguments say."""
    return evaluate(
        cases,
        nsd_tolerance=args.nsd_tolerance,
        detection=not args.no_detection,
        detection_iou=args.detection_iou,
        label=args.label,
        segment_number=1 if args.segment_number is None else args.segment_number,
        confidence=args.confidence,
        n_resamples=args.n_resamples,
        seed=args.seed,
        ci=args.ci,
        statistic=args.statistic,
        structures=structures,
        pred_structures=named_structures(comma_separated(args.pred_structures)) if args.pred_structures else None,
        metrics=_with_curve(args.metrics, args),
        noise_floor=args.noise_floor,
        surface=args.surface,
        hd=args.hd,
        convention=args.convention,
        ignore=args.ignore,
        resample=args.resample,
        trust_array=args.trust_array,
        any_frame_of_reference=args.any_frame_of_reference,
        threshold=args.threshold,
        max_voxels=args.max_voxels,
        frame=args.frame,
        nan=args.nan,
        allow_nonuniform=args.allow_nonuniform,
        policy=replace(policy_of(args), missing="exclude" if args.allow_missing else "failed"),
        jobs=min(os.cpu_count() or 1, len(cases)) if args.jobs is None else args.jobs,
        executor=args.executor or "processes",
        timeout=args.timeout,
        cache=cache,
        progress=not args.no_progress and sys.stderr.isatty(),
    )


def cases_of(pairing: Pairing, args: argparse.Namespace) -> tuple[list[Case], list[str]]:
    """Return the cases with their metadata, and what the table of metadata lacks or has too much."""
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


def _spacing(text: str) -> float | tuple[float, ...]:
    try:
        edges = tuple(float(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        edges = ()
    if not edges or not all(0 < edge < math.inf for edge in edges):
        raise InvalidInput(f"expected MM or MM,MM,MM, each above 0, got {text!r}.")
    return edges[0] if len(edges) == 1 else edges


def _with_curve(metrics: str | list[str] | None, args: argparse.Namespace) -> str | list[str] | None:
    """Return the metrics; for a report with its usual ones also the NSD at the tolerances of its curve."""
    if args.report is None or metrics is not None:
        return metrics
    detection = () if args.no_detection else DETECTION_METRICS
    return [*DEFAULT_METRICS, *detection, *(f"nsd@{tolerance:g}" for tolerance in CURVE_TOLERANCES_MM)]


def images_of(folder: Path | None) -> dict[str, Path] | None:
    """Return the images by case id: files, and folders of DICOM; nnU-Net's channel (_0000) is no part of the id."""
    if folder is None:
        return None
    series = {place.name: place for place in list_folder(folder) if place.is_dir() and holds_series(place)}
    found = {**series, **image_files(folder)}
    return {**{name.removesuffix("_0000"): path for name, path in found.items()}, **found}


def _metrics(text: str) -> str | list[str]:
    if text == "all":
        return text
    keys = [part.strip() for part in text.split(",")]
    resolve_metrics(keys)
    return keys


def _tolerance(text: str) -> float | Mapping[str, float]:
    try:
        pairs = [part.rpartition("=") for part in text.split(",")]
        found = {name.strip(): float(value) for name, _, value in pairs}
        if len(found) < len(pairs) or not all(0 <= tolerance < math.inf for tolerance in found.values()):
            raise ValueError
        if "=" not in text:
            return found[""]
        if all(found):
            return found
        raise ValueError
    except ValueError:
        raise InvalidInput(f"expected MM or NAME=MM,NAME=MM, each of 0 or more, got {text!r}.") from None


def _cache(args: argparse.Namespace) -> Path | None:
    if args.cache is not None:
        return Path(args.cache)
    first = next(iter(_outputs(args)), None)
    return None if first is None else first.with_name(f"{first.name}.cache")


def _outputs(args: argparse.Namespace) -> list[Path]:
    """Return the files that are to be written."""
    return [path for path in (args.json, args.csv, args.summary_json, args.metrics_json, args.report) if path]


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
