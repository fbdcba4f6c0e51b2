"""Models that are command lines: what their adapters share, and commands and containers that a config describes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards import ModelCard
from segbench.cards.exposure import model_card
from segbench.models.dependencies import LateOptions, dependencies_of, hashes_of, image_id
from segbench.typed import read_options, require

#: Image, output, device, and the interpreter of the model's environment (None if it has none).
CommandMaker = Callable[[Path, Path, str, Path | None], Sequence[str]]

#: The torch that models run on; nnU-Net refuses 2.9, and each version needs its own wheels.
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class CommandModel:
    """A model that is run by a command."""

    card: ModelCard
    make_command: CommandMaker
    requirements: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    needs_gpu: bool = False

    def command(self, image: Path, output: Path, device: str, environment_python: Path | None) -> list[str]:
        """Return the command that reads `image` and writes one label map to `output`."""
        if self.requirements and environment_python is None:
            raise InvalidInput(f"{self.card.name} runs in an environment of its own, and none was given.")
        return [str(word) for word in self.make_command(image, output, device, environment_python)]


def named_card(
    library_name: str, options: Mapping[str, Any], version: str, structures: Mapping[str, Sequence[int]] | None = None
) -> ModelCard:
    """Return the card of the library with the version that runs, the config's `name`, and further structures."""
    card = model_card(library_name).to_dict()
    return ModelCard.from_dict(
        {
            **card,
            "name": options.get("name", card["name"]),
            "version": version,
            "structures": {**{name: list(labels) for name, labels in (structures or {}).items()}, **card["structures"]},
        }
    )


def driver(name: str) -> str:
    """Return the path of a program that runs in a model's environment."""
    return str(files("segbench.models.drivers").joinpath(f"{name}.py"))


def folder_program(image: Path, output: Path, input_name: str, output_name: str, program: Sequence[str]) -> list[str]:
    """Return the command that runs a program for folders on one image; see `drivers/folder_program.py`."""
    start = [sys.executable, "-I", driver("folder_program"), "--image", str(image), "--output", str(output)]
    return [*start, "--input-name", input_name, "--output-name", output_name, "--", *program]


def program_in(environment_python: Path | None, name: str) -> str:
    """Return a program that pip installed beside the interpreter of an environment; its plain name without one."""
    return name if environment_python is None else str(environment_python.parent / name)


def chosen_device(options: Mapping[str, Any], device: str) -> str:
    """Return the device of a run, unless the config keeps this model on the CPU."""
    return "cpu" if options.get("device") == "cpu" else device


_MARKS = ("{image}", "{output}", "{device}", "{python}")


def card_options() -> dict[str, type]:
    """Return the keys of a model card that a config may give, and their kinds."""
    kinds: dict[str, type] = {f.name: str for f in fields(ModelCard)}
    return {**kinds, "structures": dict, "trained_on": list, "pretrained_on": list, "parameters": int}


def described_card(owner: str, given: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> ModelCard:
    """Return the card that a config describes; what it was trained on is unknown unless the config says so."""
    require(owner, given, "name", "my-net")
    require(owner, given, "structures", "{liver: 1, tumor: 2}")
    values = {key: given[key] for key in card_options() if key in given}
    for key in ("trained_on", "pretrained_on"):
        if key in values:
            values[key] = [_training(part) for part in values[key]]
    return ModelCard.from_dict({**(known or {}), **values})


def _training(part: Any) -> Any:
    """Return a training set; a bare name has the config as its source."""
    return {"dataset": part, "source": "the config of the run"} if isinstance(part, str) else part


def command(options: Mapping[str, Any]) -> CommandModel:
    """Return a model that is a command line.

    Options: `command`, such as "mymodel --in {image} --out {output}" ({device} and {python}, the interpreter of its
    environment, may stand there too); `requirements`, pinned, if it needs an environment; `gpu` if it is hopeless
    without one; and the keys of a card: name, structures (both needed), version, licence, trained_on and so on. Files,
    folders and images of docker that the command names count by their content, so it should name no folder that it
    writes to (docs/how-to/add-a-model.md says which files are left out).
    """
    given = read_options("command", options, **{**card_options(), "command": str, "requirements": list, "gpu": bool})
    template = shlex.split(require("command", given, "command", "mymodel --in {image} --out {output}"))
    for mark in ("{image}", "{output}"):
        if not any(mark in word for word in template):
            raise InvalidInput(f"command: expected {mark} in the command, got {given['command']!r}.")

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        values = dict(zip(_MARKS, (image, output, device, python or sys.executable), strict=True))
        return [_filled(word, values) for word in template]

    return CommandModel(
        described_card("command", given),
        make,
        tuple(given.get("requirements", ())),
        LateOptions(lambda: {"command": given["command"], **dependencies_of(template)}),
        bool(given.get("gpu", False)),
    )


def _filled(word: str, values: Mapping[str, object]) -> str:
    for mark, value in values.items():
        word = word.replace(mark, str(value))
    return word


def container(options: Mapping[str, Any]) -> CommandModel:
    """Return a model in a container image; it has no network, and sees its image and its output only.

    Options: `image`, such as "qchen99/suprem:v1" or a .sif file; `engine` ("docker" or "apptainer"); `arguments` behind
    the image; `input` and `output`, the folders inside (/input, /output); `input_name` and `output_name`, the files in
    them (image.nii.gz, *.nii.gz); `gpu`; and the keys of a card.
    """
    texts = dict.fromkeys(("image", "engine", "arguments", "input", "output", "input_name", "output_name"), str)
    given = read_options("container", options, **{**card_options(), **texts, "gpu": bool})
    name = require("container", given, "image", "qchen99/suprem:v1")
    engine = given.get("engine", "docker")
    if engine not in ("docker", "apptainer"):
        raise InvalidInput(f"container: engine should be docker or apptainer, got {engine!r}.")
    inside = (given.get("input", "/input"), given.get("output", "/output"))
    arguments = shlex.split(given.get("arguments", ""))

    def make(image: Path, output: Path, device: str, python: Path | None) -> list[str]:
        del python
        call = _engine_call(engine, name, inside, gpu=device != "cpu")
        names = (given.get("input_name", "image.nii.gz"), given.get("output_name", "*.nii.gz"))
        return folder_program(image, output, *names, [*call, *arguments])

    def depends_on() -> dict[str, Any]:
        known = image_id("docker", name) if engine == "docker" else ""
        files = hashes_of([Path(name).resolve()] if engine == "apptainer" and Path(name).is_file() else [])
        said: dict[str, Any] = {key: given[key] for key in ("image", "arguments") if key in given}
        return {**said, **({"image_id": known} if known else {}), **({"files": files} if files else {})}

    options_found = LateOptions(depends_on)
    return CommandModel(described_card("container", given), make, (), options_found, bool(given.get("gpu", False)))


def _engine_call(engine: str, image: str, inside: tuple[str, str], *, gpu: bool) -> list[str]:
    mounts = [f"{{input}}:{inside[0]}:ro", f"{{output}}:{inside[1]}"]
    if engine == "apptainer":
        call = ["apptainer", "run", "--containall", "--net", "--network", "none", *(["--nv"] if gpu else [])]
        return [*call, *(word for mount in mounts for word in ("--bind", mount)), image]
    call = ["docker", "run", "--rm", "--network", "none", *(["--gpus", "all"] if gpu else [])]
    return [*call, *(word for mount in mounts for word in ("--volume", mount)), image]
