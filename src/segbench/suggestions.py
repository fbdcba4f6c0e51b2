"""Words for a name that is not known: what there is, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection

#: Names that are listed where none comes close.
MOST_LISTED = 30


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """Return "No dataset 'kits32'; did you mean 'kits23'?", or the list of what there is (30 of them at most)."""
    spelled = {text.casefold(): text for text in known}
    close = difflib.get_close_matches(name.casefold(), list(spelled), n=1)
    if close:
        return f"No {what} {name!r}; did you mean {spelled[close[0]]!r}?"
    shown = ", ".join(map(repr, sorted(known)[:MOST_LISTED])) + (", ..." if len(known) > MOST_LISTED else "")
    return f"No {what} {name!r}; there are {shown or 'none'}."
