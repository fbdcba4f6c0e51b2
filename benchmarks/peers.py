"""The peers' environments, and worker processes in them.

`python -m benchmarks.peers` makes every environment under `benchmarks/.venvs/` from the pinned requirement files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from benchmarks.tools import CATALOGS, Tool
from benchmarks.worker import THREAD_VARIABLES

HERE = Path(__file__).resolve().parent
ENVIRONMENT_FOLDER = HERE / ".venvs"
INSTALL_TIMEOUT_S = 1800.0
START_TIMEOUT_S = 180.0

#: Requirement files of each environment, installed one after the other.
ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "peers": ("requirements-torch.txt", "requirements-peers.txt"),
    "medpy": ("requirements-medpy.txt",),
    "segauge-0.1": ("requirements-segauge-0.1.txt",),
}


class PeerError(Exception):
    """A peer could not be installed, crashed or took too long; the message is the reason that its row shows."""


def python_of(environment: str) -> Path:
    """Return the interpreter of an environment, making the environment first where it is missing or out of date."""
    if environment == "own":
        return Path(sys.executable)
    folder = ENVIRONMENT_FOLDER / environment
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "made-from.txt"
    files = [HERE / name for name in ENVIRONMENTS[environment]]
    wanted = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    if not (stamp.exists() and stamp.read_text(encoding="ascii") == wanted):
        venv.EnvBuilder(with_pip=True, clear=True).create(folder)
        for file in files:
            _install(python, file)
        stamp.write_text(wanted, encoding="ascii")
    return python


def _install(python: Path, requirements: Path) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"installing {requirements.name} took more than {INSTALL_TIMEOUT_S:.0f} s") from error
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise PeerError(f"{requirements.name} cannot be installed: {errors[-1]}")


@dataclass(frozen=True)
class Timing:
    """What one tool did with one input: seconds of each repetition, or the reason why there are none."""

    tool: str
    threads: int
    version: str = ""
    seconds: tuple[float, ...] = ()
    cpu_seconds: tuple[float, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    peak_rss_bytes: int = 0
    error: str = ""
    cached: bool = False

    @property
    def best_s(self) -> float | None:
        """Seconds of the fastest repetition, the least disturbed one: by the clock.

        On one thread by the clock or by the processor time, whichever is less: on an idle machine they are the same,
        on a busy one only the processor time is the tool's own.
        """
        if self.threads > 1:
            return min(self.seconds, default=None)
        return min((*self.seconds, *self.cpu_seconds), default=None)

    def joined(self, later: Timing) -> Timing:
        """Return this timing with the repetitions of a later one."""
        seconds, cpu_seconds = self.seconds + later.seconds, self.cpu_seconds + later.cpu_seconds
        return replace(self, seconds=seconds, cpu_seconds=cpu_seconds, error=later.error)

    @property
    def disturbed(self) -> bool:
        """Whether other processes took a fifth or more of the fastest repetition, which is on several threads.

        Seen from how much processor time went into it; below 50 ms that is too coarse to tell.
        """
        best = self.best_s
        if self.threads == 1 or best is None or best < 0.05:
            return False
        return self.cpu_seconds[self.seconds.index(best)] < 0.8 * self.threads * best


class Worker:
    """A process in which one tool serves requests; started when first asked, again after a crash or a time-out."""

    def __init__(self, kind: str, tool: str, threads: int = 1) -> None:
        self.tool: Tool = CATALOGS[kind][tool]
        self.threads = threads
        self._command = ["-m", "benchmarks.worker", kind, tool, str(threads)]
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  closed on exit
        self._version = ""
        self._refusal = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._log.close()

    def version(self) -> str:
        """Return the installed version of the tool; starts the process.

        Raises:
            PeerError: if the tool cannot be installed or does not start.

        """
        if self._refusal:
            raise PeerError(self._refusal)
        if self._process is None:
            try:
                self._start()
            except PeerError as failure:
                self._refusal = str(failure)
                raise
        return self._version

    def time(self, request: Mapping[str, Any], timeout_s: float) -> Timing:
        """Return the timing of one request; failures of any kind become its `error`."""
        try:
            version = self.version()
            answer = self._ask(request, timeout_s)
        except PeerError as failure:
            return Timing(self.tool.name, self.threads, self._version, error=str(failure))
        return Timing(
            self.tool.name,
            self.threads,
            version,
            tuple(answer["seconds"]),
            tuple(answer["cpu_seconds"]),
            answer["values"],
            answer["peak_rss_bytes"],
        )

    def _start(self) -> None:
        python = python_of(self.tool.environment)
        threads = dict.fromkeys(THREAD_VARIABLES, str(self.threads))
        self._lines = queue.Queue()
        self._process = subprocess.Popen(
            [str(python), *self._command],
            cwd=HERE.parent,
            env={**os.environ, **threads},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        threading.Thread(target=_forward, args=(self._process, self._lines), daemon=True).start()
        self._version = self._receive(START_TIMEOUT_S)["version"]

    def _ask(self, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        if self._process is None or self._process.stdin is None:
            raise PeerError("not running")
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            self._stop()
            raise PeerError(f"crashed: {error}") from error
        return self._receive(timeout_s)

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            self._stop(patience_s=0.0)
            raise PeerError(f"stopped after {timeout_s:.0f} s") from None
        if line is None:
            code = self._stop()
            raise PeerError(f"crashed with exit code {code}: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def _stop(self, patience_s: float = 5.0) -> int | None:
        """End the process, which ends by itself when nobody asks it any more; after `patience_s` by force."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # it may be gone already, with our request unread
                process.stdin.close()
        try:
            return process.wait(timeout=patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def _last_words(self) -> str:
        self._log.seek(0)
        return next((line.strip() for line in reversed(self._log.readlines()) if line.strip()), "no message")[:300]


def _forward(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    """Put the process's lines into the queue, and None where they end."""
    if process.stdout is not None:
        for line in process.stdout:
            lines.put(line)
        process.stdout.close()
    lines.put(None)


def main(names: Sequence[str] = tuple(ENVIRONMENTS)) -> int:
    """Make the environments and say of each whether it is there."""
    failures = 0
    for name in names:
        try:
            python_of(name)
            print(f"{name}: ready")
        except PeerError as failure:
            failures += 1
            print(f"{name}: {failure}")
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or tuple(ENVIRONMENTS)))
