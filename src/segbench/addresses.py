"""Addresses: which file of the site holds what. Names of models and structures are data, and never become a path."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence

#: Longest part of an address.
MOST_LETTERS = 40


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Return per name a part of an address: lower-case letters, digits and dashes, all different, stable in order."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name in made:
            continue
        plain = _plain(name)
        slug, count = plain, 2
        while slug in taken:
            slug, count = f"{plain}-{count}", count + 1
        made[name] = slug
        taken.add(slug)
    return made


def _plain(name: str) -> str:
    """Return the letters and digits of a name; a name that has none is called by its hash."""
    flat = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = "".join(letter if letter.isalnum() else " " for letter in flat).split()
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return "-".join(words)[:MOST_LETTERS].strip("-") or f"x{digest}"


def safe_link(address: str) -> str:
    """Return an address that a page may link to, "" for anything but http and https: cards are written by others."""
    text = address.strip()
    return text if text.lower().startswith(("https://", "http://")) and not any(c.isspace() for c in text) else ""


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names; those that were there before are numbered."""
    found: list[str] = []
    for name in names:
        numbered, count = name, 2
        while numbered in found:
            numbered, count = f"{name} ({count})", count + 1
        found.append(numbered)
    return found
