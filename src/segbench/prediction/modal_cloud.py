"""Predictions on Modal: one image per model from its pinned requirements, one volume for weights, a GPU where it helps.

Nothing here is imported unless a run asks for `executor: modal`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segauge.errors import MissingExtra
from segbench.planning import Prediction
from segbench.prediction.jobs import Job, keep_answer
from segbench.prediction.remote import RemoteRequest, marked, predict_there
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
    functions = {
        model.card.name: _function(cloud, app, model, [job for job in jobs if job.model == model.card.name], chosen)
        for model in models
    }
    with app.run():
        for model in models:
            waiting = [job for job in jobs if job.model == model.card.name]
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
    limits = [job.timeout_s for job in jobs if job.timeout_s is not None]
    register: Callable[..., Any] = app.function(
        image=model_image(cloud, model),
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


def model_image(cloud: Any, model: Model) -> Any:
    """Return the container image of a model: its requirements in their order, and our own sources on top."""
    image = cloud.Image.debian_slim(python_version=".".join(map(str, sys.version_info[:2])))
    for step in model.requirements:
        words = shlex.split(step)
        alone = words[:1] == ["--no-deps"]
        image = image.pip_install(*(words[1:] if alone else words), extra_options="--no-deps" if alone else "")
    return image.pip_install(*_OWN_NEEDS).add_local_python_source("segauge", "segbench")


def _request(job: Job) -> RemoteRequest:
    """Return what goes over: read when it is sent, so that no more than a few images lie in memory."""
    argv = marked(job.argv, job.image, job.output)
    return RemoteRequest(argv, Path(job.image).read_bytes(), job.timeout_s, job.memory_gb, job.variables)
