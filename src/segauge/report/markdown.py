"""Tables as Markdown (GitHub's flavour)."""

from __future__ import annotations

import re

from segauge.report.tables import TextTable, flat

#: What means something to Markdown or to HTML; a backslash takes the meaning away. The bracket
#: of an interval, followed by a number and no parenthesis, is none of it.
_SPECIAL = re.compile(r"([\\`*_{}#!|~$]|\[(?![-+0-9])|\](?=[(\[]))")


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no link, no HTML, no end of a cell."""
    plain = flat(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = _SPECIAL.sub(r"\\\1", plain)
    # Bare addresses would become links.
    return re.sub(r"(?i)(https?|www|ftp|mailto)([:.])", r"\1&#8203;\2", plain)


def markdown(table: TextTable) -> str:
    """Return a table as Markdown, its caption below it."""
    titles = " | ".join(escaped(column.title) for column in table.columns)
    rules = " | ".join("---:" if column.is_number else "---" for column in table.columns)
    lines = [f"| {titles} |", f"| {rules} |"]
    lines += [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in table.rows]
    return "\n".join(lines) + (f"\n\n{escaped(table.caption)}\n" if table.caption else "\n")
