"""Exposure: whether a model has seen a dataset, computed over the lineage of datasets, with the path that convicts it.

Two datasets share images if one can go down from each of them, to what it contains, and arrive at the same place.
Two subsets of one archive may overlap or not: that leaves the question open. The cards that come with segbench, of
datasets and models of the field with or without an adapter, are read here as well.
"""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from segauge.errors import InvalidInput
from segbench.cards.values import Confidence, DatasetCard, LineageEdge, ModelCard, Relation, TrainingSet
from segbench.suggestions import unknown


class ExposureLevel(StrEnum):
    """What a model has seen of a dataset."""

    NONE = "none"  #: nothing, as far as its makers say what it learned from
    IMAGES = "images"  #: some of its images, without labels
    LABELS = "labels"  #: some of its images, with labels (the dataset's own, or somebody else's)
    UNKNOWN = "unknown"  #: cannot be told; this is not clean


_CLEAN_WORDS = "no known overlap with its training data"
_FORMER_CLEAN_WORDS = "nothing that it was trained on is known to share images with it"

#: Lightest first: of several findings the heaviest one is the answer.
_WEIGHT = (ExposureLevel.NONE, ExposureLevel.UNKNOWN, ExposureLevel.IMAGES, ExposureLevel.LABELS)


@dataclass(frozen=True)
class Exposure:
    """What a model has seen of a dataset, and how that is known.

    Attributes:
        model, dataset: whom it is about.
        level: none, images, labels or unknown.
        reason: one sentence: "trained on AbdomenAtlas 1.0 Mini, which contains KiTS23".
        path: the datasets from what the model learned from to the dataset in question; empty if none convicts.
        sources: where each step of the path is written.
        caveat: what the model's makers do not say; worth printing beside a clean verdict.

    """

    model: str
    dataset: str
    level: ExposureLevel
    reason: str
    path: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    caveat: str = ""

    def __post_init__(self) -> None:
        """Read the sentence that records of earlier versions have as the one of today."""
        if self.reason == _FORMER_CLEAN_WORDS:
            object.__setattr__(self, "reason", _CLEAN_WORDS)

    @property
    def is_clean(self) -> bool:
        """True if no overlap was found; a model whose training data is unknown is not clean."""
        return self.level is ExposureLevel.NONE

    def __str__(self) -> str:
        return f"{self.model} on {self.dataset}: {self.level.value} ({self.reason})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for strict JSON."""
        return {
            "level": self.level.value,
            "reason": self.reason,
            "path": list(self.path),
            "sources": list(self.sources),
            "caveat": self.caveat,
        }


@dataclass(frozen=True)
class _Step:
    """A way down: from a dataset to one whose images it has."""

    to: str
    words: str
    edge: LineageEdge


@dataclass(frozen=True, eq=False)
class Lineage:
    """Datasets by name, and which of them has images of which."""

    datasets: Mapping[str, DatasetCard]
    _names: Mapping[str, str] = field(default_factory=dict, repr=False)
    _down: Mapping[str, tuple[_Step, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, cards: Iterable[DatasetCard]) -> Lineage:
        """Return the lineage of these datasets; two cards of one name, or of one alias, are refused."""
        datasets: dict[str, DatasetCard] = {}
        names: dict[str, str] = {}
        for card in cards:
            for folded, name in {_folded(name): name for name in (*card.aliases, card.name)}.items():
                if folded in names:
                    raise InvalidInput(f"Two dataset cards are called {name!r}: {names[folded]} and {card.name}.")
                names[folded] = card.name
            datasets[card.name] = card
        down: dict[str, list[_Step]] = {name: [] for name in datasets}
        for card in datasets.values():
            for edge in card.lineage or ():
                other = names.get(_folded(edge.other), edge.other)
                if edge.relation is Relation.CONTAINS:
                    down.setdefault(card.name, []).append(_Step(other, "contains", edge))
                else:
                    words = "is relabelled by" if edge.relation is Relation.RELABELS else "has the subset"
                    down.setdefault(other, []).append(_Step(card.name, words, edge))
        return cls(datasets, names, {name: tuple(steps) for name, steps in down.items()})

    def name_of(self, name: str) -> str:
        """Return the name that a dataset has here, by any of its names; the name itself if there is no card."""
        return self._names.get(_folded(name), name)

    def title_of(self, name: str) -> str:
        """Return what pages call a dataset."""
        card = self.datasets.get(self.name_of(name))
        return name if card is None else card.title

    def ways_down(self, name: str) -> dict[str, tuple[_Step, ...]]:
        """Return per dataset whose images this one has the shortest way there, over verified edges where possible."""
        start = self.name_of(name)
        found: dict[str, tuple[_Step, ...]] = {start: ()}
        for verified_only in (True, False):
            queue = deque(found)
            while queue:
                here = queue.popleft()
                for step in self._down.get(here, ()):
                    if step.to in found or (verified_only and step.edge.confidence is Confidence.UNVERIFIED):
                        continue
                    found[step.to] = (*found[here], step)
                    queue.append(step.to)
        return found

    def shared(self, one: str, other: str) -> tuple[tuple[_Step, ...], tuple[_Step, ...]] | None:
        """Return the ways down from two datasets to images they share, None if they are known to share none."""
        left, right = self.ways_down(one), self.ways_down(other)
        meetings = sorted(
            (_is_unverified((*left[place], *right[place])), len(left[place]) + len(right[place]), place)
            for place in left.keys() & right.keys()
        )
        return (left[meetings[0][2]], right[meetings[0][2]]) if meetings else None

    def pool(self, name: str) -> set[str]:
        """Return the datasets that all images of this one come from, itself included."""
        found, queue = set(), [self.name_of(name)]
        while queue:
            here = queue.pop()
            if here not in found:
                found.add(here)
                card = self.datasets.get(here)
                edges = card.lineage or () if card is not None else ()
                queue += [self.name_of(edge.other) for edge in edges if edge.relation is not Relation.CONTAINS]
        return found

    def may_share(self, one: str, other: str) -> str:
        """Return the dataset that both may have images of, as parts of larger ones; "" if there is none."""
        left, right = (self._reach(name) for name in (one, other))
        return min(left.keys() & right.keys(), key=lambda place: (left[place] + right[place], place), default="")

    def _reach(self, name: str) -> dict[str, int]:
        """Return per dataset that this one may have images of how many steps it is away from a pool of this one."""
        reach: dict[str, int] = {}
        for pool in self.pool(name):
            for place, way in self.ways_down(pool).items():
                reach[place] = min(len(way), reach.get(place, len(way)))
        return reach

    def is_open(self, name: str, other: str) -> str:
        """Return why a dataset may contain images of another one, "" if all that it contains is known."""
        pool = self.pool(other)
        for place in self.ways_down(name):
            card = self.datasets.get(place)
            if card is None:
                return f"there is no card for {place}, so its content is unknown"
            if card.lineage is None:
                return f"where the images of {card.title} come from is not known"
            if card.partial and not pool & {self.name_of(absent) for absent in card.lacks}:
                return f"only some of the sources of {card.title} are listed"
        return ""


def exposure(model: ModelCard, dataset: DatasetCard | str, lineage: Lineage) -> Exposure:
    """Return what a model has seen of a dataset: the heaviest of what its training sets convict it of.

    A dataset that shares images over an unverified edge only, whose contents nobody knows, or a training that nobody
    described, makes the answer unknown: that is not clean.
    """
    name = dataset if isinstance(dataset, str) else dataset.name
    found = [Exposure(model.name, lineage.name_of(name), ExposureLevel.NONE, _clean_words(model))]
    for learned, level, words in (
        (model.trained_on, ExposureLevel.LABELS, "trained"),
        (model.pretrained_on, ExposureLevel.IMAGES, "pre-trained"),
    ):
        if learned is None:
            found.append(_unknown(model, lineage.name_of(name), f"what it was {words} on is not known"))
        found += [_of_training(model, part, level, words, lineage.name_of(name), lineage) for part in learned or ()]
    heaviest = max(found, key=lambda one: _WEIGHT.index(one.level))
    return Exposure(**{**vars(heaviest), "caveat": model.undisclosed})


def _of_training(
    model: ModelCard, training: TrainingSet, level: ExposureLevel, words: str, name: str, lineage: Lineage
) -> Exposure:
    """Return what one training set convicts the model of."""
    meeting = lineage.shared(training.dataset, name)
    start = lineage.name_of(training.dataset)
    if meeting is None:
        both = lineage.may_share(start, name)
        reason = f"like {lineage.title_of(name)} it may have images of {lineage.title_of(both)}" if both else ""
        reason = reason or lineage.is_open(start, name) or lineage.is_open(name, start)
        if reason:
            return _unknown(model, name, f"{words} on {lineage.title_of(start)}; {reason}")
        return Exposure(model.name, name, ExposureLevel.NONE, _clean_words(model))
    down, up = meeting
    reason = f"{words} on {lineage.title_of(start)}" + _path_words(down, up, name, lineage)
    path = (start, *(step.to for step in down), *_climbed(up, name)[1:])
    sources = (training.source, *(step.edge.source for step in (*down, *reversed(up))))
    if _is_unverified((*down, *up)) or training.confidence is Confidence.UNVERIFIED:
        return Exposure(model.name, name, ExposureLevel.UNKNOWN, f"{reason} (unverified)", path, sources)
    return Exposure(model.name, name, level, reason, path, sources)


def _path_words(down: tuple[_Step, ...], up: tuple[_Step, ...], name: str, lineage: Lineage) -> str:
    """Return the path in words: ", which contains KiTS19, which is contained in KiTS23"."""
    words = "".join(f", which {step.words} {lineage.title_of(step.to)}" for step in down)
    reverse = {"contains": "is contained in", "has the subset": "is a subset of", "is relabelled by": "relabels"}
    places = _climbed(up, name)
    for step, place in zip(reversed(up), places[1:], strict=True):
        words += f", which {reverse[step.words]} {lineage.title_of(place)}"
    return words


def _climbed(up: tuple[_Step, ...], name: str) -> tuple[str, ...]:
    """Return the datasets from the meeting place up to the dataset in question."""
    return tuple(reversed((name, *(step.to for step in up))))


def _is_unverified(steps: tuple[_Step, ...]) -> bool:
    return any(step.edge.confidence is Confidence.UNVERIFIED for step in steps)


def _unknown(model: ModelCard, dataset: str, reason: str) -> Exposure:
    return Exposure(model.name, dataset, ExposureLevel.UNKNOWN, reason)


def _clean_words(model: ModelCard) -> str:
    if not model.trained_on and not model.pretrained_on:
        return "was not trained on any data"
    return _CLEAN_WORDS


def _folded(name: str) -> str:
    """Return a name without case, spaces and punctuation: "AbdomenAtlas1.0Mini" is "abdomenatlas-1.0-mini"."""
    return "".join(character for character in name.casefold() if character.isalnum())


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
