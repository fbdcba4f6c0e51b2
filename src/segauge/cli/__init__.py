"""The command line `segauge`: parse, call, print. Each command is one module of this package and one library call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from segauge import __version__
from segauge.cli.ending import exit_code_of
from segauge.cli.parsing import Parser

#: Commands and what they do. Each is a module of this package with `add_parser(subparsers)`, which sets a default
#: `run(args) -> int`; only the module of the command that was asked for is loaded.
COMMANDS: dict[str, str] = {
    "eval": "measure predictions against ground truth",
    "doctor": "say what is wrong with the files, before any number",
    "info": "say what a segmentation file holds",
    "explain": "say what a metric is, and what each tool would answer for the same pair",
    "verify": "compute a result file again and say which numbers differ",
    "compare": "measure several models on the same cases, rank them, and say how far that can be trusted",
    "figures": "write every figure and table of an evaluation for a paper",
    "rank": "rank models from per-case scores, with intervals, rank sets and the cases that decide",
    "diff": "compare two evaluations of the same cases; fails on a regression",
    "groups": "estimates per group of cases, gaps between groups, the worst group",
    "plan": "how many cases separate two models, or make an interval narrow enough",
    "grand-challenge": "make an evaluation container for a challenge on grand-challenge.org",
    "import": "read result files of any known tool, audit them, write one score file",
}
#: Where a command cannot be the name of a module.
_MODULES = {"import": "import_scores", "grand-challenge": "grand_challenge"}
_EXAMPLES = (
    "segauge doctor --pred predictions --gt labels",
    "segauge eval --pred predictions --gt labels --structures all --json result.json --report report.html",
    "segauge eval --help    every command says what it takes",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 fine, 1 tool error, 2 usage, 3 and up as the command says."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = Parser(prog="segauge", description="Measure segmentations against ground truth.", examples=_EXAMPLES)
    parser.add_argument("--version", action="version", version=f"segauge {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, words in COMMANDS.items():
        if given[:1] == [name]:
            import_module(f"segauge.cli.{_MODULES.get(name, name)}").add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=words)
    if not given:
        parser.print_help(sys.stderr)
        return 2
    args = parser.parse_args(given)
    return exit_code_of("segauge", lambda: args.run(args))
