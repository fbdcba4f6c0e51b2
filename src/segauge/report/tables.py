"""Tables of texts."""

from __future__ import annotations

from dataclasses import dataclass

from segauge.tables import flat as flat


@dataclass(frozen=True)
class Column:
    """Title of a column, and whether it holds numbers (which are set to the right)."""

    title: str
    is_number: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table of texts, with the words that belong below it."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
