"""`segbench init`: a config to start from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from segauge import read_labels
from segauge.cli.parsing import PATH
from segauge.cli.sources import named_source
from segauge.cli.structures import comma_separated, named_structures
from segauge.cli.terminal import say_written, tell
from segauge.errors import InvalidInput, UnusableOption
from segauge.io.layouts.pairs import image_files
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


#: A leaderboard of predictions that are there.
_OWN = """\
# A leaderboard of predictions: `segbench run --config {name} --render site`
dataset:
  name: folder
  root: .
  called: {called}
  labels: {gt}
  images: {images}
  structures: {structures}
  lineage: []  # public datasets that these cases come from
models:
{models}
metrics: [dice, hd95, nsd, assd]
# all: rank every model. strict: rank only models with a known `trained_on` that does not contain these cases.
exposure_policy: all
results_path: results/{called}.json
"""

_CLASSICAL = """\
  - { type: classical, method: threshold }
  - { type: classical, method: mean-field }"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "init",
        description="Write a config to start from: of a known dataset and models that are run, or of your labels and "
        "one folder of predictions per model (--gt and --pred). Nothing is overwritten. Exit codes: 0 fine, 1 the file "
        "is there, 2 usage.",
        examples=(
            "segbench init config.yaml --dataset kits23 --models totalsegmentator",
            "segbench init board.yaml --gt labels --pred A=predictions_a --pred B=predictions_b",
        ),
    )
    parser.add_argument(
        "place", type=Path, nargs="?", default=Path("config.yaml"), metavar="FILE", help="default: config.yaml"
    )
    parser.add_argument("--dataset", default="phantom", metavar="NAME", help="the dataset (default: phantom)")
    parser.add_argument(
        "--models", metavar="NAMES", help="types of models, such as totalsegmentator (default: two classical ones)"
    )
    parser.add_argument("--n-cases", type=int, default=12, metavar="N", help="number of cases (default: 12)")
    own = parser.add_argument_group("predictions that are there")
    own.add_argument("--gt", type=PATH, metavar="FOLDER", help="ground truth, a file per case")
    own.add_argument(
        "--pred", action="append", default=[], metavar="[NAME=]FOLDER",
        help="predictions of one model; give it per model",
    )  # fmt: skip
    own.add_argument("--images", type=PATH, metavar="FOLDER", help="the images, for pictures (default: none)")
    own.add_argument(
        "--structures", metavar="WHAT", help="NAME=LABEL, such as kidneys=1+2,tumor=3 (default: each label that occurs)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the config, and say what comes next."""
    if args.place.exists():
        raise InvalidInput(f"{args.place}: is there already, and is not overwritten.")
    if args.gt is not None or args.pred:
        return _written(args.place, _own(args))
    types = [name.strip() for name in (args.models or "").split(",") if name.strip()]
    models = "\n".join(f"  - {{ type: {name} }}" for name in types) or _CLASSICAL
    text = _CONFIG.format(name=args.place.name, dataset=args.dataset, models=models, n_cases=args.n_cases)
    return _written(args.place, text)


def _written(place: Path, text: str) -> int:
    say_written(write_whole(place, text))
    tell(f"next: edit it, then `segbench run --config {place} --dry-run`")
    return 0


def _own(args: argparse.Namespace) -> str:
    """Return the config of predictions that are there."""
    if args.gt is None or not args.pred:
        raise UnusableOption("a leaderboard of predictions needs --gt FOLDER and --pred NAME=FOLDER for each model")
    structures = _structures(args)
    models = []
    for name, folder in map(named_source, args.pred):
        entry = {"type": "predictions", "name": name or folder.resolve().name, "folder": str(folder)}
        models.append(f"  - {json.dumps({**entry, 'structures': structures})}")
    return _OWN.format(
        name=args.place.name,
        called=args.gt.resolve().parent.name,
        gt=json.dumps(str(args.gt)),
        images=json.dumps(str(args.images or args.gt)),
        structures=json.dumps(structures),
        models="\n".join(models),
    )


def _structures(args: argparse.Namespace) -> dict[str, list[int]]:
    """Return the labels of each structure: those given, or each that occurs in a ground truth."""
    if args.structures is not None:
        named = named_structures(comma_separated(args.structures))
        return {name: [int(label) for label in labels] for name, labels in named.items()}
    found = {label for path in image_files(args.gt).values() for label in read_labels(path).labels.labels()}
    if not found:
        raise InvalidInput(f"{args.gt}: no label occurs in its files; expected a folder with ground truth.")
    return {f"label {label}": [label] for label in sorted(found)}
