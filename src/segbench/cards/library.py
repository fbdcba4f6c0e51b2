"""The cards that come with segbench: datasets and models of the field, with or without an adapter."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards.exposure import Lineage
from segbench.cards.values import DatasetCard, ModelCard
from segbench.suggestions import unknown


@cache
def dataset_cards() -> tuple[DatasetCard, ...]:
    """Return the cards of all datasets that come with segbench."""
    return tuple(DatasetCard.from_dict(entry) for entry in _entries("dataset"))


@cache
def model_cards() -> tuple[ModelCard, ...]:
    """Return the cards of all models that come with segbench."""
    return tuple(ModelCard.from_dict(entry) for entry in _entries("model"))


def dataset_card(name: str) -> DatasetCard:
    """Return the card of a dataset by any of its names."""
    lineage = known_lineage()
    found = lineage.datasets.get(lineage.name_of(name))
    if found is None:
        raise InvalidInput(unknown("dataset card", name, lineage.datasets))
    return found


def model_card(name: str) -> ModelCard:
    """Return the card of a model by its name, upper or lower case."""
    cards = {card.name.casefold(): card for card in model_cards()}
    if name.casefold() not in cards:
        raise InvalidInput(unknown("model card", name, [card.name for card in cards.values()]))
    return cards[name.casefold()]


def known_lineage(further: Iterable[DatasetCard] = ()) -> Lineage:
    """Return the lineage of the datasets that come with segbench, and of further ones.

    A further card replaces the one of its name: the adapter that a run uses knows its dataset best.
    """
    added = {card.name: card for card in further}
    return Lineage.of([*(card for card in dataset_cards() if card.name not in added), *added.values()])


def _entries(kind: str) -> list[dict[str, Any]]:
    text = files("segbench.cards").joinpath(f"{kind}s.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)[kind])
