"""How a command ends: its exit code, and one line on standard error for whatever stopped it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from segauge.errors import SegaugeError, UnusableOption


def exit_code_of(program: str, command: Callable[[], int], *, when_stopped: str = "stopped.") -> int:
    """Run a command of a program and return its exit code.

    That is its own, 1 for an error, 2 for an option that cannot be used, 130 for Ctrl-C (`when_stopped`). An error that
    nobody meant is left alone: its traceback is what a report of it needs.
    """
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


def system_words(error: OSError) -> str:
    """Return what the system refused, and where: "results: Permission denied."."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or str(error) or type(error).__name__}."


def _ended(program: str, words: str, code: int) -> int:
    print(f"{program}: {words}", file=sys.stderr)  # noqa: T201 - the command line speaks
    return code
