"""Datasets and models that can be used: found through entry points, loaded when asked for, checked, refused twice.

A package offers a dataset or a model with an entry point that names a factory:

    [project.entry-points."segbench.datasets"]
    my-hospital = "my_package:my_hospital"      # (root: Path | None, options: Mapping) -> Dataset

    [project.entry-points."segbench.models"]
    my-net = "my_package:my_net"                # (options: Mapping) -> Model

The name of the entry point is the `dataset: {name: ...}` or `models: [{type: ...}]` of a config. A factory reads its
own options and refuses those it does not know (`segbench.suggestions.unknown` has the words); it opens no file and
starts no download: that is for `Dataset.prepare`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from segauge.errors import InvalidInput, SegaugeError
from segbench.cards import DatasetCard, ModelCard
from segbench.suggestions import unknown

DATASETS = "segbench.datasets"
MODELS = "segbench.models"

#: Told what is going on: a short text, and how far it is (done, total; total 0 if not known).
Progress = Callable[[str, int, int], None]


class PluginError(SegaugeError):
    """A plug-in cannot be used: it fails to load, is offered twice, or gives back something else."""


@dataclass(frozen=True)
class DatasetCase:
    """One case of a dataset: its image, its ground truth (label map in the card's labels), and its metadata."""

    case_id: str
    image: Path
    gt: Path
    metadata: Mapping[str, object] = field(default_factory=dict)


@runtime_checkable
class Dataset(Protocol):
    """A dataset that cases can be taken from."""

    @property
    def card(self) -> DatasetCard:
        """What is known about it."""

    def case_ids(self) -> Sequence[str]:
        """Return the ids of all cases, sorted, without fetching any: what a sample is drawn from."""

    def prepare(self, case_ids: Sequence[str], progress: Progress | None = None) -> None:
        """Fetch what is missing of these cases; raise with what to do where that cannot be done."""

    def cases(self, case_ids: Sequence[str]) -> Sequence[DatasetCase]:
        """Return these cases, in this order; their files are there after `prepare`."""


@runtime_checkable
class Model(Protocol):
    """A model that can be run: a command line, perhaps in an environment of its own."""

    @property
    def card(self) -> ModelCard:
        """What is known about it, and which labels of its output make which structure."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """Pinned requirements of its own environment; empty if it runs as it is (a command, a container)."""

    @property
    def options(self) -> Mapping[str, Any]:
        """What its predictions depend on, besides version, case and image: plain values, part of the cache key."""

    @property
    def needs_gpu(self) -> bool:
        """Whether it is hopeless without a GPU."""

    def command(self, image: Path, output: Path, device: str, environment_python: Path | None) -> list[str]:
        """Return the command that reads `image` and writes one label map, in the image's space, to `output`.

        `device` is "cpu" or "cuda" (or "cuda:1"); `environment_python` is the interpreter of the environment made
        from `requirements`, None if there are none. Every argument is one item: there is no shell.
        """


@dataclass(frozen=True)
class Offer:
    """A plug-in that is on offer: its name, and which package brings it."""

    name: str
    package: str
    entry: EntryPoint


def offers(group: str) -> dict[str, Offer]:
    """Return what is on offer in a group, by name, without loading any; a name offered twice is refused."""
    found: dict[str, Offer] = {}
    for entry in entry_points(group=group):
        package = entry.dist.name if entry.dist is not None else "an unnamed package"
        known = found.get(entry.name)
        if known is not None and known.entry.value != entry.value:
            raise PluginError(
                f"{group}: {entry.name!r} is offered twice, by {known.package} ({known.entry.value}) and by {package} "
                f"({entry.value}). Uninstall one of them, or rename its entry point."
            )
        found[entry.name] = Offer(entry.name, package, entry)
    return dict(sorted(found.items()))


def dataset(name: str, root: Path | None = None, options: Mapping[str, Any] | None = None) -> Dataset:
    """Return a dataset by the name of its entry point.

    Args:
        name: such as "kits23".
        root: folder that has it, or that it is to be fetched into; None where it needs none.
        options: further keys of the config's `dataset`.

    """
    made = _factory(DATASETS, name, "dataset")(root, dict(options or {}))
    _require_kind(made, Dataset, DatasetCard, DATASETS, name)
    return made  # type: ignore[no-any-return]


def model(name: str, options: Mapping[str, Any] | None = None) -> Model:
    """Return a model by the name of its entry point; `options` are the further keys of its entry in the config."""
    made = _factory(MODELS, name, "model type")(dict(options or {}))
    _require_kind(made, Model, ModelCard, MODELS, name)
    return made  # type: ignore[no-any-return]


def _factory(group: str, name: str, what: str) -> Callable[..., Any]:
    known = offers(group)
    if name not in known:
        raise InvalidInput(unknown(what, name, known))
    offer = known[name]
    try:
        factory = offer.entry.load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f"The {what} {name!r} of {offer.package} cannot be loaded: {error}.") from error
    if not callable(factory):
        raise PluginError(
            f"The {what} {name!r} of {offer.package} should be a factory, it is {type(factory).__name__}."
        )
    return factory  # type: ignore[no-any-return]


def _require_kind(made: object, protocol: type, card: type, group: str, name: str) -> None:
    """Check what a factory gave back: it must have every member of the protocol, and a card of the right kind."""
    wanted = sorted(member for member in vars(protocol) if not member.startswith("_"))
    lacking = [member for member in wanted if not hasattr(made, member)]
    if lacking:
        raise PluginError(
            f"{group}: the factory of {name!r} gave back a {type(made).__name__} without {', '.join(lacking)}; "
            f"a {protocol.__name__} has {', '.join(wanted)}."
        )
    if not isinstance(made.card, card):  # type: ignore[attr-defined]
        raise PluginError(f"{group}: the card of {name!r} should be a {card.__name__}.")
