"""Groups as users declare them: plain values (from YAML) to families of groups; an unknown key is an error.

```yaml
minimum: 5
families:
  sex: {column: gender, values: {women: f, men: m}}
  age: {column: age, ranges: {18-29: [18, 29], 30-39: [30, 39]}}      # both ends in
  body weight: {column: kg, bins: [50, 70, 90]}                       # under 50, 50 to <70, ..., 90 and over
  scanner: {column: manufacturer}                                     # every value a group
  location: {column: pathology_location, separator: ","}              # every label a group; a case may be in several
  our question:
    groups:
      men aged 30-35: {all: [{gender: m}, {age: {from: 30, to: 35}}]}
      not Siemens: {not: {manufacturer: siemens}}
      tumour or bleeding: {any: [{pathology: tumor}, {pathology: bleeding}]}
      hand-picked: {ids: [s0011, s0058]}
```
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from segauge.errors import InvalidInput
from segbench.analysis.groups.conditions import (
    AllOf,
    AnyOf,
    Between,
    Condition,
    Equals,
    HasLabel,
    Listed,
    Not,
    number,
)
from segbench.suggestions import unknown

Metadata = Mapping[str, Mapping[str, str]]

#: A column with more different values than this makes no groups of its own: it is an id or a free text.
MOST_VALUES = 60
#: Conditions within conditions, at most: nobody nests deeper, and a file could otherwise exhaust the stack.
DEEPEST = 20


@dataclass(frozen=True)
class Family:
    """Groups that belong together and are compared with each other.

    Attributes:
        name: what pages call it.
        groups: name of each group and its condition, in order.
        minimum: smaller groups are not estimated; None for the rules' own minimum.
        suggested: nobody asked for it; the metadata suggested it.

    """

    name: str
    groups: Mapping[str, Condition]
    minimum: int | None = None
    suggested: bool = False


def families_of(given: object, metadata: Metadata) -> tuple[Family, ...]:
    """Return the declared families of groups; columns must be in the metadata.

    Args:
        given: the declaration as plain values: `{"minimum": ..., "families": {name: family}}`.
        metadata: of the cases, for the values of columns.

    """
    top = _mapping(given, "groups", {"minimum", "families"})
    minimum = _minimum(top.get("minimum"), "groups")
    families = _mapping(top.get("families", {}), "families", None)
    if not families:
        raise InvalidInput("The declaration of groups has no families; expected families: {name: ...}.")
    known = frozenset(next(iter(metadata.values()), {}))
    return tuple(_family(str(name), family, metadata, known, minimum) for name, family in families.items())


_FAMILY_KEYS = {"column", "values", "ranges", "bins", "separator", "groups", "minimum"}


def _family(name: str, given: object, metadata: Metadata, known: frozenset[str], minimum: int | None) -> Family:
    where = f"groups, family {name!r}"
    family = _mapping(given, where, _FAMILY_KEYS)
    own = _minimum(family.get("minimum"), where) if "minimum" in family else minimum
    if "groups" in family:
        _refuse(where, family, {"groups", "minimum"}, "groups: {name: condition} stands for itself")
        declared = _mapping(family["groups"], f"{where}, groups", None)
        groups = {str(key): condition_of(value, f"{where}, group {key!r}", known) for key, value in declared.items()}
    else:
        groups = _of_column(family, where, metadata, known)
    if not groups:
        raise InvalidInput(f"{where}: has no groups.")
    return Family(name, groups, own)


def _of_column(
    family: Mapping[str, Any], where: str, metadata: Metadata, known: frozenset[str]
) -> dict[str, Condition]:
    if "column" not in family:
        raise InvalidInput(f"{where}: expected column: NAME, or groups: {{name: condition}}.")
    column = _column(family["column"], where, known)
    ways = [key for key in ("values", "ranges", "bins") if key in family]
    if len(ways) > 1:
        raise InvalidInput(f"{where}: has {' and '.join(ways)}; one of them makes the groups.")
    separator = family.get("separator")
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise InvalidInput(f"{where}: separator should be a text such as ',', got {separator!r}.")
    if not ways:
        return dict(column_groups(column, metadata, separator))
    if separator is not None and ways != ["values"]:
        raise InvalidInput(f"{where}: separator goes with values, not with {ways[0]}.")
    if ways == ["bins"]:
        return dict(_bins(column, family["bins"], where))
    chosen = _mapping(family[ways[0]], f"{where}, {ways[0]}", None)
    if ways == ["ranges"]:
        return {str(key): _range(column, ends, f"{where}, range {key!r}") for key, ends in chosen.items()}
    texts = {str(key): _texts(value, f"{where}, value {key!r}") for key, value in chosen.items()}
    if separator is not None:
        return {key: HasLabel(column, wanted, separator) for key, wanted in texts.items()}
    return {key: Equals(column, wanted) for key, wanted in texts.items()}


def column_groups(column: str, metadata: Metadata, separator: str | None = None) -> dict[str, Condition]:
    """Return a group per value of a column (per label, with a separator), the most frequent first."""
    counts: dict[str, int] = {}
    for row in metadata.values():
        cell = row.get(column, "")
        labels = cell.split(separator) if separator and cell else [cell]
        for label in {label.strip() for label in labels} - {""}:
            counts[label] = counts.get(label, 0) + 1
    if len(counts) > MOST_VALUES:
        raise InvalidInput(
            f"The column {column!r} has {len(counts)} different values; name the groups with values:, ranges: or bins:."
        )
    order = sorted(counts, key=lambda label: (-counts[label], label))
    if separator is not None:
        return {label: HasLabel(column, (label,), separator) for label in order}
    return {label: Equals(column, (label,)) for label in order}


def _bins(column: str, given: object, where: str) -> dict[str, Condition]:
    edges = [_number(edge, f"{where}, bins") for edge in _list(given, f"{where}, bins")]
    if not edges or edges != sorted(set(edges)):
        raise InvalidInput(f"{where}: bins should be edges in ascending order, such as [18, 40, 65], got {given!r}.")
    inner = {f"{low:g} to <{high:g}": Between(column, low, high, False) for low, high in pairwise(edges)}
    return {
        f"under {edges[0]:g}": Between(column, high=edges[0], high_in=False),
        **inner,
        f"{edges[-1]:g} and over": Between(column, low=edges[-1]),
    }


def condition_of(given: object, where: str, known: frozenset[str], depth: int = 0) -> Condition:
    """Return a condition from plain values: {column: value}, all, any, not, ids; several keys mean all of them."""
    if depth > DEEPEST:
        raise InvalidInput(f"{where}: conditions are nested more than {DEEPEST} deep.")
    parts: list[Condition] = []
    for key, value in _mapping(given, where, None).items():
        if key in ("all", "any"):
            inner = tuple(condition_of(part, where, known, depth + 1) for part in _list(value, f"{where}, {key}"))
            if not inner:
                raise InvalidInput(f"{where}: {key} needs at least one condition.")
            parts.append(AllOf(inner) if key == "all" else AnyOf(inner))
        elif key == "not":
            parts.append(Not(condition_of(value, where, known, depth + 1)))
        elif key == "ids":
            parts.append(Listed(frozenset(_texts(value, f"{where}, ids"))))
        else:
            parts.append(_of_cell(_column(key, where, known), value, where))
    if not parts:
        raise InvalidInput(f"{where}: expected a condition such as {{gender: m}}, got nothing.")
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


_CELL_KEYS = {"from", "to", "below", "has", "separator"}


def _of_cell(column: str, value: object, where: str) -> Condition:
    """Return the condition on one column: a value, a list of values, a range, or labels of a list."""
    if not isinstance(value, Mapping):
        return Equals(column, _texts(value, f"{where}, {column}"))
    given = _mapping(value, f"{where}, {column}", _CELL_KEYS)
    if "has" in given:
        _refuse(f"{where}, {column}", given, {"has", "separator"}, "has looks for labels")
        return HasLabel(column, _texts(given["has"], f"{where}, {column}"), str(given.get("separator", ",")))
    if "separator" in given or not given:
        raise InvalidInput(f"{where}, {column}: expected from, to, below, or has; got {dict(given)!r}.")
    if "to" in given and "below" in given:
        raise InvalidInput(f"{where}, {column}: to (end in) and below (end out) exclude each other.")
    low = _number(given.get("from", -math.inf), f"{where}, {column}")
    high = _number(given.get("to", given.get("below", math.inf)), f"{where}, {column}")
    return _ordered_range(column, low, high, "below" not in given, f"{where}, {column}")


def _range(column: str, ends: object, where: str) -> Condition:
    limits = [_number(end, where) for end in _list(ends, where)]
    if len(limits) != 2:
        raise InvalidInput(f"{where}: a range is [first, last], both in it, got {ends!r}.")
    return _ordered_range(column, limits[0], limits[1], True, where)


def _ordered_range(column: str, low: float, high: float, high_in: bool, where: str) -> Condition:
    if low > high:
        raise InvalidInput(f"{where}: the range from {low:g} to {high:g} is empty.")
    return Between(column, low, high, high_in)


def _column(given: object, where: str, known: Collection[str]) -> str:
    if not isinstance(given, str) or given not in known:
        raise InvalidInput(f"{where}: {unknown('metadata column', str(given), known)}")
    return given


def _mapping(given: object, where: str, allowed: set[str] | None) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{where}: expected key: value pairs, got {given!r}.")
    if allowed is not None:
        _refuse(where, given, allowed, f"known are {', '.join(sorted(allowed))}")
    return given


def _refuse(where: str, given: Mapping[Any, Any], allowed: set[str], words: str) -> None:
    strange = [key for key in given if key not in allowed]
    if strange:
        raise InvalidInput(f"{where}: unknown key {strange[0]!r}; {words}.")


def _list(given: object, where: str) -> Sequence[Any]:
    if not isinstance(given, (list, tuple)):
        raise InvalidInput(f"{where}: expected a list, got {given!r}.")
    return given


def _texts(given: object, where: str) -> tuple[str, ...]:
    """Return one value or a list of them as text; `no` and `on`, which YAML takes for booleans, are refused."""
    values = given if isinstance(given, (list, tuple)) else [given]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise InvalidInput(f"{where}: expected text or a number, got {value!r} (put yes, no, on, off in quotes).")
    return tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _number(given: object, where: str) -> float:
    value = None if isinstance(given, bool) else number(str(given))
    if value is None and given not in (math.inf, -math.inf):
        raise InvalidInput(f"{where}: expected a number, got {given!r}.")
    return float(given) if value is None else value  # type: ignore[arg-type]


def _minimum(given: object, where: str) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 2:
        raise InvalidInput(f"{where}: minimum should be a whole number of 2 or more, got {given!r}.")
    return given
