"""JSON as tools write it: NaN and Infinity are read, but nothing unbounded is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from segauge.errors import InvalidInput
from segauge.io.tables.delimited import read_bytes


def load_json(path: Path) -> Any:
    """Return the content of a JSON file; refuse what is none, with the place."""
    return parse_json(read_bytes(path), path.name)


def parse_json(data: bytes, name: str) -> Any:
    """Return the content of JSON text."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name}: is not JSON (line {error.lineno}: {error.msg}).") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: is not UTF-8 text, so not JSON.") from error
    except RecursionError as error:
        raise InvalidInput(f"{name}: is nested too deeply to be a table of scores.") from error
