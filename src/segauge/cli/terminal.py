"""What is printed where: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


class _Settings:
    """How the command that runs now prints."""

    quiet = False
    no_color = False
    output_is_taken = False  # by a file that is written there: nothing else may go between its lines


def set_up(*, quiet: bool = False, no_color: bool = False, arguments: argparse.Namespace | None = None) -> None:
    """Set how the command prints; where one of its outputs is "-", tables go to standard error."""
    _Settings.quiet, _Settings.no_color = quiet, no_color
    _Settings.output_is_taken = Path("-") in vars(arguments or argparse.Namespace()).values()


def console() -> Console:
    """Return the console to print tables on."""
    return _console(sys.stderr if _Settings.output_is_taken else sys.stdout, quiet=False)


def shows_progress() -> bool:
    """Return whether a progress bar has a reader."""
    return sys.stderr.isatty() and not _Settings.quiet


def show(*lines: str) -> None:
    """Print lines of a result."""
    for line in lines:
        console().print(one_line(line), markup=False)


def tell(*lines: str, is_error: bool = False) -> None:
    """Print messages: notes, warnings, what to do next. Errors are printed with --quiet, too."""
    out = _console(sys.stderr, quiet=_Settings.quiet and not is_error)
    for line in lines:
        out.print(one_line(line), markup=False)


def say_written(*paths: Path | str | None) -> None:
    """Print which files were written."""
    tell(*(f"written: {path}" for path in paths if path is not None and Path(path) != Path("-")))


def one_line(text: str) -> str:
    """Return text with nothing in it that could move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)


def _console(file: Any, *, quiet: bool) -> Console:
    from rich.console import Console

    # Into a file or a pipe no name may be cut: 160 columns where there is no terminal to ask.
    width = shutil.get_terminal_size((160, 24)).columns
    no_color = _Settings.no_color or None  # None: as NO_COLOR in the environment says
    return Console(file=file, highlight=False, soft_wrap=True, width=width, no_color=no_color, quiet=quiet)
