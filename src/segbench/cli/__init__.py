"""The command line `segbench`: parse, call, print. Each command is one module of this package and one library call."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let NumPy load its linear algebra with one thread, unless the environment asks for another number.

    The products of an analysis are many and small: threads wait for each other more than they compute, on a busy
    machine several times as long. Read once, when NumPy is loaded; processes that we start see none of it.
    """
    name = "OPENBLAS_NUM_THREADS"
    given = os.environ.get(name)
    os.environ.setdefault(name, "1")
    try:
        yield
    finally:
        if given is None:
            del os.environ[name]


with _one_thread():
    from segauge.errors import SegaugeError

#: Modules of this package; each has `add_parser(subparsers)` for its commands, which set a default `run(args) -> int`.
COMMANDS: tuple[str, ...] = ("analyze", "cards", "claim", "import_scores", "overlap", "results", "run", "verify")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; exit codes: 0 fine, 1 error, 2 usage, 3 some predictions failed, 5 does not follow."""
    parser = argparse.ArgumentParser(
        prog="segbench", description="Compare segmentation models: a leaderboard anyone can reproduce."
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"segbench.cli.{name}").add_parser(subparsers)
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except SegaugeError as error:
        print(f"segbench: {error}", file=sys.stderr)  # noqa: T201 - the command line speaks
        return 1
    except KeyboardInterrupt:
        print("segbench: stopped; the same command goes on where it was.", file=sys.stderr)  # noqa: T201
        return 130
