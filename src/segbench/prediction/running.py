"""Run one command: within its time and memory, with its output kept, and nobody left behind where the system allows.

The command runs in a process group of its own; when it has ended or its time is over, the whole group is ended. On
Linux so is whoever left the group, and the command also ends when we are killed. There is no shell: every argument is
one argument.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

#: Sets the limits from inside the new process, then becomes the command; nothing of Python is left by then.
#: 1 is PR_SET_PDEATHSIG: the kernel ends the command if its parent dies.
_BECOME = """
import os, sys
memory, argv = int(sys.argv[1]), sys.argv[2:]
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)
except (ImportError, OSError, AttributeError, TypeError):
    pass
if memory:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
try:
    os.execvp(argv[0], argv)
except OSError as error:
    print(f"{argv[0]}: cannot be started ({error.strerror})", file=sys.stderr)
    sys.exit(127)
"""

#: Variable that every process of a command inherits, with a value of its own per command.
_MARK = "SEGBENCH_COMMAND"

#: How often strays are looked for: one that starts others while it is ended may need several looks.
_LOOKS = 10

#: Seconds between the request to end and the end.
_GRACE_S = 3.0

#: How much of the end of the error output a reason quotes.
_TAIL_CHARACTERS = 600


#: So many bytes of the beginning are kept, and so many of the end.
HALF = 4 << 20

_PIECE = 1 << 16

#: Seconds for the rest of what was said, after everybody who could say something was ended.
_REST_S = 2.0


class Listening:
    """Copies what comes through a pipe to a file, in a thread, and keeps the file below its limit."""

    def __init__(self, source: BinaryIO, log: BinaryIO) -> None:
        self._source, self._log = source, log
        self._room, self._last, self._held, self._left_out = HALF, deque[bytes](), 0, 0
        self._lock = threading.Lock()
        self._is_over = False
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the end; somebody who could not be ended, and still holds the pipe, is not waited for."""
        self._thread.join(_REST_S)
        with self._lock:
            self._is_over = True
            if self._left_out:
                self._log.write(f"\n[{self._left_out} bytes are left out here]\n".encode())
            self._log.writelines(self._last)

    def _copy(self) -> None:
        while piece := self._source.read1(_PIECE):  # type: ignore[attr-defined]
            with self._lock:
                if self._is_over:
                    return
                self._take(piece)
        self._source.close()

    def _take(self, piece: bytes) -> None:
        if self._room:
            self._log.write(piece[: self._room])
            self._log.flush()
        rest = piece[self._room :]
        self._room -= len(piece) - len(rest)
        if rest:
            self._last.append(rest)
            self._held += len(rest)
        while self._held - (len(self._last[0]) if self._last else 0) >= HALF:
            gone = len(self._last.popleft())
            self._held -= gone
            self._left_out += gone


@dataclass(frozen=True)
class Ended:
    """How a command ended: `failure` says what went wrong in words, "" if nothing did."""

    seconds: float
    failure: str = ""


def run_command(
    argv: Sequence[str],
    log: Path,
    *,
    timeout_s: float | None = None,
    memory_gb: float | None = None,
    variables: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Ended:
    """Run a command to its end and say how it ended; its output goes to `log`.

    Args:
        argv: the command, one item per argument.
        log: file that receives the command line, its output and its errors, in the order they come; of very much only
            the beginning and the end.
        timeout_s: seconds after which it is ended.
        memory_gb: address space it may have, in 10^9 bytes.
        variables: added to the environment.
        folder: working folder.

    """
    start = time.monotonic()
    memory = 0 if memory_gb is None else int(memory_gb * 1e9)
    mark = secrets.token_hex(16)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        output.write(("$ " + " ".join(argv) + "\n").encode("utf-8", "backslashreplace"))
        output.flush()
        process = subprocess.Popen(  # noqa: S603 - what the user asked to run
            [sys.executable, "-I", "-S", "-c", _BECOME, str(memory), *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(variables or {}), _MARK: mark},
            cwd=folder,
            start_new_session=True,
        )
        with Listening(cast(BinaryIO, process.stdout), output):
            failure = _ended(process, timeout_s, mark)
    tail = _tail(log) if failure else ""
    return Ended(time.monotonic() - start, f"{failure}: {tail}" if tail else failure)


def _ended(process: subprocess.Popen[bytes], timeout_s: float | None, mark: str) -> str:
    """Wait for a command, end whoever is left of it, and return what went wrong."""
    try:
        code = process.wait(timeout=timeout_s)
        return "" if code == 0 else _words(code)
    except subprocess.TimeoutExpired:
        _ask_to_end(process)
        return f"took longer than {timeout_s:g} s"
    finally:
        _end_group(process)
        _end_strays(mark)


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE_S)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End whoever is left of the command's group; most often there is nobody."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_strays(mark: str) -> None:
    """End processes that left the command's group. Linux tells what they inherited; elsewhere they stay."""
    wanted = f"{_MARK}={mark}".encode()
    for _ in range(_LOOKS):
        strays = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if _has(path, wanted)]
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _has(environ: Path, variable: bytes) -> bool:
    try:
        return variable in environ.read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to somebody else
        return False


def _words(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"was killed ({name})" + ("; most often the machine ran out of memory" if name == "SIGKILL" else "")


def _tail(log: Path) -> str:
    """Return the end of what a command said, on one line, without the command line itself."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4 * _TAIL_CHARACTERS))
        lines = file.read().decode("utf-8", "replace").splitlines()
    said = " | ".join(line.strip() for line in lines if line.strip() and not line.startswith("$ "))
    printable = "".join(character if character.isprintable() else "?" for character in said)
    return printable if len(printable) <= _TAIL_CHARACTERS else "..." + printable[-_TAIL_CHARACTERS:]
