"""`segbench init`: a config to start from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segauge.cli.terminal import say_written
from segauge.errors import InvalidInput
from segauge.io.outputs import write_whole

_CONFIG = """\
# A benchmark: `segbench run --config {name} --render site`
dataset:
  name: {dataset}  # `segbench cards datasets` lists them
  root: data/{dataset}
models:  # `segbench cards models` lists them
{models}
n_cases: {n_cases}
metrics: [dice, hd95, nsd, assd]
nsd_tolerance: 1.0  # in mm
seed: 0
cache_dir: predictions
results_path: results/run.json
"""


_CLASSICAL = """\
  - { type: classical, method: threshold }
  - { type: classical, method: mean-field }"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "init",
        description="Write a config to start from; nothing is overwritten. Exit codes: 0 fine, 1 the file is there, "
        "2 usage.",
        examples=("segbench init config.yaml --dataset kits23 --models totalsegmentator",),
    )
    parser.add_argument(
        "place", type=Path, nargs="?", default=Path("config.yaml"), metavar="FILE", help="default: config.yaml"
    )
    parser.add_argument("--dataset", default="phantom", metavar="NAME", help="the dataset (default: phantom)")
    parser.add_argument(
        "--models", metavar="NAMES", help="types of models, such as totalsegmentator (default: two classical ones)"
    )
    parser.add_argument("--n-cases", type=int, default=12, metavar="N", help="number of cases (default: 12)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the config, and say what comes next."""
    if args.place.exists():
        raise InvalidInput(f"{args.place}: is there already, and is not overwritten.")
    types = [name.strip() for name in (args.models or "").split(",") if name.strip()]
    models = "\n".join(f"  - {{ type: {name} }}" for name in types) or _CLASSICAL
    text = _CONFIG.format(name=args.place.name, dataset=args.dataset, models=models, n_cases=args.n_cases)
    say_written(write_whole(args.place, text))
    print(f"Next: edit it, then `segbench run --config {args.place} --dry-run`.")  # noqa: T201
    return 0
