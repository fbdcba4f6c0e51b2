"""`segbench list datasets|models` and `segbench card NAME`: what there is, and what is known about it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards import DatasetCard, ModelCard, dataset_cards, exposure, known_lineage, model_cards
from segbench.cli.printing import console, one_line, print_table
from segbench.registry import DATASETS, MODELS, offers
from segbench.suggestions import unknown


def add_parser(subparsers: Any) -> None:
    """Add the commands."""
    listing: argparse.ArgumentParser = subparsers.add_parser(
        "list",
        help="datasets or models that can be used, and those that only have a card",
        description="List what a config can name, and what has a card: facts, licence, who has seen what. "
        "Exit codes: 0 fine, 2 usage.",
        examples=("segbench list models",),
    )
    listing.add_argument("what", nargs="?", choices=("datasets", "models"), help="only these (default: both)")
    listing.set_defaults(run=run_list)
    card: argparse.ArgumentParser = subparsers.add_parser(
        "card",
        help="what is known about a dataset or model, and who has seen what",
        description="Print the card of a dataset or model, and its exposures. Exit codes: 0 fine, 1 no such card, "
        "2 usage.",
        examples=("segbench card kits23",),
    )
    card.add_argument("name", metavar="NAME", help="of a dataset or model, as `segbench list` prints it")
    card.add_argument("--json", action="store_true", help="print the card as JSON")
    card.set_defaults(run=run_card)


def run_list(args: argparse.Namespace) -> int:
    """Print plug-ins and cards."""
    for what in ("datasets", "models") if args.what is None else (args.what,):
        _print_list(what)
    return 0


def _print_list(what: str) -> None:
    out = console()
    rows = [["name in a config", "from"]]
    for offer in offers(DATASETS if what == "datasets" else MODELS).values():
        rows.append([one_line(offer.name), one_line(f"{offer.package} ({offer.entry.value})")])
    print_table(out, f"{what} that can be used", rows)
    cards = [["name", "title" if what == "datasets" else "version", "licence"]]
    found: tuple[DatasetCard | ModelCard, ...] = dataset_cards() if what == "datasets" else model_cards()
    for card in found:
        second = card.title if isinstance(card, DatasetCard) else card.version
        cards.append([one_line(text) for text in (card.name, second, card.licence)])
    print_table(out, f"cards of {what}", cards, text=("title", "licence"))


def run_card(args: argparse.Namespace) -> int:
    """Print a card, and its exposures."""
    card = _found(args.name)
    if args.json:
        print(json.dumps(card.to_dict(), indent=1, ensure_ascii=False))  # noqa: T201 - for another program to read
        return 0
    out = console()
    for key, value in card.to_dict().items():
        if value not in (None, "", [], {}):
            out.print(one_line(f"{key}: {value if isinstance(value, str) else json.dumps(value)}"), markup=False)
    lineage = known_lineage()
    if isinstance(card, DatasetCard):
        found = [exposure(model, card, lineage) for model in model_cards()]
    else:
        found = [exposure(card, dataset, lineage) for dataset in dataset_cards() if dataset.structures]
    for one in found:
        who = one.model if isinstance(card, DatasetCard) else lineage.title_of(one.dataset)
        out.print(one_line(f"  {one.level.value:<8} {who}: {one.reason}"), markup=False)
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
