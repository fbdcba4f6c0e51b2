"""Jobs: one model on one image, self-contained, so that any worker on any machine can do it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segauge import read_labels
from segauge.errors import SegaugeError, UnreadableFile
from segauge.io.formats import identify
from segbench.locks import held
from segbench.planning import Prediction
from segbench.prediction.cache import SUFFIX, Entry
from segbench.prediction.remote import RemoteAnswer
from segbench.prediction.running import Ended, run_command


@dataclass(frozen=True)
class Job:
    """One prediction to make.

    Attributes:
        model, case_id: whose it is.
        argv: the command, which reads `input`, a copy of `image`, and writes to `output`.
        image: the file or folder of the dataset, which no model is told of.
        withheld: the ground truth, which is not copied where it lies in the folder of the image.
        entry: where it is kept.
        facts: what the description in the cache says about it.
        gpu: whether it needs one.
        only_cached: take it from the cache or not at all.

    """

    model: str
    case_id: str
    argv: tuple[str, ...]
    image: Path
    entry: Entry
    withheld: Path | None = None
    timeout_s: float | None = None
    memory_gb: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    gpu: bool = False
    only_cached: bool = False

    @property
    def input(self) -> Path:
        """Where the command reads."""
        return input_of(self.entry, self.image)

    @property
    def output(self) -> Path:
        """Where the command writes."""
        return output_of(self.entry)


def input_of(entry: Entry, image: Path) -> Path:
    """Return where a command finds its copy of an image: in a folder that holds nothing else."""
    return entry.work / "image" / image.name


def output_of(entry: Entry) -> Path:
    """Return where the command is to write the label map of an entry."""
    return entry.work / f"prediction{SUFFIX}"


def do(job: Job) -> Prediction:
    """Return the prediction of a job: from the cache, or made now; a failure is a prediction without a file."""
    with held(job.entry.lock):
        described = job.entry.found()
        if described is not None:
            return _kept(job, described)
        if job.only_cached:
            return Prediction(job.model, job.case_id, failure="has not been predicted yet")
        shutil.rmtree(job.entry.work, ignore_errors=True)
        job.entry.work.mkdir(parents=True)
        try:
            return _made(job)
        finally:
            shutil.rmtree(job.entry.work, ignore_errors=True)


def found(job: Job) -> Prediction | None:
    """Return the prediction of a job if the cache has it."""
    described = job.entry.found()
    return None if described is None else _kept(job, described)


def keep_answer(job: Job, answer: RemoteAnswer | BaseException) -> Prediction:
    """Put what another machine predicted into the cache; what went wrong there is the failure."""
    if isinstance(answer, BaseException):
        return Prediction(job.model, job.case_id, failure=f"{type(answer).__name__}: {answer}")
    with held(job.entry.lock):
        shutil.rmtree(job.entry.work, ignore_errors=True)
        job.entry.work.mkdir(parents=True)
        try:
            job.entry.log.write_bytes(answer.log)
            if answer.output is not None:
                job.output.write_bytes(answer.output)
            return _judged(job, Ended(answer.seconds, answer.failure))
        finally:
            shutil.rmtree(job.entry.work, ignore_errors=True)


def _kept(job: Job, described: Mapping[str, Any]) -> Prediction:
    return Prediction(job.model, job.case_id, str(job.entry.file), described["sha256"], seconds=described["seconds"])


def _made(job: Job) -> Prediction:
    """Run the command on a copy of the image and keep its output; return the failure if none can be used."""
    try:
        _hand_over(job)
    except (OSError, SegaugeError) as error:
        return Prediction(job.model, job.case_id, failure=_without_paths(f"the image cannot be copied: {error}", job))
    ended = run_command(
        job.argv,
        job.entry.log,
        timeout_s=job.timeout_s,
        memory_gb=job.memory_gb,
        variables=job.variables,
        folder=job.entry.work,
    )
    return _judged(job, ended)


def _hand_over(job: Job) -> None:
    """Copy the image, with the files that it needs, for the command: what lies beside it may be the ground truth."""
    target = job.input
    target.parent.mkdir()
    withheld = None if job.withheld is None else job.withheld.resolve()

    def left_out(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if (Path(folder) / name).resolve() == withheld]

    if job.image.is_dir():
        shutil.copytree(job.image, target, ignore=left_out)
        return
    shutil.copyfile(job.image, target)
    with contextlib.suppress(UnreadableFile):  # the model will say what is wrong with it
        for other in identify(job.image).companions(job.image):
            if other.resolve() != withheld:
                shutil.copyfile(other, target.with_name(other.name))


def _judged(job: Job, ended: Ended) -> Prediction:
    """Return the prediction that a command left, or its failure."""
    failure = ended.failure or _unusable(job.output)
    if failure:
        return Prediction(job.model, job.case_id, failure=_without_paths(failure, job), seconds=ended.seconds)
    return _kept(
        job, job.entry.keep(job.output, ended.seconds, {**job.facts, "case_id": job.case_id, "model": job.model})
    )


def _unusable(output: Path) -> str:
    """Return why an output is no label map in space, "" if it is one."""
    if output.is_symlink() or output.parent.is_symlink():
        return "wrote a link in place of an output; expected the label map itself"
    if not output.is_file():
        return "ended without an error, but wrote no output"
    try:
        labels = read_labels(output, one_volume=True).labels
    except SegaugeError as error:
        return f"wrote an output that cannot be read: {error}"
    return "" if labels.in_space else "wrote an output without a position in space"


def _without_paths(failure: str, job: Job) -> str:
    """Return a reason that says nothing about this machine's folders: it goes into records that others read."""
    for place in (job.entry.work, job.entry.folder):
        failure = failure.replace(f"{place}/", "").replace(str(place), ".")
    return failure.replace(str(Path.home()), "~")
