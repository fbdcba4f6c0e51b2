"""The command line `segbench`: parse, call, print. Each command is one module of this package and one library call."""

from __future__ import annotations

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
    from segauge import __version__
    from segauge.cli.ending import exit_code_of
    from segauge.cli.parsing import Parser

#: Modules of this package; each has `add_parser(subparsers)` for its commands, which set a default `run(args) -> int`.
COMMANDS: tuple[str, ...] = ("run", "results", "verify", "analyze", "claim", "import_scores", "cards", "overlap")
_EXAMPLES = (
    "segbench run --config configs/phantom.yaml --render site",
    'segbench claim "A > B on liver dice" scores.csv',
    "segbench run --help    every command says what it takes",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; exit codes: 0 fine, 1 error, 2 usage, 3 some predictions failed, 5 does not follow."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = Parser(
        prog="segbench",
        description="Compare segmentation models: a leaderboard anyone can reproduce.",
        examples=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"segbench {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"segbench.cli.{name}").add_parser(subparsers)
    if not given:
        parser.print_help(sys.stderr)
        return 2
    args = parser.parse_args(given)
    return exit_code_of(
        "segbench", lambda: args.run(args), when_stopped="stopped; the same command goes on where it was."
    )
