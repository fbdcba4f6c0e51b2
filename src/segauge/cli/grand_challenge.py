"""`segauge grand-challenge init FOLDER`: an evaluation container for a challenge on grand-challenge.org."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.structures import comma_separated, named_structures
from segauge.errors import InvalidInput
from segauge.integrations.grand_challenge import USUAL_METRICS, create_container
from segauge.io.layouts.structure_files import read_structures


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "grand-challenge",
        description="Evaluation containers for challenges on grand-challenge.org. "
        "Exit codes: 0 fine, 1 the folder cannot be used, 2 usage.",
    )
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    init = actions.add_parser(
        "init",
        help="write the files of an evaluation container",
        description="Write an evaluation container: Dockerfile, evaluate.py with the rules, a script that tries it "
        "without Docker. Nothing is overwritten. Exit codes: 0 fine, 1 the folder cannot be used, 2 usage.",
        examples=("segauge grand-challenge init evaluation --structures kidneys=1+2,tumor=3 --metrics dice,hd95",),
    )
    init.add_argument("folder", type=Path, metavar="FOLDER", help="where the files go; made if it is not there")
    init.add_argument("--name", default="my challenge", metavar="TEXT", help="of the challenge (default: my challenge)")
    init.add_argument(
        "--structures",
        metavar="WHAT",
        help="NAME=LABEL (kidneys=1+2,tumor=3), a dataset.json or a YAML file (default: all that is not 0 as one)",
    )
    init.add_argument(
        "--metrics",
        default=",".join(USUAL_METRICS),
        metavar="KEYS",
        help=f"what is measured (default: {','.join(USUAL_METRICS)})",
    )
    init.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files and say what comes next."""
    metrics = [part.strip() for part in args.metrics.split(",") if part.strip()]
    written = create_container(args.folder, name=args.name, structures=_structures(args.structures), metrics=metrics)
    for path in written:
        print(f"written: {path}")  # noqa: T201 - the command line speaks
    print(f"Next: read {args.folder / 'README.md'}, then try `python {args.folder / 'try_it.py'}`.")  # noqa: T201
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
