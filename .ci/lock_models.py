"""Resolve the requirements of the built-in models and write their locks, with hashes, into src/segbench/models/locks.

    python .ci/lock_models.py [--python python3.12 --python python3.13] [MODEL ...]

pip resolves each model once with this interpreter, and again with each further one, held to the same versions. What
they chose, with the hashes of the files, is the lock. It holds for this operating system and processor, and for the
versions of Python that have a resolution with the same versions. pip asks the index that it is configured for: use one
that has the published files.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from segbench.prediction.environments import LOCKS, lock_header, words_of
from segbench.registry import Model, model

#: Options that let a model be made where nothing of it is installed; nnU-Net itself has requirements of its own.
_MODELS = ("totalsegmentator", "moose", "ctfm", "monai", "deepbet", "brainextractor")


def main() -> None:
    """Write the locks that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], help="a further interpreter to resolve for")
    parser.add_argument("models", nargs="*", default=[])
    given = parser.parse_args()
    for name in given.models or [*_MODELS, "nnunet"]:
        requirements = _nnunet() if name == "nnunet" else _made(name).requirements
        text = lock(requirements, [sys.executable, *given.python])
        (LOCKS / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name}: {text.count('==') - len(requirements)} packages")  # noqa: T201 - a script


def _made(name: str) -> Model:
    return model(name)


def _nnunet() -> tuple[str, ...]:
    from segbench.models.nnunet import REQUIREMENTS

    return REQUIREMENTS


def lock(requirements: tuple[str, ...], pythons: list[str]) -> str:
    """Return the text of a lock: every package that the interpreters install, with the hashes of their files."""
    together, alone = words_of(requirements)
    versions: dict[str, str] = {}
    hashes: dict[str, set[str]] = {}
    covered = []
    for python in pythons:
        held = [f"{name}=={version}" for name, version in versions.items()]
        try:
            found = _resolved(python, together, held)
        except subprocess.CalledProcessError:
            if not versions:
                raise
            print(f"{python}: has no resolution with these versions; the lock does not cover it")  # noqa: T201
            continue
        covered.append(_version(python))
        found += [one for word in alone for one in _resolved(python, [word], [], "--no-deps")]
        for name, version, digest in found:
            if versions.setdefault(name, version) != version:
                raise SystemExit(f"{name}: {python} installs {version}, another one {versions[name]}.")
            hashes.setdefault(name, set()).add(digest)
    lines = [lock_header(requirements, covered, platform.system(), platform.machine())]
    for name in sorted(versions):
        parts = [f"{name}=={versions[name]}", *(f"--hash=sha256:{digest}" for digest in sorted(hashes[name]))]
        lines.append(" \\\n    ".join(parts))
    return "\n".join(lines) + "\n"


def _version(python: str) -> str:
    program = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


def _resolved(python: str, words: list[str], held: list[str], *flags: str) -> list[tuple[str, str, str]]:
    """Return name, version and hash of every file that pip would install, nothing of what is there counted."""
    with tempfile.TemporaryDirectory() as folder:
        constraints, report = Path(folder) / "held.txt", Path(folder) / "report.json"
        constraints.write_text("\n".join(held), encoding="utf-8")
        call = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--dry-run",
            "--ignore-installed",
            "--quiet",
        ]
        call += ["--constraint", str(constraints), "--report", str(report), *flags, *words]
        subprocess.run(call, check=True)  # noqa: S603 - pip, with the requirements of our own models
        entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    return [
        (
            re.sub(r"[-_.]+", "-", entry["metadata"]["name"]).lower(),
            entry["metadata"]["version"],
            entry["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for entry in entries
    ]


if __name__ == "__main__":
    main()
