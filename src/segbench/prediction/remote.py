"""A prediction on a machine that shares no disk with us: the image goes there, the label map comes back.

`predict_there` is the body of the function that runs on the other side; it needs nothing but its request.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from segbench.prediction.running import run_command

#: What stands in a command for places that are others on the other side.
IMAGE, OUTPUT, WORK = "{image}", "{output}", "{work}"
PROGRAMS, PYTHON, PACKAGE = "{programs}", "{python}", "{package}"


@dataclass(frozen=True)
class RemoteRequest:
    """A command with marks for the places, the image, and the limits."""

    argv: tuple[str, ...]
    image: bytes
    timeout_s: float | None = None
    memory_gb: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RemoteAnswer:
    """The label map, or why there is none; what the model said, and how long it took."""

    output: bytes | None
    failure: str
    seconds: float
    log: bytes


def predict_there(request: RemoteRequest) -> RemoteAnswer:
    """Run a command on an image that came with it, and return what it wrote."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        image, output = folder / "image.nii.gz", folder / "work" / "prediction.nii.gz"
        output.parent.mkdir()
        image.write_bytes(request.image)
        ended = run_command(
            filled(request.argv, image, output),
            folder / "log",
            timeout_s=request.timeout_s,
            memory_gb=request.memory_gb,
            variables=request.variables,
            folder=output.parent,
        )
        is_there = output.is_file() and not output.is_symlink()
        found = output.read_bytes() if is_there and not ended.failure else None
        return RemoteAnswer(found, ended.failure, ended.seconds, (folder / "log").read_bytes())


def filled(argv: Sequence[str], image: Path, output: Path) -> list[str]:
    """Return a command with the places of this side."""
    places = {
        IMAGE: str(image),
        OUTPUT: str(output),
        WORK: str(output.parent),
        PROGRAMS: str(Path(sys.executable).parent),
        PYTHON: sys.executable,
        PACKAGE: _package(),
    }
    return [replaced(word, places) for word in argv]


def marked(argv: Sequence[str], image: Path, output: Path) -> tuple[str, ...]:
    """Return a command with marks for the places of this side; the longest places first."""
    places = {str(image): IMAGE, str(output): OUTPUT, str(output.parent): WORK}
    places |= {_package(): PACKAGE, sys.executable: PYTHON}
    ordered = dict(sorted(places.items(), key=lambda item: -len(item[0])))
    return tuple(replaced(word, ordered) for word in argv)


def _package() -> str:
    return os.fspath(Path(str(files("segbench"))))


def replaced(word: str, places: Mapping[str, str]) -> str:
    """Return a word of a command with places replaced by others."""
    for old, new in places.items():
        word = word.replace(old, new)
    return word
