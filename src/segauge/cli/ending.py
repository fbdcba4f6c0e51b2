"""How a command ends: its exit code, and one line on standard error for whatever stopped it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from segauge.errors import SegaugeError, UnusableOption


def exit_code_of(program: str, command: Callable[[], int], *, when_stopped: str = "stopped.") -> int:
    """Run a command of a program and return its exit code.

    That is its own, 1 for an error, 2 for an option that cannot be used, 130 for Ctrl-C (`when_stopped`). An error that
    nobody meant is left alone: its traceback is what a report of it needs.
    """
    with harmless_output():
        return _exit_code(program, command, when_stopped)


def _exit_code(program: str, command: Callable[[], int], when_stopped: str) -> int:
    try:
        code = int(command())
        sys.stdout.flush()
        return code
    except UnusableOption as error:
        return _ended(program, str(error), 2)
    except SegaugeError as error:
        return _ended(program, str(error), 1)
    except BrokenPipeError:
        # Whoever was reading has seen enough (`| head`); what is still to be written at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A disk that is full, a folder that nobody may write to: what no command has words of its own for.
        return _ended(program, system_words(error), 1)
    except KeyboardInterrupt:
        return _ended(program, when_stopped, 130)


#: What systems that run jobs take for a command in a log: "::error::" at the start of a line, "##[error]" anywhere.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\w*\[)", re.MULTILINE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def visible(text: str) -> str:
    """Return text whose control characters, such as those that move a terminal's cursor, are written out."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class _Harmless:
    """A stream that is no terminal: no name of a file or case in it can be a command to whoever reads the log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._line = ""

    def write(self, text: str) -> int:
        """Write text; a space makes what looks like a command harmless."""
        # What was written of this line decides, too: a name may come in a piece of its own.
        known = self._line
        made = _COMMAND.sub(lambda found: f"{found[0]} ", known + visible(text))
        self._stream.write(made.removeprefix(known) if made.startswith(known) else made[len(known) :])
        self._line = (known + text).rpartition("\n")[2][-80:]
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def harmless_output() -> Iterator[None]:
    """Let nothing that is printed into a file or a log be a command there; a terminal gets what it always got."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (one if one.isatty() else cast("TextIO", _Harmless(one)) for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def system_words(error: OSError) -> str:
    """Return what the system refused, and where: "results: Permission denied."."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or str(error) or type(error).__name__}."


def _ended(program: str, words: str, code: int) -> int:
    print(visible(f"{program}: {words}"), file=sys.stderr)  # noqa: T201 - the command line speaks
    return code
