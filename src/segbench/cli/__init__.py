"""The command line `segbench`: parse, call, print. Each command is one module of this package and one library call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let NumPy load its linear algebra with one thread, unless the environment asks for another number.

    The products of an analysis are many and small: threads wait for each other longer than they compute. Read once,
    when NumPy is loaded; processes that we start see none of it.
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
    from segauge.cli.program import Alias, Command, Program

PROGRAM = Program(
    "segbench",
    "Compare segmentation models: a leaderboard anyone can reproduce.",
    {
        "run": Command("segbench.cli.run", "run a benchmark from its config to its record"),
        "render": Command("segbench.cli.results", "make the pages of records"),
        "verify": Command("segbench.cli.verify", "check that a record follows from its scores and predictions"),
        "claim": Command("segbench.cli.claim", "test a claim such as 'A > B on liver dice'"),
        "cards": Command("segbench.cli.cards", "list datasets and models, show a card, find shared images"),
        "init": Command("segbench.cli.init", "write a config to start from"),
        "import": Command("segbench.cli.import_scores", "make a record of scores from any known tool"),
    },
    (
        ("Run a benchmark", "segbench run --config configs/phantom.yaml --render site"),
        (
            "Make a leaderboard of your own predictions",
            "segbench init board.yaml --gt labels --pred A=predictions_a --pred B=predictions_b",
        ),
        ("Test a claim", 'segbench claim "A > B on liver dice" scores.csv'),
    ),
    aliases={
        "plan": Alias(("run", "--dry-run")),
        "predict": Alias(("run", "--only", "predict")),
        "score": Alias(("run", "--only", "score")),
        "list": Alias(("cards",)),
        "card": Alias(("cards",), replaced={"--json": "--json=-"}),
        "overlap": Alias(("cards", "overlap")),
    },
    hidden={
        "analyze": Command("segbench.cli.analyze", "analyse per-case scores"),
        "reanalyze": Command("segbench.cli.results", "compute the statistics of a record again", "verify --write"),
    },
    when_stopped="stopped; rerun the command to resume.",
)
main = PROGRAM.main
