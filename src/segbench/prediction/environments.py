"""Environments of models: a venv each, made by pip from a lock or pinned requirements, kept under their hash."""

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
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from segauge.errors import InvalidInput, SegaugeError
from segauge.io.contents import file_hash
from segauge.io.outputs import write_whole
from segbench.locks import held
from segbench.prediction.running import Ended, run_command

#: Written last: an environment without it was not finished.
_MARK = "complete.json"

#: Seconds that one call of pip may take; networks are slow, and some packages are large.
_PIP_TIMEOUT_S = 3600.0

#: Locks with hashes: one file per built-in model, whose first line says for which requirements and machines it is.
LOCKS = Path(str(files("segbench.models"))) / "locks"

#: What containers in the cloud run on.
CLOUD_MACHINE = ("Linux", "x86_64")

_PINNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?==[A-Za-z0-9.+!_-]+")


class EnvironmentFailed(SegaugeError):
    """The environment of a model could not be made; the message quotes pip and names its log."""


@dataclass(frozen=True)
class Environment:
    """A model's environment: its interpreter, the hash it is kept under, its packages, and the SHA-256 of its lock."""

    python: Path
    key: str
    packages: tuple[str, ...]
    lock: str = ""

    @property
    def packages_hash(self) -> str:
        """SHA-256 of what is installed: the same on every machine that has the same versions."""
        return hashlib.sha256("\n".join(self.packages).encode()).hexdigest()


def make_environment(
    requirements: Sequence[str], root: Path, *, say: Callable[[str], None] | None = None
) -> Environment:
    """Return the environment of these requirements, made if it is not there.

    Args:
        requirements: pinned packages, such as "numpy==2.4.6 nibabel==5.4.2". pip resolves all of them in one step, so
            that none replaces another. "--no-deps deepbet==1.0.2" is installed afterwards, without its dependencies.
            Where segbench ships a lock for them, exactly the files of the lock are installed, checked by their hashes.
        root: folder that keeps environments; two processes never make the same one at once.
        say: told what is going on.

    Raises:
        EnvironmentFailed: if pip fails, or if another version is installed than was asked for; the log stays.

    """
    words_of(requirements)
    key = environment_key(requirements)
    folder = root.resolve() / key
    with held(root / f".{key}.lock"):
        if not (folder / _MARK).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            (say or _silence)(f"making an environment with {', '.join(requirements)}")
            _build(folder, requirements)
        packages = tuple(json.loads((folder / _MARK).read_text(encoding="utf-8"))["packages"])
    return Environment(_python_in(folder), key, packages, lock_digest(requirements))


def environments_folder(cache_dir: Path) -> Path:
    """Return where environments are kept: in SEGBENCH_ENVIRONMENTS, which benchmarks can share, or with the cache."""
    return Path(os.environ.get("SEGBENCH_ENVIRONMENTS") or cache_dir / "environments")


def is_made(requirements: Sequence[str], root: Path) -> bool:
    """True if the environment of these requirements is there and whole."""
    return bool(requirements) and (root / environment_key(requirements) / _MARK).is_file()


def environment_key(requirements: Sequence[str]) -> str:
    """Return what an environment is kept under: a hash of its requirements, its lock, the Python and the machine."""
    facts = [list(requirements), lock_digest(requirements), *_here()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def words_of(requirements: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the packages to resolve together, and those to install without their dependencies; all are pinned."""
    together: list[str] = []
    alone: list[str] = []
    for step in requirements:
        words = shlex.split(step)
        is_alone = words[:1] == ["--no-deps"]
        names = words[1:] if is_alone else words
        for name in names:
            if not _PINNED.fullmatch(name):
                raise InvalidInput(
                    f"requirements: expected a pinned package such as 'numpy==2.4.6', got {name!r}. A run can be "
                    "repeated only with the versions it was made with."
                )
        if not names:
            raise InvalidInput(f"requirements: {step!r} names no package.")
        (alone if is_alone else together).extend(names)
    return together, alone


def lock_header(requirements: Sequence[str], pythons: Sequence[str], system: str, machine: str) -> str:
    """Return the first line of a lock: what it was made for."""
    facts = {"requirements": list(requirements), "python": list(pythons), "system": system, "machine": machine}
    return f"# {json.dumps(facts)}"


def lock_for(requirements: Sequence[str], system: str = "", machine: str = "") -> Path | None:
    """Return the lock that segbench ships for these requirements, this Python and a machine (this one), if any.

    SEGBENCH_LOCKS=off leaves the locks unused, for machines that need other builds of the same versions.
    """
    if not requirements or os.environ.get("SEGBENCH_LOCKS") == "off":
        return None
    python, *here = _here()
    wanted = (system or here[0], machine or here[1])
    for path in sorted(LOCKS.glob("*.txt")):
        with path.open(encoding="utf-8") as file:
            known = json.loads(file.readline().removeprefix("#"))
        if (
            known["requirements"] == list(requirements)
            and python in known["python"]
            and (known["system"], known["machine"]) == wanted
        ):
            return path
    return None


def lock_digest(requirements: Sequence[str], system: str = "", machine: str = "") -> str:
    """Return the SHA-256 of the lock that `lock_for` finds, "" where there is none."""
    path = lock_for(requirements, system, machine)
    return "" if path is None else file_hash(path)


def _here() -> tuple[str, str, str]:
    return ".".join(map(str, sys.version_info[:2])), platform.system(), platform.machine()


def _build(folder: Path, requirements: Sequence[str]) -> None:
    log = folder.with_name(f"{folder.name}.log")
    # Our own pip works on the new environment, which then needs none and is made in a moment.
    has_pip = find_spec("pip") is not None
    bare = ["--without-pip"] if has_pip else []
    _require(run_command([sys.executable, "-m", "venv", *bare, str(folder)], log, timeout_s=_PIP_TIMEOUT_S), log)
    runner = [sys.executable, "-m", "pip", "--python", str(_python_in(folder))]
    pip = runner if has_pip else [str(_python_in(folder)), "-I", "-m", "pip"]
    pip = [*pip, "--disable-pip-version-check", "--no-input"]
    for number, step in enumerate(_steps(requirements), start=1):
        log = folder / f"pip-{number}.log"
        # The constraints of the project that started us are not those of the model.
        quiet = {"PIP_CONSTRAINT": "", "PIP_REQUIRE_VIRTUALENV": "", "PYTHONNOUSERSITE": "1"}
        ended = run_command(
            [*pip, "install", "--progress-bar=off", *step], log, timeout_s=_PIP_TIMEOUT_S, variables=quiet
        )
        _require_kept(ended, folder, log)
    listing = folder / "packages.log"
    _require(run_command([*pip, "list", "--format=freeze", "--exclude=pip", "--exclude=setuptools"], listing), listing)
    lines = listing.read_text(encoding="utf-8").splitlines()
    packages = sorted(line.strip() for line in lines if _PINNED.fullmatch(line.strip()))
    wrong = not_as_asked(requirements, packages)
    _require_kept(Ended(0.0, f"installed other versions than were asked for: {wrong}." if wrong else ""), folder, log)
    write_whole(folder / _MARK, json.dumps({"packages": packages}, indent=1) + "\n")


def _steps(requirements: Sequence[str]) -> list[list[str]]:
    """Return the arguments of each call of pip: one with a lock, else one for what is resolved together."""
    lock = lock_for(requirements)
    if lock is not None:
        return [["--require-hashes", "--no-deps", "--requirement", str(lock)]]
    together, alone = words_of(requirements)
    return [step for step in (together, ["--no-deps", *alone] if alone else []) if step]


def not_as_asked(requirements: Sequence[str], packages: Sequence[str]) -> str:
    """Return which packages are not there in the version that was asked for, "" if all are."""
    found = dict(map(_name_and_version, packages))
    together, alone = words_of(requirements)
    wrong = []
    for name, version in map(_name_and_version, (*together, *alone)):
        # setuptools and pip are not listed; "2.13.0+cpu" is a build of 2.13.0.
        installed = found.get(name, version if name in ("pip", "setuptools") else "none")
        if version not in (installed, installed.partition("+")[0]):
            wrong.append(f"{name} {version} (installed: {installed})")
    return ", ".join(wrong)


def _name_and_version(pinned: str) -> tuple[str, str]:
    name, _, version = pinned.partition("==")
    return re.sub(r"[-_.]+", "-", name.partition("[")[0]).lower(), version


def _require_kept(ended: Ended, folder: Path, log: Path) -> None:
    """Raise if a step failed: the environment goes, its log stays beside it."""
    if ended.failure:
        kept = folder.with_name(f"{folder.name}.log")
        shutil.copyfile(log, kept)
        shutil.rmtree(folder, ignore_errors=True)
        _require(ended, kept)


def _require(ended: Ended, log: Path) -> None:
    if ended.failure:
        raise EnvironmentFailed(f"The environment could not be made: it {ended.failure} The whole log: {log}")


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _silence(_: str) -> None:
    return None
