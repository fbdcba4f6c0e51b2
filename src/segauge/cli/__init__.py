"""The command line `segauge`: parse, call, print. Each command is one module of this package and one library call."""

from __future__ import annotations

from segauge.cli.program import Alias, Command, Program

PROGRAM = Program(
    "segauge",
    "Measure segmentations against ground truth.",
    {
        "eval": Command("segauge.cli.eval", "measure predictions against ground truth"),
        "compare": Command("segauge.cli.compare", "compare models: from their predictions, or from scores"),
        "diff": Command("segauge.cli.diff", "compare two evaluations of the same cases; fails on a regression"),
        "plan": Command("segauge.cli.plan", "plan how many cases a comparison or an interval needs"),
        "doctor": Command("segauge.cli.doctor", "check files for problems before evaluating, or describe one file"),
        "explain": Command("segauge.cli.explain", "explain a metric and compare the conventions of other tools"),
        "verify": Command("segauge.cli.verify", "compute a result file again and list the numbers that differ"),
        "import": Command("segauge.cli.import_scores", "convert score files of other tools after an audit"),
        "init": Command("segauge.cli.init", "write a protocol file, a challenge container, or shell completion"),
    },
    (
        ("Check your files", "segauge doctor --pred predictions --gt labels"),
        ("Measure them", "segauge eval --pred predictions --gt labels --report report.html --json result.json"),
        ("Compare models", "segauge compare A=a.json B=b.json"),
    ),
    aliases={
        "info": Alias(("doctor",), replaced={"--json": "--json=-"}),
        "rank": Alias(("compare",), replaced={"--pairs": "--all-pairs"}),
        "groups": Alias(("compare",), " with --by COLUMN"),
        "grand-challenge": Alias(("init", "challenge"), replaced={"init": ""}),
    },
    hidden={
        "figures": Command(
            "segauge.cli.figures", "write every figure and table of a result", "compare RESULT --figures FOLDER"
        )
    },
)
COMMANDS: dict[str, str] = {name: command.help for name, command in PROGRAM.commands.items()}
main = PROGRAM.main
