"""Options of datasets and models, as a config writes them: checked, with words for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segauge.errors import InvalidInput
from segbench.suggestions import unknown

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list", dict: "keys"}


def read_options(owner: str, given: Mapping[str, Any], **kinds: type) -> dict[str, Any]:
    """Return the options that were given, each of its kind; refuse those that the owner does not know.

    >>> read_options("kits23", {"case_numbers": [0, 1]}, case_numbers=list)
    {'case_numbers': [0, 1]}
    """
    for key, value in given.items():
        if key not in kinds:
            raise InvalidInput(f"{owner}: {unknown('option', key, kinds)}")
        kind = kinds[key]
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise InvalidInput(f"{owner}: {key} should be {_WORDS.get(kind, kind.__name__)}, got {value!r}.")
    return dict(given)


def require(owner: str, options: Mapping[str, Any], key: str, example: str) -> Any:
    """Return an option that has to be there."""
    if key not in options:
        raise InvalidInput(f"{owner}: expected the option {key!r}, such as `{key}: {example}`.")
    return options[key]
