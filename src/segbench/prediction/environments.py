"""Environments of models: a venv each, made by pip from pinned requirements, kept under the hash of what is in it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from segauge.errors import InvalidInput, SegaugeError
from segauge.io.outputs import write_whole
from segbench.locks import held
from segbench.prediction.running import Ended, run_command

#: Written last: an environment without it was not finished.
_MARK = "complete.json"

#: Seconds that one call of pip may take; networks are slow, and some packages are large.
_PIP_TIMEOUT_S = 3600.0

_PINNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?==[A-Za-z0-9.+!_-]+")


class EnvironmentFailed(SegaugeError):
    """The environment of a model could not be made; the message quotes pip and names its log."""


@dataclass(frozen=True)
class Environment:
    """A model's environment: its interpreter, the hash it is kept under, and the packages that are in it."""

    python: Path
    key: str
    packages: tuple[str, ...]

    @property
    def packages_hash(self) -> str:
        """SHA-256 of what is installed: the same on every machine that has the same versions."""
        return hashlib.sha256("\n".join(self.packages).encode()).hexdigest()


def make_environment(
    requirements: Sequence[str], root: Path, *, say: Callable[[str], None] | None = None
) -> Environment:
    """Return the environment of these requirements, made if it is not there.

    Args:
        requirements: what pip installs, step after step: each item is one call, "numpy==2.4.6 nibabel==5.4.2", or
            "--no-deps deepbet==1.0.2" for a package whose own wishes are not to be heard. Every version is pinned.
        root: folder that keeps environments; two processes never make the same one at once.
        say: told what is going on.

    Raises:
        EnvironmentFailed: if pip fails; its log stays.

    """
    steps = [_checked(step) for step in requirements]
    key = environment_key(requirements)
    folder = root.resolve() / key
    with held(root / f".{key}.lock"):
        if not (folder / _MARK).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            (say or _silence)(f"making an environment with {', '.join(requirements)}")
            _build(folder, steps)
        packages = tuple(json.loads((folder / _MARK).read_text(encoding="utf-8"))["packages"])
    return Environment(_python_in(folder), key, packages)


def environments_folder(cache_dir: Path) -> Path:
    """Return where environments are kept: in SEGBENCH_ENVIRONMENTS, which benchmarks can share, or with the cache."""
    return Path(os.environ.get("SEGBENCH_ENVIRONMENTS") or cache_dir / "environments")


def is_made(requirements: Sequence[str], root: Path) -> bool:
    """True if the environment of these requirements is there and whole."""
    return bool(requirements) and (root / environment_key(requirements) / _MARK).is_file()


def environment_key(requirements: Sequence[str]) -> str:
    """Return what an environment is kept under: a hash of its requirements, the Python version and the machine."""
    python = ".".join(map(str, sys.version_info[:2]))
    facts = [list(requirements), python, platform.system(), platform.machine()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _checked(step: str) -> list[str]:
    """Return the arguments of one call of pip; nothing but pinned packages gets there."""
    words = shlex.split(step)
    names = words[1:] if words[:1] == ["--no-deps"] else words
    for name in names:
        if not _PINNED.fullmatch(name):
            raise InvalidInput(
                f"requirements: expected a pinned package such as 'numpy==2.4.6', got {name!r}. A run can be repeated "
                "only with the versions it was made with."
            )
    if not names:
        raise InvalidInput(f"requirements: {step!r} names no package.")
    return words


def _build(folder: Path, steps: Sequence[Sequence[str]]) -> None:
    log = folder.with_name(f"{folder.name}.log")
    # Our own pip works on the new environment, which then needs none and is made in a moment.
    has_pip = find_spec("pip") is not None
    bare = ["--without-pip"] if has_pip else []
    _require(run_command([sys.executable, "-m", "venv", *bare, str(folder)], log, timeout_s=_PIP_TIMEOUT_S), log)
    runner = [sys.executable, "-m", "pip", "--python", str(_python_in(folder))]
    pip = runner if has_pip else [str(_python_in(folder)), "-I", "-m", "pip"]
    pip = [*pip, "--disable-pip-version-check", "--no-input"]
    for number, step in enumerate(steps, start=1):
        log = folder / f"pip-{number}.log"
        # The constraints of the project that started us are not those of the model.
        quiet = {"PIP_CONSTRAINT": "", "PIP_REQUIRE_VIRTUALENV": "", "PYTHONNOUSERSITE": "1"}
        ended = run_command(
            [*pip, "install", "--progress-bar=off", *step], log, timeout_s=_PIP_TIMEOUT_S, variables=quiet
        )
        if ended.failure:
            kept = folder.with_name(f"{folder.name}.log")
            shutil.copyfile(log, kept)
            shutil.rmtree(folder, ignore_errors=True)
            _require(ended, kept)
    listing = folder / "packages.log"
    _require(run_command([*pip, "list", "--format=freeze", "--exclude=pip", "--exclude=setuptools"], listing), listing)
    lines = listing.read_text(encoding="utf-8").splitlines()
    packages = sorted(line.strip() for line in lines if _PINNED.fullmatch(line.strip()))
    write_whole(folder / _MARK, json.dumps({"packages": packages}, indent=1) + "\n")


def _require(ended: Ended, log: Path) -> None:
    if ended.failure:
        raise EnvironmentFailed(f"The environment could not be made: it {ended.failure} The whole log: {log}")


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _silence(_: str) -> None:
    return None
