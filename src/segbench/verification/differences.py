"""Which number differs: two trees of plain values, compared leaf by leaf."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Other machines add numbers in another order: the last digits of a sum may differ, and nothing more.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Mismatch:
    """A place where what was published does not follow: its path, what is written there, and what follows."""

    path: str
    published: Any
    recomputed: Any
    is_rounding: bool = False

    def __str__(self) -> str:
        return f"{self.path}: published {_shown(self.published)}, follows {_shown(self.recomputed)}"


def mismatches(published: Any, recomputed: Any, path: str = "") -> Iterator[Mismatch]:
    """Yield every leaf that differs, with the path to it; a key that only one side has counts, too."""
    if isinstance(published, Mapping) and isinstance(recomputed, Mapping):
        for key in sorted({*published, *recomputed}, key=str):
            yield from mismatches(
                published.get(key, _NOTHING), recomputed.get(key, _NOTHING), f"{path}.{key}".strip(".")
            )
    elif isinstance(published, (list, tuple)) and isinstance(recomputed, (list, tuple)):
        if len(published) != len(recomputed):
            yield Mismatch(f"{path} (how many)", len(published), len(recomputed))
        for i, (one, other) in enumerate(zip(published, recomputed, strict=False)):
            yield from mismatches(one, other, f"{path}[{_name_of(one, i)}]")
    elif not _same(published, recomputed):
        yield Mismatch(path, published, recomputed, _is_close(published, recomputed))


def is_lacking(one: Mismatch) -> bool:
    """Say whether a place is there on one side only."""
    return _NOTHING in (one.published, one.recomputed)


def count_numbers(tree: Any) -> int:
    """Return how many numbers a tree of plain values has."""
    if isinstance(tree, Mapping):
        return sum(count_numbers(part) for part in tree.values())
    if isinstance(tree, (list, tuple)):
        return sum(count_numbers(part) for part in tree)
    return int(isinstance(tree, (int, float)) and not isinstance(tree, bool))


class _Nothing:
    """Stands where one side has no such key."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


def _name_of(item: Any, position: int) -> str:
    """Return what a reader calls an item of a list: the model it speaks of, or the board, or its position."""
    if isinstance(item, Mapping):
        for keys in (("structure", "metric"), ("a", "b"), ("model",), ("name",)):
            if all(isinstance(item.get(key), str) for key in keys):
                return " ".join(item[key] for key in keys)
    return str(position)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _is_close(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other))
    return numbers and math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
