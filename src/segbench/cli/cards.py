"""`segbench cards`: datasets and models, what is known about each, and the images that two datasets share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, UnusableOption
from segauge.io.outputs import write_json, write_whole
from segauge.plural import agreeing, counted
from segbench.cards import DatasetCard, ModelCard, dataset_cards, exposure, known_lineage, model_cards
from segbench.cli.printing import console, one_line, print_progress, print_table, show
from segbench.overlap import find_overlap, images_of
from segbench.registry import DATASETS, MODELS, offers
from segbench.suggestions import unknown

#: Exit code where the datasets share images.
SHARED = 3
#: The list of one kind, in the place of a card's name.
_LISTS = ("datasets", "models")


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "cards",
        description="List what a config can name and what has a card; print the card of a dataset or model (facts, "
        "licence, which models saw it); or find images that two datasets share (overlap A B): resampled, cropped or "
        "rescaled copies, not mirrored or stretched ones. Exit codes: 0 fine, 1 error, 2 usage, 3 shared images found.",
        examples=(
            "segbench cards models",
            "segbench cards kits23",
            "segbench cards overlap data/ours/images kits23=data/kits23 --json shared.json",
        ),
    )
    parser.add_argument(
        "words", nargs="*", metavar="NAME", help="a dataset or model; datasets or models; or overlap A B, each a "
        "folder of images, a dataset, or dataset=folder"
    )  # fmt: skip
    parser.add_argument("--n-cases", type=int, metavar="N", help="overlap: only the first N images of each")
    parser.add_argument(
        "--json",
        type=Path,
        nargs="?",
        const=Path("-"),
        metavar="FILE",
        help="the card, or the overlap, as JSON",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List, print a card, or look for shared images."""
    if args.words[:1] == ["overlap"]:
        if len(args.words) != 3:
            raise UnusableOption("overlap needs two datasets: `segbench cards overlap A B`.")
        return run_overlap(args.words[1], args.words[2], args.n_cases, args.json)
    if len(args.words) > 1:
        raise UnusableOption(f"expected one name, got {' '.join(args.words)}.")
    if args.words and args.words[0] not in _LISTS:
        return run_card(args.words[0], args.json)
    return run_list(args.words or _LISTS)


def run_list(kinds: Sequence[str]) -> int:
    """Print plug-ins and cards."""
    for what in kinds:
        _print_list(what)
    return 0


def _print_list(what: str) -> None:
    rows = [["name in a config", "from"]]
    for offer in offers(DATASETS if what == "datasets" else MODELS).values():
        rows.append([one_line(offer.name), one_line(f"{offer.package} ({offer.entry.value})")])
    print_table(console(), f"{what} that can be used", rows)
    cards = [["name", "title" if what == "datasets" else "version", "licence"]]
    found: tuple[DatasetCard | ModelCard, ...] = dataset_cards() if what == "datasets" else model_cards()
    for card in found:
        second = card.title if isinstance(card, DatasetCard) else card.version
        cards.append([one_line(text) for text in (card.name, second, card.licence)])
    print_table(console(), f"cards of {what}", cards, text=("title", "licence"))


def run_card(name: str, json_path: Path | None) -> int:
    """Print a card, and its exposures."""
    card = _found(name)
    if json_path is not None:
        write_whole(json_path, json.dumps(card.to_dict(), indent=1, ensure_ascii=False) + "\n")
        return 0
    for key, value in card.to_dict().items():
        if value not in (None, "", [], {}):
            show(f"{key}: {value if isinstance(value, str) else json.dumps(value)}")
    lineage = known_lineage()
    if isinstance(card, DatasetCard):
        found = [exposure(model, card, lineage) for model in model_cards()]
    else:
        found = [exposure(card, dataset, lineage) for dataset in dataset_cards() if dataset.structures]
    for one in found:
        who = one.model if isinstance(card, DatasetCard) else lineage.title_of(one.dataset)
        show(f"  {one.level.value:<8} {who}: {one.reason}")
    return 0


def _found(name: str) -> DatasetCard | ModelCard:
    lineage = known_lineage()
    models = {card.name.casefold(): card for card in model_cards()}
    if name.casefold() in models:
        return models[name.casefold()]
    if lineage.name_of(name) in lineage.datasets:
        return lineage.datasets[lineage.name_of(name)]
    known = [*lineage.datasets, *(card.name for card in models.values())]
    raise InvalidInput(unknown("dataset or model", name, known))


def run_overlap(one: str, other: str, n_cases: int | None, json_path: Path | None) -> int:
    """Find images that two datasets share, and print the pairs."""
    left, right = (dict(list(images_of(what).items())[:n_cases]) for what in (one, other))
    found = find_overlap(left, right, print_progress)
    if found.pairs:
        rows = [[one, other, "places", "share", "offset in mm"]]
        for pair in found.pairs:
            offset = ", ".join(f"{value:+.1f}" for value in pair.likeness.offset_mm)
            votes, share = str(pair.likeness.votes), f"{pair.likeness.share:.2f}"
            rows.append([one_line(pair.left), one_line(pair.right), votes, share, offset])
        print_table(console(), "images that show the same scan", rows, keys=2)
    shared = agreeing(len(found.pairs), "pair shows", "pairs show")
    show(f"{found.n_left} and {counted(found.n_right, 'image')} compared: {shared} the same scan.")
    show(*(f"not compared: {name}: {reason}" for name, reason in found.unusable.items()))
    if json_path is not None:
        write_json(json_path, found.to_dict())
    return SHARED if found.pairs else 0
