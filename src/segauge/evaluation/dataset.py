"""evaluate(): a dataset of cases -> EvaluationResult."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
from segauge.evaluation.structures import spec_of
from segauge.executors import Crash, run
from segauge.geometry.engine import engine
from segauge.io.contents import content_hash
from segauge.io.journal import Journal, open_journal
from segauge.io.outputs import without_folders
from segauge.metrics.catalog import resolve_metrics
from segauge.options import (
    Measuring,
    Options,
    Reading,
    Running,
    Summarising,
    argument_lines,
    options_of,
    signature,
)
from segauge.plural import counted
from segauge.scores import Status

#: Counted up where records of cases say more or other things than before: those of an older cache are made again.
_RECORDS = 5

#: Errors that say that a file cannot be read.
_OF_FILES = tuple(kind.__name__ for kind in (UnreadableFile, FileTooLarge, IrregularSeries))


def evaluate(
    cases: Iterable[Case],
    *,
    reading: Reading | None = None,
    measuring: Measuring | None = None,
    summarising: Summarising | None = None,
    running: Running | None = None,
    **options: Any,
) -> EvaluationResult:
    """Measure every case and return the scores, with intervals on demand.

    A case that cannot be read, compared or measured becomes rows with a status and the reason. With `cache`, finished
    cases are kept on disk: the same call resumes where it was stopped, and measures again only cases whose files or
    options have changed.

    Args:
        cases: the cases; may be a generator, they are taken as workers become free.
        reading, measuring, summarising, running: options in groups (`segauge.options`); single options win over them.
    {options}

    Raises:
        InvalidInput: if the arguments cannot be used, two cases share an id, or a structure occurs in no ground truth.
        UnusableOption: if an option, such as a spacing of two numbers for volumes, fails for every case alike.
        CacheUnusable: if the cache folder cannot be written or another run is using it.

    """
    base = Options(reading or Reading(), measuring or Measuring(), summarising or Summarising(), running or Running())
    # Before anything is measured: nobody should wait for hours to be told of a mistyped level.
    chosen = options_of(options, base)
    running = chosen.running
    scoring = ScoringOptions(
        spec_of(chosen.measuring), chosen.measuring.metric_keys(), chosen.measuring, chosen.reading
    )
    with ExitStack() as stack:
        journal = None if running.cache is None else stack.enter_context(open_journal(running.cache))
        bar = stack.enter_context(watched(_length(cases))) if running.progress else None
        dataset = _Dataset(scoring, journal, bar, running.on_error, _threads(running.jobs, running.executor))
        dataset.measure(cases, executor=running.executor, jobs=running.jobs, timeout=running.timeout)
    return dataset.result(chosen.summarising)


# The arguments of `evaluate` in full, for help() and editors; they are written once, in segauge.options.
evaluate.__signature__ = signature(evaluate)  # type: ignore[attr-defined]
evaluate.__doc__ = (evaluate.__doc__ or "").replace("    {options}", "\n".join(argument_lines()))


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
        sides = (("pred", case.pred), ("gt", case.gt))
        self.folders = [(side, Path(one).parent) for side, one in sides if isinstance(one, (str, os.PathLike))]
        self.hashes: dict[str, str | None] = {}
        self.key: str | None = None


class _Dataset:
    """A run: takes cases one by one, asks the journal, has the rest measured, and keeps the records."""

    def __init__(
        self, options: ScoringOptions, journal: Journal | None, bar: Progress | None, on_error: str, threads: int | None
    ) -> None:
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
            record = without_folders(record, self.cases[job.case.case_id].folders)
            key = self.cases[job.case.case_id].key
            if self._journal is not None and key is not None and is_repeatable(record):
                self._journal.add(key, record)
            self._keep(job.case.case_id, record)
        if not self.cases:
            raise InvalidInput("Expected at least one case to evaluate, got none.")
        for outcome in run(look_at_ground_truth, [job for job, _ in crashed], **how) if crashed else ():
            job, crash = crashed[outcome.index]
            known = {} if isinstance(outcome.result, Crash) else outcome.result
            # What an exception says of a stranger's file may be a text of its header; its name is none.
            reason = crash.reason.partition(":")[0] if self._options.reading.untrusted else crash.reason
            record = failure(Status.FAILED, reason) | known
            self._keep(job.case.case_id, without_folders(record, self.cases[job.case.case_id].folders))

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
            known = self._known(kept)
            if known is not None:
                self._keep(case.case_id, known)
                continue
            sent[number] = CaseJob(case, self._options, self._threads)
            yield sent[number]
            number += 1

    def _key(self, case: Case, kept: _Kept) -> str | None:
        """Return what decides whether a case was measured: contents and options, not where its files lie."""
        if kept.hashes["gt"] is None or (case.pred is not None and kept.hashes["pred"] is None):
            return None
        parts = [_RECORDS, _versions(), self._options.to_dict(), case.case_id, kept.names, kept.hashes, case.spacing]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _known(self, kept: _Kept) -> Record | None:
        """Return the record of a case that was measured."""
        return None if self._journal is None or kept.key is None else self._journal.get(kept.key)

    def _keep(self, case: str, record: Record) -> None:
        self._records[case] = record
        if record["status"] and self._on_error == "raise":
            kind = getattr(errors, record.get("error") or "SegaugeError", SegaugeError)
            raise kind(f"Case {case!r}: {record['reason']}")
        if self._bar is not None:
            self._bar.advance(failed=bool(record["status"]))

    def result(self, how: Summarising) -> EvaluationResult:
        """Return the scores of all cases, in the order in which these came."""
        records = {case: self._records[case] for case in self.cases}
        _refuse_mistaken_option(records, self._options)
        table, warnings = score_table(records, self._options)
        diagonals = [float(record["diagonal_mm"]) for record in records.values() if record.get("diagonal_mm")]
        diagonal = max(diagonals, default=None)
        return EvaluationResult(
            table,
            resolve_metrics(self._options.metrics),
            {case: kept.metadata for case, kept in self.cases.items()},
            {case: tuple(record["notes"]) for case, record in records.items() if record["notes"]},
            tuple(warnings),
            _voxel_counts(records),
            self._protocol({**how.to_dict(), "diagonal_mm": diagonal}),
            how.confidence,
            how.n_resamples,
            how.seed,
            how.policy,
            how.ci,
            how.statistic,
            diagonal,
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
    return options.reading.threshold is not None and record.get("error") == InvalidInput.__name__


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
