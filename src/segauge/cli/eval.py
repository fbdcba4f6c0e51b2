"""`segauge eval --pred PREDS --gt LABELS`: measure a folder of predictions."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segauge.cli.sources import console, one_line
from segauge.errors import InvalidInput, UnknownStructure
from segauge.io.layouts.finding import LAYOUTS, find_pairs
from segauge.io.layouts.grand_challenge import write_metrics
from segauge.io.layouts.nnunet import write_summary
from segauge.io.layouts.pairs import Pairing, image_files
from segauge.io.tables.metadata import read_metadata
from segauge.labeling import Labeling
from segauge.metrics.catalog import DEFAULT_METRICS
from segauge.scores import Status

if TYPE_CHECKING:
    from segauge.evaluation import Case, EvaluationResult

#: Metrics of lesions that belong to the usual ones, and the tolerances in mm of the curve in a report.
DETECTION_METRICS = ("det_f1", "det_precision", "det_recall")
CURVE_TOLERANCES_MM = (0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0)
#: What the table in the terminal shows of the metrics.
_SHOWN = ("dice", "nsd", "hd95", "assd", "det_f1")


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "eval",
        help="measure predictions against ground truth",
        description="Measure a folder of predictions against a folder of ground truth. Finished cases are kept in "
        "--cache (by default beside the first output file): the same command goes on where it was stopped. "
        "Exit codes: 0 fine, 1 tool error, 2 usage, 3 some cases failed, 4 some were refused for their geometry.",
    )
    parser.add_argument("--pred", required=True, type=Path, metavar="PATH", help="predictions: a folder, or one file")
    parser.add_argument("--gt", required=True, type=Path, metavar="PATH", help="ground truth: a folder, or one file")
    parser.add_argument("--layout", default="auto", choices=("auto", *LAYOUTS), help="default: recognised")
    parser.add_argument(
        "--metadata", type=Path, metavar="FILE", help="table with a row per case: age, sex, scanner ..."
    )
    parser.add_argument("--key", help="column of the case ids in the metadata (default: a usual name)")
    _add_measuring(parser.add_argument_group("measuring"))
    statistics = parser.add_argument_group("statistics")
    statistics.add_argument("--confidence", type=float, default=0.95)
    statistics.add_argument("--resamples", type=int, default=2000)
    statistics.add_argument("--seed", type=int, default=0)
    running = parser.add_argument_group("running")
    running.add_argument("--jobs", type=int, help="worker processes (default: one per core)")
    running.add_argument("--executor", help='"serial", "processes", "dask", or the address of a dask scheduler')
    running.add_argument("--timeout", type=float, metavar="S", help="seconds for one case")
    running.add_argument("--cache", type=Path, metavar="FOLDER", help="keep finished cases here")
    running.add_argument("--no-progress", action="store_true", help="no progress bar")
    outputs = parser.add_argument_group("outputs")
    outputs.add_argument("--json", type=Path, metavar="FILE", help="everything, as JSON")
    outputs.add_argument("--csv", type=Path, metavar="FILE", help="one row per case and structure")
    outputs.add_argument("--summary-json", type=Path, metavar="FILE", help="nnU-Net's summary.json, with all metrics")
    outputs.add_argument("--metrics-json", type=Path, metavar="FILE", help="metrics.json for Grand Challenge")
    outputs.add_argument("--report", type=Path, metavar="FILE", help="report as one HTML file")
    outputs.add_argument("--images", type=Path, metavar="FOLDER", help="images below the outlines in the report")
    outputs.add_argument("--title", help="title of the report")
    parser.set_defaults(run=run)


def _add_measuring(group: Any) -> None:
    group.add_argument("--structures", help='names or labels (1,2,3), "all", a dataset.json or a YAML file')
    group.add_argument("--label", type=int, help="only this label")
    group.add_argument("--ignore", type=int, help="ground-truth label whose voxels count for nothing")
    group.add_argument("--metrics", help='such as dice,hd95,nsd@2, or "all"')
    group.add_argument("--nsd-tolerance", default="1.0", metavar="MM", help="in mm, or NAME=MM,NAME=MM (default: 1)")
    group.add_argument("--surface", default="marching-cubes", choices=("marching-cubes", "voxel"))
    group.add_argument("--hd", default="directed", choices=("directed", "pooled"))
    group.add_argument("--no-detection", action="store_true", help="do not match lesions")
    group.add_argument("--detection-iou", type=float, default=0.1)
    group.add_argument("--segment-number", type=int, default=1, help="segment of DICOM-SEG files")
    group.add_argument("--threshold", type=float, metavar="P", help="take probabilities of at least P as foreground")
    group.add_argument("--resample", choices=("nearest",), help="for predictions on another grid")
    group.add_argument("--trust-array", action="store_true", help="compare voxel by voxel, whatever the headers say")


def run(args: argparse.Namespace) -> int:
    """Find the pairs, measure, print and write."""
    pairing = find_pairs(args.pred, args.gt, layout=args.layout)
    cases, warnings = _cases(pairing, args)
    try:
        result = _evaluated(cases, pairing, args)
    except KeyboardInterrupt:
        kept = "" if _cache(args) is None else " Finished cases are kept: the same command goes on from here."
        print(f"segauge: stopped.{kept}", file=sys.stderr)  # noqa: T201 - the command line speaks
        return 1
    _print(result, [*pairing.warnings, *warnings])
    _write(result, pairing, args)
    if args.report is not None:
        result.to_html(args.report, cases=cases, images=_images(args.images), title=args.title)
    return _exit_code(result)


def _evaluated(cases: list[Case], pairing: Pairing, args: argparse.Namespace) -> EvaluationResult:
    from segauge.evaluation import evaluate

    return evaluate(
        cases,
        nsd_tolerance=_tolerance(args.nsd_tolerance),
        detection=not args.no_detection,
        detection_iou=args.detection_iou,
        label=args.label,
        segment_number=args.segment_number,
        confidence=args.confidence,
        n_resamples=args.resamples,
        seed=args.seed,
        structures=_structures(pairing, args),
        metrics=_with_curve(_metrics(args.metrics), args),
        surface=args.surface,
        hd=args.hd,
        ignore=args.ignore,
        resample=args.resample,
        trust_array=args.trust_array,
        threshold=args.threshold,
        jobs=args.jobs or min(os.cpu_count() or 1, len(cases)),
        executor=args.executor or "processes",
        timeout=args.timeout,
        cache=_cache(args),
        progress=not args.no_progress and sys.stderr.isatty(),
    )


def _cases(pairing: Pairing, args: argparse.Namespace) -> tuple[list[Case], list[str]]:
    """Return the cases with their metadata, and what the table of metadata lacks or has too much."""
    from segauge.evaluation import Case

    known = {} if args.metadata is None else read_metadata(args.metadata, key=args.key)
    ids = {pair.case_id for pair in pairing.pairs}
    warnings = []
    if args.metadata is not None:
        for words, names in (
            (f"cases have no row in {args.metadata.name}", [case for case in sorted(ids) if case not in known]),
            (f"rows of {args.metadata.name} belong to no case", [case for case in known if case not in ids]),
        ):
            if names:
                warnings.append(f"{len(names)} {words}: {', '.join(map(repr, names[:3]))}{' ...' * (len(names) > 3)}")
    cases = [Case(pair.case_id, pair.pred, pair.gt, metadata=known.get(pair.case_id, {})) for pair in pairing.pairs]
    return cases, warnings


def _structures(pairing: Pairing, args: argparse.Namespace) -> Any:
    """Return what to measure: what the user says, looked up among the layout's structures; or all of those."""
    if args.label is not None:
        return None
    declared = pairing.structures
    if args.structures is None:
        return declared
    if args.structures == "all" or args.structures.lower().endswith((".json", ".yaml", ".yml")):
        return args.structures
    wanted = [part.strip() for part in args.structures.split(",") if part.strip()]
    if not isinstance(declared, Labeling):
        return [int(part) if part.lstrip("-").isdigit() else part for part in wanted]
    chosen: dict[str, tuple[int, ...]] = {}
    for part in wanted:
        if not part.isdigit() and part not in declared.structures:
            raise UnknownStructure(f"No structure {part!r} in this dataset; there are {', '.join(declared)}.")
        name = part if part in declared.structures else f"label {part}"
        chosen[name] = declared.structures.get(part) or (int(part),)
    return Labeling(chosen, declared.ignore)


def _with_curve(metrics: str | list[str] | None, args: argparse.Namespace) -> str | list[str] | None:
    """Return the metrics; for a report with its usual ones also the NSD at the tolerances of its curve."""
    if args.report is None or metrics is not None:
        return metrics
    detection = () if args.no_detection else DETECTION_METRICS
    return [*DEFAULT_METRICS, *detection, *(f"nsd@{tolerance:g}" for tolerance in CURVE_TOLERANCES_MM)]


def _images(folder: Path | None) -> dict[str, Path] | None:
    """Return the images by case id; the channel of nnU-Net's names (_0000) is no part of the id."""
    if folder is None:
        return None
    found = image_files(folder)
    return {**{name.removesuffix("_0000"): path for name, path in found.items()}, **found}


def _metrics(text: str | None) -> str | list[str] | None:
    return text if text is None or text == "all" else [part.strip() for part in text.split(",")]


def _tolerance(text: str) -> float | Mapping[str, float]:
    try:
        if "=" not in text:
            return float(text)
        pairs = [part.rpartition("=") for part in text.split(",")]
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise InvalidInput(f"Expected --nsd-tolerance MM or NAME=MM,NAME=MM, got {text!r}.") from None


def _cache(args: argparse.Namespace) -> Path | None:
    if args.cache is not None:
        return Path(args.cache)
    first = next((path for path in (args.json, args.csv, args.summary_json, args.metrics_json) if path), None)
    return None if first is None else Path(first).with_name(f"{Path(first).name}.cache")


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


def _print(result: EvaluationResult, warnings: list[str]) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = console()
    shown = [key for key in result.metric_names if key in _SHOWN] or result.metric_names[:6]
    table = Table(
        title=f"{len(result.table)} cases, mean [{100 * result.confidence:g} % interval]", title_justify="left"
    )
    for name in ("structure", *shown, "n", "not measured or missed"):
        table.add_column(escape(name))
    for name in result.structures:
        found = result.summary(name)
        first = found[shown[0]]
        bad = {status: n for status, n in result.table.status_counts(name).items() if status.is_failure}
        words = ", ".join(f"{n} {status.value}" for status, n in bad.items())
        cells = [str(found[key]) + (f" n={found[key].n}" if found[key].n != first.n else "") for key in shown]
        table.add_row(escape(name), *map(escape, cells), str(first.n), words)
    out.print(table)
    for warning in (*warnings, *result.warnings):
        out.print(f"warning: {one_line(warning)}", markup=False)
    for case, (status, reason) in result.failures.items():
        out.print(f"{one_line(case)}: {status.value}: {one_line(reason)}", markup=False)
    noted = sum(len(notes) for notes in result.notes.values())
    if noted:
        out.print(f"{noted} notes on {len(result.notes)} cases; --json has them", markup=False)


def _exit_code(result: EvaluationResult) -> int:
    states = {status for status, _ in result.failures.values()}
    return 4 if Status.REFUSED in states else 3 if states else 0
