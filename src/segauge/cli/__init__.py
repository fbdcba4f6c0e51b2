"""The command line `segauge`: parse, call, print. Each command is one module of this package and one library call."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from segauge.errors import SegaugeError

#: Modules of this package, one per command; each has `add_parser(subparsers)` that sets a default `run(args) -> int`.
COMMANDS: tuple[str, ...] = ("diff", "doctor", "eval", "groups", "import_scores", "info", "plan", "rank", "verify")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 fine, 1 tool error, 2 usage, 3 and up as the command says."""
    parser = argparse.ArgumentParser(prog="segauge", description="Measure segmentations against ground truth.")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"segauge.cli.{name}").add_parser(subparsers)
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except SegaugeError as error:
        print(f"segauge: {error}", file=sys.stderr)  # noqa: T201 - the command line speaks
        return 1
