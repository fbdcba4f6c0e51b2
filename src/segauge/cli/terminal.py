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


def messages() -> Console:
    """Return the console for what is no result: what was written, and where."""
    return _console(sys.stderr, quiet=_Settings.quiet)


def shows_progress() -> bool:
    """Say whether a progress bar has a reader."""
    return sys.stderr.isatty() and not _Settings.quiet


def say_written(*paths: Path | str | None) -> None:
    """Say which files were written."""
    for path in paths:
        if path is not None and Path(path) != Path("-"):
            messages().print(f"written: {path}", markup=False)


def one_line(text: str) -> str:
    """Return text with nothing in it that could move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)


def _console(file: Any, *, quiet: bool) -> Console:
    from rich.console import Console

    # Into a file or a pipe no name may be cut: 160 columns where there is no terminal to ask.
    width = shutil.get_terminal_size((160, 24)).columns
    no_color = _Settings.no_color or None  # None: as NO_COLOR in the environment says
    return Console(file=file, highlight=False, soft_wrap=True, width=width, no_color=no_color, quiet=quiet)
