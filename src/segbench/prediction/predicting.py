"""predict(): models and cases -> label maps, through the cache, on any executor."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.executors import Crash, run
from segauge.io.contents import path_hash
from segbench.planning import Prediction
from segbench.prediction.cache import entry_of
from segbench.prediction.environments import (
    CLOUD_MACHINE,
    Environment,
    EnvironmentFailed,
    environment_key,
    environments_folder,
    is_made,
    lock_digest,
    make_environment,
)
from segbench.prediction.jobs import Job, do, input_of, output_of
from segbench.prediction.jobs import found as found_in_cache
from segbench.prediction.modal_cloud import on_modal
from segbench.prediction.remote import PROGRAMS
from segbench.records.files import portable
from segbench.registry import DatasetCase, Model, Progress

#: The interpreter on another machine, which says there where it is.
_THERE = Path(PROGRAMS) / "python"


def count_gpus() -> int:
    """Return how many NVIDIA GPUs this machine has, by asking its driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    try:
        found = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in found.stdout.splitlines()) if found.returncode == 0 else 0


def chosen_device(asked: str, gpus: int) -> str:
    """Return the device to run on: "auto" is the GPU where there is one."""
    if asked == "auto":
        return "cuda" if gpus else "cpu"
    kind, _, number = asked.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()) or (kind == "cpu" and number):
        raise InvalidInput(f'device: expected "auto", "cpu", "cuda" or "cuda:0", got {asked!r}.')
    return asked


@dataclass(frozen=True)
class PredictionSettings:
    """How predictions are made; none of it changes what they are.

    Attributes:
        cache_dir: keeps predictions and, under `environments` (or in SEGBENCH_ENVIRONMENTS), those of models.
        device: "auto", "cpu", "cuda" or "cuda:1".
        timeout_s: seconds for one case of one model.
        memory_gb: address space of one command in 10^9 bytes; not applied on a GPU, whose drivers reserve far more.
        jobs: commands at a time without a GPU; on GPUs there is one at a time and device.
        executor: where the commands run, as in `segauge.executors.run`, or "modal".
        only_cached: run nothing; a prediction that the cache does not have is a failure.

    """

    cache_dir: Path = Path("predictions")
    device: str = "auto"
    timeout_s: float | None = None
    memory_gb: float | None = None
    jobs: int | None = None
    executor: Any = None
    only_cached: bool = False


@dataclass(frozen=True)
class Predictions:
    """What came of all jobs, sorted by model (in the given order) and case, and the environments that made them."""

    predictions: tuple[Prediction, ...]
    environments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def predict(
    models: Sequence[Model],
    cases: Sequence[DatasetCase],
    settings: PredictionSettings | None = None,
    progress: Progress | None = None,
) -> Predictions:
    """Return a prediction of every model for every case; what cannot be had is a failure with its reason.

    A case that a model fails on is that model's failure: nobody's test set becomes smaller, and the others go on.
    Failures are not cached: the next run tries again.
    """
    settings = settings or PredictionSettings()
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    gpus = count_gpus() if settings.device != "cpu" else 0
    device = chosen_device(settings.device, gpus)
    in_cloud = settings.executor == "modal"
    jobs: list[Job] = []
    found: list[Prediction] = []
    environments: dict[str, Mapping[str, Any]] = {}
    hashes = {case.case_id: path_hash(case.image) for case in cases}
    for model in models:
        made = _ready(model, device, settings, progress) if not in_cloud else None
        environments[model.card.name] = _described(model, made)
        if isinstance(made, str):
            found += [Prediction(model.card.name, case.case_id, failure=made) for case in cases]
        else:
            python = _THERE if in_cloud else None if made is None else made.python
            place = _cloud_device(model, settings.device) if in_cloud else device
            inside = _inside(model, made, in_cloud)
            jobs += [_job(model, case, hashes[case.case_id], place, python, inside, settings) for case in cases]
    before = {(one.model, one.case_id): one for job in jobs if (one := found_in_cache(job)) is not None}
    if in_cloud and not settings.only_cached:
        found += _done_in_cloud(models, jobs, progress)
    else:
        found += _done(jobs, settings, max(gpus, 1), progress)
    found = [_sealed(one, before) for one in found]
    order = {model.card.name: place for place, model in enumerate(models)}
    found.sort(key=lambda prediction: (order[prediction.model], prediction.case_id))
    return Predictions(tuple(found), environments)


def _sealed(made: Prediction, before: Mapping[tuple[str, str], Prediction]) -> Prediction:
    """Return a prediction; as a failure if it was in the cache before any model ran, and is another one now."""
    known = before.get((made.model, made.case_id))
    if known is None or known.sha256 == made.sha256:
        return made
    return Prediction(made.model, made.case_id, failure="its prediction in the cache was changed while models ran")


def _ready(
    model: Model, device: str, settings: PredictionSettings, progress: Progress | None
) -> Environment | str | None:
    """Return the model's environment, None if it needs none, or why it cannot be run at all."""
    if settings.only_cached and not is_made(model.requirements, environments_folder(settings.cache_dir)):
        return None
    if model.needs_gpu and device == "cpu" and not settings.only_cached:
        return "needs a GPU, and there is none (or device: cpu was asked for)"
    if not model.requirements:
        return None
    try:
        return make_environment(
            model.requirements,
            environments_folder(settings.cache_dir),
            say=None if progress is None else lambda words: progress(f"{model.card.name}: {words}", 0, 0),
        )
    except EnvironmentFailed as error:
        return str(portable(str(error)))


def _described(model: Model, made: Environment | str | None) -> Mapping[str, Any]:
    """Return what a record says about the environment."""
    if isinstance(made, Environment):
        packages = list(made.packages)
        return {"key": made.key, "lock": made.lock, "packages": packages, "packages_hash": made.packages_hash}
    if not model.requirements:
        return {}
    return {"key": environment_key(model.requirements), "lock": lock_digest(model.requirements), "packages": []}


def _inside(model: Model, made: Environment | str | None, in_cloud: bool) -> str | None:
    """Return what decides which packages a model runs with: its lock or, without one, what pip installed.

    None where that is not known: only the cache is asked, and the environment is not on this machine.
    """
    if not model.requirements:
        return ""
    digest = lock_digest(model.requirements, *(CLOUD_MACHINE if in_cloud else ()))
    if digest or in_cloud:
        return digest or "as resolved in the cloud"
    return made.packages_hash if isinstance(made, Environment) else None


def _job(
    model: Model,
    case: DatasetCase,
    image_hash: str,
    device: str,
    python: Path | None,
    inside: str | None,
    settings: PredictionSettings,
) -> Job:
    # The CPU and the GPU give slightly different masks; which one of several GPUs it was makes no difference.
    kind = device.partition(":")[0]
    facts = {
        "version": model.card.version,
        "options": dict(model.options),
        "requirements": list(model.requirements),
        "structures": {name: list(labels) for name, labels in model.card.structures.items()},
        "device": kind,
    }
    entry = entry_of(settings.cache_dir.resolve(), model.card.name, facts, inside, case.case_id, image_hash)
    image = case.image.absolute()
    python = python if model.requirements else None
    argv = [] if settings.only_cached else model.command(input_of(entry, image), output_of(entry), device, python)
    return Job(
        model.card.name,
        case.case_id,
        tuple(argv),
        image,
        entry,
        case.gt,
        settings.timeout_s,
        None if kind == "cuda" else settings.memory_gb,
        _variables(model, case.case_id, device, settings.jobs or 1),
        {**facts, "inside": inside, "image_sha256": image_hash},
        kind == "cuda",
        settings.only_cached,
    )


def _cloud_device(model: Model, asked: str) -> str:
    """Return where a model runs in the cloud: on a GPU if it brings torch, unless the CPU was asked for."""
    wants = model.needs_gpu or any("torch==" in step for step in model.requirements)
    return "cuda" if wants and asked != "cpu" else "cpu"


def _variables(model: Model, case_id: str, device: str, jobs: int) -> dict[str, str]:
    """Return what a model's process finds in its environment.

    Worker processes have our own packages on their path; a model must never see them: it has the path that we were
    started with, and none at all in an environment of its own.
    """
    path = "" if model.requirements else os.environ.get("PYTHONPATH", "")
    variables = {"PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", "PYTHONPATH": path, "SEGBENCH_CASE": case_id}
    if device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    if jobs > 1:
        variables["OMP_NUM_THREADS"] = "1"
    return variables


def _done_in_cloud(models: Sequence[Model], jobs: Sequence[Job], progress: Progress | None) -> list[Prediction]:
    """Send away what the cache does not have, and keep what comes back."""
    ready = [prediction for job in jobs if (prediction := found_in_cache(job)) is not None]
    known = {(prediction.model, prediction.case_id) for prediction in ready}
    waiting = [job for job in jobs if (job.model, job.case_id) not in known]
    needed = [model for model in models if any(job.model == model.card.name for job in waiting)]
    for prediction in on_modal(needed, waiting) if waiting else ():
        ready.append(prediction)
        if progress is not None:
            progress(f"{prediction.model} on {prediction.case_id}", len(ready), len(jobs))
    return ready


def _done(jobs: Sequence[Job], settings: PredictionSettings, gpus: int, progress: Progress | None) -> list[Prediction]:
    """Do all jobs, those for GPUs apart from the others, and tell how far it is.

    The first case of a model with an environment of its own goes ahead of its others: it may be the one that fetches
    the weights, and two at once would get in each other's way.
    """
    found: list[Prediction] = []
    executor = None if settings.only_cached else settings.executor
    ahead = {job.model: job for job in reversed(jobs) if job.facts["requirements"]}.values()
    behind = [job for job in jobs if job not in ahead]
    for part, gpu in itertools.product((list(ahead), behind), (False, True)):
        queue = [job for job in part if job.gpu == gpu]
        hands = gpus if gpu else settings.jobs
        for outcome in run(do, queue, executor=executor, jobs=hands) if queue else ():
            job = queue[outcome.index]
            if isinstance(outcome.result, Crash):
                found.append(Prediction(job.model, job.case_id, failure=outcome.result.reason))
            else:
                found.append(outcome.result)
            if progress is not None:
                progress(f"{job.model} on {job.case_id}", len(found), len(jobs))
    return found
