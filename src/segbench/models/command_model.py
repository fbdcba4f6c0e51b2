"""CommandModel: a model as a card, the command that runs it, and what has to be installed for that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards import ModelCard
from segbench.cards.library import model_card

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
