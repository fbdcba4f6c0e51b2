"""YAML files of people: plain values only, no key twice, no small file that becomes a huge value."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput, MissingExtra
from segauge.io.gate import FOREIGN_FAILURES, MAX_DIGITS, read_bytes

#: A file that somebody wrote is short; anything longer, or with more references to itself, is not one.
MAX_BYTES = 1 << 20
_MAX_ALIASES = 100
#: A few references within references make a small file as large as this.
_MAX_VALUES = 100_000
#: Levels of lists and mappings within each other; the reader slows down, and then gives up, long after.
_MAX_DEPTH = 50


def read_yaml(path: str | os.PathLike[str], what: str, *, max_bytes: int = MAX_BYTES) -> Any:
    """Return the plain values of a YAML file (or JSON, which is YAML).

    Args:
        path: the file.
        what: what it should be, for messages: "a config".
        max_bytes: a longer file is refused.

    """
    place = Path(path)
    if not place.is_file():
        raise InvalidInput(f"{place}: there is no such file (expected {what}).")
    try:
        text = read_bytes(place, what, max_bytes=max_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{place.name}: is not YAML, which is text in UTF-8: {error.reason}.") from error
    return _load(text, place.name, what)


def _load(text: str, source: str, what: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra(f"Reading {what} from YAML needs PyYAML: `pip install 'segauge[bench]'`.") from error

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Plain values only, and no key twice: YAML would take the last one without a word."""

        def construct_scalar(self, node: Any) -> Any:
            if len(str(node.value)) > MAX_DIGITS and node.tag.endswith((":int", ":float")):
                raise InvalidInput(
                    f"{source}: holds a number of {len(node.value)} digits, line {node.start_mark.line + 1}; at most "
                    f"{MAX_DIGITS} are read."
                )
            return super().construct_scalar(node)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [
                self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"
            ]
            counts = Counter(key for key in keys if isinstance(key, (str, int)))
            twice = next((key for key, count in counts.items() if count > 1), None)
            if twice is not None:
                raise InvalidInput(f"{source}: the key {twice!r} appears twice, line {node.start_mark.line + 1} on.")
            return super().construct_mapping(node, deep)

    try:
        aliases = _count_aliases(yaml.parse(text, Loader=yaml.SafeLoader), source, what)
        if aliases and _expanded(yaml.compose(text, Loader=yaml.SafeLoader), {}) > _MAX_VALUES:
            raise InvalidInput(f"{source}: refers to itself until it is too large for {what}; write it out.")
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a SafeLoader that is stricter
    except yaml.YAMLError as error:
        raise InvalidInput(f"{source}: is not plain YAML: {' '.join(str(error).split())[:300]}") from error
    except InvalidInput:
        raise
    except FOREIGN_FAILURES as error:  # a date that is none, a tag that does not fit its value
        said = str(error).rstrip(".") if isinstance(error, ValueError) else f"a tag does not fit its value ({error!r})"
        raise InvalidInput(f"{source}: holds a value that cannot be: {said}.") from error


def _count_aliases(events: Iterable[Any], source: str, what: str) -> int:
    """Return how often a file refers to itself; stop as soon as that, or how deeply it is nested, is too much."""
    aliases = depth = 0
    for event in events:
        kind = type(event).__name__
        aliases += kind == "AliasEvent"
        depth += kind in ("SequenceStartEvent", "MappingStartEvent")
        depth -= kind in ("SequenceEndEvent", "MappingEndEvent")
        if aliases > _MAX_ALIASES:
            raise InvalidInput(f"{source}: refers to itself more than {_MAX_ALIASES} times; write it out.")
        if depth > _MAX_DEPTH:
            raise InvalidInput(f"{source}: is nested too deeply for {what} (more than {_MAX_DEPTH} levels).")
    return aliases


def _expanded(node: Any, known: dict[int, float]) -> float:
    """Return how many values a node is with every reference written out; infinity if it contains itself."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = float("inf")
    children = node.value if isinstance(node.value, list) else []
    parts = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
    known[id(node)] = 1.0 + sum(_expanded(part, known) for part in parts)
    return known[id(node)]
