"""RegisteredModel: what a board says about a model besides its scores; read from the organiser's registry file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from segauge.errors import InvalidInput
from segbench.analysis.names import folded_name, without_framework
from segbench.suggestions import unknown


@dataclass(frozen=True)
class RegisteredModel:
    """One model of the registry; what is not known is "".

    An organiser's row of a table, in the organiser's words. Not a `ModelCard`: that decides about exposure and labels,
    and so wants sources and whole numbers. Where a run's record has cards, rows are made of them.

    Attributes:
        key: its name in the score files.
        name: what boards call it.
        organisation, framework, paper, code, checkpoint: as its makers say them; paper, code and checkpoint may be
            addresses.
        parameters: how many, as text ("61.8 M").
        speed: as text, with its unit ("12 s per CT").
        trained_on: datasets it learned from.
        aliases: other names that claims may use.

    """

    key: str
    name: str
    organisation: str = ""
    framework: str = ""
    paper: str = ""
    code: str = ""
    parameters: str = ""
    speed: str = ""
    checkpoint: str = ""
    trained_on: tuple[str, ...] = ()
    aliases: tuple[str, ...] = field(default=())


#: Columns that boards can show, in this order.
COLUMNS = ("organisation", "framework", "paper", "code", "parameters", "speed", "checkpoint", "trained_on")


def entries_of(given: object) -> tuple[RegisteredModel, ...]:
    """Return the models of a registry file: `{"models": {key: {name: ..., organisation: ..., ...}}}`.

    An unknown field, or two models of one name, is an error.
    """
    if not isinstance(given, Mapping) or set(given) != {"models"} or not isinstance(given["models"], Mapping):
        raise InvalidInput("A model registry has one key, models: {name in the score files: {name: ..., ...}}.")
    entries = tuple(_entry(str(key), value) for key, value in given["models"].items())
    names = [folded_name(entry.name) for entry in entries]
    for entry, name in zip(entries, names, strict=True):
        if names.count(name) > 1:
            raise InvalidInput(f"The model registry has {entry.name!r} twice; every model needs a name of its own.")
    return entries


def _entry(key: str, given: object) -> RegisteredModel:
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"Model registry, {key!r}: expected fields such as organisation: ..., got {given!r}.")
    known = [one.name for one in fields(RegisteredModel) if one.name != "key"]
    for name in given:
        if name not in known:
            raise InvalidInput(f"Model registry, {key!r}: {unknown('field', str(name), known)}")
    values = {name: _value(key, name, value) for name, value in given.items() if value is not None}
    return RegisteredModel(key, **{"name": key, **values})  # type: ignore[arg-type]


def _value(key: str, name: str, value: object) -> str | tuple[str, ...]:
    if name in ("trained_on", "aliases"):
        parts = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(part, (str, int, float)) and not isinstance(part, bool) for part in parts):
            raise InvalidInput(f"Model registry, {key!r}: {name} should be a list of names, got {value!r}.")
        return tuple(str(part) for part in parts)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidInput(f"Model registry, {key!r}: {name} should be text or a number, got {value!r}.")
    return str(value)


def touchstone_entries(folders: Iterable[str]) -> tuple[RegisteredModel, ...]:
    """Return entries for Touchstone folders without a registry: model and framework from the folder's name.

    A model that two frameworks have keeps the folder's whole name.
    """
    found = [(folder, *without_framework(folder)) for folder in folders]
    names = [folded_name(name) for _, name, _ in found]
    return tuple(
        RegisteredModel(folder, name if names.count(folded_name(name)) == 1 else folder, framework=framework)
        for folder, name, framework in found
    )


def aliases_of(entries: Iterable[RegisteredModel]) -> dict[str, str]:
    """Return further names of models: those in the files, and those that the registry lists."""
    return {alias: entry.name for entry in entries for alias in (entry.key, *entry.aliases) if alias != entry.name}
