"""`segauge init`: a protocol file, an evaluation container for a challenge, or shell completion."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.completion import SHELLS, install
from segauge.cli.flags import protocol_text
from segauge.cli.structures import comma_separated, named_structures
from segauge.cli.terminal import say_written, tell
from segauge.errors import InvalidInput
from segauge.integrations.grand_challenge import USUAL_METRICS, create_container
from segauge.io.layouts.structure_files import read_structures
from segauge.io.outputs import STANDARD_OUTPUT, write_whole

#: What can be made.
_KINDS = ("protocol", "challenge", "completion")


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "init",
        description="Write a file to start from. protocol: every option of `segauge eval` with a comment, for "
        "--protocol. challenge: an evaluation container for grand-challenge.org (Dockerfile, evaluate.py, a script to "
        "try it without Docker). completion: completion of commands and options for your shell. Nothing is "
        "overwritten. Exit codes: 0 fine, 1 the place cannot be used, 2 usage.",
        examples=(
            "segauge init protocol protocol.yaml",
            "segauge init challenge evaluation --structures kidneys=1+2,tumor=3 --metrics dice,hd95",
            "segauge init completion",
        ),
    )
    parser.add_argument("kind", choices=_KINDS, metavar="KIND", help=", ".join(_KINDS))
    parser.add_argument(
        "place", type=Path, nargs="?", metavar="PLACE", help="file or folder to write (default: named after KIND)"
    )
    challenge = parser.add_argument_group("challenge")
    challenge.add_argument(
        "--name", default="my challenge", metavar="TEXT", help="of the challenge (default: my challenge)"
    )
    challenge.add_argument(
        "--structures",
        metavar="WHAT",
        help="NAME=LABEL (kidneys=1+2,tumor=3), a dataset.json or a YAML file (default: all that is not 0 as one)",
    )
    challenge.add_argument(
        "--metrics",
        default=",".join(USUAL_METRICS),
        metavar="KEYS",
        help=f"what is measured (default: {','.join(USUAL_METRICS)})",
    )
    completion = parser.add_argument_group("completion")
    completion.add_argument("--shell", choices=SHELLS, help="which shell (default: that of $SHELL)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write what was asked for, and say what comes next."""
    if args.kind == "protocol":
        return _protocol(args.place or Path("protocol.yaml"))
    if args.kind == "completion":
        for path in install(args.shell):
            say_written(path)
        tell("next: open a new shell")
        return 0
    if args.place is None:
        args.refuse("needs the folder of the container: `segauge init challenge FOLDER`")
    return _challenge(args)


def _protocol(place: Path) -> int:
    if place != STANDARD_OUTPUT and place.exists():
        raise InvalidInput(f"{place}: is there already, and is not overwritten.")
    say_written(write_whole(place, protocol_text() + "\n"))
    tell(f"next: edit it, then `segauge eval --pred predictions --gt labels --protocol {place}`")
    return 0


def _challenge(args: argparse.Namespace) -> int:
    metrics = [part.strip() for part in args.metrics.split(",") if part.strip()]
    written = create_container(args.place, name=args.name, structures=_structures(args.structures), metrics=metrics)
    say_written(*written)
    tell(f"next: read {args.place / 'README.md'}, then try `python {args.place / 'try_it.py'}`")
    return 0


def _structures(text: str | None) -> dict[str, int | tuple[int, ...]] | None:
    if text is None:
        return None
    if text.lower().endswith((".json", ".yaml", ".yml")):
        found: dict[str, tuple[int | str, ...]] = dict(read_structures(text).structures)
    else:
        found = named_structures(comma_separated(text))
    structures: dict[str, int | tuple[int, ...]] = {}
    for name, labels in found.items():
        numbers = tuple(label for label in labels if isinstance(label, int))
        if len(numbers) != len(labels):
            raise InvalidInput(f"--structures: labels are numbers here, got {name}={'+'.join(map(str, labels))}.")
        structures[name] = numbers[0] if len(numbers) == 1 else numbers
    return structures
