"""Words for a name that is not known: what there is, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """Return "No dataset 'kits32'; did you mean 'kits23'?", or the list of what there is."""
    close = difflib.get_close_matches(name, list(known), n=1)
    if close:
        return f"No {what} {name!r}; did you mean {close[0]!r}?"
    return f"No {what} {name!r}; there are {', '.join(map(repr, sorted(known))) or 'none'}."
