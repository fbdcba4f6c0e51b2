"""JSON as tools write it: NaN and Infinity are read, but nothing unbounded is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.tables.delimited import read_bytes

#: Levels of lists and objects within each other: no file of ours or of the tools we read has a tenth of it, and what
#: walks through a deeper one would run out of stack.
MAX_DEPTH = 100


def load_json(path: Path, *, unique_keys: bool = False) -> Any:
    """Return the content of a JSON file; refuse what is none, with the place."""
    return parse_json(read_bytes(path), path.name, unique_keys=unique_keys)


def parse_json(data: bytes, name: str, *, unique_keys: bool = False) -> Any:
    """Return the content of JSON text; with `unique_keys`, a key that stands twice in one object is refused.

    Raises:
        InvalidInput: if it is no JSON, or nested more deeply than any result.

    """
    try:
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique if unique_keys else None)
        _check_depth(content)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name}: is not JSON (line {error.lineno}: {error.msg}).") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: is not UTF-8 text, so not JSON.") from error
    except RecursionError as error:
        raise InvalidInput(f"{name}: is nested too deeply (more than {MAX_DEPTH} levels).") from error
    except ValueError as error:  # a key that stands twice, a number of thousands of digits
        raise InvalidInput(f"{name}: {str(error).rstrip('.')}.") from error
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _check_depth(content: Any) -> None:
    """Raise RecursionError where lists and objects are nested too deeply, level by level and without recursion."""
    level = [content]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise RecursionError
