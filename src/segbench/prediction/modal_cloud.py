"""Predictions on Modal: one image per model from its pinned requirements, one volume for weights, a GPU where it helps.

Nothing here is imported unless a run asks for `executor: modal`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, MissingExtra
from segbench.models.dependencies import paths_in
from segbench.planning import Prediction
from segbench.prediction.environments import CLOUD_MACHINE, lock_for, words_of
from segbench.prediction.jobs import Job, keep_answer
from segbench.prediction.remote import RemoteRequest, marked, predict_there, replaced
from segbench.registry import Model

#: What segbench itself needs there, besides what the model brings.
_OWN_NEEDS = ("numpy>=1.26", "scipy>=1.13", "rich>=13")

_WEIGHTS = "/weights"

#: Where the models keep what they download: all of it on the volume, so that it is fetched once.
_HOMES = {
    "HF_HOME": f"{_WEIGHTS}/huggingface",
    "TOTALSEG_HOME_DIR": f"{_WEIGHTS}/totalsegmentator",
    "TORCH_HOME": f"{_WEIGHTS}/torch",
    "XDG_CACHE_HOME": f"{_WEIGHTS}/cache",
}

#: Seconds that a call may take where no time limit was given.
_TIMEOUT_S = 3600


@dataclass(frozen=True)
class CloudSettings:
    """What to ask Modal for: the kind of GPU, memory of a container in MiB, the name of the volume."""

    gpu: str = "A10G"
    memory_mib: int = 32_768
    volume: str = "segbench-weights"


def on_modal(
    models: Sequence[Model], jobs: Sequence[Job], settings: CloudSettings | None = None, *, modal: Any = None
) -> Iterator[Prediction]:
    """Yield the predictions of all jobs, model after model; each model's cases run side by side."""
    cloud = _imported() if modal is None else modal
    app = cloud.App("segbench")
    chosen = settings or CloudSettings()
    own = {model.card.name: [job for job in jobs if job.model == model.card.name] for model in models}
    functions = {}
    for model in models:
        try:
            functions[model.card.name] = _function(cloud, app, model, own[model.card.name], chosen)
        except InvalidInput as error:
            for job in own[model.card.name]:
                yield Prediction(job.model, job.case_id, failure=str(error))
    if not functions:
        return
    with app.run():
        for model in models:
            if model.card.name not in functions:
                continue
            waiting = own[model.card.name]
            requests = (_request(job) for job in waiting)
            answers = functions[model.card.name].map(requests, return_exceptions=True)
            for job, answer in zip(waiting, answers, strict=True):
                yield keep_answer(job, answer)


def _imported() -> Any:
    try:
        import modal
    except ImportError as error:
        raise MissingExtra("Running on Modal needs its client: `pip install 'segauge[modal]'`.") from error
    return modal


def _function(cloud: Any, app: Any, model: Model, jobs: Sequence[Job], settings: CloudSettings) -> Any:
    """Return the function of one model: its own image, the common volume, a GPU if its jobs want one."""
    # The command of every case names the same folders.
    places = local_places(marked(jobs[0].argv, jobs[0].input, jobs[0].output)) if jobs else []
    limits = [job.timeout_s for job in jobs if job.timeout_s is not None]
    register: Callable[..., Any] = app.function(
        image=model_image(cloud, model, places),
        gpu=settings.gpu if any(job.gpu for job in jobs) else None,
        memory=settings.memory_mib,
        volumes={_WEIGHTS: cloud.Volume.from_name(settings.volume, create_if_missing=True)},
        # The command keeps its own time; the container only has to outlive it.
        timeout=int(max(limits, default=_TIMEOUT_S)) + 600,
        env=_HOMES,
        name="predict-" + re.sub(r"[^a-zA-Z0-9-]+", "-", model.card.name),
        serialized=True,
    )
    return register(predict_there)


def model_image(cloud: Any, model: Model, places: Sequence[Path] = ()) -> Any:
    """Return the container image of a model: its packages in one resolution, folders it names, and our own sources."""
    image = cloud.Image.debian_slim(python_version=".".join(map(str, sys.version_info[:2])))
    lock = lock_for(model.requirements, *CLOUD_MACHINE)
    if lock is not None:
        image = image.pip_install_from_requirements(str(lock), extra_options="--require-hashes --no-deps")
    else:
        together, alone = words_of(model.requirements)
        image = image.pip_install(*together) if together else image
        image = image.pip_install(*alone, extra_options="--no-deps") if alone else image
    image = image.pip_install(*_OWN_NEEDS)
    for number, place in enumerate(places):
        add = image.add_local_dir if place.is_dir() else image.add_local_file
        image = add(str(place), remote_path=_remote_place(number, place))
    return image.add_local_python_source("segauge", "segbench")


def local_places(argv: Sequence[str]) -> list[Path]:
    """Return the files and folders of this machine that a command names, without what lies in another of them.

    Raises:
        InvalidInput: if one is a program, which cannot be expected to run elsewhere.

    """
    found = sorted({path for word in argv for path in paths_in(word, resolved=False)})
    for path in found:
        if path.is_file() and os.access(path, os.X_OK):
            raise InvalidInput(
                f"the command names the program {path.name}, which is installed on this machine only. Predictions on "
                "Modal need programs that come with the model's `requirements`."
            )
    return [path for path in found if not any(other in path.parents for other in found)]


def _remote_place(number: int, place: Path) -> str:
    return f"/models/{number}/{place.name}"


def _request(job: Job) -> RemoteRequest:
    """Return what goes over: read when it is sent, so that no more than a few images lie in memory."""
    argv = marked(job.argv, job.input, job.output)
    there = {str(place): _remote_place(number, place) for number, place in enumerate(local_places(argv))}
    return RemoteRequest(
        tuple(replaced(word, there) for word in argv),
        Path(job.image).read_bytes(),
        job.timeout_s,
        job.memory_gb,
        job.variables,
    )
