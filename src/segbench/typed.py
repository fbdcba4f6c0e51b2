"""Plain values that people wrote, checked against a typed class: by pydantic, with our words for what is wrong.

A class is an ordinary dataclass (or a TypedDict); pydantic reads its annotations when something is checked first, so
that nobody pays for it who only asks for help. `Is` adds limits to an annotation and says what is expected;
`Checked` leaves a value to a function of ours. The same annotations make the JSON schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_type_hints

from segauge.errors import InvalidInput, MissingExtra
from segbench.suggestions import unknown

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

#: How classes are read: no key that they do not have, no text for a number, no NaN.
STRICT: dict[str, Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}

#: Metadata of a field that no file has: it is set by the program.
NO_KEY = MappingProxyType({"no key": True})

#: What is expected where an annotation does not say it, by pydantic's kind of error.
_WORDS = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "names and values",
    "mapping_type": "names and values",
}

#: Kinds of error that say: these are no keys and values at all.
_NO_KEYS = ("dataclass_type", "typed_dict_type", "model_type")


class Expected(ValueError):
    """A value is not what it should be; `path` leads from the checked value to the part that is wrong."""

    def __init__(self, words: str, got: object, *path: str) -> None:
        super().__init__(words)
        self.words, self.got, self.path = words, got, path


@dataclass(frozen=True)
class Is:
    """What an annotated value should be, in words, and its limits."""

    words: str
    limits: tuple[tuple[str, float], ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Add the limits to what pydantic makes of the annotation."""
        schema = handler(source)
        schema.update(dict(self.limits))
        return schema


@dataclass(frozen=True)
class Checked:
    """A value that a function reads; `schema` is what an editor is told about it."""

    read: Callable[[Any], Any]
    schema: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Leave the value to the function."""
        del source, handler
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """Return what an editor is told."""
        del schema, handler
        return json.loads(self.schema)


def validated(
    kind: type[T], given: object, source: str, *, written: Mapping[str, str] | None = None, known: Collection[str] = ()
) -> T:
    """Return the value of a class that plain values describe.

    Args:
        kind: a dataclass or a TypedDict.
        given: keys and values.
        source: what messages begin with: the name of a file or of a card.
        written: other names under which keys were written, for messages.
        known: further names that keys may have, for suggestions.

    Raises:
        InvalidInput: what is wrong first, where, and what was expected.

    """
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{source}: expected keys and values, got {given!r}.")
    text = json.dumps(_with_text_keys(given, source), default=_plain)
    adapter = _adapter_of(cast(Hashable, kind))
    from pydantic import ValidationError

    try:
        return cast(T, adapter.validate_json(text))
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=_urgency)
        raise _in_words(kind, cast("dict[str, Any]", first), source, written or {}, known) from None


def json_schema(kind: type[Any], title: str) -> dict[str, Any]:
    """Return the JSON schema of a class, by which an editor completes and checks a file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_adapter_of(cast(Hashable, kind)).json_schema(),
        "title": title,
    }


@cache
def _adapter_of(kind: Hashable) -> TypeAdapter[Any]:
    """Return pydantic's reader of a class, made once."""
    try:
        from pydantic import TypeAdapter
    except ImportError as error:
        raise MissingExtra("Configs, cards and records need pydantic: `pip install 'segauge[bench]'`.") from error
    return TypeAdapter(cast("type[Any]", kind))


def _plain(value: Any) -> Any:
    """Return what JSON can hold: YAML makes dates of what looks like one, and cards have frozen mappings."""
    return dict(value) if isinstance(value, Mapping) else str(value)


def _with_text_keys(given: Any, source: str) -> Any:
    if isinstance(given, Mapping):
        for key in given:
            if not isinstance(key, str):
                hint = " (YAML takes no, yes, on, off for truth values: write it in quotes)" * isinstance(key, bool)
                raise InvalidInput(f"{source}: a key should be a text{hint}, got {key!r}.")
        return {key: _with_text_keys(value, source) for key, value in given.items()}
    return [_with_text_keys(value, source) for value in given] if isinstance(given, (list, tuple)) else given


def _urgency(error: Mapping[str, Any]) -> int:
    """Unknown keys come first: the key that is missing is most often there under another name."""
    return ("unexpected_keyword_argument", "extra_forbidden").count(error["type"]) * -1


def _in_words(
    kind: type[Any], error: Mapping[str, Any], source: str, written: Mapping[str, str], known: Collection[str]
) -> InvalidInput:
    """Return an error of pydantic in our words."""
    place = [str(part + 1) if isinstance(part, int) else part for part in error["loc"]]
    place = [written.get(place[0], place[0]), *place[1:]] if place else place
    name, got, sort = ".".join(place), error["input"], error["type"]
    cause = error.get("ctx", {}).get("error")
    if sort in ("unexpected_keyword_argument", "extra_forbidden"):
        names = keys_of(_class_at(kind, error["loc"][:-1])) or known
        inside = f"{'.'.join(place[:-1])}: " if place[1:] else ""
        return InvalidInput(f"{source}: {inside}{unknown('key', place[-1], [*names, *(known if not inside else ())])}")
    if sort in ("missing", "missing_argument"):
        inside = f"{'.'.join(place[:-1])}: " if place[1:] else ""
        return InvalidInput(f"{source}: {inside}expected the key {place[-1]!r}, which is not there.")
    if isinstance(cause, Expected):
        path = ".".join([name, *cause.path])
        return InvalidInput(f"{source}: {path} should be {cause.words}, got {cause.got!r}.")
    if isinstance(cause, InvalidInput):
        return InvalidInput(
            f"{source}: {name}: {cause}" if place and kind is not _class_at(kind, error["loc"]) else str(cause)
        )
    if sort in _NO_KEYS:
        return InvalidInput(f"{source}: {name}: expected keys and values, got {got!r}.")
    if sort in ("literal_error", "enum"):
        choices = [part.strip().strip("'") for part in error["ctx"]["expected"].replace(" or ", ", ").split(",")]
        if isinstance(got, str):
            what = place[-1] if sort == "enum" else "choice"
            return InvalidInput(f"{source}: {name}: {unknown(what, got, choices)}")
        return InvalidInput(f"{source}: {name} should be one of {', '.join(map(repr, choices))}, got {got!r}.")
    expected = _expected_at(kind, error["loc"]) or _WORDS.get(sort) or error["msg"].lower()
    if isinstance(got, bool) and expected.startswith("a text"):
        expected += ' (YAML takes no, yes, on, off for truth values: write it in quotes, as in "no")'
    return InvalidInput(f"{source}: {name} should be {expected}, got {got!r}.")


def keys_of(kind: Any) -> list[str]:
    """Return the keys that a class has in a file."""
    if is_dataclass(kind):
        return [field.name for field in fields(kind) if field.init and "no key" not in field.metadata]
    return list(getattr(kind, "__annotations__", {}))


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _class_at(kind: Any, place: tuple[Any, ...]) -> Any:
    """Return the class whose keys are at a place of another one."""
    found = kind
    for part in place:
        if isinstance(part, str) and part in keys_of(found):
            inner = _hints(found)[part]
            found = next((one for one in _leaves(inner) if keys_of(one)), found)
    return found


def _leaves(annotation: Any) -> list[Any]:
    parts = get_args(annotation)
    return [leaf for part in parts for leaf in _leaves(part)] if parts else [annotation]


def _expected_at(kind: Any, place: tuple[Any, ...]) -> str:
    """Return the words that the annotation of a key has; of a part of its value there are none."""
    if not place or isinstance(place[-1], int):
        return ""
    owner = _class_at(kind, place[:-1])
    annotation = _hints(owner).get(place[-1]) if place[-1] in keys_of(owner) else None
    return next((part.words for part in _metadata(annotation) if isinstance(part, Is)), "")


def _metadata(annotation: Any) -> list[Any]:
    own = list(getattr(annotation, "__metadata__", ()))
    return own + [found for part in get_args(annotation) for found in _metadata(part)]


_KIND_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "keys",
}


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
            raise InvalidInput(f"{owner}: {key} should be {_KIND_WORDS.get(kind, kind.__name__)}, got {value!r}.")
    return dict(given)


def require(owner: str, options: Mapping[str, Any], key: str, example: str) -> Any:
    """Return an option that has to be there."""
    if key not in options:
        raise InvalidInput(f"{owner}: expected the option {key!r}, such as `{key}: {example}`.")
    return options[key]
