"""score_case(): what a worker does with one case; its record is plain JSON values, whoever ran it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from segauge import words
from segauge.errors import (
    GridMismatch,
    InvalidInput,
    MissingExtra,
    SegaugeError,
    ShapeMismatch,
    UnreadableFile,
    UnusableOption,
    option,
)
from segauge.evaluation.cases import Case, Source
from segauge.evaluation.structures import LabelPair, Side, StructureSpec, label_pair
from segauge.geometry.masks import tabulate
from segauge.io import Reading, read_labels
from segauge.io.contents import companions
from segauge.io.gate import refuse_links
from segauge.io.outputs import plain_values
from segauge.io.reading import ReferenceGrid, SpacingSource
from segauge.labeling import Labeling
from segauge.labelmap import LabelMap
from segauge.measurement import LayerPairs, Measurement, followed_convention, measure_layers
from segauge.metrics.catalog import is_in_mm, resolve_metrics
from segauge.metrics.conventions import Convention
from segauge.metrics.parts import Options
from segauge.options import Measuring, recorded
from segauge.options import Reading as ReadingOptions
from segauge.placement import place
from segauge.plural import counted
from segauge.scores import Status

Record = dict[str, Any]

#: Formats in which each patient has a list of regions with names of its own.
_WITH_REGIONS = ("rtstruct", "dicom-seg")


@dataclass(frozen=True)
class ScoringOptions:
    """Everything that a case's numbers depend on besides its files; `spec` and `metrics` are what `measuring` asks."""

    spec: StructureSpec
    metrics: tuple[str, ...]
    measuring: Measuring
    reading: ReadingOptions

    def __post_init__(self) -> None:
        """Refuse what would fail in every case, once and before the first."""
        # What was asked for is in `spec` and `metrics`; the rest travels to workers.
        rest = replace(self.measuring, structures=None, pred_structures=None, metrics=None)
        object.__setattr__(self, "measuring", rest)
        self.followed()
        self._require_every_tolerance()

    def followed(self) -> Convention | None:
        """Return the convention of the tool whose numbers are wanted, None for our own."""
        return followed_convention(
            self.measuring.convention, self.spec.ignore, self.measuring.surface, self.measuring.hd
        )

    def measured(self, threads: int | None) -> Options:
        """Return what the metrics of a structure are computed by."""
        measuring = self.measuring
        return Options(
            measuring.surface, measuring.hd, measuring.detection_rules(), threads=threads, convention=self.followed()
        )

    def _require_every_tolerance(self) -> None:
        given = self.measuring.nsd_tolerance
        names = {"named": list(self.spec.parts), "foreground": ["foreground"]}.get(self.spec.mode, [])
        missing = [name for name in names if isinstance(given, Mapping) and name not in given]
        if missing:
            raise InvalidInput(
                f"{option('nsd_tolerance', ...)} has no entry for {', '.join(map(repr, missing))}: "
                "give one for every structure, or one number for all."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: part of the protocol, and of what decides whether a case is measured again."""
        reading = {**recorded(self.reading), "segment_number": self.segment_number}
        plain: dict[str, Any] = plain_values(
            {**self.spec.to_dict(), "metrics": self.metrics, **recorded(self.measuring), **reading}
        )
        return plain

    @property
    def segment_number(self) -> int:
        """The segment of DICOM-SEG files where no structure is named."""
        return 1 if self.reading.segment_number is None else self.reading.segment_number


@dataclass(frozen=True)
class CaseJob:
    """One case with the options, as it travels to a worker."""

    case: Case
    options: ScoringOptions
    threads: int | None = None


@dataclass
class _Remarks:
    """What has to be said about a case, gathered on the way; `gt` once that was read."""

    notes: list[str] = field(default_factory=list)
    spacing_assumed: bool = False
    outside: int = 0  # foreground voxels of the prediction beyond the ground truth's image
    together: Literal["", "gt", "pred"] = ""  # whose several labels were taken for one foreground
    unnamed: dict[str, str] = field(default_factory=dict)  # structures without such a region
    gt: Reading | None = None


def score_case(job: CaseJob) -> Record:
    """Return the record of one case: status and values of each structure, or the failure of the whole case."""
    remarks = _Remarks()
    try:
        return _scored(job, remarks)
    except SegaugeError as error:
        known = None
        if remarks.gt is not None:
            with suppress(SegaugeError):
                known = _known_of(remarks.gt, job)
        # What the ground truth alone cannot be measured for is not charged to the prediction.
        status = Status.GROUND_TRUTH_UNREADABLE if known is None else _status_of(error)
        reason = str(error) if known is None else _reason(error, status, job.options)
        return failure(status, reason, error=type(error).__name__, notes=remarks.notes) | (known or {})


def look_at_ground_truth(job: CaseJob) -> Record:
    """Return what the ground truth of a case says by itself, {} where it cannot be read: for a case that crashed."""
    try:
        return _known_of(_read(job.case.gt, job.case, job.options), job)
    except SegaugeError:
        return {}


def failure(status: Status, reason: str, *, error: str = "", notes: list[str] | None = None) -> Record:
    """Return the record of a case that has no scores at all."""
    return {"status": status.value, "reason": reason, "error": error, "notes": notes or []}


def is_repeatable(record: Record) -> bool:
    """Say whether the same files would give the same record again: crashes and missing software would not."""
    return record["status"] != Status.FAILED.value and record.get("error") != MissingExtra.__name__


def _status_of(error: SegaugeError) -> Status:
    if isinstance(error, (GridMismatch, ShapeMismatch)):
        return Status.REFUSED
    if isinstance(error, (UnreadableFile, MissingExtra)):
        return Status.UNREADABLE
    return Status.FAILED


def _scored(job: CaseJob, remarks: _Remarks) -> Record:
    case, options = job.case, job.options
    gt = _read(case.gt, case, options)
    remarks.notes += [f"gt: {note}" for note in gt.notes]
    remarks.spacing_assumed = _is_spacing_assumed(gt, options)
    remarks.gt = gt
    if case.pred is None:
        missing = failure(Status.PREDICTION_MISSING, "there is no prediction for this case", notes=remarks.notes)
        return missing | _known_of(gt, job)
    threshold = options.reading.threshold
    pred = _read(case.pred, case, options, reference=gt.reference, threshold=threshold, of_pred=True)
    remarks.notes += _notes_on_prediction(pred, options)
    placed = place(
        pred.labels,
        gt.labels,
        resample=options.reading.resample,
        trust_array=options.reading.trust_array,
        any_frame_of_reference=options.reading.any_frame_of_reference,
    )
    remarks.notes += placed.notes
    remarks.outside = placed.outside
    if placed.gt.partial and "specificity" in options.metrics:
        remarks.notes.append("gt: does not store the size of its image: specificity covers the stored part only")
    layers = LayerPairs(placed.pred, placed.gt, job.threads)
    pairs = _pair(layers, pred, gt, job, remarks)
    if not pairs.gt:  # "all" structures of two empty masks are none
        return {**_located(placed.gt, remarks), "structures": {}, "in_gt": [], "counts": {}}
    measured = measure_layers(
        layers,
        Labeling(pairs.gt, options.spec.ignore),
        Labeling(pairs.pred),
        resolve_metrics(options.metrics),
        options.measured(job.threads),
        options.measuring.nsd_tolerance,
        case_id=case.case_id,
    )
    return {**_located(placed.gt, remarks), **_scores(measured), "counts": _counts(layers, pairs, options)}


def _read(
    source: Source,
    case: Case,
    options: ScoringOptions,
    *,
    reference: LabelMap | ReferenceGrid | None = None,
    threshold: float | None = None,
    of_pred: bool = False,
) -> Reading:
    """Read one side; the contours of a predicted structure set are filled on the ground truth's grid.

    Only a prediction is cut at a threshold: a ground truth holds labels, and cutting would make one of all of them.
    """
    if of_pred and options.reading.untrusted and isinstance(source, (str, os.PathLike)):
        path = Path(source)
        refuse_links(path, companions(path) if path.is_file() else ())
    return read_labels(
        source,
        spacing=case.spacing if not isinstance(source, LabelMap) else None,
        reference=reference,
        threshold=threshold,
        frame=options.reading.frame,
        nan=options.reading.nan,
        allow_nonuniform=options.reading.allow_nonuniform,
        any_frame_of_reference=options.reading.any_frame_of_reference,
        limits=options.reading.limits(of_pred=of_pred),
    )


def _reason(error: SegaugeError, status: Status, options: ScoringOptions) -> str:
    """Return why a prediction has no scores; where it comes from a stranger, without any word of its header."""
    if (
        options.reading.untrusted
        and status is not Status.REFUSED
        and not isinstance(error, (MissingExtra, UnusableOption))
    ):
        return f"the prediction cannot be read or measured ({type(error).__name__}); `segauge doctor` shows why"
    return str(error)


def _notes_on_prediction(pred: Reading, options: ScoringOptions) -> list[str]:
    if options.reading.untrusted and pred.notes:
        return [f"pred: {counted(len(pred.notes), 'remark')} on its file; `segauge doctor` prints them"]
    return [f"pred: {note}" for note in pred.notes]


def _is_spacing_assumed(gt: Reading, options: ScoringOptions) -> bool:
    """Say whether millimetres are taken for voxels; refuse that where the file should have known better."""
    in_mm = [info.key for info in resolve_metrics(options.metrics) if is_in_mm(info)]
    if gt.spacing_source is SpacingSource.UNUSABLE and in_mm:
        shown = ", ".join(in_mm[:3]) + (" ..." if len(in_mm) > 3 else "")
        raise UnreadableFile(
            f"{gt.labels.source}: its header holds no usable voxel edges, so {shown} cannot be had in mm. Pass "
            f"{option('spacing', ...)} in mm per axis, or only metrics that count voxels, such as dice."
        )
    return gt.spacing_source is SpacingSource.ASSUMED and gt.format != "array" and bool(in_mm)


def _pair(layers: LayerPairs, pred_reading: Reading, gt_reading: Reading, job: CaseJob, remarks: _Remarks) -> LabelPair:
    """Return which labels make which structure, and remark what nobody asked for."""
    options = job.options
    pred_counts = layers.pred_counts()
    pairs = label_pair(
        options.spec,
        Side(gt_reading, layers.gt_labels()),
        Side(pred_reading, tuple(sorted(label for label in pred_counts if label))),
        options.segment_number,
    )
    for reading, structures in ((gt_reading, pairs.gt), (pred_reading, pairs.pred)):
        _refuse_unfilled(reading, structures, everything=options.spec.mode == "foreground")
    shown = [f"{label} ({pred_counts[label]} voxels)" for label in pairs.unknown]
    if shown:
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        remarks.notes.append(f"pred: has labels that were not asked for: {', '.join(shown[:8])}{more}")
    moved = [
        f"{name!r} (label {number}) is its label {' and '.join(map(str, labels))}"
        for number, (name, labels) in pairs.by_name.items()
    ]
    if moved:
        remarks.notes.append(f"pred: numbers its labels otherwise; found by name: {', '.join(moved)}")
    lacking = [f"{number}, which is {word!r} there" for number, word in pairs.otherwise.items()]
    if lacking:
        remarks.notes.append(f"pred: has nothing for these labels of the ground truth: {'; '.join(lacking)}")
    remarks.unnamed = _unnamed(options.spec, gt_reading, pairs.gt)
    remarks.notes += [f"gt: {words}" for words in remarks.unnamed.values()]
    if options.spec.mode == "foreground" and len(pairs.gt["foreground"]) > 1:
        remarks.together = "gt"
        remarks.notes.append(
            f"gt: its {len(pairs.gt['foreground'])} labels were taken together as foreground; "
            f"{option('structures', 'all')} measures each"
        )
    elif options.spec.mode == "foreground" and len(pairs.pred["foreground"]) > 1:
        remarks.together = "pred"
        names = [pred_reading.labels.names.get(label) or f"label {label}" for label in pairs.pred["foreground"]]
        listed = ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
        remarks.notes.append(f"pred: {listed} were taken together, against one label of the ground truth")
    return pairs


def _unnamed(spec: StructureSpec, gt: Reading, found: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """Return the structures asked for by names that the regions of a patient do not have, each with what these are.

    In a folder of masks a missing file says that there was nothing to draw; a region list in other words does not.
    """
    names = gt.labels.names
    if spec.mode != "named" or gt.format not in _WITH_REGIONS or not names:
        return {}
    asked = (name for name, parts in spec.parts.items() if all(isinstance(part, str) for part in parts))
    return {
        name: words.region_not_found(name, names.values()) for name in asked if names.keys().isdisjoint(found[name])
    }


def _refuse_unfilled(reading: Reading, structures: Mapping[str, tuple[int, ...]], *, everything: bool) -> None:
    """Refuse to measure what a file has but its label map lacks: it would count as missed, or as not there at all."""
    for name, labels in structures.items():
        if reading.unfilled if everything else reading.unfilled & set(labels):
            raise GridMismatch(
                f"{reading.labels.source}: the contours of {name!r} lie oblique to the grid, and cannot be filled. "
                "Give both sides on the images that they were drawn on."
            )


def _counts(layers: LayerPairs, pairs: LabelPair, options: ScoringOptions) -> dict[str, list[int]]:
    """Return the voxels (TP, FP, FN, TN) of each structure."""
    found = {name: layers.overlap(pairs.pred[name], pairs.gt[name], options.spec.ignore) for name in pairs.gt}
    return {name: [one.tp, one.fp, one.fn, one.tn] for name, one in found.items()}


def _known_of(gt: Reading, job: CaseJob) -> Record:
    """Return what a ground truth says by itself: which structures a prediction should have had."""
    labels = gt.labels
    found = {label for layer in labels.layers for label in tabulate(layer, layer, threads=job.threads).gt_labels}
    side = Side(gt, tuple(sorted(found)))
    pairs = label_pair(replace(job.options.spec, pred_parts=None), side, side, job.options.segment_number)
    in_gt = [name for name, values in pairs.gt.items() if found & set(values)]
    return {"in_gt": in_gt, "ndim": labels.grid.ndim, "diagonal_mm": labels.grid.diagonal_mm}


def _located(gt: LabelMap, remarks: _Remarks) -> Record:
    """Return what is said of a case that could be compared, whatever its scores."""
    return {
        "status": "",
        "reason": "",
        "notes": remarks.notes,
        "spacing_assumed": remarks.spacing_assumed,
        "outside": remarks.outside,
        "one_slice": gt.grid.ndim == 3 and 1 in gt.grid.shape,
        "together": remarks.together,
        "unnamed": remarks.unnamed,
        "ndim": gt.grid.ndim,
        "diagonal_mm": gt.grid.diagonal_mm,
    }


def _scores(measured: Measurement) -> Record:
    """Return status, reason and values of each structure, and which of them the ground truth has."""
    table = measured.table
    structures: dict[str, Any] = {}
    in_gt: list[str] = []
    for j, name in enumerate(table.structures):
        status = measured.status(name)
        values = [None if np.isnan(value) else float(value) for value in table.values[0, j]]
        structures[name] = [status.value, table.details(table.cases[0], name), values]
        if status in (Status.PRESENT, Status.MISSED):
            in_gt.append(name)
    return {"structures": structures, "in_gt": in_gt}


def source_name(source: Source | None) -> str:
    """Return what a protocol calls a source: the name of the file or folder, or "array"."""
    if source is None:
        return ""
    return Path(source).name if isinstance(source, (str, os.PathLike)) else "array"
