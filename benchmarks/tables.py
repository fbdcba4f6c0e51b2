"""Tables in Markdown that are also readable in a terminal, and numbers as they are printed in them."""

from __future__ import annotations

from collections.abc import Sequence

MISSING = "-"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table: the first column to the left, all others to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(row, widths) for row in (header, rule, *rows))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return "| " + " | ".join(cells) + " |"


def milliseconds(seconds: float | None) -> str:
    """Return seconds as milliseconds with three digits, `-` for None."""
    return MISSING if seconds is None else three_digits(seconds * 1e3)


def times(ratio: float | None) -> str:
    """Return a ratio as "12.3x", `-` for None."""
    return MISSING if ratio is None else f"{three_digits(ratio)}x"


def three_digits(value: float) -> str:
    """Return a number with three significant digits and no exponent."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
