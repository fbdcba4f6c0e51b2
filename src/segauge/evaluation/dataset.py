"""evaluate(): a dataset of cases -> EvaluationResult."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Literal

from segauge import errors
from segauge.errors import (
    FileTooLarge,
    InvalidInput,
    IrregularSeries,
    SegaugeError,
    UnknownStructure,
    UnreadableFile,
    UnusableOption,
)
from segauge.evaluation.cases import Case
from segauge.evaluation.collection import score_table
from segauge.evaluation.progress import Progress, watched
from segauge.evaluation.result import EvaluationResult
from segauge.evaluation.scoring import (
    CaseJob,
    Record,
    ScoringOptions,
    failure,
    is_repeatable,
    look_at_ground_truth,
    score_case,
    source_name,
)
from segauge.evaluation.structure_spec import Labels, StructureChoice, spec_of
from segauge.executors import Crash, run
from segauge.geometry.engine import engine
from segauge.geometry.patterns import SurfaceKind, check_surface
from segauge.io import Limits
from segauge.io.contents import content_hash
from segauge.io.journal import Journal, open_journal
from segauge.labeling import Labeling
from segauge.metrics.catalog import DEFAULT_METRICS, resolve_metrics
from segauge.metrics.definitions.noise import FLOORED, noise_keys
from segauge.metrics.surface import HdMode
from segauge.nouns import counted
from segauge.scores import Status
from segauge.stats.missing import AUTO, MissingPolicy
from segauge.stats.resampling import require_level, require_resamples, require_seed

#: Counted up where records of cases say more or other things than before: those of an older cache are made again.
_RECORDS = 3

#: Errors that say that a file cannot be read.
_OF_FILES = tuple(kind.__name__ for kind in (UnreadableFile, FileTooLarge, IrregularSeries))

#: Metrics of lesions that are measured beside the usual ones.
DETECTION_METRICS = ("det_f1", "det_precision", "det_recall")


def evaluate(
    cases: Iterable[Case],
    *,
    nsd_tolerance: float | Mapping[str, float] = 1.0,
    detection: bool = True,
    detection_iou: float = 0.1,
    label: int | None = None,
    segment_number: int = 1,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    structures: StructureChoice | None = None,
    pred_structures: Mapping[str, Labels] | Labeling | None = None,
    allow_absent: bool = False,
    metrics: str | Iterable[str] | None = None,
    noise_floor: bool = False,
    surface: SurfaceKind = "marching-cubes",
    hd: HdMode = "directed",
    convention: str | None = None,
    ignore: int | None = None,
    resample: Literal["nearest"] | None = None,
    trust_array: bool = False,
    any_frame_of_reference: bool = False,
    threshold: float | None = None,
    max_voxels: int = Limits().max_voxels,
    frame: int | None = None,
    nan: Literal["refuse", "background"] = "refuse",
    allow_nonuniform: bool = False,
    policy: MissingPolicy = AUTO,
    jobs: int | None = None,
    executor: Any = None,
    timeout: float | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = False,
    on_error: Literal["record", "raise"] = "record",
) -> EvaluationResult:
    """Measure every case and return the scores, with intervals on demand.

    A case that cannot be read, compared or measured becomes rows with a status and the reason. With `cache`, finished
    cases are kept on disk: the same call goes on where it was stopped, and measures again only cases whose files or
    options have changed.

    Args:
        cases: the cases; may be a generator, they are taken as workers become free.
        nsd_tolerance: tolerance of the normalised surface distance in mm, one number or one per structure.
        detection: measure the detection of lesions, too.
        detection_iou: IoU from which a lesion counts as found.
        label: measure only this label. Without it and `structures`, every non-zero voxel is one structure.
        segment_number: the segment of DICOM-SEG files, where neither `structures` nor `label` is given.
        confidence: level of the intervals.
        n_resamples: resamples of the intervals.
        seed: of the resamples.
        structures: names, label values, `{"kidneys": [1, 2]}`, a Labeling, the path of a dataset.json or YAML file, or
            "all" for every label that occurs in a ground truth. One that occurs in no ground truth is an error. By
            default (or "foreground") all that is not 0 is one structure.
        pred_structures: the same structures in predictions that number their labels otherwise: `{"kidneys": [7, 8]}`.
        allow_absent: take a named structure that occurs in no ground truth for absent everywhere, instead of refusing.
        metrics: keys of the catalog; the usual ones if not given.
        noise_floor: measure also how much dice, hd, hd95, assd, masd and nsd, where they are measured, move with the
            place of the voxel grid (see `segauge.noise_floor`): takes about as long as 16 measurements.
        surface: "marching-cubes", "voxel" or "subvoxel" (see compute_surface_distances).
        hd: "directed" or "pooled" percentiles of the Hausdorff distance.
        convention: "monai", "medpy", "surface-distance" or "meshmetrics" for surface metrics as that tool defines them.
        ignore: ground-truth label whose voxels count for nothing.
        resample: "nearest" to resample predictions that lie on another grid.
        trust_array: compare voxel by voxel, whatever the headers say.
        any_frame_of_reference: compare DICOM files of different frames of reference.
        threshold: take predicted probabilities of at least this value as foreground; ground truths hold labels.
        max_voxels: largest image that is read.
        frame: which volume of a time series, from 0.
        allow_nonuniform: fill contours also on a tilted series, or one whose slices are unevenly spaced.
        nan: "refuse" images with NaN or infinite voxels, or take these as "background".
        policy: what cases without a number count as in summaries.
        jobs: worker processes; 1 and in this process if not given.
        executor: "serial", "processes", "dask", the address of a dask scheduler, or a dask client.
        timeout: seconds for one case; needs processes.
        cache: folder that keeps finished cases.
        progress: show a progress bar.
        on_error: "record" failures, or "raise" the first one.

    Raises:
        InvalidInput: if the arguments cannot be used, two cases share an id, or a structure occurs in no ground truth.
        UnusableOption: if an option, such as a spacing of two numbers for volumes, fails for every case alike.
        CacheUnusable: if the cache folder cannot be written or another run is using it.

    """
    # Before anything is measured: nobody should wait for hours to be told of a mistyped level.
    _check_summary(confidence, n_resamples, seed, policy)
    options = ScoringOptions(
        spec_of(
            structures, label=label, ignore=ignore, pred_structures=pred_structures, allow_absent=allow_absent
        ),
        _metric_keys(metrics, detection, noise_floor), nsd_tolerance, check_surface(surface), hd, convention,
        detection_iou, segment_number, resample, trust_array, any_frame_of_reference, threshold, max_voxels, frame, nan,
        allow_nonuniform,
    )  # fmt: skip
    with ExitStack() as stack:
        journal = None if cache is None else stack.enter_context(open_journal(cache))
        bar = stack.enter_context(watched(_length(cases))) if progress else None
        dataset = _Dataset(options, journal, bar, on_error, _threads(jobs, executor))
        dataset.measure(cases, executor=executor, jobs=jobs, timeout=timeout)
    return dataset.result(confidence, n_resamples, seed, policy)


def _check_summary(confidence: float, n_resamples: int, seed: int, policy: MissingPolicy) -> None:
    require_level(confidence)
    require_resamples(n_resamples)
    require_seed(seed)
    if not isinstance(policy, MissingPolicy):
        raise InvalidInput(f'policy: expected a MissingPolicy, such as MissingPolicy(failed="worst"), got {policy!r}.')


def _metric_keys(metrics: str | Iterable[str] | None, detection: bool, noise_floor: bool) -> tuple[str, ...]:
    """Return the keys of the metrics that were asked for, or of the usual ones; perhaps with their noise floors."""
    wanted = (*DEFAULT_METRICS, *(DETECTION_METRICS if detection else ())) if metrics is None else metrics
    keys = tuple(info.key for info in resolve_metrics(wanted))
    if not keys:
        raise InvalidInput("metrics: expected at least one metric, got none; leave it out for the usual ones.")
    floors = noise_keys(keys) if noise_floor else ()
    if noise_floor and not floors:
        raise InvalidInput(
            f"noise_floor=True needs one of {', '.join(FLOORED)} among the metrics, got {', '.join(keys)}."
        )
    return (*keys, *(key for key in floors if key not in keys))


def _length(cases: Iterable[Case]) -> int | None:
    """Return the number of cases where it is known without taking them."""
    return len(cases) if isinstance(cases, (list, tuple)) else None


def _threads(jobs: int | None, executor: Any) -> int | None:
    """Return the threads of one worker: the cores are shared between the workers."""
    if (jobs or 1) == 1 and executor in (None, "serial", "processes"):
        return None
    return max(1, (os.cpu_count() or 1) // (jobs or os.cpu_count() or 1))


class _Kept:
    """What stays of a case after it was measured: no image."""

    def __init__(self, case: Case) -> None:
        self.metadata = dict(case.metadata)
        self.spacing = case.spacing
        self.names = {"pred": source_name(case.pred), "gt": source_name(case.gt)}
        self.hashes: dict[str, str | None] = {}
        self.key: str | None = None


class _Dataset:
    """A run: takes cases one by one, asks the journal, has the rest measured, and keeps the records."""

    def __init__(
        self, options: ScoringOptions, journal: Journal | None, bar: Progress | None, on_error: str, threads: int | None
    ) -> None:
        if on_error not in ("record", "raise"):
            raise InvalidInput(f"on_error: expected 'record' or 'raise', got {on_error!r}.")
        self._options, self._journal, self._bar = options, journal, bar
        self._on_error, self._threads = on_error, threads
        self.cases: dict[str, _Kept] = {}
        self._records: dict[str, Record] = {}

    def measure(self, cases: Iterable[Case], **how: Any) -> None:
        """Measure all cases; of those whose measurement crashed, look at the ground truth alone at the end."""
        sent: dict[int, CaseJob] = {}
        crashed: list[tuple[CaseJob, Crash]] = []
        for outcome in run(score_case, self._jobs(cases, sent), **how):
            job, record = sent.pop(outcome.index), outcome.result
            if isinstance(record, Crash):
                crashed.append((job, record))
                continue
            key = self.cases[job.case.case_id].key
            if self._journal is not None and key is not None and is_repeatable(record):
                self._journal.add(key, record)
            self._keep(job.case.case_id, record)
        if not self.cases:
            raise InvalidInput("Expected at least one case to evaluate, got none.")
        for outcome in run(look_at_ground_truth, [job for job, _ in crashed], **how) if crashed else ():
            job, crash = crashed[outcome.index]
            known = {} if isinstance(outcome.result, Crash) else outcome.result
            self._keep(job.case.case_id, failure(Status.FAILED, crash.reason) | known)

    def _jobs(self, cases: Iterable[Case], sent: dict[int, CaseJob]) -> Iterator[CaseJob]:
        """Yield the cases that must be measured; the journal's are kept at once."""
        number = 0
        for case in cases:
            if not isinstance(case, Case):
                raise InvalidInput(f"cases: expected segauge.Case, got {type(case).__name__}.")
            if case.case_id in self.cases:
                raise InvalidInput(f"Two cases are called {case.case_id!r}: give each case an id of its own.")
            kept = self.cases[case.case_id] = _Kept(case)
            kept.hashes = {"pred": _hash(case.pred), "gt": _hash(case.gt)}
            kept.key = self._key(case, kept)
            known = None if self._journal is None or kept.key is None else self._journal.get(kept.key)
            if known is not None:
                self._keep(case.case_id, known)
                continue
            sent[number] = CaseJob(case, self._options, self._threads)
            yield sent[number]
            number += 1

    def _key(self, case: Case, kept: _Kept) -> str | None:
        if kept.hashes["gt"] is None or (case.pred is not None and kept.hashes["pred"] is None):
            return None
        # Names stand in messages and notes, so a file of the same content elsewhere is another case.
        names = [str(source) if isinstance(source, (str, os.PathLike)) else "" for source in (case.pred, case.gt)]
        parts = [_RECORDS, _versions(), self._options.to_dict(), case.case_id, names, kept.hashes, case.spacing]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _keep(self, case: str, record: Record) -> None:
        self._records[case] = record
        if record["status"] and self._on_error == "raise":
            kind = getattr(errors, record.get("error") or "SegaugeError", SegaugeError)
            raise kind(f"Case {case!r}: {record['reason']}")
        if self._bar is not None:
            self._bar.advance(failed=bool(record["status"]))

    def result(self, confidence: float, n_resamples: int, seed: int, policy: MissingPolicy) -> EvaluationResult:
        """Return the scores of all cases, in the order in which these came."""
        records = {case: self._records[case] for case in self.cases}
        _refuse_mistaken_option(records, self._options)
        table, warnings = score_table(records, self._options)
        statistics = {"confidence": confidence, "n_resamples": n_resamples, "seed": seed, "policy": asdict(policy)}
        return EvaluationResult(
            table,
            resolve_metrics(self._options.metrics),
            {case: kept.metadata for case, kept in self.cases.items()},
            {case: tuple(record["notes"]) for case, record in records.items() if record["notes"]},
            tuple(warnings),
            _voxel_counts(records),
            self._protocol(statistics),
            confidence,
            n_resamples,
            seed,
            policy,
        )

    def _protocol(self, statistics: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is needed to get the same numbers again."""
        files = {
            case: {
                **{side: {"name": kept.names[side], "sha256": kept.hashes[side]} for side in ("pred", "gt")},
                **({} if kept.spacing is None else {"spacing": kept.spacing}),
            }
            for case, kept in self.cases.items()
        }
        return {
            "versions": _versions(),
            "options": self._options.to_dict(),
            "statistics": dict(statistics),
            "files": files,
        }


def _refuse_mistaken_option(records: Mapping[str, Record], options: ScoringOptions) -> None:
    """Refuse what was asked for where it alone is why no case has a number: nobody's prediction is to blame."""
    readable = [record for record in records.values() if record.get("error") not in _OF_FILES]
    if readable and all(_is_mistake(record, options) for record in readable):
        raise UnusableOption(
            f"{readable[0]['reason'].rstrip('.')}. It is the same in {counted(len(readable), 'case')}: nothing was "
            "measured."
        )


def _is_mistake(record: Record, options: ScoringOptions) -> bool:
    """Say whether a case failed by what was asked for: of its ground truth, or of a label map cut at a threshold."""
    if record.get("error") == UnusableOption.__name__:
        return True
    if record["status"] == Status.GROUND_TRUTH_UNREADABLE.value:
        return record.get("error") in (InvalidInput.__name__, UnknownStructure.__name__)
    return options.threshold is not None and record.get("error") == InvalidInput.__name__


def _voxel_counts(records: Mapping[str, Record]) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    return {
        (case, name): (found[0], found[1], found[2], found[3])
        for case, record in records.items()
        for name, found in record.get("counts", {}).items()
    }


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    return {"segauge": version("segauge"), "numpy": version("numpy"), "engine": engine().__name__.rpartition(".")[2]}


def _hash(source: Any) -> str | None:
    """Return the content hash of a source, None where it cannot be read: the reader will say why."""
    if source is None:
        return None
    try:
        return content_hash(source)
    except (UnreadableFile, OSError, ValueError):
        return None
